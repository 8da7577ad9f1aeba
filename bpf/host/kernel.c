/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine for the scheduler to run on: CPUs, tasks and a clock that only tests move. It calls the
 * scheduler where and in the order in which the kernel does, and refuses what the kernel refuses;
 * nothing happens at the same time as anything else.
 */
#include "vmlinux.h"

#include <scx/common.bpf.h>

#include "kernel.h"
#include "host.h"

#include <stdarg.h>
#include <stdio.h>

#define TURNS_MAX      100000
#define DISPATCHES_MAX 1000
#define DEFAULT_PRIO   120
#define HARDIRQ_COUNT  0x10000
#define SOFTIRQ_OFFSET 0x100
#define TASK_DEAD      0x80

struct host host;

/* For the scheduler to read: of whichever CPU runs its code. */
int __preempt_count;
int pcpu_hot;

__attribute__((format(printf, 1, 2))) void host_fail(const char *format, ...)
{
	va_list args;

	if (host.error[0])
		return;
	va_start(args, format);
	vsnprintf(host.error, sizeof(host.error), format, args);
	va_end(args);
}

/* The first thing that the kernel would have ended the scheduler for; NULL if there was none. */
const char *kernel_error(void)
{
	return host.error[0] ? host.error : NULL;
}

static void set_bit(cpumask_t *mask, u32 cpu, bool value)
{
	u64 bit = 1ULL << (cpu % 64);

	mask->words[cpu / 64] = (mask->words[cpu / 64] & ~bit) | (value ? bit : 0);
}

/* CPUs */

void host_charge_slice(struct host_cpu *c)
{
	u64 ran = host.now_ns - c->charged_ns;
	u64 *slice = &c->current->scx.slice;

	c->charged_ns = host.now_ns;
	c->current->se.sum_exec_runtime += ran;
	if (!is_idle(c) && *slice != UINT64_MAX)
		*slice = *slice > ran ? *slice - ran : 0;
}

static bool take_global(s32 cpu)
{
	struct task_struct *p;

	for (p = host.global.first; p; p = p->next) {
		if (!host_may_run_on(p, cpu))
			continue;
		host_unlink(p);
		host_link_local(p, cpu, 0);
		return true;
	}
	return false;
}

/* Whether what runs goes on; otherwise what there is to run next is in the local queue. */
static bool find_work(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];
	struct task_struct *prev = is_idle(c) ? NULL : c->current;
	u32 i;

	if (prev && is_queued(prev) && prev->scx.slice)
		return true;
	for (i = 0; i < DISPATCHES_MAX; i++) {
		u64 before = c->local.nr;

		if (c->local.nr || take_global(cpu))
			return false;
		if (!c->online)
			return false;
		pandemonium_dispatch(cpu, prev && is_queued(prev) ? prev : NULL);
		if (prev && is_queued(prev) && prev->scx.slice)
			return true;
		if (c->local.nr == before)
			return false;
	}
	host_fail("dispatch on CPU %d does not end", cpu);
	return false;
}

void host_put_current(s32 cpu, bool goes_idle)
{
	struct host_cpu *c = &host.cpus[cpu];
	struct task_struct *p = c->current;

	if (!is_queued(p))
		return;
	p->nivcsw++;
	p->waits_since = host.now_ns;
	pandemonium_stopping(p, true);
	if (p->scx.slice)
		host_link_local(p, cpu, SCX_ENQ_HEAD);
	else
		host_enqueue(p, goes_idle ? SCX_ENQ_LAST : 0);
}

static bool is_anybody_on(s32 cpu)
{
	u32 i;

	for (i = 0; i < host.nr_tasks; i++)
		if (is_queued(&host.tasks[i]) && host.tasks[i].cpu == cpu)
			return true;
	return false;
}

static void schedule(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];
	struct task_struct *next;

	c->resched = false;
	host.this_cpu = cpu;
	if (c->held)
		return;
	if (!c->online && is_idle(c))
		c->is_left = !is_anybody_on(cpu);
	host_charge_slice(c);
	if (find_work(cpu))
		return;
	next = c->local.first;
	if (is_idle(c)) {
		c->has_idle_bit = !next;
		if (!next)
			return;
		pandemonium_update_idle(cpu, false);
	} else {
		host_put_current(cpu, !next);
	}
	if (!next) {
		c->current = &c->idle_task;
		c->has_idle_bit = true;
		pandemonium_update_idle(cpu, true);
		if (c->local.nr)
			c->resched = true;
		return;
	}
	host_unlink(next);
	c->current = next;
	c->charged_ns = host.now_ns;
	if (host.now_ns - next->waits_since > next->longest_wait_ns)
		next->longest_wait_ns = host.now_ns - next->waits_since;
	pandemonium_running(next);
}

