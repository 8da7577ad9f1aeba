//! Whole loads on machines of every size: who waits for how long, and who has how much.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, Machine, Task};
use pandemonium_bpf_host::scenes::{irregular, longest_wait_ns, spawn, topology};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

#[test]
fn frames_are_in_time_beside_hogs_on_machines_of_every_size() {
    const PERIOD_NS: u64 = 16 * MS;
    for nr_cpus in [1, 2, 4, 8, 12] {
        for work_ns in [2 * MS, 4 * MS, 5 * MS, 6 * MS, 7 * MS] {
            // Whoever wants more than its share beside two hogs a CPU is promised nothing.
            if work_ns * u64::from(2 * nr_cpus + 1) > PERIOD_NS * u64::from(nr_cpus) {
                continue;
            }
            let mut m = Machine::with_cpus(nr_cpus);
            for cpu in 0..nr_cpus {
                spawn(&mut m, cpu, SEC, 0);
                spawn(&mut m, cpu, SEC, 0);
            }
            let frames = m.task("frames");
            m.fork(frames, 0);
            m.set_period(frames, work_ns, PERIOD_NS);
            m.run_for(50 * PERIOD_NS);
            for frame in 0..200 {
                let before_ns = m.view(frames).ran_ns;
                m.run_for(PERIOD_NS);
                let ran_ns = m.view(frames).ran_ns - before_ns;
                assert_eq!(
                    ran_ns, work_ns,
                    "frame {frame} of {work_ns} at {nr_cpus} CPUs"
                );
            }
        }
    }
}

/// Four sleepers a CPU, who together want more than there is; they sleep for 0.5 to 1.5 ms.
fn with_sleepers_that_run_for(run_ns: u64, nr_cpus: u32, seed: u64) -> Machine {
    let mut m = Machine::with_cpus(nr_cpus);
    for i in 0..u64::from(4 * nr_cpus) {
        let sleep_ns = (500 + (i * 397 + seed * 131) % 1000) * US;
        let sleeper = spawn(&mut m, 0, 30 * US, sleep_ns);
        m.run_for(60 * US);
        m.set_habit(sleeper, run_ns, sleep_ns);
        m.run_for(60 * US);
    }
    m
}

fn with_demanding_sleepers(nr_cpus: u32) -> Machine {
    with_sleepers_that_run_for(MS, nr_cpus, 0)
}

#[test]
fn a_hog_among_sleepers_that_want_more_than_there_is_never_waits_for_more_than_7_ms() {
    for nr_cpus in [2, 4, 8, 12] {
        let mut m = with_demanding_sleepers(nr_cpus);
        let hog = spawn(&mut m, 0, SEC, 0);
        m.run_for(2 * SEC);
        let view = m.view(hog);
        assert!(view.longest_wait_ns <= 7 * MS, "{nr_cpus} CPUs: {view:?}");
        let fair_ns = 2 * SEC * u64::from(nr_cpus) / u64::from(4 * nr_cpus + 1);
        assert!(view.ran_ns > fair_ns, "{nr_cpus} CPUs: {view:?}");
    }
}

#[test]
fn a_hog_that_began_never_waits_for_8_ms_whatever_the_sleepers_beside_it_want() {
    for nr_cpus in [2, 4, 8, 12] {
        for (run_us, seed) in [(700, 31), (1000, 25), (1500, 6), (1500, 22), (1500, 42)] {
            let mut m = with_sleepers_that_run_for(run_us * US, nr_cpus, seed);
            let hog = spawn(&mut m, seed as u32 % nr_cpus, SEC, 0);
            m.run_for(20 * MS);
            assert!(
                m.view(hog).ran_ns > 0,
                "{run_us} us {seed} at {nr_cpus} CPUs"
            );
            m.forget_wait(hog);
            m.run_for(SEC / 2);
            let view = m.view(hog);
            assert!(
                view.longest_wait_ns <= 8 * MS,
                "{run_us} us {seed} at {nr_cpus} CPUs: {view:?}"
            );
        }
    }
}

