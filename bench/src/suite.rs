//! The whole set that a scheduler is measured with. Every workload is listed here, every row of the report with its goal in
//! [`rows`], and nowhere else.

pub mod build;
mod crowds;
mod desktop;
mod fairness;
pub mod growth;
mod latency;
mod load;
mod queues;
pub mod rivals;
mod rows;

use crate::run::Run;
use crate::stats::{Samples, Summary};
use crate::sys;
pub use rows::{Goal, ROWS, Row};

/// How long a load goes on before anything is measured beside it.
const SETTLE_NS: u64 = 500_000_000;

/// What a workload measured: names, which end in their unit, and values.
pub type Figures = Vec<(&'static str, f64)>;

/// Where and for how long to measure.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The CPUs there are.
    pub cpus: Vec<usize>,
    /// How long to measure, ns.
    pub length_ns: u64,
}

impl Scene {
    fn run_at_once(&self) -> Run {
        self.run_in(0)
    }

    fn run_in(&self, delay_ns: u64) -> Run {
        Run::starting_in(delay_ns, self.length_ns)
    }
}

/// A workload of the set.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name, one word.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether its result means something in virtual time, where an idle CPU makes the others faster.
    pub is_sound_in_virtual_time: bool,
    /// How many times as long as the others it runs.
    pub weight: u64,
    measure: fn(&Scene) -> Result<Figures, String>,
}

impl Workload {
    /// Runs it on the CPUs of this process.
    pub fn measure(&self, seconds: u64) -> Result<Figures, String> {
        (self.measure)(&Scene {
            cpus: sys::allowed_cpus(),
            length_ns: seconds.saturating_mul(self.weight * 1_000_000_000),
        })
    }
}

const fn workload(
    name: &'static str,
    about: &'static str,
    measure: fn(&Scene) -> Result<Figures, String>,
) -> Workload {
    Workload {
        name,
        about,
        is_sound_in_virtual_time: true,
        weight: 1,
        measure,
    }
}

/// All workloads, in the order in which they run.
pub const WORKLOADS: [Workload; 16] = [
    workload(
        "floor",
        "timer wake-ups on an otherwise idle machine",
        latency::floor,
    ),
    workload(
        "wakeup",
        "timer wake-ups beside two spinners per CPU",
        latency::wakeup,
    ),
    workload(
        "longrun",
        "the same, after the spinners have run for three seconds",
        latency::longrun,
    ),
    workload(
        "burst",
        "the same, while programs are started many at a time",
        latency::burst,
    ),
    workload(
        "mixed",
        "four interactive threads beside spinners, compilers and storms",
        latency::mixed,
    ),
    workload(
        "deadline",
        "60 Hz frames beside two spinners per CPU",
        desktop::deadline,
    ),
    workload(
        "ipc",
        "pipe round trips beside two spinners per CPU",
        desktop::ipc,
    ),
    workload(
        "events",
        "event file round trips beside two spinners per CPU",
        desktop::events,
    ),
    workload(
        "launch",
        "programs started beside two spinners per CPU",
        desktop::launch,
    ),
    workload(
        "pipe",
        "pipe round trips on an idle machine",
        desktop::pipe_idle,
    ),
    workload(
        "eventsidle",
        "event file round trips on an idle machine",
        desktop::events_idle,
    ),
    workload(
        "selection",
        "wake-ups of blocked threads while half of the CPUs are busy",
        desktop::selection,
    ),
    workload(
        "starvation",
        "one compute task among four demanding sleepers per CPU",
        fairness::starvation,
    ),
    Workload {
        weight: 2,
        ..workload(
            "fairness",
            "four equal spinners per CPU",
            fairness::fairness,
        )
    },
    workload(
        "contention",
        "six loads in turn: none, half, files, heavy, heavy with storms, none",
        latency::contention,
    ),
    workload(
        "pcpu",
        "a bound sleeper on every CPU, and spinners that were all started on one CPU",
        queues::pcpu,
    ),
];

/// Judged where CPUs truly run side by side, never in virtual time.
pub const PARALLEL_WORKLOADS: [Workload; 1] = [Workload {
    is_sound_in_virtual_time: false,
    ..workload(
        "build",
        "a parallel build, one job more than CPUs",
        build::build,
    )
}];

/// How cost grows: long, and chosen by name only.
pub const GROWTH_WORKLOADS: [Workload; 3] = [
    workload(
        "runnable",
        "timer wake-ups beside 10 to 10,000 tasks that compute",
        growth::runnable,
    ),
    workload(
        "names",
        "pipe round trips after 0 to 512 programs were seen",
        growth::names,
    ),
    workload(
        "started",
        "threads started one after the other on an idle machine",
        growth::started,
    ),
];

