//! Programs that are launched beside work that computes, and whoever launches them.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::{asleep, irregular, spawn};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
const SIZES: [u32; 4] = [2, 4, 8, 12];

/// Two for each CPU that wait to begin.
fn hogs_about_to_begin(m: &mut Machine, nr_cpus: u32) -> Vec<Task> {
    let hogs = (0..2 * nr_cpus).map(|i| {
        let hog = spawn(m, i % nr_cpus, 100 * US, 1000 * SEC);
        m.run_for(200 * US);
        hog
    });
    let hogs = hogs.collect();
    m.run_for(5 * MS);
    hogs
}

fn begin(m: &mut Machine, hogs: Vec<Task>) {
    for hog in hogs {
        m.set_habit(hog, 1000 * SEC, 0);
        m.wake(hog, 0);
    }
}

/// A program that needs so long; who launches it wakes for that, and sleeps again.
fn launched_by(m: &mut Machine, shell: Task, need_ns: u64) -> Task {
    m.interrupt(shell, 0);
    let cpu = m.cpu_of(shell).unwrap();
    let program = spawn(m, cpu, need_ns, 1000 * SEC);
    m.sleep(cpu);
    program
}

/// At any time there are two programs for each CPU that were launched and need 10 ms.
fn launch_for_a_second(m: &mut Machine) {
    const NEED_NS: u64 = 10 * MS;
    let most = 2 * m.nr_cpus() as usize;
    let mut jobs = Vec::new();
    for _ in 0..1000 {
        jobs.retain(|job| m.view(*job).ran_ns < NEED_NS);
        while jobs.len() < most {
            jobs.push(spawn(m, 0, NEED_NS, 1000 * SEC));
        }
        m.run_for(MS);
    }
}

#[test]
fn the_first_program_beside_hogs_that_have_just_woken_is_ahead_of_them() {
    const NEED_NS: u64 = 15 * MS;
    for nr_cpus in SIZES {
        for is_known in [false, true] {
            let mut m = Machine::with_cpus(nr_cpus);
            let hogs = hogs_about_to_begin(&mut m, nr_cpus);
            begin(&mut m, hogs);
            m.run_for(3 * MS);
            if is_known {
                m.predict("load", INTERACTIVE, 10, 2, 100 * US);
            }
            let program = spawn(&mut m, 0, NEED_NS, SEC);
            m.run_for(NEED_NS + 10 * MS);
            assert_eq!(
                m.view(program).ran_ns,
                NEED_NS,
                "{nr_cpus} CPUs, {is_known}"
            );
        }
    }
}

#[test]
fn who_usually_computes_hardly_waits_behind_the_hogs_it_has_woken() {
    for nr_cpus in SIZES {
        let mut m = Machine::with_cpus(nr_cpus);
        let parent = spawn(&mut m, 0, 20 * MS, 300 * MS);
        m.run_for(2 * SEC);
        while m.cpu_of(parent).is_none() {
            m.run_for(100 * US);
        }
        while m.cpu_of(parent).is_some() {
            m.run_for(100 * US);
        }
        let hogs = hogs_about_to_begin(&mut m, nr_cpus);
        m.set_habit(parent, 600 * US, 2300 * US);
        while m.cpu_of(parent).is_none() {
            m.run_for(10 * US);
        }
        assert_eq!(m.view(parent).tier, BATCH);
        m.forget_wait(parent);
        begin(&mut m, hogs);
        m.run_for(60 * MS);
        let wait_ns = m.view(parent).longest_wait_ns;
        assert!(wait_ns <= 8 * MS, "{nr_cpus} CPUs: {wait_ns} ns");
    }
}

#[test]
fn the_first_program_beside_hogs_that_have_just_begun_takes_no_longer_than_others() {
    const NEED_NS: u64 = 3 * MS;
    for nr_cpus in SIZES {
        let mut m = Machine::with_cpus(nr_cpus);
        let parent = spawn(&mut m, 0, 100 * US, 500 * US);
        let hogs = hogs_about_to_begin(&mut m, nr_cpus);
        begin(&mut m, hogs);
        m.run_for(500 * US);
        while m.cpu_of(parent).is_none() {
            m.run_for(10 * US);
        }
        let cpu = m.cpu_of(parent).unwrap();
        let program = spawn(&mut m, cpu, NEED_NS, 10 * SEC);
        m.run_for(NEED_NS + MS);
        assert_eq!(m.view(program).ran_ns, NEED_NS, "{nr_cpus} CPUs");
    }
}

