//! Under load: slices, what the tick takes back, bursts, longruns and suspends, and virtual time.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_policy::limits::{BURST_WINDOW_NS, LONGRUN_NS};
use pandemonium_policy::{Cpu, Knobs, Limits, Settings, Topology};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

const KTHREAD: u32 = 0x20_0000;
/// A burst lasts this long after its last sign.
const BURST_HOLD_NS: u64 = 20 * MS;
/// Without a tick for longer than this, the machine was suspended.
const SUSPENDED_NS: u64 = 2_000 * MS;
/// Batch work ahead of its queue's clock by this is no reason to preempt other batch work.
const AHEAD: i64 = MS as i64;

fn with_knobs(change: impl FnOnce(&mut Knobs)) -> Knobs {
    let mut knobs = Knobs::default();
    change(&mut knobs);
    knobs
}

/// So many CPUs that a higher class holds, so that whatever wakes has to queue.
fn held(nr_cpus: u32) -> Machine {
    let mut m = Machine::with_cpus(nr_cpus);
    for cpu in 0..nr_cpus {
        m.hold(cpu);
    }
    m
}

/// A settled task that sleeps; it ran on `cpu` last.
fn asleep(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = m.task("task");
    m.enter(task, cpu);
    m.settle_as(task, tier);
    task
}

/// A settled task that waits in the queue of its node and preempts no batch work.
fn waiting(m: &mut Machine, tier: u32) -> Task {
    let task = asleep(m, tier, 0);
    m.set_vtime(task, AHEAD);
    m.interrupt(task, 0);
    assert!(m.view(task).waits);
    task
}

/// The same in the queue of a CPU.
fn waiting_for(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = asleep(m, tier, cpu);
    m.set_vtime(task, AHEAD);
    m.bind(task, &[cpu]);
    m.interrupt(task, cpu);
    assert!(m.view(task).waits);
    task
}

/// A settled task that has just started on `cpu`, which is idle.
fn running(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = asleep(m, tier, cpu);
    m.set_vtime(task, 0);
    m.interrupt(task, cpu);
    assert_eq!(m.running(cpu), Some(task));
    task
}

/// Interactive work that waits in the queue of the node, after CPU 1 was taken from it.
fn displaced(m: &mut Machine) -> Task {
    let task = running(m, INTERACTIVE, 1);
    m.hold(1);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 1);
    task
}

/// CPU 0 comes free and runs what it takes, each until it ends.
fn order(m: &mut Machine) -> Vec<Task> {
    let mut ran = Vec::new();
    m.unhold(0);
    while let Some(task) = m.running(0) {
        ran.push(task);
        m.exit(0);
    }
    ran
}

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
        m.predict("pinned", INTERACTIVE, 10, 2, MS / 10);
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
    let batch = waiting(&mut m, BATCH);
    waiting(&mut m, BATCH);
    for _ in 0..interactive_runs {
        waiting(&mut m, INTERACTIVE);
    }
    m.unhold(0);
    for _ in 0..interactive_runs {
        m.exit(0);
    }
    assert_eq!(m.running(0), Some(batch));
    (m, batch)
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
        m.interrupt(waker, 0);
        let expected = if is_safe { batch } else { waker };
        assert_eq!(m.running(0), Some(expected), "{thresh_ns} {after_ns}");
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

/// Two nodes of two CPUs each.
fn two_nodes() -> Machine {
    let cpus = (0..4).map(|id| Cpu {
        id,
        online: true,
        core: id,
        l2: id,
        l3: id / 2,
        node: id / 2,
        max_khz: 0,
    });
    Machine::new(&Topology {
        cpus: cpus.collect(),
    })
}

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
        (LONGRUN_NS, limits.deficit_budget),
        (LONGRUN_NS + 1, limits.longrun_budget),
    ] {
        let mut m = held(2);
        let batch = [(); 2].map(|()| waiting(&mut m, BATCH));
        waiting(&mut m, BATCH);
        m.advance(waited_ns);
        let others: Vec<Task> = (0..8).map(|_| waiting(&mut m, INTERACTIVE)).collect();
        let ran = order(&mut m);
        let turn = budget as usize + 1;
        assert_eq!(ran[0], batch[0], "starved by then, its queue is served");
        assert_eq!(ran[1..turn], others[..turn - 1]);
        assert_eq!(ran[turn], batch[1], "{waited_ns}");
    }
}

