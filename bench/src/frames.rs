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

    fn add(&self, due: u64, missed: u64) {
        self.due.fetch_add(due, Ordering::Relaxed);
        self.missed.fetch_add(missed, Ordering::Relaxed);
    }

    /// A frame that should have begun at `vsync_ns` and had not at the end missed every refresh from the next one on.
    fn give_up(&self, run: Run, vsync_ns: u64) {
        // If there was none before, not even the loop had begun in time.
        let first_ns = run.start_ns + PERIOD_NS;
        let vsync_ns = match self.get() {
            (0, _) => vsync_ns.min(first_ns),
            _ => vsync_ns,
        };
        let missed = run.end_ns.saturating_sub(vsync_ns) / PERIOD_NS;
        self.add(missed, missed);
    }
}

/// Draws until the run is over.
pub fn draw(run: Run, frames: &Frames) {
    draw_by(run, frames, |vsync_ns| run.sleep_until(vsync_ns));
}

/// The same with any sleep, so that one from which nobody returns in time can be tested.
fn draw_by(run: Run, frames: &Frames, sleep_until: impl Fn(u64)) {
    sys::disable_timer_slack();
    let mut vsync_ns = sys::now_ns() + PERIOD_NS;
    loop {
        sleep_until(vsync_ns);
        if run.is_over() {
            if sys::caught_signal().is_none() {
                frames.give_up(run, vsync_ns);
            }
            return;
        }
        burn(WORK_NS);
        let periods = sys::now_ns().saturating_sub(vsync_ns) / PERIOD_NS;
        // A late frame is shown at the first refresh after it; each one before that missed its own.
        frames.add(periods + 1, periods);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_never_begins_misses_every_refresh_up_to_the_end() {
        let run = Run::starting_in(0, 200_000_000);
        let frames = Frames::default();
        draw_by(run, &frames, |_| run.sleep_until(u64::MAX));
        let (due, missed) = frames.get();
        assert!(due > 0 && missed == due, "{frames:?}");
    }

    #[test]
    fn a_loop_that_begins_after_the_end_missed_everything() {
        let now_ns = sys::now_ns();
        let run = Run {
            start_ns: now_ns - 10 * PERIOD_NS,
            end_ns: now_ns,
        };
        let frames = Frames::default();
        draw(run, &frames);
        assert_eq!(frames.get(), (9, 9), "the first begins after a period");
    }

    #[test]
    fn frames_whose_refresh_lies_after_the_end_miss_nothing() {
        let run = Run {
            start_ns: 0,
            end_ns: 10 * PERIOD_NS + 5,
        };
        let after = |vsync_ns| {
            let frames = Frames::default();
            frames.add(7, 0);
            frames.give_up(run, vsync_ns);
            frames.get()
        };
        assert_eq!(after(8 * PERIOD_NS), (9, 2));
        assert_eq!(after(10 * PERIOD_NS), (7, 0));
        assert_eq!(after(11 * PERIOD_NS), (7, 0));
    }
}
