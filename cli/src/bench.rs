//! `pandemonium bench idle`: what the idle selector is worth, measured by round trips through blocked
//! threads while some CPUs are busy. The whole set and comparisons are in `set`.

mod archive;
mod cost;
mod figures;
mod modes;
mod selector;
mod set;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pandemonium_bench::idle::{self, Bench, Plan};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::arguments::IdleArguments;
use crate::connection::runtime;
use crate::error::Error;
use crate::idle_selector::word;
use crate::probe::scheduler_name;
use crate::text::{Style, latency, print_json};
use cost::Selection;
use figures::{Answer, Measured};
use selector::Selector;
pub use set::{compare as compare_archives, run as whole_set};

/// Measures and prints. Ctrl-C ends it early, puts the idle selector back, and prints what there is.
pub fn idle(arguments: &IdleArguments, style: Style, out: &mut dyn Write) -> Result<(), Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Error::Failed(format!("signals cannot be watched: {error}")))?;
    }
    let plan = arguments.options.plan(idle::cpus());
    let mut answer = Answer {
        plan,
        scheduler: scheduler_name(Path::new("/")),
        rounds: Vec::new(),
        note: None,
    };
    if arguments.no_compare {
        answer.rounds = alone(plan, &stop)?;
    } else {
        let progress = Progress {
            rounds: arguments.rounds,
            is_silent: arguments.json,
        };
        compare(&mut answer, progress, &stop)?;
    }
    if arguments.json {
        print_json(&answer.to_json(), out)?;
    } else {
        answer.print(style, out)?;
    }
    Ok(out.flush()?)
}

/// One round, under whatever scheduler runs. What was measured before Ctrl-C is kept.
fn alone(plan: Plan, stop: &AtomicBool) -> Result<Vec<Measured>, Error> {
    let round = idle::run(plan, |bench| bench.round(|| stop.load(Ordering::Relaxed)));
    let round = round.flatten().map_err(Error::Failed)?;
    if round.latency.count == 0 {
        return Err(Error::Failed(
            "stopped before the first round trip".to_owned(),
        ));
    }
    Ok(vec![Measured {
        selector: None,
        round,
        selection_ns: None,
    }])
}

/// Rounds in turn, ON first.
fn compare(answer: &mut Answer, progress: Progress, stop: &AtomicBool) -> Result<(), Error> {
    let runtime = runtime()?;
    let mut selector = Selector::find(&runtime)?;
    let selection = match Selection::count() {
        Ok(selection) => Some(selection),
        Err(sentence) => {
            answer.note = Some(sentence);
            None
        }
    };
    let mut turns = Turns {
        plan: answer.plan,
        selector: &mut selector,
        selection: selection.as_ref(),
        rounds: &mut answer.rounds,
    };
    let measured = idle::run(answer.plan, |bench| turns.take(bench, progress, stop))
        .unwrap_or_else(|sentence| Err(Error::Failed(sentence)));
    // From here on there are no busy threads that could be in the way.
    let restored = selector.restore(stop);
    both(measured, restored)?;
    if answer.rounds.len() < 2 {
        return Err(Error::Failed(
            "stopped before both kinds of round were measured; the idle selector is as it was"
                .to_owned(),
        ));
    }
    Ok(())
}

/// What two steps came to of which the second is done in any case.
fn both(first: Result<(), Error>, second: Result<(), Error>) -> Result<(), Error> {
    match (first, second) {
        (Ok(()), only) | (only, Ok(())) => only,
        (Err(Error::NoDaemon), Err(Error::NoDaemon)) => Err(Error::NoDaemon),
        (Err(error), Err(more)) if more.is_silent() => Err(error),
        (Err(error), Err(more)) => Err(Error::Failed(format!("{error}; {more}"))),
    }
}

/// What a comparison works with.
struct Turns<'a, 'r> {
    plan: Plan,
    selector: &'a mut Selector<'r>,
    selection: Option<&'a Selection>,
    rounds: &'a mut Vec<Measured>,
}

impl Turns<'_, '_> {
    /// Measures until all rounds are done or somebody wants it to end.
    fn take(
        &mut self,
        bench: &Bench<'_>,
        progress: Progress,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        for number in 0..progress.rounds {
            let is_on = number % 2 == 0;
            if !self.selector.set(is_on, stop)? {
                return Ok(());
            }
            let Some(measured) = self.measure(bench, is_on, stop)? else {
                return Ok(());
            };
            progress.tell(number + 1, &measured);
            self.rounds.push(measured);
        }
        Ok(())
    }

    /// One round; `None` if it was cut short.
    fn measure(
        &self,
        bench: &Bench<'_>,
        is_on: bool,
        stop: &AtomicBool,
    ) -> Result<Option<Measured>, Error> {
        let before = self.selection.and_then(Selection::runs);
        let round = bench
            .round(|| stop.load(Ordering::Relaxed))
            .map_err(Error::Failed)?;
        let after = self.selection.and_then(Selection::runs);
        if (round.latency.count as u64) < self.plan.iterations {
            return Ok(None);
        }
        self.selector.require_running()?;
        let selection_ns = before
            .zip(after)
            .and_then(|(before, after)| after.mean_ns_since(before));
        Ok(Some(Measured {
            selector: Some(is_on),
            round,
            selection_ns,
        }))
    }
}

/// A line a round for whoever waits. It is no part of the answer.
#[derive(Clone, Copy)]
struct Progress {
    rounds: u32,
    is_silent: bool,
}

impl Progress {
    fn tell(self, number: u32, m: &Measured) {
        if self.is_silent {
            return;
        }
        let _ = writeln!(
            std::io::stderr(),
            "round {number} of {}, idle selector {}: mean {}, p99 {}",
            self.rounds,
            m.selector.map_or("unknown", word),
            latency(m.round.mean_ns.round() as u64),
            latency(m.round.latency.p99),
        );
    }
}
