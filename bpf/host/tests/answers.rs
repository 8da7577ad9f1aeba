//! CPUs that take long to stop for a wake-up, and who asks them all the same.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::{asleep, runner, running};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// An interrupt on `cpu` wakes a task that ran there; where it runs.
fn woken(m: &mut Machine, cpu: u32) -> Option<u32> {
    let task = asleep(m, LAT_CRITICAL, cpu);
    m.interrupt(task, cpu);
    let came = m.cpu_of(task);
    leaves(m, task, came);
    came
}

fn leaves(m: &mut Machine, task: Task, cpu: Option<u32>) {
    if let Some(cpu) = cpu {
        assert_eq!(m.running(cpu), Some(task));
        m.sleep(cpu);
    }
}

/// CPUs with a task of batch work each, which may run anywhere. They have stopped often for a wake-up and have taken so long
/// each time, ns.
fn answering(took_ns: &[u64]) -> Machine {
    let nr_cpus = took_ns.len() as u32;
    let mut m = Machine::with_cpus(nr_cpus);
    for cpu in 0..nr_cpus {
        running(&mut m, BATCH, cpu);
    }
    for _ in 0..64 {
        for (cpu, took_ns) in (0..).zip(took_ns) {
            answer_once(&mut m, cpu, *took_ns);
        }
    }
    tick_all(&mut m, nr_cpus, 200);
    m
}

fn tick_all(m: &mut Machine, nr_cpus: u32, times: u32) {
    for _ in 0..times {
        m.advance(4 * MS);
        (0..nr_cpus).for_each(|cpu| m.tick(cpu));
    }
}

/// An interrupt on the CPU wakes a task, which runs there so much later.
fn answer_once(m: &mut Machine, cpu: u32, took_ns: u64) {
    let task = asleep(m, LAT_CRITICAL, cpu);
    m.set_interrupts(cpu, false);
    m.interrupt(task, cpu);
    m.advance(took_ns);
    m.set_interrupts(cpu, true);
    leaves(m, task, Some(cpu));
}

#[test]
fn a_wake_up_asks_another_cpu_than_one_that_takes_half_as_long_again() {
    for (took_us, came) in [
        ([100, 40, 40, 40], 1),
        ([58, 40, 40, 40], 0),
        ([62, 40, 40, 40], 1),
        ([100, 100, 100, 100], 0),
        ([100, 100, 100, 40], 3),
        ([9, 4, 4, 4], 0),
        ([12, 4, 4, 4], 1),
    ] {
        let mut m = answering(&took_us.map(|us| us * US));
        assert_eq!(woken(&mut m, 0), Some(came), "{took_us:?}");
    }
}

#[test]
fn one_whose_timers_come_late_is_late_however_soon_it_stops() {
    for (late_us, came) in [([0, 0], 0), ([40, 0], 1), ([40, 36], 0)] {
        let mut m = Machine::with_cpus(2);
        runner(&mut m, BATCH, 0);
        runner(&mut m, BATCH, 1);
        for _ in 0..64 {
            for (cpu, late_us) in (0..).zip(late_us) {
                m.set_timer(Some(late_us * 1_000));
                answer_once(&mut m, cpu, 4 * US);
            }
        }
        // One that comes with others before it had to is not late.
        m.set_timer(Some(-50_000));
        answer_once(&mut m, 1, 4 * US);
        m.set_timer(None);
        tick_all(&mut m, 2, 8);
        assert_eq!(woken(&mut m, 0), Some(came), "{late_us:?}");
    }
}

#[test]
fn of_those_that_can_be_asked_a_quick_one_is() {
    let mut m = answering(&[100, 80, 30, 40].map(|us| us * US));
    runner(&mut m, LAT_CRITICAL, 0);
    assert_eq!(woken(&mut m, 0), Some(2));
    runner(&mut m, LAT_CRITICAL, 2);
    assert_eq!(woken(&mut m, 0), Some(3));
    runner(&mut m, LAT_CRITICAL, 3);
    assert_eq!(woken(&mut m, 0), Some(1));
}

#[test]
fn one_that_is_late_is_asked_if_there_is_none_that_is_quicker() {
    let mut m = answering(&[200 * US, 180 * US, 40 * US]);
    assert_eq!(woken(&mut m, 0), Some(2));
    runner(&mut m, LAT_CRITICAL, 2);
    assert_eq!(woken(&mut m, 0), Some(0));
}

