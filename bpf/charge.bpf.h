/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a run counts for: the task's virtual time, its queue's clock, and the turns and the part of batch work.
 */
#ifndef __PANDEMONIUM_CHARGE_BPF_H
#define __PANDEMONIUM_CHARGE_BPF_H

/*
 * Since when a batch queue counts as having had no turn. What woke and came after the last one takes it from those that have
 * waited since: they have the next after no more than it takes for batch work to be due. Nor does the rest of a burst of its
 * own make that a turn of theirs, in however many runs.
 */
VERIFIED_ONCE u64 turn_of_all(const struct task_ctx *t, u64 last_ns, u64 began_ns)
{
	u64 earlier_ns = began_ns - (BATCH_STALL_MAX_NS - BATCH_DUE_AFTER_NS);
	bool is_burst;

	if (!t)
		return began_ns;
	is_burst = is_batch_sleeper(t) && t->awake_run_ns <= BATCH_CREDIT_NS;
	if (t->queued_ns <= last_ns || (t->last_wake_ns <= last_ns && !is_burst))
		return began_ns;
	return earlier_ns > last_ns ? earlier_ns : last_ns;
}

/*
 * A CPU's turn of batch work is some time of it, in one run or in many. For the queue only one run counts, from
 * its beginning on: somebody's housekeeping, a moment each time, is no turn of those that wait behind it.
 */
static __always_inline void note_batch_run(struct cpu_ctx *c, const struct task_ctx *t, u64 ran_ns,
					   u64 now)
{
	struct queue_state *q = queue_state_of(t->queue);
	u64 began_ns = t->slice_began_ns;

	if (t->queue >= NODE_QUEUES && is_young(t))
		grown_state_of(t->queue)->young_due_ns -= ran_ns;
	if (time_delta(now, began_ns) >= BATCH_TURN_NS) {
		q->turn_ns = turn_of_all(t, q->turn_ns, began_ns);
		if (is_grown(t))
			grown_state_of(t->queue)->turn_ns = began_ns;
	}
	c->batch_ran_ns += ran_ns < BATCH_TURN_NS ? ran_ns : BATCH_TURN_NS;
	if (c->batch_ran_ns < BATCH_TURN_NS)
		return;
	c->batch_ran_ns = 0;
	c->since_batch = 0;
	c->other_ran_ns = 0;
}

/* On how many CPUs batch work of the queue runs. */
static __always_inline u32 nr_running(u32 queue)
{
	s32 running = queue_state_of(queue)->running;

	return running > 0 ? running : 0;
}

/* More than this is owed to nobody, and no less is remembered. */
#define OWED_MAX_NS (8 * NSEC_PER_MSEC_)

/*
 * What ran on @cpu for @ran_ns was batch work of the node, or not. Its part of that time is what everybody would have who
 * waits or runs, if they counted the same. While nobody waits nobody is owed anything.
 */
static __always_inline void note_part(s32 cpu, const struct task_ctx *t, u64 ran_ns)
{
	u32 queue = node_queue(cpu, QUEUE_BATCH);
	struct grown_state *g = grown_state_of(queue);
	u64 batch = nr_queued(queue);
	u64 waits = batch + nr_queued(node_queue(cpu, QUEUE_INTERACTIVE));
	s64 owed;

	batch += nr_running(queue);
	/* Without any every stop comes here: others' caches keep the line. */
	if (!batch && g->owed_ns)
		g->owed_ns = 0;
	if (!batch || !waits)
		return;
	owed = ran_ns * batch / (waits + nr_cpus_of(queue)) - (t->queue == queue ? ran_ns : 0);
	owed += __sync_fetch_and_add(&g->owed_ns, owed);
	if (owed > (s64)OWED_MAX_NS)
		g->owed_ns = OWED_MAX_NS;
	else if (owed < -(s64)OWED_MAX_NS)
		g->owed_ns = -(s64)OWED_MAX_NS;
}

