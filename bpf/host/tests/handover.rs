//! Who waits for a CPU that is about to come free: that of a waker, or the one where the cache is warm.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_bpf_host::scenes::{self, asleep, busy, runner, with_knobs};
use pandemonium_policy::knobs::{AFFINITY_STRONG, AFFINITY_WEAK};
use pandemonium_policy::{Cpu, Topology};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const PF_KTHREAD: u32 = 0x20_0000;

/// Four CPUs, two to each second-level cache.
fn two_l2() -> Machine {
    let cpus = (0..4).map(|id| Cpu {
        id,
        online: true,
        core: id,
        l2: id / 2,
        l3: 0,
        node: 0,
        max_khz: 0,
    });
    Machine::new(&Topology {
        cpus: cpus.collect(),
    })
}

fn with_affinity(m: &mut Machine, affinity_mode: u64) {
    m.set_knobs(&with_knobs(|knobs| knobs.affinity_mode = affinity_mode));
}

#[test]
fn a_waker_about_to_sleep_hands_its_cpu_over() {
    let mut m = busy(2, INTERACTIVE);
    let task = asleep(&mut m, INTERACTIVE, 1);
    m.wake_sync(task, 0);
    assert_eq!(m.waiting_for(0, Kind::Interactive), 1);
    m.sleep(0);
    assert_eq!(m.running(0), Some(task));
}

#[test]
fn only_a_waker_that_is_nearly_done_is_better_than_the_idle_cpu_of_the_cache() {
    for (usual_ns, ran_ns, waits) in [
        (20 * US, 10 * US, true),
        (20 * US, 30 * US, false),
        (MS, 10 * US, false),
    ] {
        let mut m = Machine::with_cpus(2);
        let waker = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(waker, 10, 2, usual_ns);
        m.interrupt(waker, 0);
        m.advance(ran_ns);
        let task = asleep(&mut m, INTERACTIVE, 1);
        m.wake_sync(task, 0);
        assert_eq!(m.running(1) == Some(task), !waits);
        m.sleep(0);
        assert_eq!(m.running(0) == Some(task), waits);
    }
}

/// A task that what runs on CPU 0 woke on its way to sleep.
fn handed_over(m: &mut Machine) -> Task {
    let task = asleep(m, INTERACTIVE, 0);
    m.wake_sync(task, 0);
    task
}

/// On CPU 0; it usually runs for 20 us, and has run for 10.
fn waker_that_is_nearly_done(m: &mut Machine) {
    let waker = asleep(m, INTERACTIVE, 0);
    m.set_history(waker, 10, 2, 20 * US);
    m.interrupt(waker, 0);
    m.advance(10 * US);
}

#[test]
fn the_first_that_is_handed_over_to_runs_next_and_the_second_waits_where_it_may_be_taken() {
    let mut m = Machine::with_cpus(2);
    m.hold(1);
    waker_that_is_nearly_done(&mut m);
    let first = handed_over(&mut m);
    assert_eq!(m.waiting_for(0, Kind::Interactive), 0);
    let second = handed_over(&mut m);
    assert_eq!(m.waiting_for(0, Kind::Interactive), 1);
    m.sleep(0);
    assert_eq!(m.running(0), Some(first));
    m.unhold(1);
    assert_eq!(m.running(1), Some(second));
}

#[test]
fn what_is_bound_to_the_cpu_of_a_waker_that_is_nearly_done_is_next_unless_others_have_a_claim() {
    for (tier, late_ns, waiting, others_ran_ns, is_next) in [
        (INTERACTIVE, 0, None, 0, true),
        (INTERACTIVE, 20 * US, None, 0, false),
        (BATCH, 0, None, 0, false),
        (INTERACTIVE, 0, Some(INTERACTIVE), 0, false),
        (INTERACTIVE, 0, Some(BATCH), 3 * MS, true),
        (INTERACTIVE, 0, Some(BATCH), 4 * MS, false),
        (INTERACTIVE, 0, None, 4 * MS, true),
    ] {
        let mut m = Machine::with_cpus(2);
        m.hold(1);
        let earlier = asleep(&mut m, INTERACTIVE, 0);
        m.interrupt(earlier, 0);
        m.advance(others_ran_ns);
        m.sleep(0);
        waker_that_is_nearly_done(&mut m);
        m.advance(late_ns);
        let waker = m.running(0);
        if let Some(tier) = waiting {
            scenes::waiting(&mut m, tier);
        }
        let task = asleep(&mut m, tier, 0);
        m.bind(task, &[0]);
        m.wake(task, 0);
        let queued = m.waiting_for(0, Kind::Interactive) + m.waiting_for(0, Kind::Batch);
        let scene = format!("{tier} {late_ns} {waiting:?} {others_ran_ns}");
        assert_eq!(queued == 0, is_next, "{scene}");
        assert_eq!(m.running(0), waker, "{scene}");
    }
}

