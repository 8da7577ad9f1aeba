//! From behaviour to tier: what wake-ups, sleeps and running on make of a task.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, LAT_CRITICAL, Machine};
use pandemonium_bpf_host::scenes::{new_task, settled, tier, tiers, with_knobs};
use pandemonium_policy::Knobs;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

const WQ_WORKER: u32 = 0x20;
const SCHED_IDLE: u32 = 5;

#[test]
fn every_wake_up_after_the_first_counts_in_the_averages_when_the_task_sleeps_again() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    let seen: Vec<_> = (0..4)
        .map(|_| {
            tiers(&mut m, task, 1, MS / 10, 10 * MS - MS / 10);
            let view = m.view(task);
            (view.age, view.wakeup_freq, view.csw_rate)
        })
        .collect();
    // Every 10 ms, with one switch each; from 20 and 0, which new tasks begin with.
    assert_eq!(seen, [(1, 20, 0), (2, 15, 5), (3, 12, 7), (4, 11, 8)]);
}

#[test]
fn how_often_a_task_wakes_and_how_long_it_runs_is_its_tier() {
    for (period_ns, run_ns, expected) in [
        (10 * MS, MS / 10, LAT_CRITICAL),
        (20 * MS, MS / 10, INTERACTIVE),
        (50 * MS, MS / 10, BATCH),
        (10 * MS, 8 * MS, INTERACTIVE),
        (20 * MS, 8 * MS, BATCH),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "task");
        let seen = tiers(&mut m, task, 60, run_ns, period_ns - run_ns);
        assert_eq!(seen.last(), Some(&expected), "{period_ns} {run_ns}");
    }
}

#[test]
fn runs_of_changing_length_count_as_longer_than_their_average() {
    let scores = [[2_000 * US; 2], [1_600 * US, 2_400 * US]].map(|runs| {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "task");
        for run_ns in runs.repeat(30) {
            tiers(&mut m, task, 1, run_ns, 20 * MS - run_ns);
        }
        m.view(task).lat_cri
    });
    assert_eq!(scores, [25, 12]);
}

#[test]
fn a_batch_task_that_begins_to_wake_often_becomes_interactive_and_then_latency_critical() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, BATCH);
    let mut seen = tiers(&mut m, task, 60, MS / 10, 5 * MS);
    seen.dedup();
    assert_eq!(seen, [BATCH, INTERACTIVE, LAT_CRITICAL]);
}

#[test]
fn a_latency_critical_task_that_begins_to_wake_rarely_ends_as_batch() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, LAT_CRITICAL);
    let mut seen = tiers(&mut m, task, 60, MS / 10, 100 * MS);
    seen.dedup();
    assert_eq!(seen, [LAT_CRITICAL, INTERACTIVE, BATCH]);
}

#[test]
fn how_long_a_task_slept_moves_the_tier_with_its_next_sleep() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    m.set_history(task, 4, 2, 100 * US);
    assert_eq!(tiers(&mut m, task, 1, MS / 10, 1_000 * MS), [INTERACTIVE]);
    m.interrupt(task, 0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.sleep(0);
    assert_eq!(tier(&m, task), BATCH);
}

#[test]
fn the_sleep_itself_moves_the_tier() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    m.set_history(task, 4, 2, 2_090 * US);
    m.interrupt(task, 0);
    m.advance(2_400 * US);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.sleep(0);
    assert_eq!(tier(&m, task), BATCH);
}

#[test]
fn how_long_a_task_waits_for_a_cpu_does_not_matter() {
    for wait_ns in [0, 20 * MS] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "task");
        for _ in 0..20 {
            m.hold(0);
            m.interrupt(task, 0);
            m.advance(wait_ns);
            m.unhold(0);
            assert_eq!(m.running(0), Some(task));
            m.advance(MS);
            m.sleep(0);
            m.advance(MS);
        }
        let view = m.view(task);
        assert!((45..=50).contains(&view.wakeup_freq), "{wait_ns}: {view:?}");
        assert_eq!(view.tier, LAT_CRITICAL, "{wait_ns}: {view:?}");
    }
}

