/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a wake-up stops: who may be stopped for it, and which of those.
 */
#ifndef __PANDEMONIUM_VICTIM_BPF_H
#define __PANDEMONIUM_VICTIM_BPF_H

/* CPUs looked at for one to preempt. The shared queue serves whoever finds none. */
#define VICTIM_WINDOW 8
/* What should go on for more than this can be interrupted for what is short. */
#define LONG_REST_NS (250 * NSEC_PER_USEC_)

/*
 * How strongly a wake-up asks for a CPU. Any wake-up may interrupt batch work, since something
 * outside is waiting, but a batch task only while it has had less than its share.
 */
static __always_inline u32 wake_rank(const struct task_ctx *t)
{
	if (t->tier != TIER_BATCH)
		return t->tier;
	return vtime_diff(t->vtime, queue_state_of(t->queue)->clock) <= 0 ? TIER_INTERACTIVE :
									    TIER_BATCH;
}

/* Work that nobody should notice has no claim to go first, and what somebody decided to be batch has none either. */
static __always_inline u32 brevity_of(const struct task_struct *p, const struct task_ctx *t,
				      u32 rank)
{
	if (rank == TIER_BATCH ||
	    (t->tier == TIER_BATCH && (t->pinned == TIER_BATCH + 1 || is_idle_class(p))))
		return BREVITY_NONE;
	return usual_brevity(t);
}

/* Whether what runs needs the CPU for long still, if it needs what it usually does. */
static __always_inline bool goes_on_for_long(const struct cpu_ctx *c, u64 now)
{
	return c->tier < NR_TIERS && !c->boosted &&
	       vtime_diff(c->expected_end, now) > (s64)LONG_REST_NS;
}

/*
 * Lower tiers stop for higher ones, and what goes on for long stops for what is short. A turn of batch work is protected,
 * but not from what is short and rare: that is gone in a moment, and the turn goes on, for it is still due.
 */
VERIFIED_ONCE bool may_preempt(s32 cpu, u32 rank, u32 brevity, u64 now)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);

	if (c->tier >= rank && !(brevity && goes_on_for_long(c, now)))
		return false;
	return brevity == BREVITY_SHORT_AND_RARE || now >= c->protected_until;
}

/* Within the loop that asks it the verifier would look at every outcome in every state. */
VERIFIED_ONCE bool is_better_victim(u32 cpu, u32 other)
{
	const struct cpu_ctx *a = cpu_ctx_of(cpu);
	const struct cpu_ctx *b = cpu_ctx_of(other);

	if (a->tier != b->tier)
		return a->tier < b->tier;
	if (may_be_quicker(a, b) || may_be_quicker(b, a))
		return may_be_quicker(a, b);
	return vtime_diff(a->started_ns, b->started_ns) < 0;
}

/*
 * Whether the interrupt that wakes the task has stopped batch work already. Then nothing matters less, and
 * to stop other work would take one more interrupt, and the time until its CPU notices.
 */
static __always_inline bool is_victim_here(s32 cpu, u32 rank, u32 brevity, s32 prev_cpu, u64 now)
{
	const struct cpu_ctx *here = cpu_ctx_of(cpu);

	return here->tier == TIER_BATCH && may_preempt(cpu, rank, brevity, now) &&
	       here->node_queue == cpu_ctx_of(prev_cpu)->node_queue;
}

/* Until the victim switches, other wakers look elsewhere. Its own next running() puts the truth back. */
static __always_inline void claim_victim(s32 cpu)
{
	cpu_ctx_of(cpu)->tier = NR_TIERS;
}

/*
 * The allowed CPU nearby whose task may be stopped, matters least and has run longest; negative if none. With the number
 * of each turn known, as in a loop by can_loop, the verifier would look at all of them, and at every outcome.
 */
VERIFIED_ONCE s32 victim_for_rank(const struct task_struct *p __arg_trusted, u32 rank, u32 brevity,
				  s32 prev_cpu, u64 now)
{
	s32 best = -1;
	u32 i;

	bpf_for(i, 0, VICTIM_WINDOW) {
		u32 cpu;

		if (i >= topology.nr_cpu_ids)
			break;
		cpu = cpu_after(prev_cpu, i);
		if (!may_preempt(cpu, rank, brevity, now) || !is_allowed(p, cpu))
			continue;
		if (best < 0 || is_better_victim(cpu, best))
			best = cpu;
	}
	return best;
}

/*
 * The same for a task that an interrupt on @here wakes, where it has stopped batch work that may be stopped. If it has
 * stopped a softirq that work waits for that as well.
 */
static __always_inline s32 victim_of_interrupt(struct task_struct *p, u32 rank, u32 brevity,
					       s32 here, s32 prev_cpu, u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(here);
	bool is_held = has_interrupted_softirq();
	s32 cpu;

	if (!is_held && !c->is_late)
		return here;
	if (is_held)
		claim_victim(here);
	cpu = victim_for_rank(p, rank, brevity, prev_cpu, now);
	if (is_held)
		c->tier = TIER_BATCH;
	return cpu >= 0 && (is_held || may_be_quicker(cpu_ctx_of(cpu), c)) ? cpu : here;
}

/* A program that is launched goes on where it was forked rather than where it would take longer. */
static __always_inline bool may_launch_on(s32 cpu, s32 here, u64 now)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);

	return time_delta(now, c->started_ns) >= LAUNCH_AFTER_NS &&
	       !is_a_bit_quicker(cpu_ctx_of(here), c);
}

/* Whether a young program would take less there than on @from, and stop only what is grown. */
VERIFIED_ONCE bool is_better_for_launch(s32 cpu, s32 from, u64 now)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);

	return c->runs_grown && is_a_bit_quicker(c, cpu_ctx_of(from)) &&
	       may_preempt(cpu, TIER_INTERACTIVE, BREVITY_NONE, now);
}

/* The quickest of the allowed CPUs nearby that are better for a young program than @from, where it is; negative if none. */
VERIFIED_ONCE s32 better_for_launch(const struct task_struct *p __arg_trusted,
				    const struct task_ctx *t, s32 from, u64 now)
{
	s32 best = -1;
	u32 i;

	if (!t || !is_young(t) || t->pinned || is_idle_class(p) ||
	    cpu_ctx_of(from)->answer_ns <= ANSWER_QUICK_NS)
		return -1;
	bpf_for(i, 1, VICTIM_WINDOW) {
		u32 cpu;

		if (i >= topology.nr_cpu_ids)
			break;
		cpu = cpu_after(from, i);
		if (is_better_for_launch(cpu, from, now) && is_allowed(p, cpu) &&
		    (best < 0 || cpu_ctx_of(cpu)->answer_ns < cpu_ctx_of(best)->answer_ns))
			best = cpu;
	}
	return best;
}

/* The same for a program that is forked on @here. */
static __always_inline s32 victim_of_launch(struct task_struct *p, struct task_ctx *t, u32 rank,
					    u32 brevity, s32 here, s32 prev_cpu, u64 now)
{
	s32 cpu = better_for_launch(p, t, here, now);

	if (cpu >= 0)
		return cpu;
	cpu = victim_for_rank(p, rank, brevity, prev_cpu, now);
	return cpu >= 0 && may_launch_on(cpu, here, now) ? cpu : -1;
}

#endif /* __PANDEMONIUM_VICTIM_BPF_H */
