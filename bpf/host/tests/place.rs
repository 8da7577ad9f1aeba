//! Where a task goes when it wakes or loses its CPU: an idle CPU, a victim's, or which queue.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_bpf_host::scenes::{asleep, two_nodes, with_knobs};
use pandemonium_policy::knobs::{AFFINITY_STRONG, AFFINITY_WEAK};
use pandemonium_policy::{Cpu, Limits, Settings, Topology};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const PF_KTHREAD: u32 = 0x20_0000;
const SCHED_IDLE: u32 = 5;

/// The same, running on `cpu`, which was idle.
fn runner(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = asleep(m, tier, cpu);
    m.bind(task, &[cpu]);
    m.interrupt(task, cpu);
    assert_eq!(m.running(cpu), Some(task));
    task
}

/// Every CPU runs a task of `tier` that is bound to it.
fn busy(nr_cpus: u32, tier: u32) -> Machine {
    let mut m = Machine::with_cpus(nr_cpus);
    for cpu in 0..nr_cpus {
        runner(&mut m, tier, cpu);
    }
    m
}

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
fn a_wake_up_takes_the_cpu_of_the_lowest_tier_that_has_run_longest() {
    let mut m = Machine::with_cpus(4);
    runner(&mut m, INTERACTIVE, 0);
    runner(&mut m, BATCH, 2);
    m.advance(MS);
    runner(&mut m, BATCH, 1);
    runner(&mut m, LAT_CRITICAL, 3);
    let task = asleep(&mut m, LAT_CRITICAL, 0);
    m.interrupt(task, 0);
    assert_eq!(m.running(2), Some(task));
    assert_eq!(m.counter(Counter::KicksHard), 1);
}

#[test]
fn an_interrupt_takes_the_cpu_of_the_batch_work_that_it_has_stopped() {
    for (by_interrupt, taken) in [(true, 1), (false, 0)] {
        let mut m = Machine::with_cpus(2);
        runner(&mut m, BATCH, 0);
        m.advance(MS);
        runner(&mut m, BATCH, 1);
        let task = asleep(&mut m, INTERACTIVE, 0);
        if by_interrupt {
            m.interrupt(task, 1);
        } else {
            m.wake(task, 1);
        }
        assert_eq!(m.cpu_of(task), Some(taken), "{by_interrupt}");
    }
}

#[test]
fn an_interrupt_takes_no_cpu_of_another_node_nor_one_that_is_not_allowed() {
    for (nr_cpus, allowed) in [(4, [0, 1, 2, 3].as_slice()), (2, &[0])] {
        let mut m = if nr_cpus == 4 {
            two_nodes()
        } else {
            Machine::with_cpus(2)
        };
        for cpu in 0..nr_cpus {
            runner(&mut m, BATCH, cpu);
        }
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.bind(task, allowed);
        m.interrupt(task, nr_cpus - 1);
        assert_eq!(m.running(0), Some(task), "{nr_cpus}");
    }
}

#[test]
fn a_cpu_is_taken_from_lower_tiers_only() {
    for (running, waking, takes) in [
        (BATCH, INTERACTIVE, true),
        (BATCH, LAT_CRITICAL, true),
        (INTERACTIVE, LAT_CRITICAL, true),
        (INTERACTIVE, INTERACTIVE, false),
        (LAT_CRITICAL, LAT_CRITICAL, false),
        (LAT_CRITICAL, INTERACTIVE, false),
    ] {
        let mut m = busy(1, running);
        let task = asleep(&mut m, waking, 0);
        m.interrupt(task, 0);
        assert_eq!(m.running(0) == Some(task), takes, "{waking} over {running}");
    }
}

/// One CPU to run on, whose task usually runs for `usual_ns` and has run for `ran_ns` of that. Of two a higher class
/// holds the other one; with one the kernel does not ask which to choose.
fn busy_for(nr_cpus: u32, rates: u32, usual_ns: u64, ran_ns: u64) -> Machine {
    let mut m = Machine::with_cpus(nr_cpus);
    (1..nr_cpus).for_each(|cpu| m.hold(cpu));
    let task = m.task("busy");
    m.enter(task, 0);
    m.set_history(task, rates, rates, usual_ns);
    m.interrupt(task, 0);
    assert_eq!(m.running(0), Some(task));
    m.advance(ran_ns);
    m
}

/// Rates that make a task that runs for 3 ms interactive.
const SELDOM: u32 = 5;
/// Rates that make it latency-critical.
const OFTEN: u32 = 60;

/// A task that is asleep, is interactive by its rates and usually runs for `usual_ns`.
fn sleeper(m: &mut Machine, usual_ns: u64) -> Task {
    let task = m.task("sleeper");
    m.enter(task, 0);
    m.set_history(task, 8, 2, usual_ns);
    assert_eq!(m.view(task).tier, INTERACTIVE);
    task
}

