//! `pandemonium bench`: the whole set under the kernel's scheduler and under ours, on this machine.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pandemonium_bench::results::{EEVDF, Label, Results, Value};
use pandemonium_bench::series::Series;
use pandemonium_bench::under::Under;
use pandemonium_bench::{compare, idle, suite, table};
use serde_json::{Value as Json, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::modes::Modes;
use crate::arguments::{CompareArguments, SetArguments};
use crate::connection::runtime;
use crate::error::Error;
use crate::text::print_json;

/// The mode in which the kernel's scheduler runs.
const OFF: &str = "off";

/// Measures every mode in turn, puts the mode back whatever happens, then shows what there is.
pub fn run(arguments: &SetArguments, out: &mut dyn Write) -> Result<(), Error> {
    // First the flag of the workloads, then ours: both hear of a signal.
    pandemonium_bench::catch_signals();
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Error::Failed(format!("signals cannot be watched: {error}")))?;
    }
    let workloads = if arguments.rows.is_empty() {
        suite::all().copied().collect()
    } else {
        suite::choose(&arguments.rows).map_err(Error::Usage)?
    };
    let runtime = runtime()?;
    let mut modes = Modes::find(&runtime)?;
    let mut results = Results::default();
    let measured = rounds(arguments, workloads, &mut modes, &mut results, &stop);
    let restored = modes.restore(&stop);
    match (measured, restored) {
        (Ok(()), Ok(())) => {}
        (Err(error), Ok(())) | (Ok(()), Err(error)) => return Err(error),
        (Err(Error::NoDaemon), Err(Error::NoDaemon)) => return Err(Error::NoDaemon),
        (Err(error), Err(more)) => return Err(Error::Failed(format!("{error}; {more}"))),
    }
    show(arguments, &results, out)
}

fn rounds(
    arguments: &SetArguments,
    workloads: Vec<suite::Workload>,
    modes: &mut Modes<'_>,
    results: &mut Results,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let mut series = Series {
        workloads,
        seconds: arguments.seconds,
        label: Label {
            cpus: idle::cpus(),
            time: "real".to_owned(),
            scheduler: String::new(),
            round: 0,
        },
        is_traced: false,
    };
    for round in 1..=arguments.rounds {
        for mode in std::iter::once(OFF).chain(arguments.modes.iter().map(String::as_str)) {
            if !modes.set(mode, stop)? {
                return Err(Error::Failed("stopped".to_owned()));
            }
            let name = if mode == OFF { EEVDF } else { mode };
            name.clone_into(&mut series.label.scheduler);
            series.label.round = round;
            let found = series.run(&Under::as_it_is(), &|line| tell(arguments, line));
            results.0.extend(found.map_err(Error::Failed)?.0);
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Failed("stopped".to_owned()));
            }
            modes.require(mode)?;
        }
    }
    Ok(())
}

/// A line for whoever waits. It is no part of the answer.
fn tell(arguments: &SetArguments, line: &str) {
    if !arguments.json {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

fn show(arguments: &SetArguments, results: &Results, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(file) = &arguments.prom {
        fs::write(file, results.to_prom()).map_err(|error| {
            Error::Failed(format!("{} cannot be written ({error})", file.display()))
        })?;
    }
    if arguments.json {
        let values: Vec<Json> = results.0.iter().map(to_json).collect();
        print_json(&values, out)?;
    } else {
        write!(out, "{}", table::text(results))?;
    }
    Ok(out.flush()?)
}

fn to_json(value: &Value) -> Json {
    json!({
        "scheduler": value.label.scheduler,
        "cpus": value.label.cpus,
        "round": value.label.round,
        "workload": value.workload,
        "figure": value.figure,
        "value": value.value,
    })
}

/// Compares two archives; whether nothing got worse.
pub fn compare(arguments: &CompareArguments, out: &mut dyn Write) -> Result<bool, Error> {
    let read = |path: &Path| Results::read(path).map_err(Error::Failed);
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    let found = compare::compare(&before, &after, arguments.threshold).map_err(Error::Failed)?;
    write!(out, "{}", found.text)?;
    out.flush()?;
    Ok(found.worse == 0)
}