static void reenqueue_if_asked(s32 cpu)
{
	if (!host.cpus[cpu].reenqueues)
		return;
	host.cpus[cpu].reenqueues = false;
	host.this_cpu = cpu;
	scx_bpf_reenqueue_local();
}

/* Every CPU that has something to decide does, in the order of their numbers, until none has. */
void host_settle(void)
{
	u32 turns, cpu;
	bool again = true;

	for (turns = 0; again; turns++) {
		again = false;
		for (cpu = 0; cpu < host.nr_cpus; cpu++) {
			reenqueue_if_asked(cpu);
			if (!host.cpus[cpu].resched || host.cpus[cpu].is_deaf)
				continue;
			schedule(cpu);
			again = true;
		}
		if (turns > TURNS_MAX) {
			host_fail("the CPUs do not come to rest");
			return;
		}
	}
}

/* For tests */

void kernel_reset(u32 count)
{
	u32 cpu;

	memset(&host, 0, sizeof(host));
	host.nr_cpus = count;
	__preempt_count = 0;
	kernel_set_timer(0);
	/* Not zero, which often stands for never. */
	host.now_ns = 1000000000;
	for (cpu = 0; cpu < host.nr_cpus; cpu++) {
		host.cpus[cpu].current = &host.cpus[cpu].idle_task;
		host.cpus[cpu].local.cpu = cpu;
		host.cpus[cpu].has_idle_bit = true;
		kernel_set_online(cpu, true);
	}
	scheduler_reset();
}

void kernel_set_online(u32 cpu, bool online)
{
	host.cpus[cpu].online = online;
	set_bit(&host.online_mask, cpu, online);
}

/* Loads the scheduler; every CPU says that it is idle. */
s32 kernel_start(void)
{
	s32 err = pandemonium_init();
	u32 cpu;

	for (cpu = 0; cpu < host.nr_cpus; cpu++) {
		host.this_cpu = cpu;
		if (host.cpus[cpu].online)
			pandemonium_update_idle(cpu, true);
	}
	return err;
}

void kernel_advance(u64 ns)
{
	host.now_ns += ns;
}

/* A task that sleeps, may run anywhere and is not yet known to the scheduler. */
struct task_struct *kernel_task(const char *comm)
{
	struct task_struct *p;
	u32 cpu;

	if (host.nr_tasks == HOST_TASKS)
		return NULL;
	p = &host.tasks[host.nr_tasks++];
	p->is_used = true;
	p->insertion.queue = NO_INSERTION;
	p->pid = host.nr_tasks;
	p->prio = DEFAULT_PRIO;
	p->cpus_ptr = &p->cpus_mask;
	p->scx.weight = 100;
	p->own_file.f_inode = &p->own_inode;
	p->own_file.f_path.dentry = &p->own_dentry;
	p->own_inode.i_sb = &p->own_super_block;
	p->own_mm.exe_file = &p->own_file;
	p->mm = &p->own_mm;
	p->own_dentry.d_name.name = "";
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
	for (cpu = 0; cpu < host.nr_cpus; cpu++)
		kernel_allow(p, cpu, true);
	return p;
}

void kernel_allow(struct task_struct *p, u32 cpu, bool allowed)
{
	if (test_bit(&p->cpus_mask, cpu) == allowed)
		return;
	set_bit(&p->cpus_mask, cpu, allowed);
	p->nr_cpus_allowed += allowed ? 1 : -1;
}

/* @name has to outlive the task. */
void kernel_set_executable(struct task_struct *p, const char *name, u32 uid, u32 mode, u64 magic)
{
	p->own_dentry.d_name.name = name;
	p->own_inode.i_uid.val = uid;
	p->own_inode.i_mode = mode;
	p->own_super_block.s_magic = magic;
}

/* The CPU that the task is on if it may run there, else the next one by number where it may. */
s32 host_fallback_cpu(const struct task_struct *p)
{
	u32 i;

	for (i = 0; i < host.nr_cpus; i++) {
		s32 cpu = (p->cpu + i) % host.nr_cpus;

		if (test_bit(p->cpus_ptr, cpu) && host.cpus[cpu].online)
			return cpu;
	}
	host_fail("no CPU is left for %s", p->comm);
	return p->cpu;
}

static void activate(struct task_struct *p, s32 waker, u64 wake_flags, u64 enq_flags)
{
	s32 cpu = p->cpu;

	host.this_cpu = waker;
	p->__state = 0;
	p->scx.flags |= SCX_TASK_QUEUED;
	p->waits_since = host.now_ns;
	if (p->nr_cpus_allowed > 1 && !p->migration_disabled) {
		cpu = pandemonium_select_cpu(p, p->cpu, wake_flags);
		enq_flags |= SCX_ENQ_CPU_SELECTED;
	}
	p->cpu = cpu;
	cpu = host_fallback_cpu(p);
	p->cpu = cpu;
	if (p->insertion.queue == NO_INSERTION)
		host_enqueue(p, enq_flags);
	else
		host_finish_insertion(p);
	/* An idle CPU that a task is given to looks, wherever the scheduler has put the task. */
	if (is_idle(&host.cpus[cpu]))
		host.cpus[cpu].resched = true;
}

