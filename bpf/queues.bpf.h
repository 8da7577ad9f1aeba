/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dispatch queues and their virtual time.
 *
 * Each NUMA node has one queue for interactive and one for batch work; they hold only tasks that any
 * CPU of the node may run, so whoever asks gets the head. A task with a narrower affinity goes to the
 * pair of queues of one CPU it may run on, so it can never strand behind CPUs that must skip it.
 *
 * A queue's id is also its index into queues[]. Its clock is its own: a CPU crowded with pinned
 * tasks advances slower than the node, and comparing virtual times across the two would starve one
 * side. A task that changes queue keeps its distance to the clock. Interactive work has such a distance among
 * batch work as well: it decides when the task becomes batch, since that to a clock it moved alone says nothing.
 */
#ifndef __PANDEMONIUM_QUEUES_BPF_H
#define __PANDEMONIUM_QUEUES_BPF_H

enum queue_kind {
	QUEUE_INTERACTIVE,
	QUEUE_BATCH,
};

#define NODE_QUEUES (2 * MAX_CPUS)
/* For work whose slice running() decides: anything that gets it onto a CPU. */
#define SLICE_UNDECIDED_NS NSEC_PER_MSEC_
/* How much sooner interactive work queues that is short and rare. */
#define RARE_LEAD_NS (1 * NSEC_PER_MSEC_)
/* A usual run of more than this is long: what waits notices it. */
#define LONG_RUN_NS (1500 * NSEC_PER_USEC_)
/* How far behind its queue's front interactive work comes back when it has used up its slice: so much of its runtime. */
#define BEHIND_FRONT_NS (500 * NSEC_PER_USEC_)

static __always_inline u32 cpu_queue(s32 cpu, enum queue_kind kind)
{
	return 2 * (cpu & (MAX_CPUS - 1)) + kind;
}

static __always_inline u32 queue_of_node(u32 node, enum queue_kind kind)
{
	return NODE_QUEUES + 2 * (node & (MAX_NODES - 1)) + kind;
}

/* The node whose queue it is. */
static __always_inline u32 node_of(u32 queue)
{
	return queue / 2 & (MAX_NODES - 1);
}

static __always_inline u32 node_queue(s32 cpu, enum queue_kind kind)
{
	return cpu_ctx_of(cpu)->node_queue + kind;
}

static __always_inline struct queue_state *queue_state_of(u32 queue)
{
	return &queues[queue & (NR_QUEUES - 1)];
}

/*
 * How many tasks are in the queue or on their way in or out of it: an insertion takes effect only
 * after the callback has returned, and the count drops when the task starts. Never too low, so zero
 * means that asking the kernel is pointless.
 */
static __always_inline u64 nr_queued(u32 queue)
{
	return queue_state_of(queue)->pending;
}

static __always_inline void count_online(s32 cpu, s32 by)
{
	u32 node = cpu_node[cpu & (MAX_CPUS - 1)] & (MAX_NODES - 1);

	__sync_fetch_and_add(&nr_online, by);
	__sync_fetch_and_add(&node_online[node], by);
}

/*
 * How many CPUs serve the queue of a node. To divide by: one before the first is counted, and where none is online. A branch
 * would be a second state for the verifier to follow in everything that asks.
 */
static __always_inline u32 nr_cpus_of(u32 queue)
{
	u32 nr = topology.nr_nodes > 1 ? node_online[node_of(queue)] : nr_online;

	return nr + ((nr - 1) >> 31);
}

static __always_inline u64 queued_per_cpu(u32 queue)
{
	return queue < NODE_QUEUES ? nr_queued(queue) : nr_queued(queue) / nr_cpus_of(queue);
}

/* Time since the queue was last served, or since work came into it while it was empty. */
static __always_inline u64 queue_wait_ns(u32 queue, u64 now)
{
	return nr_queued(queue) ? time_delta(now, queue_state_of(queue)->served_ns) : 0;
}

static __always_inline bool waits_longer(u32 queue, u64 now, u64 thresh_ns)
{
	return queue_wait_ns(queue, now) > thresh_ns;
}

VERIFIED_ONCE bool queue_take_head(u32 queue, u64 now)
{
	if (!scx_bpf_dsq_move_to_local(queue, SCX_ENQ_IMMED))
		return false;
	queue_state_of(queue)->served_ns = now;
	return true;
}

/* Moves the first task that this CPU may run to its local queue. */
static __always_inline bool queue_take(u32 queue, u64 now)
{
	return nr_queued(queue) && queue_take_head(queue, now);
}