#[test]
fn switches_that_a_task_did_not_want_count_as_well() {
    let rates = [0, 3].map(|losses| {
        let mut m = Machine::with_cpus(1);
        let task = settled(&mut m, INTERACTIVE);
        tiers(&mut m, task, 1, 0, 10 * MS);
        m.interrupt(task, 0);
        for _ in 0..losses {
            m.hold(0);
            m.unhold(0);
        }
        m.sleep(0);
        m.view(task).csw_rate
    });
    // From 2 an eighth of the way to 10 and to 40.
    assert_eq!(rates, [3, 6]);
}

#[test]
fn a_new_task_is_interactive_until_its_third_wake_up() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    assert_eq!(tier(&m, task), INTERACTIVE);
    let seen = tiers(&mut m, task, 4, MS, 100 * MS);
    assert_eq!(seen, [INTERACTIVE, INTERACTIVE, BATCH, BATCH]);
}

#[test]
fn a_new_task_is_taken_for_one_that_runs_for_100_us_and_may_run_as_batch_work_until_it_sleeps() {
    let mut m = Machine::with_cpus(1);
    let task = m.task("new");
    m.fork(task, 0);
    let view = m.view(task);
    assert_eq!((view.avg_runtime_ns, view.slice_ns), (100 * US, 20 * MS));
    m.sleep(0);
    m.interrupt(task, 0);
    assert!(m.view(task).slice_ns < MS);
}

#[test]
fn running_on_beyond_the_threshold_makes_batch_at_the_tick() {
    for thresh_ns in [MS / 2, 2_500 * US, 10 * MS] {
        for kind in [INTERACTIVE, LAT_CRITICAL] {
            let mut m = Machine::with_cpus(1);
            m.set_knobs(&with_knobs(|knobs| knobs.cpu_bound_thresh_ns = thresh_ns));
            let task = settled(&mut m, kind);
            m.interrupt(task, 0);
            m.advance(thresh_ns);
            m.tick(0);
            assert_eq!((tier(&m, task), m.tier_on(0)), (kind, kind), "{thresh_ns}");
            m.advance(1);
            m.tick(0);
            let seen = (tier(&m, task), m.tier_on(0));
            assert_eq!(seen, (BATCH, BATCH), "{thresh_ns}");
        }
    }
}

#[test]
fn twice_what_a_task_usually_needs_up_to_8_ms_does_not_make_it_batch() {
    for (usual_ns, enough_ns) in [
        (MS, 2_500 * US),
        (2 * MS, 4 * MS),
        (4 * MS, 8 * MS),
        (7 * MS, 8 * MS),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "frames");
        m.set_history(task, 12, 12, usual_ns);
        m.interrupt(task, 0);
        m.advance(enough_ns);
        m.tick(0);
        assert_ne!(tier(&m, task), BATCH, "{usual_ns}");
        m.advance(1);
        m.tick(0);
        assert_eq!(tier(&m, task), BATCH, "{usual_ns}");
    }
}

#[test]
fn runs_add_up_until_the_task_sleeps_and_make_batch_when_it_loses_the_cpu() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    m.interrupt(task, 0);
    for (run_ns, expected) in [
        (MS, INTERACTIVE),
        (1_500 * US, INTERACTIVE),
        (1, BATCH),
        (1, BATCH),
    ] {
        m.advance(run_ns);
        m.hold(0);
        assert_eq!(tier(&m, task), expected, "{run_ns}");
        m.unhold(0);
    }
}

#[test]
fn runs_add_up_at_the_tick_as_well() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    m.interrupt(task, 0);
    m.advance(2 * MS);
    m.hold(0);
    m.unhold(0);
    m.advance(500 * US);
    m.tick(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.advance(1);
    m.tick(0);
    assert_eq!(tier(&m, task), BATCH);
}

#[test]
fn runs_between_sleeps_do_not_add_up() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    tiers(&mut m, task, 10, 2 * MS, 10 * MS);
    m.interrupt(task, 0);
    m.advance(2 * MS);
    m.tick(0);
    assert_ne!(tier(&m, task), BATCH);
}

