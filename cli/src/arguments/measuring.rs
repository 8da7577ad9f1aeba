//! What can be measured and compared.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use pandemonium_bench::IdleOptions;

use crate::examples;

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
    /// What both have is compared, scheduler by scheduler; what only the older one has is named, and what only
    /// the newer one has is counted. The exit status is 1 if anything got worse in a mode of ours, or is in the older one
    /// only; what the kernel's own scheduler and others have is shown and decides nothing.
    #[command(after_long_help = examples::help("pandemonium-bench-compare"))]
    Compare(CompareArguments),
}

/// How to measure the whole set.
#[derive(Debug, Args)]
pub struct SetArguments {
    /// Workloads to run, separated by commas [default: all]
    ///
    /// floor, wakeup, longrun, burst, mixed, deadline, ipc, events, launch, pipe, eventsidle, selection,
    /// starvation, fairness, contention, pcpu, and build, whose makespan is the throughput
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

impl SetArguments {
    /// Each mode once, in the order of the first time: one that is measured twice in a round has two values of
    /// one name.
    pub fn with_each_mode_once(mut self) -> SetArguments {
        let mut seen = BTreeSet::new();
        self.modes.retain(|mode| seen.insert(mode.clone()));
        self
    }
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
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
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
