//! The rows of a report: which figure of which workload, and when it is won.

use super::{SERVICE, growth};

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
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// A row that nobody has to win.
const fn shown(words: &'static str, workload: &'static str, figure: &'static str) -> Row {
    row(words, workload, figure, Goal::Shown)
}

/// All rows. Two of one workload are two sides of the same run.
pub const ROWS: [Row; 70] = [
    shown("wake-up on an idle machine p99", "floor", "p99_us"),
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
    shown("idle selection p50", "selection", "p50_us"),
    shown("idle selection p99", "selection", "p99_us"),
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
    shown("contention, worst phase p99", "contention", "worst_p99_us"),
    shown("contention, heavy phase p99", "contention", "heavy_p99_us"),
    shown("bound sleepers p99", "pcpu", "p99_us"),
    shown("hogs leaving one CPU, p10 of mean", "pcpu", "p10_of_mean"),
    row(
        "makespan of a parallel build",
        "build",
        "makespan_ms",
        Goal::TimesEevdf(1.0),
    ),
    shown(
        "wake-up beside 10 tasks p50",
        "runnable",
        growth::RUNNABLE[0].1,
    ),
    shown(
        "wake-up beside 100 tasks p50",
        "runnable",
        growth::RUNNABLE[1].1,
    ),
    shown(
        "wake-up beside 1000 tasks p50",
        "runnable",
        growth::RUNNABLE[2].1,
    ),
    shown(
        "wake-up beside 3000 tasks p50",
        "runnable",
        growth::RUNNABLE[3].1,
    ),
    shown(
        "wake-up beside 10000 tasks p50",
        "runnable",
        growth::RUNNABLE[4].1,
    ),
    shown(
        "pipe round trip, no program seen p50",
        "names",
        growth::NAMES[0].1,
    ),
    shown(
        "pipe round trip, 64 programs seen p50",
        "names",
        growth::NAMES[1].1,
    ),
    shown(
        "pipe round trip, 256 programs seen p50",
        "names",
        growth::NAMES[2].1,
    ),
    shown(
        "pipe round trip, 512 programs seen p50",
        "names",
        growth::NAMES[3].1,
    ),
    shown("start of a thread p50", "started", "p50_us"),
    shown("six hogs a CPU, longest wait", "hogs", "wait_max_us"),
    shown("six hogs a CPU, p10 of mean", "hogs", "p10_of_mean"),
    shown(
        "hogs beside which others begin, longest wait",
        "beginhogs",
        "wait_max_us",
    ),
    shown(
        "hogs that begin beside others, longest wait",
        "beginhogs",
        "later_max_us",
    ),
    shown(
        "hogs beside which others begin, part of all CPUs",
        "beginhogs",
        "share",
    ),
    shown(
        "a program among threads it has started, longest wait",
        "beginthreads",
        "wait_max_us",
    ),
    shown(
        "a program among threads it has started, part of a CPU",
        "beginthreads",
        "share",
    ),
    shown(
        "sleepers of 2 ms that want too much, p99",
        "sleepers",
        "p99_us",
    ),
    shown(
        "sleepers of 2 ms, through with their work p50",
        "sleepers",
        "done_p50_us",
    ),
    shown(
        "sleepers of 2 ms, through with their work p99",
        "sleepers",
        "done_p99_us",
    ),
    shown(
        "a short wake-up among them, p99",
        "sleepers",
        "short_p99_us",
    ),
    shown("hogs beside them, longest wait", "sleepers", "wait_max_us"),
    shown("hogs beside them, part of all CPUs", "sleepers", "share"),
    shown(
        "sleepers of 7 ms, through with their work p50",
        "longsleepers",
        "done_p50_us",
    ),
    shown(
        "sleepers of 7 ms, through with their work p99",
        "longsleepers",
        "done_p99_us",
    ),
    shown(
        "hogs beside those of 7 ms, longest wait",
        "longsleepers",
        "wait_max_us",
    ),
    shown(
        "hogs beside those of 7 ms, part of all CPUs",
        "longsleepers",
        "share",
    ),
    shown(
        "threads that wake at once, the last one done p50",
        "together",
        "p50_us",
    ),
    shown(
        "threads that wake at once, the last one done max",
        "together",
        "max_us",
    ),
    shown("hogs beside those, part of all CPUs", "together", "share"),
    shown("workers of a server p50", "workers", "p50_us"),
    shown("workers of a server p99", "workers", "p99_us"),
    shown("hogs beside workers, part of all CPUs", "workers", "share"),
    shown("pairs, more than CPUs, round trip p50", "pairs", "p50_us"),
    shown("pairs, more than CPUs, round trip p99", "pairs", "p99_us"),
    shown("a barrier of yields p50", "barrier", "p50_us"),
    shown("a barrier of yields p99", "barrier", "p99_us"),
    shown(
        "hogs beside a barrier, part of all CPUs",
        "barrier",
        "share",
    ),
    shown(
        "programs of a chain, what they take longer p50",
        "chains",
        "p50_us",
    ),
    shown(
        "programs of a chain, what they take longer p99",
        "chains",
        "p99_us",
    ),
    shown("frames missed beside chains", "chains", "missed_pct"),
    shown("hogs beside chains, longest wait", "chains", "wait_max_us"),
    shown("hogs beside chains, part of all CPUs", "chains", "share"),
    shown("sleepers beside bound hogs p99", "bound", "p99_us"),
    shown("bound hogs, longest wait", "bound", "wait_max_us"),
    shown("bound hogs, part of their CPU", "bound", "share"),
    row("daemon, of one CPU", SERVICE, "cpu_pct", Goal::AtMost(0.2)),
    row("daemon, resident", SERVICE, "rss_mib", Goal::AtMost(12.0)),
    row("attach", SERVICE, "attach_ms", Goal::AtMost(300.0)),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn shares_are_better_when_greater_and_times_when_less() {
        let better = |figure: &str| {
            let row = ROWS.iter().find(|row| row.figure == figure).unwrap();
            row.is_less_better()
        };
        assert!(better("p99_us") && better("missed_pct") && better("rss_mib"));
        assert!(!better("share") && !better("p10_of_mean"));
    }
}
