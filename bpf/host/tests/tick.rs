//! What the tick takes back, and what is safe from it.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_bpf_host::scenes::{
    AHEAD, asleep, displaced, held, preempts_after, running, two_nodes, waiting, waiting_for,
    with_knobs,
};
use pandemonium_policy::{Knobs, Limits};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

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
        m.advance(2 * MS);
        let waiter = waiting(&mut m, BATCH);
        assert_eq!(preempts_after(&mut m, sojourn_ns), 0);
        assert_eq!(preempts_after(&mut m, 1), 1, "{sojourn_ns}");
        assert_eq!(m.running(0), Some(waiter));
    }
}

#[test]
fn a_slice_that_began_when_nobody_waited_ends_when_one_that_began_now_would() {
    for (weight, waiters, slice_us) in [(100, 1, 7_500), (200, 1, 15_000), (100, 3, 4_000)] {
        let mut m = Machine::with_cpus(2);
        m.set_knobs(&with_knobs(|knobs| knobs.sojourn_thresh_ns = 100 * MS));
        let runner = running(&mut m, BATCH, 0);
        m.set_weight(runner, weight);
        m.hold(1);
        for _ in 0..waiters {
            waiting(&mut m, BATCH);
        }
        assert_eq!(preempts_after(&mut m, slice_us * US - 1), 0, "{waiters}");
        assert_eq!(preempts_after(&mut m, 1), 1, "{weight} {waiters}");
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

/// Batch work that has just started on CPU 0, by force after so many runs of interactive work, a millisecond together, or
/// not; other batch work waits.
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
        m.advance(170 * US);
        m.exit(0);
    }
    assert_eq!(m.running(0), Some(batch));
    batch
}

#[test]
fn batch_that_was_due_is_safe_from_the_tick_for_a_while() {
    let budget = Limits::for_cpus(2).deficit_budget;
    let knobs = with_knobs(|knobs| {
        knobs.preempt_thresh_ns = 4 * MS;
        knobs.sojourn_thresh_ns = MS;
    });
    for (interactive_runs, safe_ns) in [(budget, 4 * MS), (budget - 1, MS + 1)] {
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
fn a_turn_of_batch_work_that_sleeps_protects_nobody_after_it() {
    let knobs = with_knobs(|knobs| knobs.preempt_thresh_ns = 3 * MS);
    let (mut m, _) = batch_after(Limits::for_cpus(2).deficit_budget, &knobs);
    m.advance(100 * US);
    while m.running(0).is_some() {
        m.sleep(0);
    }
    let next = asleep(&mut m, INTERACTIVE, 0);
    m.bind(next, &[0]);
    m.interrupt(next, 0);
    assert_eq!(m.running(0), Some(next));
    let waker = asleep(&mut m, LAT_CRITICAL, 0);
    m.set_history(waker, 10, 2, MS);
    m.settle_as(waker, LAT_CRITICAL);
    m.bind(waker, &[0]);
    m.interrupt(waker, 0);
    assert_eq!(m.running(0), Some(waker));
}

#[test]
fn batch_that_was_due_stops_only_for_what_is_short_and_rare_and_is_still_due_after_it() {
    for (pause_ns, is_rare) in [(4 * MS, true), (MS, false)] {
        let mut m = held(2);
        let short = asleep(&mut m, INTERACTIVE, 0);
        m.unhold(0);
        m.interrupt(short, 0);
        m.advance(200 * US);
        m.sleep(0);
        m.set_history(short, 10, 2, 200 * US);
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

/// Batch work on CPU 0, at the beginning of a turn: since it woke it has computed, but for so many sleeps.
fn computing(m: &mut Machine, sleeps: u32) -> Task {
    let task = m.task("computes");
    m.fork(task, 0);
    for _ in 0..=sleeps {
        m.sleep(0);
        m.interrupt(task, 0);
        m.run_for(100 * MS);
    }
    assert_eq!(m.tier_on(0), BATCH);
    m.hold(0);
    m.unhold(0);
    m.set_vtime(task, 0);
    assert_eq!(m.running(0), Some(task));
    task
}

#[test]
fn what_computes_makes_room_for_a_program_that_never_slept_and_a_sleeper_does_not() {
    for (sleeps, makes_room) in [(0, true), (1, false)] {
        let mut m = Machine::with_cpus(1);
        let runner = computing(&mut m, sleeps);
        let before = m.counter(Counter::TickPreempts);
        let program = m.task("program");
        m.fork(program, 0);
        assert!(m.view(program).waits);
        assert_eq!(preempts_after(&mut m, 2 * MS - 1), before);
        let preempts = preempts_after(&mut m, 1) - before;
        assert_eq!(preempts, u64::from(makes_room), "{sleeps}");
        let expected = if makes_room { program } else { runner };
        assert_eq!(m.running(0), Some(expected));
    }
}

#[test]
fn what_computes_does_not_make_room_for_what_has_slept_before_its_turn_is_over() {
    let mut m = Machine::with_cpus(1);
    computing(&mut m, 0);
    let before = m.counter(Counter::TickPreempts);
    waiting(&mut m, BATCH);
    assert_eq!(preempts_after(&mut m, 3 * MS), before);
}

#[test]
fn a_program_that_never_slept_does_not_make_room_for_another() {
    let mut m = Machine::with_cpus(1);
    let first = m.task("first");
    m.fork(first, 0);
    let second = m.task("second");
    m.fork(second, 0);
    assert!(m.view(second).waits);
    assert_eq!(preempts_after(&mut m, 3 * MS), 0);
    assert_eq!(m.running(0), Some(first));
}

#[test]
fn a_cpu_that_goes_offline_notices_that_the_last_task_has_left_it_for_another() {
    for sleeps_at_once in [false, true] {
        let mut m = Machine::with_cpus(2);
        m.hold(0);
        let task = displaced(&mut m);
        m.begin_offline(1);
        m.unhold(1);
        assert!(!m.is_left(1), "the task waits, and was last there");
        m.unhold(0);
        assert_eq!(m.running(0), Some(task));
        if sleeps_at_once {
            m.sleep(0);
        } else {
            m.advance(MS);
            m.tick(0);
        }
        assert!(m.is_left(1), "sleeps at once: {sleeps_at_once}");
        m.take_offline(1);
        assert_eq!(m.error(), None);
    }
}

#[test]
fn a_threshold_of_zero_does_not_make_batch_work_of_the_cpu_due_all_the_time() {
    for thresh_ns in [0, MS] {
        let mut m = held(2);
        m.set_knobs(&with_knobs(|knobs| knobs.preempt_thresh_ns = thresh_ns));
        m.unhold(0);
        let earlier = asleep(&mut m, INTERACTIVE, 0);
        m.interrupt(earlier, 0);
        m.advance(2 * MS);
        let hog = waiting_for(&mut m, BATCH, 0);
        let waiter = waiting(&mut m, INTERACTIVE);
        m.sleep(0);
        assert_eq!(m.running(0), Some(waiter), "{thresh_ns}");
        assert!(m.view(hog).waits);
    }
}