/* The same, if the queue has waited for longer than the threshold. */
VERIFIED_ONCE bool queue_take_late(u32 queue, u64 now, u64 thresh_ns)
{
	return waits_longer(queue, now, thresh_ns) && queue_take_head(queue, now);
}

/*
 * Where the task stands by what it has had of the time that batch work shares. What becomes batch work is not held to
 * what it had before it slept, and begins near the others. One of the crowd has just slept, and would come back each time
 * as if it had had nothing.
 */
static __always_inline u64 vtime_as_batch(const struct task_ctx *t, u32 queue)
{
	u64 clock = queue_state_of(queue)->clock;
	s64 had = vtime_diff(t->batch_vtime, queue_state_of(t->batch_queue)->clock);
	s64 least = -(s64)(t->rests ? BECOMING_LAG_NS : LAUNCH_CREDIT_NS);
	s64 most = t->awake_run_ns < BECOMING_LAG_NS ? t->awake_run_ns : BECOMING_LAG_NS;

	if (!most && t->tier != TIER_BATCH) {
		most = CROWD_DEBT_RUNS * t->avg_runtime_ns;
		least = -(s64)(CROWD_CREDIT_RUNS * t->avg_runtime_ns);
	}
	if (had < least)
		return clock + least;
	return clock + (had < most ? had : most);
}

/*
 * The lead that a program begins with is for its launch, and over when it rests: hogs that wait for each other before
 * they begin would be ahead of whoever started them.
 */
static __always_inline u64 vtime_after_launch(const struct task_ctx *t, u64 vtime, u64 clock)
{
	return t->rests == 1 ? vtime_later(vtime, clock) : vtime;
}

/* Virtual time of the task at the head, which the queue may lose at any moment; @otherwise if empty. */
VERIFIED_ONCE u64 head_vtime(u32 queue, u64 otherwise)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, 0)
		return p->scx.dsq_vtime;
	return otherwise;
}

/* Batch work that sleeps between its runs. Until its second rest it may be one that only waited to begin. */
static __always_inline bool is_batch_sleeper(const struct task_ctx *t)
{
	return t->tier == TIER_BATCH && t->rests > 1;
}

/* What sleeps between its runs, and usually keeps others waiting for so long. */
static __always_inline bool is_long_sleeper(const struct task_ctx *t)
{
	return t->rests > 1 && t->avg_runtime_ns > LONG_RUN_NS;
}

/*
 * A batch sleeper that has had no more than its share wakes on a par with what waits. The clock is no measure while
 * that has the lead of programs that were just launched, and neither is the place of one that is being launched.
 */
static __always_inline void catch_up(struct task_ctx *t)
{
	u64 clock = queue_state_of(t->queue)->clock;
	u64 head;

	if (!is_batch_sleeper(t) || !nr_queued(t->queue) || vtime_diff(t->vtime, clock) > 0)
		return;
	head = vtime_later(head_vtime(t->queue, t->vtime), clock - LAUNCH_CREDIT_NS);
	t->vtime = vtime_earlier(t->vtime, head);
}

/* As much as others may be behind it: what it had while nobody else wanted it, it owes nobody. */
static __always_inline void forgive_batch_vtime(struct task_ctx *t)
{
	u64 clock, most;

	if (t->queue & QUEUE_BATCH)
		return;
	clock = queue_state_of(t->batch_queue)->clock;
	most = clock + limits.vtime_ceiling_ns;
	if (vtime_diff(t->batch_vtime, most) > 0)
		t->batch_vtime = most;
	t->batch_vtime = vtime_after_launch(t, t->batch_vtime, clock);
}

/* A program that has not rested since it was launched, and had no more than the lead it began with. */
static __always_inline bool is_young(const struct task_ctx *t)
{
	return !t->rests && t->awake_run_ns <= LAUNCH_CREDIT_NS;
}

/* Batch work of a node that such programs go before. */
static __always_inline bool is_grown(const struct task_ctx *t)
{
	return t->queue >= NODE_QUEUES && t->queue & QUEUE_BATCH && !is_young(t);
}

static __always_inline struct grown_state *grown_state_of(u32 queue)
{
	return &grown[node_of(queue)];
}

/* Whether a program that has never slept waits in a batch queue of a node. */
static __always_inline bool young_waits_in(u32 queue)
{
	return nr_queued(queue) > (u32)grown_state_of(queue)->waiting;
}

