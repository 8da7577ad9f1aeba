/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting for a CPU that is about to come free: that of a waker which sleeps soon, or the one that a task ran on last.
 */
#ifndef __PANDEMONIUM_HANDOVER_BPF_H
#define __PANDEMONIUM_HANDOVER_BPF_H

/* To wait for a CPU that should come free within this time is better than to wake one far away. */
#define SOON_NS (50 * NSEC_PER_USEC_)
/* A waker that sleeps within this time after it has woken somebody is out of the way before an idle CPU is awake. */
#define PROMPT_NS (25 * NSEC_PER_USEC_)
/* Where no CPU is idle: before somebody else has stopped. */
#define PROMPT_UNDER_LOAD_NS (100 * NSEC_PER_USEC_)
/* No CPU is handed over while interactive work waits for it, or for any of the node, for longer. */
#define PASSED_OVER_MAX_NS (150 * NSEC_PER_USEC_)

/*
 * Whether those that wait in an interactive queue have waited for long. It may be served all the time by what is short and
 * rare, or was interrupted: by those that go on waking each other.
 */
static __always_inline bool is_passed_over(u32 queue, u64 now)
{
	return nr_queued(queue) &&
	       time_delta(now, queue_state_of(queue)->turn_ns) > PASSED_OVER_MAX_NS;
}

/* Behind what runs there, and to stay: SCX_ENQ_IMMED would bring it back. */
static __always_inline void place_behind(struct task_struct *p, struct task_ctx *t, s32 cpu)
{
	place(p, t, cpu, SCX_DSQ_LOCAL, 0);
}

/* Whether what runs on the CPU should be done in a moment. If it is not, its slice bounds the wait. */
static __always_inline bool comes_free_soon(s32 cpu, u64 now)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);
	s64 left = vtime_diff(c->expected_end, now);

	return c->tier != TIER_BATCH && c->tier < NR_TIERS && left >= 0 && left <= SOON_NS;
}

/*
 * How long after it has woken somebody the waker usually sleeps; longer than anything if it is no task, or has handed its
 * CPU over already. Pipes and sockets say that it will sleep, other ways to wake somebody cannot. Notes whether it is an
 * interrupt, and when a task that runs here first did, which is what stopping() learns from.
 */
static __always_inline u64 wake_tail(struct task_ctx *t, struct cpu_ctx *here, u64 wake_flags,
				     u64 now)
{
	if (!(wake_flags & SCX_WAKE_TTWU))
		return ~0ULL;
	t->is_external = is_in_interrupt();
	if (t->is_external)
		return ~0ULL;
	if (!here->woke_ns)
		here->woke_ns = now;
	/* What runs for long gains nothing, and may be better off where it was. */
	if (here->hands_over || t->avg_runtime_ns > SHORT_RUN_NS)
		return ~0ULL;
	return here->wake_tail_ns;
}

/*
 * Whether the waker's CPU may go to whom it wakes without a preemption. Two that go on waking each other keep it, so not
 * while others wait for long, nor while what is short and rare does.
 */
VERIFIED_ONCE bool may_hand_over(const struct task_struct *p __arg_trusted, s32 cpu, u64 now)
{
	u32 tier = cpu_ctx_of(cpu)->tier;
	u32 own = cpu_queue(cpu, QUEUE_INTERACTIVE);
	u32 node = node_queue(cpu, QUEUE_INTERACTIVE);

	if (tier == TIER_BATCH || tier >= NR_TIERS || batch_overdue(cpu, now) ||
	    queue_state_of(node)->rare > 0 || queue_state_of(own)->rare > 0 ||
	    is_passed_over(node, now) || is_passed_over(own, now))
		return false;
	return nr_queued(own) < limits.placement_depth && is_allowed(p, cpu) && is_in_domain(cpu);
}

/*
 * Whether others have waited for a CPU and that of the waker comes free, but not for whom it wakes. That queues behind
 * them: to stop somebody else for it would be one switch more, and whoever that is loses the CPU it just got.
 */
static __always_inline bool is_in_turn(const struct task_struct *p, s32 cpu, u64 tail, u64 now)
{
	return (tail <= PROMPT_UNDER_LOAD_NS || comes_free_soon(cpu, now)) &&
	       is_passed_over(node_queue(cpu, QUEUE_INTERACTIVE), now) && is_in_domain(cpu) &&
	       !is_restricted(p);
}

/* Into the CPU's own queue, from where others may take it if the CPU does not come free. */
VERIFIED_ONCE int queue_for_cpu(struct task_struct *p __arg_trusted, struct task_ctx *t, s32 cpu,
				u64 now)
{
	if (!t)
		return 0;
	queue_enter(t, cpu_queue(cpu, queue_kind_of(t)), now);
	return queue_insert_entered(p, t, 0);
}

/*
 * The waker is as good as asleep: the first one goes where the CPU finds it without asking dispatch(). Others
 * wait where they may be taken, and so does the first if the waker loses the CPU before it sleeps.
 */
static __always_inline void hand_over(struct task_struct *p, struct task_ctx *t, s32 cpu, u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);

	if (c->hands_over) {
		queue_for_cpu(p, t, cpu, now);
		return;
	}
	c->hands_over = true;
	place_behind(p, t, cpu);
}

/* Before 6.19 cpu_release() does it, for a higher class only. */
static __always_inline void take_back_hand_over(struct cpu_ctx *c)
{
	if (!c->hands_over)
		return;
	c->hands_over = false;
	scx_bpf_reenqueue_local_from_anywhere();
}

/*
 * Whether interactive work that can only run here is next once its waker sleeps, which it is about to do, so that nobody
 * need be asked. Two that go on waking each other would never let batch work that waits have its turn, so that ends it.
 */
static __always_inline bool is_next_here(const struct task_ctx *t, s32 cpu, u64 now)
{
	return cpu == bpf_get_smp_processor_id() && queue_kind_of(t) == QUEUE_INTERACTIVE &&
	       comes_free_soon(cpu, now) && !interactive_waits(cpu) &&
	       (cpu_ctx_of(cpu)->other_ran_ns < BATCH_STALL_MAX_NS || !batch_waits(cpu));
}

/* Whether to wait for the CPU that the task's cache is warm on rather than take an idle one far away. */
static __always_inline bool should_wait_near(const struct task_struct *p, const struct task_ctx *t,
					     s32 prev_cpu, u64 now)
{
	if (!(closeness_of(p, t) & SEARCH_STRONG) || !is_in_domain(prev_cpu) ||
	    !comes_free_soon(prev_cpu, now))
		return false;
	return !nr_queued(cpu_queue(prev_cpu, QUEUE_INTERACTIVE)) && !has_idle_near(prev_cpu) &&
	       is_allowed(p, prev_cpu);
}

#endif /* __PANDEMONIUM_HANDOVER_BPF_H */
