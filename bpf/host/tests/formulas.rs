//! What the scheduler's per-task formulas promise, for every input.
// Foreign functions are no closures, whatever the lint believes.
#![allow(clippy::redundant_closure, clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host as f;
use pandemonium_policy::{Histogram, Knobs, Profile, Tier};
use proptest::prelude::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// No run, sleep or slice lasts a day; beyond, products may wrap.
const DAY: u64 = 86_400_000 * MS;
/// `SHARE_ONE`: a task that no control group limits.
const ALL: u64 = 1 << 20;

fn share() -> std::ops::RangeInclusive<u64> {
    1..=ALL << 10
}

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
fn batch_work_has_room_up_to_its_share_of_the_cpus() {
    let cpus_for = |batch: u64, interactive, nr_cpus| {
        (0..nr_cpus)
            .take_while(|running| {
                let waiting = batch.saturating_sub(*running);
                f::has_room_in_fair_share(waiting, interactive, *running, nr_cpus)
            })
            .count()
    };
    // One of 17 and another 8 that run has no right to half of a CPU of 8.
    assert_eq!(cpus_for(1, 16, 8), 0);
    assert_eq!(cpus_for(1, 8, 8), 0);
    assert_eq!(cpus_for(1, 7, 8), 1);
    assert_eq!(cpus_for(3, 16, 8), 1);
    assert_eq!(cpus_for(12, 12, 8), 3);
    assert_eq!(cpus_for(100, 0, 8), 8);
    assert_eq!(cpus_for(0, 0, 8), 0);
}

#[test]
fn averages_halve_while_young_and_then_settle() {
    assert_eq!(f::ewma(1000, 2000, 0), 1500);
    assert_eq!(f::ewma(1000, 2000, 7), 1500);
    assert_eq!(f::ewma(1000, 1800, 8), 1100);
}

#[test]
fn a_weight_of_nice_0_costs_real_time_and_tiers_cost_less() {
    assert_eq!(f::vtime_delta(MS, f::tier_weight(100, 0), ALL), MS);
    assert_eq!(f::vtime_delta(3 * MS, f::tier_weight(100, 1), ALL), 2 * MS);
    assert_eq!(f::vtime_delta(2 * MS, f::tier_weight(100, 2), ALL), MS);
}

#[test]
fn a_group_shares_its_weight_among_what_runs_in_it() {
    // Four nice 0 tasks in a group of weight 100, in a slice of weight 300 together with another group
    // of weight 100: each gets 1024/4096 of its group, and that 3072/2048 of its slice.
    let in_group = f::share_in_group(ALL, 1024, 4 * 1024);
    assert_eq!(in_group, ALL / 4);
    assert_eq!(f::share_in_group(in_group, 3072, 2 * 1024), ALL / 4 * 3 / 2);
    // Alone in its group, a nice 5 task has the whole weight of the group.
    let alone = f::share_in_group(ALL, 1024, 337);
    assert_eq!(f::shared_weight(33, alone), 100);
    // cpu.idle: three 1024ths.
    assert_eq!(f::shared_weight(100, f::share_in_group(ALL, 3, 1024)), 1);
    assert!(f::vtime_delta(MS, 100, f::share_in_group(ALL, 3, 1024)) > 300 * MS);
}

#[test]
fn a_compositor_may_use_half_a_cpu_and_a_hog_of_its_name_nothing_for_long() {
    let mut credit = 25 * MS as i64;
    for _ in 0..600 {
        credit = f::boost_spend(credit, 8 * MS);
        credit = f::boost_refill(credit, 16_666 * US);
        assert!(credit > 0, "8 ms of every frame are within the budget");
    }
    for _ in 0..40 {
        credit = f::boost_spend(credit, 15 * MS);
        credit = f::boost_refill(credit, 16_666 * US);
    }
    assert!(credit < 0, "15 ms of every frame are not");
    assert!(
        f::boost_spend(credit, DAY) >= -(25 * MS as i64),
        "it comes back within 50 ms"
    );
}