#[test]
fn a_hog_among_four_irregular_sleepers_a_cpu_never_waits_for_8_ms_and_has_its_share() {
    for nr_cpus in [2, 4, 8, 12] {
        for (run_us, sleep_us) in [
            (1000..=1000, 500..=1500),
            (500..=1500, 500..=1500),
            (1000..=3000, 500..=2500),
        ] {
            for seed in 0..5 {
                let mut m = Machine::with_cpus(nr_cpus);
                irregular(&mut m, 4, run_us.clone(), sleep_us.clone(), seed);
                let hog = spawn(&mut m, 0, 2 * SEC, 0);
                m.run_for(150 * MS);
                m.forget_wait(hog);
                let before_ns = m.view(hog).ran_ns;
                m.run_for(SEC);
                let view = m.view(hog);
                let scene = format!("{run_us:?} us {seed} at {nr_cpus} CPUs: {view:?}");
                assert!(view.longest_wait_ns <= 8 * MS, "{scene}");
                let fair_ns = SEC * u64::from(nr_cpus) / u64::from(4 * nr_cpus + 1);
                assert!(view.ran_ns - before_ns > fair_ns, "{scene}");
            }
        }
    }
}

/// What comes now and then, and has used less than its part, goes before a hog each time.
#[test]
fn what_wakes_now_and_then_does_not_take_a_hogs_turn_from_it() {
    for (nr_cpus, housekeepers) in [(2, 1), (4, 1), (8, 3), (12, 3)] {
        for seed in 0..4 {
            let mut m = Machine::with_cpus(nr_cpus);
            irregular(&mut m, 4, 1000..=1000, 500..=1500, seed);
            let hog = spawn(&mut m, 0, 2 * SEC, 0);
            for _ in 0..housekeepers {
                spawn(&mut m, 0, 800 * US, 37 * MS);
            }
            m.run_for(200 * MS);
            m.forget_wait(hog);
            m.run_for(SEC);
            let view = m.view(hog);
            let scene = format!("{housekeepers}, seed {seed} at {nr_cpus} CPUs: {view:?}");
            assert!(view.longest_wait_ns <= 8 * MS, "{scene}");
        }
    }
}

/// A turn that begins has to count itself among the batch work that has fewer CPUs than its share, or it is not protected and
/// over after some microseconds.
#[test]
fn as_many_hogs_as_cpus_have_their_share_among_sleepers_that_never_sleep_for_long() {
    for nr_cpus in [4, 8] {
        for seed in 0..3 {
            let mut m = Machine::with_cpus(nr_cpus);
            irregular(&mut m, 4, 700..=1300, 13..=26, seed);
            let hogs: Vec<Task> = (0..nr_cpus)
                .map(|cpu| spawn(&mut m, cpu, 3 * SEC, 0))
                .collect();
            m.run_for(SEC / 2);
            let before: Vec<u64> = hogs.iter().map(|hog| m.view(*hog).ran_ns).collect();
            m.run_for(2 * SEC);
            let fair_ns = 2 * SEC / 5;
            for (hog, before) in hogs.iter().zip(before) {
                let ran_ns = m.view(*hog).ran_ns - before;
                assert!(
                    ran_ns >= fair_ns * 9 / 10,
                    "{ran_ns} of {fair_ns} ns, seed {seed} at {nr_cpus} CPUs"
                );
            }
        }
    }
}

/// A task that computes from here on, and has slept before: for a lock, or for a page.
#[test]
fn a_hog_that_has_slept_never_waits_for_8_ms_among_sleepers_that_want_more_than_there_is() {
    for nr_cpus in [2, 4] {
        for (run_us, sleep_us, at_ms) in [
            (50, 2000, 1),
            (50, 2000, 4),
            (300, 1000, 4),
            (500, 300, 6),
            (100, 500, 12),
        ] {
            for seed in 0..10 {
                let mut m = Machine::with_cpus(nr_cpus);
                irregular(&mut m, 4, 1000..=1000, 500..=1500, seed);
                let hog = spawn(&mut m, 0, run_us * US, sleep_us * US);
                m.run_for(at_ms * MS + seed * 77 * US);
                m.set_habit(hog, SEC, 0);
                m.forget_wait(hog);
                m.run_for(SEC / 4);
                let view = m.view(hog);
                assert!(
                    view.longest_wait_ns <= 8 * MS,
                    "{run_us} us, then {sleep_us}, {at_ms} ms, {seed} at {nr_cpus} CPUs: {view:?}"
                );
            }
        }
    }
}

