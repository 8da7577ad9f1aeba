//! Under load: what the tick takes back, bursts, longruns, suspends, and knobs written meanwhile.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_bpf_host::scenes::{
    AHEAD, asleep, displaced, held, order, rest, running, two_nodes, waiting, waiting_for,
    with_knobs,
};
use pandemonium_policy::limits::{BURST_WINDOW_NS, LONGRUN_NS};
use pandemonium_policy::{Knobs, Limits};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A burst lasts this long after its last sign.
const BURST_HOLD_NS: u64 = 20 * MS;
/// Without a tick for longer than this, the machine was suspended.
const SUSPENDED_NS: u64 = 2_000 * MS;

/// After so long a tick comes on CPU 0; how often ticks have preempted by then.
fn preempts_after(m: &mut Machine, ns: u64) -> u64 {
    m.advance(ns);
    m.tick(0);
    m.counter(Counter::TickPreempts)
}

// The tick.

#[test]
fn batch_yields_to_waiting_interactive_work_after_the_threshold() {
    for thresh_ns in [0, MS, 3 * MS] {
        let mut m = Machine::with_cpus(2);
        m.set_knobs(&with_knobs(|knobs| knobs.preempt_thresh_ns = thresh_ns));
        let hog = running(&mut m, BATCH, 0);
        let waiter = displaced(&mut m);
        assert_eq!(preempts_after(&mut m, thresh_ns), 0);
        assert_eq!(m.running(0), Some(hog));
        assert_eq!(preempts_after(&mut m, 1), 1, "{thresh_ns}");
        assert_eq!(m.running(0), Some(waiter));
    }
}

#[test]
fn the_tick_leaves_batch_alone_while_nothing_waits() {
    let mut m = Machine::with_cpus(2);
    running(&mut m, BATCH, 0);
    assert_eq!(preempts_after(&mut m, 15 * MS), 0);
}

#[test]
fn interactive_work_does_not_yield_at_the_tick() {
    let mut m = Machine::with_cpus(2);
    m.set_knobs(&with_knobs(|knobs| {
        knobs.slice_ns = 20 * MS;
        knobs.cpu_bound_thresh_ns = 100 * MS;
    }));
    let task = asleep(&mut m, INTERACTIVE, 0);
    m.set_history(task, 60, 4, 10 * MS);
    m.interrupt(task, 0);
    assert_eq!(m.view(task).tier, INTERACTIVE);
    displaced(&mut m);
    waiting(&mut m, BATCH);
    assert_eq!(preempts_after(&mut m, 15 * MS), 0);
    assert_eq!(m.running(0), Some(task));
}

#[test]
fn interactive_work_that_waits_for_another_cpu_does_not_matter_to_this_one() {
    for (cpu, preempts) in [(0, 1), (1, 0)] {
        let mut m = Machine::with_cpus(2);
        m.pin("pinned", INTERACTIVE, true);
        running(&mut m, BATCH, 0);
        m.hold(1);
        let pinned = m.task("pinned");
        m.bind(pinned, &[cpu]);
        m.fork(pinned, cpu);
        assert_eq!(m.waiting_for(cpu, Kind::Interactive), 1);
        assert_eq!(preempts_after(&mut m, MS + 1), preempts, "{cpu}");
    }
}

#[test]
fn interactive_work_of_another_node_does_not_matter_to_this_one() {
    let mut m = two_nodes();
    running(&mut m, BATCH, 0);
    m.hold(1);
    m.hold(3);
    running(&mut m, INTERACTIVE, 2);
    m.hold(2);
    assert_eq!(m.waiting_in_node(1, Kind::Interactive), 1);
    assert_eq!(preempts_after(&mut m, MS + 1), 0);
}

#[test]
fn batch_yields_to_batch_work_that_waited_too_long() {
    for sojourn_ns in [MS, 5 * MS] {
        let mut m = Machine::with_cpus(2);
        m.set_knobs(&with_knobs(|knobs| knobs.sojourn_thresh_ns = sojourn_ns));
        running(&mut m, BATCH, 0);
        m.hold(1);
        m.advance(3 * MS);
        let waiter = waiting(&mut m, BATCH);
        assert_eq!(preempts_after(&mut m, sojourn_ns), 0);
        assert_eq!(preempts_after(&mut m, 1), 1, "{sojourn_ns}");
        assert_eq!(m.running(0), Some(waiter));
    }
}

