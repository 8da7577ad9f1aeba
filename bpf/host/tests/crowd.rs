//! What a crowd of sleepers, who together want more than there is, leaves to the others.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_bpf_host::scenes::{asleep, held, irregular, spawn};
use pandemonium_policy::{Knobs, Limits, Regime};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

/// So many sleepers on each CPU, no two of which sleep for the same time.
fn crowd(m: &mut Machine, nr_cpus: u32, per_cpu: u64, run_ns: u64, sleep_ns: u64) {
    for i in 0..per_cpu * u64::from(nr_cpus) {
        let sleep_ns = sleep_ns + i * 37 * US % (sleep_ns / 2);
        let sleeper = spawn(m, i as u32 % nr_cpus, 30 * US, sleep_ns);
        m.run_for(40 * US);
        m.set_habit(sleeper, run_ns, sleep_ns);
    }
    m.run_for(50 * MS);
}

/// Its part of the machine, where 1 is as much as each other has, and the longest wait of a hog that begins so long after
/// the crowd.
fn hog_among_crowd(
    nr_cpus: u32,
    (per_cpu, run_us, sleep_us): (u64, u64, u64),
    after_ns: u64,
) -> (f64, u64) {
    let mut m = Machine::with_cpus(nr_cpus);
    crowd(&mut m, nr_cpus, per_cpu, run_us * US, sleep_us * US);
    m.run_for(after_ns);
    let hog = spawn(&mut m, 0, SEC, 0);
    m.run_for(100 * MS);
    m.forget_wait(hog);
    let before_ns = m.view(hog).ran_ns;
    m.run_for(SEC);
    let view = m.view(hog);
    let wants = per_cpu * u64::from(nr_cpus) + 1;
    let ran_ns = (view.ran_ns - before_ns) as f64;
    let part = ran_ns * wants as f64 / (SEC * u64::from(nr_cpus)) as f64;
    (part, view.longest_wait_ns)
}

#[test]
fn a_burst_of_other_batch_work_is_the_one_turn_that_a_hog_waits_for() {
    let mut batch_bursts = 0;
    for seed in 0..6 {
        let mut m = Machine::with_cpus(12);
        irregular(&mut m, 4, 1000..=1000, 500..=1500, seed);
        let hog = spawn(&mut m, 0, SEC, 0);
        let burst = spawn(&mut m, 1, 6 * MS, 40 * MS);
        m.run_for(300 * MS);
        m.forget_wait(hog);
        m.run_for(SEC);
        batch_bursts += u32::from(m.view(burst).tier == BATCH);
        let longest_ns = m.view(hog).longest_wait_ns;
        assert!(longest_ns <= 11 * MS, "{seed}: {longest_ns}");
    }
    assert!(batch_bursts >= 4, "{batch_bursts}");
}

#[test]
fn a_hog_among_a_crowd_has_most_of_its_share_and_does_not_wait_long() {
    // One start alone is a coincidence: a second has but few of a hog's turns.
    const STARTS_NS: [u64; 3] = [0, 777 * US, 1554 * US];
    for nr_cpus in [2, 4, 8] {
        for crowd in [
            (8, 500, 500),
            (8, 1000, 1000),
            (16, 200, 800),
            (16, 500, 500),
            (32, 200, 800),
        ] {
            let mut parts = 0.0;
            for after_ns in STARTS_NS {
                let (part, longest_wait_ns) = hog_among_crowd(nr_cpus, crowd, after_ns);
                parts += part;
                assert!(
                    part >= 0.6,
                    "{crowd:?} at {nr_cpus} CPUs after {after_ns} ns: {part}"
                );
                assert!(
                    longest_wait_ns <= 80 * MS,
                    "{crowd:?} at {nr_cpus} CPUs: {longest_wait_ns} ns"
                );
            }
            let part = parts / STARTS_NS.len() as f64;
            assert!(part >= 0.7, "{crowd:?} at {nr_cpus} CPUs: {part}");
        }
    }
}