#[test]
fn a_fork_storm_trips_the_change_point_detection_and_noise_does_not() {
    let mut cusum = f::Cusum::default();
    for i in 0..1000 {
        assert!(
            !cusum.step(10 * MS + (i % 5) * MS),
            "a fifth more or less is noise"
        );
    }
    let tripped = (0..10).position(|_| cusum.step(MS));
    assert!(tripped.is_some_and(|n| n <= 5), "{tripped:?}");
    // The storm becomes the normal state, and its end is no burst.
    for _ in 0..200 {
        cusum.step(MS);
    }
    assert!((0..100).all(|_| !cusum.step(MS)));
    assert!((0..100).all(|_| !cusum.step(10 * MS)));
}

#[test]
fn the_interactive_threshold_follows_the_average_up_to_halfway() {
    let at = |average| f::moving_threshold(average, 8, 32);
    assert_eq!([0, 16, 30, 40, 255].map(at), [8, 8, 15, 20, 20]);
    assert_eq!(f::moving_threshold(255, 40, 40), 40);
    let mut average = 0;
    for _ in 0..40 {
        average = f::moving_average(average, 255 << 8);
    }
    assert!(average >> 8 >= 254);
}

#[test]
fn whole_cores_are_those_alone_or_with_both_siblings_idle() {
    // Bits 0-1 and 2-3 are siblings, 4 and 5 are alone.
    let (single, pair) = (0b11_0000, 0b00_0101);
    let cores = |idle| f::idle_cores(idle, single, pair);
    assert_eq!(cores(0b11_1111), 0b11_0101);
    assert_eq!(cores(0b01_1101), 0b01_0100);
    assert_eq!(cores(0b00_1010), 0);
    assert_eq!(
        [1u64, 2, 4, 8, 16, 32].map(|bit| f::core_bit(bit, pair)),
        [1, 1, 4, 4, 16, 32]
    );
}

#[test]
fn an_audio_thread_is_latency_critical_and_a_compiler_is_batch() {
    let audio = f::lat_cri_score(19, 38, 300 * US, 50 * US);
    assert_eq!(f::tier_of_score(audio, 32, 8), 2);
    let compiler = f::lat_cri_score(1, 5, 20 * MS, 10 * MS);
    assert_eq!(f::tier_of_score(compiler, 32, 8), 0);
}

#[test]
fn an_average_run_makes_a_slice_of_one_and_a_half_or_two() {
    let of_300_us = |tier| f::slice_of_sleeper(tier, 300 * US, MS);
    assert_eq!(of_300_us(2), 450 * US, "latency-critical");
    assert_eq!(of_300_us(1), 600 * US, "interactive");
}

