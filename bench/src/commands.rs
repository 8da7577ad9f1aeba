//! The commands that give or take results instead of one report: running the set, showing it, holding it against a
//! baseline.

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::{Args, SuiteOptions, Workload};
use crate::conditions::Conditions;
use crate::results::{EEVDF, Label, REAL, Results, VIRTUAL};
use crate::series::Series;
use crate::under::{self, Under};
use crate::{gate, plot, suite, sys, table};

/// Does what the command line asks for, if it is one of these commands.
pub fn results(args: &Args) -> Option<Result<(), String>> {
    match &args.workload {
        Workload::Suite(options) => Some(run(options, args.seconds)),
        Workload::Report { files, dir } => Some(report(files, dir.as_deref())),
        Workload::Gate {
            renew,
            baseline,
            files,
        } => Some(if *renew {
            renew_baseline(baseline, files)
        } else {
            hold(baseline, files)
        }),
        _ => None,
    }
}

/// Runs the set and prints the results of each round as soon as it is over, so that no later one can take them along.
fn run(options: &SuiteOptions, seconds: u64) -> Result<(), String> {
    let workloads = suite::choose(&options.rows)?;
    let unsound = workloads
        .iter()
        .find(|workload| options.time == VIRTUAL && !workload.is_sound_in_virtual_time);
    if let Some(workload) = unsound {
        return Err(format!(
            "{} means nothing in virtual time, where an idle CPU makes the others faster",
            workload.name
        ));
    }
    if options.scheduler == EEVDF {
        under::require_own_of_kernel()?;
    }
    let mut series = Series {
        workloads,
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
    for round in options.round..options.round + options.rounds {
        series.label.round = round;
        let mut results = series.run(&under, &|line| eprintln!("{line}"))?;
        results
            .conditions
            .insert(Conditions::here(&series.label, seconds));
        print!("{}", results.to_prom());
    }
    Ok(())
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
    for time in [VIRTUAL, REAL] {
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
    let stored = fs::read_to_string(baseline)
        .map_err(|error| format!("{} cannot be read ({error})", baseline.display()))?;
    print!("{}", gate::hold(&results, &stored)?);
    Ok(())
}

/// Only what is complete takes the place of the one before.
fn renew_baseline(baseline: &Path, files: &[PathBuf]) -> Result<(), String> {
    let text = gate::baseline(&read(files)?)?;
    let unfinished = baseline.with_extension("new");
    fs::write(&unfinished, &text)
        .and_then(|()| fs::rename(&unfinished, baseline))
        .map_err(|error| format!("{} cannot be written ({error})", baseline.display()))?;
    print!("{text}");
    Ok(())
}

fn read(files: &[PathBuf]) -> Result<Results, String> {
    let mut all = Results::default();
    for file in files {
        all.merge(Results::read(file)?)?;
    }
    Ok(all)
}
