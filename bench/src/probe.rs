//! Threads that wake by timer: the measure of wake-up latency.

use std::sync::Mutex;
use std::thread;

use crate::random::Random;
use crate::report::{Report, latencies};
use crate::run::{self, Run, burn};
use crate::stats::Samples;
use crate::sys;

/// How a probe behaves.
#[derive(Clone, Copy, Debug)]
pub struct Rhythm {
    /// Shortest time between two wake-ups, ns.
    pub min_ns: u64,
    /// Longest time between two wake-ups, ns.
    pub max_ns: u64,
    /// Work after each, ns of CPU time.
    pub work_ns: u64,
}

/// Wakes, notes how late that was, works and sleeps again until the run is over.
pub fn wake_and_work(run: Run, rhythm: Rhythm, seed: u64, note: impl FnMut(u64)) {
    wake_work_and_tell(run, rhythm, seed, note, |_| ());
}

/// The same, and after each time of work tells as well when that was due.
pub fn wake_work_and_tell(
    run: Run,
    rhythm: Rhythm,
    seed: u64,
    note: impl FnMut(u64),
    tell: impl FnMut(u64),
) {
    wake_by(
        run,
        rhythm,
        seed,
        |due_ns| run.sleep_until(due_ns),
        note,
        tell,
    );
}

/// The same with any sleep, so that one from which nobody returns in time can be tested.
fn wake_by(
    run: Run,
    rhythm: Rhythm,
    seed: u64,
    sleep_until: impl Fn(u64),
    mut note: impl FnMut(u64),
    mut tell: impl FnMut(u64),
) {
    sys::disable_timer_slack();
    let mut random = Random::new(seed);
    loop {
        let due_ns = sys::now_ns() + random.between(rhythm.min_ns, rhythm.max_ns);
        sleep_until(due_ns);
        if let Some(late_ns) = late_ns(run, due_ns) {
            note(late_ns);
        }
        if run.is_over() {
            return;
        }
        burn(rhythm.work_ns);
        tell(due_ns);
    }
}

/// How late whoever was due then is by now, ns; `None` if that was after the end, or somebody asked to stop. To leave out
/// what was due in time and comes after the end would hide the longest wait of all.
pub fn late_ns(run: Run, due_ns: u64) -> Option<u64> {
    let counts = due_ns < run.end_ns && sys::caught_signal().is_none();
    counts.then(|| sys::now_ns().saturating_sub(due_ns))
}

/// One probe at a fixed interval.
pub fn report(run: Run, interval_ns: u64) -> Result<Report, String> {
    let rhythm = Rhythm {
        min_ns: interval_ns,
        max_ns: interval_ns,
        work_ns: 50_000,
    };
    latency_report("probe", run, 1, rhythm)
}

/// Many threads of 200 us of work and 0.5 to 3 ms of sleep.
pub fn sleepers(run: Run, threads: usize) -> Result<Report, String> {
    let rhythm = Rhythm {
        min_ns: 500_000,
        max_ns: 3_000_000,
        work_ns: 200_000,
    };
    latency_report("sleepers", run, threads, rhythm)
}

fn latency_report(
    name: &'static str,
    run: Run,
    threads: usize,
    rhythm: Rhythm,
) -> Result<Report, String> {
    let collected = Mutex::new(Samples::default());
    let all = &collected;
    thread::scope(|scope| {
        for seed in 0..threads as u64 {
            run::thread(scope, &format!("wl-{name}"), move || {
                let mut own = Samples::default();
                wake_and_work(run, rhythm, seed, |late_ns| own.push(late_ns));
                own.add_to(all);
            })?;
        }
        Ok::<(), String>(())
    })?;
    let summary = collected.into_inner().unwrap_or_default().summary();
    // Without a value everything would be 0, which is the best there can be.
    if summary.count == 0 && sys::caught_signal().is_none() {
        return Err("no thread woke up in the whole run, so there is nothing to report".to_owned());
    }
    let text = format!(
        "{} wake-ups of {threads} threads, {}",
        summary.count,
        latencies(&summary)
    );
    Ok(Report::new(name, text)
        .with("threads", threads as u64)
        .with_summary("wake", &summary))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_wake_up_that_is_outstanding_at_the_end_counts() {
        let run = Run::starting_in(0, 1_000_000_000);
        let rhythm = Rhythm {
            min_ns: 1_000_000,
            max_ns: 1_000_000,
            work_ns: 0,
        };
        let mut late = Samples::default();
        let asleep = |_| run.sleep_until(u64::MAX);
        wake_by(run, rhythm, 1, asleep, |late_ns| late.push(late_ns), |_| ());
        assert_eq!(late.len(), 1);
    }

    #[test]
    fn nothing_is_outstanding_that_was_due_after_the_end() {
        let run = Run::starting_in(0, 1_000_000);
        let rhythm = Rhythm {
            min_ns: 60_000_000_000,
            max_ns: 60_000_000_000,
            work_ns: 0,
        };
        let mut late = Samples::default();
        wake_and_work(run, rhythm, 1, |late_ns| late.push(late_ns));
        assert_eq!(late.len(), 0);
    }

    #[test]
    fn a_report_of_no_wake_up_at_all_is_an_error() {
        let sentence = report(Run::starting_now(0), 60_000_000_000).unwrap_err();
        assert!(sentence.starts_with("no thread woke up"), "{sentence}");
    }
}
