//! `pandemonium`, the command line of the PANDEMONIUM scheduler.
//!
//! Everything about the scheduler goes through the daemon's bus interface; `check`, `probe`,
//! `bench compare`, `bench idle --no-compare` and `dmesg` need no daemon. Nothing here needs root, clang or libbpf to build.

pub mod arguments;
mod bench;
mod check;
mod compositor;
mod confirm;
mod connection;
mod diagnostics;
mod dmesg;
mod domain;
pub mod error;
mod examples;
mod generate;
mod history;
mod hold;
mod idle_selector;
mod metrics;
mod mode;
mod monitor;
mod power;
mod probe;
mod profiles;
mod running;
mod status;
mod text;
mod transfer;
mod usage;

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

use arguments::{
    Arguments, Benchmark, Command, CompositorAction, DomainAction, PowerAction, ProfilesAction,
};
use error::{Error, exit};
use running::Request;
use text::Style;

/// Runs the command line and returns the exit status of the process.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<_> = arguments.into_iter().collect();
    let parsed = match Arguments::try_parse_from(&words) {
        Ok(parsed) => parsed,
        Err(error) => return ExitCode::from(usage::refuse(&error, &words)),
    };
    let mut out = BufWriter::new(std::io::stdout());
    match run(parsed.command, &mut out) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            if !error.is_silent() {
                // Nothing can be done about a standard error that is closed as well.
                let _ = writeln!(std::io::stderr(), "pandemonium: {error}");
            }
            // What is left in the buffer belongs to a reader that is gone.
            let _ = out.into_parts();
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(command: Command, out: &mut dyn Write) -> Result<u8, Error> {
    let style = Style::for_stdout();
    match command {
        Command::Status { json } => status::run(json, style, out)?,
        Command::Monitor {
            count,
            json,
            full,
            plain,
        } => {
            monitor::run(monitor::Form::chosen(json, full, plain), count, out)?;
        }
        Command::Mode(arguments) => return mode::run(&arguments, out),
        Command::Confirm => confirm::run()?,
        Command::Revert => confirm::take_back()?,
        Command::Start => running::run(Request::Start)?,
        Command::Stop => running::run(Request::Stop)?,
        Command::Restart => running::run(Request::Restart)?,
        Command::Reload => running::run(Request::Reload)?,
        Command::Hold(arguments) => return hold::run(&arguments),
        Command::Diagnostics { json, output } => {
            diagnostics::run(json, output.as_deref(), out)?;
        }
        Command::Compositor { json, action } => {
            compositor::run(&action.unwrap_or(CompositorAction::List { json }), out)?;
        }
        Command::Domain { json, action } => {
            domain::run(&action.unwrap_or(DomainAction::Show { json }), out)?;
        }
        Command::Power { json, action } => {
            power::run(&action.unwrap_or(PowerAction::Show { json }), out)?;
        }
        Command::IdleSelector { wanted, json } => idle_selector::run(wanted, json, out)?,
        Command::Profiles { list, action } => {
            profiles::run(&action.unwrap_or(ProfilesAction::List(list)), style, out)?;
        }
        Command::Metrics { json, prometheus } => {
            let form = match (json, prometheus) {
                (true, _) => metrics::Form::Json,
                (_, true) => metrics::Form::Prometheus,
                _ => metrics::Form::Text,
            };
            metrics::run(form, style, out)?;
        }
        Command::History { since, json, csv } => {
            let form = match (json, csv) {
                (true, _) => history::Form::Json,
                (_, true) => history::Form::Csv,
                _ => history::Form::Text,
            };
            history::run(since, form, style, out)?;
        }
        Command::Check { json, root } => {
            let can_run = check::run(root.as_deref(), json, style, out)?;
            return Ok(if can_run { exit::OK } else { exit::FAILURE });
        }
        Command::Probe {
            seconds,
            interval_us,
            json,
        } => {
            probe::run(
                probe::Plan {
                    seconds,
                    interval_us,
                },
                json,
                out,
            )?;
        }
        Command::Bench { set, what } => match what {
            None => bench::whole_set(&set.with_each_mode_once(), out)?,
            Some(Benchmark::Idle(arguments)) => bench::idle(&arguments, style, out)?,
            Some(Benchmark::Compare(arguments)) => {
                let is_fine = bench::compare_archives(&arguments, out)?;
                return Ok(if is_fine { exit::OK } else { exit::FAILURE });
            }
        },
        Command::Dmesg { json, follow } => dmesg::run(json, follow, out)?,
        Command::Completions { shell } => generate::completions(shell, out)?,
        Command::Man { dir } => generate::manual(&dir)?,
    }
    out.flush()?;
    Ok(exit::OK)
}