#[test]
fn work_of_a_higher_tier_is_not_stopped_for_that() {
    let mut m = answering(&[100 * US, 40 * US, 40 * US]);
    runner(&mut m, INTERACTIVE, 1);
    runner(&mut m, INTERACTIVE, 2);
    assert_eq!(woken(&mut m, 0), Some(0));
}

#[test]
fn from_a_few_answers_nothing_is_concluded() {
    let mut m = Machine::with_cpus(2);
    runner(&mut m, BATCH, 0);
    runner(&mut m, BATCH, 1);
    for nr in 0..64 {
        answer_once(&mut m, 1, 40 * US);
        if nr < 3 {
            answer_once(&mut m, 0, 200 * US);
        }
    }
    tick_all(&mut m, 2, 8);
    assert_eq!(woken(&mut m, 0), Some(0));
    answer_once(&mut m, 0, 200 * US);
    tick_all(&mut m, 2, 8);
    assert_eq!(woken(&mut m, 0), Some(1));
}

#[test]
fn one_that_is_held_up_now_and_then_is_not_late() {
    let mut m = Machine::with_cpus(2);
    runner(&mut m, BATCH, 0);
    runner(&mut m, BATCH, 1);
    for nr in 0..64 {
        let held_up = nr % 8 == 7;
        answer_once(&mut m, 0, if held_up { 500 * US } else { 16 * US });
        answer_once(&mut m, 1, 16 * US);
    }
    tick_all(&mut m, 2, 8);
    assert_eq!(woken(&mut m, 0), Some(0));
}

#[test]
fn one_that_has_never_been_asked_is_if_those_that_have_take_long() {
    for (took_us, came) in [(100, 1), (9, 0)] {
        let mut m = Machine::with_cpus(2);
        runner(&mut m, BATCH, 0);
        runner(&mut m, BATCH, 1);
        (0..8).for_each(|_| answer_once(&mut m, 0, took_us * US));
        tick_all(&mut m, 2, 8);
        assert_eq!(woken(&mut m, 0), Some(came), "{took_us} us");
        answer_once(&mut m, 1, 90 * US);
        tick_all(&mut m, 2, 8);
        assert_eq!(woken(&mut m, 0), Some(0), "{took_us} us");
    }
}

#[test]
fn one_that_was_late_is_asked_again_in_time() {
    let mut m = answering(&[200 * US, 40 * US]);
    let mut seconds = 0;
    while woken(&mut m, 0) == Some(1) {
        answer_once(&mut m, 1, 40 * US);
        tick_all(&mut m, 2, 250);
        seconds += 1;
        assert!(seconds < 60, "it is never asked again");
    }
    assert!(seconds > 20, "after {seconds} s");
    // It is as late as it was, which a few more answers say.
    (0..2).for_each(|_| answer_once(&mut m, 0, 200 * US));
    tick_all(&mut m, 2, 8);
    assert_eq!(woken(&mut m, 0), Some(1));
}

/// A pair of which the first wakes the other on CPU 0, and says that it will sleep: where that one goes.
fn handed_over(m: &mut Machine) -> Option<u32> {
    runner(m, LAT_CRITICAL, 0);
    let wakee = asleep(m, LAT_CRITICAL, 0);
    m.wake_sync(wakee, 0);
    m.sleep(0);
    m.cpu_of(wakee)
}

#[test]
fn a_waker_on_one_that_is_late_does_not_hand_it_over_while_a_quicker_can_be_asked() {
    for (took_us, came) in [([40, 40, 40], 0), ([200, 40, 40], 1), ([200, 180, 40], 2)] {
        let mut m = answering(&took_us.map(|us| us * US));
        assert_eq!(handed_over(&mut m), Some(came), "{took_us:?}");
    }
    let mut m = answering(&[200 * US, 180 * US, 40 * US]);
    runner(&mut m, LAT_CRITICAL, 2);
    assert_eq!(handed_over(&mut m), Some(0));
}

#[test]
fn what_handing_over_once_took_does_not_hide_that_a_cpu_is_late() {
    let mut m = answering(&[40 * US, 40 * US, 40 * US]);
    for _ in 0..8 {
        runner(&mut m, LAT_CRITICAL, 0);
        let wakee = asleep(&mut m, LAT_CRITICAL, 0);
        // It should be done with its run soon.
        m.advance(60 * US);
        m.wake_sync(wakee, 0);
        m.set_interrupts(0, false);
        m.sleep(0);
        m.advance(50 * US);
        m.set_interrupts(0, true);
        leaves(&mut m, wakee, Some(0));
    }
    tick_all(&mut m, 3, 31 * 250);
    for (cpu, took_us) in [(0, 200), (1, 40), (2, 40)] {
        (0..64).for_each(|_| answer_once(&mut m, cpu, took_us * US));
    }
    tick_all(&mut m, 3, 8);
    assert_eq!(handed_over(&mut m), Some(1));
}

