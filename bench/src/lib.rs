//! Workloads that show, measure and provoke a scheduler. Each ends by itself, reports in one
//! line and leaves nothing behind. [`suite`] is the set that schedulers are compared by; what it gives
//! goes through [`results`] into tables, plots and comparisons. Everything is in the library, so that the
//! command line of the scheduler can measure while it switches the scheduler between two rounds.

mod args;
mod child;
mod commands;
pub mod compare;
pub mod conditions;
mod duty;
mod forks;
mod frames;
mod gaps;
pub mod gate;
mod hogs;
pub mod idle;
pub mod interval;
mod mixed;
mod pipe;
pub mod plot;
mod probe;
mod random;
mod report;
pub mod results;
mod run;
pub mod series;
mod share;
mod starve;
pub mod stats;
pub mod suite;
mod sys;
pub mod table;
mod turns;
pub mod under;
pub mod verdict;

use std::process::ExitCode;

use clap::Parser;

pub use args::IdleOptions;
use args::{Args, Workload};
pub use child::serve_role;
use duty::Duty;
use hogs::Hogs;
use report::Report;
use run::Run;
pub use sys::catch_signals;

/// Runs `pandemonium-workload` and returns the exit status of the process.
pub fn main() -> ExitCode {
    if let Some(code) = serve_role() {
        return code;
    }
    let args = Args::parse();
    sys::catch_signals();
    if let Some(result) = commands::results(&args) {
        return match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("pandemonium-workload: {message}");
                ExitCode::FAILURE
            }
        };
    }
    let run = Run::starting_now(args.seconds);
    let report = match start(&args, run) {
        Ok(report) => report,
        Err(message) => {
            eprintln!("pandemonium-workload: {message}");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "{}",
        if args.json {
            report.to_json()
        } else {
            report.to_line()
        }
    );
    if let Some(failure) = &report.failure {
        eprintln!("pandemonium-workload: {failure}");
        return ExitCode::FAILURE;
    }
    match sys::caught_signal() {
        Some(signal) => ExitCode::from(128u8.saturating_add(signal)),
        None => ExitCode::SUCCESS,
    }
}

fn start(args: &Args, run: Run) -> Result<Report, String> {
    let cpus = sys::allowed_cpus();
    let or_cpus = |threads: &Option<usize>, per_cpu: usize| threads.unwrap_or(cpus.len() * per_cpu);
    match &args.workload {
        Workload::Mixed => mixed::report(run, &cpus, args.json),
        Workload::Hog {
            threads,
            nice,
            pin,
            name,
        } => {
            let hogs = Hogs {
                threads: or_cpus(threads, 1),
                nice: *nice,
                pin: *pin,
                name: name.as_deref(),
            };
            hogs::hog(run, &cpus, hogs)
        }
        Workload::Probe { interval_us } => probe::report(run, interval_us * 1000),
        Workload::Frames => frames::report(run),
        Workload::Forks { rate } => forks::report(run, *rate),
        Workload::Pipe => pipe::report(run),
        Workload::Sleepers { threads } => probe::sleepers(run, or_cpus(threads, 4)),
        Workload::AffinityChurn { threads } => {
            hogs::affinity_churn(run, &cpus, or_cpus(threads, 2))
        }
        Workload::NiceMix { threads } => hogs::nice_mix(run, or_cpus(threads, 1)),
        Workload::Turns { threads } => turns::report(run, or_cpus(threads, 2)),
        Workload::Starve { threads, limit_ms } => {
            starve::report(run, &cpus, or_cpus(threads, 8), *limit_ms)
        }
        Workload::Duty {
            percent,
            period_ms,
            threads,
            name,
        } => {
            let duty = Duty {
                percent: *percent,
                period_ms: *period_ms,
                threads: or_cpus(threads, 1),
                name: name.as_deref(),
            };
            duty::report(run, duty)
        }
        Workload::Share { groups } => share::report(run, groups),
        Workload::Idle(options) => idle::report(options.plan(cpus.len())),
        Workload::Suite(_) | Workload::Report { .. } | Workload::Gate { .. } => {
            Err("this one gives results, not a report".to_owned())
        }
    }
}
