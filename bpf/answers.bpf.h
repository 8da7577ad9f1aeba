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

static __always_inline void note_answer(struct cpu_ctx *c, u64 now)
{
	u64 took;

	if (!c->asked_ns)
		return;
	took = clamp_u64(time_delta(now, c->asked_ns), 1, ANSWER_MAX_NS);
	c->asked_ns = 0;
	c->answer_ns = c->answer_ns ? c->answer_ns - (c->answer_ns >> 4) + (took >> 4) : took;
}

/* At each tick. What was late once is forgotten within half a minute, and asked again. */
static __always_inline void compare_answers(struct cpu_ctx *c)
{
	u64 usual = load_state.answer_average;

	if (!c->answer_ns)
		return;
	c->answer_ns -= c->answer_ns >> 12;
	load_state.answer_average =
		usual ? usual - (usual >> 6) + (c->answer_ns >> 6) : c->answer_ns;
	c->is_late = c->answer_ns > ANSWER_LATE_NS && c->answer_ns > usual + usual / 3;
}

#endif /* __PANDEMONIUM_ANSWERS_BPF_H */
