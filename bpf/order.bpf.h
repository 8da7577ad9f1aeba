/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which order what waits in a queue has its turn: what it has had decides, but for what was interrupted, is short and
 * rare, or is being launched.
 */
#ifndef __PANDEMONIUM_ORDER_BPF_H
#define __PANDEMONIUM_ORDER_BPF_H

/*
 * Virtual time at which interactive work queues. What was interrupted keeps its place. What has used up its slice comes
 * back near the front, where those begin that wake: they do so with credit, and would pass it again and again, while the
 * clock, which is where the furthest began, stands still. What is short and rare need not wait behind what takes longer:
 * all that it asks for is over before the others would notice.
 */
static __always_inline u64 interactive_deadline(struct task_struct *p, const struct task_ctx *t)
{
	const struct queue_state *q = queue_state_of(t->queue);
	u64 deadline = t->vtime;
	u64 front;

	if (t->slice_left_ns)
		return q->clock - VTIME_SPAN_NS;
	if (t->awake_run_ns) {
		deadline += awake_penalty_ns(t->awake_run_ns, t->tier);
		/* In a queue where all that wakes is placed at once nobody moves it. */
		front = vtime_later(q->front, q->clock - CREDIT_UNIT_NS * CREDIT_UNITS_MAX);
		deadline = vtime_earlier(deadline, front + service_vtime(p, t, BEHIND_FRONT_NS));
	}
	return t->waits_rare ? deadline - RARE_LEAD_NS : deadline;
}

/* What has not slept yet and ran for less is being launched. */
#define LAUNCH_RUN_NS (4 * NSEC_PER_MSEC_)

static __always_inline bool is_being_launched(const struct task_struct *p, const struct task_ctx *t)
{
	return !t->wakes && t->awake_run_ns < LAUNCH_RUN_NS && !t->pinned && !is_idle_class(p);
}

/* How far ahead of the clock launches queue: by as much as no other work may be. */
#define LAUNCH_ORDER_NS (2 * LAUNCH_CREDIT_NS)

/* However many somebody forks at once, it is forgotten after this. */
#define PACE_MAX_NS (200 * NSEC_PER_MSEC_)

/*
 * What forks many at once has them queue as if it had forked the next only when the one before may have run, and so do they:
 * what somebody else launches meanwhile does not wait for all.
 */
static __always_inline void pace_launch(struct task_ctx *t, struct task_ctx *parent, u64 now)
{
	u64 ahead = time_delta(parent->launch_ns, now);

	t->launch_ns = now + (ahead < PACE_MAX_NS ? ahead : PACE_MAX_NS);
	parent->launch_ns = t->launch_ns + LAUNCH_RUN_NS;
}

/*
 * What is being launched goes before all that is not, and first of all if it was interrupted. It pays as any other, only
 * the place is its own: among programs that began before it has less than each of them.
 */
static __always_inline u64 launch_deadline(const struct task_ctx *t)
{
	u64 ahead = time_delta(t->launch_ns, t->queued_ns);
	u64 deadline = queue_state_of(t->queue)->clock - LAUNCH_ORDER_NS +
		       (ahead < LAUNCH_CREDIT_NS ? ahead : LAUNCH_CREDIT_NS);

	return t->slice_left_ns ? vtime_earlier(deadline, head_vtime(t->queue, deadline) - 1) :
				  deadline;
}

/*
 * Where batch work queues: by what it has had. What sleeps between its runs and is not done with one goes on before young
 * programs, of which each has a lead: it would wait for a turn of each. What has rested once may be a hog that waited for
 * another task to begin, but not if an interrupt woke it.
 */
static __always_inline u64 batch_deadline(struct task_struct *p, struct task_ctx *t)
{
	u64 deadline = turn_vtime(t);

	if (t->queue < NODE_QUEUES)
		return deadline;
	if (is_being_launched(p, t)) {
		t->waits_launch = true;
		__sync_fetch_and_add(&grown_state_of(t->queue)->launching, 1);
		return launch_deadline(t);
	}
	if ((t->rests > 1 || (t->rests && t->is_external)) && t->awake_run_ns &&
	    t->awake_run_ns <= BATCH_CREDIT_NS && young_waits_in(t->queue))
		return queue_state_of(t->queue)->clock - LAUNCH_CREDIT_NS;
	return deadline;
}

VERIFIED_ONCE int queue_insert_entered(struct task_struct *p __arg_trusted, struct task_ctx *t,
				       u64 enq_flags)
{
	u64 deadline;

	if (!t)
		return 0;
	if (t->queue < NODE_QUEUES && p->nr_cpus_allowed > 1)
		mark_stealable(t);
	deadline = t->queue & QUEUE_BATCH ? batch_deadline(p, t) : interactive_deadline(p, t);
	scx_bpf_dsq_insert_vtime(p, t->queue, SLICE_UNDECIDED_NS, deadline, enq_flags);
	return 0;
}

#endif /* __PANDEMONIUM_ORDER_BPF_H */
