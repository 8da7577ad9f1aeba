/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dispatch queues, and how tasks come into them and leave them.
 */
#include "vmlinux.h"

#include <scx/common.bpf.h>

#include "kernel.h"
#include "host.h"

void host_unlink(struct task_struct *p)
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
void host_link(struct dispatch_queue *q, struct task_struct *p, struct task_struct *after)
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

static void host_link_by_vtime(struct dispatch_queue *q, struct task_struct *p)
{
	struct task_struct *after = q->last;

	while (after && time_before(p->scx.dsq_vtime, after->scx.dsq_vtime))
		after = after->prev;
	host_link(q, p, after);
}

struct dispatch_queue *host_queue_of(u64 id)
{
	if (id == SCX_DSQ_GLOBAL)
		return &host.global;
	if (id >= NR_QUEUES_HOST || !host.queues[id].exists) {
		host_fail("non-existent queue %llx", (unsigned long long)id);
		return NULL;
	}
	return &host.queues[id];
}

bool host_may_run_on(const struct task_struct *p, s32 cpu)
{
	if (!test_bit(p->cpus_ptr, cpu) || !host.cpus[cpu].online)
		return false;
	return !p->migration_disabled || p->cpu == cpu;
}

void host_link_local(struct task_struct *p, s32 cpu, u64 flags)
{
	struct host_cpu *c = &host.cpus[cpu];

	if (p->cpu != cpu && (!test_bit(p->cpus_ptr, cpu) || p->migration_disabled)) {
		host_fail("%s is not allowed on CPU %d", p->comm, cpu);
		return;
	}
	if (!c->online) {
		host_link(&host.global, p, host.global.last);
		return;
	}
	p->cpu = cpu;
	host_link(&c->local, p, flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT) ? NULL : c->local.last);
	if (is_idle(c))
		c->resched = true;
	else if (flags & SCX_ENQ_PREEMPT && c->current != p && !c->held) {
		c->current->scx.slice = 0;
		c->resched = true;
	}
}

/* What select_cpu() or enqueue() asked for happens when it has returned. */
void host_finish_insertion(struct task_struct *p)
{
	struct insertion in = p->insertion;
	struct dispatch_queue *q;

	p->insertion.queue = NO_INSERTION;
	p->scx.slice = in.slice;
	if (in.queue == SCX_DSQ_LOCAL) {
		host_link_local(p, p->cpu, in.flags);
		return;
	}
	if ((in.queue & SCX_DSQ_LOCAL_ON) == SCX_DSQ_LOCAL_ON) {
		host_link_local(p, (s32)(u32)in.queue, in.flags);
		return;
	}
	q = host_queue_of(in.queue);
	if (!q)
		return;
	p->scx.dsq_vtime = in.vtime;
	if (in.has_vtime)
		host_link_by_vtime(q, p);
	else
		host_link(q, p, q->last);
}

void host_insert(struct task_struct *p, struct insertion in)
{
	if (p->insertion.queue != NO_INSERTION || p->on || !(p->scx.flags & SCX_TASK_QUEUED))
		host_fail("%s is inserted twice, or sleeps", p->comm);
	p->insertion = in;
}

void host_enqueue(struct task_struct *p, u64 flags)
{
	pandemonium_enqueue(p, flags);
	if (p->insertion.queue == NO_INSERTION) {
		host_fail("%s is lost: nothing was inserted", p->comm);
		return;
	}
	host_finish_insertion(p);
}
