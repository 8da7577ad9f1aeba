//! The set, run from its beginning to its end under one scheduler.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::results::{Label, Results, cpus_in_words};
use crate::suite::{Figures, SERVICE, Workload};
use crate::under::{self, Under};
use crate::{run, sys};

/// A workload that takes this many times its length and this much more hangs.
const HANGS_TIMES: u64 = 6;
const HANGS_MORE_S: u64 = 60;

/// How often to look whether the scheduler is still there, if that is traced.
const GLANCE: Duration = Duration::from_millis(50);

/// What to run and how to name it.
#[derive(Clone, Debug)]
pub struct Series {
    /// In their order.
    pub workloads: Vec<Workload>,
    /// How long each measures, but for its weight.
    pub seconds: u64,
    /// Under what.
    pub label: Label,
    /// Whether the kernel keeps a trace, which has to stop when the scheduler goes.
    pub is_traced: bool,
    /// Whether progress is for nobody. What there is to know of a crash is told all the same.
    pub is_silent: bool,
}

impl Series {
    /// Runs everything; `tell` hears a line of progress after each workload, and what there is to know of a crash.
    pub fn run(&self, under: &Under, tell: &(dyn Fn(&str) + Sync)) -> Result<Results, String> {
        let mut results = Results::default();
        for (number, workload) in self.workloads.iter().enumerate() {
            // A scheduler that goes may take the workload with it, so that is looked at first.
            let found = self.watched(workload, under, tell);
            if sys::caught_signal().is_some() {
                return Err("stopped".to_owned());
            }
            if let Err(sentence) = under.check() {
                tell(&under::tell_crash(false, self.is_traced));
                return Err(format!("{sentence} during {}", workload.name));
            }
            let figures = found?;
            results.add(&self.label, workload.name, &figures);
            if self.is_silent {
                continue;
            }
            tell(&format!(
                "{} of {}, {}, {}, round {}, {}: {}",
                number + 1,
                self.workloads.len(),
                self.label.scheduler,
                cpus_in_words(self.label.cpus),
                self.label.round,
                workload.name,
                words(&figures)
            ));
        }
        results.add(&self.label, SERVICE, &under.figures());
        Ok(results)
    }

    /// One workload; if it hangs, the scheduler is asked for its own view meanwhile.
    fn watched(
        &self,
        workload: &Workload,
        under: &Under,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Figures, String> {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            run::thread(scope, "wl-watch", move || {
                self.watch(workload, under, &is_done, tell);
            })?;
            let figures = workload.measure(self.seconds);
            drop(done);
            figures
        })
    }

    fn watch(
        &self,
        workload: &Workload,
        under: &Under,
        is_done: &Receiver<()>,
        tell: &(dyn Fn(&str) + Sync),
    ) {
        let limit =
            Duration::from_secs(self.seconds * workload.weight * HANGS_TIMES + HANGS_MORE_S);
        let glance = if self.is_traced { GLANCE } else { limit };
        let start = Instant::now();
        while is_done.recv_timeout(glance) == Err(RecvTimeoutError::Timeout) {
            if self.is_traced && under.check().is_err() {
                return under::stop_trace();
            }
            if start.elapsed() >= limit {
                tell(&format!("{} hangs", workload.name));
                return tell(&under::tell_crash(true, self.is_traced));
            }
        }
    }
}

fn words(figures: &Figures) -> String {
    let each = figures
        .iter()
        .map(|(name, value)| format!("{name} {value:.1}"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Mutex;

    use super::*;
    use crate::suite::{Scene, pretended};

    /// What a series of this workload gives, and everything that it tells.
    fn run(
        measure: fn(&Scene) -> Result<Figures, String>,
        under: &Under,
        is_silent: bool,
    ) -> (Result<Results, String>, Vec<String>) {
        let series = Series {
            workloads: vec![pretended(measure)],
            seconds: 1,
            label: Label {
                cpus: 2,
                time: "virtual".to_owned(),
                scheduler: "bpf".to_owned(),
                round: 1,
            },
            is_traced: false,
            is_silent,
        };
        let told = Mutex::new(Vec::new());
        let result = series.run(under, &|line| told.lock().unwrap().push(line.to_owned()));
        (result, told.into_inner().unwrap())
    }

    #[test]
    fn a_crash_is_told_even_if_the_workload_failed_with_it_and_nobody_wants_progress() {
        let failing = |_: &Scene| Err("a thread ended".to_owned());
        let (result, told) = run(failing, &Under::ended(), true);
        let sentence = result.unwrap_err();
        assert!(sentence.starts_with("the scheduler is "), "{sentence}");
        assert!(sentence.ends_with(" during pretended"), "{sentence}");
        assert_eq!(told.len(), 1, "the report of the crash: {told:?}");
    }

    #[test]
    fn a_workload_that_fails_by_itself_says_why() {
        let failing = |_: &Scene| Err("a thread ended".to_owned());
        let (result, told) = run(failing, &Under::as_it_is(), false);
        assert_eq!(result.unwrap_err(), "a thread ended");
        assert_eq!(told.len(), 0, "{told:?}");
    }

    #[test]
    fn progress_is_told_to_those_who_want_it() {
        let good = |_: &Scene| Ok(vec![("p99_us", 1.5)]);
        let (result, told) = run(good, &Under::as_it_is(), false);
        assert_eq!(result.unwrap().values.len(), 1);
        let line = "1 of 1, bpf, 2 CPUs, round 1, pretended: p99_us 1.5";
        assert_eq!(told, [line]);
        let (result, told) = run(good, &Under::as_it_is(), true);
        assert_eq!(result.unwrap().values.len(), 1);
        assert_eq!(told.len(), 0, "{told:?}");
    }
}
