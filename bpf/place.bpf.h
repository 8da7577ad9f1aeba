/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a waking task goes: an idle CPU, the CPU of a waker about to sleep, or one that stops for it.
 */
#ifndef __PANDEMONIUM_PLACE_BPF_H
#define __PANDEMONIUM_PLACE_BPF_H

/*
 * Puts the task into the local queue of the CPU it was selected for. With SCX_ENQ_IMMED, where the
 * kernel has it, a task that cannot run at once comes back to enqueue() instead of lingering.
 */
static __always_inline void place_local(struct task_struct *p, struct task_ctx *t, s32 cpu,
					u64 enq_flags)
{
	place(p, t, cpu, SCX_DSQ_LOCAL, enq_flags | SCX_ENQ_IMMED);
}

/*
 * The task stops what runs there. Batch work may do so while it has had no more than its share, and is on a par then
 * with the batch work that it stops: what began with the lead of a launch would come back before it is done.
 */
static __always_inline void interrupt_cpu(struct task_struct *p, struct task_ctx *t, s32 cpu)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);

	claim_victim(cpu);
	place_local(p, t, cpu, SCX_ENQ_PREEMPT);
	if (is_batch_sleeper(t) && c->batch_queue == t->queue)
		t->vtime = vtime_earlier(t->vtime, c->turn_vtime);
	count(CNT_KICKS_HARD);
}

/*
 * Onto a CPU found idle and claimed. A realtime task may still come first; where the kernel does not
 * give back what is in the local queue then, the CPU's own queue is the safe place.
 */
static __always_inline void place_on_claimed(struct task_struct *p, struct task_ctx *t, s32 cpu,
					     u64 now)
{
	if (drains_from_idle)
		place_local(p, t, cpu, 0);
	else
		queue_for_cpu(p, t, cpu, now);
	count(CNT_IDLE_PLACEMENTS);
}

/*
 * The kernel's mask does not know whom ours has just given a CPU to, and its bit is cleared whoever takes it: so
 * another one is tried.
 */
VERIFIED_ONCE s32 claim_allowed(struct task_struct *p __arg_trusted)
{
	u32 i;

	if (!bpf_ksym_exists(scx_bpf_pick_idle_cpu___optional))
		return -1;
	bpf_for(i, 0, CLAIM_TRIES) {
		s32 cpu = scx_bpf_pick_idle_cpu___optional(p->cpus_ptr, 0);

		if (cpu < 0 || !is_selector_on() || !has_idle_bit(cpu) || claim_idle(cpu))
			return cpu;
	}
	return -1;
}

/*
 * An idle CPU for a wake-up, claimed; negative if there is none. @wake_flags says with SCX_WAKE_SYNC
 * that the waker hands its own CPU over, though not at once: then only the one the task ran on last is worth
 * waking.
 */
VERIFIED_ONCE s32 find_idle(struct task_struct *p __arg_trusted, struct task_ctx *t, s32 prev_cpu,
			    u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu;

	if (!t)
		return -1;
	if (is_selector_on() && has_idle_bit(prev_cpu) && !is_restricted(p)) {
		if (!(wake_flags & SCX_WAKE_SYNC))
			return claim_for(p, t, prev_cpu);
		return is_in_domain(prev_cpu) && claim_idle(prev_cpu) ? prev_cpu : -1;
	}
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (!is_idle || (wake_flags & SCX_WAKE_SYNC && cpu == bpf_get_smp_processor_id()))
		return -1;
	if (is_selector_on() && has_idle_bit(cpu) && !claim_idle(cpu))
		return wake_flags & SCX_WAKE_SYNC ? -1 : claim_allowed(p);
	return cpu;
}

/*
 * A wake-up may, unless it is one of a crowd. So may a program that is being launched: somebody waits for most of
 * them. For the many that are forked at once nobody does.
 */
static __always_inline bool may_interrupt(const struct task_struct *p, const struct task_ctx *t,
					  s32 prev_cpu, u64 wake_flags, u64 now)
{
	if (wake_flags & SCX_WAKE_FORK)
		return !time_delta(t->launch_ns, now);
	return wake_flags & SCX_WAKE_TTWU &&
	       !is_crowded_out(p, t, node_queue(prev_cpu, QUEUE_INTERACTIVE), now);
}

