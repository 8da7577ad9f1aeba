//! Batch work that is bound to a CPU beside batch work that may run anywhere: who has how much, and waits for how long.
#![allow(clippy::unwrap_used, missing_docs)]

use std::ops::RangeInclusive;

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, Kind, Machine, Task};
use pandemonium_bpf_host::scenes::{asleep, irregular, running, spawn};
use pandemonium_policy::Settings;

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
const KTHREAD: u32 = 0x20_0000;

/// A task that computes from here on, on these CPUs alone.
fn bound_hog(m: &mut Machine, cpus: &[u32]) -> Task {
    let hog = m.task("bound");
    m.bind(hog, cpus);
    m.fork(hog, cpus[0]);
    m.set_habit(hog, 100 * SEC, 0);
    m.run_for(MS);
    hog
}

/// So many bound to each CPU, and so many that are free.
fn with_hogs(bound: &[usize], free: u32) -> (Machine, Vec<Task>) {
    let nr_cpus = bound.len() as u32;
    let mut m = Machine::with_cpus(nr_cpus);
    let mut hogs = Vec::new();
    for (cpu, &nr) in bound.iter().enumerate() {
        for _ in 0..nr {
            hogs.push(bound_hog(&mut m, &[cpu as u32]));
        }
    }
    for i in 0..free {
        hogs.push(spawn(&mut m, i % nr_cpus, 100 * SEC, 0));
        m.run_for(MS);
    }
    m.run_for(SEC / 2);
    (m, hogs)
}

/// What each has of a CPU in 4 s.
fn shares(m: &mut Machine, hogs: &[Task]) -> Vec<f64> {
    let before: Vec<u64> = hogs.iter().map(|&hog| m.view(hog).ran_ns).collect();
    m.run_for(4 * SEC);
    let ran = |(&hog, before)| m.view(hog).ran_ns - before;
    hogs.iter()
        .zip(before)
        .map(ran)
        .map(|ran_ns| ran_ns as f64 / (4 * SEC) as f64)
        .collect()
}

/// What each would have if nobody's part could grow without that of one who has no more: of those bound to each CPU, and
/// of those that are free.
fn fair(bound: &[usize], free: u32) -> (Vec<f64>, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let share: f64 = (low + high) / 2.0;
        let left: f64 = bound
            .iter()
            .map(|&nr| (1.0 - share * nr as f64).max(0.0))
            .sum();
        if left > share * f64::from(free) {
            low = share;
        } else {
            high = share;
        }
    }
    let bound = bound.iter().map(|&nr| low.min(1.0 / nr.max(1) as f64));
    (bound.collect(), low)
}

#[test]
fn hogs_that_are_bound_to_a_cpu_and_hogs_that_are_not_have_equal_parts_where_that_can_be() {
    let scenes: [(&[usize], u32); 13] = [
        (&[2, 0], 2),
        (&[1, 0], 2),
        (&[1, 0], 3),
        (&[2, 0], 4),
        (&[4, 0], 2),
        (&[1, 1], 2),
        (&[2, 2], 2),
        (&[2, 0, 0, 0], 4),
        (&[2, 0, 0, 0], 8),
        (&[1, 0, 0, 0], 8),
        (&[4, 0, 0, 0], 4),
        (&[1, 1, 1, 1], 4),
        (&[2, 2, 2, 2], 8),
    ];
    for (bound, free) in scenes {
        let (mut m, hogs) = with_hogs(bound, free);
        let (of_bound, of_free) = fair(bound, free);
        let mut expected = Vec::new();
        for (&nr, share) in bound.iter().zip(of_bound) {
            expected.extend(vec![share; nr]);
        }
        expected.extend(vec![of_free; free as usize]);
        let shares = shares(&mut m, &hogs);
        for (share, expected) in shares.iter().zip(&expected) {
            assert!(
                (share / expected - 1.0).abs() < 0.03,
                "{bound:?} and {free}: {shares:.3?} of {expected:.3}"
            );
        }
        for &hog in &hogs {
            let waited_ns = m.view(hog).longest_wait_ns;
            assert!(waited_ns <= 24 * MS, "{bound:?} and {free}: {waited_ns}");
        }
    }
}

#[test]
fn what_one_had_while_the_other_was_not_there_is_soon_forgotten() {
    for bound_first in [true, false] {
        let mut m = Machine::with_cpus(1);
        // Bound to the only CPU it would be free.
        let begin = |m: &mut Machine, bound: bool| {
            let hog = spawn(m, 0, 100 * SEC, 0);
            m.set_migration_disabled(hog, bound);
            m.run_for(MS);
            hog
        };
        let first = begin(&mut m, bound_first);
        m.run_for(2 * SEC);
        let second = begin(&mut m, !bound_first);
        m.run_for(100 * MS);
        for hog in [first, second] {
            m.forget_wait(hog);
        }
        let shares = shares(&mut m, &[first, second]);
        for hog in [first, second] {
            let waited_ns = m.view(hog).longest_wait_ns;
            assert!(waited_ns <= 16 * MS, "{bound_first}: {waited_ns}");
        }
        assert!(
            shares.iter().all(|share| (share - 0.5).abs() < 0.02),
            "{bound_first}: {shares:?}"
        );
    }
}

