//! The command line.

use clap::{Parser, Subcommand};

/// Run one workload for a while and report what it felt like.
///
/// Latencies are the time from when a thread should have run to when it did, on the monotonic clock;
/// percentiles are over all single values. Ctrl-C ends a run early and still reports.
#[derive(Debug, Parser)]
#[command(
    name = "pandemonium-workload",
    version,
    after_help = "Examples:\n  \
        pandemonium-workload mixed --seconds 30     a desktop under load, with figures every second\n  \
        pandemonium-workload starve --threads 64    fails if any runnable thread waits over a second\n  \
        pandemonium-workload probe --json           wake-up latency, for a script"
)]
pub struct Args {
    /// How long to run.
    #[arg(long, global = true, default_value_t = 10, value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,

    /// Print the result as one line of JSON.
    #[arg(long, global = true)]
    pub json: bool,

    /// What to run.
    #[command(subcommand)]
    pub workload: Workload,
}

/// The workloads. Thread counts default to a multiple of the CPUs this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Workload {
    /// Everything at once: compile-like hogs, fork storms, a 60 Hz frame loop and a latency probe.
    Mixed,
    /// Threads that never stop computing; reports the longest time one was off the CPU.
    Hog {
        /// Number of threads [default: one per CPU].
        #[arg(long, value_name = "N", value_parser = thread_count())]
        threads: Option<usize>,
        /// Nice value of the threads, -20 to 19.
        #[arg(long, value_name = "NICE", default_value_t = 0, allow_negative_numbers = true,
              value_parser = clap::value_parser!(i32).range(-20..=19))]
        nice: i32,
        /// Bind each thread to one CPU, in turn.
        #[arg(long)]
        pin: bool,
    },
    /// A thread that wakes by timer and works shortly; reports its wake-up latency.
    Probe {
        /// Time between two wake-ups.
        #[arg(long, value_name = "US", default_value_t = 5_000,
              value_parser = clap::value_parser!(u64).range(50..=10_000_000))]
        interval_us: u64,
    },
    /// A 60 Hz loop with 4 ms of work a frame; reports missed frames.
    Frames,
    /// Starts short programs at a steady rate; reports how long each took to get going.
    Forks {
        /// Programs per second.
        #[arg(long, value_name = "N", default_value_t = 50,
              value_parser = clap::value_parser!(u64).range(1..=10_000))]
        rate: u64,
    },
    /// Ping-pong between two processes; reports the round trip.
    Pipe,
    /// Threads that work shortly and sleep shortly; reports their wake-up latency.
    Sleepers {
        /// Number of threads [default: four per CPU].
        #[arg(long, value_name = "N", value_parser = thread_count())]
        threads: Option<usize>,
    },
    /// Hogs that change their own affinity at random every few milliseconds.
    AffinityChurn {
        /// Number of threads [default: two per CPU].
        #[arg(long, value_name = "N", value_parser = thread_count())]
        threads: Option<usize>,
    },
    /// Hogs at nice -20, 0 and 19 (needs root); reports the longest gap each kind saw.
    NiceMix {
        /// Number of threads of each kind [default: one per CPU].
        #[arg(long, value_name = "N", value_parser = thread_count())]
        threads: Option<usize>,
    },
    /// Too many hogs: plain, pinned, niced and sleeping ones; fails if one waits too long.
    Starve {
        /// Number of threads [default: eight per CPU].
        #[arg(long, value_name = "N", value_parser = thread_count())]
        threads: Option<usize>,
        /// Longest time a runnable thread may be off the CPU.
        #[arg(long, value_name = "MS", default_value_t = 1_000,
              value_parser = clap::value_parser!(u64).range(1..))]
        limit_ms: u64,
    },
}

fn thread_count() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=10_000)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once("pandemonium-workload").chain(line.split(' ')))
    }

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn options_common_to_all_may_stand_anywhere() {
        for line in ["--seconds 3 --json mixed", "mixed --seconds 3 --json"] {
            let args = parse(line).unwrap();
            assert_eq!(
                (args.seconds, args.json, args.workload),
                (3, true, Workload::Mixed)
            );
        }
        assert_eq!(parse("pipe").unwrap().seconds, 10);
    }

    #[test]
    fn workloads_have_their_defaults() {
        let workload = |line| parse(line).unwrap().workload;
        assert_eq!(workload("probe"), Workload::Probe { interval_us: 5_000 });
        assert_eq!(workload("forks"), Workload::Forks { rate: 50 });
        assert_eq!(
            workload("starve"),
            Workload::Starve {
                threads: None,
                limit_ms: 1_000
            }
        );
        assert_eq!(
            workload("hog --threads 3 --nice -5 --pin"),
            Workload::Hog {
                threads: Some(3),
                nice: -5,
                pin: true
            }
        );
        assert_eq!(
            workload("affinity-churn"),
            Workload::AffinityChurn { threads: None }
        );
        assert_eq!(
            workload("nice-mix --threads 2"),
            Workload::NiceMix { threads: Some(2) }
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "nothing",
            "mixed --seconds 0",
            "hog --threads 0",
            "hog --nice 20",
            "probe --interval-us 1",
            "forks --rate 0",
            "starve --limit-ms 0",
            "starve --threads many",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn every_workload_and_option_has_help() {
        for command in Args::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            assert!(command.get_arguments().all(|arg| arg.get_help().is_some()));
        }
    }
}
