/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine for the scheduler to run on: CPUs, tasks, dispatch queues and a clock that only tests move.
 * It calls the scheduler where and in the order in which the kernel does, and refuses what the kernel
 * refuses; nothing happens at the same time as anything else.
 *
 * A higher class that takes a CPU is reported by cpu_release(), as kernels before 6.19 do.
 */
#include "vmlinux.h"

#include <scx/common.bpf.h>

#include "kernel.h"

#include <stdarg.h>
#include <stdio.h>

#define NO_INSERTION UINT64_MAX
/* Of the enqueue flags that are the kernel's own, from kernel/sched/sched.h. */
#define ENQUEUE_RESTORE 0x02
#define NR_QUEUES_HOST	(2 * (HOST_CPUS + 64))
#define TURNS_MAX	100000
#define DISPATCHES_MAX	1000
#define DEFAULT_PRIO	120

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
};

static struct host_cpu cpus[HOST_CPUS];
static struct dispatch_queue queues[NR_QUEUES_HOST];
static struct dispatch_queue global;
static struct task_struct tasks[HOST_TASKS];
static cpumask_t online_mask;
static u32 nr_cpus;
static u32 nr_tasks;
static s32 this_cpu;
static u64 now_ns;
static char error[200];

/* For the scheduler to read: of whichever CPU runs its code. */
int __preempt_count;
int pcpu_hot;

#define HARDIRQ_COUNT	   0x10000
#define TASK_INTERRUPTIBLE 1

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	if (error[0])
		return;
	va_start(args, format);
	vsnprintf(error, sizeof(error), format, args);
	va_end(args);
}

/* The first thing that the kernel would have ended the scheduler for; NULL if there was none. */
const char *kernel_error(void)
{
	return error[0] ? error : NULL;
}

static bool test_bit(const cpumask_t *mask, u32 cpu)
{
	return mask->words[cpu / 64] >> (cpu % 64) & 1;
}

static void set_bit(cpumask_t *mask, u32 cpu, bool value)
{
	u64 bit = 1ULL << (cpu % 64);

	mask->words[cpu / 64] = (mask->words[cpu / 64] & ~bit) | (value ? bit : 0);
}

static bool is_idle(const struct host_cpu *c)
{
	return c->current == &c->idle_task;
}

/* Queues */

static void unlink_task(struct task_struct *p)
{
	struct dispatch_queue *q = p->on;

	if (!q)
		return;
	if (p->prev)
		p->prev->next = p->next;
	else
		q->first = p->next;
	if (p->next)
		p->next->prev = p->prev;
	else
		q->last = p->prev;
	q->nr--;
	p->on = NULL;
	p->next = NULL;
	p->prev = NULL;
}

/* Behind @after, or at the head. */
static void link_task(struct dispatch_queue *q, struct task_struct *p, struct task_struct *after)
{
	p->on = q;
	p->prev = after;
	p->next = after ? after->next : q->first;
	if (p->next)
		p->next->prev = p;
	else
		q->last = p;
	if (after)
		after->next = p;
	else
		q->first = p;
	q->nr++;
}

static void link_by_vtime(struct dispatch_queue *q, struct task_struct *p)
{
	struct task_struct *after = q->last;

	while (after && time_before(p->scx.dsq_vtime, after->scx.dsq_vtime))
		after = after->prev;
	link_task(q, p, after);
}

static struct dispatch_queue *queue_of(u64 id)
{
	if (id == SCX_DSQ_GLOBAL)
		return &global;
	if (id >= NR_QUEUES_HOST || !queues[id].exists) {
		fail("non-existent queue %llx", (unsigned long long)id);
		return NULL;
	}
	return &queues[id];
}

static bool may_run_on(const struct task_struct *p, s32 cpu)
{
	if (!test_bit(p->cpus_ptr, cpu) || !cpus[cpu].online)
		return false;
	return !p->migration_disabled || p->cpu == cpu;
}

static void link_local(struct task_struct *p, s32 cpu, u64 flags)
{
	struct host_cpu *c = &cpus[cpu];

	if (p->cpu != cpu && (!test_bit(p->cpus_ptr, cpu) || p->migration_disabled)) {
		fail("%s is not allowed on CPU %d", p->comm, cpu);
		return;
	}
	if (!c->online) {
		link_task(&global, p, global.last);
		return;
	}
	p->cpu = cpu;
	link_task(&c->local, p, flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT) ? NULL : c->local.last);
	if (is_idle(c))
		c->resched = true;
	else if (flags & SCX_ENQ_PREEMPT && c->current != p && !c->held) {
		c->current->scx.slice = 0;
		c->resched = true;
	}
}

