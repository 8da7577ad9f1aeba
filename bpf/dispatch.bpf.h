/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU runs next when its local queue is empty: nine steps in order, a function each, but that 5 and 6 share one.
 * Steps 0, 3, 5 and 6 are in rescue.bpf.h, step 2 is in due.bpf.h. After step 0 a program that is being launched may come:
 * launch.bpf.h.
 */
#ifndef __PANDEMONIUM_DISPATCH_BPF_H
#define __PANDEMONIUM_DISPATCH_BPF_H

/* Step 1. Interactive work that is tied to this CPU. */
static __always_inline bool take_own(s32 cpu, u64 now)
{
	return queue_take(cpu_queue(cpu, QUEUE_INTERACTIVE), now);
}

/* Step 4. The node's interactive work, earliest deadline first. */
static __always_inline bool take_node_interactive(s32 cpu, u64 now)
{
	return queue_take(node_queue(cpu, QUEUE_INTERACTIVE), now);
}

/* Work bound to other CPUs by an affinity that includes this one. */
VERIFIED_ONCE bool steal_restricted(s32 cpu, u64 now)
{
	u32 i;

	if (nr_stealable <= 0)
		return false;
	bpf_for(i, 1, topology.nr_cpu_ids) {
		u32 other = cpu_after(cpu, i);
		u32 interactive = cpu_queue(other, QUEUE_INTERACTIVE);
		u32 batch = cpu_queue(other, QUEUE_BATCH);

		if ((can_steal(interactive) && queue_take(interactive, now)) ||
		    (can_steal(batch) && queue_take(batch, now)))
			return true;
	}
	return false;
}

VERIFIED_ONCE bool steal_from_nodes(s32 cpu, u64 now)
{
	u32 home = cpu_node[cpu & (MAX_CPUS - 1)];
	u32 i;

	/* Asked here, so that most machines' verifiers need not look at the rest. */
	if (topology.nr_nodes <= 1)
		return false;
	bpf_for(i, 1, topology.nr_nodes) {
		u32 node = home + i;

		if (node >= topology.nr_nodes)
			node -= topology.nr_nodes;
		if (queue_take(queue_of_node(node, QUEUE_INTERACTIVE), now) ||
		    queue_take(queue_of_node(node, QUEUE_BATCH), now))
			return true;
	}
	return false;
}

/* Step 7. Nothing at home: other nodes, then tasks bound to other CPUs that may run here too. */
static __always_inline bool steal(s32 cpu, u64 now)
{
	if (!steal_from_nodes(cpu, now) && !steal_restricted(cpu, now))
		return false;
	count(CNT_STEALS);
	return true;
}

/* Whether what ran here until now still could; otherwise it sleeps, or nothing ran. */
static __always_inline bool could_go_on(const struct task_struct *prev)
{
	return prev && prev->scx.flags & SCX_TASK_QUEUED;
}

/* It goes on in its queue's turn. */
VERIFIED_ONCE int go_on(s32 cpu, struct task_struct *prev __arg_trusted, struct task_ctx *t,
			u64 slice_ns, u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);

	if (!t)
		return 0;
	t->leaves = false;
	queue_state_of(t->queue)->served_ns = now;
	c->boosted = is_boosted(t);
	c->tier = tier_on_cpu(t);
	scx_bpf_task_set_slice(prev, begin_slice(t, slice_ns, now));
	count(CNT_KEEPS);
	return 0;
}

/* Step 8. Nobody else wants the CPU: what ran goes on with a fresh slice. */
static __always_inline void keep_running(s32 cpu, struct task_struct *prev, struct task_ctx *t,
					 u64 now)
{
	s32 better = is_restricted(prev) ? -1 : claim_better(cpu);

	if (better >= 0) {
		/* Left without a slice, it comes to enqueue(), which sends it there. */
		t->better_cpu = better + 1;
		return;
	}
	go_on(cpu, prev, t, queue_kind_of(t) == QUEUE_BATCH ? knobs.batch_slice_ns : t->slice_ns,
	      now);
}

/* Claimed for work that then went elsewhere, a CPU idles on without having left it. */
VERIFIED_ONCE int idle_on(s32 cpu)
{
	if (!bpf_get_current_task_btf()->pid)
		mark_idle(cpu);
	return 0;
}

/*
 * Whether what ran until now as batch work has still had less than those behind it. Then batch work
 * is being served and the task goes on; what interrupted it was the tick, which knows no weights.
 * What came from elsewhere has no claim here.
 */
static __always_inline bool is_due(s32 cpu, const struct task_ctx *t)
{
	u32 own = cpu_queue(cpu, QUEUE_BATCH);
	u32 node = node_queue(cpu, QUEUE_BATCH);
	bool is_own = t->queue == own;

	if (queue_kind_of(t) != QUEUE_BATCH || (!is_own && t->queue != node) ||
	    comes_after_other_batch(cpu, is_own))
		return false;
	return nr_queued(t->queue) ? vtime_diff(t->vtime, head_vtime(t->queue, t->vtime)) < 0 :
				     nr_queued(is_own ? node : own);
}

