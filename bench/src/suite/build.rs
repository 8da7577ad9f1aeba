//! A parallel build: how long until the last job is done. Only true parallelism can tell.

use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Figures, Scene};
use crate::child::{self, Role, ScratchDir};
use crate::random::Random;
use crate::{run, sys};

/// Jobs for every second and CPU: each takes about that part of it in emulation.
const JOBS_PER_SECOND: u64 = 8;
/// Steps of a computation in one job.
const STEPS: (u64, u64) = (5_000_000, 15_000_000);
/// Size of a source and its object, KiB.
const FILE_KIB: (u64, u64) = (16, 128);

/// As `make -j` with one job more than there are CPUs.
pub fn build(scene: &Scene) -> Result<Figures, String> {
    let scratch = ScratchDir::create()?;
    let cpus = scene.cpus.len();
    let jobs = (JOBS_PER_SECOND * scene.length_ns / 1_000_000_000).max(1) as usize * cpus;
    let next = AtomicUsize::new(0);
    let start_ns = sys::now_ns();
    thread::scope(|scope| {
        let workers =
            (0..=cpus).map(|_| run::thread(scope, "wl-make", || work(&scratch.0, &next, jobs)));
        for worker in workers.collect::<Result<Vec<_>, _>>()? {
            run::join(worker)??;
        }
        Ok::<(), String>(())
    })?;
    let elapsed_ns = sys::now_ns().saturating_sub(start_ns);
    Ok(vec![
        ("count", jobs as f64),
        ("makespan_ms", elapsed_ns as f64 / 1e6),
    ])
}

fn work(dir: &Path, next: &AtomicUsize, jobs: usize) -> Result<(), String> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= jobs || sys::caught_signal().is_some() {
            return Ok(());
        }
        let mut job = child::start(Role::Job(dir, number))?;
        let status = job.0.wait();
        if !status.is_ok_and(|status| status.success()) {
            return Err("a job of the build failed".to_owned());
        }
    }
}

/// One job: the same work for the same number on any machine, whatever time it takes.
pub fn compile(dir: &Path, number: usize) -> io::Result<()> {
    sys::set_name(c"wl-job");
    let mut random = Random::new(number as u64);
    let (source, object) = (
        dir.join(format!("source-{number}")),
        dir.join(format!("object-{number}")),
    );
    let size = random.between(FILE_KIB.0, FILE_KIB.1) as usize * 1024;
    fs::write(&source, vec![number as u8; size])?;
    let text = fs::read(&source)?;
    let mut state = text.len() as u64;
    for _ in 0..random.between(STEPS.0, STEPS.1) {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005) ^ 1);
    }
    fs::write(&object, text)?;
    fs::remove_file(&source)
}