/*
 * Whether the task may stop interactive work. Tasks that go on waking each other would do so again and again, while others
 * wait for long.
 */
static __always_inline bool may_go_first(const struct task_ctx *t, u32 brevity, s32 prev_cpu,
					 u64 now)
{
	return t->is_external || brevity == BREVITY_SHORT_AND_RARE || is_boosted(t) ||
	       !is_passed_over(node_queue(prev_cpu, QUEUE_INTERACTIVE), now);
}

/* What usually runs for longer loses the CPU at a tick, and has to queue again in any case. */
#define IN_TURN_MAX_NS (4 * NSEC_PER_MSEC_)

/*
 * Whether the task queues although somebody could be stopped for it, since others have waited for long: it would pass them
 * all, and wait for all of them another time. Those have the CPU at the next tick. What is quickly done does not keep them.
 */
static __always_inline bool waits_in_turn(const struct task_ctx *t, s32 prev_cpu, u64 now)
{
	return t->tier != TIER_BATCH && t->avg_runtime_ns > LONG_RUN_NS &&
	       t->avg_runtime_ns <= IN_TURN_MAX_NS && !is_boosted(t) &&
	       is_passed_over(node_queue(prev_cpu, QUEUE_INTERACTIVE), now);
}

/* Whom the task stops, if it may stop anybody; the CPU it is to wait on otherwise. */
VERIFIED_ONCE s32 interrupt_for(struct task_struct *p __arg_trusted, struct task_ctx *t,
				s32 prev_cpu, u64 wake_flags, u64 now)
{
	s32 here = bpf_get_smp_processor_id();
	u32 brevity;
	u32 rank;
	s32 cpu;

	if (!t)
		return prev_cpu;
	if (!may_interrupt(p, t, prev_cpu, wake_flags, now) || waits_in_turn(t, prev_cpu, now))
		return prev_cpu;
	rank = wake_rank(t);
	brevity = brevity_of(p, t, rank);
	if (rank > TIER_BATCH && !may_go_first(t, brevity, prev_cpu, now)) {
		rank = TIER_INTERACTIVE;
		brevity = BREVITY_NONE;
	}
	if (wake_flags & SCX_WAKE_FORK)
		cpu = victim_of_launch(p, t, rank, brevity, here, prev_cpu, now);
	else if (t->is_external && is_victim_here(here, rank, brevity, prev_cpu, now) &&
		 is_allowed(p, here))
		cpu = victim_of_interrupt(p, rank, brevity, here, prev_cpu, now);
	else
		cpu = victim_for_rank(p, rank, brevity, prev_cpu, now);
	if (cpu < 0) {
		if (wake_flags & SCX_WAKE_FORK && is_being_launched(p, t))
			reserve_for_launch(here, now);
		return prev_cpu;
	}
	if (cpu == here && t->is_external)
		cpu_ctx_of(here)->asked_ns = timer_due_ns(now);
	/* Its own waker, which may be a program that is being launched. */
	else if (cpu == here && !cpu_ctx_of(here)->runs_grown)
		reserve_for_launch(here, now);
	interrupt_cpu(p, t, cpu);
	return cpu;
}

/* Whether the task and its waker, which would hand its CPU over, are better away from that. */
VERIFIED_ONCE bool are_better_away(struct task_struct *p __arg_trusted, struct task_ctx *t,
				   s32 this_cpu, s32 prev_cpu, u64 now)
{
	u32 rank;
	s32 cpu;

	if (!t)
		return false;
	rank = wake_rank(t);
	cpu = victim_for_rank(p, rank, brevity_of(p, t, rank), prev_cpu, now);
	return cpu >= 0 && is_quicker(cpu_ctx_of(cpu), cpu_ctx_of(this_cpu));
}

/*
 * The nearest CPU that computes where the task and its waker, which would hand its own over, may be better off; negative if
 * there is none. First one of which that is not known, but for one that is late, then the one that takes least.
 */
