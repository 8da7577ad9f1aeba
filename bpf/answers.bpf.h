/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a CPU takes for a wake-up: from when its timer was due, or another interrupt came, until what it wakes runs. One
 * whose time is taken by interrupts, by the firmware or, in a virtual machine, by others takes longer, and then a wake-up
 * asks another one.
 */
#ifndef __PANDEMONIUM_ANSWERS_BPF_H
#define __PANDEMONIUM_ANSWERS_BPF_H

/* No CPU that takes less is late, nor slow for a program that is launched. */
#define ANSWER_QUICK_NS (10 * NSEC_PER_USEC_)
/*
 * More than this says no more, and neither does more than twice what is usual: what holds a CPU up now and then, a softirq
 * or the host of a virtual machine, does so on any of them.
 */
#define ANSWER_MAX_NS (250 * NSEC_PER_USEC_)
/* What a CPU usually takes is the average of so many answers; of fewer than the second nothing is concluded. */
#define ANSWERS_MAX 64
#define ANSWERS_MIN 4
/* What has not answered for so long is asked again, and what was known of it counts as so many answers. */
#define ANSWER_KEPT_NS (30000 * NSEC_PER_MSEC_)
#define ANSWERS_LEFT   (ANSWERS_MIN / 2)
/* As a shift: by this part the quickest counts as slower at the tick of each other CPU. */
#define QUICKEST_FADE_SHIFT 8

static __always_inline void note_answer(struct cpu_ctx *c, u64 now)
{
	u64 most = 2 * c->answer_ns;
	u64 took;

	if (!c->asked_ns)
		return;
	if (!most || most > ANSWER_MAX_NS)
		most = ANSWER_MAX_NS;
	took = clamp_u64(time_delta(now, c->asked_ns), 1, most);
	c->asked_ns = 0;
	c->answered_ns = now;
	if (!c->answer_ns)
		__sync_fetch_and_add(&load_state.nr_answering, 1);
	if (c->answers < ANSWERS_MAX)
		c->answers++;
	c->answer_ns = (c->answer_ns * (c->answers - 1) + took) / c->answers;
}

/* Half as much again. */
static __always_inline bool takes_longer(u64 answer_ns, u64 other_ns)
{
	return answer_ns > ANSWER_QUICK_NS && answer_ns > other_ns + other_ns / 2;
}

/* Whether the first is much quicker than the second, as far as is known of both. */
static __always_inline bool is_quicker(const struct cpu_ctx *c, const struct cpu_ctx *other)
{
	return other->is_late && c->answers >= ANSWERS_MIN &&
	       takes_longer(other->answer_ns, c->answer_ns);
}

/* The same, or has never been asked: the timers of whoever runs there are armed there, so that is how it comes to be known. */
static __always_inline bool may_be_quicker(const struct cpu_ctx *c, const struct cpu_ctx *other)
{
	return (other->is_late && !c->answer_ns) || is_quicker(c, other);
}

/* Whether it is by a quarter, for a program that takes as much longer as a whole. */
static __always_inline bool is_a_bit_quicker(const struct cpu_ctx *c, const struct cpu_ctx *other)
{
	return c->answers >= ANSWERS_MIN && other->answers >= ANSWERS_MIN &&
	       other->answer_ns > ANSWER_QUICK_NS &&
	       other->answer_ns > c->answer_ns + c->answer_ns / 4;
}

/* At each tick. Late is what takes much longer than the quickest, which any can be that has never been asked. */
static __always_inline void compare_answers(struct cpu_ctx *c, u64 now)
{
	u64 quickest = load_state.quickest_answer;

	if (c->answers >= ANSWERS_MIN && time_delta(now, c->answered_ns) > ANSWER_KEPT_NS)
		c->answers = ANSWERS_LEFT;
	c->is_late = false;
	if (c->answers < ANSWERS_MIN)
		return;
	quickest += quickest >> QUICKEST_FADE_SHIFT;
	if (!quickest || c->answer_ns < quickest)
		quickest = c->answer_ns;
	load_state.quickest_answer = quickest;
	c->is_late = takes_longer(c->answer_ns, load_state.nr_answering < nr_online ? 0 : quickest);
}

#endif /* __PANDEMONIUM_ANSWERS_BPF_H */