#[test]
fn credit_is_as_many_units_as_the_lag_scale_says() {
    // Eight wake-ups in 100 ms, as LIGHT, MIXED and HEAVY have it; then what no scale exceeds.
    let credit_us = |lag_scale| f::wake_credit_ns(8, lag_scale, 0, 0) / US;
    assert_eq!([6, 4, 2].map(credit_us), [600, 400, 200]);
    assert_eq!(f::wake_credit_ns(64, 4, 0, 0), 3200 * US);
    assert_eq!(f::wake_credit_ns(64, 16, 0, 0), 3200 * US);
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
        let mut profile = Profile::of_pin(&[b'x'; 16], Tier::Batch, 0);
        (profile.wakeup_freq, profile.csw_rate) = (freq, csw);
        (profile.avg_runtime_ns, profile.runtime_dev_ns) = (avg, dev);
        prop_assert_eq!(profile.score(), score, "the policy agrees");
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
        let mut profile = Profile::of_pin(&[b'x'; 16], Tier::Batch, 0);
        (profile.wakeup_freq, profile.csw_rate) = (freq, csw);
        (profile.avg_runtime_ns, profile.runtime_dev_ns) = (avg, dev);
        prop_assert_eq!(profile.score(), score, "the policy agrees");
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
    fn heavier_tasks_pay_less_for_the_same_run(run in 0..DAY, a in 1u32..=20_000, b in 1u32..=20_000, more in 0..DAY, share in share()) {
        prop_assert!(f::vtime_delta(run, a.max(b), share) <= f::vtime_delta(run, a.min(b), share));
        prop_assert!(f::vtime_delta(run + more, a, share) >= f::vtime_delta(run, a, share));
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
        freq in 0u32..=64, by in 0u32..=64, lag in knob("lag_scale"), queued in 0u64..10_000, more in 0u64..10_000, avg in 1..10 * MS
    ) {
        let credit = f::wake_credit_ns(freq, lag, queued, avg);
        prop_assert!(credit > 0 && credit <= 3200 * US);
        prop_assert!(queued == 0 || credit <= 4 * avg);
        prop_assert!(f::wake_credit_ns(freq + by, lag, queued, avg) >= credit);
        prop_assert!(f::wake_credit_ns(freq, lag, queued + more, avg) <= credit);
    }

    #[test]
    fn twice_the_lag_scale_is_twice_the_credit_up_to_its_bound(
        quarter in 1u32..=16, lag in knob("lag_scale"), more in 0u64..=16, queued in 0u64..200
    ) {
        // Without a remainder, so that no rounding is in the way.
        let credit = |lag_scale| f::wake_credit_ns(4 * quarter, lag_scale, queued, DAY);
        prop_assert!(credit(lag + more) >= credit(lag));
        if u64::from(quarter) * lag * 2 <= 64 {
            prop_assert!(credit(lag * 2).abs_diff(credit(lag) * 2) <= 1);
        }
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
    fn slices_of_sleepers_are_these_multiples_between_their_bounds(
        (slice, avg) in knob("slice_ns").prop_flat_map(|slice| (Just(slice), 0..=slice))
    ) {
        let bounded = |ns: u64| ns.clamp(100 * US, slice);
        prop_assert_eq!(f::slice_of_sleeper(2, avg, slice), bounded(avg * 3 / 2));
        prop_assert_eq!(f::slice_of_sleeper(1, avg, slice), bounded(avg * 2));
    }

    #[test]
    fn batch_work_that_waits_has_its_turn_within_8_ms(
        (cpus, sharers) in (1u64..=1024).prop_flat_map(|cpus| (Just(cpus), 2 * cpus..=8 * cpus))
    ) {
        // From two to eight for each CPU, a slice is between 4 ms and 1.
        let slice = f::slice_of_batch(20 * MS, 100, sharers - 1, cpus as u32);
        prop_assert_eq!(slice, 8 * MS * cpus / sharers);
        let round = slice * sharers / cpus;
        prop_assert!(round <= 8 * MS && round > 8 * MS - US, "{}", round);
    }

    #[test]
    fn a_slice_for_which_somebody_waits_ends_at_the_second_tick(
        (cpus, queued) in (1u64..=1024).prop_flat_map(|cpus| (Just(cpus), 1..=cpus))
    ) {
        let slice = f::slice_of_batch(20 * MS, 100, queued, cpus as u32);
        prop_assert!(slice > 3 * MS && slice < 8 * MS, "{}", slice);
        prop_assert_eq!(f::slice_of_batch(20 * MS, 100, 0, cpus as u32), 20 * MS);
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
        let _ = f::vtime_delta(a, x, b);
        let _ = f::vtime_delta(a, 0, 0);
        let _ = f::share_in_group(a, b, c as i64);
        let _ = f::boost_refill(a as i64 >> 8, b);
        let _ = f::boost_spend(a as i64 >> 8, b);
        let _ = f::moving_threshold(a, b, c);
        let _ = f::moving_average(a, b);
        let _ = f::vtime_clamp(a, b, c, a);
        let _ = f::wake_credit_ns(x, a, b, c);
        let _ = f::awake_penalty_ns(a, x);
        prop_assert!(f::slice_of_sleeper(x, a, b) >= 100 * US);
        // The kernel counts queued tasks in 32 bits.
        let queued = b & u64::from(u32::MAX);
        prop_assert!(f::slice_of_batch(a, x, queued, y) >= MS);
        prop_assert!(f::slice_of_batch(a, x, queued, 0) >= MS);
        prop_assert!(f::hist_bucket(a) < 160);
    }
}
