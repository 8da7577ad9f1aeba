/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU runs next when its local queue is empty: nine steps in order, one function each. Steps
 * 0, 2, 3, 5 and 6 are in rescue.bpf.h.
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
		u32 other = (u32)cpu + i;

		if (other >= topology.nr_cpu_ids)
			other -= topology.nr_cpu_ids;
		if (queue_steal(cpu_queue(other, QUEUE_INTERACTIVE), now) ||
		    queue_steal(cpu_queue(other, QUEUE_BATCH), now))
			return true;
	}
	return false;
}

VERIFIED_ONCE bool steal_from_nodes(s32 cpu, u64 now)
{
	u32 home = cpu_node[cpu & (MAX_CPUS - 1)];
	u32 i;

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
	if (!(topology.nr_nodes > 1 && steal_from_nodes(cpu, now)) && !steal_restricted(cpu, now))
		return false;
	count(CNT_STEALS);
	return true;
}

/* It goes on in its queue's turn, and pays for what it had of it so far. */
VERIFIED_ONCE int go_on(s32 cpu, struct task_struct *prev __arg_trusted, u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	struct task_ctx *t = task_ctx_of(prev);

	if (!t)
		return 0;
	queue_state_of(t->queue)->served_ns = now;
	charge_run(prev, t, c, now);
	c->boosted = is_boosted(t);
	c->tier = tier_on_cpu(t);
	scx_bpf_task_set_slice(prev, begin_slice(t, task_slice(prev, t, cpu, now), now));
	count(CNT_KEEPS);
	return 0;
}

/* Step 8. Nobody else wants the CPU: what ran goes on with a fresh slice. */
static __always_inline void keep_running(s32 cpu, struct task_struct *prev)
{
	struct task_ctx *t;
	s32 better;

	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED)) {
		/* Claimed for work that then went elsewhere, the CPU idles on without having left it. */
		if (!bpf_get_current_task_btf()->pid)
			mark_idle(cpu);
		return;
	}
	t = task_ctx_of(prev);
	if (!t)
		return;
	better = is_restricted(prev) ? -1 : claim_better(cpu);
	if (better >= 0) {
		/* Left without a slice, it comes to enqueue(), which sends it there. */
		t->better_cpu = better + 1;
		return;
	}
	go_on(cpu, prev, scx_bpf_now());
}

/*
 * Whether what ran until now as batch work has still had less than those behind it. Then batch work
 * is being served and the task goes on; what interrupted it was the tick, which knows no weights.
 */
static __always_inline bool prev_is_due(s32 cpu, struct task_struct *prev, u64 now)
{
	struct task_ctx *t;
	u64 vtime;
	u32 other;

	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED))
		return false;
	t = task_ctx_of(prev);
	if (!t || queue_kind_of(t) != QUEUE_BATCH || !(t->queue & QUEUE_BATCH) ||
	    !nr_queued(t->queue))
		return false;
	other = t->queue < NODE_QUEUES ? node_queue(cpu, QUEUE_BATCH) : cpu_queue(cpu, QUEUE_BATCH);
	if (nr_queued(other))
		return false;
	vtime = t->vtime + service_vtime(prev, t, time_delta(now, t->started_ns));
	return vtime_diff(vtime, head_vtime(t->queue, vtime)) < 0;
}

/* A slice is for sharing with others that are as urgent; without such, batch work is no reason to stop. */
static __always_inline bool prev_outranks_batch(struct task_struct *prev)
{
	struct task_ctx *t;

	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED))
		return false;
	t = task_ctx_of(prev);
	return t && t->tier != TIER_BATCH && !(t->queue & QUEUE_BATCH);
}

/* Tasks in the four queues that steps 0 to 6 are about. */
static __always_inline u64 nr_waiting(s32 cpu)
{
	return nr_queued(cpu_queue(cpu, QUEUE_INTERACTIVE)) +
	       nr_queued(cpu_queue(cpu, QUEUE_BATCH)) +
	       nr_queued(node_queue(cpu, QUEUE_INTERACTIVE)) +
	       nr_queued(node_queue(cpu, QUEUE_BATCH));
}

/* Steps 0 to 6, and whether one of them found something to run. */
static __always_inline bool take_work(s32 cpu, struct task_struct *prev)
{
	u64 now = scx_bpf_now();
	bool goes_on = prev_outranks_batch(prev) || prev_is_due(cpu, prev, now);

	if (rescue_overflow(cpu, now) || take_own(cpu, now) || force_batch(cpu, now) ||
	    rescue_starved(cpu, now) || take_node_interactive(cpu, now))
		return true;
	if (goes_on) {
		go_on(cpu, prev, now);
		return true;
	}
	return rescue_sojourn(cpu, now) || take_batch(cpu, now);
}

/* What is left of the steps when the four queues are empty and there is anything elsewhere. */
static __always_inline bool look_elsewhere(s32 cpu)
{
	u64 now = scx_bpf_now();

	return help_neighbour(cpu, now) || steal(cpu, now);
}

/*
 * Most often a CPU comes here to idle, or for the one task that its own waker left it: both ways are to be
 * short. With a single task waiting the steps have nothing to decide.
 */
static __always_inline void dispatch_cpu(s32 cpu, struct task_struct *prev)
{
	u64 nr = nr_waiting(cpu);

	if (nr == 1 && nr_queued(cpu_queue(cpu, QUEUE_INTERACTIVE)) && take_own(cpu, scx_bpf_now()))
		return;
	if (nr && take_work(cpu, prev))
		return;
	if ((topology.nr_nodes > 1 || nr_stealable > 0) && look_elsewhere(cpu))
		return;
	keep_running(cpu, prev);
}

#endif /* __PANDEMONIUM_DISPATCH_BPF_H */
