//! Bursts: when there is one, how long it lasts, and what it changes.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, Counter, INTERACTIVE, LAT_CRITICAL, Machine};
use pandemonium_bpf_host::scenes::{
    asleep, displaced, held, preempts_after, running, short_in_bursts, slice_of, spawn,
};
use pandemonium_policy::Limits;
use pandemonium_policy::limits::BURST_WINDOW_NS;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A burst lasts this long after its last sign.
const BURST_HOLD_NS: u64 = 20 * MS;

/// A task on CPU 1 wakes so often, by interrupts on CPU 0.
fn wake_often(m: &mut Machine, times: u32) {
    let task = asleep(m, INTERACTIVE, 1);
    for _ in 0..times {
        m.interrupt(task, 0);
        assert_eq!(m.running(1), Some(task));
        m.sleep(1);
    }
}

/// Wake-ups within one window, between two ticks of CPU 0, which has to be busy.
fn storm(m: &mut Machine, wakeups: u32, window_ns: u64) {
    m.tick(0);
    wake_often(m, wakeups);
    m.advance(window_ns);
    m.tick(0);
}

fn start_burst(m: &mut Machine) {
    storm(m, Limits::for_cpus(2).burst_wakeups, BURST_WINDOW_NS);
    assert!(m.is_burst());
}

#[test]
fn of_programs_that_are_forked_at_once_only_the_first_stops_batch_work() {
    for is_burst in [false, true] {
        let mut m = Machine::with_cpus(2);
        let parent = running(&mut m, BATCH, 0);
        if is_burst {
            start_burst(&mut m);
        }
        m.sleep(0);
        running(&mut m, BATCH, 1);
        m.advance(MS);
        m.wake(parent, 0);
        m.advance(5 * MS);
        for waits in [false, true] {
            let new = m.task("new");
            m.fork(new, 0);
            assert_eq!(m.view(new).waits, waits, "{is_burst}");
            assert_eq!(m.running(0), Some(parent));
        }
    }
}

#[test]
fn how_many_programs_were_forked_at_once_is_forgotten_after_a_fifth_of_a_second() {
    let mut m = Machine::with_cpus(2);
    let parent = running(&mut m, INTERACTIVE, 0);
    for _ in 0..100 {
        spawn(&mut m, 0, 100 * US, 1000 * MS);
    }
    m.sleep(0);
    m.run_for(200 * MS);
    for cpu in [0, 1] {
        running(&mut m, BATCH, cpu);
    }
    m.advance(5 * MS);
    m.wake(parent, 0);
    let cpu = m.cpu_of(parent).unwrap();
    let new = m.task("new");
    m.fork(new, cpu);
    assert!(!m.view(new).waits);
}

#[test]
fn so_many_wake_ups_in_a_window_are_a_burst() {
    let most = Limits::for_cpus(2).burst_wakeups;
    for (wakeups, window_ns, is_burst) in [
        (most - 1, BURST_WINDOW_NS, false),
        (most, BURST_WINDOW_NS, true),
        (2 * most - 1, 2 * BURST_WINDOW_NS, false),
        (2 * most, 2 * BURST_WINDOW_NS, true),
    ] {
        let mut m = Machine::with_cpus(2);
        running(&mut m, BATCH, 0);
        storm(&mut m, wakeups, window_ns);
        assert_eq!(m.is_burst(), is_burst, "{wakeups} {window_ns}");
        assert_eq!(m.counter(Counter::BurstsWakeups), u64::from(is_burst));
        assert_eq!(m.counter(Counter::BurstsCusum), 0);
    }
}

#[test]
fn wake_ups_that_a_cpu_counted_without_ticks_are_too_old_for_a_burst() {
    let many = 10 * Limits::for_cpus(2).burst_wakeups;
    for (window_ns, is_burst) in [
        (2 * BURST_WINDOW_NS, true),
        (2 * BURST_WINDOW_NS + 1, false),
    ] {
        let mut m = Machine::with_cpus(2);
        running(&mut m, BATCH, 0);
        storm(&mut m, many, window_ns);
        assert_eq!(m.is_burst(), is_burst, "{window_ns}");
    }
}

