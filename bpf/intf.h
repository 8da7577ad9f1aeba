/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that crosses the kernel boundary, declared once: the knobs the daemon writes, the
 * statistics and observations it reads. Rust sees these through the generated skeleton types.
 */
#ifndef __PANDEMONIUM_INTF_H
#define __PANDEMONIUM_INTF_H

/* Array bounds must be powers of two: indices are masked for the verifier. */
#define MAX_CPUS     1024
#define MAX_NODES    64
#define MAX_PATTERNS 64
#define MAX_PROFILES 512

/* Idle masks: one per last-level cache of up to 128 CPUs, in two words. */
#define MAX_LLCS  64
#define LLC_WORDS 2
#define LLC_CPUS  128
#define NO_LLC	  0xffff

#define CACHE_LINE 64

/* Log-linear histogram: eight buckets an octave, counted in units of 256 ns. */
#define HIST_UNIT_SHIFT 8
#define HIST_SUB_BITS	3
#define HIST_BUCKETS	160
#define SLEEP_BUCKETS	4

#define COMM_LEN	16
#define EXIT_REASON_LEN 128
#define EXIT_MSG_LEN	1024

enum tier {
	TIER_BATCH,
	TIER_INTERACTIVE,
	TIER_LAT_CRITICAL,
	NR_TIERS,
};

/* Written by the daemon while the scheduler runs; policy::Knobs says what each means. */
struct knobs {
	u64 slice_ns;
	u64 preempt_thresh_ns;
	u64 lag_scale;
	u64 batch_slice_ns;
	u64 burst_slice_ns;
	u64 cpu_bound_thresh_ns;
	u64 lat_cri_thresh_high;
	u64 lat_cri_thresh_low;
	u64 affinity_mode;
	u64 sojourn_thresh_ns;
};

/* A task name: every set bit of @mask has to agree with @text. */
struct pattern {
	u64 text[COMM_LEN / 8];
	u64 mask[COMM_LEN / 8];
};

/* Written by the daemon while the scheduler runs, when somebody changed something. */
struct settings {
	/* Changes with every write of @patterns. */
	u64 generation;
	u64 idle_selector;
	u64 local_kthreads;
	s64 slice_lag_ns;
	u64 has_domain;
	u64 nr_patterns;
	u64 domain[MAX_LLCS][LLC_WORDS];
	struct pattern patterns[MAX_PATTERNS];
};

/* Where a CPU is found in the idle masks. */
struct idle_cpu {
	/* CPUs that share its second-level cache, among those of its own word. */
	u64 l2_mask;
	u16 llc;
	u16 bit;
};

struct idle_llc {
	/* CPUs that are alone on their core, and the first of each pair of siblings. */
	u64 single[LLC_WORDS];
	u64 pair[LLC_WORDS];
	u32 node;
	u16 cpus[LLC_CPUS];
};

/* What a task of this name is expected to be; the daemon writes it, a new task starts from it. */
struct prediction {
	u64 avg_runtime_ns;
	u64 runtime_dev_ns;
	u32 wakeup_freq;
	u32 csw_rate;
	u32 tier;
	/* Somebody decided on the tier: it stays, whatever the task does. */
	u32 pinned;
};

/* Core-count formulas, written again when CPUs come or go; policy::Limits says what each means. */
struct limits {
	u64 overflow_rescue_ns;
	u64 starvation_rescue_ns;
	u64 vtime_ceiling_ns;
	u64 longrun_ns;
	u64 burst_window_ns;
	u32 burst_wakeups;
	u32 deficit_budget;
	u32 longrun_budget;
	u32 interactive_max;
	u32 placement_depth;
};

/* Fixed at load: how far the numbers of CPUs, nodes and last-level caches go. */
struct topology {
	u32 nr_cpu_ids;
	u32 nr_nodes;
	u32 nr_llcs;
};

enum counter {
	CNT_DISPATCHES,
	CNT_IDLE_PLACEMENTS,
	CNT_SHARED,
	CNT_TICK_PREEMPTS,
	CNT_KEEPS,
	CNT_KICKS_HARD,
	CNT_KICKS_SOFT,
	CNT_WAKEUPS,
	CNT_REQUEUES,
	CNT_OVERFLOW_RESCUES,
	CNT_STARVATION_RESCUES,
	CNT_SOJOURN_RESCUES,
	CNT_DEFICIT_FORCED,
	CNT_STEALS,
	CNT_DRAINED,
	CNT_OBSERVATIONS_LOST,
	CNT_WARM_STARTS,
	CNT_BOOSTS,
	CNT_BOOSTS_SPENT,
	CNT_BURSTS_CUSUM,
	CNT_BURSTS_WAKEUPS,
	CNT_GUARDED,
	CNT_DOMAIN_SPILLS,
	CNT_LOCAL_KTHREADS,
	CNT_L2_PLACEMENTS,
	CNT_STRONG_WAITS,
	NR_COUNTERS,
};

/* One per CPU, only ever incremented by that CPU; the daemon takes differences. */
struct cpu_stats {
	u64 counters[NR_COUNTERS];
	u64 l2_hits[NR_TIERS];
	u64 l2_misses[NR_TIERS];
	u64 wake_sum_ns;
	u64 wake[NR_TIERS * HIST_BUCKETS];
	u64 sleep[SLEEP_BUCKETS];
	u64 slice_sum_ns;
} __attribute__((aligned(CACHE_LINE)));

enum record_kind {
	RECORD_OBSERVATION,
	RECORD_EXIT,
};

/* What a task turned out to be; sent when it exits and now and then while it lives. */
struct observation {
	u32 kind;
	u32 tier;
	u64 avg_runtime_ns;
	u64 runtime_dev_ns;
	u32 wakeup_freq;
	u32 csw_rate;
	u32 lat_cri;
	u32 exited;
	u8 comm[COMM_LEN];
};

/* The kernel's own words on why it ended the scheduler. */
struct exit_info {
	u64 kind;
	s64 code;
	u8 reason[EXIT_REASON_LEN];
	u8 msg[EXIT_MSG_LEN];
};

#endif /* __PANDEMONIUM_INTF_H */
