//! What the scheduler's per-task formulas promise, for every input.
// Foreign functions are no closures, whatever the lint believes.
#![allow(clippy::redundant_closure, clippy::unwrap_used, missing_docs)]

use pandemonium_formulas as f;
use pandemonium_policy::{Histogram, Knobs};
use proptest::prelude::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// No run, sleep or slice lasts a day; beyond, products may wrap.
const DAY: u64 = 86_400_000 * MS;

fn knob(name: &str) -> std::ops::RangeInclusive<u64> {
    let spec = Knobs::SPECS.iter().find(|spec| spec.name == name).unwrap();
    spec.min..=spec.max
}

/// Small numbers, powers of two and their neighbours, and everything else.
fn number() -> impl Strategy<Value = u64> {
    let near_power =
        (0u32..64, -1i64..=1).prop_map(|(bit, off)| (1u64 << bit).wrapping_add_signed(off));
    prop_oneof![0u64..100, near_power, any::<u64>(), Just(u64::MAX)]
}

#[test]
fn histogram_buckets_agree_with_policy_at_every_edge() {
    for bucket in 0..160 {
        let (lower, upper) = Histogram::bounds_ns(bucket);
        for ns in [lower, upper - 1, upper, lower.saturating_sub(1)] {
            assert_eq!(
                f::hist_bucket(ns) as usize,
                Histogram::bucket_of(ns),
                "{ns} ns"
            );
        }
    }
}

#[test]
fn sleep_classes_end_at_1_10_and_100_ms() {
    let edges = [
        0,
        MS,
        MS + 1,
        10 * MS,
        10 * MS + 1,
        100 * MS,
        100 * MS + 1,
        u64::MAX,
    ];
    assert_eq!(
        edges.map(|ns| f::sleep_bucket(ns)),
        [0, 0, 1, 1, 2, 2, 3, 3]
    );
}