/* What select_cpu() or enqueue() asked for happens when it has returned. */
static void finish_insertion(struct task_struct *p)
{
	struct insertion in = p->insertion;
	struct dispatch_queue *q;

	p->insertion.queue = NO_INSERTION;
	p->scx.slice = in.slice;
	if (in.queue == SCX_DSQ_LOCAL) {
		link_local(p, p->cpu, in.flags);
		return;
	}
	if ((in.queue & SCX_DSQ_LOCAL_ON) == SCX_DSQ_LOCAL_ON) {
		link_local(p, (s32)(u32)in.queue, in.flags);
		return;
	}
	q = queue_of(in.queue);
	if (!q)
		return;
	p->scx.dsq_vtime = in.vtime;
	if (in.has_vtime)
		link_by_vtime(q, p);
	else
		link_task(q, p, q->last);
}

static void insert(struct task_struct *p, struct insertion in)
{
	if (p->insertion.queue != NO_INSERTION || p->on || !(p->scx.flags & SCX_TASK_QUEUED))
		fail("%s is inserted twice, or sleeps", p->comm);
	p->insertion = in;
}

static void enqueue(struct task_struct *p, u64 flags)
{
	pandemonium_enqueue(p, flags);
	if (p->insertion.queue == NO_INSERTION) {
		fail("%s is lost: nothing was inserted", p->comm);
		return;
	}
	finish_insertion(p);
}

/* CPUs */

static void charge_slice(struct host_cpu *c)
{
	u64 ran = now_ns - c->charged_ns;
	u64 *slice = &c->current->scx.slice;

	c->charged_ns = now_ns;
	c->current->ran_ns += ran;
	if (!is_idle(c) && *slice != UINT64_MAX)
		*slice = *slice > ran ? *slice - ran : 0;
}

static void set_current(struct host_cpu *c, struct task_struct *p)
{
	if (c->current)
		c->current->on_cpu = 0;
	c->current = p;
	if (p)
		p->on_cpu = 1;
}

static bool is_queued(const struct task_struct *p)
{
	return p->scx.flags & SCX_TASK_QUEUED;
}

static bool take_global(s32 cpu)
{
	struct task_struct *p;

	for (p = global.first; p; p = p->next) {
		if (!may_run_on(p, cpu))
			continue;
		unlink_task(p);
		link_local(p, cpu, 0);
		return true;
	}
	return false;
}

/* Whether what runs goes on; otherwise what there is to run next is in the local queue. */
static bool find_work(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];
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
	fail("dispatch on CPU %d does not end", cpu);
	return false;
}

static void put_current(s32 cpu, bool goes_idle)
{
	struct host_cpu *c = &cpus[cpu];
	struct task_struct *p = c->current;

	if (!is_queued(p))
		return;
	p->nivcsw++;
	p->waits_since = now_ns;
	pandemonium_stopping(p, true);
	if (p->scx.slice)
		link_local(p, cpu, SCX_ENQ_HEAD);
	else
		enqueue(p, goes_idle ? SCX_ENQ_LAST : 0);
}

static void schedule(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];
	struct task_struct *next;

	c->resched = false;
	this_cpu = cpu;
	if (c->held)
		return;
	charge_slice(c);
	if (find_work(cpu))
		return;
	next = c->local.first;
	if (is_idle(c)) {
		c->has_idle_bit = !next;
		if (!next)
			return;
		pandemonium_update_idle(cpu, false);
	} else {
		put_current(cpu, !next);
	}
	if (!next) {
		set_current(c, &c->idle_task);
		c->has_idle_bit = true;
		pandemonium_update_idle(cpu, true);
		if (c->local.nr)
			c->resched = true;
		return;
	}
	unlink_task(next);
	set_current(c, next);
	c->charged_ns = now_ns;
	if (now_ns - next->waits_since > next->longest_wait_ns)
		next->longest_wait_ns = now_ns - next->waits_since;
	pandemonium_running(next);
}

static void reenqueue_if_asked(s32 cpu)
{
	if (!cpus[cpu].reenqueues)
		return;
	cpus[cpu].reenqueues = false;
	this_cpu = cpu;
	scx_bpf_reenqueue_local();
}

