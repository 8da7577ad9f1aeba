/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPUs are idle, and the best of them for a task, without looking at CPUs one by one.
 *
 * One word pair per last-level cache has a bit for each idle CPU. Siblings have neighbouring bits, so
 * one shift tells which whole cores are idle. A CPU sets and clears its own bit as it goes idle and
 * comes back, and whoever selects it clears the bit at once, so that two wakers never get the same.
 *
 * The kernel keeps its own masks as well. They serve what these cannot: tasks with a narrow affinity
 * and caches shared by more CPUs than fit here.
 */
#ifndef __PANDEMONIUM_IDLE_BPF_H
#define __PANDEMONIUM_IDLE_BPF_H

/* A claim may lose against another waker's; then the next best is tried, so many times in all. */
#define CLAIM_TRIES 4

/* Not callable in some kernel builds; then work that came too late for an idle CPU waits its turn. */
void scx_bpf_kick_cpu___optional(s32 cpu, u64 flags) __ksym __weak;
s32 scx_bpf_pick_idle_cpu___optional(const cpumask_t *cpus_allowed, u64 flags) __ksym __weak;

/* Which CPUs a search may return, as a set of idle masks' bits. */
enum reach {
	REACH_DOMAIN,
	REACH_ALL,
};

static __always_inline const volatile struct idle_cpu *idle_cpu_of(s32 cpu)
{
	return &idle_cpus[cpu & (MAX_CPUS - 1)];
}

static __always_inline struct idle_mask *idle_mask_of(u32 llc)
{
	return &idle_masks[llc & (MAX_LLCS - 1)];
}

static __always_inline bool has_idle_bit(s32 cpu)
{
	return idle_cpu_of(cpu)->llc < MAX_LLCS;
}

static __always_inline u64 *idle_word_of(s32 cpu)
{
	const volatile struct idle_cpu *place = idle_cpu_of(cpu);

	return &idle_mask_of(place->llc)->words[(place->bit >> 6) & (LLC_WORDS - 1)];
}

static __always_inline u64 idle_bit_of(s32 cpu)
{
	return 1ULL << (idle_cpu_of(cpu)->bit & 63);
}

/* Writing a shared line only when it changes keeps it in the caches of those who read it. */
static __always_inline void mark_idle(s32 cpu)
{
	u64 *word = idle_word_of(cpu);

	if (has_idle_bit(cpu) && cpu_ctx_of(cpu)->online && !(*word & idle_bit_of(cpu)))
		__sync_fetch_and_or(word, idle_bit_of(cpu));
}

/* Whether the CPU was idle, and now belongs to the caller. */
static __always_inline bool claim_idle(s32 cpu)
{
	u64 *word = idle_word_of(cpu);
	u64 bit = idle_bit_of(cpu);

	return has_idle_bit(cpu) && (*word & bit) && (__sync_fetch_and_and(word, ~bit) & bit);
}

static __always_inline bool is_selector_on(void)
{
	return settings.idle_selector || settings.has_domain;
}

/* Whether somebody waits whom this CPU, about to idle, could run. */
static __always_inline bool has_waiters(s32 cpu)
{
	return nr_queued(node_queue(cpu, QUEUE_INTERACTIVE)) ||
	       nr_queued(node_queue(cpu, QUEUE_BATCH));
}

/*
 * A waker counts its task as queued before it looks for an idle CPU a last time; so either it sees the
 * bit, or this sees the task. Where the kernel cannot be asked to look again, the task waits for
 * another CPU.
 */
static __always_inline void note_idle(s32 cpu, bool idle)
{
	if (!idle) {
		claim_idle(cpu);
		return;
	}
	mark_idle(cpu);
	if (has_waiters(cpu) && bpf_ksym_exists(scx_bpf_kick_cpu___optional))
		scx_bpf_kick_cpu___optional(cpu, SCX_KICK_IDLE);
}

static __always_inline u64 reach_word(u32 llc, u32 word, enum reach reach)
{
	if (reach == REACH_ALL || !settings.has_domain)
		return ~0ULL;
	return settings.domain[llc & (MAX_LLCS - 1)][word & (LLC_WORDS - 1)];
}

