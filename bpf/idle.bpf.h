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

/* The kernel's mask may name CPUs that ours has just given to others; so many are looked at. */
#define CLAIM_TRIES 4

/* Not callable in some kernel builds; then work that came too late for an idle CPU waits its turn. */
void scx_bpf_kick_cpu___optional(s32 cpu, u64 flags) __ksym __weak;
s32 scx_bpf_pick_idle_cpu___optional(const cpumask_t *cpus_allowed, u64 flags) __ksym __weak;

/*
 * How a search goes about it. Closeness is about the second-level cache around the CPU that the task ran on last: it
 * comes first among equals, or with SEARCH_STRONG before anything that is farther away.
 */
enum search {
	/* Only the primary domain, if there is one. */
	SEARCH_DOMAIN = 1,
	SEARCH_CLOSE = 2,
	SEARCH_STRONG = 4,
	/* Whole cores only. */
	SEARCH_CORES = 8,
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
VERIFIED_ONCE bool claim_idle(s32 cpu)
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
	       nr_queued(node_queue(cpu, QUEUE_BATCH)) || nr_queued(cpu_queue(cpu, QUEUE_BATCH));
}

/*
 * The kernel waits for all that is on a CPU going offline to leave it, also for what waits in a shared queue and was there
 * last. But only that CPU can notice, when it chooses what to run next, and an idle one does not when another CPU takes a
 * task from such a queue: so whoever has taken one asks it to.
 */
VERIFIED_ONCE int wake_leaving_cpu(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	u32 leaving = leaving_cpu;
	u32 cpu = leaving - 1;

	/* Meanwhile the next one may be on its way. */
	if (!bpf_cpumask_test_cpu(cpu, online))
		__sync_val_compare_and_swap(&leaving_cpu, leaving, 0);
	else if (bpf_ksym_exists(scx_bpf_kick_cpu___optional))
		scx_bpf_kick_cpu___optional(cpu, SCX_KICK_IDLE);
	scx_bpf_put_cpumask(online);
	return 0;
}

/*
 * A waker counts its task as queued before it looks for an idle CPU a last time; so either it sees the
 * bit, or this sees the task. Where the kernel cannot be asked to look again, the task waits for
 * another CPU. One that goes offline idles a last time when it takes no interrupts any more, and is not asked.
 */
static __always_inline void note_idle(s32 cpu, bool idle)
{
	if (!idle) {
		claim_idle(cpu);
		return;
	}
	mark_idle(cpu);
	if (!cpu_ctx_of(cpu)->online)
		return;
	if (leaving_cpu)
		wake_leaving_cpu();
	if (has_waiters(cpu) && bpf_ksym_exists(scx_bpf_kick_cpu___optional))
		scx_bpf_kick_cpu___optional(cpu, SCX_KICK_IDLE);
}

static __always_inline u64 reach_word(u32 llc, u32 word, u32 how)
{
	if (!(how & SEARCH_DOMAIN) || !settings.has_domain)
		return ~0ULL;
	return settings.domain[llc & (MAX_LLCS - 1)][word & (LLC_WORDS - 1)];
}

VERIFIED_ONCE bool is_chosen(s32 cpu)
{
	const volatile struct idle_cpu *place = idle_cpu_of(cpu);

	return !has_idle_bit(cpu) ||
	       (reach_word(place->llc, place->bit >> 6, SEARCH_DOMAIN) & idle_bit_of(cpu));
}

static __always_inline bool is_in_domain(s32 cpu)
{
	return !settings.has_domain || is_chosen(cpu);
}

/*
 * The best of the @idle CPUs of a word: the task's own if the whole core is idle, cores near it, any cores, its own CPU,
 * those near it, any. @cores are whole cores by their first bit.
 */
static __always_inline u64 best_idle(u64 idle, u64 cores, u64 own, u64 own_core, u64 near, u32 how)
{
	u64 best;

	own &= idle;
	if (own && (cores & own_core))
		return own;
	cores &= idle;
	best = cores & near;
	if (!best && how & SEARCH_STRONG)
		best = own ?: idle & near;
	if (!best)
		best = cores;
	if (!best && !(how & SEARCH_CORES))
		best = own ?: idle & near;
	if (!best && !(how & SEARCH_CORES))
		best = idle;
	return best;
}