#[test]
fn hogs_that_are_bound_to_the_same_cpus_spread_over_them_and_have_equal_parts() {
    for (nr_cpus, cpus, bound, free, expected) in [
        (4, 0..2, 8, 0, 0.25),
        (4, 0..2, 4, 4, 0.5),
        (4, 2..4, 4, 8, 1.0 / 3.0),
        (4, 0..3, 6, 4, 0.4),
        (8, 4..8, 8, 8, 0.5),
    ] {
        let scene = format!("{bound} on {cpus:?} of {nr_cpus} and {free}");
        let cpus: Vec<u32> = cpus.collect();
        let (mut m, mut hogs) = with_hogs(&vec![0; nr_cpus], free);
        hogs.extend((0..bound).map(|_| bound_hog(&mut m, &cpus)));
        m.run_for(SEC / 2);
        let shares = shares(&mut m, &hogs);
        assert!(
            shares
                .iter()
                .all(|share| (share / expected - 1.0).abs() < 0.03),
            "{scene}: {shares:.3?} of {expected:.3}"
        );
    }
}

#[test]
fn what_is_bound_does_not_go_to_the_queue_of_a_cpu_that_goes_offline() {
    for goes_offline in [false, true] {
        let mut m = Machine::with_cpus(3);
        m.choose(&Settings {
            local_kthreads: true,
            ..Default::default()
        });
        // A thread of the kernel that takes the CPU down begins to run there.
        running(&mut m, BATCH, 1);
        let kthread = asleep(&mut m, INTERACTIVE, 1);
        m.set_flags(kthread, KTHREAD);
        m.bind(kthread, &[1]);
        m.interrupt(kthread, 1);
        if goes_offline {
            m.begin_offline(1);
        }
        m.sleep(1);
        assert_eq!(m.running(1), Some(kthread));
        for _ in 0..4 {
            let hog = m.task("bound");
            m.bind(hog, &[0, 1]);
            m.fork(hog, 0);
        }
        let mut seen = 0;
        for _ in 0..100 {
            m.advance(4 * MS);
            m.tick(0);
            seen = seen.max(m.waiting_for(1, Kind::Batch));
        }
        assert_eq!(seen > 0, !goes_offline, "{seen}");
    }
}

#[test]
fn a_hog_that_is_bound_has_its_part_among_sleepers_that_want_more_than_there_is() {
    for nr_cpus in [2, 4, 8, 12] {
        for seed in 0..5 {
            let mut m = Machine::with_cpus(nr_cpus);
            irregular(&mut m, 4, 1000..=1000, 500..=1500, seed);
            let hog = bound_hog(&mut m, &[seed as u32 % nr_cpus]);
            m.run_for(SEC / 4);
            m.forget_wait(hog);
            let share = shares(&mut m, &[hog])[0];
            let fair = f64::from(nr_cpus) / f64::from(4 * nr_cpus + 1);
            let view = m.view(hog);
            assert!(share > 0.9 * fair, "{nr_cpus} CPUs: {share:.3}, {view:?}");
            assert!(view.longest_wait_ns <= 8 * MS, "{nr_cpus} CPUs: {view:?}");
        }
    }
}

/// So many bound to each of the CPUs beside four sleepers a CPU that want more than there is: what each has of its fair part.
fn of_fair(
    bound: &[u32],
    run_us: RangeInclusive<u64>,
    sleep_us: RangeInclusive<u64>,
    seed: u64,
) -> Vec<f64> {
    let nr_cpus = bound.len() as u32;
    let mut m = Machine::with_cpus(nr_cpus);
    irregular(&mut m, 4, run_us, sleep_us, seed);
    let mut hogs = Vec::new();
    for (cpu, &nr) in (0..).zip(bound) {
        hogs.extend((0..nr).map(|_| bound_hog(&mut m, &[cpu])));
    }
    m.run_for(SEC / 4);
    let fair = f64::from(nr_cpus) / (f64::from(4 * nr_cpus) + hogs.len() as f64);
    let shares = shares(&mut m, &hogs);
    shares.into_iter().map(|share| share / fair).collect()
}

#[test]
fn hogs_that_are_bound_to_one_cpu_have_their_parts_among_sleepers_that_want_more_than_there_is() {
    for (run_us, sleep_us) in [(1000..=1000, 500..=1500), (300..=300, 50..=150)] {
        for bound in [
            &[0, 2][..],
            &[3, 0],
            &[0, 2, 0, 0],
            &[0, 0, 0, 3],
            &[2, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 3, 0, 0, 0],
        ] {
            let parts = of_fair(bound, run_us.clone(), sleep_us.clone(), 1);
            assert!(
                parts.iter().all(|&part| part > 0.9),
                "{bound:?}, sleepers of {run_us:?} us: {parts:.2?}"
            );
        }
    }
}

#[test]
fn hogs_that_are_bound_to_each_cpu_alike_leave_such_sleepers_their_parts() {
    for bound in [&[2, 2][..], &[2, 2, 2, 2]] {
        for seed in 0..3 {
            let parts = of_fair(bound, 1000..=1000, 500..=1500, seed);
            assert!(
                parts.iter().all(|&part| 0.8 < part && part < 1.2),
                "{bound:?}: {parts:.2?}"
            );
        }
    }
}

#[test]
fn what_waits_for_its_only_cpu_is_found_after_another_came_that_looks_first() {
    let mut m = Machine::with_cpus(2);
    let free = spawn(&mut m, 0, 100 * SEC, 0);
    m.run_for(3 * MS);
    m.take_offline(0);
    m.run_for(3 * MS);
    let bound: Vec<Task> = (0..3)
        .map(|_| {
            let hog = spawn(&mut m, 1, 100 * SEC, 0);
            m.run_for(3 * MS);
            m.bind(hog, &[1]);
            hog
        })
        .collect();
    m.run_for(6 * MS);
    assert!(m.waiting_in_node(0, Kind::Batch) > 1, "any CPU may run all");
    m.take_online(0);
    m.run_for(2 * SEC);
    for hog in &bound {
        let view = m.view(*hog);
        assert!(view.longest_wait_ns < 400 * MS, "{view:?}");
    }
    assert_eq!(m.cpu_of(free), Some(0));
}
