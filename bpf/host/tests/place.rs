//! Where a task goes when it wakes or loses its CPU: an idle CPU, or which queue.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine};
use pandemonium_bpf_host::scenes::{asleep, busy, runner, running, two_nodes, wake_crowd};
use pandemonium_policy::{Limits, Settings};

const MS: u64 = 1_000_000;
const PF_KTHREAD: u32 = 0x20_0000;

#[test]
fn a_wake_up_takes_the_idle_cpu_it_ran_on_and_then_any_other() {
    let mut m = Machine::with_cpus(2);
    let [first, second, third] = [(); 3].map(|()| asleep(&mut m, INTERACTIVE, 1));
    m.interrupt(first, 0);
    m.interrupt(second, 0);
    m.interrupt(third, 0);
    assert_eq!(m.running(1), Some(first));
    assert_eq!(m.running(0), Some(second));
    assert!(m.view(third).waits);
    assert_eq!(m.counter(Counter::IdlePlacements), 2);
}

#[test]
fn when_all_are_busy_the_first_cpu_that_comes_free_takes_it() {
    let mut m = busy(3, LAT_CRITICAL);
    let task = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(task, 0);
    assert!(m.view(task).waits);
    m.sleep(2);
    assert_eq!(m.running(2), Some(task));
}

#[test]
fn tiers_have_separate_queues_whatever_the_load() {
    let mut m = busy(2, LAT_CRITICAL);
    for tier in [BATCH, INTERACTIVE, LAT_CRITICAL] {
        let task = asleep(&mut m, tier, 0);
        m.interrupt(task, 0);
    }
    assert_eq!(m.waiting_in_node(0, Kind::Batch), 1);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 2);
}

#[test]
fn narrow_affinities_wait_in_the_queues_of_a_cpu() {
    let mut m = busy(3, LAT_CRITICAL);
    for tier in [BATCH, INTERACTIVE] {
        let task = asleep(&mut m, tier, 1);
        m.bind(task, &[1, 2]);
        m.interrupt(task, 0);
    }
    assert_eq!(m.waiting_for(1, Kind::Batch), 1);
    assert_eq!(m.waiting_for(1, Kind::Interactive), 1);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 0);
}

#[test]
fn who_may_not_migrate_just_now_waits_for_its_cpu() {
    let mut m = busy(3, LAT_CRITICAL);
    let task = asleep(&mut m, INTERACTIVE, 1);
    m.set_migration_disabled(task, true);
    m.interrupt(task, 0);
    assert_eq!(m.waiting_for(1, Kind::Interactive), 1);
    m.sleep(0);
    assert_eq!(m.running(0), None);
    m.sleep(1);
    assert_eq!(m.running(1), Some(task));
}

#[test]
fn each_node_has_its_own_queues() {
    let mut m = two_nodes();
    for cpu in 0..4 {
        runner(&mut m, LAT_CRITICAL, cpu);
    }
    for cpu in [0, 3, 3] {
        let task = asleep(&mut m, INTERACTIVE, cpu);
        m.interrupt(task, 0);
    }
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 1);
    assert_eq!(m.waiting_in_node(1, Kind::Interactive), 2);
}

#[test]
fn batch_whose_slice_is_over_goes_back_to_the_queue_of_its_node() {
    let mut m = Machine::with_cpus(2);
    let hogs = [(); 3].map(|()| {
        let hog = m.task("hog");
        m.fork(hog, 0);
        hog
    });
    for hog in hogs {
        m.set_habit(hog, MS, 0);
    }
    m.run_for(500 * MS);
    assert_eq!(m.waiting_in_node(0, Kind::Batch), 1);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 0);
    for hog in hogs {
        assert_eq!(m.view(hog).tier, BATCH);
        assert!(m.view(hog).ran_ns > 300 * MS, "{:?}", m.view(hog));
    }
}

#[test]
fn a_new_task_waits_with_batch_but_at_its_head() {
    let mut m = busy(2, BATCH);
    for _ in 0..3 {
        let waiting = asleep(&mut m, BATCH, 0);
        m.set_vtime(waiting, 1);
        m.interrupt(waiting, 0);
    }
    let new = m.task("new");
    m.fork(new, 0);
    assert_eq!(m.view(new).tier, INTERACTIVE);
    assert_eq!(m.waiting_in_node(0, Kind::Batch), 4);
    m.sleep(1);
    assert_eq!(m.running(1), Some(new));
}

#[test]
fn latency_critical_work_is_never_queued_as_batch() {
    let mut m = busy(2, LAT_CRITICAL);
    m.add_compositor("comp");
    let young = m.task("comp");
    m.set_executable(young, c"comp", 0, 0o755, 0);
    m.enter(young, 0);
    m.interrupt(young, 0);
    assert_eq!(m.view(young).tier, LAT_CRITICAL);
    assert_eq!(m.view(young).age, 0);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 1);
}

