/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a turn of batch work is due though interactive work waits: step 2.
 */
#ifndef __PANDEMONIUM_DUE_BPF_H
#define __PANDEMONIUM_DUE_BPF_H

/*
 * Batch work has fewer CPUs than its share, because what is not batch work takes them. @begins is how many of it have left
 * the queue to run, and are not among the @running yet.
 */
static __always_inline bool is_batch_squeezed(s32 cpu, u32 begins, u32 running)
{
	u32 queue = node_queue(cpu, QUEUE_BATCH);

	return has_room_in_fair_share(nr_queued(queue) + begins,
				      nr_queued(node_queue(cpu, QUEUE_INTERACTIVE)), running,
				      nr_cpus_of(queue));
}

/* Batch work that is bound to other CPUs of the node than this one. */
static __always_inline u64 nr_bound_elsewhere(s32 cpu)
{
	u32 node = node_queue(cpu, QUEUE_INTERACTIVE);
	u64 nr = 0;
	u32 i;

	bpf_for(i, 0, topology.nr_cpu_ids) {
		u32 queue = cpu_queue(i, QUEUE_BATCH);

		if (i != (u32)cpu && node_queue(i, QUEUE_INTERACTIVE) == node)
			nr += nr_queued(queue) + (cpu_ctx_of(i)->batch_queue == queue);
	}
	return nr;
}

/*
 * How long a turn of batch work would be that is bound to this CPU, if @own tasks of it wait here or run, to have their part
 * of it: that of all which wait or are bound elsewhere or run, by what other work ran for since the last turn. A single one
 * has its part without, and so has what is bound to each CPU alike; where interactive work is through now and then, the rest
 * is theirs. Sleepers that are about to wake are not known, so it is no more than a usual turn for each.
 */
VERIFIED_ONCE u64 own_turn_ns(s32 cpu, u64 own, u64 now)
{
	u32 interactive = node_queue(cpu, QUEUE_INTERACTIVE);
	u64 most = own * knobs.preempt_thresh_ns;
	u32 nr_cpus = nr_cpus_of(interactive);
	u64 part = own * nr_cpus;
	u64 bound, all, turn_ns;

	if (own <= 1 || !nr_queued(interactive) ||
	    time_delta(now, queue_state_of(interactive)->filled_ns) < BATCH_STALL_MAX_NS)
		return 0;
	bound = own + nr_bound_elsewhere(cpu);
	if (part <= bound)
		return 0;
	all = nr_cpus + bound + nr_queued(cpu_queue(cpu, QUEUE_INTERACTIVE)) +
	      nr_queued(interactive) + nr_queued(interactive + QUEUE_BATCH);
	turn_ns = all > part ? cpu_ctx_of(cpu)->other_ran_ns * part / (all - part) : most;
	most = most < BATCH_STALL_MAX_NS ? most : BATCH_STALL_MAX_NS;
	return turn_ns < most ? turn_ns : most;
}

/*
 * What is not batch work has had its runs here for now, and not only moments, and batch work has had no more than its part of
 * late. As long as some of it runs it is no matter of runs here, but of its share of all CPUs: it would have a turn on each
 * of them at the same time.
 */
static __always_inline bool is_batch_due(s32 cpu, u32 begins, u64 now)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);
	u32 queue = node_queue(cpu, QUEUE_BATCH);
	u32 running = nr_running(queue);

	if (!c->since_batch || c->other_ran_ns < BATCH_DUE_AFTER_NS)
		return false;
	return (grown_state_of(queue)->owed_ns >= 0 &&
		((!running && c->since_batch >= deficit_budget(cpu, now)) ||
		 is_batch_squeezed(cpu, begins, running))) ||
	       own_turn_ns(cpu, nr_queued(cpu_queue(cpu, QUEUE_BATCH)), now) >=
		       (knobs.preempt_thresh_ns ?: 1);
}

/*
 * For how long no wake-up interrupts the turn of batch work that begins here: not at all if it is not due. Work that goes
 * first since it had no turn for long would have nothing but moments, each of them before all that waits.
 */
static __always_inline u64 protected_ns(const struct task_ctx *t, s32 cpu, u64 now)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);
	bool is_own = t->queue == cpu_queue(cpu, QUEUE_BATCH);
	bool is_nodes = t->queue == node_queue(cpu, QUEUE_BATCH);
	u64 least = knobs.preempt_thresh_ns;
	u64 turn_ns;

	if (is_own && c->other_ran_ns >= BATCH_DUE_AFTER_NS) {
		turn_ns = own_turn_ns(cpu, nr_queued(t->queue) + 1, now);
		if (turn_ns >= least)
			return turn_ns;
	}
	if ((is_own ? c->other_ran_ns >= BATCH_DUE_AFTER_NS :
		      is_nodes && c->since_batch && interactive_waits(cpu)) &&
	    time_delta(now, queue_state_of(t->queue)->turn_ns) > batch_stall_max_ns())
		return least < BATCH_DUE_AFTER_NS ? least : BATCH_DUE_AFTER_NS;
	return is_batch_due(cpu, is_nodes, now) ? least : 0;
}

/* Step 2. Deficit round robin: after so many runs of other tiers, one of batch before those that wait. */
VERIFIED_ONCE bool force_batch(s32 cpu, u64 now)
{
	u32 queue = node_queue(cpu, QUEUE_BATCH);

	if (!is_batch_due(cpu, 0, now) || !interactive_waits(cpu) || is_postponed(cpu, now) ||
	    (!nr_running(queue) && !claim_turn(queue, now)) || !take_batch(cpu, true, now))
		return false;
	count(CNT_DEFICIT_FORCED);
	return true;
}

#endif /* __PANDEMONIUM_DUE_BPF_H */
