//! The command line.

use std::ffi::CString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::idle::{self, Plan};
use crate::results::{REAL, VIRTUAL};
use crate::share::Group;
use crate::suite;

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
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
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
        /// Name of the process and its threads, as `ps` and the scheduler see it.
        #[arg(long, value_name = "NAME", value_parser = task_name)]
        name: Option<CString>,
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
    /// Threads that pass a turn around and wait for it with sched_yield(); reports how often it went on.
    Turns {
        /// Number of threads [default: two per CPU].
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
    /// Threads that compute a part of every period; reports how late they woke and what they got.
    Duty {
        /// Part of every period to compute, in percent of one CPU.
        #[arg(long, value_name = "P", default_value_t = 50,
              value_parser = clap::value_parser!(u64).range(1..=100))]
        percent: u64,
        /// Length of a period.
        #[arg(long, value_name = "MS", default_value_t = 10,
              value_parser = clap::value_parser!(u64).range(1..=10_000))]
        period_ms: u64,
        /// Number of threads [default: one per CPU].
        #[arg(long, value_name = "N", value_parser = thread_count())]
        threads: Option<usize>,
        /// Name of the process and its threads, as `ps` and the scheduler see it.
        #[arg(long, value_name = "NAME", value_parser = task_name)]
        name: Option<CString>,
    },
    /// Groups of hogs against each other; reports the CPU time each group received.
    Share {
        /// A group: its name, its number of threads, and the directory of the cgroup it runs in.
        #[arg(
            long = "group",
            value_name = "NAME:THREADS[:CGROUP_DIR]",
            required = true
        )]
        groups: Vec<Group>,
    },
    /// Round trips through blocked threads while some CPUs are busy; ends after its iterations,
    /// whatever --seconds says.
    Idle(IdleOptions),
    /// The whole set that schedulers are compared by, as Prometheus text; --seconds is for each workload.
    Suite(SuiteOptions),
    /// Tables, plots and the archive of what `suite` printed; other lines of the files are passed over.
    Report {
        /// Files with results.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// An existing directory for results.prom, report.txt, report.md and SVG plots.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Holds results against a stored baseline of ratios; fails and names what got worse.
    Gate {
        /// Makes the baseline from the results.
        #[arg(long)]
        renew: bool,
        /// The baseline.
        baseline: PathBuf,
        /// Files with results.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// Which workloads to run, and under what.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = suite::help())]
pub struct SuiteOptions {
    /// Workloads to run, separated by commas [default: all that are sound in virtual time].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub rows: Vec<String>,
    /// What to call the scheduler in the results.
    #[arg(long, value_name = "NAME", default_value = "eevdf", value_parser = label)]
    pub scheduler: String,
    /// Start this scheduler first, and end it afterwards; --scheduler says what to call it.
    #[arg(long, value_name = "COMMAND")]
    pub start: Option<String>,
    /// The kind of time: virtual if an instruction takes a nanosecond whatever the host does.
    #[arg(long, value_name = "KIND", default_value = REAL, value_parser = [VIRTUAL, REAL])]
    pub time: String,
    /// Rounds of the whole set; reports show medians.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// The number of the first round, where somebody else has rounds in between.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub round: u32,
    /// Keep a trace of scheduling, which is printed if the scheduler is ejected or hangs (root).
    #[arg(long)]
    pub trace: bool,
}

/// What the round trips go through. The short options are those of other benchmarks of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct IdleOptions {
    /// Number of round trips to measure.
    #[arg(short, long, value_name = "N", default_value_t = idle::ITERATIONS,
          value_parser = clap::value_parser!(u64).range(1..=idle::MAX_ITERATIONS))]
    iterations: u64,
    /// Number of threads that wait to be woken [default: one per CPU].
    #[arg(short, long, value_name = "N", value_parser = thread_count())]
    threads: Option<usize>,
    /// Number of threads that keep CPUs busy [default: one for every second CPU].
    #[arg(short, long, value_name = "N", value_parser = count_from(0))]
    background: Option<usize>,
    /// Number of round trips before the first one that counts.
    #[arg(short, long, value_name = "N", default_value_t = idle::WARMUP,
          value_parser = clap::value_parser!(u64).range(0..=idle::MAX_ITERATIONS))]
    warmup: u64,
    /// Decides which thread is woken when.
    #[arg(long, value_name = "N", default_value_t = idle::SEED)]
    seed: u64,
}

impl IdleOptions {
    /// The plan on a machine with this many CPUs.
    pub fn plan(&self, cpus: usize) -> Plan {
        Plan {
            iterations: self.iterations,
            threads: self.threads.unwrap_or(cpus),
            background: self.background.unwrap_or(cpus / 2),
            warmup: self.warmup,
            seed: self.seed,
        }
    }
}

/// A plain word, which needs no escaping in any format.
fn label(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if text.is_empty() || text.len() > 40 || !text.bytes().all(is_plain) {
        return Err("a name is 1 to 40 letters, digits, _, - or .".to_owned());
    }
    Ok(text.to_owned())
}

/// A name of a task: the kernel keeps 15 bytes.
fn task_name(text: &str) -> Result<CString, String> {
    if text.is_empty() || text.len() > 15 {
        return Err("a name has 1 to 15 bytes".to_owned());
    }
    CString::new(text).map_err(|_| "a name has no zero bytes".to_owned())
}

fn thread_count() -> clap::builder::RangedU64ValueParser<usize> {
    count_from(1)
}

fn count_from(least: u64) -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(least..=idle::MAX_THREADS as u64)
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
                pin: true,
                name: None
            }
        );
        assert_eq!(
            workload("duty"),
            Workload::Duty {
                percent: 50,
                period_ms: 10,
                threads: None,
                name: None
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
    fn idle_follows_the_number_of_cpus_unless_told_otherwise() {
        let plan = |line| match parse(line).unwrap().workload {
            Workload::Idle(options) => options.plan(8),
            other => panic!("{other:?}"),
        };
        let usual = plan("idle");
        assert_eq!((usual.iterations, usual.warmup), (100_000, 5_000));
        assert_eq!((usual.threads, usual.background), (8, 4));
        let told = plan("idle -i 10 -t 3 -b 0 -w 0 --seed 7");
        assert_eq!(
            told,
            Plan {
                iterations: 10,
                threads: 3,
                background: 0,
                warmup: 0,
                seed: 7
            }
        );
    }

    #[test]
    fn groups_and_names_are_taken_apart() {
        let Workload::Share { groups } = parse("share --group a:2 --group b:1:/x:y")
            .unwrap()
            .workload
        else {
            panic!("not a share");
        };
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0], "a:2".parse().unwrap());
        assert_eq!(groups[1].cgroup.as_deref(), Some("/x:y".as_ref()));
        let Workload::Hog { name, .. } = parse("hog --name kwin_wayland").unwrap().workload else {
            panic!("not a hog");
        };
        assert_eq!(name.as_deref(), Some(c"kwin_wayland"));
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
            "hog --name sixteen-letters-",
            "duty --percent 0",
            "duty --percent 101",
            "duty --period-ms 0",
            "share",
            "share --group a",
            "share --group a:0",
            "share --group a:2:",
            "share --group a/b:2",
            "idle -i 10000001",
            "idle -i 0",
            "idle -t 10001",
            "idle -b -1",
            "suite --scheduler a\"b",
            "suite --rounds 0",
            "report",
            "gate baseline",
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
