/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that are being launched, among work that computes: they are ahead of it in the batch queue, stop what has run
 * for a while, and go on where they were forked or interrupted before woken work of which nothing is known yet.
 */
#ifndef __PANDEMONIUM_LAUNCH_BPF_H
#define __PANDEMONIUM_LAUNCH_BPF_H

/* A program that is launched stops only what has run for so long. */
#define LAUNCH_AFTER_NS (4 * NSEC_PER_MSEC_)
/* For programs that have never slept the tick ends the turn of what is grown after this. */
#define YOUNG_TICK_NS (2 * NSEC_PER_MSEC_)
/* What has not slept yet and ran for less is being launched. */
#define LAUNCH_RUN_NS (4 * NSEC_PER_MSEC_)
/* It goes on before others have a turn if what interrupted it takes no longer. */
#define LAUNCH_PAUSE_NS (150 * NSEC_PER_USEC_)

static __always_inline bool is_being_launched(const struct task_ctx *t)
{
	return !t->wakes && t->awake_run_ns < LAUNCH_RUN_NS && !t->pinned;
}

/* Whether a program that has never slept waits for any CPU of the node. */
static __always_inline bool young_waits(s32 cpu)
{
	u32 queue = node_queue(cpu, QUEUE_BATCH);

	return nr_queued(queue) > grown_state_of(queue)->waiting;
}

/*
 * Whether what is next of the node's interactive work has not shown yet that it is that. Whatever is known of its name, it
 * may be a hog that has waited to begin.
 */
VERIFIED_ONCE bool is_next_unknown(s32 cpu)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, node_queue(cpu, QUEUE_INTERACTIVE), 0) {
		const struct task_ctx *t = task_ctx_of(p);

		return t && t->wakes <= AGE_CLASSIFIED;
	}
	return false;
}

/* What is forked here and stops nobody, or stops here for whom it woke, is next here however long that takes. */
static __always_inline void reserve_for_launch(s32 cpu)
{
	cpu_ctx_of(cpu)->launch_until = ~0ULL;
}

/* What has not slept yet lost the CPU during its turn, or at the end of one while it is being launched. */
static __always_inline void pause_launch(struct cpu_ctx *c, const struct task_ctx *t, u64 now)
{
	if (!c->launch_until && t->queue & QUEUE_BATCH && is_young(t) &&
	    (t->slice_left_ns || is_being_launched(t)))
		c->launch_until = now + LAUNCH_PAUSE_NS;
}

/* Before interactive work that is not known yet. After what is known its turn is still to come. */
static __always_inline bool take_launch(s32 cpu, u64 now)
{
	return now < cpu_ctx_of(cpu)->launch_until && young_waits(cpu) && is_next_unknown(cpu) &&
	       queue_take(node_queue(cpu, QUEUE_BATCH), now);
}

#endif /* __PANDEMONIUM_LAUNCH_BPF_H */
