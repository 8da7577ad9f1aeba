//! `pandemonium bench`: the whole set under the kernel's scheduler and under ours, on this machine.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pandemonium_bench::compare::{self, Change, Compared};
use pandemonium_bench::conditions::Conditions;
use pandemonium_bench::results::{EEVDF, Label, REAL, Results, Value};
use pandemonium_bench::series::Series;
use pandemonium_bench::under::Under;
use pandemonium_bench::{idle, suite, table};
use serde_json::{Value as Json, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::archive::Archive;
use super::both;
use super::modes::Modes;
use crate::arguments::{CompareArguments, SetArguments};
use crate::connection::runtime;
use crate::error::Error;
use crate::text::print_json;

/// The mode in which the kernel's scheduler runs.
const OFF: &str = "off";

/// Measures every mode in turn, puts the mode back whatever happens, then shows what there is: after a failure, the
/// rounds before it.
pub fn run(arguments: &SetArguments, out: &mut dyn Write) -> Result<(), Error> {
    // First the flag of the workloads, then ours: both hear of a signal.
    pandemonium_bench::catch_signals();
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Error::Failed(format!("signals cannot be watched: {error}")))?;
    }
    let workloads = chosen(&arguments.rows)?;
    let runtime = runtime()?;
    let mut modes = Modes::find(&runtime)?;
    let archive = arguments.prom.as_deref().map(Archive::open).transpose()?;
    let mut results = Results::default();
    let measured = rounds(arguments, workloads, &mut modes, &mut results, &stop);
    let restored = modes.restore(&stop);
    let done = both(measured, restored);
    if results.values.is_empty() {
        return done;
    }
    both(done, show(arguments, &results, archive, out))
}

/// The workloads of these names. Without any, those that take minutes and teach the daemon hundreds of programs in the
/// place of the user's own are left out.
fn chosen(rows: &[String]) -> Result<Vec<suite::Workload>, Error> {
    if rows.is_empty() {
        let all = suite::WORKLOADS.iter().chain(&suite::PARALLEL_WORKLOADS);
        return Ok(all.copied().collect());
    }
    suite::choose(rows).map_err(Error::Usage)
}

/// Adds complete rounds to the results.
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
            time: REAL.to_owned(),
            scheduler: String::new(),
            round: 0,
        },
        is_traced: false,
        is_silent: arguments.json,
    };
    for round in 1..=arguments.rounds {
        let mut complete = Results::default();
        for mode in std::iter::once(OFF).chain(arguments.modes.iter().map(String::as_str)) {
            if !modes.set(mode, stop)? {
                return Err(Error::Failed("stopped".to_owned()));
            }
            let name = if mode == OFF { EEVDF } else { mode };
            name.clone_into(&mut series.label.scheduler);
            series.label.round = round;
            let found = series.run(&Under::as_it_is(), &tell);
            complete.values.extend(found.map_err(Error::Failed)?.values);
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Failed("stopped".to_owned()));
            }
            modes.require(mode)?;
        }
        results.values.extend(complete.values);
        let here = Conditions::here(&series.label, arguments.seconds);
        results.conditions.insert(here);
    }
    Ok(())
}

/// A line for whoever waits. It is no part of the answer.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes the archive and prints; neither keeps the other back.
fn show(
    arguments: &SetArguments,
    results: &Results,
    archive: Option<Archive<'_>>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let written = archive.map_or(Ok(()), |archive| archive.write(&results.to_prom()));
    both(written, print(arguments, results, out))
}

fn print(arguments: &SetArguments, results: &Results, out: &mut dyn Write) -> Result<(), Error> {
    if arguments.json {
        let conditions = results.conditions.first();
        let each = results.values.iter();
        let values: Vec<Json> = each.map(|value| to_json(value, conditions)).collect();
        print_json(&values, out)?;
    } else {
        write!(out, "{}", table::text(results))?;
    }
    Ok(out.flush()?)
}

fn to_json(value: &Value, conditions: Option<&Conditions>) -> Json {
    json!({
        "kernel": conditions.map(|conditions| &conditions.kernel),
        "seconds": conditions.map(|conditions| conditions.seconds),
        "time": value.label.time,
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
    if arguments.json {
        print_json(&found.figures.iter().map(compared).collect::<Vec<_>>(), out)?;
    } else {
        write!(out, "{}", found.text())?;
    }
    out.flush()?;
    Ok(found.worse() == 0)
}

fn compared(figure: &Compared) -> Json {
    json!({
        "change": match figure.change {
            Some(Change::Worse) => "worse",
            Some(Change::Better) => "better",
            Some(Change::Same) => "same",
            None => "gone",
        },
        "scheduler": figure.scheduler,
        "time": figure.place.0,
        "cpus": figure.place.1,
        "workload": figure.row.workload,
        "figure": figure.row.figure,
        "before": figure.before,
        "after": figure.after,
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn names(workloads: impl IntoIterator<Item = suite::Workload>) -> Vec<&'static str> {
        let names = workloads.into_iter().map(|workload| workload.name);
        names.collect()
    }

    #[test]
    fn without_names_exactly_the_workloads_run_that_the_help_lists() {
        let command = Arguments::command();
        let bench = command.find_subcommand("bench").expect("it is there");
        let rows = bench.get_arguments().find(|one| one.get_id() == "rows");
        let help = rows.and_then(|one| one.get_long_help()).expect("help");
        let help = help.to_string();
        let words: Vec<&str> = help
            .split(|letter: char| !letter.is_ascii_lowercase())
            .collect();
        let listed = suite::all().filter(|workload| words.contains(&workload.name));
        let listed = names(listed.copied());
        assert_eq!(names(chosen(&[]).expect("workloads")), listed);
        for workload in suite::GROWTH_WORKLOADS {
            assert!(!listed.contains(&workload.name), "{}", workload.name);
            let asked = chosen(&[workload.name.to_owned()]).expect("a workload");
            assert_eq!(names(asked), [workload.name]);
        }
    }
}