/// So many tasks come to the queues, `pace_ns` apart, woken on `cpu`; how many until a burst is noticed.
fn queue_until_burst(m: &mut Machine, cpu: u32, tasks: u32, pace_ns: u64) -> Option<u32> {
    (1..=tasks).find(|_| {
        m.advance(pace_ns);
        let task = asleep(m, BATCH, 0);
        m.interrupt(task, cpu);
        m.is_burst()
    })
}

#[test]
fn tasks_that_come_faster_than_usual_are_a_burst() {
    let mut m = held(2);
    assert_eq!(queue_until_burst(&mut m, 0, 1024, 100 * US), None);
    // Three samples of 64, each 3/4 of the usual interval too short, make more than two intervals.
    assert_eq!(queue_until_burst(&mut m, 0, 1024, 0), Some(3 * 64));
    assert_eq!(m.counter(Counter::BurstsCusum), 1);
    assert_eq!(m.counter(Counter::BurstsWakeups), 0);
}

#[test]
fn tasks_that_come_a_little_faster_than_usual_are_no_burst() {
    let mut m = held(2);
    assert_eq!(queue_until_burst(&mut m, 0, 1024, 100 * US), None);
    assert_eq!(queue_until_burst(&mut m, 0, 1024, 80 * US), None);
}

#[test]
fn each_cpu_has_its_own_idea_of_what_is_usual() {
    let mut m = held(2);
    assert_eq!(queue_until_burst(&mut m, 0, 1024, 100 * US), None);
    assert_eq!(queue_until_burst(&mut m, 1, 1024, 10 * US), None);
}

#[test]
fn a_burst_lasts_until_20_ms_after_its_last_sign() {
    let mut m = Machine::with_cpus(2);
    running(&mut m, BATCH, 0);
    start_burst(&mut m);
    m.advance(BURST_HOLD_NS - 2 * BURST_WINDOW_NS);
    m.tick(0);
    start_burst(&mut m);
    assert_eq!(m.counter(Counter::BurstsWakeups), 2);
    m.advance(BURST_HOLD_NS - 1);
    assert!(m.is_burst());
    m.advance(1);
    assert!(!m.is_burst());
}

#[test]
fn during_a_burst_the_tick_preempts_at_once() {
    for (since_ns, preempts) in [(BURST_HOLD_NS - 2, 1), (BURST_HOLD_NS, 0)] {
        let mut m = Machine::with_cpus(2);
        running(&mut m, BATCH, 0);
        start_burst(&mut m);
        m.advance(since_ns);
        m.sleep(0);
        running(&mut m, BATCH, 0);
        displaced(&mut m);
        assert_eq!(preempts_after(&mut m, 1), preempts, "{since_ns}");
    }
}

#[test]
fn a_burst_cuts_the_slices_of_sleepers_only() {
    for (tier, usual_ns, burst_ns) in [
        (BATCH, 20 * MS, 20 * MS),
        (INTERACTIVE, MS, 300 * US),
        (LAT_CRITICAL, MS, 300 * US),
    ] {
        for (since_ns, expected) in [(BURST_HOLD_NS - 1, burst_ns), (BURST_HOLD_NS, usual_ns)] {
            let mut m = Machine::with_cpus(2);
            m.set_knobs(&short_in_bursts());
            running(&mut m, BATCH, 0);
            start_burst(&mut m);
            m.advance(since_ns);
            assert_eq!(slice_of(&mut m, tier, 1), expected, "{tier} {since_ns}");
        }
    }
}

#[test]
fn the_burst_slice_counts_from_the_next_start_on() {
    let mut m = Machine::with_cpus(2);
    running(&mut m, BATCH, 0);
    start_burst(&mut m);
    assert_eq!(slice_of(&mut m, INTERACTIVE, 1), MS);
    m.set_knobs(&short_in_bursts());
    m.sleep(1);
    assert_eq!(slice_of(&mut m, INTERACTIVE, 1), 300 * US);
}