#[test]
fn batch_yields_to_batch_work_that_waited_too_long_for_this_cpu_alone() {
    let mut m = Machine::with_cpus(2);
    running(&mut m, BATCH, 0);
    m.hold(1);
    let waiter = waiting_for(&mut m, BATCH, 0);
    assert_eq!(m.waiting_for(0, Kind::Batch), 1);
    assert_eq!(preempts_after(&mut m, 5 * MS), 0);
    assert_eq!(preempts_after(&mut m, 1), 1);
    assert_eq!(m.running(0), Some(waiter));
}

#[test]
fn batch_that_has_had_less_than_its_share_goes_on_all_the_same() {
    for (vtime, goes_on) in [(-5 * AHEAD, true), (-4 * AHEAD, false)] {
        let mut m = Machine::with_cpus(2);
        let hog = asleep(&mut m, BATCH, 0);
        m.set_vtime(hog, vtime);
        m.interrupt(hog, 0);
        m.hold(1);
        let waiter = waiting(&mut m, BATCH);
        assert_eq!(preempts_after(&mut m, 5 * MS + 1), 1);
        let expected = if goes_on { hog } else { waiter };
        assert_eq!(m.running(0), Some(expected));
        assert_eq!(m.counter(Counter::Keeps), u64::from(goes_on));
    }
}

#[test]
fn batch_that_goes_on_pays_once_for_what_it_had() {
    let mut m = Machine::with_cpus(2);
    let hog = running(&mut m, BATCH, 0);
    m.hold(1);
    let waiter = asleep(&mut m, BATCH, 0);
    m.set_vtime(waiter, 100 * AHEAD);
    m.interrupt(waiter, 0);
    assert_eq!(preempts_after(&mut m, 6 * MS), 1);
    assert_eq!(m.running(0), Some(hog));
    m.advance(3 * MS);
    m.sleep(0);
    assert_eq!(m.view(hog).vtime, 9 * MS);
}

#[test]
fn however_long_other_batch_work_waits_batch_first_has_the_threshold_itself() {
    let mut m = held(2);
    let waiter = waiting(&mut m, BATCH);
    m.advance(4 * MS);
    let own = waiting_for(&mut m, BATCH, 0);
    m.unhold(0);
    assert_eq!(m.running(0), Some(own));
    assert_eq!(preempts_after(&mut m, 5 * MS), 0);
    assert_eq!(preempts_after(&mut m, 1), 1);
    assert_eq!(m.running(0), Some(waiter));
}

/// Batch work that has just started on CPU 0, by force after so many runs of interactive work or not; other
/// batch work waits.
fn batch_after(interactive_runs: u32, knobs: &Knobs) -> (Machine, Task) {
    let mut m = held(2);
    m.set_knobs(knobs);
    let batch = begin_batch_after(&mut m, interactive_runs);
    (m, batch)
}

fn begin_batch_after(m: &mut Machine, interactive_runs: u32) -> Task {
    let batch = waiting(m, BATCH);
    waiting(m, BATCH);
    for _ in 0..interactive_runs {
        waiting(m, INTERACTIVE);
    }
    m.unhold(0);
    for _ in 0..interactive_runs {
        m.exit(0);
    }
    assert_eq!(m.running(0), Some(batch));
    batch
}

#[test]
fn batch_that_was_due_is_safe_from_the_tick_for_a_while() {
    let budget = Limits::for_cpus(2).deficit_budget;
    let knobs = with_knobs(|knobs| {
        knobs.preempt_thresh_ns = 10 * MS;
        knobs.sojourn_thresh_ns = MS;
    });
    for (interactive_runs, safe_ns) in [(budget, 10 * MS), (budget - 1, MS + 1)] {
        let (mut m, _) = batch_after(interactive_runs, &knobs);
        assert_eq!(preempts_after(&mut m, safe_ns - 1), 0, "{interactive_runs}");
        assert_eq!(preempts_after(&mut m, 1), 1, "{interactive_runs}");
    }
}

