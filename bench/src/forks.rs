//! Starting programs: how long from the wish to the first instruction.

use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;

use crate::child::{self, Role, Running};
use crate::report::{Report, latencies};
use crate::run::Run;
use crate::stats::Samples;
use crate::sys;

/// How often to look whether somebody asked to stop, ms: seldom, as each look takes CPU time from what is measured.
const GLANCE_MS: u16 = 1_000;

/// A program that was started and has not been heard of yet.
#[derive(Debug)]
pub struct Launch {
    asked_ns: u64,
    child: Running,
}

impl Launch {
    /// Forks and executes.
    pub fn begin() -> Result<Launch, String> {
        let asked_ns = sys::now_ns();
        Ok(Launch {
            asked_ns,
            child: child::start(Role::Launch)?,
        })
    }

    /// Waits until the program has ended; ns from the wish to its first instruction.
    pub fn finish(mut self) -> Result<u64, String> {
        let mut started = [0; 8];
        let stdout = self
            .child
            .0
            .stdout
            .as_mut()
            .ok_or("a child has no output")?;
        stdout
            .read_exact(&mut started)
            .map_err(|error| format!("a child failed ({error})"))?;
        let _ = self.child.0.wait();
        Ok(u64::from_ne_bytes(started).saturating_sub(self.asked_ns))
    }
}

/// Many programs at once, again and again.
#[derive(Clone, Copy, Debug)]
pub struct Storms {
    /// Programs in each storm.
    pub programs: usize,
    /// Time from the beginning of one storm to the next, ns; longer if it takes longer.
    pub interval_ns: u64,
}

/// Starts the programs of a storm, waits for them, and does so again until the run is over.
pub fn storms(run: Run, storms: Storms, mut note: impl FnMut(u64)) -> Result<(), String> {
    let mut due_ns = sys::now_ns();
    while !run.is_over() {
        let storm = (0..storms.programs).map(|_| Launch::begin());
        for launch in storm.collect::<Result<Vec<_>, _>>()? {
            note(launch.finish()?);
        }
        due_ns = (due_ns + storms.interval_ns).max(sys::now_ns());
        run.sleep_until(due_ns);
    }
    Ok(())
}

/// One program after the other at a steady rate until the run is over.
pub fn launches(run: Run, rate: u64) -> Result<Samples, String> {
    let interval_ns = 1_000_000_000 / rate.max(1);
    let mut samples = Samples::default();
    let mut due_ns = sys::now_ns();
    while !run.is_over() {
        samples.push(Launch::begin()?.finish()?);
        due_ns = (due_ns + interval_ns).max(sys::now_ns().saturating_sub(interval_ns));
        run.sleep_until(due_ns);
    }
    Ok(samples)
}

/// The same from a process that has done nothing else yet. A fork copies what its process has in memory, and one that has
/// measured other things before has more of it from round to round.
pub fn fresh_launches(run: Run, rate: u64) -> Result<Samples, String> {
    let length_ns = run.end_ns.saturating_sub(sys::now_ns());
    let mut launcher = child::start(Role::Launches(rate, length_ns))?;
    let mut samples = Samples::default();
    let stdout = launcher.0.stdout.as_mut();
    let stdout = stdout.ok_or("a child has no output")?;
    let (mut said, mut part) = (Vec::new(), [0; 4096]);
    loop {
        // Asked to stop: what the launcher would still say is for nobody.
        if sys::caught_signal().is_some() {
            return Ok(samples);
        }
        if !sys::wait_for_input(stdout.as_fd(), GLANCE_MS) {
            continue;
        }
        match stdout.read(&mut part) {
            Ok(0) => break,
            Ok(length) => said.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("a child failed ({error})")),
        }
    }
    for launch_ns in said.as_chunks().0 {
        samples.push(u64::from_ne_bytes(*launch_ns));
    }
    match launcher.0.wait() {
        Ok(status) if status.success() || sys::caught_signal().is_some() => Ok(samples),
        ended => Err(format!(
            "the process that starts programs ended early ({ended:?})"
        )),
    }
}

/// One program after the other at a steady rate.
pub fn report(run: Run, rate: u64) -> Result<Report, String> {
    let summary = launches(run, rate)?.summary();
    let text = format!(
        "{} programs started, {}",
        summary.count,
        latencies(&summary)
    );
    Ok(Report::new("forks", text).with_summary("launch", &summary))
}