#[test]
fn tiers_begin_at_their_thresholds() {
    let tier = |score| f::tier_of_score(score, 32, 8);
    assert_eq!([0, 7, 8, 31, 32, 255].map(tier), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn averages_halve_while_young_and_then_settle() {
    assert_eq!(f::ewma(1000, 2000, 0), 1500);
    assert_eq!(f::ewma(1000, 2000, 7), 1500);
    assert_eq!(f::ewma(1000, 1800, 8), 1100);
}

#[test]
fn a_weight_of_nice_0_costs_real_time_and_tiers_cost_less() {
    assert_eq!(f::vtime_delta(MS, f::tier_weight(100, 0)), MS);
    assert_eq!(f::vtime_delta(3 * MS, f::tier_weight(100, 1)), 2 * MS);
    assert_eq!(f::vtime_delta(2 * MS, f::tier_weight(100, 2)), MS);
}

#[test]
fn an_audio_thread_is_latency_critical_and_a_compiler_is_batch() {
    let audio = f::lat_cri_score(19, 38, 300 * US, 50 * US);
    assert_eq!(f::tier_of_score(audio, 32, 8), 2);
    let compiler = f::lat_cri_score(1, 5, 20 * MS, 10 * MS);
    assert_eq!(f::tier_of_score(compiler, 32, 8), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn histogram_buckets_agree_with_policy(ns in number()) {
        prop_assert_eq!(f::hist_bucket(ns) as usize, Histogram::bucket_of(ns));
    }

    #[test]
    fn the_top_bit_is_the_integer_logarithm(v in number()) {
        prop_assume!(v > 0);
        prop_assert_eq!(f::top_bit(v), v.ilog2());
    }

    #[test]
    fn averages_stay_between_what_they_average(old in number(), sample in number(), age: u32) {
        let average = f::ewma(old, sample, age);
        prop_assert!(average >= old.min(sample), "{} {} -> {}", old, sample, average);
        prop_assert!(average <= old.max(sample), "{} {} -> {}", old, sample, average);
    }

    #[test]
    fn distance_is_symmetric(a in number(), b in number()) {
        prop_assert_eq!(f::abs_diff(a, b), a.abs_diff(b));
    }

    #[test]
    fn rates_are_capped_and_grow_with_events_and_haste(
        events in 0u64..1000, more in 0u64..1000, interval in number(), longer in number(), cap in 1u32..=512
    ) {
        let rate = f::rate_per_window(events, interval, cap);
        prop_assert!(rate <= cap);
        prop_assert!(f::rate_per_window(events + more, interval, cap) >= rate);
        prop_assert!(f::rate_per_window(events, interval.saturating_add(longer), cap) <= rate);
    }

    #[test]
    fn any_rate_is_capped(events in number(), interval in number(), cap: u32) {
        prop_assert!(f::rate_per_window(events, interval, cap) <= cap);
    }

    #[test]
    fn criticality_grows_with_frequency_and_switches_and_falls_with_runtime(
        freq in 0u32..=64, csw in 0u32..=512, avg in 0..DAY, dev in 0..DAY,
        by in 0u32..100, longer in 0..DAY
    ) {
        let score = f::lat_cri_score(freq, csw, avg, dev);
        prop_assert!(score <= 255);
        prop_assert!(f::lat_cri_score(freq + by, csw, avg, dev) >= score);
        prop_assert!(f::lat_cri_score(freq, csw + by, avg, dev) >= score);
        prop_assert!(f::lat_cri_score(freq, csw, avg + longer, dev) <= score);
        prop_assert!(f::lat_cri_score(freq, csw, avg, dev + longer) <= score);
    }

    #[test]
    fn any_criticality_is_a_byte_and_its_tier_exists(
        freq: u32, csw: u32, avg in number(), dev in number(), high in number(), low in number()
    ) {
        let score = f::lat_cri_score(freq, csw, avg, dev);
        prop_assert!(score <= 255);
        prop_assert!(f::tier_of_score(score, high, low) <= 2);
    }

    #[test]
    fn tiers_grow_with_the_score(
        a in 0u32..=255, b in 0u32..=255, high in knob("lat_cri_thresh_high"), low in knob("lat_cri_thresh_low")
    ) {
        let low = low.min(high);
        let tier = |score| f::tier_of_score(score, high, low);
        prop_assert!(tier(a.min(b)) <= tier(a.max(b)));
    }

    #[test]
    fn weights_grow_with_nice_and_tier_and_are_never_0(a in 1u32..=10_000, b in 1u32..=10_000, tier in 0u32..2) {
        prop_assert!(f::tier_weight(a.min(b), tier) <= f::tier_weight(a.max(b), tier));
        prop_assert!(f::tier_weight(a, tier) <= f::tier_weight(a, tier + 1));
        prop_assert!(f::tier_weight(a, tier) >= 1);
    }

    #[test]
    fn heavier_tasks_pay_less_for_the_same_run(run in 0..DAY, a in 1u32..=20_000, b in 1u32..=20_000, more in 0..DAY) {
        prop_assert!(f::vtime_delta(run, a.max(b)) <= f::vtime_delta(run, a.min(b)));
        prop_assert!(f::vtime_delta(run + more, a) >= f::vtime_delta(run, a));
    }

    #[test]
    fn virtual_times_compare_across_the_wrap(a in number(), ahead in 1..DAY) {
        let b = a.wrapping_add(ahead);
        prop_assert_eq!(f::vtime_diff(b, a), ahead as i64);
        prop_assert_eq!(f::vtime_diff(a, b), -(ahead as i64));
        prop_assert_eq!(f::vtime_later(a, b), b);
        prop_assert_eq!(f::vtime_later(b, a), b);
    }

    #[test]
    fn clamped_virtual_times_are_near_the_clock_even_across_the_wrap(
        clock in number(), offset in -(DAY as i64)..DAY as i64, credit in 0..DAY, ceiling in 0..DAY
    ) {
        let vtime = clock.wrapping_add_signed(offset);
        let clamped = f::vtime_clamp(vtime, clock, credit, ceiling);
        let expected = offset.clamp(-(credit as i64), ceiling as i64);
        prop_assert_eq!(clamped.wrapping_sub(clock) as i64, expected);
        prop_assert_eq!(f::vtime_clamp(clamped, clock, credit, ceiling), clamped);
    }

    #[test]
    fn wake_credit_is_bounded_grows_with_frequency_and_shrinks_with_the_queue(
        freq in 0u32..=64, by in 0u32..=64, lag in knob("lag_scale"), queued in 0u64..10_000, more in 0u64..10_000
    ) {
        let credit = f::wake_credit_ns(freq, lag, queued);
        prop_assert!(credit > 0 && credit <= 64 * 40 * MS);
        prop_assert!(f::wake_credit_ns(freq + by, lag, queued) >= credit);
        prop_assert!(f::wake_credit_ns(freq, lag, queued + more) <= credit);
    }

    #[test]
    fn time_awake_costs_at_most_20_30_or_40_ms(run in number(), more in number(), tier in 0u32..=2) {
        let cap = [40, 30, 20][tier as usize] * MS;
        let penalty = f::awake_penalty_ns(run, tier);
        prop_assert_eq!(penalty, run.min(cap));
        prop_assert!(f::awake_penalty_ns(run.saturating_add(more), tier) >= penalty);
    }

    #[test]
    fn sleepers_get_slices_between_100_us_and_the_knob(
        tier in 1u32..=2, avg in number(), slice in knob("slice_ns"), more in 0..DAY
    ) {
        let got = f::slice_of_sleeper(tier, avg, slice);
        prop_assert!(got >= 100 * US && got <= slice, "{}", got);
        prop_assert!(f::slice_of_sleeper(tier, avg.saturating_add(more), slice) >= got);
    }

    #[test]
    fn batch_slices_stay_bounded_grow_with_weight_and_shrink_with_the_queue(
        slice in knob("batch_slice_ns"), weight in 1u32..=10_000, heavier in 0u32..=10_000,
        queued in 0u64..100_000, more in 0u64..100_000, cpus in 0u32..=1024
    ) {
        let got = f::slice_of_batch(slice, weight, queued, cpus);
        prop_assert!(got >= MS.min(slice) && got <= slice.max(MS), "{}", got);
        prop_assert!(f::slice_of_batch(slice, weight + heavier, queued, cpus) >= got);
        prop_assert!(f::slice_of_batch(slice, weight, queued + more, cpus) <= got);
    }

    #[test]
    fn no_input_traps(a in number(), b in number(), c in number(), x: u32, y: u32) {
        let _ = f::rate_per_window(a, b, x);
        let _ = f::lat_cri_score(x, y, a, b);
        let _ = f::tier_weight(x, y);
        prop_assert!(f::tier_weight(0, y) >= 1);
        let _ = f::vtime_delta(a, x);
        let _ = f::vtime_delta(a, 0);
        let _ = f::vtime_clamp(a, b, c, a);
        let _ = f::wake_credit_ns(x, a, b);
        let _ = f::awake_penalty_ns(a, x);
        prop_assert!(f::slice_of_sleeper(x, a, b) >= 100 * US);
        // The kernel counts queued tasks in 32 bits.
        let queued = b & u64::from(u32::MAX);
        prop_assert!(f::slice_of_batch(a, x, queued, y) >= MS);
        prop_assert!(f::slice_of_batch(a, x, queued, 0) >= MS);
        prop_assert!(f::hist_bucket(a) < 160);
    }
}
