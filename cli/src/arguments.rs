//! The command line. Completions and manual pages are generated from this definition.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use pandemonium_bench::IdleOptions;

use crate::error::exit;
use crate::examples;

/// Every exit status and what it means.
pub const EXIT_STATUS: [(u8, &str); 7] = [
    (exit::OK, "done"),
    (
        exit::FAILURE,
        "it failed; for check: the scheduler cannot run here; for bench compare: something got worse",
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
    /// List the names of compositors, add one or remove one
    ///
    /// Programs with these names draw the desktop, so they are latency-critical as long as they use no
    /// more than half a CPU, provided that their executable is the system's own. A name is the kernel's, as `ps -o comm` shows it, of which the first 15 bytes count; a * at its end
    /// stands for any further bytes. A change takes effect at once and lasts until the daemon ends.
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
    /// auto: one of these three, as the power profile of the machine says
    ///
    /// a mask in hex, such as 0xff: bit N stands for CPU N
    ///
    /// Where all CPUs are of one kind, performance and powersave are every CPU. A choice takes effect at
    /// once and lasts until the daemon ends.
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
    /// Print whether the scheduler chooses idle CPUs itself, or switch that
    ///
    /// The idle selector keeps the idle CPUs of each last-level cache in a mask, so that finding one for
    /// a task that wakes takes the same short time on any machine. Switched off, the kernel looks for
    /// one. A choice takes effect at once and lasts until the daemon ends.
    #[command(after_long_help = examples::help("pandemonium-idle-selector"))]
    IdleSelector {
        /// Switch it on or off
        #[arg(value_name = "STATE",
              value_parser = PossibleValuesParser::new(["on", "off"]).map(|word| word == "on"))]
        wanted: Option<bool>,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
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
    /// Measure this scheduler against the kernel's own, on this machine
    ///
    /// The whole set of workloads runs in mode off, which is the kernel's scheduler, and then in each mode of
    /// this one; the mode is put back at the end, also after Ctrl-C. Leave the machine alone meanwhile: what
    /// else it does is measured too. Progress goes to standard error, and a table follows, with lost rows first.
    /// With six rounds or more the ratio to the kernel's scheduler has an interval that holds the true one
    /// with 95 % probability.
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

/// What can be done with the names of compositors.
#[derive(Debug, Subcommand)]
pub enum CompositorAction {
    /// List the names
    List {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Treat programs of this name as compositors
    Add {
        /// The name; a * at its end stands for any further bytes
        name: String,
    },
    /// Take a name back, a built-in one too
    Remove {
        /// The name as it is listed
        name: String,
    },
}

/// What can be done with the primary domain.
#[derive(Debug, Subcommand)]
pub enum DomainAction {
    /// Show the domain and its CPUs
    Show {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Choose another domain, and show it
    Set {
        /// all, performance, powersave, auto, or a CPU mask in hex
        #[arg(value_parser = Suggested(&["all", "performance", "powersave", "auto"]),
              hide_possible_values = true)]
        domain: String,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Compare wake-ups with the idle selector on and off, while half of the CPUs are busy
    ///
    /// Threads sleep until one of them is woken, answers, and sleeps again; what is measured is the round
    /// trip. The idle selector is switched on and off in turn for rounds of this, which needs the daemon
    /// and the right to configure it, and put back at the end, also after Ctrl-C. As root, the run time
    /// of the program that selects a CPU is shown too.
    #[command(after_long_help = examples::help("pandemonium-bench-idle"))]
    Idle(IdleArguments),
    /// Say what got better and what got worse from one archive to another
    ///
    /// Only what both have is compared, scheduler by scheduler. The exit status is 1 if anything got worse.
    #[command(after_long_help = examples::help("pandemonium-bench-compare"))]
    Compare(CompareArguments),
}

/// How to measure the whole set.
#[derive(Debug, Args)]
pub struct SetArguments {
    /// Workloads to run, separated by commas [default: all]
    ///
    /// floor, wakeup, longrun, burst, mixed, deadline, ipc, launch, pipe, selection, starvation, fairness,
    /// contention, pcpu, and build, whose makespan is the throughput
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub rows: Vec<String>,
    /// Modes to measure besides off, separated by commas
    #[arg(long, value_name = "MODES", value_delimiter = ',', default_value = "adaptive,bpf",
          value_parser = ["adaptive", "bpf"])]
    pub modes: Vec<String>,
    /// How long each workload measures
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Rounds of all modes in turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Write all values to FILE, as Prometheus text, which `bench compare` reads
    #[arg(long, value_name = "FILE")]
    pub prom: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// What to compare.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The older archive: a .prom file, or a directory with results.prom
    pub before: PathBuf,
    /// The newer one
    pub after: PathBuf,
    /// Changes by less than this many percent are none
    #[arg(long, value_name = "PERCENT", default_value_t = pandemonium_bench::compare::THRESHOLD_PCT,
          value_parser = percent)]
    pub threshold: f64,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok();
    percent
        .filter(|percent| (0.0..=1000.0).contains(percent))
        .ok_or_else(|| "a threshold is 0 to 1000 percent".to_owned())
}

