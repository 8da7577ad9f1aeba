//! What is counted of sleeps and waits, and what the daemon is told of tasks.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, Counter, INTERACTIVE, LAT_CRITICAL, Machine};
use pandemonium_bpf_host::scenes::{new_task, settled, tiers};

const MS: u64 = 1_000_000;

#[test]
fn every_sleep_is_counted_by_its_length_when_the_next_one_begins() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    for sleep_ns in [
        1,
        MS,
        MS + 1,
        10 * MS,
        10 * MS + 1,
        100 * MS,
        100 * MS + 1,
        900 * MS,
        900 * MS,
    ] {
        tiers(&mut m, task, 1, 7 * MS, sleep_ns);
    }
    m.interrupt(task, 0);
    m.sleep(0);
    assert_eq!(m.sleeps(), [2, 2, 2, 3]);
}

#[test]
fn every_wait_after_a_wake_up_is_counted_once_with_its_tier() {
    let mut m = Machine::with_cpus(1);
    for (tier, wait_ns) in [(BATCH, 4 * MS), (INTERACTIVE, 2 * MS), (LAT_CRITICAL, MS)] {
        m.hold(0);
        let task = settled(&mut m, tier);
        m.interrupt(task, 0);
        m.advance(wait_ns);
        m.unhold(0);
        m.hold(0);
        m.advance(wait_ns);
        m.unhold(0);
        m.exit(0);
    }
    assert_eq!(m.wake_latencies(), ([1, 1, 1], 7 * MS));
}

#[test]
fn a_living_task_is_reported_every_64_wake_ups() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "alive");
    let mut reports = Vec::new();
    for wake in 1..=200 {
        tiers(&mut m, task, 1, MS / 10, 5 * MS);
        if m.records() as usize > reports.len() {
            reports.push(wake);
        }
    }
    assert_eq!(reports, [64, 128, 192]);
    let report = m.observation();
    assert_eq!(&report.comm[..6], b"alive\0");
    assert_eq!((report.tier, report.exited), (LAT_CRITICAL, 0));
    assert_eq!((report.wakeup_freq, report.csw_rate), (19, 19));
    assert_eq!(report.lat_cri, 255);
    assert!(report.avg_runtime_ns.abs_diff(MS / 10) < 10, "{report:?}");
    assert!(report.runtime_dev_ns < 10, "{report:?}");
}

#[test]
fn a_task_that_sleeps_all_the_time_is_reported_at_once_and_then_a_few_times_a_second() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "chatty");
    tiers(&mut m, task, 64, MS / 100, MS / 50);
    assert_eq!(m.records(), 1);
    // Two seconds of sleeps, 30 us apart.
    tiers(&mut m, task, 66_666, MS / 100, MS / 50);
    assert_eq!(m.records(), 8);
}

#[test]
fn a_report_says_how_far_runs_are_from_their_average() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "uneven");
    for _ in 0..32 {
        tiers(&mut m, task, 1, MS, 5 * MS);
        tiers(&mut m, task, 1, 2 * MS, 5 * MS);
    }
    let report = m.observation();
    assert!(
        report.runtime_dev_ns.abs_diff(MS / 2) < MS / 10,
        "{report:?}"
    );
}

#[test]
fn a_report_that_finds_no_room_is_lost() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "alive");
    m.fill_records();
    tiers(&mut m, task, 64, MS / 10, 5 * MS);
    assert_eq!(m.records(), 0);
    assert_eq!(m.counter(Counter::ObservationsLost), 1);
}

#[test]
fn a_task_that_ends_is_reported_if_it_has_shown_how_it_behaves() {
    for (wakes, records) in [(2, 0), (3, 1)] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "short");
        tiers(&mut m, task, wakes - 1, MS, 10 * MS);
        m.interrupt(task, 0);
        m.exit(0);
        assert_eq!(m.records(), records, "{wakes}");
        assert_eq!(u64::from(m.observation().exited), records);
    }
}

#[test]
fn a_task_that_ends_before_it_behaved_does_not_repeat_what_is_known_of_it() {
    let mut m = Machine::with_cpus(1);
    m.predict("known", BATCH, 1, 1, 50 * MS);
    let task = m.task("known");
    m.fork(task, 0);
    m.advance(MS);
    m.exit(0);
    assert_eq!(m.counter(Counter::WarmStarts), 1);
    assert_eq!(m.records(), 0);
}