/// What each had in a second, CPU time in ns, and the longest that one of them waited.
fn had_in_a_second(m: &mut Machine, tasks: &[&[Task]]) -> Vec<(f64, u64)> {
    let ran = |m: &Machine, tasks: &[Task]| -> u64 {
        tasks.iter().map(|&task| m.view(task).ran_ns).sum()
    };
    let before: Vec<u64> = tasks.iter().map(|tasks| ran(m, tasks)).collect();
    for &task in tasks.iter().copied().flatten() {
        m.forget_wait(task);
    }
    m.run_for(SEC);
    let of = |(tasks, before): (&&[Task], u64)| {
        let waits = tasks.iter().map(|&task| m.view(task).longest_wait_ns);
        (
            (ran(m, tasks) - before) as f64 / tasks.len() as f64,
            waits.max().unwrap(),
        )
    };
    tasks.iter().zip(before).map(of).collect()
}

#[test]
fn a_hog_among_sleepers_that_want_all_there_is_has_its_part_and_they_have_theirs() {
    let scenes = [2, 4, 8].map(|nr_cpus| [100, 200, 500, 1000].map(|us| (nr_cpus, us)));
    for (nr_cpus, us) in scenes.into_iter().flatten() {
        let heavy = Regime::Heavy.baseline(&Limits::for_cpus(nr_cpus));
        for knobs in [Knobs::default(), heavy] {
            let mut m = Machine::with_cpus(nr_cpus);
            m.set_knobs(&knobs);
            let hog = [spawn(&mut m, 0, 2 * SEC, 0)];
            let around = us * 9 / 10..=us * 11 / 10;
            let sleepers = irregular(&mut m, 4, around.clone(), around, 7);
            m.run_for(300 * MS);
            let had = had_in_a_second(&mut m, &[&hog, &sleepers]);
            let fair = SEC as f64 * f64::from(nr_cpus) / f64::from(4 * nr_cpus + 1);
            let [hogs, others] = [0, 1].map(|i| had[i].0 / fair);
            let scene = format!("{us} us at {nr_cpus} CPUs: {hogs:.2}, {others:.2}, {had:?}");
            assert!((0.9..=1.5).contains(&hogs) && others >= 0.95, "{scene}");
            assert!(had[0].1 <= 8 * MS && had[1].1 <= 10 * MS, "{scene}");
        }
    }
}

#[test]
fn as_many_hogs_as_cpus_wait_for_8_ms_at_most_among_sleepers_that_are_short() {
    for nr_cpus in [2, 4, 8] {
        for (per_cpu, run_us, sleep_us) in
            [(1, 500, 100), (2, 200, 100), (2, 1000, 500), (4, 100, 300)]
        {
            let mut m = Machine::with_cpus(nr_cpus);
            let hogs: Vec<Task> = (0..nr_cpus)
                .map(|cpu| spawn(&mut m, cpu, 2 * SEC, 0))
                .collect();
            let around = |us: u64| us * 9 / 10..=us * 11 / 10;
            irregular(&mut m, per_cpu, around(run_us), around(sleep_us), 7);
            m.run_for(300 * MS);
            let had = had_in_a_second(&mut m, &[&hogs]);
            let scene = format!("{per_cpu} of {run_us} us at {nr_cpus} CPUs: {had:?}");
            assert!(had[0].1 <= 8 * MS, "{scene}");
        }
    }
}

#[test]
fn a_sleeper_that_runs_for_longer_than_the_crowd_waits_for_at_most_150_ms() {
    for nr_cpus in [2, 4, 8] {
        for (run_us, sleep_us) in [(200, 1500), (100, 700)] {
            let mut m = Machine::with_cpus(nr_cpus);
            let long: Vec<Task> = (0..nr_cpus)
                .map(|cpu| spawn(&mut m, cpu, 3 * MS, MS))
                .collect();
            m.run_for(200 * MS);
            crowd(&mut m, nr_cpus, 16, run_us * US, sleep_us * US);
            m.run_for(SEC);
            for task in long {
                let view = m.view(task);
                let scene = format!("beside {run_us} us at {nr_cpus} CPUs: {view:?}");
                assert!(view.longest_wait_ns <= 150 * MS, "{scene}");
            }
        }
    }
}

