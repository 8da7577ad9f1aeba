/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that are being launched, among work that computes: they are ahead of it in the batch queue, stop what has run
 * for a while, and go on where they were forked or interrupted before woken work of which nothing is known yet. And when
 * work that is grown has a turn before young programs.
 */
#ifndef __PANDEMONIUM_LAUNCH_BPF_H
#define __PANDEMONIUM_LAUNCH_BPF_H

/* A program that is launched stops only what has run for so long. */
#define LAUNCH_AFTER_NS (4 * NSEC_PER_MSEC_)
/* The tick ends a turn of batch work after this for a launch, or between what is grown and what is not. */
#define YOUNG_TICK_NS (2 * NSEC_PER_MSEC_)
/* It goes on before others have a turn if what interrupted it takes no longer. */
#define LAUNCH_PAUSE_NS (150 * NSEC_PER_USEC_)
/* Where it was forked, or stopped by whom it woke, or for known work, these may take as long. */
#define LAUNCH_RESERVE_NS (8 * NSEC_PER_MSEC_)
/* Batch work that is grown goes before young programs if none of it has had a turn for so long. */
#define GROWN_WAIT_NS (6 * NSEC_PER_MSEC_)
/* A round of all that waits is taken to need so much of a CPU for each task. */
#define GROWN_WAIT_EACH_NS (3 * NSEC_PER_MSEC_)

/* Whether a program that has never slept waits for any CPU of the node. */
static __always_inline bool young_waits(s32 cpu)
{
	return young_waits_in(node_queue(cpu, QUEUE_BATCH));
}

/* How many tasks of a batch queue, waiting or running, are not grown. */
static __always_inline s32 nr_young_in(u32 queue)
{
	const struct grown_state *g = grown_state_of(queue);

	return (s32)nr_queued(queue) + queue_state_of(queue)->running - g->waiting - g->running;
}

/*
 * Until when grown batch work has had its turns once one of it goes before young programs now; 0 if none is to. Where there
 * are as many of those as CPUs, or more, it has its part of the CPUs, and each a turn in a round of all: if one had more it
 * would pay for that as soon as the others are grown, while all of them pass it. Fewer young programs are launches, and while
 * one that is being launched waits, turns on several CPUs are as rare.
 */
VERIFIED_ONCE u64 next_grown_turn(u32 queue, u64 now)
{
	const struct grown_state *g = grown_state_of(queue);
	u64 since = g->turn_ns;
	u64 wait_ns = GROWN_WAIT_NS;
	u32 nr_cpus = nr_cpus_of(queue);
	s32 waiting = g->waiting;
	s32 running = g->running;
	s32 nr_young = nr_young_in(queue);
	s32 part = 1;

	if (waiting <= 0 || running < 0 || nr_young <= 0)
		return 0;
	if (nr_young >= (s32)nr_cpus) {
		u32 nr_grown = waiting + running;
		u32 all = nr_young + nr_grown;

		part = (nr_cpus * nr_grown + all / 2) / all ?: 1;
		if (nr_cpus > 1) {
			wait_ns = GROWN_WAIT_EACH_NS * nr_queued(queue) / nr_cpus;
			wait_ns = (wait_ns > GROWN_WAIT_NS ? wait_ns : GROWN_WAIT_NS) / waiting;
			if (part > 1 && g->launching > 0 && wait_ns < GROWN_WAIT_NS)
				wait_ns = GROWN_WAIT_NS;
		}
	} else if (!young_waits_in(queue)) {
		return 0;
	}
	if (running >= part || g->young_due_ns > (part - 1) * (s64)BATCH_TURN_NS ||
	    time_delta(now, since) <= wait_ns)
		return 0;
	return part > 1 ? since + wait_ns : now;
}

/*
 * Whether batch work is young and no longer being launched, and there are as many young programs as CPUs: fewer are launches,
 * for which whoever waits behind them has to wait.
 */
VERIFIED_ONCE bool is_one_of_many_young(const struct task_struct *p __arg_trusted,
					const struct task_ctx *t)
{
	return t && t->queue >= NODE_QUEUES && is_young(t) && !is_being_launched(p, t) &&
	       nr_young_in(t->queue) >= (s32)nr_cpus_of(t->queue);
}

/* Whether one that is being launched does. */
static __always_inline bool launch_waits(s32 cpu)
{
	return grown_state_of(node_queue(cpu, QUEUE_BATCH))->launching > 0;
}

/*
 * Whether interactive work waits for the CPU of which the first has not shown yet that it is that. Whatever is known of
 * its name, it may be a hog that has waited to begin. What stands behind it has to wait for it as well.
 */
VERIFIED_ONCE bool is_next_unknown(s32 cpu)
{
	u32 queue = cpu_queue(cpu, QUEUE_INTERACTIVE);
	struct task_struct *p;

	if (!nr_queued(queue))
		queue = node_queue(cpu, QUEUE_INTERACTIVE);
	if (!nr_queued(queue))
		return false;
	bpf_for_each(scx_dsq, p, queue, 0) {
		const struct task_ctx *t = task_ctx_of(p);

		return t && !has_behaved(t) && !t->pinned && !is_boosted(t) && !is_kworker(p);
	}
	return false;
}

/* For a program that is being launched, when whoever runs there next or now is done with the CPU. */
static __always_inline void reserve_for_launch(s32 cpu, u64 now)
{
	cpu_ctx_of(cpu)->launch_until = now + LAUNCH_RESERVE_NS;
}

/* A young program lost the CPU during its turn, or at the end of one while it is being launched. */
static __always_inline void pause_launch(const struct task_struct *p, const struct task_ctx *t,
					 struct cpu_ctx *c, u64 now)
{
	if (now >= c->launch_until && t->queue >= NODE_QUEUES && t->queue & QUEUE_BATCH &&
	    is_young(t) && (t->slice_left_ns || is_being_launched(p, t)))
		c->launch_until = now + LAUNCH_PAUSE_NS;
}

/* The first of batch work while a young program waits, before interactive work that is not known yet. */
static __always_inline bool take_launch(s32 cpu, u64 now)
{
	return now < cpu_ctx_of(cpu)->launch_until && young_waits(cpu) && is_next_unknown(cpu) &&
	       queue_take_head(node_queue(cpu, QUEUE_BATCH), now);
}

#endif /* __PANDEMONIUM_LAUNCH_BPF_H */