/// What crowds do to each other: chosen by name only.
pub const CROWD_WORKLOADS: [Workload; 11] = [
    workload(
        "hogs",
        "six spinners per CPU, and nothing else",
        crowds::hogs,
    ),
    workload(
        "beginhogs",
        "two spinners per CPU, beside which two more begin",
        crowds::begin_hogs,
    ),
    workload(
        "beginthreads",
        "a thread that computes on after it has started four per CPU",
        crowds::begin_threads,
    ),
    workload(
        "sleepers",
        "four sleepers of 2 ms per CPU beside a spinner per CPU",
        crowds::sleepers,
    ),
    workload(
        "longsleepers",
        "eight sleepers of 7 ms per CPU beside a spinner per CPU",
        crowds::long_sleepers,
    ),
    workload(
        "together",
        "eight threads per CPU that wake at once beside a spinner per CPU",
        crowds::together,
    ),
    workload(
        "workers",
        "a messenger and two workers per CPU beside a spinner per CPU",
        crowds::workers,
    ),
    workload(
        "pairs",
        "two pairs of threads per CPU that answer each other, and nothing else",
        crowds::pairs,
    ),
    workload(
        "barrier",
        "a thread per CPU that waits by yielding, beside a spinner per CPU",
        crowds::barrier,
    ),
    workload(
        "chains",
        "two spinners and a chain of programs per CPU, and frames",
        crowds::chains,
    ),
    workload(
        "bound",
        "two spinners bound to one CPU among four sleepers per CPU",
        crowds::bound,
    ),
];

/// The workload that stands for the service itself: its figures come from whoever started it.
pub const SERVICE: &str = "service";

/// Every workload, those of the whole set first.
pub fn all() -> impl Iterator<Item = &'static Workload> {
    WORKLOADS
        .iter()
        .chain(&PARALLEL_WORKLOADS)
        .chain(&GROWTH_WORKLOADS)
        .chain(&CROWD_WORKLOADS)
}

/// A line for each workload, for the help.
pub(crate) fn help() -> String {
    let lines = all().map(|workload| format!("  {:12}  {}\n", workload.name, workload.about));
    "Workloads:\n".to_owned() + &lines.collect::<String>()
}

/// Those of these names, in the order of the set; the whole virtual-time set without names.
pub fn choose(names: &[String]) -> Result<Vec<Workload>, String> {
    if names.is_empty() {
        return Ok(WORKLOADS.to_vec());
    }
    if let Some(unknown) = names
        .iter()
        .find(|name| !all().any(|workload| workload.name == *name))
    {
        let known: Vec<_> = all().map(|workload| workload.name).collect();
        return Err(format!(
            "there is no workload {unknown:?}; there are {}",
            known.join(", ")
        ));
    }
    let is_chosen = |workload: &&Workload| names.iter().any(|name| workload.name == name);
    Ok(all().filter(is_chosen).copied().collect())
}

/// The figures of what was measured in this run.
fn figures_in(run: Run, samples: Samples) -> Figures {
    figures_of(or_whole_run(run, samples).summary())
}

/// What was measured, or the length of the run: what did not happen even once took at least as long. Without a value
/// everything would be 0, which wins.
fn or_whole_run(run: Run, mut samples: Samples) -> Samples {
    if samples.is_empty() {
        samples.push(run.end_ns.saturating_sub(run.start_ns));
    }
    samples
}

/// A workload that does nothing but give this.
#[cfg(test)]
pub(crate) fn pretended(measure: fn(&Scene) -> Result<Figures, String>) -> Workload {
    Workload {
        name: "pretended",
        about: "",
        is_sound_in_virtual_time: true,
        weight: 1,
        measure,
    }
}

fn figures_of(s: Summary) -> Figures {
    let us = |ns: u64| ns as f64 / 1000.0;
    vec![
        ("count", s.count as f64),
        ("p50_us", us(s.p50)),
        ("p99_us", us(s.p99)),
        ("max_us", us(s.max)),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn workloads_are_chosen_by_name_and_kept_in_order() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            choose(&names).map(|chosen| chosen.iter().map(|w| w.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["burst", "wakeup"]).unwrap(), ["wakeup", "burst"]);
        assert_eq!(names(&["build"]).unwrap(), ["build"]);
        assert_eq!(names(&[]).unwrap().len(), WORKLOADS.len());
        assert!(!names(&[]).unwrap().contains(&"build"));
        assert!(names(&["nothing"]).unwrap_err().contains("wakeup"));
    }
}
