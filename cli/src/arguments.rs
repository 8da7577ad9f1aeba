//! The command line. Completions and manual pages are generated from this definition.

mod choices;
mod measuring;
mod profiles;

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, value_parser};
use clap_complete::Shell;
use pandemonium_api::{mode, mode_option};

use crate::error::exit;
use crate::{examples, history};

pub use choices::{CompositorAction, DomainAction, PowerAction, Selector};
pub use measuring::{Benchmark, CompareArguments, IdleArguments, SetArguments};
pub use profiles::{ListArguments, Name, ProfilesAction, Sort};

const MODES: [&str; 3] = mode::ALL;

/// What the daemon accepts.
const CONFIRM_SECONDS: RangeInclusive<i64> =
    *mode_option::CONFIRM_SECONDS.start() as i64..=*mode_option::CONFIRM_SECONDS.end() as i64;

/// Every exit status and what it means.
pub const EXIT_STATUS: [(u8, &str); 7] = [
    (exit::OK, "done"),
    (
        exit::FAILURE,
        "it failed; for check: the scheduler cannot run here; for bench compare: something got worse or is missing",
    ),
    (exit::USAGE, "the command line was not understood"),
    (
        exit::NO_DAEMON,
        "the daemon is not running (systemctl start pandemonium)",
    ),
    (exit::NO_BUS, "there is no system bus"),
    (exit::DENIED, "not permitted"),
    (exit::REFUSED, "the daemon refused"),
];

fn exit_status_help() -> String {
    let lines = EXIT_STATUS.map(|(code, meaning)| format!("\n  {code}  {meaning}"));
    format!("Exit status:{}", lines.concat())
}

