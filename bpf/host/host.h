/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of the machine, and what its parts share: queues.c, kernel.c, migration.c and kfuncs.c.
 */
#ifndef __HOST_HOST_H
#define __HOST_HOST_H

#define NO_INSERTION   UINT64_MAX
#define NR_QUEUES_HOST (2 * (HOST_CPUS + 64))

struct host_cpu {
	struct dispatch_queue local;
	struct task_struct idle_task;
	struct task_struct *current;
	u64 charged_ns;
	bool online;
	bool held;
	bool has_idle_bit;
	bool resched;
	bool reenqueues;
	bool is_deaf;
	bool in_softirq;
	/* It saw, when it chose what to run, that nobody is on it any more. */
	bool is_left;
};

struct host {
	struct host_cpu cpus[HOST_CPUS];
	struct dispatch_queue queues[NR_QUEUES_HOST];
	struct dispatch_queue global;
	struct task_struct tasks[HOST_TASKS];
	cpumask_t online_mask;
	u32 nr_cpus;
	u32 nr_tasks;
	s32 this_cpu;
	/* What bpf_cpumask_any_distribute() chose last. */
	u32 distributed;
	u64 now_ns;
	char error[200];
};

extern struct host host;

static inline bool test_bit(const cpumask_t *mask, u32 cpu)
{
	return mask->words[cpu / 64] >> (cpu % 64) & 1;
}

static inline bool is_idle(const struct host_cpu *c)
{
	return c->current == &c->idle_task;
}

static inline bool is_queued(const struct task_struct *p)
{
	return p->scx.flags & SCX_TASK_QUEUED;
}

/* What the kernel would end the scheduler for; the first one counts. */
__attribute__((format(printf, 1, 2))) void host_fail(const char *format, ...);

void host_unlink(struct task_struct *p);
void host_link(struct dispatch_queue *q, struct task_struct *p, struct task_struct *after);
struct dispatch_queue *host_queue_of(u64 id);
bool host_may_run_on(const struct task_struct *p, s32 cpu);
void host_link_local(struct task_struct *p, s32 cpu, u64 flags);
void host_insert(struct task_struct *p, struct insertion in);
void host_finish_insertion(struct task_struct *p);
void host_enqueue(struct task_struct *p, u64 flags);

void host_charge_slice(struct host_cpu *c);
void host_put_current(s32 cpu, bool goes_idle);
s32 host_fallback_cpu(const struct task_struct *p);
void host_settle(void);

#endif /* __HOST_HOST_H */
