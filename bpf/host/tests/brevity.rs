//! What is short and rare: before whom it queues, how much room it has, and how long it waits in the end.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, Kind, Machine, Task};
use pandemonium_bpf_host::scenes::{asleep, held, irregular, order, rest_of_runs, spawn, waiting};
use pandemonium_policy::Limits;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

/// A task that usually runs for `usual_ns` and woke so long before now. Other CPUs than the first are held.
fn sleeper(m: &mut Machine, usual_ns: u64, interval_ns: u64) -> Task {
    let task = asleep(m, INTERACTIVE, 0);
    m.unhold(0);
    m.interrupt(task, 0);
    m.advance(100 * US);
    m.sleep(0);
    m.hold(0);
    m.set_history(task, 10, 2, usual_ns);
    m.advance(interval_ns - 100 * US);
    task
}

#[test]
fn what_is_short_and_rare_queues_before_what_is_not_unless_that_is_a_millisecond_ahead() {
    for (what, usual_ns, interval_ns, had_more_ns, goes_first) in [
        ("short and rare", 250 * US, 3 * MS, 0, true),
        (
            "and has had nearly as much more",
            250 * US,
            4 * MS,
            999_000,
            true,
        ),
        (
            "and has had more than that",
            250 * US,
            4 * MS,
            1_001_000,
            false,
        ),
        ("not so short", 251 * US, 8 * MS, 0, false),
        ("not so rare", 250 * US, 2999 * US, 0, false),
    ] {
        let mut m = held(2);
        let short = sleeper(&mut m, usual_ns, interval_ns);
        let other = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(other, 10, 2, 3 * MS);
        for (task, vtime) in [(other, 0), (short, had_more_ns)] {
            m.set_vtime(task, vtime);
            m.interrupt(task, 1);
        }
        let expected = if goes_first {
            [short, other]
        } else {
            [other, short]
        };
        assert_eq!(order(&mut m), expected, "{what}");
    }
}

#[test]
fn what_runs_for_seldom_but_long_is_not_rare() {
    for (per_100_ms, goes_first) in [(33, true), (34, false)] {
        let mut m = held(2);
        let short = sleeper(&mut m, 250 * US, 4 * MS);
        m.set_history(short, per_100_ms, 2, 250 * US);
        let other = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(other, 10, 2, 3 * MS);
        for task in [other, short] {
            m.set_vtime(task, 0);
            m.interrupt(task, 1);
        }
        assert_eq!(order(&mut m)[0] == short, goes_first, "{per_100_ms}");
    }
}

#[test]
fn a_crowd_leaves_a_quarter_more_room_to_what_is_short_and_rare() {
    let room = u64::from(Limits::for_cpus(2).interactive_max);
    let mut m = held(2);
    let short: Vec<Task> = (0..=room)
        .map(|_| sleeper(&mut m, 100 * US, 4 * MS))
        .collect();
    let mut others = (0..2 * room)
        .map(|_| asleep(&mut m, INTERACTIVE, 0))
        .collect::<Vec<_>>();
    m.interrupt(others.pop().unwrap(), 1);
    m.advance(MS);
    for task in others {
        m.interrupt(task, 1);
    }
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), room);
    for task in short {
        m.interrupt(task, 1);
    }
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), room + room / 4);
}

/// How many of 50 tasks that usually run for so long, so often in 100 ms, queue as interactive if they wake at once, so long
/// after another one came into the empty queue; the room of two CPUs is for 8.
fn come_in_crowd(usual_ns: u64, per_100_ms: u32, after_ns: u64) -> u64 {
    let mut m = held(2);
    let crowd = [(); 50].map(|()| sleeper(&mut m, usual_ns, 12 * MS));
    for task in crowd {
        m.set_history(task, per_100_ms, 3, usual_ns);
    }
    let first = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(first, 1);
    m.advance(after_ns);
    for task in crowd {
        m.interrupt(task, 1);
    }
    m.waiting_in_node(0, Kind::Interactive)
}

#[test]
fn a_crowd_that_wakes_at_once_now_and_then_finds_four_times_the_room() {
    for (what, usual_ns, per_100_ms, after_ns, expected) in [
        ("takes up to a millisecond", MS, 8, 0, 4 * 8),
        ("is short as well", 250 * US, 8, 0, 4 * 10),
        ("takes longer", MS + 1, 8, 0, 8),
        ("comes often", MS, 9, 0, 8),
        ("others have just begun to wait", MS, 8, MS - 1, 4 * 8),
        ("others have waited before", MS, 8, MS, 8),
    ] {
        let came = come_in_crowd(usual_ns, per_100_ms, after_ns);
        assert_eq!(came, expected, "{what}");
    }
}

/// Why batch work is to run before interactive work that waits.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// Young programs have all turns of batch work.
    Overtaken,
    /// None of it has run for a while.
    Stalled,
    /// It has fewer CPUs than its share.
    Squeezed,
}

/// Ten sleepers usually run for so long, and have run on CPU 0. What runs there, for 250 us each, when batch work is due: that or not?
fn runs_while_due(due: Due, usual_ns: u64) -> Vec<bool> {
    let mut m = held(3);
    let sleepers = [(); 10].map(|()| sleeper(&mut m, usual_ns, 4 * MS));
    let nr_batch = if matches!(due, Due::Squeezed) { 12 } else { 1 };
    let batch: Vec<Task> = (0..nr_batch).map(|_| waiting(&mut m, BATCH)).collect();
    match due {
        Due::Overtaken => {
            let young = m.task("young");
            m.fork(young, 0);
            m.advance(6 * MS + 1);
        }
        Due::Stalled => m.advance(Limits::for_cpus(3).overflow_rescue_ns + 1),
        Due::Squeezed => {}
    }
    for task in sleepers {
        m.interrupt(task, 1);
    }
    m.unhold(0);
    let ran = rest_of_runs(&mut m, 250 * US);
    ran.iter().map(|task| batch.contains(task)).collect()
}

