//! The commands that give or take results instead of one report: running the set, showing it, holding it against a
//! baseline.

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::{Args, SuiteOptions, Workload};
use crate::conditions::Conditions;
use crate::results::{Label, Results};
use crate::series::Series;
use crate::under::{self, Under};
use crate::{gate, plot, suite, sys, table};

/// Does what the command line asks for, if it is one of these commands.
pub fn results(args: &Args) -> Option<Result<(), String>> {
    match &args.workload {
        Workload::Suite(options) => Some(run(options, args.seconds)),
        Workload::Report { files, dir } => Some(report(files, dir.as_deref())),
        Workload::Gate { baseline, files } => Some(hold(baseline, files)),
        _ => None,
    }
}

/// Runs the set and prints its results; if a round fails, those of the rounds before it.
fn run(options: &SuiteOptions, seconds: u64) -> Result<(), String> {
    let mut series = Series {
        workloads: suite::choose(&options.rows)?,
        seconds,
        label: Label {
            cpus: sys::allowed_cpus().len(),
            time: options.time.clone(),
            scheduler: options.scheduler.clone(),
            round: options.round,
        },
        is_traced: options.trace,
        is_silent: false,
    };
    let _trace = options.trace.then(under::start_trace);
    let under = match &options.start {
        Some(command) => Under::start(command, options.trace)?,
        None => Under::as_it_is(),
    };
    let mut results = Results::default();
    let mut outcome = Ok(());
    for round in options.round..options.round + options.rounds {
        series.label.round = round;
        match series.run(&under, &|line| eprintln!("{line}")) {
            Ok(found) => results.values.extend(found.values),
            Err(sentence) => {
                outcome = Err(sentence);
                break;
            }
        }
    }
    drop(under);
    if !results.values.is_empty() {
        results.conditions.insert(Conditions::here(seconds));
        print!("{}", results.to_prom());
    }
    outcome
}

fn report(files: &[PathBuf], dir: Option<&Path>) -> Result<(), String> {
    let results = read(files)?;
    let text = table::text(&results);
    print!("{text}");
    let Some(dir) = dir else {
        return Ok(());
    };
    let write = |name: &str, text: &str| {
        let file = dir.join(name);
        fs::write(&file, text)
            .map_err(|error| format!("{} cannot be written ({error})", file.display()))
    };
    write("results.prom", &results.to_prom())?;
    write("report.txt", &text)?;
    write("report.md", &table::markdown(&results))?;
    for time in ["virtual", "real"] {
        if results.places().iter().any(|place| place.0 == time) {
            write(&format!("{time}.svg"), &plot::bars(&results, time))?;
        }
    }
    if let Some(curves) = plot::curves(&results) {
        write("growth.svg", &curves)?;
    }
    Ok(())
}

fn hold(baseline: &Path, files: &[PathBuf]) -> Result<(), String> {
    let results = read(files)?;
    if !baseline.exists() {
        return fs::write(baseline, gate::baseline(&results)?)
            .map_err(|error| format!("{} cannot be written ({error})", baseline.display()));
    }
    let stored = fs::read_to_string(baseline)
        .map_err(|error| format!("{} cannot be read ({error})", baseline.display()))?;
    print!("{}", gate::hold(&results, &stored)?);
    Ok(())
}

fn read(files: &[PathBuf]) -> Result<Results, String> {
    let mut all = Results::default();
    for file in files {
        all.merge(Results::read(file)?)?;
    }
    Ok(all)
}
