//! The scheduler of `bpf/`, compiled for the host: the very text that the kernel gets, called by tests.
//!
//! Its formulas one by one here, its idle selection in [`idle`], all of it on a simulated machine in
//! [`machine`], where [`scenes`] are set. Times are nanoseconds; tiers are the numbers of `enum tier`.

pub mod idle;
pub mod machine;
pub mod scenes;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by whoever uses the scheduler's state, of which there is one.
fn lock() -> MutexGuard<'static, ()> {
    static STATE: Mutex<()> = Mutex::new(());
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

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

    /// Virtual time that a run costs a task of this weight and share.
    #[link_name = "host_vtime_delta"]
    pub safe fn vtime_delta(run_ns: u64, weight: u32, share: u64) -> u64;

    /// Weight that a share leaves, at least 1.
    #[link_name = "host_shared_weight"]
    pub safe fn shared_weight(weight: u32, share: u64) -> u64;

    /// What a control group leaves of a share.
    #[link_name = "host_share_in_group"]
    pub safe fn share_in_group(share: u64, group_load: u64, load_inside: i64) -> u64;

    /// A compositor's budget after a pause.
    #[link_name = "host_boost_refill"]
    pub safe fn boost_refill(credit_ns: i64, elapsed_ns: u64) -> i64;

    /// A compositor's budget after a run.
    #[link_name = "host_boost_spend"]
    pub safe fn boost_spend(credit_ns: i64, ran_ns: u64) -> i64;

    /// One interval into the change-point detection; whether it trips.
    #[link_name = "host_cusum_step"]
    safe fn host_cusum_step(cusum: &mut Cusum, interval_ns: u64) -> bool;

    /// Whether batch work may run on one more CPU.
    #[link_name = "host_has_room_in_fair_share"]
    pub safe fn has_room_in_fair_share(
        batch: u64,
        interactive: u64,
        running: u64,
        nr_cpus: u64,
    ) -> bool;
    /// Score from which a task is interactive, given the average score.
    #[link_name = "host_moving_threshold"]
    pub safe fn moving_threshold(average: u64, low: u64, high: u64) -> u64;

    /// 3/4 old, 1/4 new.
    #[link_name = "host_moving_average"]
    pub safe fn moving_average(old: u64, sample: u64) -> u64;

    /// One bit for each core whose CPUs are all idle.
    #[link_name = "host_idle_cores"]
    pub safe fn idle_cores(idle: u64, single: u64, pair: u64) -> u64;

    /// The bit that stands for a CPU's core.
    #[link_name = "host_core_bit"]
    pub safe fn core_bit(bit: u64, pair: u64) -> u64;

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
    pub safe fn wake_credit_ns(
        freq: u32,
        lag_scale: u64,
        queued_per_cpu: u64,
        avg_runtime_ns: u64,
    ) -> u64;

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

/// `struct cusum`: the usual interval, and how much too short the last ones were in sum, ns.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cusum {
    /// Moving average of the interval.
    pub usual_ns: u64,
    /// What trips above twice the usual interval.
    pub sum_ns: u64,
}

impl Cusum {
    /// Feeds one interval; whether it trips.
    pub fn step(&mut self, interval_ns: u64) -> bool {
        host_cusum_step(self, interval_ns)
    }
}