#[test]
fn batch_work_that_is_due_waits_for_what_is_short_and_rare_but_for_a_millisecond_at_most() {
    for due in [Due::Overtaken, Due::Stalled, Due::Squeezed] {
        for (usual_ns, before) in [(250 * US, 4), (251 * US, 0)] {
            let is_batch = runs_while_due(due, usual_ns);
            let first = is_batch.iter().position(|is_batch| *is_batch);
            assert_eq!(first, Some(before), "{due:?} {usual_ns}");
        }
    }
}

#[test]
fn a_turn_of_batch_work_that_is_not_over_does_not_wait_for_what_is_short_and_rare_anew() {
    let is_batch = runs_while_due(Due::Squeezed, 250 * US);
    assert_eq!(is_batch[4..7], [true, true, false]);
}

#[test]
fn no_cpu_is_handed_over_while_what_is_short_and_rare_waits() {
    for (usual_ns, is_bound) in [(100 * US, false), (100 * US, true), (300 * US, false)] {
        // As many as let two wait for one CPU.
        let mut m = held(8);
        let short = sleeper(&mut m, usual_ns, 8 * MS);
        let [waker, task] = [(); 2].map(|()| asleep(&mut m, INTERACTIVE, 0));
        m.unhold(0);
        m.interrupt(waker, 0);
        m.advance(60 * US);
        if is_bound {
            m.bind(short, &[0]);
        }
        m.interrupt(short, 1);
        assert!(m.view(short).waits);
        m.wake_sync(task, 0);
        m.sleep(0);
        let expected = if usual_ns <= 250 * US { short } else { task };
        assert_eq!(m.running(0), Some(expected), "{usual_ns} {is_bound}");
    }
}

#[test]
fn what_is_short_and_rare_waits_for_a_moment_among_sleepers_that_want_more_than_there_is() {
    for nr_cpus in [2, 4] {
        for (per_cpu, run_us, sleep_us, hogs) in [
            (4, 250..=750, 250..=750, 0),
            (4, 1000..=3000, 1000..=3000, 0),
            (4, 1500..=4500, 500..=1500, 0),
            (8, 500..=1500, 1000..=3000, 0),
            (4, 1000..=3000, 1000..=3000, 2),
        ] {
            let scene = format!("{per_cpu} of {run_us:?} and {sleep_us:?} at {nr_cpus} CPUs");
            let (mut wakes, mut late, mut longest_ns) = (0, 0, 0);
            for seed in 0..2 {
                let mut m = Machine::with_cpus(nr_cpus);
                irregular(&mut m, per_cpu, run_us.clone(), sleep_us.clone(), seed);
                let short = irregular(&mut m, 1, 50..=150, 3000..=7000, seed + 9);
                for i in 0..hogs * nr_cpus {
                    spawn(&mut m, i % nr_cpus, 10 * SEC, 0);
                }
                m.run_for(SEC / 2);
                let runs = |m: &Machine| short.iter().map(|t| m.view(*t).ran_ns).sum::<u64>();
                let before_ns = runs(&m);
                for task in &short {
                    m.forget_wait(*task);
                }
                for _ in 0..SEC / MS {
                    m.run_for(MS);
                    for task in &short {
                        let wait_ns = m.view(*task).longest_wait_ns;
                        late += u64::from(wait_ns > 1500 * US);
                        longest_ns = longest_ns.max(wait_ns);
                        m.forget_wait(*task);
                    }
                }
                wakes += (runs(&m) - before_ns) / (100 * US);
            }
            assert!(wakes >= 250 * u64::from(nr_cpus), "{wakes}, {scene}");
            assert!(late * 20 <= wakes, "{late} of {wakes}, {scene}");
            assert!(longest_ns <= 9 * MS, "{longest_ns}, {scene}");
        }
    }
}

#[test]
fn what_is_short_hardly_waits_for_interactive_work_that_takes_longer() {
    const PROBE_US: u64 = 50;
    for nr_cpus in [2, 4, 8, 12] {
        let mut m = Machine::with_cpus(nr_cpus);
        for cpu in 0..nr_cpus {
            spawn(&mut m, cpu, SEC, 0);
            spawn(&mut m, cpu, SEC, 0);
        }
        let probes: Vec<Task> = (0..u64::from(nr_cpus))
            .map(|i| spawn(&mut m, i as u32, PROBE_US * US, (5 + i) * MS))
            .collect();
        for i in 0..u64::from(2 * nr_cpus) {
            spawn(
                &mut m,
                i as u32 % nr_cpus,
                (3000 + i * 397) * US,
                (300 + i * 911 % 2700) * US,
            );
            m.run_for(313 * US);
        }
        m.run_for(SEC);
        let runs =
            |m: &Machine| probes.iter().map(|p| m.view(*p).ran_ns).sum::<u64>() / (PROBE_US * US);
        let before = runs(&m);
        let mut late = 0;
        for _ in 0..1000 {
            m.run_for(MS);
            for probe in &probes {
                late += u64::from(m.view(*probe).longest_wait_ns > 200 * US);
                m.forget_wait(*probe);
            }
        }
        let wakes = runs(&m) - before;
        assert!(
            wakes >= 50 * u64::from(nr_cpus),
            "{wakes} at {nr_cpus} CPUs"
        );
        assert!(late * 15 <= wakes, "{late} of {wakes} at {nr_cpus} CPUs");
    }
}
