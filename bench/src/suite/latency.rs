//! How late threads wake by timer: alone, beside spinners, in fork storms, in a mixed load, and in one
//! load after the other.

use std::sync::Mutex;
use std::thread;

use super::load::Load;
use super::{Figures, SETTLE_NS, Scene, figures_in, or_whole_run};
use crate::forks::Storms;
use crate::probe::{self, Rhythm};
use crate::run::{self, Run};
use crate::stats::Samples;
use crate::sys;

/// Not a constant interval, which could fall into step with the kernel's tick.
pub const RHYTHM: Rhythm = Rhythm {
    min_ns: 3_000_000,
    max_ns: 7_000_000,
    work_ns: 50_000,
};
/// Interactive threads in the mixed load, each with twice the work.
const INTERACTIVE: usize = 4;
const INTERACTIVE_WORK_NS: u64 = 100_000;
/// A load goes on for this long before it counts as long: the scheduler takes 2 s.
const LONGRUN_NS: u64 = 3_000_000_000;
/// Programs per CPU in a storm, and the time between two storms.
const STORM_PER_CPU: usize = 4;
const STORM_INTERVAL_NS: u64 = 200_000_000;

/// On an otherwise idle machine: what the machine and the probe themselves cost.
pub fn floor(scene: &Scene) -> Result<Figures, String> {
    probes(1, RHYTHM, scene.run_in(SETTLE_NS))
}

/// Beside two spinners per CPU.
pub fn wakeup(scene: &Scene) -> Result<Figures, String> {
    Load::spinners(scene.cpus.len() * 2)?.beside(|_| probes(1, RHYTHM, scene.run_in(SETTLE_NS)))
}

/// The same, after they have run for a while.
pub fn longrun(scene: &Scene) -> Result<Figures, String> {
    Load::spinners(scene.cpus.len() * 2)?.beside(|_| probes(1, RHYTHM, scene.run_in(LONGRUN_NS)))
}

/// Beside two spinners per CPU, while programs are started many at a time.
pub fn burst(scene: &Scene) -> Result<Figures, String> {
    Load::spinners(scene.cpus.len() * 2)?.beside(|_| in_storms(scene, 1, RHYTHM))
}

/// Four interactive threads beside a spinner and a compiler per CPU, and storms.
pub fn mixed(scene: &Scene) -> Result<Figures, String> {
    let load = Load::spinners(scene.cpus.len())?.with_compilers(scene.cpus.len())?;
    let rhythm = Rhythm {
        work_ns: INTERACTIVE_WORK_NS,
        ..RHYTHM
    };
    load.beside(|_| in_storms(scene, INTERACTIVE, rhythm))
}

/// One load after the other, as they change the regime of the scheduler; each has its own figures.
pub fn contention(scene: &Scene) -> Result<Figures, String> {
    let cpus = scene.cpus.len();
    let phase = Scene {
        length_ns: scene.length_ns / 3,
        ..scene.clone()
    };
    let mut figures = Figures::new();
    let mut add = |name, found: Figures| {
        let p99 = found.iter().find(|(figure, _)| *figure == "p99_us");
        figures.extend(p99.map(|(_, value)| (name, *value)));
    };
    let beside = |load: Load| load.beside(|_| floor(&phase));
    add("light_p99_us", floor(&phase)?);
    add("half_p99_us", beside(Load::spinners(cpus.div_ceil(2))?)?);
    let compilers = Load::spinners(0)?.with_compilers(cpus * 2)?;
    add("files_p99_us", beside(compilers)?);
    let (heavy, storm) = Load::spinners(cpus * 4)?
        .beside(|_| Ok((floor(&phase)?, in_storms(&phase, 1, RHYTHM)?)))?;
    add("heavy_p99_us", heavy);
    add("storm_p99_us", storm);
    add("after_p99_us", floor(&phase)?);
    let worst = figures.iter().map(|(_, value)| *value);
    figures.push(("worst_p99_us", worst.fold(0.0, f64::max)));
    Ok(figures)
}

fn in_storms(scene: &Scene, threads: usize, rhythm: Rhythm) -> Result<Figures, String> {
    let storms = Load::storms(Storms {
        programs: scene.cpus.len() * STORM_PER_CPU,
        interval_ns: STORM_INTERVAL_NS,
    })?;
    storms.beside(|_| probes(threads, rhythm, scene.run_in(SETTLE_NS)))
}

/// Probes that begin now, whose wake-ups count from the start of the run on.
pub fn probes(threads: usize, rhythm: Rhythm, run: Run) -> Result<Figures, String> {
    let collected = Mutex::new(Samples::default());
    let all = &collected;
    thread::scope(|scope| {
        for seed in 0..threads as u64 {
            run::thread(scope, "wl-probe", move || {
                probe_from(run, rhythm, seed).add_to(all);
            })?;
        }
        Ok::<(), String>(())
    })?;
    Ok(figures_in(run, collected.into_inner().unwrap_or_default()))
}

/// One probe, which wakes at least once or waited for the whole run.
pub fn probe_from(run: Run, rhythm: Rhythm, seed: u64) -> Samples {
    let mut samples = Samples::default();
    probe::wake_and_work(run, rhythm, seed, |late_ns| {
        if sys::now_ns() >= run.start_ns {
            samples.push(late_ns);
        }
    });
    or_whole_run(run, samples)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn whoever_never_wakes_waited_for_the_whole_run() {
        let now_ns = sys::now_ns();
        let run = Run {
            start_ns: now_ns - 2_000_000,
            end_ns: now_ns,
        };
        let found = probes(2, RHYTHM, run).unwrap();
        let expected = [
            ("count", 2.0),
            ("p50_us", 2_000.0),
            ("p99_us", 2_000.0),
            ("max_us", 2_000.0),
        ];
        assert_eq!(found, expected);
    }
}
