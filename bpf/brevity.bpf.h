/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What usually needs next to nothing before it sleeps again, and so goes before what takes longer: onto a CPU in
 * place.bpf.h, in a queue in queues.bpf.h, and before those to whom a CPU is handed over in handover.bpf.h.
 */
#ifndef __PANDEMONIUM_BREVITY_BPF_H
#define __PANDEMONIUM_BREVITY_BPF_H

/* A usual run up to this is short. */
#define SHORT_RUN_NS (250 * NSEC_PER_USEC_)
/* What runs for no more than this part of the time is rare: between its last two wake-ups, and on average. */
#define RARE_PART 12

/* How little a wake-up asks for, as far as is known. */
enum brevity {
	BREVITY_NONE,
	/* It usually runs for next to nothing. */
	BREVITY_SHORT,
	/* And seldom: whatever else wants the CPU loses about a twelfth of it at most. */
	BREVITY_SHORT_AND_RARE,
};

/* Whether its averages say something. */
static __always_inline bool is_classified(const struct task_ctx *t)
{
	return t->wakes && t->age >= AGE_CLASSIFIED;
}

static __always_inline bool is_rare(const struct task_ctx *t)
{
	u64 run_ns = t->avg_runtime_ns;

	return run_ns <= t->interval_ns / RARE_PART &&
	       run_ns * (t->wakeup_freq >> RATE_FRACTION_BITS) <= RATE_WINDOW_NS / RARE_PART;
}

/* What has run for longer already is not what it usually is. */
static __always_inline u32 usual_brevity(const struct task_ctx *t)
{
	if (!is_classified(t) || t->avg_runtime_ns > SHORT_RUN_NS || t->awake_run_ns > SHORT_RUN_NS)
		return BREVITY_NONE;
	return is_rare(t) ? BREVITY_SHORT_AND_RARE : BREVITY_SHORT;
}

static __always_inline bool is_short_and_rare(const struct task_ctx *t)
{
	return usual_brevity(t) == BREVITY_SHORT_AND_RARE;
}

#endif /* __PANDEMONIUM_BREVITY_BPF_H */