#[test]
fn a_longrun_cuts_the_slices_of_sleepers_only() {
    for (tier, usual_ns, longrun_ns) in [
        (BATCH, 20 * MS, 20 * MS),
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

// Slices.

#[test]
fn a_sleeper_gets_a_multiple_of_what_it_usually_needs() {
    for (tier, average_ns, slice_ns) in [
        (INTERACTIVE, 300 * US, 600 * US),
        (LAT_CRITICAL, 300 * US, 450 * US),
        (INTERACTIVE, 20 * US, 100 * US),
        (LAT_CRITICAL, 20 * US, 100 * US),
        (INTERACTIVE, 900 * US, MS),
        (LAT_CRITICAL, 900 * US, MS),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = asleep(&mut m, tier, 0);
        m.set_history(
            task,
            10,
            if tier == INTERACTIVE { 2 } else { 10 },
            average_ns,
        );
        m.interrupt(task, 0);
        let view = m.view(task);
        assert_eq!((view.tier, view.slice_ns), (tier, slice_ns), "{average_ns}");
    }
}

/// The slice of a batch task of this weight, while so many others wait.
fn batch_slice(weight: u32, others: u32, batch_slice_ns: u64) -> u64 {
    let mut m = held(1);
    m.set_knobs(&with_knobs(|knobs| knobs.batch_slice_ns = batch_slice_ns));
    for _ in 0..=others {
        let task = asleep(&mut m, BATCH, 0);
        m.set_weight(task, weight);
        m.interrupt(task, 0);
    }
    m.unhold(0);
    m.view(m.running(0).unwrap()).slice_ns
}

#[test]
fn a_batch_slice_follows_the_weight_the_waiters_and_the_knob() {
    assert_eq!(batch_slice(100, 0, 20 * MS), 20 * MS);
    assert_eq!(batch_slice(100, 0, 5 * MS), 5 * MS);
    assert_eq!(batch_slice(50, 0, 20 * MS), 10 * MS);
    assert_eq!(batch_slice(200, 0, 20 * MS), 20 * MS);
    assert_eq!(batch_slice(1, 0, 20 * MS), MS);
    // A round of 80 ms for all.
    assert_eq!(batch_slice(100, 3, 20 * MS), 20 * MS);
    assert_eq!(batch_slice(100, 7, 20 * MS), 10 * MS);
    assert_eq!(batch_slice(50, 7, 20 * MS), 5 * MS);
}

#[test]
fn what_waits_for_one_cpu_alone_shortens_its_batch_slices_the_most() {
    for (is_bound, slice_ns) in [(false, 20 * MS), (true, 2 * 80 * MS / (1 + 2 * 7))] {
        let mut m = held(2);
        for _ in 0..7 {
            if is_bound {
                waiting_for(&mut m, BATCH, 0);
            } else {
                waiting(&mut m, BATCH);
            }
        }
        let task = asleep(&mut m, BATCH, 0);
        m.set_vtime(task, -AHEAD);
        m.bind(task, if is_bound { &[0] } else { &[0, 1] });
        m.interrupt(task, 0);
        m.unhold(0);
        assert_eq!(m.running(0), Some(task));
        assert_eq!(m.view(task).slice_ns, slice_ns);
    }
}

#[test]
fn every_start_gets_a_whole_new_slice() {
    for (tier, slice_ns, run_ns) in [(INTERACTIVE, 200 * US, 150 * US), (BATCH, 20 * MS, 3 * MS)] {
        let mut m = Machine::with_cpus(1);
        let task = running(&mut m, tier, 0);
        assert_eq!(m.view(task).slice_ns, slice_ns);
        for _ in 0..3 {
            m.advance(run_ns);
            m.hold(0);
            assert_eq!(m.view(task).ran_ns % run_ns, 0);
            m.unhold(0);
            assert_eq!(m.view(task).slice_ns, slice_ns);
        }
    }
}

#[test]
fn what_runs_on_a_cpu_that_goes_offline_has_a_slice_without_end() {
    let mut m = Machine::with_cpus(2);
    m.choose(&Settings {
        local_kthreads: true,
        ..Default::default()
    });
    let last = running(&mut m, BATCH, 1);
    let kthread = asleep(&mut m, INTERACTIVE, 1);
    m.set_flags(kthread, KTHREAD);
    m.bind(kthread, &[1]);
    m.interrupt(kthread, 1);
    m.begin_offline(1);
    assert_eq!(m.view(last).slice_ns, u64::MAX);
    m.sleep(1);
    assert_eq!(m.running(1), Some(kthread));
    assert_eq!(m.view(kthread).slice_ns, u64::MAX);
    m.advance(100 * MS);
    m.tick(1);
    assert_eq!(m.running(1), Some(kthread));
    assert_eq!(m.view(kthread).slice_ns, u64::MAX);
}

#[test]
fn the_tick_takes_nothing_from_a_cpu_that_goes_offline() {
    for (goes_offline, preempts) in [(false, 1), (true, 0)] {
        let mut m = Machine::with_cpus(3);
        let hog = running(&mut m, BATCH, 2);
        m.hold(0);
        displaced(&mut m);
        if goes_offline {
            m.begin_offline(2);
        }
        m.advance(MS + 1);
        m.tick(2);
        assert_eq!(m.counter(Counter::TickPreempts), preempts);
        assert_eq!(m.running(2) == Some(hog), goes_offline);
    }
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

#[test]
fn the_lag_scale_counts_from_the_next_wake_up_on() {
    let mut m = Machine::with_cpus(1);
    assert_eq!(lag_of_waking(&mut m, -FAR), -400 * MS as i64);
    m.sleep(0);
    m.set_knobs(&with_knobs(|knobs| knobs.lag_scale = 8));
    assert_eq!(lag_of_waking(&mut m, -FAR), -800 * MS as i64);
}

// Virtual time.

/// Far from every clock, ns.
const FAR: i64 = 10_000 * MS as i64;

fn lag(m: &Machine, task: Task) -> i64 {
    let view = m.view(task);
    view.vtime.wrapping_sub(view.clock).cast_signed()
}

/// The virtual time against its queue's clock with which an interactive task of 10 wake-ups per 100 ms
/// starts on CPU 0 at once.
fn lag_of_waking(m: &mut Machine, vtime: i64) -> i64 {
    let task = asleep(m, INTERACTIVE, 0);
    m.set_vtime(task, vtime);
    m.interrupt(task, 0);
    assert_eq!(m.running(0), Some(task));
    lag(m, task)
}

#[test]
fn sleeping_buys_credit_by_how_often_a_task_wakes() {
    for (freq, credit_ms) in [(1, 40), (10, 400), (30, 1200), (64, 2560)] {
        let mut m = Machine::with_cpus(1);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(task, freq, 8, MS / 10);
        m.set_vtime(task, -FAR);
        m.interrupt(task, 0);
        assert_eq!(lag(&m, task), -credit_ms * MS as i64, "{freq}");
    }
}

#[test]
fn the_credit_shrinks_with_what_waits_for_each_cpu() {
    let mut m = held(2);
    for waiting_per_cpu in 0..4 {
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_vtime(task, -FAR);
        m.interrupt(task, 0);
        assert_eq!(lag(&m, task), -400 * MS as i64 / (waiting_per_cpu + 1));
        for _ in 0..2 {
            waiting(&mut m, BATCH);
        }
    }
}

#[test]
fn batch_work_keeps_little_credit() {
    let mut m = held(2);
    let task = asleep(&mut m, BATCH, 0);
    m.set_vtime(task, -FAR);
    m.interrupt(task, 0);
    assert_eq!(lag(&m, task), -20 * MS as i64);
}

#[test]
fn the_slice_lag_adds_to_the_credit_or_takes_from_it() {
    for lag_ns in [5 * MS as i64, -5 * MS as i64] {
        let mut m = Machine::with_cpus(1);
        m.choose(&Settings {
            slice_lag_ns: lag_ns,
            ..Default::default()
        });
        let expected = -400 * MS as i64 - lag_ns;
        assert_eq!(lag_of_waking(&mut m, -FAR), expected);
    }
}

#[test]
fn a_waking_task_is_not_far_ahead_of_the_clock_either() {
    for (nr_cpus, ceiling) in [(2, 250 * MS), (7, 250 * MS), (8, 30 * MS)] {
        let mut m = Machine::with_cpus(nr_cpus);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_vtime(task, FAR);
        let before = m.view(task).vtime;
        m.interrupt(task, 0);
        let moved = before.wrapping_sub(m.view(task).vtime);
        assert_eq!(moved, FAR.cast_unsigned() - ceiling, "{nr_cpus}");
    }
}

#[test]
fn within_these_bounds_waking_leaves_virtual_time_alone() {
    for vtime in [-399 * MS as i64, 0] {
        let mut m = Machine::with_cpus(1);
        assert_eq!(lag_of_waking(&mut m, vtime), vtime);
    }
}

#[test]
fn the_place_in_the_queue_counts_the_time_already_awake() {
    for (tier, awake_ms, penalty_ms) in [
        (INTERACTIVE, 2, 2),
        (INTERACTIVE, 30, 30),
        (INTERACTIVE, 31, 30),
        (LAT_CRITICAL, 2, 2),
        (LAT_CRITICAL, 31, 20),
        (BATCH, 31, 0),
    ] {
        let mut m = Machine::with_cpus(1);
        m.set_knobs(&with_knobs(|knobs| knobs.cpu_bound_thresh_ns = 100 * MS));
        let task = running(&mut m, tier, 0);
        m.advance(awake_ms * MS);
        m.hold(0);
        let view = m.view(task);
        assert!(view.waits);
        assert_eq!(
            view.deadline - view.vtime,
            penalty_ms * MS,
            "{tier} {awake_ms}"
        );
    }
}

#[test]
fn a_task_that_ran_on_sinks_behind_one_that_just_woke() {
    // It has used 4/3 ms of virtual time and been awake for 2.
    for (vtime, fresh_first) in [(3 * AHEAD, true), (4 * AHEAD, false)] {
        let mut m = Machine::with_cpus(1);
        let ran_on = running(&mut m, INTERACTIVE, 0);
        m.advance(2 * MS);
        m.hold(0);
        let fresh = asleep(&mut m, INTERACTIVE, 0);
        m.set_vtime(fresh, vtime);
        m.interrupt(fresh, 0);
        let expected = if fresh_first {
            [fresh, ran_on]
        } else {
            [ran_on, fresh]
        };
        assert_eq!(order(&mut m), expected);
    }
}

#[test]
fn tiers_and_weights_divide_what_a_run_costs() {
    for (tier, weight, cost_ns) in [
        (BATCH, 100, 3 * MS),
        (INTERACTIVE, 100, 2 * MS),
        (LAT_CRITICAL, 100, 1_500 * US),
        (BATCH, 200, 1_500 * US),
        (LAT_CRITICAL, 50, 3 * MS),
    ] {
        let mut m = Machine::with_cpus(1);
        m.set_knobs(&with_knobs(|knobs| knobs.cpu_bound_thresh_ns = 100 * MS));
        let task = asleep(&mut m, tier, 0);
        m.set_weight(task, weight);
        m.interrupt(task, 0);
        let before = m.view(task).vtime;
        m.advance(3 * MS);
        m.sleep(0);
        assert_eq!(
            m.view(task).vtime.wrapping_sub(before),
            cost_ns,
            "{tier} {weight}"
        );
    }
}

/// The clock of the queue that a task has just started from on CPU 0, and its move since before.
fn clock_after_start(m: &mut Machine, tier: u32, vtime: i64) -> u64 {
    let task = asleep(m, tier, 0);
    m.set_vtime(task, vtime);
    m.interrupt(task, 0);
    m.unhold(0);
    assert_eq!(m.running(0), Some(task));
    let clock = m.view(task).clock;
    m.exit(0);
    m.hold(0);
    clock
}

#[test]
fn a_clock_is_that_of_the_latest_start_and_never_goes_back() {
    let mut m = held(1);
    let clocks = [5, 3, -3, 7].map(|vtime| clock_after_start(&mut m, INTERACTIVE, vtime * AHEAD));
    assert_eq!(clocks, [5 * MS, 8 * MS, 8 * MS, 15 * MS]);
}

#[test]
fn a_task_that_goes_first_because_it_waited_does_not_move_the_clock() {
    for (waited_ns, clock) in [(300 * MS, 200 * MS), (300 * MS + 1, 0)] {
        let mut m = held(1);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_vtime(task, 200 * AHEAD);
        m.interrupt(task, 0);
        m.advance(waited_ns);
        m.unhold(0);
        assert_eq!(m.view(task).clock, clock, "{waited_ns}");
        m.sleep(0);
        m.interrupt(task, 0);
        assert_eq!(m.view(task).clock, 200 * MS, "the next start does");
    }
}

#[test]
fn the_clock_of_a_batch_queue_moves_by_what_its_tasks_get_shared_by_all_of_them() {
    for (others, clock) in [(0, 6 * MS), (1, 3 * MS), (2, 2 * MS)] {
        let mut m = held(1);
        for _ in 0..others {
            waiting(&mut m, BATCH);
        }
        let task = asleep(&mut m, BATCH, 0);
        m.set_vtime(task, -10 * AHEAD);
        m.interrupt(task, 0);
        m.unhold(0);
        assert_eq!(m.running(0), Some(task));
        m.advance(6 * MS);
        m.sleep(0);
        // What starts next may move it to its own virtual time, 1 ms.
        assert_eq!(m.view(task).clock, clock, "{others}");
    }
}