static __always_inline bool is_in_domain(s32 cpu)
{
	const volatile struct idle_cpu *place = idle_cpu_of(cpu);

	return !has_idle_bit(cpu) ||
	       (reach_word(place->llc, place->bit >> 6, REACH_DOMAIN) & idle_bit_of(cpu));
}

VERIFIED_ONCE s32 claim_one(u32 llc, u32 word, u64 candidates)
{
	u64 *mask = &idle_mask_of(llc)->words[word & (LLC_WORDS - 1)];
	u32 i;

	for (i = 0; i < CLAIM_TRIES && candidates; i++) {
		u64 bit = candidates & -candidates;

		if (__sync_fetch_and_and(mask, ~bit) & bit)
			return idle_llcs[llc & (MAX_LLCS - 1)]
				.cpus[(word * 64 + top_bit(bit)) & (LLC_CPUS - 1)];
		candidates &= ~bit;
	}
	return -1;
}

/* Takes the lowest of @candidates that is still idle. Negative if none is. */
static __always_inline s32 claim_first(u32 llc, u32 word, u64 candidates)
{
	return candidates ? claim_one(llc, word, candidates) : -1;
}

/* One cache: whole cores before single siblings. */
VERIFIED_ONCE s32 claim_in_llc(u32 llc, u32 reach)
{
	struct idle_mask *mask = idle_mask_of(llc);
	u64 idle[LLC_WORDS], cores;
	s32 cpu;
	u32 w;

	for (w = 0; w < LLC_WORDS; w++) {
		u64 all = mask->words[w];
		const volatile struct idle_llc *l = &idle_llcs[llc & (MAX_LLCS - 1)];

		idle[w] = all & reach_word(llc, w, reach);
		if (!idle[w])
			continue;
		cores = idle_cores(all, l->single[w], l->pair[w]) & idle[w];
		cpu = claim_first(llc, w, cores);
		if (cpu >= 0)
			return cpu;
	}
	for (w = 0; w < LLC_WORDS; w++) {
		cpu = claim_first(llc, w, idle[w]);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

/* One cache: whole cores only. */
VERIFIED_ONCE s32 claim_core(u32 llc, u32 reach)
{
	const volatile struct idle_llc *l = &idle_llcs[llc & (MAX_LLCS - 1)];
	u32 w;

	for (w = 0; w < LLC_WORDS; w++) {
		u64 idle = idle_mask_of(llc)->words[w];
		u64 cores = idle_cores(idle, l->single[w], l->pair[w]);
		s32 cpu = claim_first(llc, w, cores & reach_word(llc, w, reach));

		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

/* How a search treats the second-level cache around the CPU that the task ran on last. */
enum closeness {
	CLOSE_OFF,
	CLOSE_WEAK,
	CLOSE_STRONG,
};

/*
 * The cache that the task ran in last. In turn: its own CPU if the whole core is idle, a core sharing
 * the second-level cache, any core, its own CPU, a CPU sharing the second-level cache, any CPU. Strong
 * closeness exhausts the second-level cache first.
 */
static __always_inline s32 claim_near(s32 prev, enum reach reach, enum closeness close)
{
	const volatile struct idle_cpu *place = idle_cpu_of(prev);
	u32 llc = place->llc & (MAX_LLCS - 1);
	u32 w = (place->bit >> 6) & (LLC_WORDS - 1);
	const volatile struct idle_llc *l = &idle_llcs[llc];
	struct idle_mask *mask = idle_mask_of(llc);
	u64 bit = idle_bit_of(prev);
	u64 all = mask->words[w];
	u64 idle = all & reach_word(llc, w, reach);
	u64 cores, near;
	s32 cpu;

	if (!idle)
		return w || mask->words[1] ? claim_in_llc(llc, reach) : -1;
	cores = idle_cores(all, l->single[w], l->pair[w]);
	if ((idle & bit) && (cores & core_bit(bit, l->pair[w])) && claim_idle(prev))
		return prev;
	near = close == CLOSE_OFF ? 0 : place->l2_mask & ~bit;
	cpu = claim_first(llc, w, cores & idle & near);
	if (cpu < 0 && close == CLOSE_STRONG) {
		if ((idle & bit) && claim_idle(prev))
			return prev;
		cpu = claim_first(llc, w, idle & near);
	}
	if (cpu >= 0) {
		count(CNT_L2_PLACEMENTS);
		return cpu;
	}
	cpu = claim_core(llc, reach);
	if (cpu >= 0)
		return cpu;
	if ((idle & bit) && claim_idle(prev))
		return prev;
	cpu = claim_first(llc, w, idle & near);
	if (cpu >= 0) {
		count(CNT_L2_PLACEMENTS);
		return cpu;
	}
	return claim_in_llc(llc, reach);
}

/* Whether the second-level cache around @cpu has an idle CPU, itself included. */
static __always_inline bool has_idle_near(s32 cpu)
{
	return has_idle_bit(cpu) && (*idle_word_of(cpu) & idle_cpu_of(cpu)->l2_mask);
}

/* Caches of the same node first. */
VERIFIED_ONCE s32 claim_elsewhere(u32 home, u32 reach)
{
	u32 node = idle_llcs[home & (MAX_LLCS - 1)].node;
	u32 i;

	bpf_for(i, 0, 2 * topology.nr_llcs) {
		bool is_far = i >= topology.nr_llcs;
		u32 llc = is_far ? i - topology.nr_llcs : i;
		s32 cpu;

		if (llc == home || (idle_llcs[llc & (MAX_LLCS - 1)].node != node) != is_far)
			continue;
		cpu = claim_in_llc(llc, reach);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

VERIFIED_ONCE s32 claim_within(s32 prev, u32 reach, u32 close)
{
	s32 cpu = claim_near(prev, reach, close);

	if (cpu < 0 && topology.nr_llcs > 1)
		cpu = claim_elsewhere(idle_cpu_of(prev)->llc, reach);
	return cpu;
}

/* Latency-critical work and the kernel's threads take whatever is fastest. */
static __always_inline enum closeness closeness_of(const struct task_struct *p,
						   const struct task_ctx *t)
{
	if (t->tier == TIER_LAT_CRITICAL || p->flags & PF_KTHREAD)
		return CLOSE_OFF;
	return knobs.affinity_mode >= CLOSE_STRONG ? CLOSE_STRONG : knobs.affinity_mode;
}

/* For a task that may run anywhere: the primary domain until it is saturated, then the rest. */
static __always_inline s32 claim_for(const struct task_struct *p, const struct task_ctx *t,
				     s32 prev)
{
	enum closeness close = closeness_of(p, t);
	s32 cpu = claim_within(prev, REACH_DOMAIN, close);
	if (cpu >= 0 || !settings.has_domain)
		return cpu;
	cpu = claim_within(prev, REACH_ALL, close);
	if (cpu >= 0)
		count(CNT_DOMAIN_SPILLS);
	return cpu;
}

/* Whether somebody else runs on the other CPU of the same core. */
static __always_inline bool shares_core(s32 cpu)
{
	const volatile struct idle_cpu *place = idle_cpu_of(cpu);
	u32 w = (place->bit >> 6) & (LLC_WORDS - 1);
	u64 pair = idle_llcs[place->llc & (MAX_LLCS - 1)].pair[w];
	u64 first = core_bit(idle_bit_of(cpu), pair);

	return has_idle_bit(cpu) && (first & pair) && !(*idle_word_of(cpu) & (first | first << 1));
}

/*
 * A better CPU for work that could go on here: one of the domain for what spilled out of it, a core of
 * its own for what shares one. Negative if there is none.
 */
static __always_inline s32 claim_better(s32 cpu)
{
	if (settings.has_domain && !is_in_domain(cpu))
		return claim_within(cpu, REACH_DOMAIN, CLOSE_OFF);
	if (is_selector_on() && shares_core(cpu))
		return claim_core(idle_cpu_of(cpu)->llc, REACH_DOMAIN);
	return -1;
}

#endif /* __PANDEMONIUM_IDLE_BPF_H */