/* Every CPU that has something to decide does, in the order of their numbers, until none has. */
static void settle(void)
{
	u32 turns, cpu;
	bool again = true;

	for (turns = 0; again; turns++) {
		again = false;
		for (cpu = 0; cpu < nr_cpus; cpu++) {
			reenqueue_if_asked(cpu);
			if (!cpus[cpu].resched || cpus[cpu].is_deaf)
				continue;
			schedule(cpu);
			again = true;
		}
		if (turns > TURNS_MAX) {
			fail("the CPUs do not come to rest");
			return;
		}
	}
}

/* For tests */

void kernel_reset(u32 count)
{
	u32 cpu;

	memset(cpus, 0, sizeof(cpus));
	memset(queues, 0, sizeof(queues));
	memset(&global, 0, sizeof(global));
	memset(tasks, 0, sizeof(tasks));
	memset(&online_mask, 0, sizeof(online_mask));
	memset(error, 0, sizeof(error));
	nr_cpus = count;
	nr_tasks = 0;
	this_cpu = 0;
	__preempt_count = 0;
	/* Not zero, which often stands for never. */
	now_ns = 1000000000;
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		cpus[cpu].current = &cpus[cpu].idle_task;
		cpus[cpu].local.cpu = cpu;
		cpus[cpu].has_idle_bit = true;
		kernel_set_online(cpu, true);
	}
	scheduler_reset();
}

void kernel_set_online(u32 cpu, bool online)
{
	cpus[cpu].online = online;
	set_bit(&online_mask, cpu, online);
}

/* Loads the scheduler; every CPU says that it is idle. */
s32 kernel_start(void)
{
	s32 err = pandemonium_init();
	u32 cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		this_cpu = cpu;
		if (cpus[cpu].online)
			pandemonium_update_idle(cpu, true);
	}
	return err;
}

void kernel_advance(u64 ns)
{
	now_ns += ns;
}

/* A task that sleeps, may run anywhere and is not yet known to the scheduler. */
struct task_struct *kernel_task(const char *comm)
{
	struct task_struct *p;
	u32 cpu;

	if (nr_tasks == HOST_TASKS)
		return NULL;
	p = &tasks[nr_tasks++];
	p->is_used = true;
	p->insertion.queue = NO_INSERTION;
	p->pid = nr_tasks;
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
	for (cpu = 0; cpu < nr_cpus; cpu++)
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
static s32 fallback_cpu(const struct task_struct *p)
{
	u32 i;

	for (i = 0; i < nr_cpus; i++) {
		s32 cpu = (p->cpu + i) % nr_cpus;

		if (test_bit(p->cpus_ptr, cpu) && cpus[cpu].online)
			return cpu;
	}
	fail("no CPU is left for %s", p->comm);
	return p->cpu;
}

static void activate(struct task_struct *p, s32 waker, u64 wake_flags, u64 enq_flags)
{
	s32 cpu = p->cpu;

	this_cpu = waker;
	p->__state = 0;
	p->scx.flags |= SCX_TASK_QUEUED;
	p->waits_since = now_ns;
	if (p->nr_cpus_allowed > 1 && !p->migration_disabled) {
		cpu = pandemonium_select_cpu(p, p->cpu, wake_flags);
		enq_flags |= SCX_ENQ_CPU_SELECTED;
	}
	p->cpu = cpu;
	cpu = fallback_cpu(p);
	p->cpu = cpu;
	if (p->insertion.queue == NO_INSERTION)
		enqueue(p, enq_flags);
	else
		finish_insertion(p);
	/* An idle CPU that a task is given to looks, wherever the scheduler has put the task. */
	if (is_idle(&cpus[cpu]))
		cpus[cpu].resched = true;
}

/* A task that sleeps is the scheduler's from now on. */
void kernel_enter(struct task_struct *p, s32 cpu)
{
	struct scx_init_task_args args = {};

	this_cpu = cpu;
	p->cpu = cpu;
	if (pandemonium_init_task(p, &args))
		fail("%s cannot be scheduled", p->comm);
	pandemonium_enable(p);
}

void kernel_fork(struct task_struct *p, s32 cpu)
{
	kernel_enter(p, cpu);
	activate(p, cpu, SCX_WAKE_FORK, 0);
	settle();
}

void kernel_wake(struct task_struct *p, s32 waker, bool sync, bool by_interrupt)
{
	if (is_queued(p)) {
		fail("%s is woken but does not sleep", p->comm);
		return;
	}
	__preempt_count = by_interrupt ? HARDIRQ_COUNT : 0;
	activate(p, waker, SCX_WAKE_TTWU | (sync ? SCX_WAKE_SYNC : 0), SCX_ENQ_WAKEUP);
	__preempt_count = 0;
	settle();
}

static struct task_struct *deactivate(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];
	struct task_struct *p = c->current;