#[test]
fn what_is_known_of_a_program_is_no_measure_for_the_slice_of_its_launch() {
    let mut m = Machine::with_cpus(1);
    m.predict("known", INTERACTIVE, 10, 2, 100 * US);
    let known = m.task("known");
    m.fork(known, 0);
    assert_eq!(m.view(known).tier, INTERACTIVE);
    assert_eq!(m.view(known).slice_ns, 20 * MS);
    m.sleep(0);
    m.interrupt(known, 0);
    assert!(m.view(known).slice_ns <= MS);
}

#[test]
fn a_wake_up_stops_a_launch_whatever_is_known_of_the_program() {
    for known in [None, Some(INTERACTIVE), Some(LAT_CRITICAL)] {
        let mut m = Machine::with_cpus(1);
        if let Some(tier) = known {
            m.predict("program", tier, 10, 2, 100 * US);
        }
        let program = m.task("program");
        m.fork(program, 0);
        m.advance(500 * US);
        let wakes = asleep(&mut m, INTERACTIVE, 0);
        m.interrupt(wakes, 0);
        assert_eq!(m.running(0), Some(wakes), "{known:?}");
        m.sleep(0);
        assert_eq!(m.running(0), Some(program), "{known:?}");
    }
}

#[test]
fn what_somebody_decided_to_be_interactive_never_has_the_slice_of_a_launch() {
    for tier in [INTERACTIVE, LAT_CRITICAL] {
        let mut m = Machine::with_cpus(1);
        m.pin("pinned", tier, true);
        let pinned = m.task("pinned");
        m.fork(pinned, 0);
        assert_eq!(m.view(pinned).tier, tier);
        assert!(m.view(pinned).slice_ns <= MS, "{tier}");
    }
}

#[test]
fn frames_are_in_time_when_programs_that_never_sleep_are_started_beside_them() {
    const PERIOD_NS: u64 = 16 * MS;
    // The longest after a frame's beginning that they are started: later, 0028 says, some frames are late.
    for (nr_cpus, last_ms) in [(1, 7), (2, 11), (4, 11), (8, 11)] {
        for (hogs, work_ns) in [(1, 6 * MS), (2, 5 * MS), (4, 3 * MS)] {
            for start_ms in 0..=last_ms {
                let mut m = Machine::with_cpus(nr_cpus);
                let frames = m.task("frames");
                m.fork(frames, 0);
                m.set_period(frames, work_ns, PERIOD_NS);
                m.run_for(30 * PERIOD_NS + start_ms * MS);
                for i in 0..hogs * nr_cpus {
                    spawn(&mut m, i % nr_cpus, 100 * SEC, 0);
                }
                m.forget_wait(frames);
                m.run_for(SEC);
                let view = m.view(frames);
                let scene = format!(
                    "{work_ns} beside {hogs} a CPU at {nr_cpus} from {start_ms} ms on: {view:?}"
                );
                assert!(view.longest_wait_ns <= PERIOD_NS - work_ns, "{scene}");
            }
        }
    }
}

#[test]
fn sleepers_that_run_for_some_ms_do_not_wait_for_the_launches_of_programs_that_go_on() {
    for nr_cpus in [2, 4, 8] {
        for seed in 0..4 {
            let mut m = Machine::with_cpus(nr_cpus);
            let sleepers = irregular(&mut m, 2, 1000..=4000, 5000..=30000, seed);
            m.run_for(SEC / 2);
            for i in 0..4 * nr_cpus {
                spawn(&mut m, i % nr_cpus, 100 * SEC, 0);
            }
            for sleeper in &sleepers {
                m.forget_wait(*sleeper);
            }
            m.run_for(SEC);
            for sleeper in sleepers {
                let view = m.view(sleeper);
                let scene = format!("{nr_cpus} CPUs, {seed}: {view:?}");
                assert!(view.longest_wait_ns <= 40 * MS, "{scene}");
            }
        }
    }
}

