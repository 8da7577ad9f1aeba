/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How tasks lose their CPU or their place otherwise than by running, sleeping and waking: to a higher class,
 * to a change of the task or of its affinity, and because the CPU goes offline.
 *
 * A higher class that takes a CPU is reported by cpu_release(), as kernels before 6.19 do.
 */
#include "vmlinux.h"

#include <scx/common.bpf.h>

#include "kernel.h"
#include "host.h"

/* Of the enqueue flags that are the kernel's own, from kernel/sched/sched.h. */
#define ENQUEUE_RESTORE 0x02

/* A task of a higher class takes the CPU. */
void kernel_hold(s32 cpu)
{
	struct scx_cpu_release_args args = {};
	struct host_cpu *c = &host.cpus[cpu];

	host.this_cpu = cpu;
	if (is_idle(c)) {
		pandemonium_update_idle(cpu, false);
	} else {
		host_charge_slice(c);
		host_put_current(cpu, false);
	}
	c->held = true;
	c->has_idle_bit = false;
	c->resched = false;
	/* Neither idle nor one of ours. */
	c->current = NULL;
	pandemonium_cpu_release(cpu, &args);
	host_settle();
}

void kernel_unhold(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];

	c->held = false;
	c->current = &c->idle_task;
	c->has_idle_bit = true;
	c->resched = true;
	host.this_cpu = cpu;
	pandemonium_update_idle(cpu, true);
	host_settle();
}

/* From wherever it waits to the queues of a CPU that it may run on. */
static void requeue(struct task_struct *p)
{
	host_unlink(p);
	p->cpu = host_fallback_cpu(p);
	host_enqueue(p, 0);
	if (is_idle(&host.cpus[p->cpu]))
		host.cpus[p->cpu].resched = true;
}

/* Takes what runs off its CPU, as the thread that migrates tasks does. */
static void push_current(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];
	struct task_struct *p = c->current;

	if (c->held || is_idle(c))
		return;
	host_charge_slice(c);
	p->waits_since = host.now_ns;
	pandemonium_stopping(p, true);
	c->current = &c->idle_task;
	c->resched = true;
	pandemonium_update_idle(cpu, true);
	c->has_idle_bit = c->online;
	requeue(p);
}

/*
 * What waits is put back where it was. If it may not be there any more it goes elsewhere at once, and nothing that the
 * scheduler asked for in between happens.
 */
static void restore(struct task_struct *p)
{
	host_unlink(p);
	if (test_bit(p->cpus_ptr, p->cpu)) {
		host_enqueue(p, ENQUEUE_RESTORE);
		return;
	}
	pandemonium_enqueue(p, ENQUEUE_RESTORE);
	p->insertion.queue = NO_INSERTION;
	requeue(p);
}

/*
 * Somebody on @changer has changed something about the task. What runs is taken off its CPU and put back at once.
 */
void kernel_change(struct task_struct *p, s32 changer)
{
	if (!is_queued(p))
		return;
	host.this_cpu = changer;
	if (p->on) {
		restore(p);
	} else {
		/* The scheduler is not asked where to: the kernel puts what runs into the local queue itself. */
		host_charge_slice(&host.cpus[p->cpu]);
		pandemonium_stopping(p, false);
		pandemonium_running(p);
	}
	host_settle();
}

/* The task's affinity has changed. */
void kernel_rebind(struct task_struct *p)
{
	kernel_change(p, p->cpu);
	if (is_queued(p) && !p->on && !test_bit(p->cpus_ptr, p->cpu)) {
		host.this_cpu = p->cpu;
		push_current(p->cpu);
		host_settle();
	}
}

/* The kernel no longer asks what the CPU should run, and has not yet moved anybody off it. */
void kernel_begin_offline(s32 cpu)
{
	host.this_cpu = cpu;
	pandemonium_cpu_offline(cpu);
	host.cpus[cpu].online = false;
	host.cpus[cpu].has_idle_bit = false;
	host_settle();
}

/* Whether the kernel, having begun to take the CPU offline, can go on. */
bool kernel_is_left(s32 cpu)
{
	return host.cpus[cpu].is_left;
}

void kernel_offline(s32 cpu)
{
	struct host_cpu *c = &host.cpus[cpu];

	kernel_begin_offline(cpu);
	kernel_set_online(cpu, false);
	push_current(cpu);
	while (c->local.first)
		requeue(c->local.first);
	c->resched = false;
	host_settle();
}

void kernel_online(s32 cpu)
{
	host.this_cpu = cpu;
	kernel_set_online(cpu, true);
	pandemonium_cpu_online(cpu);
	host.cpus[cpu].resched = true;
	host_settle();
}
