//! Differences between two readings.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Counters, Histogram, Reading, Sample, Tier};
use proptest::prelude::*;

const SEC: u64 = 1_000_000_000;

fn at(seconds: u64, cpus: u32) -> Reading {
    Reading {
        at_ns: seconds * SEC,
        nr_online: cpus,
        ..Reading::default()
    }
}

/// A later reading of which every difference is zero; only gauges remain.
fn is_zero(sample: &Sample) -> bool {
    *sample
        == Sample {
            batch_wait_ns: sample.batch_wait_ns,
            batch_queued: sample.batch_queued,
            interactive_queued: sample.interactive_queued,
            interactive_running: sample.interactive_running,
            burst: sample.burst,
            longrun: sample.longrun,
            nr_online: sample.nr_online,
            ..Sample::default()
        }
}

#[test]
fn idle_share_is_what_is_left_of_all_cpu_time() {
    let (earlier, mut later) = (at(10, 4), at(12, 4));
    assert_eq!(Sample::between(&earlier, &later).idle_permille, 1000);
    later.busy_ns = 2 * SEC;
    assert_eq!(Sample::between(&earlier, &later).idle_permille, 750);
    later.busy_ns = 9 * SEC;
    assert_eq!(
        Sample::between(&earlier, &later).idle_permille,
        0,
        "a run that began before the earlier reading counts as a whole"
    );
}

#[test]
fn placements_have_no_say_in_the_idle_share() {
    let (earlier, mut later) = (at(1, 2), at(2, 2));
    later.counters = Counters {
        dispatches: 80_000,
        idle_placements: 1,
        ..Counters::default()
    };
    assert_eq!(Sample::between(&earlier, &later).idle_permille, 1000);
}

#[test]
fn rates_use_the_time_that_really_passed() {
    let (earlier, mut later) = (at(10, 2), at(14, 2));
    later.counters.dispatches = 1000;
    assert_eq!(Sample::between(&earlier, &later).dispatches_per_sec, 250);
}

#[test]
fn the_effective_slice_is_the_mean_of_those_granted_in_this_tick() {
    let (mut earlier, mut later) = (at(1, 2), at(2, 2));
    (earlier.counters.dispatches, earlier.slice_sum_ns) = (100, 100 * 20_000_000);
    (later.counters.dispatches, later.slice_sum_ns) = (104, 100 * 20_000_000 + 10_000_000);
    let sample = Sample::between(&earlier, &later);
    assert_eq!(sample.effective_slice_ns, Some(2_500_000));
    let none = Sample::between(
        &earlier,
        &Reading {
            at_ns: 2 * SEC,
            ..earlier.clone()
        },
    );
    assert_eq!(none.effective_slice_ns, None);
}

#[test]
fn latencies_are_those_of_this_tick_only() {
    let mut earlier = at(1, 2);
    (0..1000).for_each(|_| earlier.wake[Tier::LatCritical.index()].record(50_000_000));
    earlier.wake_sum_ns = 1000 * 50_000_000;
    let mut later = earlier.clone();
    later.at_ns += SEC;
    (0..100).for_each(|_| later.wake[Tier::LatCritical.index()].record(10_000));
    (0..100).for_each(|_| later.wake[Tier::Interactive.index()].record(30_000));
    later.wake_sum_ns += 100 * 40_000;

    let sample = Sample::between(&earlier, &later);
    assert_eq!(sample.wakes, [0, 100, 100]);
    assert_eq!(sample.p99_ns[Tier::Batch.index()], None);
    let near = |value: Option<u64>, ns: u64| value.unwrap().abs_diff(ns) * 10 <= ns;
    assert!(near(sample.p99_ns[Tier::LatCritical.index()], 10_000));
    assert!(near(sample.p99_ns[Tier::Interactive.index()], 30_000));
    assert!(near(sample.p99_all_ns, 30_000));
    assert!(near(sample.p50_all_ns, 10_000));
    assert_eq!(sample.wake_mean_ns, 20_000);
}

#[test]
fn io_share_counts_the_two_shortest_sleep_classes() {
    let (mut earlier, mut later) = (at(1, 2), at(2, 2));
    earlier.sleep = [100, 100, 100, 100];
    later.sleep = [120, 110, 160, 110];
    assert_eq!(Sample::between(&earlier, &later).io_pct, Some(30));
    assert_eq!(Sample::between(&earlier, &earlier.clone()).io_pct, None);
}

#[test]
fn a_reset_gives_zeros_but_keeps_the_gauges() {
    let mut earlier = at(5, 4);
    earlier.counters.dispatches = 1_000;
    earlier.busy_ns = SEC;
    let mut later = at(6, 4);
    later.counters.dispatches = 10;
    later.busy_ns = 2 * SEC;
    later.longrun = true;
    later.batch_queued = 7;
    later.interactive_running = 3;
    let sample = Sample::between(&earlier, &later);
    assert!(is_zero(&sample));
    assert!(sample.longrun);
    assert_eq!((sample.batch_queued, sample.interactive_running), (7, 3));
    assert_eq!(sample.elapsed_ns, 0);
}

