/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nothing waits for ever: the ways in which work that waited too long gets a CPU.
 *
 * A queue's wait is the time since it was last served. That alone would miss one task which others
 * keep overtaking inside a queue that is served all the time, so step 0 also looks at single tasks
 * near the ends of the queues.
 */
#ifndef __PANDEMONIUM_RESCUE_BPF_H
#define __PANDEMONIUM_RESCUE_BPF_H

/* A single task that waited this long goes first, whatever its virtual time. */
#define TASK_WAIT_MAX_NS (300 * NSEC_PER_MSEC_)
/* One that sleeps between its runs. */
#define SLEEPER_WAIT_MAX_NS (100 * NSEC_PER_MSEC_)
/* One that is to run only when nobody else wants to. */
#define IDLE_WAIT_MAX_NS (2000 * NSEC_PER_MSEC_)
/* A turn of batch work waits for what is short and rare: on each CPU for so long, and not again before so long after it did. */
#define POSTPONED_MAX_NS  (1 * NSEC_PER_MSEC_)
#define POSTPONE_AGAIN_NS (4 * NSEC_PER_MSEC_)
/* From when a CPU takes a task to when it is seen to run. */
#define TO_BEGIN_NS (50 * NSEC_PER_USEC_)
/* Batch work of a CPU's own queue and of its node's owe each other no more than this for each task, in virtual time. */
#define OWN_LEAD_MAX_NS (8 * NSEC_PER_MSEC_)
/*
 * Who waits for longer than a round of all that wait is behind. So much of a CPU for each: turns end at ticks, and one that
 * takes a bit longer than its own keeps nobody behind.
 */
#define ROUND_EACH_NS  (6 * NSEC_PER_MSEC_)
#define ROUND_LEAST_NS (8 * NSEC_PER_MSEC_)
#define SCAN_DEPTH     64
#define SCAN_PERIOD_NS (20 * NSEC_PER_MSEC_)
/* While a scan finds starved tasks, the next one comes sooner. The period is an odd number of these. */
#define SCAN_AGAIN_NS (4 * NSEC_PER_MSEC_)

/*
 * Whether batch work of this CPU's own queue, or of its node's, comes after that of the other, which waits, since each of
 * its tasks has had more. What is much more is forgotten, most of all what one had while nobody waited in the other.
 */
VERIFIED_ONCE bool comes_after_other_batch(s32 cpu, bool is_own)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	const struct queue_state *own = queue_state_of(cpu_queue(cpu, QUEUE_BATCH));
	const struct queue_state *node = queue_state_of(node_queue(cpu, QUEUE_BATCH));
	u64 apart = own->had - node->had;
	s64 lead = vtime_diff(apart, c->own_offset);

	if (lead > (s64)OWN_LEAD_MAX_NS)
		c->own_offset = apart - OWN_LEAD_MAX_NS;
	if (lead < -(s64)OWN_LEAD_MAX_NS)
		c->own_offset = apart + OWN_LEAD_MAX_NS;
	return is_own ? lead > 0 && node->pending : lead < 0 && own->pending;
}

/* The batch queue of the CPU or of its node, whichever has waited longer. */
static __always_inline u32 longest_batch(s32 cpu, u64 now)
{
	u32 own = cpu_queue(cpu, QUEUE_BATCH);
	u32 node = node_queue(cpu, QUEUE_BATCH);

	return queue_wait_ns(own, now) > queue_wait_ns(node, now) ? own : node;
}

/* Steps 5 and 6. Batch work of this CPU's own queue or of its node's, whichever has had less; @own_first if that says nothing. */
VERIFIED_ONCE bool take_batch(s32 cpu, bool own_first, u64 now)
{
	u32 own = cpu_queue(cpu, QUEUE_BATCH);
	u32 node = node_queue(cpu, QUEUE_BATCH);

	if (comes_after_other_batch(cpu, own_first))
		own_first = !own_first;
	return queue_take(own_first ? own : node, now) || queue_take(own_first ? node : own, now);
}

/*
 * CPUs that find at the same moment that batch work of the node is due are not all to take some: what one of them took
 * has not begun yet.
 */
