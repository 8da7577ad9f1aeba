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

/*
 * What is being launched goes before all that is not, in the order in which it comes, and is first when it @goes_on. It
 * pays as any other, only the place is its own: among programs that began before it has less than each of them.
 */
VERIFIED_ONCE u64 launch_vtime(u32 queue, u64 otherwise, bool goes_on)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, 0) {
		const struct task_ctx *t = task_ctx_of(p);
		bool goes_before = goes_on || (t && !t->waits_launch);

		return vtime_earlier(otherwise, p->scx.dsq_vtime - goes_before);
	}
	return otherwise;
}

/*
 * Where batch work queues: by what it has had. While young programs wait, of which each has a lead, what sleeps between its
 * runs and is not done with one goes on near the grown task that began last: all others would have a turn before it.
 */
static __always_inline u64 batch_deadline(struct task_struct *p, struct task_ctx *t)
{
	struct grown_state *g = grown_state_of(t->queue);
	u64 deadline = turn_vtime(t);

	if (t->queue < NODE_QUEUES)
		return deadline;
	if (is_being_launched(p, t)) {
		t->waits_launch = true;
		__sync_fetch_and_add(&g->launching, 1);
		return launch_vtime(t->queue, deadline, t->slice_left_ns);
	}
	if (is_batch_sleeper(t) && t->awake_run_ns && t->awake_run_ns <= BATCH_CREDIT_NS &&
	    young_waits_in(t->queue))
		return vtime_earlier(deadline, g->turn_vtime);
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