	this_cpu = cpu;
	if (is_idle(c) || c->held) {
		fail("nobody runs on CPU %d", cpu);
		return NULL;
	}
	charge_slice(c);
	p->nvcsw++;
	p->__state = TASK_INTERRUPTIBLE;
	pandemonium_stopping(p, false);
	p->scx.flags &= ~SCX_TASK_QUEUED;
	c->resched = true;
	return p;
}

/* What runs on the CPU goes to sleep. */
void kernel_sleep(s32 cpu)
{
	deactivate(cpu);
	settle();
}

/* What runs on the CPU ends. */
void kernel_exit(s32 cpu)
{
	struct scx_exit_task_args args = {};
	struct task_struct *p = deactivate(cpu);

	settle();
	if (p)
		pandemonium_exit_task(p, &args);
}

void kernel_tick(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];

	if (is_idle(c) || c->held)
		return;
	this_cpu = cpu;
	charge_slice(c);
	pandemonium_tick(c->current);
	c->resched |= !c->current->scx.slice;
	settle();
}

/* Without interrupts the CPU goes on with what it does whatever others ask of it. */
void kernel_set_interrupts(s32 cpu, bool enabled)
{
	cpus[cpu].is_deaf = !enabled;
	settle();
}

/* A task of a higher class takes the CPU. */
void kernel_hold(s32 cpu)
{
	struct scx_cpu_release_args args = {};
	struct host_cpu *c = &cpus[cpu];

	this_cpu = cpu;
	if (is_idle(c)) {
		pandemonium_update_idle(cpu, false);
	} else {
		charge_slice(c);
		put_current(cpu, false);
	}
	c->held = true;
	c->has_idle_bit = false;
	c->resched = false;
	/* Neither idle nor one of ours. */
	set_current(c, NULL);
	pandemonium_cpu_release(cpu, &args);
	settle();
}

void kernel_unhold(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];

	c->held = false;
	set_current(c, &c->idle_task);
	c->has_idle_bit = true;
	c->resched = true;
	this_cpu = cpu;
	pandemonium_update_idle(cpu, true);
	settle();
}

/* From wherever it waits to the queues of a CPU that it may run on. */
static void requeue(struct task_struct *p)
{
	unlink_task(p);
	p->cpu = fallback_cpu(p);
	enqueue(p, 0);
	if (is_idle(&cpus[p->cpu]))
		cpus[p->cpu].resched = true;
}

/* Takes what runs off its CPU, as the thread that migrates tasks does. */
static void push_current(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];
	struct task_struct *p = c->current;

	if (c->held || is_idle(c))
		return;
	charge_slice(c);
	p->waits_since = now_ns;
	pandemonium_stopping(p, true);
	set_current(c, &c->idle_task);
	c->resched = true;
	pandemonium_update_idle(cpu, true);
	c->has_idle_bit = c->online;
	requeue(p);
}

/*
 * Somebody on @changer has changed something about the task. What runs is taken off its CPU and put back at once,
 * and whatever the scheduler asked for between the two does not happen.
 */
void kernel_change(struct task_struct *p, s32 changer)
{
	if (!is_queued(p))
		return;
	this_cpu = changer;
	if (p->on) {
		requeue(p);
	} else {
		charge_slice(&cpus[p->cpu]);
		pandemonium_stopping(p, false);
		pandemonium_enqueue(p, ENQUEUE_RESTORE);
		p->scx.slice = p->insertion.slice;
		p->insertion.queue = NO_INSERTION;
		pandemonium_running(p);
	}
	settle();
}

/* The task's affinity has changed. */
void kernel_rebind(struct task_struct *p)
{
	kernel_change(p, p->cpu);
	if (is_queued(p) && !p->on && !test_bit(p->cpus_ptr, p->cpu)) {
		this_cpu = p->cpu;
		push_current(p->cpu);
		settle();
	}
}

/* The kernel no longer asks what the CPU should run, and has not yet moved anybody off it. */
void kernel_begin_offline(s32 cpu)
{
	this_cpu = cpu;
	pandemonium_cpu_offline(cpu);
	kernel_set_online(cpu, false);
	cpus[cpu].has_idle_bit = false;
	settle();
}

void kernel_offline(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];

	kernel_begin_offline(cpu);
	push_current(cpu);
	while (c->local.first)
		requeue(c->local.first);
	c->resched = false;
	settle();
}

