//! The formulas of `bpf/formulas.h`, called as they are: the very text the scheduler is built from.
//!
//! Only tests use this crate. Times are nanoseconds; tiers are the numbers of `enum tier`.

// SAFETY: `wrapper.c` defines each of these with the same types, and none touches memory.
unsafe extern "C" {
    /// Moving average: halves while young, eighths from age 8 on.
    #[link_name = "host_ewma"]
    pub safe fn ewma(old: u64, sample: u64, age: u32) -> u64;

    /// Distance of two numbers.
    #[link_name = "host_abs_diff"]
    pub safe fn abs_diff(a: u64, b: u64) -> u64;

    /// Events per 100 ms, at most `cap`.
    #[link_name = "host_rate_per_window"]
    pub safe fn rate_per_window(events: u64, interval_ns: u64, cap: u32) -> u32;

    /// Latency criticality, 0..=255.
    #[link_name = "host_lat_cri_score"]
    pub safe fn lat_cri_score(freq: u32, csw: u32, avg_ns: u64, dev_ns: u64) -> u32;

    /// Tier of a score.
    #[link_name = "host_tier_of_score"]
    pub safe fn tier_of_score(score: u32, thresh_high: u64, thresh_low: u64) -> u32;

    /// Weight of a task in its tier, at least 1.
    #[link_name = "host_tier_weight"]
    pub safe fn tier_weight(weight: u32, tier: u32) -> u32;

    /// Virtual time that a run costs.
    #[link_name = "host_vtime_delta"]
    pub safe fn vtime_delta(run_ns: u64, weight: u32) -> u64;

    /// Signed distance of two wrapping virtual times.
    #[link_name = "host_vtime_diff"]
    pub safe fn vtime_diff(a: u64, b: u64) -> i64;

    /// The later of two wrapping virtual times.
    #[link_name = "host_vtime_later"]
    pub safe fn vtime_later(a: u64, b: u64) -> u64;

    /// A virtual time brought to at most `credit` behind and `ceiling` ahead of the clock.
    #[link_name = "host_vtime_clamp"]
    pub safe fn vtime_clamp(vtime: u64, clock: u64, credit: u64, ceiling: u64) -> u64;

    /// How far behind the clock a waking task may be.
    #[link_name = "host_wake_credit_ns"]
    pub safe fn wake_credit_ns(freq: u32, lag_scale: u64, queued_per_cpu: u64) -> u64;

    /// What a task pays for having been awake.
    #[link_name = "host_awake_penalty_ns"]
    pub safe fn awake_penalty_ns(awake_run_ns: u64, tier: u32) -> u64;

    /// Slice of an interactive or latency-critical task.
    #[link_name = "host_slice_of_sleeper"]
    pub safe fn slice_of_sleeper(tier: u32, avg_ns: u64, slice_ns: u64) -> u64;

    /// Slice of a batch task.
    #[link_name = "host_slice_of_batch"]
    pub safe fn slice_of_batch(slice_ns: u64, weight: u32, queued: u64, cpus: u32) -> u64;

    /// Position of the highest set bit of a number that is not 0.
    #[link_name = "host_top_bit"]
    pub safe fn top_bit(v: u64) -> u32;

    /// Bucket of a latency.
    #[link_name = "host_hist_bucket"]
    pub safe fn hist_bucket(ns: u64) -> u32;

    /// Class of a sleep, 0..=3.
    #[link_name = "host_sleep_bucket"]
    pub safe fn sleep_bucket(ns: u64) -> u32;
}
