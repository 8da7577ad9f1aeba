//! What runs for some milliseconds does not pass those that have waited for longer by stopping batch work.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, Machine, Task};
use pandemonium_bpf_host::scenes::{self, asleep, irregular, spawn};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

/// A hog on the only CPU that is free, and somebody who waits for it since before it was one.
fn hog_for_which_somebody_waits() -> (Machine, Task) {
    let mut m = Machine::with_cpus(2);
    m.hold(0);
    m.hold(1);
    let hog = scenes::waiting(&mut m, INTERACTIVE);
    scenes::waiting(&mut m, INTERACTIVE);
    m.unhold(1);
    m.settle_as(hog, BATCH);
    m.tick(1);
    assert_eq!(m.running(1), Some(hog));
    (m, hog)
}

#[test]
fn what_usually_runs_for_some_milliseconds_stops_no_hog_while_others_have_waited_for_long() {
    let runs_us = [100, 1500, 1501, 4000, 4001];
    for (run_us, in_turn) in runs_us.into_iter().zip([false, false, true, true, false]) {
        let (mut m, hog) = hog_for_which_somebody_waits();
        m.advance(151 * US);
        let task = asleep(&mut m, INTERACTIVE, 1);
        m.set_history(task, 40, 40, run_us * US);
        m.interrupt(task, 1);
        let expected = if in_turn { hog } else { task };
        assert_eq!(m.running(1), Some(expected), "{run_us} us");
    }
}

#[test]
fn it_stops_a_hog_for_which_others_have_waited_for_a_moment_only() {
    for (waited_us, in_turn) in [(150, false), (151, true)] {
        let (mut m, hog) = hog_for_which_somebody_waits();
        m.advance(waited_us * US);
        let task = asleep(&mut m, INTERACTIVE, 1);
        m.set_history(task, 10, 2, 2 * MS);
        m.interrupt(task, 1);
        let expected = if in_turn { hog } else { task };
        assert_eq!(m.running(1), Some(expected), "{waited_us} us");
    }
}

/// How many of the task's next runs take longer than this from its wake-up to its sleep.
fn late_runs(m: &mut Machine, task: Task, runs: usize, most_ns: u64) -> usize {
    const STEP_NS: u64 = 100 * US;
    let (mut awake_ns, mut seen, mut late) = (0, 0, 0);
    while seen < runs {
        m.run_for(STEP_NS);
        let runs = (0..m.nr_cpus()).any(|cpu| m.running(cpu) == Some(task));
        if runs || m.view(task).waits {
            awake_ns += STEP_NS;
        } else if awake_ns > 0 {
            seen += 1;
            late += usize::from(awake_ns > most_ns);
            awake_ns = 0;
        }
    }
    late
}

#[test]
fn frames_beside_a_hog_and_two_sleepers_of_two_milliseconds_for_each_cpu_are_in_time() {
    const PERIOD_NS: u64 = 16_667 * US;
    for nr_cpus in [2, 4, 8] {
        let mut m = Machine::with_cpus(nr_cpus);
        for cpu in 0..nr_cpus {
            spawn(&mut m, cpu, 10 * SEC, 0);
        }
        m.run_for(20 * MS);
        irregular(&mut m, 2, 1940..=2100, 1000..=3000, 1);
        let frames = m.task("frames");
        m.fork(frames, 0);
        m.set_period(frames, 3500 * US, PERIOD_NS);
        m.run_for(30 * PERIOD_NS);
        let late = late_runs(&mut m, frames, 300, PERIOD_NS);
        assert!(late <= 3, "{late} of 300 at {nr_cpus} CPUs");
    }
}

#[test]
fn sleepers_of_two_milliseconds_beside_hogs_are_through_in_time_for_all_of_them_to_take_turns() {
    for nr_cpus in [2, 4, 8] {
        let mut m = Machine::with_cpus(nr_cpus);
        for cpu in 0..nr_cpus {
            spawn(&mut m, cpu, 10 * SEC, 0);
        }
        m.run_for(20 * MS);
        let sleepers = irregular(&mut m, 4, 1940..=2100, 1000..=3000, 1);
        m.run_for(500 * MS);
        let late: usize = sleepers
            .iter()
            .map(|sleeper| late_runs(&mut m, *sleeper, 50, 20 * MS))
            .sum();
        let all = sleepers.len() * 50;
        assert!(late * 100 <= all, "{late} of {all} at {nr_cpus} CPUs");
    }
}
