//! What belongs to one CPU is served there, and what may leave it leaves: hogs that were all started on one CPU
//! spread, while a sleeper bound to each CPU keeps waking in time.

use std::sync::Mutex;
use std::thread;

use super::fairness::{evenness, received_by};
use super::latency::{RHYTHM, probe_from};
use super::load::Load;
use super::{Figures, SETTLE_NS, Scene};
use crate::run::{self, Run};
use crate::stats::Samples;
use crate::sys;

const HOGS_PER_CPU: usize = 2;

/// Figures of the bound sleepers and of the hogs that spread.
pub fn pcpu(scene: &Scene) -> Result<Figures, String> {
    Load::spinners(scene.cpus.len() * HOGS_PER_CPU)?.beside(|load| released(scene, load))
}

fn released(scene: &Scene, load: &Load) -> Result<Figures, String> {
    bind(load, &scene.cpus[..1])?;
    thread::sleep(std::time::Duration::from_nanos(SETTLE_NS));
    bind(load, &scene.cpus)?;
    let run = scene.run_in(SETTLE_NS);
    let collected = Mutex::new(Samples::default());
    let received_ns = thread::scope(|scope| {
        for cpu in &scene.cpus {
            run::thread(scope, "wl-bound", || sleep_on(*cpu, run, &collected))?;
        }
        received_by(load, run)
    })?;
    let late = collected.into_inner().unwrap_or_default().summary();
    Ok(vec![
        ("count", late.count as f64),
        ("p99_us", late.p99 as f64 / 1000.0),
        ("max_us", late.max as f64 / 1000.0),
        ("p10_of_mean", evenness(received_ns)),
    ])
}

fn bind(load: &Load, cpus: &[usize]) -> Result<(), String> {
    for pid in load.ids() {
        sys::set_affinity_of(pid, cpus)
            .map_err(|error| format!("a spinner cannot be bound ({error})"))?;
    }
    Ok(())
}

fn sleep_on(cpu: usize, run: Run, collected: &Mutex<Samples>) {
    // It may go away meanwhile; then this is a sleeper like any other.
    let _ = sys::set_affinity(&[cpu]);
    probe_from(run, RHYTHM, cpu as u64).add_to(collected);
}
