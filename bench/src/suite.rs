//! The whole set that a scheduler is measured with: every workload, and every row of the report with its goal.
//! This is the only place that lists them.

pub mod build;
mod desktop;
mod fairness;
pub mod growth;
mod latency;
mod load;
mod queues;

use crate::run::Run;
use crate::stats::{Samples, Summary};
use crate::sys;

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

/// The workload that stands for the service itself: its figures come from whoever started it.
pub const SERVICE: &str = "service";

/// When a row is won. Every goal is about ours, in each mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// At most this many times the median of the same workload under the kernel's scheduler, and below every
    /// other scheduler.
    MediansOfEevdf(f64),
    /// Below the kernel's scheduler and every other one.
    BelowAll,
    /// At most this many times what it is under the kernel's scheduler.
    TimesEevdf(f64),
    /// At most this, in the unit of the row.
    AtMost(f64),
    /// At least this, in the unit of the row.
    AtLeast(f64),
    /// Shown only.
    Shown,
}

impl Goal {
    /// The rule, for people.
    pub fn words(&self) -> String {
        match self {
            Goal::MediansOfEevdf(times) => {
                format!("<= {times} x the median of eevdf, below every peer")
            }
            Goal::BelowAll => "below eevdf and every peer".to_owned(),
            Goal::TimesEevdf(times) => format!("<= {times} x eevdf"),
            Goal::AtMost(most) => format!("<= {most}"),
            Goal::AtLeast(least) => format!(">= {least}"),
            Goal::Shown => String::new(),
        }
    }
}

/// A row of the report.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it is, for people.
    pub words: &'static str,
    /// The workload it is read off.
    pub workload: &'static str,
    /// The figure of that workload; its end is the unit.
    pub figure: &'static str,
    /// When it is won.
    pub goal: Goal,
}

impl Row {
    /// Whether less is better.
    pub fn is_less_better(&self) -> bool {
        !matches!(self.goal, Goal::AtLeast(_)) && self.unit() != ""
    }

    /// The unit of the figure, as people write it; nothing for a ratio.
    pub fn unit(&self) -> &'static str {
        match self.figure.rsplit_once('_').map(|(_, unit)| unit) {
            Some("us") => "us",
            Some("ms") => "ms",
            Some("pct") => "%",
            Some("mib") => "MiB",
            _ => "",
        }
    }
}

const fn row(words: &'static str, workload: &'static str, figure: &'static str, goal: Goal) -> Row {
    Row {
        words,
        workload,
        figure,
        goal,
    }
}

/// All rows. Two of one workload are two sides of the same run.
pub const ROWS: [Row; 24] = [
    row(
        "wake-up on an idle machine p99",
        "floor",
        "p99_us",
        Goal::Shown,
    ),
    row("wake-up p99", "wakeup", "p99_us", Goal::MediansOfEevdf(2.0)),
    row("burst p99", "burst", "p99_us", Goal::MediansOfEevdf(4.0)),
    row(
        "longrun p99",
        "longrun",
        "p99_us",
        Goal::MediansOfEevdf(2.0),
    ),
    row("mixed p99", "mixed", "p99_us", Goal::MediansOfEevdf(2.0)),
    row(
        "60 Hz frames missed",
        "deadline",
        "missed_pct",
        Goal::AtMost(0.0),
    ),
    row(
        "IPC round trip under load p99",
        "ipc",
        "p99_us",
        Goal::MediansOfEevdf(2.0),
    ),
    row(
        "event round trip under load p99",
        "events",
        "p99_us",
        Goal::MediansOfEevdf(2.0),
    ),
    row("launch p99", "launch", "p99_us", Goal::BelowAll),
    row(
        "pipe round trip, idle machine p50",
        "pipe",
        "p50_us",
        Goal::TimesEevdf(1.1),
    ),
    row(
        "event round trip, idle machine p50",
        "eventsidle",
        "p50_us",
        Goal::TimesEevdf(1.1),
    ),
    row("idle selection p50", "selection", "p50_us", Goal::Shown),
    row("idle selection p99", "selection", "p99_us", Goal::Shown),
    row(
        "longest wait among 4N sleepers",
        "starvation",
        "max_us",
        Goal::AtMost(8_000.0),
    ),
    row(
        "share among 4N sleepers, of fair",
        "starvation",
        "share",
        Goal::AtLeast(0.9),
    ),
    row(
        "equal hogs, p10 of mean",
        "fairness",
        "p10_of_mean",
        Goal::AtLeast(0.99),
    ),
    row(
        "contention, worst phase p99",
        "contention",
        "worst_p99_us",
        Goal::Shown,
    ),
    row(
        "contention, heavy phase p99",
        "contention",
        "heavy_p99_us",
        Goal::Shown,
    ),
    row("bound sleepers p99", "pcpu", "p99_us", Goal::Shown),
    row(
        "hogs leaving one CPU, p10 of mean",
        "pcpu",
        "p10_of_mean",
        Goal::Shown,
    ),
    row(
        "makespan of a parallel build",
        "build",
        "makespan_ms",
        Goal::TimesEevdf(1.0),
    ),
    row("daemon, of one CPU", SERVICE, "cpu_pct", Goal::AtMost(0.2)),
    row("daemon, resident", SERVICE, "rss_mib", Goal::AtMost(12.0)),
    row("attach", SERVICE, "attach_ms", Goal::AtMost(300.0)),
];

/// Every workload, those of the whole set first.
pub fn all() -> impl Iterator<Item = &'static Workload> {
    WORKLOADS
        .iter()
        .chain(&PARALLEL_WORKLOADS)
        .chain(&GROWTH_WORKLOADS)
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
    fn rows_that_need_a_median_have_one() {
        for row in ROWS {
            if matches!(row.goal, Goal::MediansOfEevdf(_)) {
                assert!(row.figure == "p99_us", "{}", row.words);
            }
        }
    }

    #[test]
    fn shares_are_better_when_greater_and_times_when_less() {
        let better = |figure: &str| {
            let row = ROWS.iter().find(|row| row.figure == figure).unwrap();
            row.is_less_better()
        };
        assert!(better("p99_us") && better("missed_pct") && better("rss_mib"));
        assert!(!better("share") && !better("p10_of_mean"));
    }

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