#[test]
fn what_was_handed_over_goes_elsewhere_if_the_waker_loses_the_cpu_before_it_sleeps() {
    let mut m = Machine::with_cpus(3);
    waker_that_is_nearly_done(&mut m);
    let task = handed_over(&mut m);
    assert_eq!(m.running(1), None);
    let urgent = asleep(&mut m, LAT_CRITICAL, 0);
    m.bind(urgent, &[0]);
    m.interrupt(urgent, 0);
    assert_eq!(m.running(0), Some(urgent));
    assert!([m.running(1), m.running(2)].contains(&Some(task)));
}

#[test]
fn so_many_hand_overs_may_wait_for_one_cpu() {
    for (nr_cpus, depth) in [(2, 1), (4, 2)] {
        let mut m = busy(nr_cpus, INTERACTIVE);
        for _ in 0..4 {
            let task = asleep(&mut m, INTERACTIVE, 1);
            m.wake_sync(task, 0);
        }
        assert_eq!(m.waiting_for(0, Kind::Interactive), depth, "{nr_cpus}");
        assert_eq!(m.waiting_in_node(0, Kind::Interactive), 4 - depth);
    }
}

#[test]
fn batch_work_does_not_hand_its_cpu_over() {
    let mut m = busy(2, BATCH);
    let task = asleep(&mut m, LAT_CRITICAL, 1);
    m.wake_sync(task, 0);
    assert_eq!(m.waiting_for(0, Kind::Interactive), 0);
    assert_eq!(m.counter(Counter::KicksHard), 1);
}

/// CPU 0 runs a task that usually is done in `left_ns`, CPU 1 of the same cache is busy, 2 and 3 idle.
fn about_to_be_free(left_ns: u64, tier: u32) -> Machine {
    let mut m = two_l2();
    let short = asleep(&mut m, tier, 0);
    m.set_history(short, 10, 2, left_ns);
    m.bind(short, &[0]);
    m.interrupt(short, 0);
    assert_eq!(m.running(0), Some(short));
    runner(&mut m, INTERACTIVE, 1);
    m
}

#[test]
fn strong_closeness_waits_for_a_cpu_about_to_come_free_and_weak_does_not() {
    for (mode, waits) in [(AFFINITY_STRONG, true), (AFFINITY_WEAK, false)] {
        let mut m = about_to_be_free(50 * US, INTERACTIVE);
        with_affinity(&mut m, mode);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.interrupt(task, 0);
        assert_eq!(m.counter(Counter::StrongWaits), u64::from(waits));
        assert_eq!(m.view(task).waits, waits);
        m.sleep(0);
        assert_eq!(m.cpu_of(task), Some(if waits { 0 } else { 2 }));
    }
}

#[test]
fn strong_closeness_waits_for_50_us_at_most() {
    let mut m = about_to_be_free(50 * US + 1, INTERACTIVE);
    with_affinity(&mut m, AFFINITY_STRONG);
    let task = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(task, 0);
    assert_eq!(m.cpu_of(task), Some(2));
}

#[test]
fn latency_critical_work_and_kernel_threads_wait_for_no_cache() {
    for (tier, flags) in [(LAT_CRITICAL, 0), (INTERACTIVE, PF_KTHREAD)] {
        let mut m = about_to_be_free(50 * US, INTERACTIVE);
        with_affinity(&mut m, AFFINITY_STRONG);
        let task = asleep(&mut m, tier, 0);
        m.set_flags(task, flags);
        m.interrupt(task, 0);
        assert_eq!(m.cpu_of(task), Some(2));
    }
}

#[test]
fn nobody_waits_for_a_waker_that_says_it_sleeps_and_usually_goes_on() {
    for (usual_ns, waits) in [(250 * US, true), (251 * US, false), (4 * MS, false)] {
        let mut m = Machine::with_cpus(2);
        let task = asleep(&mut m, INTERACTIVE, 0);
        let waker = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(waker, 10, 2, usual_ns);
        m.interrupt(waker, 0);
        m.wake_sync(task, 0);
        assert_eq!(m.running(1) == Some(task), !waits, "{usual_ns}");
    }
}

