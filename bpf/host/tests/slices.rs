//! How long a task may run at once.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, Counter, INTERACTIVE, LAT_CRITICAL, Machine};
use pandemonium_bpf_host::scenes::{
    AHEAD, asleep, displaced, held, running, slice_of, waiting, waiting_for, with_knobs,
};
use pandemonium_policy::{Knobs, Settings};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

const KTHREAD: u32 = 0x20_0000;

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
    // A round of 8 ms for all.
    assert_eq!(batch_slice(100, 1, 20 * MS), 4 * MS);
    assert_eq!(batch_slice(100, 3, 20 * MS), 2 * MS);
    assert_eq!(batch_slice(50, 1, 20 * MS), 2 * MS);
}

#[test]
fn interactive_work_that_waits_shortens_a_batch_slice_as_batch_work_does() {
    for tier in [BATCH, INTERACTIVE] {
        for is_bound in [false, true] {
            let mut m = Machine::with_cpus(1);
            running(&mut m, INTERACTIVE, 0);
            m.exit(0);
            m.hold(0);
            let hog = asleep(&mut m, BATCH, 0);
            m.set_vtime(hog, -AHEAD);
            m.interrupt(hog, 0);
            // So long that some batch work comes before everything else.
            m.advance(5 * MS);
            for _ in 0..3 {
                if is_bound {
                    waiting_for(&mut m, tier, 0);
                } else {
                    waiting(&mut m, tier);
                }
            }
            m.unhold(0);
            assert_eq!(m.running(0), Some(hog), "{tier} {is_bound}");
            assert_eq!(m.view(hog).slice_ns, 8 * MS / 4, "{tier} {is_bound}");
        }
    }
}

#[test]
fn what_waits_for_one_cpu_alone_shortens_its_batch_slices_the_most() {
    for (is_bound, slice_ns) in [
        (false, 2 * 8 * MS / (1 + 7)),
        (true, 2 * 8 * MS / (1 + 2 * 7)),
    ] {
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
fn interrupted_work_starts_with_what_was_left_of_its_slice() {
    for (tier, run_ns, slices_ns) in [
        // The third start is after the end of the slice.
        (
            INTERACTIVE,
            150 * US,
            [200 * US, 50 * US, 200 * US, 50 * US],
        ),
        (BATCH, 3 * MS, [20 * MS, 17 * MS, 14 * MS, 11 * MS]),
        // Less than a millisecond of batch work is not worth another switch.
        (BATCH, 19 * MS + MS / 2, [20 * MS; 4]),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = running(&mut m, tier, 0);
        for slice_ns in slices_ns {
            assert_eq!(m.view(task).slice_ns, slice_ns, "{tier} after {run_ns}");
            m.advance(run_ns);
            m.hold(0);
            m.unhold(0);
        }
    }
}

#[test]
fn a_slice_ends_when_it_should_however_often_what_runs_is_changed() {
    for tier in [BATCH, INTERACTIVE] {
        let mut m = Machine::with_cpus(2);
        let task = running(&mut m, tier, 0);
        let slice_ns = m.view(task).slice_ns;
        for part in 1..50 {
            m.advance(slice_ns / 50);
            m.change(task, 1);
            assert_eq!(m.view(task).slice_ns, slice_ns - part * slice_ns / 50);
        }
        m.advance(slice_ns);
        m.change(task, 1);
        assert_eq!(m.view(task).slice_ns, 1, "it is over at the next tick");
    }
}

#[test]
fn batch_work_that_is_interrupted_goes_on_before_the_others() {
    let mut m = Machine::with_cpus(1);
    let task = running(&mut m, BATCH, 0);
    let other = waiting(&mut m, BATCH);
    let waker = asleep(&mut m, LAT_CRITICAL, 0);
    m.advance(3 * MS);
    let left_ns = m.view(task).slice_ns;
    m.interrupt(waker, 0);
    assert_eq!(m.running(0), Some(waker));
    m.advance(50 * US);
    m.sleep(0);
    assert_eq!(m.running(0), Some(task));
    m.advance(left_ns);
    m.tick(0);
    assert_eq!(m.running(0), Some(other));
}

#[test]
fn batch_work_that_gives_way_comes_after_all_that_waits_even_if_that_has_had_more() {
    let mut m = Machine::with_cpus(1);
    let task = running(&mut m, BATCH, 0);
    let others = [BATCH; 2].map(|tier| waiting(&mut m, tier));
    for _ in 0..3 {
        for next in [others[0], others[1], task] {
            m.give_way(0);
            assert_eq!(m.running(0), Some(next));
            m.advance(100 * US);
        }
    }
    // With a new slice, not with what was left of the last.
    assert_eq!(m.view(task).slice_ns, 8 * MS / 3);
}

#[test]
fn interactive_work_that_gives_way_does_so_among_its_like() {
    let mut m = Machine::with_cpus(1);
    let task = running(&mut m, INTERACTIVE, 0);
    let slice_ns = m.view(task).slice_ns;
    let hog = waiting(&mut m, BATCH);
    let other = waiting(&mut m, INTERACTIVE);
    for next in [other, task, other, task] {
        m.advance(20 * US);
        m.give_way(0);
        assert_eq!(m.running(0), Some(next));
        assert_eq!(m.view(next).slice_ns, slice_ns);
    }
    m.exit(0);
    m.give_way(0);
    assert_eq!((m.running(0), m.view(hog).waits), (Some(other), true));
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
    m.change(last, 0);
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