/* One word of a cache, the two of a cache having neighbouring numbers. @own is 0 if the task ran elsewhere. */
VERIFIED_ONCE s32 claim_in_word(u32 number, u64 own, u64 near, u32 how)
{
	u32 llc = number / LLC_WORDS & (MAX_LLCS - 1);
	u32 w = number & (LLC_WORDS - 1);
	const volatile struct idle_llc *l = &idle_llcs[llc];
	u64 *word = &idle_mask_of(llc)->words[w];
	u64 own_core = core_bit(own, l->pair[w]);

	/* A claim may lose against another waker's; then the next best is tried. */
	while (can_loop) {
		u64 all = *word;
		u64 bit = best_idle(all & reach_word(llc, w, how),
				    idle_cores(all, l->single[w], l->pair[w]), own, own_core, near,
				    how);

		/* Of equal ones the next from its own on: tasks that wake at once want different CPUs. */
		bit = (bit & -own) ?: bit;
		bit &= -bit;
		if (!bit)
			break;
		if (!(__sync_fetch_and_and(word, ~bit) & bit))
			continue;
		if (bit & near)
			count(CNT_L2_PLACEMENTS);
		return l->cpus[w * 64 + bit_position(bit)];
	}
	return -1;
}

/* Caches of the same node first. */
VERIFIED_ONCE s32 claim_elsewhere(u32 home, u32 how)
{
	u32 node = idle_llcs[home & (MAX_LLCS - 1)].node;
	u32 nr_words = LLC_WORDS * topology.nr_llcs;
	u32 i;

	/* Asked here, so that most machines' verifiers need not look at the rest. */
	if (topology.nr_llcs <= 1)
		return -1;
	bpf_for(i, 0, topology.nr_nodes > 1 ? 2 * nr_words : nr_words) {
		bool is_far = i >= nr_words;
		u32 number = is_far ? i - nr_words : i;
		u32 llc = number / LLC_WORDS & (MAX_LLCS - 1);
		s32 cpu;

		if (llc == home || (idle_llcs[llc].node != node) != is_far)
			continue;
		cpu = claim_in_word(number, 0, 0, how);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

/*
 * The cache that the task ran in last, then the others. Whole cores come before single siblings, also where a cache has
 * so many CPUs that they fill two words.
 */
VERIFIED_ONCE s32 claim_within(s32 prev, u32 how)
{
	const volatile struct idle_cpu *place = idle_cpu_of(prev);
	u32 llc = place->llc & (MAX_LLCS - 1);
	u32 number = LLC_WORDS * llc + (place->bit >> 6 & (LLC_WORDS - 1));
	u64 own = idle_bit_of(prev);
	u64 near = how & SEARCH_CLOSE ? place->l2_mask & ~own : 0;
	bool has_other = idle_mask_of(llc)->words[~number & (LLC_WORDS - 1)];
	/* Cores of either word, then what else there is in either. */
	u32 turn = has_other && !(how & SEARCH_STRONG) ? 0 : 2;
	u32 end = has_other ? 4 : 3;
	s32 cpu = -1;

	for (; turn < end && cpu < 0 && can_loop; turn++)
		cpu = claim_in_word(number ^ (turn & 1), turn & 1 ? 0 : own, turn & 1 ? 0 : near,
				    turn < 2 ? how | SEARCH_CORES : how);
	if (cpu < 0 && !(how & SEARCH_CORES))
		cpu = claim_elsewhere(llc, how);
	return cpu;
}

/* Whether the second-level cache around @cpu has an idle CPU, itself included. */
static __always_inline bool has_idle_near(s32 cpu)
{
	return has_idle_bit(cpu) && (*idle_word_of(cpu) & idle_cpu_of(cpu)->l2_mask);
}

/* The values of knobs.affinity_mode beyond 0. */
#define AFFINITY_STRONG 2

/* Latency-critical work and the kernel's threads take whatever is fastest. */
static __always_inline u32 closeness_of(const struct task_struct *p, const struct task_ctx *t)
{
	u32 mode = knobs.affinity_mode;

	if (!mode || t->tier == TIER_LAT_CRITICAL || p->flags & PF_KTHREAD)
		return 0;
	return mode >= AFFINITY_STRONG ? SEARCH_CLOSE | SEARCH_STRONG : SEARCH_CLOSE;
}

/* Whether nothing is idle in the only cache there is. */
static __always_inline bool is_saturated(s32 cpu)
{
	const struct idle_mask *mask = idle_mask_of(idle_cpu_of(cpu)->llc);

	return topology.nr_llcs <= 1 && !(mask->words[0] | mask->words[1]);
}

/* For a task that may run anywhere: the primary domain until it is saturated, then the rest. */
static __always_inline s32 claim_for(const struct task_struct *p, const struct task_ctx *t,
				     s32 prev)
{
	u32 how = closeness_of(p, t);
	s32 cpu;

	if (is_saturated(prev))
		return -1;
	cpu = claim_within(prev, how | SEARCH_DOMAIN);
	if (cpu >= 0 || !settings.has_domain)
		return cpu;
	cpu = claim_within(prev, how);
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
	u32 how = SEARCH_DOMAIN;

	if (is_in_domain(cpu)) {
		if (!is_selector_on() || !shares_core(cpu))
			return -1;
		how |= SEARCH_CORES;
	}
	return claim_within(cpu, how);
}

#endif /* __PANDEMONIUM_IDLE_BPF_H */
