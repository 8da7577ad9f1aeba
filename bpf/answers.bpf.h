/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a CPU takes to stop for a wake-up. One whose time is taken by interrupts, by the firmware or, in a virtual
 * machine, by others takes longer, and then a wake-up asks another one.
 */
#ifndef __PANDEMONIUM_ANSWERS_BPF_H
#define __PANDEMONIUM_ANSWERS_BPF_H

/* No CPU that takes less is late. */
#define ANSWER_LATE_NS (20 * NSEC_PER_USEC_)
/* More than this says no more. */
#define ANSWER_MAX_NS (1 * NSEC_PER_MSEC_)
/* As shifts: what one answer counts in the average of its CPU, what a CPU's tick counts in that of all, and what fades at one. */
#define ANSWER_WEIGHT_SHIFT 4
#define USUAL_WEIGHT_SHIFT  6
#define ANSWER_FADE_SHIFT   12
/* By this part of what is usual a late CPU takes longer. */
#define ANSWER_LATE_PART 3

/* Moving average that begins with its first sample; moving_average() forgets too soon here. */
static __always_inline u64 average_of(u64 old, u64 sample, u32 weight_shift)
{
	return old ? old - (old >> weight_shift) + (sample >> weight_shift) : sample;
}

static __always_inline void note_answer(struct cpu_ctx *c, u64 now)
{
	u64 took;

	if (!c->asked_ns)
		return;
	took = clamp_u64(time_delta(now, c->asked_ns), 1, ANSWER_MAX_NS);
	c->asked_ns = 0;
	c->answer_ns = average_of(c->answer_ns, took, ANSWER_WEIGHT_SHIFT);
}

/* At each tick. What was late once is forgotten within half a minute, and asked again. */
static __always_inline void compare_answers(struct cpu_ctx *c)
{
	u64 usual = load_state.answer_average;

	if (!c->answer_ns)
		return;
	c->answer_ns -= c->answer_ns >> ANSWER_FADE_SHIFT;
	load_state.answer_average = average_of(usual, c->answer_ns, USUAL_WEIGHT_SHIFT);
	c->is_late =
		c->answer_ns > ANSWER_LATE_NS && c->answer_ns > usual + usual / ANSWER_LATE_PART;
}

#endif /* __PANDEMONIUM_ANSWERS_BPF_H */
