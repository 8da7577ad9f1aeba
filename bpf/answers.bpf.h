/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a CPU takes for a wake-up: from when its timer was due, or another interrupt came, until what it wakes runs. One
 * whose time is taken by interrupts, by the firmware or, in a virtual machine, by others takes longer, and then a wake-up
 * asks another one. And how long to hand it over, from when one task sleeps until the other runs, which is the same way
 * through the kernel whoever they are: tasks that wake each other stay where that takes least.
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

/* A CPU that is handed over within this time is as good as any. */
#define HANDOVER_QUICK_NS (5 * NSEC_PER_USEC_)
/* One handover counts for no more than this. */
#define HANDOVER_MAX_NS (500 * NSEC_PER_USEC_)
/* What it takes is known by so many at a time; the first time by fewer, which take this long together. */
#define HANDOVERS_MAX	   64
#define HANDOVERS_FIRST_NS (400 * NSEC_PER_USEC_)
/* Where a quicker CPU cannot be had at once, a pair looks again after so many. */
#define LOOK_EVERY 8
/* A CPU of which it has not been measured for so long is tried again. */
#define HANDOVER_KEPT_NS (30000 * NSEC_PER_MSEC_)

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

/* What is known of how long it takes while the CPUs have more to do than they can; 0 if nothing is. */
static __always_inline u32 known_handover_ns(const struct cpu_ctx *c, u64 now)
{
	return time_delta(now, c->handover_known_ns) < HANDOVER_KEPT_NS ? c->handover_ns : 0;
}

/* What the CPU was handed over to runs. */
static __always_inline void learn_handover(struct cpu_ctx *c, u64 now)
{
	u64 took = time_delta(now, c->left_ns);
	u32 known_ns = known_handover_ns(c, now);

	c->left_ns = 0;
	c->handovers_ns += took < HANDOVER_MAX_NS ? took : HANDOVER_MAX_NS;
	c->handovers++;
	if (c->handovers < HANDOVERS_MAX && (known_ns || c->handovers_ns < HANDOVERS_FIRST_NS)) {
		c->looks_away = known_ns > HANDOVER_QUICK_NS && c->handovers % LOOK_EVERY == 0;
		return;
	}
	took = c->handovers_ns / c->handovers;
	c->handover_ns = known_ns ? (known_ns + took) / 2 : took;
	c->handover_known_ns = now;
	c->handovers = 0;
	c->handovers_ns = 0;
	c->looks_away = c->handover_ns > HANDOVER_QUICK_NS;
}

/* Something runs. If it came in another way, the first that it hands the CPU over to may be better off elsewhere. */
static __always_inline void note_handover(struct cpu_ctx *c, u64 now)
{
	if (c->left_ns)
		learn_handover(c, now);
	else
		c->looks_away = c->handover_ns > HANDOVER_QUICK_NS && known_handover_ns(c, now);
}

/* What takes less is worth going there: a fifth less. */
static __always_inline u32 quicker_than(u32 handover_ns)
{
	return handover_ns - handover_ns / 5;
}

#endif /* __PANDEMONIUM_ANSWERS_BPF_H */