/* What the task ran for on @cpu since its start, or since it was last charged. */
VERIFIED_ONCE int charge_run(struct task_struct *p __arg_trusted, struct task_ctx *t, s32 cpu,
			     u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	u64 ran, delta;

	if (!t)
		return 0;
	ran = time_delta(now, t->started_ns);
	/* Charged a moment ago: dispatch() does, and then stopping() does. */
	if (!ran)
		return 0;
	delta = service_vtime(p, t, ran);
	if (t->is_compositor) {
		t->boost_ns = boost_left(t, now);
		t->boosted_ns = now;
	}
	c->busy_ns += ran;
	t->started_ns = now;
	t->awake_run_ns += ran;
	t->vtime += delta;
	t->batch_vtime += untiered_vtime(delta, tier_of_service(t));
	t->slice_vtime += delta;
	note_part(cpu, t, ran);
	if (t->queue & QUEUE_BATCH) {
		note_batch_run(c, t, ran, now);
		advance_clock_by_service(c, t, delta, ran);
	} else {
		c->other_ran_ns += ran;
	}
	return 0;
}

/* Young programs that come one after the other are not gone between two of them: as long as a turn may be. */
#define YOUNG_GONE_NS (8 * NSEC_PER_MSEC_)

/*
 * What has grown up without a rest goes on from where the last grown task began: while others waited its lead moved along with
 * the clock, and what had turns in that time would wait for all of it. Once young programs are gone nobody is ahead of the
 * clock by more than sleepers are: whoever comes to it later would wait for that of everybody, and what has grown up for all
 * that a hog missed meanwhile. Not before that, or only some of those that wait would lose what they are ahead.
 */
static __always_inline void end_lead(struct cpu_ctx *c, struct task_ctx *t, struct grown_state *g)
{
	const struct queue_state *q = queue_state_of(t->queue);
	u64 from = t->vtime;

	if (!t->has_grown && !t->rests) {
		t->has_grown = true;
		from = vtime_later(from, g->turn_vtime);
	}
	/* It is among what runs, but not yet as a grown one. */
	if (young_waits_in(t->queue) || q->running > g->running + 1)
		g->young_ns = t->started_ns;
	else if (time_delta(t->started_ns, g->young_ns) > YOUNG_GONE_NS)
		from = vtime_later(from, q->clock - BATCH_CREDIT_NS);
	if (from == t->vtime)
		return;
	t->vtime = from;
	t->slice_vtime = 0;
	c->turn_vtime = from;
}

/* A young program may grow up while it runs. */
static __always_inline void note_growing(struct cpu_ctx *c, struct task_ctx *t)
{
	struct grown_state *g = grown_state_of(t->queue);

	if (c->runs_grown || c->batch_queue != t->queue || !is_grown(t))
		return;
	end_lead(c, t, g);
	c->runs_grown = true;
	/* What sleeps between its runs may be anywhere. */
	if (!t->rests || t->awake_run_ns > BATCH_CREDIT_NS)
		g->turn_vtime = c->turn_vtime;
	__sync_fetch_and_add(&g->running, 1);
}

/* A batch queue is being served as long as some CPU runs what came from it. */
static __always_inline void begin_batch_run(struct cpu_ctx *c, const struct task_ctx *t)
{
	c->batch_queue = t->queue;
	c->turn_vtime = turn_vtime(t);
	__sync_fetch_and_add(&queue_state_of(t->queue)->running, 1);
}

static __always_inline void end_batch_run(struct cpu_ctx *c)
{
	if (!c->batch_queue)
		return;
	__sync_fetch_and_add(&queue_state_of(c->batch_queue)->running, -1);
	if (c->runs_grown)
		__sync_fetch_and_add(&grown_state_of(c->batch_queue)->running, -1);
	c->runs_grown = false;
	c->batch_queue = 0;
}

/* What runs is batch work from here on, and goes on as long as others of it have had more. */
static __always_inline void run_as_batch(struct task_struct *p, struct task_ctx *t, s32 cpu,
					 u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);

	c->tier = TIER_BATCH;
	if (t->queue & QUEUE_BATCH)
		return;
	charge_run(p, t, cpu, now);
	move_to(t, t->queue + QUEUE_BATCH);
	begin_batch_run(c, t);
}

#endif /* __PANDEMONIUM_CHARGE_BPF_H */
