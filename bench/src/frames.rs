//! A 60 Hz frame loop, as of a game or a compositor.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::report::{Report, percent};
use crate::run::{Run, burn};
use crate::sys;

const PERIOD_NS: u64 = 1_000_000_000 / 60;
const WORK_NS: u64 = 4_000_000;

/// Frames so far.
#[derive(Debug, Default)]
pub struct Frames {
    /// Refreshes for which a frame was due.
    pub due: AtomicU64,
    /// Refreshes at which it was not ready.
    pub missed: AtomicU64,
}

impl Frames {
    /// Frames due and missed.
    pub fn get(&self) -> (u64, u64) {
        (
            self.due.load(Ordering::Relaxed),
            self.missed.load(Ordering::Relaxed),
        )
    }
}

/// Draws until the run is over.
pub fn draw(run: Run, frames: &Frames) {
    sys::disable_timer_slack();
    let mut vsync_ns = sys::now_ns() + PERIOD_NS;
    loop {
        run.sleep_until(vsync_ns);
        if run.is_over() {
            return;
        }
        burn(WORK_NS);
        let periods = sys::now_ns().saturating_sub(vsync_ns) / PERIOD_NS;
        // A late frame is shown at the first refresh after it; each one before that missed its own.
        frames.due.fetch_add(periods + 1, Ordering::Relaxed);
        frames.missed.fetch_add(periods, Ordering::Relaxed);
        vsync_ns += PERIOD_NS * (periods + 1);
    }
}

/// The frame loop alone.
pub fn report(run: Run) -> Result<Report, String> {
    sys::set_name(c"wl-frames");
    let frames = Frames::default();
    draw(run, &frames);
    let (due, missed) = frames.get();
    let text = format!("missed {missed} of {due} frames ({})", percent(missed, due));
    Ok(Report::new("frames", text)
        .with("frames_due", due)
        .with("frames_missed", missed))
}