/// Of thousands of beginnings some in which others were so far ahead of it in virtual time that it waited for 17 to 116 ms.
#[test]
fn a_hog_that_has_slept_is_near_the_head_again_when_it_has_used_up_its_slice() {
    for (nr_cpus, seed, run_us, sleep_us, at_us) in [
        (2, 77, 900, 400, 9000),
        (2, 155, 900, 400, 9000),
        (4, 92, 60, 1500, 3100),
        (4, 232, 30, 300, 1900),
        (4, 233, 30, 20, 100),
    ] {
        let mut m = Machine::with_cpus(nr_cpus);
        irregular(&mut m, 4, 1000..=1000, 500..=1500, seed);
        m.run_for(seed * 37 * US % (3 * MS));
        let hog = spawn(&mut m, seed as u32 % nr_cpus, run_us * US, sleep_us * US);
        m.run_for(at_us * US + seed * 77 * US % (2 * MS));
        m.set_habit(hog, SEC, 0);
        m.forget_wait(hog);
        m.run_for(300 * MS);
        let view = m.view(hog);
        assert!(
            view.longest_wait_ns <= 8 * MS,
            "{run_us} us, then {sleep_us}, {at_us} us, {seed} at {nr_cpus} CPUs: {view:?}"
        );
    }
}

#[test]
fn a_moment_of_other_batch_work_is_no_turn_of_the_hog_that_waits() {
    for nr_cpus in [2, 4, 8, 12] {
        let mut m = with_demanding_sleepers(nr_cpus);
        let hog = spawn(&mut m, 0, SEC, 0);
        m.pin("keeper", BATCH, true);
        for keeper in 0..3 {
            let task = m.task("keeper");
            m.fork(task, 0);
            m.set_habit(task, 100 * US, (4 + keeper) * MS);
        }
        m.run_for(100 * MS);
        m.forget_wait(hog);
        m.run_for(2 * SEC);
        let view = m.view(hog);
        assert!(view.longest_wait_ns <= 7 * MS, "{nr_cpus} CPUs: {view:?}");
    }
}

#[test]
fn equal_hogs_have_had_the_same_within_a_percent_after_two_seconds() {
    for (nr_cpus, per_cpu) in [2, 4, 8, 12]
        .into_iter()
        .flat_map(|nr_cpus| [2, 3, 4, 5, 6, 8].map(|per_cpu| (nr_cpus, per_cpu)))
    {
        let mut m = Machine::with_cpus(nr_cpus);
        let hogs: Vec<Task> = (0..per_cpu * nr_cpus)
            .map(|i| spawn(&mut m, i % nr_cpus, SEC, 0))
            .collect();
        m.run_for(SEC / 2);
        for _ in 0..5 {
            let ran_by = |m: &Machine| hogs.iter().map(|hog| m.view(*hog).ran_ns).collect();
            let before: Vec<u64> = ran_by(&m);
            m.run_for(2 * SEC);
            let mut ran: Vec<u64> = ran_by(&m);
            ran.iter_mut()
                .zip(before)
                .for_each(|(ran, had)| *ran -= had);
            ran.sort_unstable();
            let low = ran[(ran.len() / 10).max(1) - 1];
            let mean = 2 * SEC / u64::from(per_cpu);
            let scene = format!("{per_cpu} each at {nr_cpus} CPUs");
            assert!(low * 100 >= mean * 99, "{scene}: {low} of {mean}");
        }
    }
}

/// `task` runs for `long_ns` this once, and how much of that it has had after as long and a millisecond.
fn run_long(m: &mut Machine, task: Task, usual: (u64, u64), long_ns: u64) -> u64 {
    while m.cpu_of(task).is_some() || m.view(task).waits {
        m.run_for(100 * US);
    }
    let before_ns = m.view(task).ran_ns;
    m.set_habit(task, long_ns, usual.1);
    while m.view(task).ran_ns == before_ns {
        m.run_for(100 * US);
    }
    m.run_for(long_ns + MS);
    m.set_habit(task, usual.0, usual.1);
    m.view(task).ran_ns - before_ns
}

#[test]
fn a_task_that_runs_longer_than_usual_goes_on_while_it_has_had_less_than_its_share() {
    const USUAL: (u64, u64) = (2 * MS, 20 * MS);
    for nr_cpus in [2, 4, 8, 12] {
        let mut m = Machine::with_cpus(nr_cpus);
        for cpu in 0..nr_cpus {
            spawn(&mut m, cpu, SEC, 0);
            spawn(&mut m, cpu, SEC, 0);
        }
        let parent = spawn(&mut m, 0, USUAL.0, USUAL.1);
        // The leads of the hogs end first.
        m.run_for(300 * MS);
        for round in 0..20 {
            m.run_for(177 * MS);
            let ran_ns = run_long(&mut m, parent, USUAL, 12 * MS);
            assert!(
                ran_ns >= 11 * MS,
                "round {round} at {nr_cpus} CPUs: {ran_ns}"
            );
        }
    }
}