#[test]
fn nothing_is_known_of_a_realtime_waker_by_the_task_that_it_stopped() {
    let mut m = Machine::with_cpus(3);
    waker_that_sleeps_after(&mut m, 10 * US);
    m.hold(1);
    m.hold(2);
    let computes = scenes::waiting(&mut m, INTERACTIVE);
    scenes::waiting(&mut m, INTERACTIVE);
    m.unhold(2);
    m.settle_as(computes, BATCH);
    m.tick(2);
    m.hold(0);
    m.advance(MS);
    let task = asleep(&mut m, INTERACTIVE, 2);
    m.wake(task, 0);
    assert_eq!(m.running(2), Some(task));
}

/// Runs on CPU 0; each time before it has woken somebody without a word, and slept so long after that.
fn waker_that_sleeps_after(m: &mut Machine, tail_ns: u64) -> Task {
    let waker = asleep(m, INTERACTIVE, 0);
    let woken = asleep(m, INTERACTIVE, 1);
    for _ in 0..64 {
        wake_and_sleep(m, waker, woken, tail_ns);
    }
    m.settle_as(waker, INTERACTIVE);
    m.interrupt(waker, 0);
    assert_eq!(m.running(0), Some(waker));
    waker
}

fn wake_and_sleep(m: &mut Machine, waker: Task, woken: Task, tail_ns: u64) {
    m.interrupt(waker, 0);
    m.wake(woken, 0);
    m.advance(tail_ns);
    m.sleep(0);
    let cpu = m.cpu_of(woken).unwrap();
    m.sleep(cpu);
    m.advance(MS);
}

/// Whether what runs on CPU 0 hands it over to a task that it wakes without a word.
fn hands_over(m: &mut Machine) -> bool {
    let task = asleep(m, INTERACTIVE, 1);
    m.wake(task, 0);
    let waits = m.cpu_of(task).is_none();
    m.sleep(0);
    assert_eq!(m.running(0) == Some(task), waits);
    waits
}

#[test]
fn a_waker_that_always_sleeps_soon_after_need_not_say_so() {
    for (tail_ns, is_soon) in [(24 * US, true), (26 * US, false)] {
        let mut m = Machine::with_cpus(2);
        waker_that_sleeps_after(&mut m, tail_ns);
        assert_eq!(hands_over(&mut m), is_soon, "{tail_ns}");
    }
}

#[test]
fn where_no_cpu_is_idle_it_may_take_as_long_as_somebody_else_needs_to_stop() {
    for (tail_ns, is_soon) in [(99 * US, true), (101 * US, false)] {
        let mut m = Machine::with_cpus(2);
        waker_that_sleeps_after(&mut m, tail_ns);
        runner(&mut m, BATCH, 1);
        m.advance(2 * MS);
        assert_eq!(hands_over(&mut m), is_soon, "{tail_ns}");
    }
}

#[test]
fn nobody_knows_at_first_whether_a_waker_sleeps_soon() {
    let mut m = Machine::with_cpus(2);
    let waker = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(waker, 0);
    assert!(!hands_over(&mut m));
}

#[test]
fn a_waker_that_has_gone_on_once_is_not_taken_for_one_that_sleeps_soon() {
    let mut m = Machine::with_cpus(2);
    let waker = waker_that_sleeps_after(&mut m, 10 * US);
    m.sleep(0);
    let woken = asleep(&mut m, INTERACTIVE, 1);
    wake_and_sleep(&mut m, waker, woken, 5 * MS);
    m.settle_as(waker, INTERACTIVE);
    m.interrupt(waker, 0);
    assert!(!hands_over(&mut m));
}

#[test]
fn only_the_first_short_task_that_a_waker_wakes_itself_gets_its_cpu_without_a_word() {
    for (by_interrupt, usual_ns, is_second) in [
        (true, 100 * US, false),
        (false, 251 * US, false),
        (false, 100 * US, true),
    ] {
        let mut m = Machine::with_cpus(2);
        waker_that_sleeps_after(&mut m, 10 * US);
        if is_second {
            let first = asleep(&mut m, INTERACTIVE, 1);
            m.wake(first, 0);
            assert_eq!(m.cpu_of(first), None);
        }
        let task = asleep(&mut m, INTERACTIVE, 1);
        m.set_history(task, 10, 2, usual_ns);
        if by_interrupt {
            m.interrupt(task, 0);
        } else {
            m.wake(task, 0);
        }
        assert_eq!(m.cpu_of(task), Some(1), "{by_interrupt} {usual_ns}");
    }
}

