//! CPUs that take long to stop for a wake-up, and who asks them all the same.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::{asleep, runner};

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

/// CPUs with batch work of their own, each of which has stopped often for a wake-up and has taken so long each time, ns.
fn answering(took_ns: &[u64]) -> Machine {
    let nr_cpus = took_ns.len() as u32;
    let mut m = Machine::with_cpus(nr_cpus);
    for cpu in 0..nr_cpus {
        runner(&mut m, BATCH, cpu);
    }
    for _ in 0..64 {
        for (cpu, took_ns) in (0..).zip(took_ns) {
            answer_once(&mut m, cpu, *took_ns);
        }
    }
    for _ in 0..200 {
        m.advance(4 * MS);
        (0..nr_cpus).for_each(|cpu| m.tick(cpu));
    }
    m
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
fn a_wake_up_asks_another_cpu_than_one_that_is_late() {
    for (took_us, came) in [
        ([100, 40, 40, 40], 1),
        ([50, 40, 40, 40], 0),
        ([100, 100, 100, 100], 0),
        ([19, 4, 4, 4], 0),
        ([30, 4, 4, 4], 1),
    ] {
        let mut m = answering(&took_us.map(|us| us * US));
        assert_eq!(woken(&mut m, 0), Some(came), "{took_us:?}");
    }
}

#[test]
fn one_that_is_late_is_asked_if_there_is_no_other() {
    let mut m = answering(&[200 * US, 40 * US]);
    assert_eq!(woken(&mut m, 0), Some(1));
    runner(&mut m, LAT_CRITICAL, 1);
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
fn one_that_was_late_is_asked_again_in_time() {
    let mut m = answering(&[200 * US, 40 * US]);
    let mut ticks = 0;
    while woken(&mut m, 0) == Some(1) {
        m.advance(4 * MS);
        answer_once(&mut m, 1, 40 * US);
        m.tick(0);
        m.tick(1);
        ticks += 1;
        assert!(ticks < 10_000, "it is never asked again");
    }
    assert!(ticks > 1000, "{ticks} ticks");
}

#[test]
fn a_waker_on_one_that_is_late_does_not_hand_it_over() {
    for (took_us, came) in [([40, 40, 40], 0), ([200, 40, 40], 1)] {
        let mut m = answering(&took_us.map(|us| us * US));
        runner(&mut m, LAT_CRITICAL, 0);
        let wakee = asleep(&mut m, LAT_CRITICAL, 0);
        m.wake_sync(wakee, 0);
        m.sleep(0);
        assert_eq!(m.cpu_of(wakee), Some(came), "{took_us:?}");
    }
}