static void begin(struct task_struct *p, s32 cpu, bool is_fork)
{
	struct scx_init_task_args args = { .fork = is_fork };

	host.this_cpu = cpu;
	p->cpu = cpu;
	if (pandemonium_init_task(p, &args))
		host_fail("%s cannot be scheduled", p->comm);
	pandemonium_enable(p);
}

/* A task that sleeps is the scheduler's from now on. */
void kernel_enter(struct task_struct *p, s32 cpu)
{
	begin(p, cpu, false);
}

/* What runs on the CPU has a task that sleeps be of a higher class for a moment. */
void kernel_raise(struct task_struct *p, s32 cpu)
{
	host.this_cpu = cpu;
	pandemonium_disable(p);
	pandemonium_enable(p);
}

void kernel_fork(struct task_struct *p, s32 cpu)
{
	begin(p, cpu, true);
	activate(p, cpu, SCX_WAKE_FORK, 0);
	host_settle();
}

void kernel_wake(struct task_struct *p, s32 waker, bool sync, bool by_interrupt)
{
	if (is_queued(p)) {
		host_fail("%s is woken but does not sleep", p->comm);
		return;
	}
	__preempt_count = by_interrupt ? HARDIRQ_COUNT : 0;
	if (host.cpus[waker].in_softirq)
		__preempt_count += SOFTIRQ_OFFSET;
	activate(p, waker, SCX_WAKE_TTWU | (sync ? SCX_WAKE_SYNC : 0), SCX_ENQ_WAKEUP);
	__preempt_count = 0;
	host_settle();
}

static struct task_struct *deactivate(s32 cpu, unsigned int state)
{
	struct host_cpu *c = &host.cpus[cpu];
	struct task_struct *p = c->current;

	host.this_cpu = cpu;
	if (is_idle(c) || c->held) {
		host_fail("nobody runs on CPU %d", cpu);
		return NULL;
	}
	host_charge_slice(c);
	p->nvcsw++;
	p->__state = state;
	pandemonium_stopping(p, false);
	p->scx.flags &= ~SCX_TASK_QUEUED;
	c->resched = true;
	return p;
}

/* What runs on the CPU goes to sleep. */
void kernel_sleep(s32 cpu, unsigned int state)
{
	deactivate(cpu, state);
	host_settle();
}

/* What runs on the CPU ends. */
void kernel_exit(s32 cpu)
{
	struct scx_exit_task_args args = {};
	struct task_struct *p = deactivate(cpu, TASK_DEAD);

	host_settle();
	if (p)
		pandemonium_exit_task(p, &args);
}

/* What runs on the CPU calls sched_yield(). */
void kernel_yield(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];

	if (is_idle(c) || c->held)
		return;
	host_charge_slice(c);
	c->current->scx.slice = 0;
	c->resched = true;
	host_settle();
}

void kernel_tick(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];

	if (is_idle(c) || c->held)
		return;
	host.this_cpu = cpu;
	host_charge_slice(c);
	pandemonium_tick(c->current);
	c->resched |= !c->current->scx.slice;
	host_settle();
}

/* Without interrupts the CPU goes on with what it does whatever others ask of it. */
void kernel_set_softirq(s32 cpu, bool serving)
{
	host.cpus[cpu].in_softirq = serving;
}

void kernel_set_interrupts(s32 cpu, bool enabled)
{
	host.cpus[cpu].is_deaf = !enabled;
	host_settle();
}

struct task_struct *kernel_task_of(u32 index)
{
	return &host.tasks[index % HOST_TASKS];
}

/* In the order in which they were made. */
u32 kernel_index_of(const struct task_struct *p)
{
	return p - host.tasks;
}

/* The present wait included. */
u64 kernel_longest_wait(const struct task_struct *p)
{
	u64 waited = p->on ? host.now_ns - p->waits_since : 0;

	return waited > p->longest_wait_ns ? waited : p->longest_wait_ns;
}

/* NULL if the CPU is idle or a higher class has it. */
struct task_struct *kernel_current(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];

	return c->held || is_idle(c) ? NULL : c->current;
}

u64 kernel_nr_in(u64 queue)
{
	return host.queues[queue % NR_QUEUES_HOST].nr;
}

u64 kernel_now(void)
{
	return host.now_ns;
}