#[test]
fn nobody_in_an_irregular_crowd_waits_for_50_ms_and_a_hog_has_its_share() {
    for nr_cpus in [2, 4, 8] {
        for seed in 0..5 {
            let mut m = Machine::with_cpus(nr_cpus);
            let sleepers = irregular(&mut m, 6, 500..=1500, 500..=1500, seed);
            let hog = spawn(&mut m, 0, 2 * SEC, 0);
            m.run_for(200 * MS);
            for sleeper in &sleepers {
                m.forget_wait(*sleeper);
            }
            let before_ns = m.view(hog).ran_ns;
            m.run_for(SEC);
            let waits = sleepers.iter().map(|task| m.view(*task).longest_wait_ns);
            let longest_ns = waits.max().unwrap();
            let part = (m.view(hog).ran_ns - before_ns) as f64 * f64::from(6 * nr_cpus + 1)
                / (SEC * u64::from(nr_cpus)) as f64;
            let scene = format!("{seed} at {nr_cpus} CPUs: {longest_ns} ns, {part}");
            assert!(longest_ns <= 50 * MS && part >= 0.97, "{scene}");
        }
    }
}

#[test]
fn what_queues_as_batch_with_the_crowd_pays_for_what_it_had_before_it_slept() {
    let mut m = held(1);
    let had_much = asleep(&mut m, LAT_CRITICAL, 0);
    let hog = m.task("hog");
    m.fork(hog, 0);
    m.unhold(0);
    // The two take turns; the sleeper goes first each time it wakes.
    for _ in 0..50 {
        m.interrupt(had_much, 0);
        assert_eq!(m.running(0), Some(had_much));
        m.advance(2 * MS);
        m.sleep(0);
        assert_eq!(m.running(0), Some(hog));
        m.advance(MS);
    }
    m.hold(0);
    for _ in 0..5 {
        let other = asleep(&mut m, LAT_CRITICAL, 0);
        m.interrupt(other, 0);
    }
    let guarded = m.counter(Counter::Guarded);
    m.interrupt(had_much, 0);
    assert_eq!(m.counter(Counter::Guarded), guarded + 1);
    let (sleeper, hog) = (m.view(had_much), m.view(hog));
    assert_eq!(sleeper.queue, hog.queue, "both wait as batch work");
    let ahead_ns = sleeper.vtime.wrapping_sub(sleeper.clock).cast_signed();
    assert!((1..=4 * MS as i64).contains(&ahead_ns), "{sleeper:?}");
}

#[test]
fn one_of_the_crowd_that_is_interrupted_goes_on_first() {
    let mut m = held(2);
    for _ in 0..6 {
        let other = asleep(&mut m, INTERACTIVE, 0);
        m.wake(other, 0);
    }
    assert!(m.waiting_in_node(0, Kind::Batch) > 0);
    m.unhold(0);
    while m.waiting_in_node(0, Kind::Interactive) > 0 {
        m.exit(0);
    }
    m.exit(0);
    let stopped = m.running(0).unwrap();
    m.advance(30 * US);
    m.hold(0);
    let fresh = asleep(&mut m, INTERACTIVE, 0);
    m.wake(fresh, 0);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 2);
    m.unhold(0);
    assert_eq!(m.running(0), Some(stopped));
}

/// Whether a task that loses its CPU after it has run for so long queues as batch work, while so many interactive ones wait.
fn queues_as_batch(ran_ns: u64, waiting: u32) -> bool {
    let mut m = held(2);
    let task = asleep(&mut m, INTERACTIVE, 0);
    m.unhold(0);
    m.interrupt(task, 0);
    for _ in 0..waiting {
        let other = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(other, 10, 2, MS);
        m.interrupt(other, 0);
    }
    m.advance(ran_ns);
    m.hold(0);
    m.waiting_in_node(0, Kind::Batch) > 0
}

#[test]
fn what_goes_on_for_longer_than_usual_queues_as_batch_where_others_wait_for_every_cpu() {
    assert!(queues_as_batch(MS, 2));
    assert!(!queues_as_batch(MS, 1), "nobody waits for the other CPU");
    assert!(!queues_as_batch(400 * US, 2), "not long");
}