#[test]
fn while_no_batch_work_waits_it_is_handed_over_all_the_same() {
    let mut m = answering(&[200 * US, 40 * US]);
    m.sleep(0);
    m.sleep(1);
    assert_eq!(handed_over(&mut m), Some(0));
}

#[test]
fn a_program_is_launched_on_no_cpu_that_is_slower_than_where_it_is_forked() {
    for (took_us, stops) in [
        ([40, 40], true),
        ([40, 48], true),
        ([8, 12], false),
        ([40, 200], false),
        ([200, 40], true),
    ] {
        let mut m = answering(&took_us.map(|us| us * US));
        m.advance(5 * MS);
        runner(&mut m, INTERACTIVE, 0);
        let program = m.task("program");
        m.fork(program, 0);
        assert_eq!(m.cpu_of(program) == Some(1), stops, "{took_us:?}");
    }
}

#[test]
fn a_program_that_is_forked_on_a_slow_cpu_stops_what_has_just_begun_on_the_quickest() {
    for (took_us, came) in [
        ([40, 40, 40], None),
        ([40, 36, 36], None),
        ([40, 30, 30], Some(1)),
        ([40, 30, 20], Some(2)),
        ([9, 2, 2], None),
    ] {
        let mut m = answering(&took_us.map(|us| us * US));
        for cpu in 0..3 {
            runner(&mut m, LAT_CRITICAL, cpu);
            m.sleep(cpu);
        }
        m.advance(2 * MS);
        runner(&mut m, INTERACTIVE, 0);
        let program = m.task("program");
        m.fork(program, 0);
        assert_eq!(m.cpu_of(program), came, "{took_us:?}");
    }
}

#[test]
fn what_an_interrupt_wakes_that_has_stopped_a_softirq_asks_another_cpu_if_it_can() {
    let mut m = Machine::with_cpus(2);
    runner(&mut m, BATCH, 0);
    runner(&mut m, BATCH, 1);
    m.set_softirq(0, true);
    assert_eq!(woken(&mut m, 0), Some(1));
    runner(&mut m, LAT_CRITICAL, 1);
    assert_eq!(woken(&mut m, 0), Some(0));
    m.sleep(1);
    m.set_softirq(0, false);
    assert_eq!(woken(&mut m, 0), Some(0));
}

/// A program that was forked on CPU 0 and runs there, while CPU 1 has work of a higher tier until then.
fn launched(took_ns: &[u64]) -> (Machine, Task) {
    let mut m = answering(took_ns);
    runner(&mut m, LAT_CRITICAL, 1);
    m.advance(5 * MS);
    let program = m.task("program");
    m.fork(program, 0);
    assert_eq!(m.cpu_of(program), Some(0));
    m.sleep(1);
    (m, program)
}

#[test]
fn a_program_that_is_launched_moves_at_a_tick_to_a_cpu_that_takes_a_quarter_less() {
    for (took_us, came) in [
        ([40, 40], 0),
        ([40, 36], 0),
        ([40, 30], 1),
        ([15, 11], 1),
        ([9, 2], 0),
        ([30, 40], 0),
    ] {
        let (mut m, program) = launched(&took_us.map(|us| us * US));
        m.advance(2 * MS);
        m.tick(0);
        assert_eq!(m.cpu_of(program), Some(came), "{took_us:?}");
    }
}

#[test]
fn it_moves_to_no_cpu_where_another_program_is_launched_or_something_else_goes_first() {
    let (mut m, program) = launched(&[40 * US, 20 * US]);
    m.advance(MS);
    runner(&mut m, INTERACTIVE, 1);
    m.tick(0);
    assert_eq!(m.cpu_of(program), Some(0));
    m.sleep(1);
    let other = m.task("other");
    m.fork(other, 1);
    m.give_way(1);
    assert_eq!(m.cpu_of(other), Some(1));
    m.tick(0);
    assert_eq!(m.cpu_of(program), Some(0));
    m.exit(1);
    m.tick(0);
    assert_eq!(m.cpu_of(program), Some(1));
}