#[test]
fn sleepers_have_most_of_their_share_beside_hogs_and_programs_that_are_launched_all_the_time() {
    const SECONDS: u64 = 3;
    for nr_cpus in [2, 4, 8] {
        for (run_ns, sleep_ns) in [(10 * MS, MS), (30 * MS, 10 * MS)] {
            let mut m = Machine::with_cpus(nr_cpus);
            let hogs = hogs_about_to_begin(&mut m, nr_cpus);
            let sleepers: Vec<Task> = (0..nr_cpus)
                .map(|cpu| spawn(&mut m, cpu, run_ns, sleep_ns))
                .collect();
            begin(&mut m, hogs);
            m.run_for(SEC);
            let ran_ns =
                |m: &Machine| -> u64 { sleepers.iter().map(|task| m.view(*task).ran_ns).sum() };
            let before_ns = ran_ns(&m);
            for _ in 0..SECONDS {
                launch_for_a_second(&mut m);
            }
            let whole_ns = SECONDS * SEC * u64::from(nr_cpus);
            let part = (ran_ns(&m) - before_ns) as f64 / whole_ns as f64;
            assert!(part >= 0.1, "{run_ns} at {nr_cpus} CPUs: {part}");
        }
    }
}

#[test]
fn a_program_that_is_launched_beside_hogs_does_not_wait_for_its_turn_among_them() {
    const NEED_NS: u64 = 7 * MS;
    for nr_cpus in [1, 2, 4, 8, 12] {
        let mut m = Machine::with_cpus(nr_cpus);
        for cpu in 0..nr_cpus {
            spawn(&mut m, cpu, SEC, 0);
            spawn(&mut m, cpu, SEC, 0);
        }
        // The leads of the hogs end first.
        m.run_for(100 * MS);
        for launch in 0..10 {
            m.run_for(93 * MS);
            let program = spawn(&mut m, launch % nr_cpus, NEED_NS, 10 * SEC);
            let mut took_ms = 0;
            while m.view(program).ran_ns < NEED_NS {
                m.run_for(MS);
                took_ms += 1;
            }
            // Alone there is nobody to interrupt: the kernel does not ask for a CPU. Hogs that began at the same tick have
            // all run for less than they must have to be stopped.
            let most_ms = if nr_cpus == 1 { 20 } else { 11 };
            assert!(
                took_ms <= most_ms,
                "launch {launch} took {took_ms} ms at {nr_cpus} CPUs"
            );
        }
    }
}

#[test]
fn a_program_that_is_launched_keeps_its_lead_over_hogs_that_began_like_it() {
    const NEED_NS: u64 = 20 * MS;
    for nr_cpus in [2, 4, 8, 12] {
        let mut m = Machine::with_cpus(nr_cpus);
        for cpu in 0..nr_cpus {
            spawn(&mut m, cpu, SEC, 0);
            spawn(&mut m, cpu, SEC, 0);
            spawn(&mut m, cpu, 60 * US, 7 * MS + u64::from(cpu) * 313 * US);
        }
        m.run_for(SEC);
        for launch in 0..20 {
            m.run_for(93 * MS);
            let program = spawn(&mut m, launch % nr_cpus, NEED_NS, 1000 * SEC);
            m.run_for(30 * MS);
            let ran_ns = m.view(program).ran_ns;
            assert_eq!(ran_ns, NEED_NS, "launch {launch} at {nr_cpus} CPUs");
        }
    }
}

#[test]
fn programs_that_are_launched_all_the_time_leave_hogs_most_of_their_share() {
    for nr_cpus in [2, 4, 8] {
        let mut m = Machine::with_cpus(nr_cpus);
        let hogs: Vec<Task> = (0..2 * nr_cpus)
            .map(|i| spawn(&mut m, i % nr_cpus, 100 * US, MS))
            .collect();
        m.run_for(10 * MS);
        for hog in &hogs {
            m.set_habit(*hog, SEC, 0);
        }
        m.run_for(SEC);
        let ran_ns = |m: &Machine| hogs.iter().map(|hog| m.view(*hog).ran_ns).sum::<u64>();
        let before_ns = ran_ns(&m);
        launch_for_a_second(&mut m);
        let part = (ran_ns(&m) - before_ns) as f64 / (SEC * u64::from(nr_cpus)) as f64;
        assert!(part >= 0.42, "{part} at {nr_cpus} CPUs");
    }
}