/// How to measure what the idle selector is worth.
#[derive(Debug, Args)]
pub struct IdleArguments {
    /// The round trips.
    #[command(flatten)]
    pub options: IdleOptions,
    /// Rounds, half of them with the idle selector on: an even number, 2 to 100
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = even_rounds)]
    pub rounds: u32,
    /// Measure one round under whatever scheduler runs, without the daemon
    #[arg(long, conflicts_with = "rounds")]
    pub no_compare: bool,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

fn even_rounds(text: &str) -> Result<u32, String> {
    let rounds = text.parse().ok();
    rounds
        .filter(|rounds| (2..=100).contains(rounds) && rounds % 2 == 0)
        .ok_or_else(|| "rounds are measured in pairs: an even number, 2 to 100".to_owned())
}

/// Any text. Completions offer these words; the daemon decides what it understands.
#[derive(Clone)]
struct Suggested(&'static [&'static str]);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
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
    fn a_command_without_an_action_shows_what_is() {
        let parse = |line: &str| Arguments::try_parse_from(line.split(' ')).map(|a| a.command);
        assert!(matches!(
            parse("pandemonium compositor --json"),
            Ok(Command::Compositor {
                json: true,
                action: None
            })
        ));
        assert!(matches!(
            parse("pandemonium domain"),
            Ok(Command::Domain {
                json: false,
                action: None
            })
        ));
        assert!(matches!(
            parse("pandemonium idle-selector"),
            Ok(Command::IdleSelector { wanted: None, .. })
        ));
        assert!(matches!(
            parse("pandemonium idle-selector off --json"),
            Ok(Command::IdleSelector {
                wanted: Some(false),
                json: true
            })
        ));
        // The daemon decides what a domain is: a newer one may know more.
        assert!(matches!(
            parse("pandemonium domain set turbo"),
            Ok(Command::Domain {
                action: Some(DomainAction::Set { domain, .. }),
                ..
            }) if domain == "turbo"
        ));
    }

    #[test]
    fn a_benchmark_has_the_usual_options() {
        let idle = |line: &str| match Arguments::try_parse_from(line.split(' ')) {
            Ok(Arguments {
                command:
                    Command::Bench {
                        what: Some(Benchmark::Idle(idle)),
                        ..
                    },
            }) => idle,
            other => panic!("{line}: {other:?}"),
        };
        let usual = idle("pandemonium bench idle");
        assert_eq!(
            (usual.rounds, usual.no_compare, usual.json),
            (6, false, false)
        );
        let plan = usual.options.plan(16);
        assert_eq!((plan.iterations, plan.warmup), (100_000, 5_000));
        assert_eq!((plan.threads, plan.background), (16, 8));
        let told = idle("pandemonium bench idle -i 10 -t 2 -b 0 -w 1 --seed 9 --no-compare --json");
        let plan = told.options.plan(16);
        assert_eq!((plan.iterations, plan.warmup, plan.seed), (10, 1, 9));
        assert_eq!((plan.threads, plan.background), (2, 0));
        assert!(told.no_compare && told.json);
    }

    #[test]
    fn out_of_range_and_contradicting_arguments_are_refused() {
        for line in [
            "pandemonium probe --interval-us 99",
            "pandemonium probe --seconds 0",
            "pandemonium monitor --count 0",
            "pandemonium profiles --limit -1",
            "pandemonium bench idle -i 0",
            "pandemonium bench idle -i 10000001",
            "pandemonium bench idle -t 10001",
            "pandemonium bench idle -t 0",
            "pandemonium bench idle --rounds 5",
            "pandemonium bench idle --rounds 0",
            "pandemonium bench idle --rounds 102",
            "pandemonium bench --seconds 0",
            "pandemonium bench --rounds 0",
            "pandemonium bench compare a b --threshold -1",
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
        assert_eq!(
            refusal("pandemonium bench idle --no-compare --rounds 4"),
            ErrorKind::ArgumentConflict
        );
        assert_eq!(
            refusal("pandemonium idle-selector maybe"),
            ErrorKind::InvalidValue
        );
        assert_eq!(
            refusal("pandemonium compositor add"),
            ErrorKind::MissingRequiredArgument
        );
        assert_eq!(refusal("pandemonium fly"), ErrorKind::InvalidSubcommand);
    }
}
