//! A desktop under load: what the demonstration and the comparison runs use.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::child::{self, Role, ScratchDir};
use crate::forks::{self, Storms};
use crate::frames::{self, Frames};
use crate::probe::{self, Rhythm};
use crate::report::{Report, latencies, ms, percent};
use crate::run::{self, Run};
use crate::stats::Samples;
use crate::sys;

const SECOND_NS: u64 = 1_000_000_000;
/// Compiler-like processes per CPU.
const COMPILERS_PER_CPU: usize = 2;
/// Programs per CPU in each fork storm, and the time between two storms.
const STORM_PER_CPU: usize = 4;
const STORM_INTERVAL_NS: u64 = 500_000_000;
const PROBE: Rhythm = Rhythm {
    min_ns: 5_000_000,
    max_ns: 15_000_000,
    work_ns: 100_000,
};

/// What the parts have measured so far.
#[derive(Debug, Default)]
struct Board {
    wakes: Mutex<Samples>,
    launches: Mutex<Samples>,
    frames: Frames,
}

fn push(samples: &Mutex<Samples>, value: u64) {
    samples
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(value);
}

fn copy(samples: &Mutex<Samples>, from: usize) -> Samples {
    samples
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .since(from)
}

/// Runs all parts at once.
pub fn report(run: Run, cpus: &[usize], quiet: bool) -> Result<Report, String> {
    let scratch = ScratchDir::create()?;
    let mut compilers = Vec::new();
    for seed in 0..cpus.len() * COMPILERS_PER_CPU {
        compilers.push(child::start(Role::Compile(&scratch.0, seed))?);
    }
    let board = Board::default();
    thread::scope(|scope| {
        let storms = run::thread(scope, "wl-storms", || {
            let storms = Storms {
                programs: cpus.len() * STORM_PER_CPU,
                interval_ns: STORM_INTERVAL_NS,
            };
            forks::storms(run, storms, |launch_ns| push(&board.launches, launch_ns))
        })?;
        run::thread(scope, "wl-frames", || frames::draw(run, &board.frames))?;
        run::thread(scope, "wl-probe", || {
            probe::wake_and_work(run, PROBE, 1, |late_ns| push(&board.wakes, late_ns));
        })?;
        if quiet || !std::io::stdout().is_terminal() {
            run.sleep_until(run.end_ns);
        } else {
            show_progress(run, &board);
        }
        run::join(storms)?
    })?;
    // The compilers have to be gone before their directory.
    drop(compilers);
    drop(scratch);
    Ok(summarise(&board))
}

/// One line a second about that second.
fn show_progress(run: Run, board: &Board) {
    let (mut wakes_seen, mut due_seen, mut missed_seen) = (0, 0, 0);
    let mut next_ns = run.start_ns + SECOND_NS;
    loop {
        run.sleep_until(next_ns);
        if run.is_over() {
            return;
        }
        let wakes = copy(&board.wakes, wakes_seen);
        wakes_seen += wakes.len();
        let (due, missed) = board.frames.get();
        println!(
            "{:3} s  probe {}  frames missed {}  launches {}",
            (sys::now_ns() - run.start_ns) / SECOND_NS,
            latencies(&wakes.summary()),
            percent(missed - missed_seen, due - due_seen),
            copy(&board.launches, 0).len(),
        );
        (due_seen, missed_seen) = (due, missed);
        next_ns += SECOND_NS;
    }
}

fn summarise(board: &Board) -> Report {
    let wakes = copy(&board.wakes, 0).summary();
    let launches = copy(&board.launches, 0).summary();
    let (due, missed) = board.frames.get();
    let text = format!(
        "probe {}; frames missed {} of {due}; {} launches, p99 {}",
        latencies(&wakes),
        percent(missed, due),
        launches.count,
        ms(launches.p99)
    );
    Report::new("mixed", text)
        .with_summary("probe", &wakes)
        .with("frames_due", due)
        .with("frames_missed", missed)
        .with_summary("launch", &launches)
}