#[test]
fn what_goes_on_for_long_is_stopped_for_what_is_short() {
    const LONG: u64 = 3 * MS;
    for (what, rates, usual_ns, ran_ns, waker_usual_ns, takes) in [
        ("as urgent", SELDOM, LONG, MS, 250 * US, true),
        ("more urgent", OFTEN, LONG, MS, 250 * US, true),
        (
            "just long enough",
            SELDOM,
            LONG,
            LONG - 251 * US,
            100 * US,
            true,
        ),
        (
            "nearly done",
            SELDOM,
            LONG,
            LONG - 250 * US,
            100 * US,
            false,
        ),
        (
            "longer than usual",
            SELDOM,
            LONG,
            LONG + MS,
            100 * US,
            false,
        ),
        ("short as well", SELDOM, 250 * US, 0, 100 * US, false),
        ("for another that is not", SELDOM, LONG, MS, 251 * US, false),
    ] {
        for nr_cpus in [1, 2] {
            let mut m = busy_for(nr_cpus, rates, usual_ns, ran_ns);
            let task = sleeper(&mut m, waker_usual_ns);
            m.interrupt(task, 0);
            assert_eq!(m.running(0) == Some(task), takes, "{what} {nr_cpus}");
        }
    }
}

#[test]
fn what_was_stopped_when_nearly_done_is_not_stopped_again() {
    let mut m = busy_for(1, SELDOM, 3 * MS, 2 * MS);
    let long = m.running(0).unwrap();
    let [first, second] = [(); 2].map(|()| sleeper(&mut m, 100 * US));
    m.interrupt(first, 0);
    assert_eq!(m.running(0), Some(first));
    m.sleep(0);
    assert_eq!(m.running(0), Some(long));
    m.advance(800 * US);
    m.interrupt(second, 0);
    assert_eq!(m.running(0), Some(long));
}

#[test]
fn what_is_stopped_goes_on_before_others_that_wait() {
    let mut m = busy_for(1, SELDOM, 3 * MS, MS / 2);
    let long = m.running(0).unwrap();
    let waits = sleeper(&mut m, MS);
    m.set_vtime(waits, -1000 * MS as i64);
    m.interrupt(waits, 0);
    let short = sleeper(&mut m, 100 * US);
    m.interrupt(short, 0);
    assert_eq!(m.running(0), Some(short));
    m.sleep(0);
    assert_eq!(m.running(0), Some(long));
}

#[test]
fn what_is_stopped_is_not_one_of_the_crowd() {
    let mut m = busy_for(1, SELDOM, 3 * MS, MS);
    let long = m.running(0).unwrap();
    let waiting: Vec<Task> = (0..4).map(|_| sleeper(&mut m, MS)).collect();
    waiting.iter().for_each(|task| m.interrupt(*task, 0));
    m.settle_as(waiting[0], INTERACTIVE);
    let urgent = asleep(&mut m, LAT_CRITICAL, 0);
    m.interrupt(urgent, 0);
    assert_eq!(m.running(0), Some(urgent));
    assert!(m.view(long).waits);
    assert_eq!(m.view(long).queue % 2, 0, "not among batch work");
}

#[test]
fn nobody_knows_yet_that_a_new_task_is_short() {
    let mut m = busy_for(1, SELDOM, 3 * MS, MS);
    let task = m.task("new");
    m.enter(task, 0);
    m.interrupt(task, 0);
    assert!(m.view(task).waits);
}

#[test]
fn what_nobody_should_notice_stops_only_batch_work_however_short() {
    for pinned in [false, true] {
        let mut m = busy_for(1, SELDOM, 3 * MS, MS);
        m.pin("quiet", BATCH, pinned);
        let task = m.task("quiet");
        if !pinned {
            m.set_policy(task, SCHED_IDLE);
        }
        m.enter(task, 0);
        m.set_history(task, 8, 2, 100 * US);
        assert_eq!(m.view(task).tier, BATCH, "{pinned}");
        m.set_vtime(task, -1);
        m.interrupt(task, 0);
        assert!(m.view(task).waits, "{pinned}");
    }
}

#[test]
fn a_compositor_is_not_stopped_for_what_is_short() {
    let mut m = Machine::with_cpus(1);
    m.add_compositor("comp");
    let comp = m.task("comp");
    m.set_executable(comp, c"comp", 0, 0o755, 0);
    m.enter(comp, 0);
    m.set_history(comp, OFTEN, OFTEN, 3 * MS);
    m.interrupt(comp, 0);
    let short = asleep(&mut m, LAT_CRITICAL, 0);
    m.interrupt(short, 0);
    assert_eq!(m.running(0), Some(comp));
}