#[test]
fn a_program_that_is_launched_among_many_young_ones_waits_for_none_that_had_a_turn() {
    const NEED_NS: u64 = 500 * US;
    for nr_cpus in [1, 2, 4] {
        let mut m = Machine::with_cpus(nr_cpus);
        let shell = asleep(&mut m, INTERACTIVE, 0);
        let many: Vec<Task> = (0..100 * nr_cpus)
            .map(|i| spawn(&mut m, i % nr_cpus, 1000 * SEC, 0))
            .collect();
        m.run_for(2 * SEC);
        for launch in 0..10 {
            m.run_for(91 * MS);
            let program = launched_by(&mut m, shell, NEED_NS);
            m.run_for(10 * MS);
            let ran_ns = m.view(program).ran_ns;
            assert_eq!(ran_ns, NEED_NS, "launch {launch} at {nr_cpus} CPUs");
        }
        // A round of them is 400 ms.
        let waits = many.into_iter().map(|task| m.view(task).longest_wait_ns);
        let longest_ns = waits.max().unwrap();
        assert!(longest_ns <= SEC / 2, "{longest_ns} at {nr_cpus} CPUs");
    }
}

/// Programs that compute for 10 ms, each begun anew when one ends, two for each CPU, and one of 2 ms now and then.
#[test]
fn a_launch_among_programs_that_are_older_waits_for_one_turn_of_them() {
    const NEED_NS: u64 = 2 * MS;
    for nr_cpus in SIZES {
        let mut m = Machine::with_cpus(nr_cpus);
        let shell = asleep(&mut m, INTERACTIVE, 0);
        let mut jobs: Vec<Task> = Vec::new();
        let mut longest_ns = 0;
        let mut launched = None;
        for ms in 0..1000 {
            jobs.retain(|job| m.view(*job).ran_ns < 10 * MS);
            while jobs.len() < 2 * nr_cpus as usize {
                jobs.push(spawn(&mut m, 0, 10 * MS, 1000 * SEC));
            }
            if ms % 23 == 0 {
                launched = Some(launched_by(&mut m, shell, NEED_NS));
            }
            m.run_for(MS);
            if let Some(launch) = launched {
                longest_ns = longest_ns.max(m.view(launch).longest_wait_ns);
            }
        }
        assert!(longest_ns <= 10 * MS, "{nr_cpus} CPUs: {longest_ns}");
    }
}

#[test]
fn a_launch_waits_for_one_of_many_programs_that_somebody_else_forked_at_once() {
    const NEED_NS: u64 = 2 * MS;
    for nr_cpus in SIZES {
        let mut m = Machine::with_cpus(nr_cpus);
        let [crowd, shell] = [0, 1].map(|cpu| asleep(&mut m, INTERACTIVE, cpu));
        let mut waits_ns = [0; 2];
        for _ in 0..10 {
            m.interrupt(crowd, 0);
            let cpu = m.cpu_of(crowd).unwrap();
            let many: Vec<Task> = (0..8 * nr_cpus)
                .map(|_| spawn(&mut m, cpu, NEED_NS, 1000 * SEC))
                .collect();
            m.sleep(cpu);
            m.run_for(3 * MS);
            let program = launched_by(&mut m, shell, NEED_NS);
            m.run_for(97 * MS);
            let longest = |tasks: &[Task]| tasks.iter().map(|t| m.view(*t).longest_wait_ns).max();
            waits_ns[0] = waits_ns[0].max(longest(&[program]).unwrap());
            waits_ns[1] = waits_ns[1].max(longest(&many).unwrap());
        }
        assert!(waits_ns[0] <= NEED_NS, "{nr_cpus} CPUs: {waits_ns:?}");
        assert!(waits_ns[1] <= 8 * NEED_NS, "{nr_cpus} CPUs: {waits_ns:?}");
    }
}