#[test]
fn a_crowd_that_wakes_itself_is_queued_as_batch_beyond_its_room() {
    let most = u64::from(Limits::for_cpus(2).interactive_max);
    for (by_interrupt, room) in [(false, most / 2), (true, most)] {
        let mut m = busy(2, LAT_CRITICAL);
        wake_crowd(&mut m, most + 3, by_interrupt);
        assert_eq!(m.waiting_in_node(0, Kind::Interactive), room);
        assert_eq!(m.waiting_in_node(0, Kind::Batch), most + 3 - room);
        assert_eq!(m.counter(Counter::Guarded), most + 3 - room);
    }
}

#[test]
fn a_task_bound_to_an_idle_cpu_runs_there_at_once() {
    for selector in [true, false] {
        let mut m = Machine::with_cpus(2);
        m.choose(&Settings {
            idle_selector: selector,
            ..Settings::default()
        });
        let task = asleep(&mut m, INTERACTIVE, 1);
        m.bind(task, &[1]);
        m.interrupt(task, 0);
        assert_eq!(m.running(1), Some(task));
        assert_eq!(m.counter(Counter::IdlePlacements), 1);
    }
}

#[test]
fn kernel_threads_of_one_cpu_go_before_its_queues_only_if_that_is_chosen() {
    for local_kthreads in [false, true] {
        let mut m = busy(2, LAT_CRITICAL);
        m.choose(&Settings {
            local_kthreads,
            ..Settings::default()
        });
        let own = asleep(&mut m, INTERACTIVE, 1);
        m.bind(own, &[1]);
        m.interrupt(own, 0);
        let kthread = asleep(&mut m, BATCH, 1);
        m.set_flags(kthread, PF_KTHREAD);
        m.bind(kthread, &[1]);
        m.set_vtime(kthread, MS as i64);
        m.interrupt(kthread, 0);
        m.sleep(1);
        let first = if local_kthreads { kthread } else { own };
        assert_eq!(m.running(1), Some(first));
    }
}

#[test]
fn work_that_lost_its_cpu_goes_to_an_idle_one() {
    let mut m = Machine::with_cpus(2);
    let task = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(task, 0);
    assert_eq!(m.running(0), Some(task));
    m.hold(0);
    assert_eq!(m.running(1), Some(task));
    assert_eq!(m.counter(Counter::KicksSoft), 1);
    assert_eq!(m.counter(Counter::Drained), 1);
}

#[test]
fn what_was_waiting_for_a_cpu_that_a_higher_class_takes_runs_elsewhere() {
    let mut m = busy(2, BATCH);
    m.hold(0);
    let task = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(task, 0);
    assert_eq!(m.running(1), Some(task));
}

#[test]
fn bound_work_that_loses_its_cpu_goes_to_no_idle_one_that_was_just_given_away() {
    let mut m = Machine::with_cpus(4);
    let bound = runner(&mut m, BATCH, 2);
    m.bind(bound, &[0, 1, 2]);
    m.set_interrupts(0, false);
    let first = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(first, 0);
    m.hold(2);
    assert_eq!(m.running(1), Some(bound));
}

/// The kernel takes it to another CPU, and whichever was given to it before that idles on unseen.
#[test]
fn no_idle_cpu_is_given_to_what_waits_and_is_bound_elsewhere_before_it_is_there() {
    for drains in [false, true] {
        let mut m = Machine::with_cpus(4);
        m.set_drains(drains);
        m.hold(3);
        let waiting = asleep(&mut m, BATCH, 3);
        m.bind(waiting, &[3]);
        m.interrupt(waiting, 3);
        m.bind(waiting, &[0, 1]);
        let cpu = m.cpu_of(waiting).unwrap();
        for idle in [0, 1, 2] {
            assert_eq!(m.is_marked_idle(idle), idle != cpu, "{idle} {drains}");
        }
    }
}

#[test]
fn no_idle_cpu_is_given_to_work_that_only_changes() {
    let mut m = Machine::with_cpus(4);
    let task = runner(&mut m, BATCH, 2);
    for changer in 0..4 {
        m.change(task, changer);
        assert_eq!(m.running(2), Some(task));
        for idle in [0, 1, 3] {
            assert!(m.is_marked_idle(idle), "{idle} after {changer}");
        }
    }
}

#[test]
fn what_disabled_its_own_migration_is_not_taken_for_the_prologue_when_it_gives_a_priority_back() {
    let mut m = Machine::with_cpus(2);
    let other = asleep(&mut m, BATCH, 0);
    let next = asleep(&mut m, INTERACTIVE, 0);
    m.bind(next, &[0]);
    let task = running(&mut m, INTERACTIVE, 0);
    m.set_migration_disabled(task, true);
    m.raise(other, 0);
    m.interrupt(next, 0);
    m.advance(10 * MS);
    m.tick(0);
    assert_eq!(m.running(0), Some(next));
    assert_eq!(m.error(), None);
    assert!(m.view(task).waits);
    assert_eq!(m.running(1), None);
}
