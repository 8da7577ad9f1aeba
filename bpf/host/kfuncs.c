/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's functions that the scheduler calls, as far as it uses them, and the timers that it looks at.
 */
#include "vmlinux.h"

#include <scx/common.bpf.h>

#include "kernel.h"
#include "host.h"

#include <stdio.h>

/* Of whichever CPU runs the scheduler's code. */
struct hrtimer_cpu_base hrtimer_bases;

/* Interrupts come from a timer that was due then; 0 if from none. */
void kernel_set_timer(u64 due_ns)
{
	static struct hrtimer timer;

	timer.node.expires = due_ns;
	hrtimer_bases.clock_base[HRTIMER_BASE_MONOTONIC].running = due_ns ? &timer : NULL;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	struct host_cpu *c = &host.cpus[host.this_cpu];

	return c->current ? c->current : &c->idle_task;
}

s32 bpf_get_smp_processor_id(void)
{
	return host.this_cpu;
}

void *bpf_task_storage_get(void *map, const struct task_struct *p, void *value, u64 flags)
{
	(void)map;
	(void)value;
	(void)flags;
	return p->is_used ? scheduler_storage_of(p) : NULL;
}

s64 bpf_probe_read_kernel_str(void *to, u32 size, const void *from)
{
	return snprintf(to, size, "%s", (const char *)from) + 1;
}

bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return cpu < HOST_CPUS && test_bit(mask, cpu);
}

bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	u32 i;

	for (i = 0; i < HOST_CPUS / 64; i++)
		if (a->words[i] & ~b->words[i])
			return false;
	return true;
}

u32 bpf_cpumask_weight(const struct cpumask *mask)
{
	u32 i, weight = 0;

	for (i = 0; i < HOST_CPUS / 64; i++)
		weight += __builtin_popcountll(mask->words[i]);
	return weight;
}

/* Each of them in turn, as the kernel does for each CPU that asks. */
u32 bpf_cpumask_any_distribute(const struct cpumask *mask)
{
	u32 i;

	for (i = 1; i <= HOST_CPUS; i++) {
		u32 cpu = (host.distributed + i) % HOST_CPUS;

		if (test_bit(mask, cpu))
			return host.distributed = cpu;
	}
	return HOST_CPUS;
}

u64 bpf_ktime_get_ns(void)
{
	return host.now_ns;
}

s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	return p->cpu;
}

s32 scx_bpf_create_dsq(u64 queue, s32 node)
{
	(void)node;
	if (queue >= NR_QUEUES_HOST || host.queues[queue].exists)
		return -EEXIST;
	host.queues[queue].exists = true;
	host.queues[queue].cpu = -1;
	return 0;
}

void scx_bpf_dsq_insert(struct task_struct *p, u64 queue, u64 slice, u64 flags)
{
	host_insert(p, (struct insertion){ .queue = queue, .slice = slice, .flags = flags });
}

void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 queue, u64 slice, u64 vtime, u64 flags)
{
	host_insert(p, (struct insertion){ .queue = queue,
					   .slice = slice,
					   .vtime = vtime,
					   .flags = flags,
					   .has_vtime = true });
}

bool scx_bpf_dsq_move_to_local(u64 queue, u64 flags)
{
	struct dispatch_queue *q = host_queue_of(queue);
	struct task_struct *p;

	for (p = q ? q->first : NULL; p; p = p->next) {
		if (!host_may_run_on(p, host.this_cpu))
			continue;
		host_unlink(p);
		host_link_local(p, host.this_cpu, flags);
		return true;
	}
	return false;
}

bool scx_bpf_dsq_move(struct host_iterator *it, struct task_struct *p, u64 queue, u64 flags)
{
	(void)it;
	if (!p->on)
		return false;
	host_unlink(p);
	if (queue == SCX_DSQ_GLOBAL)
		host_link(&host.global, p, host.global.last);
	else
		host_link_local(p, host.this_cpu, flags);
	return true;
}

struct host_iterator host_iterate(u64 queue, u64 flags)
{
	struct dispatch_queue *q = host_queue_of(queue);
	bool backwards = flags & SCX_DSQ_ITER_REV;

	if (!q)
		return (struct host_iterator){};
	return (struct host_iterator){ .next = backwards ? q->last : q->first,
				       .backwards = backwards };
}

struct task_struct *host_iterator_next(struct host_iterator *it)
{
	struct task_struct *p = it->next;

	if (p)
		it->next = it->backwards ? p->prev : p->next;
	return p;
}

void scx_bpf_task_set_slice(struct task_struct *p, u64 slice)
{
	p->scx.slice = slice;
}

void scx_bpf_reenqueue_local(void)
{
	struct dispatch_queue *q = &host.cpus[host.this_cpu].local;
	s32 cpu = host.this_cpu;
	u64 nr;

	for (nr = q->nr; nr; nr--) {
		struct task_struct *p = q->first;

		host_unlink(p);
		host.this_cpu = cpu;
		host_enqueue(p, SCX_ENQ_REENQ);
	}
}

/* The kernel does it once it is done with what it is about. */
int scx_bpf_reenqueue_local_from_anywhere(void)
{
	host.cpus[host.this_cpu].reenqueues = true;
	return 0;
}

struct cpumask *scx_bpf_get_online_cpumask(void)
{
	return &host.online_mask;
}

void scx_bpf_put_cpumask(const struct cpumask *mask)
{
	(void)mask;
}

bool scx_bpf_test_and_clear_cpu_idle(s32 cpu)
{
	bool was_idle = host.cpus[cpu].has_idle_bit;

	host.cpus[cpu].has_idle_bit = false;
	return was_idle;
}

s32 scx_bpf_pick_idle_cpu___optional(const cpumask_t *allowed, u64 flags)
{
	u32 cpu;

	(void)flags;
	for (cpu = 0; cpu < host.nr_cpus; cpu++)
		if (test_bit(allowed, cpu) && scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
	return -EBUSY;
}

s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *found)
{
	s32 cpu = prev_cpu;

	(void)wake_flags;
	*found = test_bit(p->cpus_ptr, prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu);
	if (!*found) {
		cpu = scx_bpf_pick_idle_cpu___optional(p->cpus_ptr, 0);
		*found = cpu >= 0;
	}
	return *found ? cpu : prev_cpu;
}

void scx_bpf_kick_cpu___optional(s32 cpu, u64 flags)
{
	(void)flags;
	if (!host.cpus[cpu].held && is_idle(&host.cpus[cpu]))
		host.cpus[cpu].resched = true;
}

void host_dump(const char *format, ...)
{
	(void)format;
}