VERIFIED_ONCE s32 better_for_pair(struct task_struct *p __arg_trusted, struct task_ctx *t,
				  s32 this_cpu, u64 now)
{
	const struct cpu_ctx *here = cpu_ctx_of(this_cpu);
	s32 best = -1;
	u32 least_ns;
	u32 i;

	if (!t)
		return -1;
	least_ns = quicker_than(here->handover_ns);
	bpf_for(i, 1, VICTIM_WINDOW) {
		const struct cpu_ctx *c;
		u32 takes_ns;
		u32 cpu;

		if (i >= topology.nr_cpu_ids)
			break;
		cpu = cpu_after(this_cpu, i);
		c = cpu_ctx_of(cpu);
		takes_ns = known_handover_ns(c, now);
		if (c->tier == TIER_BATCH && c->node_queue == here->node_queue &&
		    takes_ns < least_ns && (takes_ns || !c->is_late || is_quicker(c, here)) &&
		    may_preempt(cpu, wake_rank(t), BREVITY_NONE, now) && is_allowed(p, cpu)) {
			best = cpu;
			least_ns = takes_ns;
		}
	}
	return best;
}

static __always_inline s32 choose_cpu(struct task_struct *p, struct task_ctx *t, s32 prev_cpu,
				      u64 wake_flags, u64 now)
{
	s32 this_cpu = bpf_get_smp_processor_id();
	struct cpu_ctx *here = cpu_ctx_of(this_cpu);
	u64 tail = wake_tail(t, here, wake_flags, now);
	bool says_so = wake_flags & SCX_WAKE_SYNC;
	bool is_prompt = says_so || tail <= PROMPT_UNDER_LOAD_NS;
	bool is_late = false;
	bool queues = false;
	s32 cpu;

	/* The kernel takes the word of any waker; ours counts only if the CPU really comes free. */
	if (is_prompt && !may_hand_over(p, this_cpu, now)) {
		queues = is_in_turn(p, this_cpu, tail, now);
		is_prompt = false;
	} else if (is_prompt && here->looks_away) {
		here->looks_away = false;
		cpu = batch_waits(this_cpu) ? better_for_pair(p, t, this_cpu, now) : -1;
		if (cpu >= 0) {
			interrupt_cpu(p, t, cpu);
			return cpu;
		}
	} else if (is_prompt && here->is_late && !known_handover_ns(here, now) &&
		   batch_waits(this_cpu)) {
		is_late = true;
		is_prompt = false;
	}
	if (!is_prompt) {
		says_so = false;
		tail = ~0ULL;
	}
	/* It is out of the way before an idle CPU is awake, and the two share a cache. */
	if (tail <= PROMPT_NS || (says_so && comes_free_soon(this_cpu, now))) {
		hand_over(p, t, this_cpu, now);
		return this_cpu;
	}
	/* Sockets say so of whoever writes, or was stopped by the interrupt, also if that goes on. */
	says_so &= vtime_diff(here->expected_end, now) <= (s64)LONG_REST_NS;
	if (should_wait_near(p, t, prev_cpu, now)) {
		queue_for_cpu(p, t, prev_cpu, now);
		count(CNT_STRONG_WAITS);
		return prev_cpu;
	}
	cpu = find_idle(p, t, prev_cpu, says_so ? wake_flags : wake_flags & ~(u64)SCX_WAKE_SYNC);
	if (cpu >= 0) {
		place_on_claimed(p, t, cpu, now);
		return cpu;
	}
	if (tail <= PROMPT_UNDER_LOAD_NS ||
	    (is_late && !are_better_away(p, t, this_cpu, prev_cpu, now))) {
		hand_over(p, t, this_cpu, now);
		return this_cpu;
	}
	if (says_so) {
		queue_for_cpu(p, t, this_cpu, now);
		return this_cpu;
	}
	if (queues)
		return this_cpu;
	return interrupt_for(p, t, prev_cpu, wake_flags, now);
}

/* The same CPU by whichever mask knows it. */
static __always_inline bool claim_any_idle(s32 cpu)
{
	if (is_selector_on() && has_idle_bit(cpu))
		return claim_idle(cpu);
	return scx_bpf_test_and_clear_cpu_idle(cpu);
}