/* Wherever a task goes from its queue, it passes one of the callbacks that call this. */
static __always_inline void leave_queue(struct task_ctx *t)
{
	struct queue_state *q = queue_state_of(t->queue);

	if (!t->queued)
		return;
	t->queued = false;
	__sync_fetch_and_add(&q->pending, -1);
	if (t->waits_rare) {
		t->waits_rare = false;
		__sync_fetch_and_add(&q->rare, -1);
	}
	if (t->waits_grown) {
		t->waits_grown = false;
		__sync_fetch_and_add(&grown_state_of(t->queue)->waiting, -1);
	}
	if (t->waits_launch) {
		t->waits_launch = false;
		__sync_fetch_and_add(&grown_state_of(t->queue)->launching, -1);
	}
	if (t->stealable) {
		t->stealable = false;
		__sync_fetch_and_add(&q->stealable, -1);
		__sync_fetch_and_add(&nr_stealable, -1);
	}
}

/* Nobody falls far behind, and batch work leads by no more than a new program at its start, once it has run. */
static __always_inline void clamp_vtime(struct task_ctx *t)
{
	u64 clock = queue_state_of(t->queue)->clock;
	bool is_bounded = t->queue & QUEUE_BATCH && (t->awake_run_ns | t->wakes);
	u64 credit = is_bounded ? LAUNCH_CREDIT_NS : VTIME_SPAN_NS;

	t->vtime = vtime_clamp(t->vtime, clock, credit, VTIME_SPAN_NS);
}

/* The task's virtual time in another queue. */
static __always_inline void change_queue(struct task_ctx *t, u32 queue)
{
	u32 old = t->queue;

	if (queue & QUEUE_BATCH)
		t->queued_ns = 0;
	if (queue & ~old & QUEUE_BATCH) {
		t->vtime = vtime_as_batch(t, queue);
	} else {
		if (old & ~queue & QUEUE_BATCH) {
			t->batch_vtime =
				vtime_after_launch(t, t->vtime, queue_state_of(old)->clock);
			t->batch_queue = old;
		}
		t->vtime += queue_state_of(queue)->clock - queue_state_of(old)->clock;
	}
	t->queue = queue;
}

/* From now on the task belongs to @queue, but waits in none. */
VERIFIED_ONCE int move_to(struct task_ctx *t, u32 queue)
{
	if (!t)
		return 0;
	leave_queue(t);
	if (t->queue != queue)
		change_queue(t, queue);
	clamp_vtime(t);
	return 0;
}

static __always_inline void join_grown(struct task_ctx *t, u64 now)
{
	struct grown_state *g = grown_state_of(t->queue);

	t->waits_grown = true;
	if (!__sync_fetch_and_add(&g->waiting, 1) && !t->queued_ns)
		g->turn_ns = now;
}

static __always_inline void join_queue(struct task_ctx *t, u32 queue, u64 now)
{
	struct queue_state *q = queue_state_of(queue);

	t->queued = true;
	if (!__sync_fetch_and_add(&q->pending, 1)) {
		q->served_ns = now;
		q->filled_ns = now;
		/* Batch work that comes back without a turn's run does not wait anew. */
		if (!(queue & QUEUE_BATCH) || !t->queued_ns)
			q->turn_ns = now;
	}
	if (!(queue & QUEUE_BATCH) && is_short_and_rare(t)) {
		t->waits_rare = true;
		__sync_fetch_and_add(&q->rare, 1);
	}
	if (is_grown(t))
		join_grown(t, now);
	t->queued_ns = now;
}

/* An idle CPU elsewhere may take this task from the queue of a CPU. */
static __always_inline void mark_stealable(struct task_ctx *t)
{
	t->stealable = true;
	__sync_fetch_and_add(&queue_state_of(t->queue)->stealable, 1);
	__sync_fetch_and_add(&nr_stealable, 1);
}

/* Whether another CPU than that of the queue may take a task from it. */
static __always_inline bool can_steal(u32 queue)
{
	return queue_state_of(queue)->stealable > 0;
}

/*
 * What has not slept yet: a program that is being launched, or one of very many that were forked at once. What is known
 * of its usual runs is no measure for that.
 */
static __always_inline bool is_new(const struct task_ctx *t)
{
	return t->tier == TIER_INTERACTIVE && !t->wakes && !t->pinned;
}

