/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-task integer formulas. No maps, no kernel types and no helpers: the same text is compiled
 * into the scheduler and into the host's tests. Time is in nanoseconds unless a name says otherwise.
 */
#ifndef __PANDEMONIUM_FORMULAS_H
#define __PANDEMONIUM_FORMULAS_H

#define FORMULA static inline __attribute__((always_inline))

#define NSEC_PER_USEC_ 1000ULL
#define NSEC_PER_MSEC_ 1000000ULL

/* Rates are counted per this window; the caps keep one wild interval from owning the average. */
#define RATE_WINDOW_NS	(100 * NSEC_PER_MSEC_)
#define WAKEUP_FREQ_MAX 64U
#define CSW_RATE_MAX	512U
#define LAT_CRI_MAX	255U

/* A task is classified from its second wake-up on; its averages settle after eight. */
#define AGE_CLASSIFIED 2U
#define AGE_SETTLED    8U
#define AGE_MAX	       16U

/* Slices below this cost more in switches than they give in latency. */
#define SLICE_MIN_NS	   (100 * NSEC_PER_USEC_)
#define BATCH_SLICE_MIN_NS (1 * NSEC_PER_MSEC_)
/* A task that usually sleeps again within this is not taken for CPU-bound before it had as much. */
#define USUAL_RUN_MAX_NS (8 * NSEC_PER_MSEC_)
/* Batch work that waits should have its turn within about this time: two ticks at 250 Hz, where slices end. */
#define BATCH_ROUND_NS (8 * NSEC_PER_MSEC_)
/* And a slice is no longer than that while some waits. It begins shortly after a tick: of just two it would take three. */
#define BATCH_SHARED_MAX_NS (7500 * NSEC_PER_USEC_)

/*
 * How far a queued task's virtual time may lie behind or ahead of its queue's clock. Interactive work passes others by its
 * credit each time it wakes, so whoever has none waits until the others have used theirs up.
 */
#define CREDIT_UNIT_NS	 (50 * NSEC_PER_USEC_)
#define CREDIT_UNITS_MAX 64ULL
#define CREDIT_RUNS_MAX	 4
#define BATCH_CREDIT_NS	 (10 * NSEC_PER_MSEC_)
/*
 * Work that becomes batch begins within this of the others, ahead or behind: it has just run for long, and many that did
 * so at once would hold up the rest.
 */
#define BECOMING_LAG_NS	 (4 * NSEC_PER_MSEC_)
#define LAUNCH_CREDIT_NS (40 * NSEC_PER_MSEC_)
#define VTIME_SPAN_NS	 (2500 * NSEC_PER_MSEC_)

/* One of a crowd may have had so many of the runs that it usually needs more than the others, or less. */
#define CROWD_DEBT_RUNS	  2
#define CROWD_CREDIT_RUNS 1

#define WEIGHT_DEFAULT 100U

/* So much of batch work counts as its turn. */
#define BATCH_TURN_NS (500 * NSEC_PER_USEC_)
/* A task that ran longer than this had nobody to share with, and owes nobody for it. */
#define CHARGE_MAX_NS (100 * NSEC_PER_MSEC_)

/* Shares of control groups are fractions of this. */
#define SHARE_ONE   (1ULL << 20)
#define SHARE_MAX   (SHARE_ONE << 10)
#define NICE_0_LOAD 1024ULL

/* A boosted task may use half of a CPU, and this much of it at once. */
#define BOOST_CREDIT_MAX_NS (25 * NSEC_PER_MSEC_)