void kernel_online(s32 cpu)
{
	this_cpu = cpu;
	kernel_set_online(cpu, true);
	pandemonium_cpu_online(cpu);
	cpus[cpu].resched = true;
	settle();
}

struct task_struct *kernel_task_of(u32 index)
{
	return &tasks[index % HOST_TASKS];
}

/* In the order in which they were made. */
u32 kernel_index_of(const struct task_struct *p)
{
	return p - tasks;
}

/* The present wait included. */
u64 kernel_longest_wait(const struct task_struct *p)
{
	u64 waited = p->on ? now_ns - p->waits_since : 0;

	return waited > p->longest_wait_ns ? waited : p->longest_wait_ns;
}

/* NULL if the CPU is idle or a higher class has it. */
struct task_struct *kernel_current(s32 cpu)
{
	struct host_cpu *c = &cpus[cpu];

	return c->held || is_idle(c) ? NULL : c->current;
}

u64 kernel_nr_in(u64 queue)
{
	return queues[queue % NR_QUEUES_HOST].nr;
}

u64 kernel_now(void)
{
	return now_ns;
}

/* For the scheduler */

struct task_struct *bpf_get_current_task_btf(void)
{
	struct host_cpu *c = &cpus[this_cpu];

	return c->current ? c->current : &c->idle_task;
}

s32 bpf_get_smp_processor_id(void)
{
	return this_cpu;
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

u64 scx_bpf_now(void)
{
	return now_ns;
}

s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	return p->cpu;
}

s32 scx_bpf_create_dsq(u64 queue, s32 node)
{
	(void)node;
	if (queue >= NR_QUEUES_HOST || queues[queue].exists)
		return -EEXIST;
	queues[queue].exists = true;
	queues[queue].cpu = -1;
	return 0;
}

void scx_bpf_dsq_insert(struct task_struct *p, u64 queue, u64 slice, u64 flags)
{
	insert(p, (struct insertion){ .queue = queue, .slice = slice, .flags = flags });
}

void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 queue, u64 slice, u64 vtime, u64 flags)
{
	insert(p, (struct insertion){ .queue = queue,
				      .slice = slice,
				      .vtime = vtime,
				      .flags = flags,
				      .has_vtime = true });
}

bool scx_bpf_dsq_move_to_local(u64 queue, u64 flags)
{
	struct dispatch_queue *q = queue_of(queue);
	struct task_struct *p;

	for (p = q ? q->first : NULL; p; p = p->next) {
		if (!may_run_on(p, this_cpu))
			continue;
		unlink_task(p);
		link_local(p, this_cpu, flags);
		return true;
	}
	return false;
}

bool scx_bpf_dsq_move(struct host_iterator *it, struct task_struct *p, u64 queue, u64 flags)
{
	(void)it;
	if (!p->on)
		return false;
	unlink_task(p);
	if (queue == SCX_DSQ_GLOBAL)
		link_task(&global, p, global.last);
	else
		link_local(p, this_cpu, flags);
	return true;
}

struct host_iterator host_iterate(u64 queue, u64 flags)
{
	struct dispatch_queue *q = queue_of(queue);
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
	struct dispatch_queue *q = &cpus[this_cpu].local;
	s32 cpu = this_cpu;
	u64 nr;

	for (nr = q->nr; nr; nr--) {
		struct task_struct *p = q->first;

		unlink_task(p);
		this_cpu = cpu;
		enqueue(p, SCX_ENQ_REENQ);
	}
}

/* The kernel does it once it is done with what it is about. */
int scx_bpf_reenqueue_local_from_anywhere(void)
{
	cpus[this_cpu].reenqueues = true;
	return 0;
}

struct cpumask *scx_bpf_get_online_cpumask(void)
{
	return &online_mask;
}

void scx_bpf_put_cpumask(const struct cpumask *mask)
{
	(void)mask;
}

bool scx_bpf_test_and_clear_cpu_idle(s32 cpu)
{
	bool was_idle = cpus[cpu].has_idle_bit;

	cpus[cpu].has_idle_bit = false;
	return was_idle;
}

s32 scx_bpf_pick_idle_cpu___optional(const cpumask_t *allowed, u64 flags)
{
	u32 cpu;

	(void)flags;
	for (cpu = 0; cpu < nr_cpus; cpu++)
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
	if (!cpus[cpu].held && is_idle(&cpus[cpu]))
		cpus[cpu].resched = true;
}

void host_dump(const char *format, ...)
{
	(void)format;
}