/* The wake-up of a task that can only run here never passed through select_cpu(). */
VERIFIED_ONCE bool place_pinned_wakeup(struct task_struct *p __arg_trusted, struct task_ctx *t,
				       s32 cpu, u64 now)
{
	u32 brevity;
	u32 rank;

	if (!t)
		return false;
	if (claim_any_idle(cpu)) {
		place_on_claimed(p, t, cpu, now);
		return true;
	}
	if (settings.local_kthreads && p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1) {
		place_behind(p, t, cpu);
		count(CNT_LOCAL_KTHREADS);
		return true;
	}
	rank = wake_rank(t);
	brevity = is_crowded_out(p, t, cpu_queue(cpu, QUEUE_INTERACTIVE), now) ?
			  BREVITY_NONE :
			  brevity_of(p, t, rank);
	if (may_preempt(cpu, rank, brevity, now)) {
		interrupt_cpu(p, t, cpu);
		return true;
	}
	if (!is_next_here(t, cpu, now))
		return false;
	hand_over(p, t, cpu, now);
	return true;
}

/* Onto a CPU claimed for it, from a callback that runs on another one. */
VERIFIED_ONCE int place_on(struct task_struct *p __arg_trusted, struct task_ctx *t, s32 cpu,
			   u64 now)
{
	if (!t)
		return 0;
	t->better_cpu = 0;
	if (!drains_from_idle && bpf_ksym_exists(scx_bpf_kick_cpu___optional)) {
		queue_for_cpu(p, t, cpu, now);
		scx_bpf_kick_cpu___optional(cpu, SCX_KICK_IDLE);
		return 0;
	}
	return place(p, t, cpu, SCX_DSQ_LOCAL_ON | cpu, SCX_ENQ_IMMED);
}

/*
 * Work that lost its CPU without a wake-up goes straight to an idle one. A task that may not migrate
 * just now is left alone: another CPU's local queue would refuse it. So is one that may not be on @prev_cpu any more: the
 * kernel takes it elsewhere before it could be at the idle one, which would be claimed for nobody.
 */
VERIFIED_ONCE bool place_on_idle(struct task_struct *p __arg_trusted, struct task_ctx *t,
				 s32 prev_cpu, bool restricted, u64 now)
{
	s32 cpu;

	/* What is not restricted can migrate. */
	if (!t || p->nr_cpus_allowed == 1 ||
	    (restricted && (cannot_migrate(p) || !mask_allows(p, prev_cpu))))
		return false;
	if (is_selector_on() && has_idle_bit(prev_cpu) && !restricted)
		cpu = claim_for(p, t, prev_cpu);
	else
		cpu = claim_allowed(p);
	if (cpu < 0)
		return false;
	place_on(p, t, cpu, now);
	count(CNT_KICKS_SOFT);
	return true;
}

/*
 * The CPU whose own queue batch work goes to that did not just wake: the one it ran on, or another one that it may run on,
 * is busy and has less of such work. Which one is looked at changes from time to time, so what is tied to the same CPUs
 * spreads over them.
 */
VERIFIED_ONCE s32 lighter_cpu(struct task_struct *p __arg_trusted, s32 cpu)
{
	const struct queue_state *there;
	u32 other;

	if (p->nr_cpus_allowed == 1 || cannot_migrate(p))
		return cpu;
	other = bpf_cpumask_any_distribute(p->cpus_ptr);
	if (other >= topology.nr_cpu_ids || !cpu_ctx_of(other)->online ||
	    cpu_ctx_of(other)->tier >= NR_TIERS)
		return cpu;
	there = queue_state_of(cpu_queue(other, QUEUE_BATCH));
	return there->pending + there->running < nr_queued(cpu_queue(cpu, QUEUE_BATCH)) ? other :
											  cpu;
}

/*
 * A compositor whose slice is over need not wait for a CPU that does less important work, nor a program that is launched for
 * one that is quicker.
 */
static __always_inline bool place_on_victim(struct task_struct *p, struct task_ctx *t, s32 cpu,
					    bool restricted, u64 now)
{
	s32 victim;

	if (restricted || !(t->leaves || is_boosted(t)))
		return false;
	victim = t->leaves ? better_for_launch(p, t, cpu, now) :
			     victim_for_rank(p, wake_rank(t), BREVITY_NONE, cpu, now);
	if (victim < 0)
		return false;
	claim_victim(victim);
	place(p, t, victim, SCX_DSQ_LOCAL_ON | victim, SCX_ENQ_PREEMPT | SCX_ENQ_IMMED);
	count(CNT_KICKS_HARD);
	return true;
}

#endif /* __PANDEMONIUM_PLACE_BPF_H */
