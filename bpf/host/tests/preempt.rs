//! Whose CPU a task takes that finds none idle, and who keeps it.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_bpf_host::scenes::{self, asleep, busy, runner, two_nodes};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SCHED_IDLE: u32 = 5;

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

#[test]
fn while_others_wait_for_long_no_task_wakes_another_that_stops_interactive_work() {
    for (running, by_interrupt, wait_ns, takes) in [
        (INTERACTIVE, false, 150 * US, true),
        (INTERACTIVE, false, 150 * US + 1, false),
        (INTERACTIVE, true, 150 * US + 1, true),
        (BATCH, false, 150 * US + 1, true),
    ] {
        let mut m = Machine::with_cpus(3);
        m.hold(1);
        m.hold(2);
        let runs = runner(&mut m, INTERACTIVE, 0);
        scenes::waiting(&mut m, INTERACTIVE);
        if running == BATCH {
            m.settle_as(runs, BATCH);
            m.tick(0);
        }
        m.advance(wait_ns);
        let task = asleep(&mut m, LAT_CRITICAL, 0);
        if by_interrupt {
            m.interrupt(task, 0);
        } else {
            m.wake(task, 0);
        }
        assert_eq!(
            m.running(0) == Some(task),
            takes,
            "{running} {by_interrupt} {wait_ns}"
        );
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