#[test]
fn a_sleep_undoes_the_demotion() {
    for kind in [INTERACTIVE, LAT_CRITICAL] {
        let mut m = Machine::with_cpus(1);
        let task = settled(&mut m, kind);
        m.interrupt(task, 0);
        m.advance(3 * MS);
        m.tick(0);
        assert_eq!(tier(&m, task), BATCH);
        m.sleep(0);
        assert_eq!(tier(&m, task), kind);
    }
}

#[test]
fn a_sleep_undoes_the_demotion_of_a_new_task() {
    let mut m = Machine::with_cpus(1);
    let task = m.task("new");
    m.fork(task, 0);
    m.advance(3 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), BATCH);
    m.sleep(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
}

#[test]
fn a_kworker_is_never_batch() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "kworker/0:1");
    m.set_flags(task, WQ_WORKER);
    m.set_history(task, 1, 1, 50 * MS);
    m.interrupt(task, 0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.advance(3 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.hold(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.unhold(0);
    m.sleep(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
}

#[test]
fn a_kworker_that_runs_on_is_no_longer_latency_critical() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, LAT_CRITICAL);
    m.set_flags(task, WQ_WORKER);
    m.interrupt(task, 0);
    m.advance(3 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
}

#[test]
fn the_idle_class_is_batch_whatever_it_does_from_its_next_sleep_on() {
    for (policy, is_group_idle, expected) in [
        (SCHED_IDLE, false, BATCH),
        (0, true, BATCH),
        (0, false, LAT_CRITICAL),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = settled(&mut m, LAT_CRITICAL);
        m.set_policy(task, policy);
        m.join_group(task, is_group_idle);
        let seen = tiers(&mut m, task, 4, MS / 10, 5 * MS);
        assert_eq!(seen[1..], [expected; 3]);
        assert_eq!(tier(&m, task), expected);
    }
}

#[test]
fn a_new_task_of_the_idle_class_is_batch_from_its_first_sleep_on() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "new");
    m.set_policy(task, SCHED_IDLE);
    let seen = tiers(&mut m, task, 2, MS / 10, 5 * MS);
    assert_eq!(seen, [INTERACTIVE, BATCH]);
}

/// A task that wakes every 20 ms: its score is 25.
fn tier_of_score_25(knobs: &Knobs) -> u32 {
    let mut m = Machine::with_cpus(1);
    m.set_knobs(knobs);
    let task = new_task(&mut m, "task");
    tiers(&mut m, task, 60, MS / 10, 20 * MS - MS / 10);
    assert_eq!(m.view(task).lat_cri, 25);
    tier(&m, task)
}

#[test]
fn the_thresholds_of_the_tiers_are_the_knobs() {
    for (low, high, expected) in [
        (8, 26, INTERACTIVE),
        (8, 25, LAT_CRITICAL),
        (25, 32, INTERACTIVE),
        (26, 32, BATCH),
    ] {
        let knobs = with_knobs(|knobs| {
            knobs.lat_cri_thresh_low = low;
            knobs.lat_cri_thresh_high = high;
        });
        assert_eq!(tier_of_score_25(&knobs), expected, "{low} {high}");
    }
}

/// The lowest score with which a waking task is interactive.
fn interactive_from(m: &mut Machine) -> u32 {
    let is_interactive = |score: &u32| {
        let probe = new_task(m, "probe");
        m.set_history(probe, *score, 1, MS / 10);
        tier(m, probe) == INTERACTIVE
    };
    (1..32).find(is_interactive).unwrap()
}

/// The same after each of so many ticks.
fn interactive_from_tick_to_tick(m: &mut Machine, ticks: usize) -> Vec<u32> {
    let next = |_| {
        m.tick(0);
        interactive_from(m)
    };
    (0..ticks).map(next).collect()
}

#[test]
fn when_what_runs_scores_high_it_takes_more_to_be_interactive_at_most_halfway() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    m.set_history(task, 48, 1, MS / 10);
    m.interrupt(task, 0);
    let rising = interactive_from_tick_to_tick(&mut m, 9);
    assert_eq!(rising, [8, 10, 13, 16, 18, 19, 20, 20, 20]);
    m.set_history(task, 1, 1, MS / 10);
    let falling = interactive_from_tick_to_tick(&mut m, 6);
    assert_eq!(falling, [16, 12, 9, 8, 8, 8]);
}
