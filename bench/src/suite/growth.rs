//! What a wake-up costs as the machine grows: beside more and more runnable tasks, after more and more programs have
//! been seen, and where an idle CPU has to be found among more and more. A cost that grows shows in the median,
//! because the scheduler's path is most of it.

use std::ffi::CString;
use std::thread;

use super::latency::{RHYTHM, probes};
use super::load::Load;
use super::{Figures, SETTLE_NS, Scene, desktop, figures_in};
use crate::probe::{self, Rhythm};
use crate::run::{self, Run};
use crate::stats::Samples;
use crate::sys;

/// Runnable tasks, and the figure for each number.
pub const RUNNABLE: [(usize, &str); 5] = [
    (10, "runnable_10_p50_us"),
    (100, "runnable_100_p50_us"),
    (1_000, "runnable_1000_p50_us"),
    (3_000, "runnable_3000_p50_us"),
    (10_000, "runnable_10000_p50_us"),
];
/// Most of them on a CPU. The shortest turn is a tick, which is 4 ms on many kernels, and the kernel ends a scheduler
/// under which somebody waits for 20 s.
const MOST_PER_CPU: usize = 4_000;
/// What it takes to start one of them, with room to spare.
const START_NS: u64 = 200_000;
/// Names of programs that ran before, and the figure for each number. The most is what the daemon keeps.
pub const NAMES: [(usize, &str); 4] = [
    (0, "names_0_p50_us"),
    (64, "names_64_p50_us"),
    (256, "names_256_p50_us"),
    (512, "names_512_p50_us"),
];
/// Threads of one name: a profile predicts after three.
const THREADS_PER_NAME: usize = 4;
/// Names that are at work at the same time, and for how long: some twenty wake-ups.
const NAMES_AT_ONCE: usize = 32;
const NAME_NS: u64 = 200_000_000;
const NAME_RHYTHM: Rhythm = Rhythm {
    min_ns: 8_000_000,
    max_ns: 12_000_000,
    work_ns: 50_000,
};
/// The daemon looks every second, and puts down what it learned.
const LEARNED_NS: u64 = 3_000_000_000;

/// Timer wake-ups beside more and more tasks that all compute, as far as so many can.
pub fn runnable(scene: &Scene) -> Result<Figures, String> {
    let most = scene.cpus.len() * MOST_PER_CPU;
    RUNNABLE
        .iter()
        .filter(|(tasks, _)| *tasks <= most)
        .map(|(tasks, figure)| Ok((*figure, beside(*tasks, scene)?)))
        .collect()
}

/// The median beside this many, which have to use what the probe leaves.
fn beside(tasks: usize, scene: &Scene) -> Result<f64, String> {
    Load::crowd(tasks)?.beside(|load| {
        Run::starting_in(0, SETTLE_NS + START_NS * tasks as u64).sleep_until(u64::MAX);
        let before_ns = used_ns(load)?;
        let run = scene.run_at_once();
        let found = probes(1, RHYTHM, run)?;
        let used_ns = used_ns(load)?.saturating_sub(before_ns);
        if used_ns < (run.end_ns - run.start_ns) / 2 * scene.cpus.len() as u64 {
            return Err(format!("{tasks} tasks used only {used_ns} ns"));
        }
        Ok(median_of(&found))
    })
}

fn used_ns(load: &Load) -> Result<u64, String> {
    load.ids()
        .map(|id| {
            sys::process_cpu_ns(id).map_err(|error| format!("a crowd cannot be measured ({error})"))
        })
        .sum()
}

/// Pipe round trips on an idle machine that has seen more and more names.
pub fn names(scene: &Scene) -> Result<Figures, String> {
    let mut seen = 0;
    NAMES
        .iter()
        .map(|(names, figure)| {
            for first in (seen..*names).step_by(NAMES_AT_ONCE) {
                be_seen(first..(first + NAMES_AT_ONCE).min(*names))?;
            }
            if *names > seen {
                Run::starting_in(0, LEARNED_NS).sleep_until(u64::MAX);
            }
            seen = *names;
            Ok((*figure, median_of(&desktop::pipe_idle(scene)?)))
        })
        .collect()
}

/// Threads that are started one after the other on an idle machine. Whoever starts one has the CPU that it was started
/// on, so another has to be found for it each time.
pub fn started(scene: &Scene) -> Result<Figures, String> {
    Run::starting_in(0, SETTLE_NS).sleep_until(u64::MAX);
    let run = scene.run_at_once();
    let mut samples = Samples::default();
    thread::scope(|scope| {
        while !run.is_over() {
            let asked_ns = sys::now_ns();
            let began_ns = run::join(run::thread(scope, "wl-started", sys::now_ns)?)?;
            samples.push(began_ns.saturating_sub(asked_ns));
        }
        Ok(figures_in(run, samples))
    })
}

/// Threads of each of these names that wake, work and end.
fn be_seen(names: std::ops::Range<usize>) -> Result<(), String> {
    let run = Run::starting_in(0, NAME_NS);
    thread::scope(|scope| {
        for name in names {
            for seed in 0..THREADS_PER_NAME {
                let comm = CString::new(format!("wl-name-{name}")).unwrap_or_default();
                run::thread(scope, "wl-name", move || {
                    sys::set_name(&comm);
                    probe::wake_and_work(run, NAME_RHYTHM, (name * 8 + seed) as u64, |_| ());
                })?;
            }
        }
        Ok(())
    })
}

fn median_of(found: &Figures) -> f64 {
    let median = found.iter().find(|(figure, _)| *figure == "p50_us");
    median.map_or(0.0, |(_, value)| *value)
}