static __always_inline enum queue_kind queue_kind_of(const struct task_ctx *t)
{
	return t->tier == TIER_BATCH || is_new(t) ? QUEUE_BATCH : QUEUE_INTERACTIVE;
}

/* The tier that wakers see on its CPU: crowded out or new, it is as good a victim as any batch task. */
static __always_inline u32 tier_on_cpu(const struct task_ctx *t)
{
	return t->queue & QUEUE_BATCH ? TIER_BATCH : t->tier;
}

/* From now on the task counts as queued; queue_insert_entered() has to follow, or leave_queue(). */
static __always_inline void queue_enter(struct task_ctx *t, u32 queue, u64 now)
{
	move_to(t, queue);
	join_queue(t, queue, now);
}

/* Virtual time at which the task's turn begins, or began if it was interrupted. */
static __always_inline u64 turn_vtime(const struct task_ctx *t)
{
	return t->slice_left_ns ? t->vtime - t->slice_vtime : t->vtime;
}

/* Beside batch work a crowd counts as batch work, and only new programs go on as what they seem to be. */
static __always_inline u32 tier_of_service(const struct task_ctx *t)
{
	return t->queue & QUEUE_BATCH && t->wakes ? TIER_BATCH : t->tier;
}

/* What running for @ran_ns costs the task in virtual time. */
static __always_inline u64 service_vtime(struct task_struct *p, const struct task_ctx *t,
					 u64 ran_ns)
{
	return vtime_delta(ran_ns, tier_weight(p->scx.weight, tier_of_service(t)), t->share);
}

/* Into the local queue @dsq, that of @cpu: the task is next there, in no queue of ours, and pays as work of the node. */
VERIFIED_ONCE int place(struct task_struct *p __arg_trusted, struct task_ctx *t, s32 cpu, u64 dsq,
			u64 enq_flags)
{
	u32 queue;

	if (!t)
		return 0;
	queue = node_queue(cpu, queue_kind_of(t));
	if (t->queued || t->queue != queue)
		move_to(t, queue);
	scx_bpf_dsq_insert(p, dsq, SLICE_UNDECIDED_NS, enq_flags);
	return 0;
}

/*
 * A task rescued out of turn says nothing about how far the others are. What came from its queue begins @in_turn, unless it
 * was short and rare or interrupted, and so went before others.
 */
static __always_inline void advance_clock(struct task_ctx *t, bool in_turn, u64 now)
{
	struct queue_state *q = queue_state_of(t->queue);

	if (in_turn & !(t->queue & QUEUE_BATCH))
		q->turn_ns = now;
	if (t->is_rescued) {
		t->is_rescued = false;
		return;
	}
	q->clock = vtime_later(turn_vtime(t), q->clock);
	if (!t->awake_run_ns && !(t->queue & QUEUE_BATCH))
		q->front = t->vtime;
}

/*
 * While nobody waits for what runs its turn begins all the time: where that began is no place among those that come. And a
 * lead is used up by as much as it runs for. The clock moves along with it, and it would be that far ahead however long after.
 */
static __always_inline void begin_turn_anew(struct cpu_ctx *c, struct task_ctx *t, u64 delta)
{
	u64 lead = time_delta(queue_state_of(t->queue)->clock, t->vtime);

	t->vtime += delta < lead ? delta : lead;
	t->slice_vtime = 0;
	c->turn_vtime = t->vtime;
}

/*
 * The clock of a batch queue also moves with the service that new programs get. Each begins ahead of those that
 * wait and may be gone before one of them starts and moves the clock, so a stream of them would hold up the rest;
 * counted twice they get about their share. What others get moves it only while nobody waits. It would
 * run away from those that wait, and whoever comes later begin among them instead of ahead. What little weight
 * some task has must not hurry it: the others would lose the lead they are owed. Nor is it what each has had, then.
 */
static __always_inline void advance_clock_by_service(struct cpu_ctx *c, struct task_ctx *t,
						     u64 delta, u64 ran_ns)
{
	struct queue_state *q = queue_state_of(t->queue);
	u64 queued = nr_queued(t->queue);
	s32 running = q->running;
	u32 sharers = queued + (running > 0 ? running : 1);
	u64 step = (delta < ran_ns ? delta : ran_ns) / sharers;

	q->had += delta / sharers;
	if (!queued) {
		q->clock += step;
		begin_turn_anew(c, t, delta);
	} else if (is_young(t)) {
		q->clock += 2 * step;
	}
}

#endif /* __PANDEMONIUM_QUEUES_BPF_H */