#[test]
fn a_cpu_that_is_taken_is_not_taken_again_before_it_switches() {
    let mut m = busy_for(2, SELDOM, 3 * MS, MS);
    let [first, second] = [(); 2].map(|()| sleeper(&mut m, 100 * US));
    m.set_interrupts(0, false);
    m.interrupt(first, 1);
    m.interrupt(second, 1);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 1);
    m.set_interrupts(0, true);
    assert_eq!(m.running(0), Some(first));
}

#[test]
fn waking_batch_takes_a_cpu_only_while_it_has_had_less_than_its_share() {
    for (ahead_ns, takes) in [(-1, true), (1, false)] {
        let mut m = busy(1, BATCH);
        let task = asleep(&mut m, BATCH, 0);
        m.set_vtime(task, ahead_ns);
        m.interrupt(task, 0);
        assert_eq!(m.running(0) == Some(task), takes, "{ahead_ns}");
    }
}

#[test]
fn two_wakers_never_take_the_same_victim() {
    let mut m = busy(2, BATCH);
    let [first, second] = [(); 2].map(|()| asleep(&mut m, INTERACTIVE, 0));
    m.set_interrupts(0, false);
    m.wake(first, 1);
    m.wake(second, 1);
    assert_eq!(m.running(1), Some(second));
    m.set_interrupts(0, true);
    assert_eq!(m.running(0), Some(first));
}

#[test]
fn a_victim_has_to_be_a_cpu_that_the_task_may_run_on() {
    let mut m = Machine::with_cpus(3);
    runner(&mut m, LAT_CRITICAL, 0);
    runner(&mut m, LAT_CRITICAL, 1);
    runner(&mut m, BATCH, 2);
    let task = asleep(&mut m, LAT_CRITICAL, 0);
    m.bind(task, &[0, 1]);
    m.interrupt(task, 0);
    assert!(m.view(task).waits);
    assert_eq!(m.waiting_for(0, Kind::Interactive), 1);
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
fn a_new_task_stops_batch_work_that_has_run_for_4_ms() {
    for (ran_ns, tier, starts) in [
        (4 * MS - 1, BATCH, false),
        (4 * MS, BATCH, true),
        (4 * MS, INTERACTIVE, false),
    ] {
        let mut m = busy(2, tier);
        m.advance(ran_ns);
        let new = m.task("new");
        m.fork(new, 0);
        assert_eq!(m.view(new).waits, !starts, "{ran_ns} ns of {tier}");
        let second = m.task("new");
        m.fork(second, 0);
        assert_eq!(m.view(second).waits, !starts, "the other CPU");
        let third = m.task("new");
        m.fork(third, 0);
        assert!(m.view(third).waits, "both have just started new tasks");
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
        for _ in 0..most + 3 {
            let task = asleep(&mut m, INTERACTIVE, 0);
            if by_interrupt {
                m.interrupt(task, 0);
            } else {
                m.wake(task, 0);
            }
        }
        assert_eq!(m.waiting_in_node(0, Kind::Interactive), room);
        assert_eq!(m.waiting_in_node(0, Kind::Batch), most + 3 - room);
        assert_eq!(m.counter(Counter::Guarded), most + 3 - room);
    }
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
fn a_task_bound_to_a_busy_cpu_takes_it_from_a_lower_tier_only() {
    for (running, takes) in [(BATCH, true), (INTERACTIVE, false)] {
        let mut m = busy(2, running);
        let task = asleep(&mut m, INTERACTIVE, 1);
        m.bind(task, &[1]);
        m.interrupt(task, 0);
        assert_eq!(m.running(1) == Some(task), takes, "{running}");
        assert_eq!(m.waiting_for(1, Kind::Interactive), u64::from(!takes));
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

/// A compositor that has used its slice on CPU 0, while CPU 1 does batch work.
fn compositor_at_the_end_of_its_slice(trusted: bool) -> (Machine, Task) {
    let mut m = Machine::with_cpus(2);
    m.add_compositor("comp");
    let comp = m.task("comp");
    m.set_executable(comp, c"comp", u32::from(!trusted) * 1000, 0o755, 0);
    m.enter(comp, 0);
    m.settle_as(comp, LAT_CRITICAL);
    m.interrupt(comp, 0);
    assert_eq!(m.running(0), Some(comp));
    runner(&mut m, BATCH, 1);
    let waiting = asleep(&mut m, LAT_CRITICAL, 0);
    m.bind(waiting, &[0]);
    m.interrupt(waiting, 0);
    m.advance(m.view(comp).slice_ns);
    m.tick(0);
    (m, comp)
}

#[test]
fn a_compositor_whose_slice_is_over_takes_the_cpu_of_batch_work() {
    let (m, comp) = compositor_at_the_end_of_its_slice(true);
    assert_eq!(m.running(1), Some(comp));
}

#[test]
fn whoever_only_calls_itself_a_compositor_waits_its_turn() {
    let (m, comp) = compositor_at_the_end_of_its_slice(false);
    assert!(m.view(comp).waits);
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