#[test]
fn no_cpu_is_handed_over_while_others_wait_for_long() {
    for (tier, wait_ns, is_long) in [
        (INTERACTIVE, 150 * US, false),
        (INTERACTIVE, 150 * US + 1, true),
        (BATCH, 5 * MS, false),
        (BATCH, 5 * MS + 1, true),
    ] {
        let mut m = Machine::with_cpus(2);
        m.hold(1);
        waker_that_is_nearly_done(&mut m);
        scenes::waiting(&mut m, tier);
        m.advance(wait_ns);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.wake_sync(task, 0);
        let handed_over = m.waiting_for(0, Kind::Interactive);
        assert_eq!(handed_over, u64::from(!is_long), "{tier} {wait_ns}");
        assert!(m.view(task).waits);
    }
}

#[test]
fn while_others_wait_for_long_whom_a_waker_wakes_that_is_nearly_done_queues_and_stops_nobody() {
    for (wait_ns, is_long) in [(150 * US, false), (150 * US + 1, true)] {
        let mut m = Machine::with_cpus(3);
        waker_that_sleeps_after(&mut m, 10 * US);
        m.hold(1);
        m.hold(2);
        let computes = scenes::waiting(&mut m, INTERACTIVE);
        let waits = scenes::waiting(&mut m, INTERACTIVE);
        m.unhold(2);
        m.settle_as(computes, BATCH);
        m.tick(2);
        m.advance(wait_ns);
        let task = asleep(&mut m, INTERACTIVE, 2);
        m.set_vtime(task, 2 * scenes::AHEAD);
        m.wake(task, 0);
        assert_eq!(m.running(2), Some(computes), "{wait_ns}");
        m.sleep(0);
        let next = if is_long { waits } else { task };
        assert_eq!(m.running(0), Some(next), "{wait_ns}");
    }
}

/// Why a task goes before those that wait with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    ShortAndRare,
    Interrupted,
    HadLess,
}

#[test]
fn others_wait_for_long_though_their_queue_is_served_by_what_goes_before_them() {
    for first in [First::ShortAndRare, First::Interrupted, First::HadLess] {
        let mut m = Machine::with_cpus(2);
        let served = asleep(&mut m, INTERACTIVE, 1);
        if first == First::ShortAndRare {
            m.interrupt(served, 1);
            m.sleep(1);
            m.settle_as(served, INTERACTIVE);
            m.advance(20 * MS);
        }
        waker_that_is_nearly_done(&mut m);
        if first == First::Interrupted {
            m.interrupt(served, 1);
            m.hold(1);
        } else {
            m.hold(1);
            m.interrupt(served, 0);
        }
        scenes::waiting(&mut m, INTERACTIVE);
        m.advance(100 * US);
        m.unhold(1);
        assert_eq!(m.running(1), Some(served), "{first:?}");
        m.advance(51 * US);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.wake_sync(task, 0);
        let handed_over = m.waiting_for(0, Kind::Interactive);
        assert_eq!(handed_over, u64::from(first == First::HadLess), "{first:?}");
    }
}

#[test]
fn two_that_hand_their_cpu_over_to_each_other_do_not_keep_what_is_bound_to_it_waiting() {
    let mut m = Machine::with_cpus(4);
    for cpu in 1..4 {
        m.hold(cpu);
    }
    let pair = [0, 1].map(|_| {
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(task, 10, 2, 100 * US);
        task
    });
    m.interrupt(pair[0], 0);
    m.advance(20 * US);
    let bound = asleep(&mut m, INTERACTIVE, 0);
    // Neither short nor rare.
    m.set_history(bound, 10, 2, 400 * US);
    m.set_vtime(bound, scenes::AHEAD);
    m.bind(bound, &[0]);
    m.interrupt(bound, 0);
    for round in 1..=100 {
        m.advance(60 * US);
        if m.running(0) == Some(bound) {
            assert!(m.view(bound).longest_wait_ns <= 300 * US);
            return;
        }
        m.wake_sync(pair[round % 2], 0);
        m.sleep(0);
    }
    panic!("{:?}", m.view(bound));
}
