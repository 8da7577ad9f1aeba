//! What a desktop does: frames, messages between programs, starting programs, waking threads.

use super::load::Load;
use super::{Figures, SETTLE_NS, Scene, figures_in};
use crate::frames::{self, Frames};
use crate::idle::{self, Plan};
use crate::{forks, pipe};

/// Programs started per second.
const LAUNCH_RATE: u64 = 50;
/// Round trips through blocked threads that there is room for from the start.
const ROUND_TRIPS: u64 = 1 << 16;

/// A 60 Hz frame loop beside two spinners per CPU.
pub fn deadline(scene: &Scene) -> Result<Figures, String> {
    let frames = Frames::default();
    Load::spinners(scene.cpus.len() * 2)?.beside(|_| {
        frames::draw(scene.run_at_once(), &frames);
        Ok(())
    })?;
    let (due, missed) = frames.get();
    // None is due only if somebody asked to stop.
    let percent = 100.0 * missed as f64 / due.max(1) as f64;
    Ok(vec![
        ("count", due as f64),
        ("missed", missed as f64),
        ("missed_pct", percent),
    ])
}

/// Round trips through a pipe beside two spinners per CPU.
pub fn ipc(scene: &Scene) -> Result<Figures, String> {
    Load::spinners(scene.cpus.len() * 2)?.beside(|_| {
        let run = scene.run_at_once();
        Ok(figures_in(run, pipe::round_trips(run)?))
    })
}

/// Round trips through a pipe on an idle machine. They are all alike, so a quarter of the time is plenty.
pub fn pipe_idle(scene: &Scene) -> Result<Figures, String> {
    crate::sys::sleep_until(crate::sys::now_ns() + SETTLE_NS);
    let short = Scene {
        length_ns: scene.length_ns / 4,
        ..scene.clone()
    };
    let run = short.run_at_once();
    Ok(figures_in(run, pipe::round_trips(run)?))
}

/// Programs that are started beside two spinners per CPU.
pub fn launch(scene: &Scene) -> Result<Figures, String> {
    Load::spinners(scene.cpus.len() * 2)?.beside(|_| {
        let run = scene.run_at_once();
        Ok(figures_in(run, forks::fresh_launches(run, LAUNCH_RATE)?))
    })
}

/// Round trips through files that say nothing of whoever wakes, beside two spinners per CPU.
pub fn events(scene: &Scene) -> Result<Figures, String> {
    Load::spinners(scene.cpus.len() * 2)?.beside(|_| blocked(scene, 1, 0))
}

/// The same on an idle machine.
pub fn events_idle(scene: &Scene) -> Result<Figures, String> {
    blocked(scene, 1, 0)
}

/// Round trips through blocked threads while half of the CPUs are busy.
pub fn selection(scene: &Scene) -> Result<Figures, String> {
    blocked(scene, scene.cpus.len(), scene.cpus.len() / 2)
}

fn blocked(scene: &Scene, threads: usize, background: usize) -> Result<Figures, String> {
    let plan = Plan {
        iterations: ROUND_TRIPS,
        threads,
        background,
        warmup: 0,
        seed: idle::SEED,
    };
    idle::run(plan, |bench| {
        let run = scene.run_in(SETTLE_NS);
        Ok(figures_in(run, bench.during(run)?))
    })?
}