#[test]
fn batch_that_was_due_is_safe_from_wake_ups_for_as_long_as_the_knob_says() {
    let budget = Limits::for_cpus(2).deficit_budget;
    for (interactive_runs, thresh_ns, after_ns, is_safe) in [
        (budget, MS, MS - 1, true),
        (budget, MS, MS, false),
        (budget, 3 * MS, 3 * MS - 1, true),
        (budget, 3 * MS, 3 * MS, false),
        (budget - 1, MS, 0, false),
    ] {
        let knobs = with_knobs(|knobs| knobs.preempt_thresh_ns = thresh_ns);
        let (mut m, batch) = batch_after(interactive_runs, &knobs);
        m.advance(after_ns);
        let waker = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(waker, 10, 2, MS);
        m.interrupt(waker, 0);
        let expected = if is_safe { batch } else { waker };
        assert_eq!(m.running(0), Some(expected), "{thresh_ns} {after_ns}");
    }
}

#[test]
fn batch_that_was_due_stops_only_for_what_is_short_and_rare_and_is_still_due_after_it() {
    for (pause_ns, is_rare) in [(2 * MS, true), (300 * US, false)] {
        let mut m = held(2);
        let short = asleep(&mut m, INTERACTIVE, 0);
        m.unhold(0);
        m.interrupt(short, 0);
        m.advance(50 * US);
        m.sleep(0);
        m.hold(0);
        m.advance(pause_ns);
        // One of the runs that batch work has let go before it was that of the short one.
        let batch = begin_batch_after(&mut m, Limits::for_cpus(2).deficit_budget - 1);
        let other = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(other, 10, 2, MS);
        m.interrupt(other, 0);
        m.advance(90 * US);
        m.interrupt(short, 0);
        let expected = if is_rare { short } else { batch };
        assert_eq!(m.running(0), Some(expected));
        if is_rare {
            m.advance(50 * US);
            m.sleep(0);
        }
        assert_eq!(m.tier_on(0), BATCH);
        assert!(m.view(other).waits);
    }
}

