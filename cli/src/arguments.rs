//! The command line. Completions and manual pages are generated from this definition.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;

use crate::error::exit;

/// Every exit status and what it means.
pub const EXIT_STATUS: [(u8, &str); 7] = [
    (exit::OK, "done"),
    (
        exit::FAILURE,
        "it failed; for check: the scheduler cannot run here",
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
    Mode {
        /// The mode to switch to
        #[arg(value_parser = ["adaptive", "bpf", "off"])]
        mode: Option<String>,
    },
    /// List what the scheduler learned about programs
    Profiles {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
        /// What to sort by
        #[arg(long, value_enum, default_value_t = Sort::Observations)]
        sort: Sort,
        /// Print at most this many
        #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
        limit: Option<u32>,
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
    /// Show what the kernel logged about sched_ext
    Dmesg {
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

/// An order of learned profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Most observed first
    Observations,
    /// By name
    Name,
    /// By tier, the most latency-critical first
    Tier,
    /// Most certain first
    Confidence,
    /// Longest average run first
    Runtime,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    fn refusal(line: &str) -> ErrorKind {
        match Arguments::try_parse_from(line.split(' ')) {
            Ok(parsed) => panic!("{line} was accepted as {parsed:?}"),
            Err(error) => error.kind(),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let parsed = Arguments::try_parse_from(["pandemonium", "probe"]).expect("valid");
        assert!(matches!(
            parsed.command,
            Command::Probe {
                seconds: 10,
                interval_us: 1000,
                json: false
            }
        ));
    }

    #[test]
    fn out_of_range_and_contradicting_arguments_are_refused() {
        for line in [
            "pandemonium probe --interval-us 99",
            "pandemonium probe --seconds 0",
            "pandemonium monitor --count 0",
            "pandemonium profiles --limit -1",
        ] {
            let kind = refusal(line);
            assert!(
                matches!(
                    kind,
                    ErrorKind::ValueValidation | ErrorKind::UnknownArgument
                ),
                "{line}: {kind:?}"
            );
        }
        assert_eq!(refusal("pandemonium mode turbo"), ErrorKind::InvalidValue);
        assert_eq!(
            refusal("pandemonium monitor --json --full"),
            ErrorKind::ArgumentConflict
        );
        assert_eq!(
            refusal("pandemonium monitor --full --plain"),
            ErrorKind::ArgumentConflict
        );
        assert_eq!(refusal("pandemonium fly"), ErrorKind::InvalidSubcommand);
    }
}
