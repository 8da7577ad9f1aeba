//! The set, run from its beginning to its end under one scheduler.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::results::{Label, Results};
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
}

impl Series {
    /// Runs everything; `tell` hears a line of progress after each workload, and what there is to know of a crash.
    pub fn run(&self, under: &Under, tell: &(dyn Fn(&str) + Sync)) -> Result<Results, String> {
        let mut results = Results::default();
        for (number, workload) in self.workloads.iter().enumerate() {
            let figures = self.watched(workload, under, tell)?;
            if sys::caught_signal().is_some() {
                return Err("stopped".to_owned());
            }
            if let Err(sentence) = under.check() {
                tell(&under::tell_crash(false));
                return Err(format!("{sentence} during {}", workload.name));
            }
            results.add(&self.label, workload.name, &figures);
            tell(&format!(
                "{} of {}, {}, {} CPUs, round {}, {}: {}",
                number + 1,
                self.workloads.len(),
                self.label.scheduler,
                self.label.cpus,
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
                return tell(&under::tell_crash(true));
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