/// See and steer the PANDEMONIUM CPU scheduler.
#[derive(Debug, Parser)]
#[command(
    name = "pandemonium",
    version,
    after_help = exit_status_help(),
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The things that can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what the scheduler does right now
    Status {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Watch the scheduler: a live view on a terminal, one line per second elsewhere
    ///
    /// In the live view q or Ctrl-C quits and a, b and o switch to adaptive, bpf and off.
    Monitor {
        /// Stop after this many samples
        #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
        count: Option<u64>,
        /// One JSON object per line
        #[arg(long, conflicts_with_all = ["full", "plain"])]
        json: bool,
        /// The live view, even if this does not look like a terminal that can show it
        #[arg(long, conflicts_with = "plain")]
        full: bool,
        /// Lines, even on a terminal
        #[arg(long)]
        plain: bool,
    },
    /// Print the mode, or switch to another one
    ///
    /// A mode that has to be confirmed goes back by itself otherwise. On a terminal the question is asked
    /// right away; elsewhere `pandemonium confirm` and `pandemonium revert` answer it.
    #[command(visible_alias = "set", after_long_help = examples::help("pandemonium-mode"))]
    Mode(ModeArguments),
    /// Keep the mode that waits for a confirmation
    Confirm,
    /// Take the mode that waits for a confirmation back
    Revert,
    /// Load the scheduler in the mode that was wanted last
    Start,
    /// Take the scheduler off until it is started, without forgetting the mode
    Stop,
    /// Load the scheduler anew
    Restart,
    /// Read the configuration files again
    ///
    /// A wrong file is named with the line, and everything stays as it was.
    Reload,
    /// Hold a mode for as long as a command runs
    ///
    /// The newest hold is in effect; when it is over, what was wanted otherwise comes back. Asking for a
    /// mode by hand ends all holds, and the command goes on. Signals are passed on to the command, and the
    /// exit status is the command's: 127 if it is not there, 126 if it cannot be run, and 128 plus the number
    /// of the signal that ended it.
    #[command(after_long_help = examples::help("pandemonium-hold"))]
    Hold(HoldArguments),
    /// Print a report on the daemon, to attach to a question or a bug
    ///
    /// It says what is loaded, configured and counted; no names of programs that were learned about, and
    /// nothing of the journal.
    Diagnostics {
        /// Answer in JSON: the lines of the report in a list
        #[arg(long)]
        json: bool,
        /// Write it into FILE
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List the names of compositors, add one or remove one
    ///
    /// Programs with these names draw the desktop, so they are latency-critical as long as they use no
    /// more than half a CPU, provided that their executable is the system's own. A name is the kernel's, as `ps -o comm` shows it, of which the first 15 bytes count; a * at its end
    /// stands for any further bytes. A change takes effect at once, and is kept when the machine restarts
    /// until the configuration says something else about that name.
    #[command(after_long_help = examples::help("pandemonium-compositor"),
              args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Compositor {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
        /// What to do; without it the names are listed
        #[command(subcommand)]
        action: Option<CompositorAction>,
    },
    /// Show which CPUs are taken first, or choose others
    ///
    /// The CPUs of the primary domain are taken first while one of them is free:
    ///
    /// all: no CPU is preferred
    ///
    /// performance: all but the slowest kind of CPU
    ///
    /// powersave: the slowest kind of CPU
    ///
    /// auto: what `pandemonium power` says for the power situation of the machine
    ///
    /// a mask in hex, such as 0xff: bit N stands for CPU N
    ///
    /// Where all CPUs are of one kind, performance and powersave are every CPU. A choice takes effect at
    /// once, and is kept when the machine restarts until the configuration says another one.
    #[command(after_long_help = examples::help("pandemonium-domain"),
              args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Domain {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
        /// What to do; without it the domain is shown
        #[command(subcommand)]
        action: Option<DomainAction>,
    },
    /// Show the power situation and what the domain auto stands for in it, or change that
    ///
    /// A map says which primary domain `auto` stands for in which power situation: on ac or on battery, and
    /// with the power profile performance, balanced or power-saver. The entry of the profile counts before
    /// that of the source; where neither has one, no CPU is preferred. A change takes effect at once, and
    /// is kept when the machine restarts until the configuration says another map.
    #[command(after_long_help = examples::help("pandemonium-power"),
              args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Power {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
        /// What to do; without it the situation and the map are shown
        #[command(subcommand)]
        action: Option<PowerAction>,
    },
    /// Print whether the scheduler chooses idle CPUs itself, or switch that
    ///
    /// The idle selector keeps the idle CPUs of each last-level cache in a mask, so that finding one for
    /// a task that wakes takes the same short time on any machine. Switched off, the kernel looks for
    /// one. A choice takes effect at once, and is kept when the machine restarts until the configuration
    /// says otherwise.
    #[command(after_long_help = examples::help("pandemonium-idle-selector"))]
    IdleSelector {
        /// Switch it on or off, or go back to the configuration
        #[arg(value_name = "STATE")]
        wanted: Option<Selector>,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// List what the scheduler learned about programs, or change it
    ///
    /// A name is the kernel's, as `ps -o comm` shows it: at most 15 bytes, where \xNN stands for a byte that
    /// cannot be typed. It stands for itself alone: a * is written \x2a. Changes are kept when the machine restarts.
    #[command(after_long_help = examples::help("pandemonium-profiles"),
              args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Profiles {
        /// What to list
        #[command(flatten)]
        list: ListArguments,
        /// What to do; without it the programs are listed
        #[command(subcommand)]
        action: Option<ProfilesAction>,
    },
    /// Print every number of the last second with its unit
    Metrics {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
        /// Answer in the text format of Prometheus, in seconds and ratios
        #[arg(long, conflicts_with = "json")]
        prometheus: bool,
    },
    /// Print what the last minute was like, a line a second, or up to an hour with --since
    History {
        /// How far to look back: seconds, or such as 10m or 1h
        #[arg(long, value_name = "TIME", default_value = "1m", value_parser = history::duration)]
        since: u64,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
        /// Answer in comma-separated values
        #[arg(long, conflicts_with = "json")]
        csv: bool,
    },
    /// Find out whether the scheduler can run here and what is missing
    Check {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
        /// Look at the files below DIR instead of this system's
        #[arg(long, value_name = "DIR", hide = true)]
        root: Option<PathBuf>,
    },
    /// Measure how late timer wake-ups are, under whatever scheduler runs
    Probe {
        /// How long to measure
        #[arg(long, value_name = "N", default_value_t = 10,
              value_parser = value_parser!(u32).range(1..=86_400))]
        seconds: u32,
        /// Time between two wake-ups in microseconds
        #[arg(long, value_name = "N", default_value_t = 1000,
              value_parser = value_parser!(u32).range(100..=1_000_000))]
        interval_us: u32,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure this scheduler against the kernel's own, on this machine
    ///
    /// The whole set of workloads runs in mode off, which is the kernel's scheduler, and then in each mode of
    /// this one; the mode is put back at the end, also after Ctrl-C. Leave the machine alone meanwhile: what
    /// else it does is measured too. Progress goes to standard error, and a table follows, with lost rows first.
    /// With six rounds or more the ratio to the kernel's scheduler has an interval that holds the true one
    /// with 95 % probability; a goal that is such a ratio is undecided while the interval is on both sides of it.
    #[command(after_long_help = examples::help("pandemonium-bench"),
              args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Bench {
        /// The whole set
        #[command(flatten)]
        set: SetArguments,
        /// Something else to measure or compare
        #[command(subcommand)]
        what: Option<Benchmark>,
    },
    /// Show what the kernel logged about sched_ext
    Dmesg {
        /// One JSON object per line: `usec` since the machine started, which may be null, and `message`
        #[arg(long)]
        json: bool,
        /// Wait for more
        #[arg(long, short)]
        follow: bool,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man {
        /// An existing directory
        dir: PathBuf,
    },
}

/// How to switch the mode.
#[derive(Debug, Args)]
pub struct ModeArguments {
    /// The mode to switch to
    #[arg(value_parser = MODES)]
    pub mode: Option<String>,
    /// Start in this mode the next time too, until the configuration says another one
    #[arg(long, requires = "mode")]
    pub persist: bool,
    /// Go back after this many seconds unless it is confirmed, 5 to 600
    #[arg(long, value_name = "SECONDS", requires = "mode",
          value_parser = value_parser!(u32).range(CONFIRM_SECONDS))]
    pub confirm_timeout: Option<u32>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// What to hold, and for which command.
#[derive(Debug, Args)]
pub struct HoldArguments {
    /// The mode to hold
    #[arg(value_parser = MODES)]
    pub mode: String,
    /// Why, for those who look at `pandemonium status`
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub reason: String,
    /// Run the command even if the hold is not granted
    #[arg(long)]
    pub optional: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests;