static __always_inline bool claim_turn(u32 queue, u64 now)
{
	u64 *claimed_ns = &grown_state_of(queue)->claimed_ns;
	u64 old = *claimed_ns;

	return time_delta(now, old) >= TO_BEGIN_NS &&
	       __sync_val_compare_and_swap(claimed_ns, old, now) == old;
}

/* Whether nothing of a batch queue has been running for longer than the threshold, though some of it waits. */
VERIFIED_ONCE bool is_stalled(u32 queue, u64 now, u64 thresh_ns)
{
	const struct queue_state *q = queue_state_of(queue);

	return nr_queued(queue) && q->running <= 0 && time_delta(now, q->turn_ns) > thresh_ns;
}

/*
 * Whether a turn of batch work that is due waits until what is short and rare has run: that is gone in a moment, and
 * would wait for the whole turn, which ends at a tick, and for the next ones. Where there is always some of it, batch work
 * would have no turn that is not interrupted at once, so not again for a while.
 */
VERIFIED_ONCE bool is_postponed(s32 cpu, u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);

	if (queue_state_of(node_queue(cpu, QUEUE_INTERACTIVE))->rare <= 0 &&
	    queue_state_of(cpu_queue(cpu, QUEUE_INTERACTIVE))->rare <= 0)
		return false;
	if (time_delta(now, c->postponed_ns) > POSTPONE_AGAIN_NS)
		c->postponed_ns = now;
	return time_delta(now, c->postponed_ns) < POSTPONED_MAX_NS;
}

/* One node per call: all its CPUs may be offline or held by a higher class. */
static __always_inline bool help_node(struct cpu_ctx *c, u64 now)
{
	u32 node = c->node_cursor + 1;

	if (node >= topology.nr_nodes)
		node = 0;
	c->node_cursor = node;
	return queue_take_late(queue_of_node(node, QUEUE_INTERACTIVE), now,
			       limits.starvation_rescue_ns) ||
	       queue_take_late(queue_of_node(node, QUEUE_BATCH), now, limits.starvation_rescue_ns);
}

/*
 * One other CPU per call: if its own queues are not being served, because a higher class holds it,
 * take what may run here.
 */
VERIFIED_ONCE bool help_neighbour(s32 cpu, u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	u32 other = c->help_cursor + 1;
	u32 interactive, batch;

	if (topology.nr_nodes > 1 && help_node(c, now))
		return true;
	if (nr_stealable <= 0)
		return false;
	if (other >= topology.nr_cpu_ids)
		other = 0;
	c->help_cursor = other;
	if (other == (u32)cpu)
		return false;
	interactive = cpu_queue(other, QUEUE_INTERACTIVE);
	batch = cpu_queue(other, QUEUE_BATCH);
	return (can_steal(interactive) &&
		queue_take_late(interactive, now, limits.overflow_rescue_ns)) ||
	       (can_steal(batch) && queue_take_late(batch, now, limits.starvation_rescue_ns));
}

/* A local queue takes only what its CPU may run; anything else would end the scheduler. */
static __always_inline bool may_run_here(const struct task_struct *p, s32 cpu)
{
	return mask_allows(p, cpu) && (!p->migration_disabled || scx_bpf_task_cpu(p) == cpu);
}

static __always_inline bool is_starved(const struct task_struct *p, const struct task_ctx *t,
				       u64 now)
{
	u64 waited = time_delta(now, t->queued_ns);

	if (t->tier != TIER_BATCH && !is_new(t))
		return waited > SLEEPER_WAIT_MAX_NS;
	return waited > TASK_WAIT_MAX_NS && (waited > IDLE_WAIT_MAX_NS || !is_idle_class(p));
}

/*
 * Whether batch work may go before young programs: not what is ahead of its part by more than they begin behind it, as
 * little weight soon is, nor what is to run only when nobody else wants to.
 */
static __always_inline bool may_pass_young(const struct task_struct *p, const struct task_ctx *t)
{
	return t->waits_grown && !is_idle_class(p) &&
	       vtime_diff(t->vtime, queue_state_of(t->queue)->clock) <= (s64)LAUNCH_CREDIT_NS;
}

