//! Nobody is left behind by what sleeps between its runs, even if all of that wants more than there is.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, Machine, Task};
use pandemonium_bpf_host::scenes::{irregular, longest_wait_ns, spawn, spawn_hogs};

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

/// Sleepers that run for so long and want this part of a CPU each, us and percent.
fn sleepers(m: &mut Machine, per_cpu: u32, run_us: u64, percent: u64, seed: u64) -> Vec<Task> {
    let sleep_us = run_us * (100 - percent) / percent;
    let runs = run_us * 97 / 100..=run_us * 105 / 100;
    irregular(m, per_cpu, runs, sleep_us / 2..=sleep_us * 3 / 2, seed)
}

/// What each had in a second, ns.
fn in_a_second(m: &mut Machine, tasks: &[Task]) -> Vec<u64> {
    let had = |m: &Machine| -> Vec<u64> { tasks.iter().map(|&t| m.view(t).ran_ns).collect() };
    let before = had(m);
    tasks.iter().for_each(|&task| m.forget_wait(task));
    m.run_for(SEC);
    had(m).iter().zip(before).map(|(a, b)| a - b).collect()
}

#[test]
fn what_computes_has_its_part_beside_sleepers_that_want_twice_what_there_is() {
    for nr_cpus in [2, 4, 8] {
        for run_us in [3000, 5000, 7000, 12_000, 25_000] {
            for nr_hogs in [1, nr_cpus] {
                let mut m = Machine::with_cpus(nr_cpus);
                let others = sleepers(&mut m, 8, run_us, 25, 0);
                let hogs = spawn_hogs(&mut m, nr_hogs);
                m.run_for(300 * MS);
                others.iter().for_each(|&task| m.forget_wait(task));
                let had = in_a_second(&mut m, &hogs);
                let fair = SEC * u64::from(nr_cpus) / (others.len() + hogs.len()) as u64;
                let least = *had.iter().min().unwrap() as f64 / fair as f64;
                let waits = [&hogs, &others].map(|tasks| longest_wait_ns(&m, tasks));
                let scene = format!("{run_us} us, {nr_hogs} at {nr_cpus}: {least}, {waits:?}");
                assert!(least >= 0.8, "{scene}");
                assert!(waits.iter().all(|&wait_ns| wait_ns <= 80 * MS), "{scene}");
            }
        }
    }
}

#[test]
fn nobody_waits_for_long_beside_sleepers_that_want_all_there_is() {
    for nr_cpus in [2, 4, 8] {
        for run_us in [3000, 5000, 7000, 12_000, 25_000] {
            let mut m = Machine::with_cpus(nr_cpus);
            let others = sleepers(&mut m, 4, run_us, 25, 1);
            let hogs = spawn_hogs(&mut m, nr_cpus);
            m.run_for(300 * MS);
            others.iter().for_each(|&task| m.forget_wait(task));
            in_a_second(&mut m, &hogs);
            let waits = [&hogs, &others].map(|tasks| longest_wait_ns(&m, tasks));
            let scene = format!("{run_us} us at {nr_cpus}: {waits:?}");
            assert!(waits.iter().all(|&wait_ns| wait_ns <= 40 * MS), "{scene}");
        }
    }
}

#[test]
fn what_counts_less_has_less_there_as_well() {
    for nr_cpus in [2, 4, 8] {
        let mut m = Machine::with_cpus(nr_cpus);
        sleepers(&mut m, 8, 7000, 25, 0);
        let hogs = spawn_hogs(&mut m, 2 * nr_cpus);
        for hog in &hogs[..nr_cpus as usize] {
            m.set_weight(*hog, 10);
        }
        m.run_for(SEC);
        let had = in_a_second(&mut m, &hogs);
        let [less, more] = [0, 1].map(|half| -> u64 {
            let from = half * nr_cpus as usize;
            had[from..from + nr_cpus as usize].iter().sum()
        });
        assert!(less * 4 <= more, "{nr_cpus} CPUs: {less}, {more}");
        assert!(less > 0, "{nr_cpus} CPUs");
    }
}

#[test]
fn short_work_goes_before_what_is_behind_while_that_has_its_part() {
    for nr_cpus in [2, 4, 8] {
        let mut m = Machine::with_cpus(nr_cpus);
        spawn_hogs(&mut m, 4 * nr_cpus);
        m.run_for(400 * MS);
        let light: Vec<Task> = (0..nr_cpus)
            .map(|cpu| spawn(&mut m, cpu, 2 * MS, 18 * MS))
            .collect();
        m.run_for(200 * MS);
        let tiers: Vec<u32> = light.iter().map(|&task| m.view(task).tier).collect();
        assert!(tiers.iter().all(|tier| [BATCH, INTERACTIVE].contains(tier)));
        in_a_second(&mut m, &light);
        let waited_ns = longest_wait_ns(&m, &light);
        assert!(waited_ns <= 8 * MS, "{nr_cpus} CPUs: {waited_ns}");
    }
}

#[test]
fn hogs_wait_for_no_more_than_a_round_while_others_begin_beside_them() {
    for nr_cpus in [2, 4, 8] {
        for (first, later) in [(1, 4), (2, 4), (2, 2)] {
            let mut m = Machine::with_cpus(nr_cpus);
            let old = spawn_hogs(&mut m, first * nr_cpus);
            m.run_for(500 * MS);
            old.iter().for_each(|&hog| m.forget_wait(hog));
            spawn_hogs(&mut m, later * nr_cpus);
            m.run_for(SEC);
            let waited_ns = longest_wait_ns(&m, &old);
            let scene = format!("{first} and {later} a CPU at {nr_cpus}: {waited_ns}");
            assert!(waited_ns <= 36 * MS, "{scene}");
        }
    }
}
