//! Threads that pass a turn around and wait for it with `sched_yield()`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::report::Report;
use crate::run::{self, Run};
use crate::sys;

/// What each computes in its turn, ns of CPU time.
const TURN_NS: u64 = 100_000;

/// How often the turn was passed on, and how often a thread gave way while it waited.
pub fn report(run: Run, threads: usize) -> Result<Report, String> {
    let (turn, yields) = (AtomicUsize::new(0), AtomicU64::new(0));
    let is_over = || run.is_over() || sys::caught_signal().is_some();
    thread::scope(|scope| {
        let mut handles = Vec::new();
        for index in 0..threads {
            let (turn, yields) = (&turn, &yields);
            handles.push(run::thread(scope, "wl-turns", move || {
                while !is_over() {
                    if turn.load(Ordering::Acquire) % threads == index {
                        run::burn(TURN_NS);
                        turn.fetch_add(1, Ordering::Release);
                    } else {
                        yields.fetch_add(1, Ordering::Relaxed);
                        thread::yield_now();
                    }
                }
            })?);
        }
        handles.into_iter().try_for_each(run::join)
    })?;
    let (turns, yields) = (turn.into_inner() as u64, yields.into_inner());
    let text = format!("{turns} turns of {threads} threads, which gave way {yields} times");
    let report = Report::new("turns", text).with("threads", threads as u64);
    Ok(report.with("turns", turns).with("yields", yields))
}