/* How long a round of all that wait for this CPU takes; 0 if nobody in it goes before others because it woke or began. */
VERIFIED_ONCE u64 round_ns_of(s32 cpu, u64 now)
{
	u32 batch = node_queue(cpu, QUEUE_BATCH);
	u32 nr_cpus = nr_cpus_of(batch);
	u64 round_ns = ROUND_EACH_NS * nr_sharing(cpu, nr_cpus) / nr_cpus;

	if (round_ns < ROUND_LEAST_NS)
		round_ns = ROUND_LEAST_NS;
	return time_delta(now, grown_state_of(batch)->passing_ns) < round_ns ? round_ns : 0;
}

/* Whether it has waited for longer than a round; what counts less waits as much longer. */
static __always_inline bool is_behind(const struct task_struct *p, const struct task_ctx *t,
				      u64 round_ns, u64 now)
{
	u64 waited = time_delta(now, t->queued_ns);

	return waited * shared_weight(p->scx.weight, t->share) / WEIGHT_DEFAULT > round_ns &&
	       !is_idle_class(p);
}

/* Which tasks of a queue go out of turn, and from which end they are looked for. */
enum scan {
	SCAN_STARVED_HEAD,
	SCAN_STARVED_TAIL,
	SCAN_GROWN,
	SCAN_BEHIND,
};

/* Within the loop that asks it the verifier would look at every outcome in every state. */
VERIFIED_ONCE bool goes_out_of_turn(const struct task_struct *p __arg_trusted,
				    const struct task_ctx *t, u32 scan, u64 round_ns, u64 now)
{
	if (!t)
		return false;
	if (scan == SCAN_GROWN)
		return may_pass_young(p, t);
	return scan == SCAN_BEHIND ? is_behind(p, t, round_ns, now) : is_starved(p, t, now);
}

/*
 * Moves the first that is found and may run here. One that may not came before another CPU was online and waits among what
 * may run on any: it is for its own CPU to find, whichever looks first. @depth is an argument so that the verifier does not
 * know it: it would look at every turn of the loop.
 */
VERIFIED_ONCE bool take_out_of_turn(u32 queue, s32 cpu, u32 scan, u64 now, u32 depth)
{
	u64 round_ns = round_ns_of(cpu, now);
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, scan == SCAN_STARVED_TAIL ? SCX_DSQ_ITER_REV : 0) {
		struct task_ctx *t;

		if (!depth--)
			break;
		t = task_ctx_of(p);
		if (!t || !goes_out_of_turn(p, t, scan, round_ns, now))
			continue;
		if (!may_run_here(p, cpu)) {
			queue_state_of(queue)->scan_after = now;
			continue;
		}
		if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, SCX_ENQ_IMMED)) {
			t->is_rescued = true;
			queue_state_of(queue)->served_ns = now;
			return true;
		}
	}
	return false;
}

/*
 * The overtaken ones are behind the favoured ones near the head, or at the tail if there are many, which is looked at every
 * second time, by all CPUs that look then.
 */
VERIFIED_ONCE bool take_starved_task(u32 queue, s32 cpu, u64 now)
{
	struct queue_state *q = queue_state_of(queue);
	bool from_tail;
	u32 scan;

	if (!nr_queued(queue) || time_before(now, q->scan_after))
		return false;
	from_tail = nr_queued(queue) > SCAN_DEPTH && now / SCAN_AGAIN_NS & 1;
	scan = from_tail ? SCAN_STARVED_TAIL : SCAN_STARVED_HEAD;
	q->scan_after = now + SCAN_PERIOD_NS;
	if (!take_out_of_turn(queue, cpu, scan, now, SCAN_DEPTH))
		return false;
	q->scan_after = now + SCAN_AGAIN_NS;
	return true;
}

/*
 * Young programs begin with a lead, so that launches are quick. As many as there are CPUs, or more, would have all of
 * the batch queue's turns, and what is behind them waits for all of those. To look for one, and whatever it then runs for,
 * counts as a turn, or moments would go before everything again and again. Where other work leaves batch work few turns
 * they are not all of this kind: young programs run for some time before the next.
 */