FORMULA u64 clamp_u64(u64 v, u64 lo, u64 hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* Moving average: halves while the task is young, eighths once it has settled. */
FORMULA u64 ewma(u64 old, u64 sample, u32 age)
{
	/* 1, or 3 from AGE_SETTLED to AGE_MAX, without a branch for the verifier to follow. */
	u32 shift = 1 + ((age | age >> 1) >> 2 & 2);

	return old - (old >> shift) + (sample >> shift);
}

FORMULA u64 abs_diff(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* Events per 100 ms when @events happened in @interval_ns. */
FORMULA u32 rate_per_window(u64 events, u64 interval_ns, u32 cap)
{
	u64 rate;

	if (!interval_ns || events > cap)
		return cap;
	rate = events * RATE_WINDOW_NS / interval_ns;
	return rate > cap ? cap : rate;
}

/*
 * How badly a task's latency matters: often woken, often switching, shortly running. The shift
 * turns nanoseconds into about milliseconds, so anything below one counts as one.
 */
FORMULA u32 lat_cri_score(u32 wakeup_freq, u32 csw_rate, u64 avg_runtime_ns, u64 runtime_dev_ns)
{
	u64 effective = (avg_runtime_ns + (runtime_dev_ns >> 1)) >> 20;
	u64 score = (u64)wakeup_freq * csw_rate;

	if (effective)
		score /= effective;
	return score > LAT_CRI_MAX ? LAT_CRI_MAX : score;
}

FORMULA u32 tier_of_score(u32 score, u64 thresh_high, u64 thresh_low)
{
	if (score >= thresh_high)
		return 2;
	return score >= thresh_low ? 1 : 0;
}

/* @weight is the kernel's 1..10000 with 100 as nice 0; tiers count 1, 1.5 and 2 times. */
FORMULA u32 tier_weight(u32 weight, u32 tier)
{
	u32 factor = tier == 2 ? 256 : tier == 1 ? 192 : 128;
	u32 w = (weight * factor) >> 7;

	return w ? w : 1;
}

/* What cost @delta_ns of virtual time by tier_weight() costs if tiers count the same. */
FORMULA u64 untiered_vtime(u64 delta_ns, u32 tier)
{
	return delta_ns * (2 + tier) / 2;
}

/* @share is the part of a nice 0 task that the control groups leave, SHARE_ONE for all of it. */
FORMULA u64 shared_weight(u32 weight, u64 share)
{
	u64 w = weight * share / SHARE_ONE;

	return w ? w : 1;
}

/* Virtual time that @run_ns of service costs a task of this weight and share. */
FORMULA u64 vtime_delta(u64 run_ns, u32 weight, u64 share)
{
	u64 run = run_ns < CHARGE_MAX_NS ? run_ns : CHARGE_MAX_NS;
	/* 1024ths, so that a small share does not round to nothing. */
	u64 fine = weight * share / (SHARE_ONE / 1024);

	return run * (WEIGHT_DEFAULT * 1024ULL) / (fine ? fine : 1);
}

/*
 * What is left of @share one control group further up: the group's load against the sum of what runs
 * in it. As task_h_load() in kernel/sched/fair.c.
 */
FORMULA u64 share_in_group(u64 share, u64 group_load, s64 load_inside)
{
	u64 inside = load_inside > 0 ? (u64)load_inside : NICE_0_LOAD;
	u64 left = share * group_load / inside;

	/* No lower bound: with a comparison for one, the verifier would follow every turn of the caller's loop. */
	return left < SHARE_MAX ? left : SHARE_MAX;
}

/* Virtual times wrap; only their differences mean anything. */
FORMULA s64 vtime_diff(u64 a, u64 b)
{
	return (s64)(a - b);
}

FORMULA u64 vtime_later(u64 a, u64 b)
{
	return vtime_diff(a, b) > 0 ? a : b;
}

FORMULA u64 vtime_earlier(u64 a, u64 b)
{
	return vtime_diff(a, b) < 0 ? a : b;
}

FORMULA u64 vtime_clamp(u64 vtime, u64 clock, u64 credit_ns, u64 ceiling_ns)
{
	if (vtime_diff(vtime, clock - credit_ns) < 0)
		return clock - credit_ns;
	if (vtime_diff(vtime, clock + ceiling_ns) > 0)
		return clock + ceiling_ns;
	return vtime;
}

/*
 * How far behind its queue's clock a waking task may be: more for one that wakes often, less when
 * many wait, so that sleeping never buys a long monopoly. Where some wait for every CPU it is no more than a
 * few of its usual runs: it would pass those that wait again and again until it has used up the rest.
 */
FORMULA u64 wake_credit_ns(u32 wakeup_freq, u64 lag_scale, u64 queued_per_cpu, u64 avg_runtime_ns)
{
	u64 units = clamp_u64((u64)wakeup_freq * lag_scale / 4, 1, CREDIT_UNITS_MAX);
	u64 credit = CREDIT_UNIT_NS * units;
	u64 most = CREDIT_RUNS_MAX * avg_runtime_ns;

	if (!queued_per_cpu)
		return credit;
	credit /= queued_per_cpu < 64 ? queued_per_cpu + 1 : 64;
	return most < credit ? most : credit;
}

/* Queue position counts time already awake, so a task that runs on sinks, though not far behind the front. */
FORMULA u64 awake_penalty_ns(u64 awake_run_ns, u32 tier)
{
	u64 cap = tier == 2 ? 20 : tier == 1 ? 30 : 40;

	return awake_run_ns < cap * NSEC_PER_MSEC_ ? awake_run_ns : cap * NSEC_PER_MSEC_;
}

/* Half of all time is earned, up to the most that may be used at once. */
FORMULA s64 boost_refill(s64 credit_ns, u64 elapsed_ns)
{
	u64 earned = elapsed_ns / 2 < BOOST_CREDIT_MAX_NS ? elapsed_ns / 2 : BOOST_CREDIT_MAX_NS;
	s64 sum = credit_ns + (s64)earned;

	return sum < (s64)BOOST_CREDIT_MAX_NS ? sum : (s64)BOOST_CREDIT_MAX_NS;
}

FORMULA s64 boost_spend(s64 credit_ns, u64 ran_ns)
{
	u64 ran = ran_ns < 2 * BOOST_CREDIT_MAX_NS ? ran_ns : 2 * BOOST_CREDIT_MAX_NS;
	s64 left = credit_ns - (s64)ran;

	return left > -(s64)BOOST_CREDIT_MAX_NS ? left : -(s64)BOOST_CREDIT_MAX_NS;
}

/*
 * Change-point detection (Page 1954) on the time between two samples of the enqueue rate: how much
 * shorter than usual, less a quarter of slack, summed up. Trips above twice the usual interval.
 */
struct cusum {
	u64 usual_ns;
	u64 sum_ns;
};

FORMULA bool cusum_step(struct cusum *c, u64 interval_ns)
{
	u64 usual = c->usual_ns;
	u64 expected = usual - (usual >> 2);
	bool tripped;

	if (!usual) {
		c->usual_ns = interval_ns;
		return false;
	}
	if (interval_ns < expected)
		c->sum_ns += expected - interval_ns;
	else
		c->sum_ns -=
			interval_ns - expected < c->sum_ns ? interval_ns - expected : c->sum_ns;
	tripped = c->sum_ns > 2 * usual;
	/* A long storm must not take as long to forget. */
	c->sum_ns = c->sum_ns < 4 * usual ? c->sum_ns : 4 * usual;
	/* One long pause is no new normal. */
	if (interval_ns > 8 * usual)
		interval_ns = 8 * usual;
	c->usual_ns = usual - (usual >> 3) + (interval_ns >> 3);
	return tripped;
}

/*
 * The score from which a task counts as interactive rises when everybody's is high, at most halfway
 * to latency-critical. @average is a moving average of the scores seen.
 */
FORMULA u64 moving_threshold(u64 average, u64 thresh_low, u64 thresh_high)
{
	u64 most = thresh_low < thresh_high ? (thresh_low + thresh_high) / 2 : thresh_low;

	return clamp_u64(average / 2, thresh_low, most);
}

/* 3/4 old, 1/4 new. */
FORMULA u64 moving_average(u64 old, u64 sample)
{
	return old - (old >> 2) + (sample >> 2);
}

/* Whole cores among @idle: alone on their core, or the first of two siblings that are both idle. */
FORMULA u64 idle_cores(u64 idle, u64 single, u64 pair)
{
	return (idle & single) | (idle & (idle >> 1) & pair);
}

/* The first of two siblings, or the CPU itself, as idle_cores() names a core. */
FORMULA u64 core_bit(u64 bit, u64 pair)
{
	return (bit >> 1) & pair ? bit >> 1 : bit;
}

/* What a task that has run for @awake_run_ns should still need until it sleeps. */
FORMULA u64 usual_rest_ns(u64 avg_runtime_ns, u64 awake_run_ns)
{
	return avg_runtime_ns > awake_run_ns ? avg_runtime_ns - awake_run_ns : 0;
}

/*
 * How long a task may run without sleeping before it counts as CPU-bound: beyond the threshold and beyond
 * twice what it usually needs. A frame is no batch work because it takes longer than most runs do.
 */
FORMULA u64 cpu_bound_after_ns(u64 avg_runtime_ns, u64 thresh_ns)
{
	u64 usual = avg_runtime_ns < USUAL_RUN_MAX_NS / 2 ? 2 * avg_runtime_ns : USUAL_RUN_MAX_NS;

	return usual > thresh_ns ? usual : thresh_ns;
}

/*
 * Whether batch work, of which @batch tasks wait and @running run, may have one more CPU without having more of them
 * than its share, to the nearest whole CPU, if everybody who waits or runs counted the same.
 */
FORMULA bool has_room_in_fair_share(u64 batch, u64 interactive, u64 running, u64 nr_cpus)
{
	u64 all = batch + interactive + nr_cpus;

	return (2 * running + 1) * all <= 2 * (batch + running) * nr_cpus;
}

/* One and a half (latency-critical) or two (interactive) times what the task usually needs. */
FORMULA u64 slice_of_sleeper(u32 tier, u64 avg_runtime_ns, u64 slice_ns)
{
	u64 usual = avg_runtime_ns < slice_ns ? avg_runtime_ns : slice_ns;
	u64 want = tier == 2 ? usual + (usual >> 1) : usual * 2;

	return clamp_u64(want, SLICE_MIN_NS, slice_ns < SLICE_MIN_NS ? SLICE_MIN_NS : slice_ns);
}

/*
 * A batch slice is proportional to weight, so each one costs every task the same virtual time, and
 * shrinks with the number of waiters, so that a round over all of them stays bounded. Where fewer wait than there are CPUs
 * the slices of all may have begun together, so none of them is longer than a round either.
 */
FORMULA u64 slice_of_batch(u64 batch_slice_ns, u32 weight, u64 queued, u32 nr_cpus)
{
	u64 sharers = queued + 1 ? queued + 1 : queued;
	u64 shared = BATCH_ROUND_NS * nr_cpus / sharers;
	u64 turn = shared < BATCH_SHARED_MAX_NS ? shared : BATCH_SHARED_MAX_NS;
	u64 slice =
		(queued && turn < batch_slice_ns ? turn : batch_slice_ns) * weight / WEIGHT_DEFAULT;

	return clamp_u64(slice, BATCH_SLICE_MIN_NS,
			 batch_slice_ns < BATCH_SLICE_MIN_NS ? BATCH_SLICE_MIN_NS : batch_slice_ns);
}

/*
 * The position of a single bit, without a branch for the verifier to follow: every six bits of a de Bruijn sequence are
 * different ones (Leiserson, Prokop and Randall 1998).
 */
static const u8 bit_positions[64] = {
	0,  1,	48, 2,	57, 49, 28, 3,	61, 58, 50, 42, 38, 29, 17, 4,	62, 55, 59, 36, 53, 51,
	43, 22, 45, 39, 33, 30, 24, 18, 12, 5,	63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21,
	44, 32, 23, 11, 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,	13, 8,	7,  6,
};

FORMULA u32 bit_position(u64 bit)
{
	return bit_positions[bit * 0x03f79d71b4cb0a89ULL >> 58];
}

/* Position of the highest set bit; @v must not be zero. */
FORMULA u32 top_bit(u64 v)
{
	v |= v >> 1;
	v |= v >> 2;
	v |= v >> 4;
	v |= v >> 8;
	v |= v >> 16;
	v |= v >> 32;
	return bit_position(v - (v >> 1));
}

FORMULA u32 hist_bucket(u64 ns)
{
	u64 v = ns >> HIST_UNIT_SHIFT;
	u32 octave, bucket;

	if (v < (1U << HIST_SUB_BITS))
		return v;
	octave = top_bit(v);
	bucket = ((octave - HIST_SUB_BITS + 1) << HIST_SUB_BITS) +
		 ((v >> (octave - HIST_SUB_BITS)) & ((1U << HIST_SUB_BITS) - 1));
	return bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1;
}

/* Up to 1, 10, 100 ms and beyond: waiting for I/O, short I/O, moderate, idle. */
FORMULA u32 sleep_bucket(u64 ns)
{
	if (ns <= NSEC_PER_MSEC_)
		return 0;
	if (ns <= 10 * NSEC_PER_MSEC_)
		return 1;
	return ns <= 100 * NSEC_PER_MSEC_ ? 2 : 3;
}

#endif /* __PANDEMONIUM_FORMULAS_H */
