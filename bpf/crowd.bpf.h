/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room for interactive work: only so many tasks may queue as such, and the others of a crowd queue as batch work.
 */
#ifndef __PANDEMONIUM_CROWD_BPF_H
#define __PANDEMONIUM_CROWD_BPF_H

/* Interactive tasks tied to one CPU, and a quarter more; the node's queue has a limit by the number of CPUs. */
#define QUEUED_PER_CPU_MAX 4
/* So long after somebody came into an empty queue, what seldom runs, and for no longer, finds so many times the room. */
#define CROWD_COMES_NS	 (1 * NSEC_PER_MSEC_)
#define CROWD_COMES_ROOM 4

/* A node has its part of the room by its CPUs. */
static __always_inline u64 interactive_room(u32 queue)
{
	u64 room = limits.interactive_max;

	return topology.nr_nodes > 1 ? room * nr_cpus_of(queue) / (nr_online ?: 1) : room;
}

/*
 * One of a crowd that wakes at once, now and then, and not one that is always there: the queue was empty a moment ago.
 * All of them are soon gone.
 */
VERIFIED_ONCE bool comes_in_crowd(const struct task_ctx *t, u32 queue, u64 now)
{
	if (!t)
		return false;
	return t->avg_runtime_ns <= CROWD_COMES_NS && is_classified(t) && is_rare(t) &&
	       time_delta(now, queue_state_of(queue)->filled_ns) < CROWD_COMES_NS;
}

/*
 * A crowd of tasks that do nothing but wake each other would make everything interactive, and nothing
 * sooner. Only so many may queue as interactive, and half of that room is for those that something
 * outside woke: a device or a timer. What is short and rare has a quarter more, which others fill up no less.
 */
static __always_inline bool is_crowded_out(const struct task_struct *p, const struct task_ctx *t,
					   u32 queue, u64 now)
{
	u64 most = QUEUED_PER_CPU_MAX;

	/* Of tasks that can only run here, nobody knows who woke them. */
	if (queue >= NODE_QUEUES)
		most = t->is_external ? interactive_room(queue) : interactive_room(queue) / 2;
	if (is_short_and_rare(t))
		most += most / 4;
	if (nr_queued(queue) < most || is_boosted(t) || p->flags & PF_WQ_WORKER)
		return false;
	return nr_queued(queue) >= CROWD_COMES_ROOM * most || !comes_in_crowd(t, queue, now);
}

/*
 * What has begun keeps its place among interactive work: there are no more of these than CPUs. But where others wait for
 * every CPU, what goes on for longer than it usually does would wait until all of their credit is used up.
 */
VERIFIED_ONCE bool outstays(const struct task_struct *p __arg_trusted, const struct task_ctx *t,
			    u32 queue)
{
	if (!t)
		return false;
	return t->awake_run_ns > cpu_bound_after_ns(t->avg_runtime_ns, BATCH_TURN_NS) &&
	       queued_per_cpu(queue) && !is_boosted(t) && !(p->flags & PF_WQ_WORKER);
}

#endif /* __PANDEMONIUM_CROWD_BPF_H */