#[test]
fn what_a_task_had_while_nobody_else_wanted_it_is_not_held_against_it() {
    const USUAL: (u64, u64) = (2 * MS, 20 * MS);
    for nr_cpus in [2, 4, 8] {
        let mut m = Machine::with_cpus(nr_cpus);
        let task = spawn(&mut m, 0, 4 * MS, 4 * MS);
        m.run_for(10 * SEC);
        m.set_habit(task, USUAL.0, USUAL.1);
        for cpu in 0..nr_cpus {
            spawn(&mut m, cpu, SEC, 0);
            spawn(&mut m, cpu, SEC, 0);
        }
        m.run_for(2 * SEC);
        let ran_ns = run_long(&mut m, task, USUAL, 12 * MS);
        assert!(ran_ns >= 11 * MS, "{nr_cpus} CPUs: {ran_ns}");
    }
}

#[test]
fn hogs_of_which_some_always_wait_are_never_left_for_long() {
    for nr_cpus in [2, 3, 4, 8, 12] {
        for more in 1..nr_cpus {
            let mut m = Machine::with_cpus(nr_cpus);
            let hogs: Vec<Task> = (0..nr_cpus + more)
                .map(|i| spawn(&mut m, i % nr_cpus, SEC, 0))
                .collect();
            m.run_for(SEC / 2);
            hogs.iter().for_each(|&hog| m.forget_wait(hog));
            m.run_for(2 * SEC);
            let waited_ns = longest_wait_ns(&m, &hogs);
            let scene = format!("{more} more at {nr_cpus} CPUs: {waited_ns}");
            assert!(waited_ns <= 12 * MS, "{scene}");
        }
    }
}

#[test]
fn hogs_share_machines_of_every_size() {
    for (nr_cpus, seconds) in [
        (1, 4),
        (2, 4),
        (3, 4),
        (4, 4),
        (8, 4),
        (16, 4),
        (64, 4),
        (1024, 1),
    ] {
        let topology = topology(nr_cpus, nr_cpus % 2 == 0, 64, false);
        let mut m = Machine::new(&topology);
        let hogs: Vec<Task> = (0..2 * nr_cpus)
            .map(|i| spawn(&mut m, i % nr_cpus, SEC, 0))
            .collect();
        m.run_for(SEC);
        let before: Vec<u64> = hogs.iter().map(|hog| m.view(*hog).ran_ns).collect();
        m.run_for(seconds * SEC);
        let ran = hogs
            .iter()
            .zip(before)
            .map(|(hog, before)| m.view(*hog).ran_ns - before);
        let (least, most) = (ran.clone().min().unwrap(), ran.clone().max().unwrap());
        let all = seconds * SEC * u64::from(nr_cpus);
        assert_eq!(ran.sum::<u64>(), all, "{nr_cpus}: no CPU idles");
        assert!(least * 100 > most * 80, "{nr_cpus}: {least} to {most}");
    }
}

#[test]
fn sleepers_run_soon_beside_hogs_on_machines_of_every_size() {
    for nr_cpus in [1, 2, 4, 8, 64] {
        let topology = topology(nr_cpus, nr_cpus % 2 == 0, 64, false);
        let mut m = Machine::new(&topology);
        for i in 0..2 * nr_cpus {
            spawn(&mut m, i % nr_cpus, SEC, 0);
        }
        m.run_for(SEC);
        let sleepers: Vec<Task> = (0..nr_cpus)
            .map(|i| spawn(&mut m, i, 50 * US, 10 * MS + u64::from(i) * 17 * US))
            .collect();
        m.run_for(SEC);
        for sleeper in sleepers {
            let view = m.view(sleeper);
            assert!(view.ran_ns > 3 * MS, "{nr_cpus}: {view:?}");
            // A batch slice when it is new, and the runs of others that are.
            assert!(view.longest_wait_ns < 21 * MS, "{nr_cpus}: {view:?}");
        }
    }
}

#[test]
fn batch_work_that_wakes_takes_turns_with_a_hog_that_had_the_cpu_to_itself() {
    for (run_ns, sleep_ns) in [(30 * MS, 70 * MS), (50 * MS, 250 * MS), (SEC / 10, SEC / 2)] {
        let mut m = Machine::with_cpus(1);
        let hog = spawn(&mut m, 0, SEC, 0);
        // So that it does not always wake at a tick.
        spawn(&mut m, 0, run_ns, sleep_ns + 300 * US);
        m.run_for(SEC);
        m.forget_wait(hog);
        m.run_for(4 * SEC);
        let waited_ns = m.view(hog).longest_wait_ns;
        assert!(waited_ns <= 20 * MS, "{run_ns} {sleep_ns}: {waited_ns}");
    }
}