/// Threads that a program begins, four for each CPU, before it computes on; each runs and sleeps for so long, more or less.
fn begin_threads(m: &mut Machine, run_us: u64, sleep_us: u64, seed: u64) -> (Task, Vec<Task>) {
    let main = spawn(m, 0, SEC, 0);
    m.run_for(70 * MS + seed * 13_377 * US % (40 * MS));
    // It has computed, and sleeps once.
    m.set_habit(main, US, 20 * MS);
    m.run_for(20 * MS + seed * 119 * US);
    m.set_habit(main, SEC, 0);
    let threads = (0..4 * u64::from(m.nr_cpus())).map(|i| {
        let cpu = m.view(main).cpu.cast_unsigned();
        let thread = spawn(m, cpu, run_us * US, sleep_us * US);
        let around = |us: u64| us * 700..=us * 1300;
        m.set_random_habit(thread, around(run_us), around(sleep_us), seed * 1000 + i);
        m.run_for(40 * US);
        thread
    });
    let threads = threads.collect();
    m.forget_wait(main);
    (main, threads)
}

#[test]
fn a_program_that_computes_on_does_not_wait_for_the_threads_it_begins() {
    for nr_cpus in [2, 4, 8] {
        for (run_us, sleep_us, most_ms) in [
            (200, 200, 8),
            (500, 500, 10),
            (1000, 1000, 12),
            (2000, 2000, 16),
            (3000, 3000, 24),
        ] {
            for seed in 0..20 {
                let mut m = Machine::with_cpus(nr_cpus);
                let (main, _) = begin_threads(&mut m, run_us, sleep_us, seed);
                m.run_for(500 * MS);
                let view = m.view(main);
                let scene = format!("{run_us} us at {nr_cpus} CPUs, {seed}: {view:?}");
                assert!(view.longest_wait_ns <= most_ms * MS, "{scene}");
            }
        }
    }
}

#[test]
fn nobody_among_threads_that_want_more_than_there_is_waits_for_the_credit_of_all_others() {
    for nr_cpus in [2, 4, 8] {
        for (run_us, sleep_us) in [(1000, 250), (2000, 2000), (3000, 3000)] {
            for seed in 0..10 {
                let mut m = Machine::with_cpus(nr_cpus);
                let (_, threads) = begin_threads(&mut m, run_us, sleep_us, seed);
                m.run_for(SEC);
                let waits = threads.iter().map(|task| m.view(*task).longest_wait_ns);
                let longest_ns = waits.max().unwrap();
                let scene = format!("{run_us} us at {nr_cpus} CPUs, {seed}: {longest_ns} ns");
                assert!(longest_ns <= 44 * MS, "{scene}");
            }
        }
    }
}

/// The longest wait of a program that has computed, slept, and computes on beside threads that it starts. They run and
/// sleep for so long, some after a first sleep that is short.
fn wait_while_threads_begin(
    nr_cpus: u32,
    (run_ms, sleep_ms): (u64, u64),
    sleep_first: bool,
    after_ns: u64,
) -> u64 {
    let mut m = Machine::with_cpus(nr_cpus);
    let program = spawn(&mut m, 0, 300 * MS, 20 * MS);
    m.run_for(320 * MS + after_ns);
    m.set_habit(program, 10 * SEC, 0);
    m.forget_wait(program);
    for i in 0..4 * nr_cpus {
        let begins = if sleep_first {
            (100 * US, 100 * US)
        } else {
            (run_ms * MS, sleep_ms * MS)
        };
        let thread = spawn(&mut m, i % nr_cpus, begins.0, begins.1);
        m.run_for(30 * US);
        m.set_habit(thread, run_ms * MS, sleep_ms * MS);
    }
    m.run_for(900 * MS);
    m.view(program).longest_wait_ns
}

#[test]
fn what_computes_on_while_threads_begin_that_run_for_long_does_not_wait_for_all_of_them() {
    for (nr_cpus, threads) in [(2, (20, 10)), (4, (15, 5)), (4, (20, 10))] {
        for sleep_first in [false, true] {
            let mut waits: Vec<u64> = (0..7)
                .map(|i| wait_while_threads_begin(nr_cpus, threads, sleep_first, i * 613 * US))
                .collect();
            waits.sort_unstable();
            let scene = format!("{threads:?} {sleep_first} at {nr_cpus} CPUs: {waits:?}");
            assert!(waits[3] <= 40 * MS && waits[6] <= 60 * MS, "{scene}");
        }
    }
}