/*
 * Whether what ran goes on before batch work that waits. A slice is for sharing with others that are as urgent; without
 * such, batch work is no reason to stop. What goes to a quicker CPU leaves this one to them.
 */
static __always_inline bool goes_on(s32 cpu, const struct task_ctx *t)
{
	if (!t || t->leaves)
		return false;
	return t->queue & QUEUE_BATCH ? is_due(cpu, t) : t->tier != TIER_BATCH;
}

/* Whether the tick found interactive work that has not run for long yet since it woke. */
static __always_inline bool has_just_begun(const struct task_ctx *t)
{
	return t && !(t->queue & QUEUE_BATCH) && t->tier != TIER_BATCH &&
	       t->awake_run_ns < BATCH_DUE_AFTER_NS;
}

/* Whether what ran sleeps between its runs, and may well be done with this one soon. */
static __always_inline bool is_amid_run(const struct task_ctx *t)
{
	return t && t->rests > 1 && t->awake_run_ns <= IN_TURN_MAX_NS;
}

/* Tasks in the four queues that steps 0 to 6 are about. */
static __always_inline u64 nr_waiting(s32 cpu)
{
	return nr_queued(cpu_queue(cpu, QUEUE_INTERACTIVE)) +
	       nr_queued(cpu_queue(cpu, QUEUE_BATCH)) +
	       nr_queued(node_queue(cpu, QUEUE_INTERACTIVE)) +
	       nr_queued(node_queue(cpu, QUEUE_BATCH));
}

/* Steps 0 to 6, after the first of which a launch may come, and whether one of them found something to run. */
static __always_inline bool take_work(s32 cpu, struct task_struct *prev, struct task_ctx *t,
				      u64 now)
{
	u32 longest;
	bool late;

	if (rescue_overflow(cpu, has_just_begun(t), is_amid_run(t), now) || take_launch(cpu, now) ||
	    take_own(cpu, now) || force_batch(cpu, now))
		return true;
	longest = longest_batch(cpu, now);
	if (rescue_starved(longest, now) || take_node_interactive(cpu, now))
		return true;
	if (goes_on(cpu, t)) {
		/* Batch work until it is no longer behind the others; running() decides anew when it has lost the CPU. */
		go_on(cpu, prev, t, t->queue & QUEUE_BATCH ? BATCH_SLICE_MIN_NS : t->slice_ns, now);
		return true;
	}
	late = waits_longer(longest, now, knobs.sojourn_thresh_ns);
	if (!take_batch(cpu, !late || longest < NODE_QUEUES, now))
		return false;
	if (late)
		count(CNT_SOJOURN_RESCUES);
	return true;
}

/* The one task that waits, if nothing can be due yet. */
VERIFIED_ONCE bool take_only(s32 cpu, u64 now)
{
	u32 interactive = node_queue(cpu, QUEUE_INTERACTIVE);
	u32 queue = nr_queued(interactive)		 ? interactive :
		    nr_queued(interactive + QUEUE_BATCH) ? interactive + QUEUE_BATCH :
							   cpu_queue(cpu, QUEUE_BATCH);

	return !waits_longer(queue, now, BATCH_DUE_AFTER_NS) && queue_take(queue, now);
}

/*
 * Most often a CPU comes here to idle, or for the one task that its own waker left it, or stopped: these ways are to be
 * short. With a single task waiting, and nothing that could go on, the steps have nothing to decide.
 */
static __always_inline void dispatch_cpu(s32 cpu, struct task_struct *prev)
{
	u64 nr = nr_waiting(cpu);
	bool is_any_elsewhere = topology.nr_nodes > 1 || nr_stealable > 0;
	struct task_ctx *t = NULL;
	u64 now;

	if (!nr && !is_any_elsewhere && !could_go_on(prev)) {
		idle_on(cpu);
		return;
	}
	now = bpf_ktime_get_ns();
	if (nr == 1 && (take_own(cpu, now) ||
			(!is_any_elsewhere && !could_go_on(prev) && take_only(cpu, now))))
		return;
	if (could_go_on(prev))
		t = task_ctx_of(prev);
	if (t) {
		charge_run(prev, t, cpu, now);
		note_yield(prev, t, cpu, now);
	}
	if (nr && take_work(cpu, prev, t, now))
		return;
	/* What is left of the steps when the four queues are empty. */
	if (is_any_elsewhere && (help_neighbour(cpu, now) || steal(cpu, now)))
		return;
	if (t)
		keep_running(cpu, prev, t, now);
	else
		idle_on(cpu);
}

#endif /* __PANDEMONIUM_DISPATCH_BPF_H */
