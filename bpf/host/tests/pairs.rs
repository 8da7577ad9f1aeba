//! Tasks that hand a CPU over to each other, and where that takes least.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::{asleep, runner, running, waiting};

const US: u64 = 1_000;
const SEC: u64 = 1_000_000_000;

/// Two tasks that wake each other, and how long each CPU takes to be handed over, us.
struct Pair<'a> {
    tasks: [Task; 2],
    took_us: &'a [u64],
}

impl Pair<'_> {
    /// The first of them runs on the CPU.
    fn on<'a>(m: &mut Machine, cpu: u32, took_us: &'a [u64]) -> Pair<'a> {
        let tasks = [(); 2].map(|()| asleep(m, LAT_CRITICAL, cpu));
        m.interrupt(tasks[0], cpu);
        assert_eq!(m.running(cpu), Some(tasks[0]));
        Pair { tasks, took_us }
    }

    /// Whoever runs wakes the other and sleeps, so many times; which CPU they ran on each time.
    fn hand_over(&mut self, m: &mut Machine, times: usize) -> Vec<u32> {
        let mut came = Vec::new();
        for _ in 0..times {
            let [runs, sleeps] = self.tasks;
            let cpu = (0..10_000)
                .find_map(|_| {
                    m.cpu_of(runs).or_else(|| {
                        m.run_for(10 * US);
                        None
                    })
                })
                .expect("it has waited for 100 ms");
            m.run_for(5 * US);
            m.wake_sync(sleeps, cpu);
            m.set_interrupts(cpu, false);
            m.sleep(cpu);
            m.run_for(self.took_us[cpu as usize] * US);
            m.set_interrupts(cpu, true);
            came.push(cpu);
            self.tasks = [sleeps, runs];
        }
        came
    }

    fn end(self, m: &mut Machine) {
        m.exit(m.cpu_of(self.tasks[0]).unwrap());
    }
}

/// CPUs with a task of batch work each, and one that waits.
fn computing(nr_cpus: u32) -> Machine {
    let mut m = Machine::with_cpus(nr_cpus);
    for cpu in 0..nr_cpus {
        running(&mut m, BATCH, cpu);
    }
    waiting(&mut m, BATCH);
    m
}

/// As many of the last of them were on the CPU.
fn stays(came: &[u32], cpu: u32) -> bool {
    let last = &came[came.len() - 50..];
    last.iter().filter(|&&came| came == cpu).count() >= 45
}

#[test]
fn a_pair_tries_every_cpu_and_stays_where_it_is_handed_over_soonest() {
    for (took_us, soonest) in [
        ([30, 20, 8, 14], 2),
        ([12, 30, 20, 7], 3),
        ([30, 7, 20, 12], 1),
        ([8, 30, 30, 30], 0),
        ([4, 1, 1, 1], 0),
    ] {
        let mut m = computing(4);
        let came = Pair::on(&mut m, 0, &took_us).hand_over(&mut m, 300);
        assert!(stays(&came, soonest), "{took_us:?}: {came:?}");
        for cpu in (0..4).filter(|&cpu| cpu != soonest) {
            let times = came.iter().filter(|&&came| came == cpu).count();
            assert!(times <= 70, "{took_us:?}: {times} times on {cpu}");
        }
    }
}

#[test]
fn one_that_takes_hardly_less_is_not_worth_going_there() {
    for (took_us, there) in [([10, 8], 1), ([8, 10], 1), ([8, 13], 0)] {
        let mut m = computing(2);
        let mut pair = Pair::on(&mut m, 0, &took_us);
        pair.hand_over(&mut m, 105);
        let came = pair.hand_over(&mut m, 50);
        assert!(stays(&came, there), "{took_us:?}: {came:?}");
    }
}

#[test]
fn a_pair_that_comes_to_a_slow_cpu_goes_on_at_once() {
    let took_us = [8, 40];
    let mut m = computing(2);
    let mut pair = Pair::on(&mut m, 1, &took_us);
    assert!(stays(&pair.hand_over(&mut m, 150), 0));
    pair.end(&mut m);
    let came = Pair::on(&mut m, 1, &took_us).hand_over(&mut m, 4);
    assert_eq!(came, [1, 0, 0, 0]);
}

#[test]
fn where_the_quicker_one_is_taken_it_looks_again_soon() {
    let took_us = [8, 40, 40, 40];
    let mut m = computing(4);
    let mut pair = Pair::on(&mut m, 1, &took_us);
    assert!(stays(&pair.hand_over(&mut m, 250), 0));
    pair.end(&mut m);
    runner(&mut m, LAT_CRITICAL, 0);
    let mut pair = Pair::on(&mut m, 1, &took_us);
    assert_eq!(pair.hand_over(&mut m, 20), [1; 20]);
    m.sleep(0);
    let came = pair.hand_over(&mut m, 10);
    assert_eq!(came.last(), Some(&0), "{came:?}");
}

#[test]
fn it_stops_nobody_but_batch_work_for_that() {
    let mut m = computing(2);
    runner(&mut m, INTERACTIVE, 1);
    let came = Pair::on(&mut m, 0, &[40, 8]).hand_over(&mut m, 60);
    assert!(came.iter().all(|&cpu| cpu == 0), "{came:?}");
}

#[test]
fn while_no_batch_work_waits_it_stays() {
    let mut m = Machine::with_cpus(2);
    let came = Pair::on(&mut m, 0, &[40, 8]).hand_over(&mut m, 200);
    assert!(came.iter().all(|&cpu| cpu == 0), "{came:?}");
}

#[test]
fn what_it_takes_while_cpus_are_idle_says_nothing() {
    let mut m = Machine::with_cpus(2);
    for cpu in 0..2 {
        let mut pair = Pair::on(&mut m, cpu, &[2, 2]);
        pair.hand_over(&mut m, 200);
        pair.end(&mut m);
    }
    for cpu in 0..2 {
        running(&mut m, BATCH, cpu);
    }
    waiting(&mut m, BATCH);
    m.run_for(SEC / 50);
    let came = Pair::on(&mut m, 0, &[8, 40]).hand_over(&mut m, 110);
    let times = came.iter().filter(|&&cpu| cpu == 1).count();
    assert!((1..20).contains(&times), "{times} times: {came:?}");
}

#[test]
fn one_that_was_slow_is_tried_again_in_time() {
    let mut m = computing(4);
    let mut pair = Pair::on(&mut m, 1, &[8, 40, 40, 40]);
    assert!(stays(&pair.hand_over(&mut m, 250), 0));
    pair.end(&mut m);
    for (after_s, comes) in [(20, 0), (11, 1)] {
        m.run_for(after_s * SEC);
        let mut pair = Pair::on(&mut m, 0, &[20, 8, 40, 40]);
        let came = pair.hand_over(&mut m, 250);
        assert!(stays(&came, comes), "after {after_s} s: {came:?}");
        pair.end(&mut m);
    }
}