#[test]
fn every_kind_of_reset_is_noticed() {
    let mut full = at(5, 4);
    full.busy_ns = 7;
    full.wake_sum_ns = 7;
    full.slice_sum_ns = 7;
    full.sleep = [7; 4];
    full.counters.l2_misses[2] = 7;
    full.wake[1].record(1);
    let next = |change: &dyn Fn(&mut Reading)| {
        let mut later = full.clone();
        later.at_ns += SEC;
        later.counters.wakeups += 5;
        change(&mut later);
        Sample::between(&full, &later)
    };
    assert!(!is_zero(&next(&|_| {})));
    assert!(is_zero(&next(&|r| r.at_ns = full.at_ns)), "no time passed");
    assert!(is_zero(&next(&|r| r.at_ns = 0)), "time went back");
    assert!(is_zero(&next(&|r| r.busy_ns = 0)));
    assert!(is_zero(&next(&|r| r.wake_sum_ns = 0)));
    assert!(is_zero(&next(&|r| r.sleep[3] = 0)));
    assert!(is_zero(&next(&|r| r.counters.l2_misses[2] = 0)));
    assert!(is_zero(&next(&|r| r.wake[1] = Histogram::default())));
    assert!(is_zero(&next(&|r| r.nr_online = 3)), "CPUs went away");
}

/// Sets counter number `i` in the order of declaration.
fn counter(i: usize, value: u64) -> Counters {
    let mut c = Counters::default();
    *[
        &mut c.dispatches,
        &mut c.idle_placements,
        &mut c.shared,
        &mut c.tick_preempts,
        &mut c.keeps,
        &mut c.kicks_hard,
        &mut c.kicks_soft,
        &mut c.wakeups,
        &mut c.requeues,
        &mut c.overflow_rescues,
        &mut c.starvation_rescues,
        &mut c.sojourn_rescues,
        &mut c.deficit_forced,
        &mut c.steals,
        &mut c.drained,
        &mut c.observations_lost,
        &mut c.warm_starts,
        &mut c.boosts,
        &mut c.boosts_spent,
        &mut c.bursts_cusum,
        &mut c.bursts_wakeups,
        &mut c.guarded,
        &mut c.domain_spills,
        &mut c.local_kthreads,
        &mut c.l2_placements,
        &mut c.strong_waits,
        &mut c.l2_hits[1],
        &mut c.l2_misses[2],
    ][i] = value;
    c
}

#[test]
fn every_counter_is_subtracted_from_itself() {
    for i in 0..28 {
        let (few, many) = (counter(i, 5), counter(i, 12));
        assert_eq!(many.saturating_sub(&few), counter(i, 7), "counter {i}");
        assert_eq!(few.saturating_sub(&many), Counters::default());
        assert!(few.is_behind(&many) && !many.is_behind(&few), "counter {i}");
    }
}

fn reading() -> impl Strategy<Value = Reading> {
    (
        any::<[u64; 8]>(),
        any::<[u64; 4]>(),
        any::<u32>(),
        any::<[bool; 2]>(),
    )
        .prop_map(|(v, sleep, nr_online, flags)| {
            let mut reading = Reading {
                at_ns: v[0],
                nr_online,
                busy_ns: v[1],
                wake_sum_ns: v[2],
                sleep,
                slice_sum_ns: v[7],
                batch_wait_ns: v[3],
                batch_queued: v[4],
                interactive_queued: v[5],
                interactive_running: v[5] as u32,
                burst: flags[0],
                longrun: flags[1],
                ..Reading::default()
            };
            reading.counters.dispatches = v[6];
            reading.wake[(v[7] % 3) as usize].buckets[(v[7] % 160) as usize] = v[7];
            reading
        })
}

proptest! {
    #[test]
    fn any_two_readings_give_a_sane_sample(a in reading(), b in reading()) {
        let sample = Sample::between(&a, &b);
        prop_assert!(sample.idle_permille <= 1000);
        prop_assert!(sample.io_pct.is_none_or(|pct| pct <= 100));
        prop_assert!(sample.p50_all_ns <= sample.p99_all_ns);
        prop_assert!(sample.elapsed_ns > 0 || is_zero(&sample));
    }

    #[test]
    fn growth_after_the_first_reading_is_what_is_reported(a in reading(), grown in 0u64..1 << 40) {
        prop_assume!(a.at_ns < u64::MAX - SEC && a.counters.dispatches < u64::MAX - grown);
        let mut b = a.clone();
        b.at_ns += SEC;
        b.counters.dispatches += grown;
        let sample = Sample::between(&a, &b);
        prop_assert_eq!(sample.elapsed_ns, SEC);
        prop_assert_eq!(sample.counters.dispatches, grown);
        prop_assert_eq!(sample.dispatches_per_sec, grown);
    }
}