static __always_inline bool take_grown(u32 queue, s32 cpu, u64 now)
{
	struct grown_state *g = grown_state_of(queue);
	u64 turn_ns = next_grown_turn(queue, now);

	if (!turn_ns || is_postponed(cpu, now))
		return false;
	g->turn_ns = turn_ns;
	if (!take_out_of_turn(queue, cpu, SCAN_GROWN, now, SCAN_DEPTH))
		return false;
	g->young_due_ns = (g->young_due_ns > 0 ? g->young_due_ns : 0) + BATCH_TURN_NS;
	return true;
}

/*
 * What sleeps between its runs wakes ahead of batch work that does not, and what was just launched goes before both. Where
 * those want all there is, others would have nothing until step 0 finds them: so what has waited for a round has a turn. Nor
 * do those that wake wait for each other for longer. Launches go first, and other interactive work until batch work is owed
 * as much as a turn.
 */
static __always_inline bool take_behind(u32 queue, s32 cpu, u64 now)
{
	struct grown_state *g = grown_state_of(queue);

	if (!nr_queued(queue) || time_before(now, g->behind_after) || !round_ns_of(cpu, now) ||
	    g->launching > 0 || (interactive_waits(cpu) && g->owed_ns < (s64)OWED_MAX_NS / 2) ||
	    is_postponed(cpu, now))
		return false;
	/* Turns end at ticks, which are at the same time everywhere, and each CPU may take one then. */
	if (take_out_of_turn(queue, cpu, SCAN_BEHIND, now, SCAN_DEPTH))
		return true;
	g->behind_after = now + SCAN_AGAIN_NS;
	return false;
}

static __always_inline bool rescue_overtaken(s32 cpu, u64 now)
{
	if (!take_starved_task(cpu_queue(cpu, QUEUE_INTERACTIVE), cpu, now) &&
	    !take_starved_task(cpu_queue(cpu, QUEUE_BATCH), cpu, now) &&
	    !take_starved_task(node_queue(cpu, QUEUE_INTERACTIVE), cpu, now) &&
	    !take_starved_task(node_queue(cpu, QUEUE_BATCH), cpu, now))
		return false;
	count(CNT_STARVATION_RESCUES);
	return true;
}

/* Whatever else there is to do, some batch work runs again after this time. */
static __always_inline u64 batch_stall_max_ns(void)
{
	return limits.overflow_rescue_ns < BATCH_STALL_MAX_NS ? limits.overflow_rescue_ns :
								BATCH_STALL_MAX_NS;
}

/*
 * Step 0. Placement keeps CPUs so busy that a shared queue may never come up; one that aged past the
 * threshold goes before everything. Batch work only when other work ran here since its last turn and that which runs
 * has not just begun, when young programs have all of its turns, or for what is behind while what runs is not @is_amid_run.
 */
VERIFIED_ONCE bool rescue_overflow(s32 cpu, bool has_just_begun, bool is_amid_run, u64 now)
{
	u32 own_batch = cpu_queue(cpu, QUEUE_BATCH);
	u32 node_batch = node_queue(cpu, QUEUE_BATCH);
	u64 stall_ns = batch_stall_max_ns();

	if (rescue_overtaken(cpu, now))
		return true;
	if (queue_take_late(node_queue(cpu, QUEUE_INTERACTIVE), now, limits.overflow_rescue_ns) ||
	    take_grown(node_batch, cpu, now) ||
	    (!is_amid_run && take_behind(node_batch, cpu, now)) ||
	    (!has_just_begun && cpu_ctx_of(cpu)->since_batch &&
	     ((is_stalled(own_batch, now, stall_ns) && !is_postponed(cpu, now) &&
	       queue_take_head(own_batch, now)) ||
	      (is_stalled(node_batch, now, stall_ns) && !is_postponed(cpu, now) &&
	       claim_turn(node_batch, now) && queue_take_head(node_batch, now))))) {
		count(CNT_OVERFLOW_RESCUES);
		return true;
	}
	return help_neighbour(cpu, now);
}

/* Step 3. The safety net: a batch queue that nobody served. */
static __always_inline bool rescue_starved(u32 longest, u64 now)
{
	if (!queue_take_late(longest, now, limits.starvation_rescue_ns))
		return false;
	count(CNT_STARVATION_RESCUES);
	return true;
}

#endif /* __PANDEMONIUM_RESCUE_BPF_H */