// Bursts.

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
fn in_a_burst_a_new_task_stops_nothing() {
    for is_burst in [false, true] {
        let mut m = Machine::with_cpus(2);
        running(&mut m, BATCH, 0);
        if is_burst {
            start_burst(&mut m);
        }
        running(&mut m, BATCH, 1);
        m.advance(5 * MS);
        let new = m.task("new");
        m.fork(new, 0);
        assert_eq!(m.view(new).waits, is_burst);
    }
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

/// The slice on `cpu`, idle or busy with batch work, of a task that would like a longer one.
fn slice_of(m: &mut Machine, tier: u32, cpu: u32) -> u64 {
    let task = asleep(m, tier, cpu);
    m.set_vtime(task, -AHEAD);
    match tier {
        BATCH => m.set_history(task, 1, 1, 90 * MS),
        INTERACTIVE => m.set_history(task, 64, 20, 90 * MS),
        _ => m.set_history(task, 64, 100, 90 * MS),
    }
    assert_eq!(m.view(task).tier, tier);
    m.interrupt(task, cpu);
    assert_eq!(m.running(cpu), Some(task));
    m.view(task).slice_ns
}

fn short_in_bursts() -> Knobs {
    with_knobs(|knobs| knobs.burst_slice_ns = 300 * US)
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

// Longruns.

#[test]
fn batch_work_that_waits_for_two_seconds_makes_a_longrun_of_its_own_node() {
    let mut m = two_nodes();
    for cpu in 0..4 {
        m.hold(cpu);
    }
    waiting(&mut m, BATCH);
    m.advance(LONGRUN_NS);
    assert!(!m.is_longrun(0));
    m.advance(1);
    assert_eq!(
        [0, 1, 2, 3].map(|cpu| m.is_longrun(cpu)),
        [true, true, false, false]
    );
}

#[test]
fn interactive_work_makes_no_longrun() {
    let mut m = held(2);
    waiting(&mut m, INTERACTIVE);
    m.advance(LONGRUN_NS + 1);
    assert!(!m.is_longrun(0));
}

#[test]
fn only_an_empty_queue_ends_a_longrun() {
    let mut m = held(2);
    waiting(&mut m, BATCH);
    m.advance(MS);
    waiting(&mut m, BATCH);
    m.advance(LONGRUN_NS - MS + 1);
    m.unhold(0);
    m.advance(MS);
    assert!(m.is_longrun(0), "one is served, the other waits");
    m.exit(0);
    assert!(!m.is_longrun(0));
    m.hold(0);
    waiting(&mut m, BATCH);
    m.advance(LONGRUN_NS);
    assert!(
        !m.is_longrun(0),
        "it counts from when the queue was last empty"
    );
}

#[test]
fn a_longrun_leaves_as_many_runs_before_batch_as_there_are_cpus() {
    let limits = Limits::for_cpus(2);
    for (waited_ns, budget) in [
        (LONGRUN_NS - MS, limits.deficit_budget),
        (LONGRUN_NS - MS + 1, limits.longrun_budget),
    ] {
        let mut m = held(2);
        let batch = [(); 2].map(|()| waiting(&mut m, BATCH));
        waiting(&mut m, BATCH);
        m.advance(waited_ns);
        let others: Vec<Task> = (0..8).map(|_| waiting(&mut m, INTERACTIVE)).collect();
        m.unhold(0);
        assert_eq!(m.running(0), Some(batch[0]), "starved by then");
        m.advance(MS);
        m.exit(0);
        let ran = rest(&mut m);
        let turn = budget as usize;
        assert_eq!(ran[..turn], others[..turn]);
        assert_eq!(ran[turn], batch[1], "{waited_ns}");
    }
}

#[test]
fn a_longrun_cuts_the_slices_of_sleepers_only() {
    for (tier, usual_ns, longrun_ns) in [
        (BATCH, 2 * 20 * MS / 3, 2 * 20 * MS / 3),
        (INTERACTIVE, MS, 300 * US),
        (LAT_CRITICAL, MS, 300 * US),
    ] {
        for (waited_ns, expected) in [(LONGRUN_NS, usual_ns), (LONGRUN_NS + 1, longrun_ns)] {
            let mut m = Machine::with_cpus(2);
            m.set_knobs(&short_in_bursts());
            running(&mut m, BATCH, 0);
            m.hold(1);
            waiting(&mut m, BATCH);
            m.advance(waited_ns);
            assert_eq!(slice_of(&mut m, tier, 0), expected, "{tier} {waited_ns}");
        }
    }
}

#[test]
fn interactive_and_batch_work_have_queues_of_their_own_at_all_times() {
    let mut m = held(2);
    waiting(&mut m, BATCH);
    for is_longrun in [false, true] {
        let before = [Kind::Interactive, Kind::Batch].map(|kind| m.waiting_in_node(0, kind));
        assert_eq!(m.is_longrun(0), is_longrun);
        for tier in [BATCH, INTERACTIVE, LAT_CRITICAL] {
            waiting(&mut m, tier);
        }
        let after = [Kind::Interactive, Kind::Batch].map(|kind| m.waiting_in_node(0, kind));
        assert_eq!(after, [before[0] + 2, before[1] + 1]);
        m.advance(LONGRUN_NS + 1);
    }
}

// Suspends.

#[test]
fn nothing_waited_while_the_machine_was_suspended() {
    for (gap_ns, preempts) in [(SUSPENDED_NS, 1), (SUSPENDED_NS + 1, 0)] {
        let mut m = Machine::with_cpus(2);
        running(&mut m, BATCH, 0);
        m.hold(1);
        m.tick(0);
        waiting(&mut m, BATCH);
        assert_eq!(preempts_after(&mut m, gap_ns), preempts, "{gap_ns}");
        assert_eq!(m.counter(Counter::StarvationRescues), preempts);
    }
}

#[test]
fn a_suspend_is_no_part_of_a_longrun() {
    for (gap_ns, is_longrun) in [(SUSPENDED_NS, true), (SUSPENDED_NS + 1, false)] {
        let mut m = Machine::with_cpus(2);
        running(&mut m, BATCH, 0);
        m.hold(1);
        m.tick(0);
        for _ in 0..2 {
            waiting(&mut m, BATCH);
        }
        m.advance(gap_ns);
        m.tick(0);
        m.advance(1);
        assert_eq!(m.is_longrun(0), is_longrun, "{gap_ns}");
        m.advance(LONGRUN_NS);
        assert!(m.is_longrun(0));
    }
}

#[test]
fn what_waits_after_a_suspend_counts_from_its_end() {
    let mut m = Machine::with_cpus(2);
    m.set_knobs(&with_knobs(|knobs| knobs.batch_slice_ns = 25 * MS));
    running(&mut m, BATCH, 0);
    m.hold(1);
    m.tick(0);
    let waiter = waiting(&mut m, BATCH);
    m.advance(SUSPENDED_NS + 1);
    m.tick(0);
    assert_eq!(
        m.running(0),
        Some(waiter),
        "the slice of the other was over"
    );
    assert_eq!(preempts_after(&mut m, 5 * MS), 0);
    assert_eq!(preempts_after(&mut m, 1), 1);
}

// The batch queue's wait.

#[test]
fn a_batch_queue_waits_since_it_was_last_served_not_since_its_task_came() {
    for sojourn_ns in [2 * MS, 5 * MS] {
        for (since_ns, rescues) in [(sojourn_ns, 0), (sojourn_ns + 1, 1)] {
            let mut m = held(2);
            m.set_knobs(&with_knobs(|knobs| knobs.sojourn_thresh_ns = sojourn_ns));
            let batch = [(); 2].map(|()| waiting(&mut m, BATCH));
            m.advance(sojourn_ns);
            m.unhold(0);
            assert_eq!(m.running(0), Some(batch[0]));
            m.advance(since_ns);
            m.exit(0);
            assert_eq!(m.running(0), Some(batch[1]));
            assert_eq!(m.counter(Counter::SojournRescues), rescues, "{since_ns}");
        }
    }
}

#[test]
fn a_batch_queue_that_was_empty_waits_since_work_came() {
    let mut m = held(2);
    waiting(&mut m, BATCH);
    order(&mut m);
    m.hold(0);
    m.advance(100 * MS);
    let task = waiting(&mut m, BATCH);
    m.advance(5 * MS);
    assert_eq!(order(&mut m), [task]);
    assert_eq!(m.counter(Counter::SojournRescues), 0);
}

// Knobs written while tasks run.

#[test]
fn the_preemption_threshold_counts_from_the_next_tick_on() {
    let mut m = Machine::with_cpus(2);
    m.set_knobs(&with_knobs(|knobs| knobs.preempt_thresh_ns = 10 * MS));
    running(&mut m, BATCH, 0);
    displaced(&mut m);
    assert_eq!(preempts_after(&mut m, 2 * MS), 0);
    m.set_knobs(&Knobs::default());
    assert_eq!(preempts_after(&mut m, 0), 1);
}

#[test]
fn the_sojourn_threshold_counts_from_the_next_tick_on() {
    let mut m = Machine::with_cpus(2);
    running(&mut m, BATCH, 0);
    m.hold(1);
    waiting(&mut m, BATCH);
    assert_eq!(preempts_after(&mut m, 3 * MS), 0);
    m.set_knobs(&with_knobs(|knobs| knobs.sojourn_thresh_ns = 2 * MS));
    assert_eq!(preempts_after(&mut m, 0), 1);
}

#[test]
fn the_longest_slices_count_from_the_next_start_on() {
    let mut m = Machine::with_cpus(2);
    for (tier, before_ns, after_ns) in [(BATCH, 20 * MS, 7 * MS), (INTERACTIVE, MS, 500 * US)] {
        m.set_knobs(&Knobs::default());
        assert_eq!(slice_of(&mut m, tier, 0), before_ns);
        m.set_knobs(&with_knobs(|knobs| {
            knobs.batch_slice_ns = 7 * MS;
            knobs.slice_ns = 500 * US;
        }));
        assert_eq!(slice_of(&mut m, tier, 1), after_ns);
        m.sleep(0);
        m.sleep(1);
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
