//! `pandemonium probe`: how late does a thread wake that asked the timer to wake it? Works under
//! any scheduler and needs no daemon.

use std::io::Write;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, Timespec};
use serde::Serialize;

use crate::error::Error;
use crate::text::{grouped, pad, print_json};

/// Latencies are counted to the microsecond up to here; later ones only as "at least this".
const MAX_US: usize = 1_000_000;
/// Width of the longest bar of the histogram.
const BAR_COLUMNS: u64 = 40;

/// How to probe.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How long to measure.
    pub seconds: u32,
    /// Time between two wake-ups, in microseconds.
    pub interval_us: u32,
}

/// Wake-up latencies, counted per microsecond: every percentile is exact.
struct Latencies {
    counts: Vec<u32>,
    total: u64,
    max_us: u64,
    overruns: u64,
}

/// What the probe found; the JSON form of the answer.
#[derive(Serialize)]
struct Report {
    scheduler: String,
    interval_us: u32,
    wakeups: u64,
    overruns: u64,
    p50_us: u64,
    p99_us: u64,
    max_us: u64,
    histogram: Vec<Bucket>,
}

/// Wake-ups later than the previous bucket's bound and at most `up_to_us` late.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Bucket {
    up_to_us: u64,
    count: u64,
}

/// Measures, then prints. Ctrl-C ends the measurement early and still prints.
pub fn run(plan: Plan, json: bool, out: &mut dyn Write) -> Result<(), Error> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&stop))
        .map_err(|error| Error::Failed(format!("the interrupt key cannot be watched: {error}")))?;

    let latencies = measure(plan, &stop);
    if latencies.total == 0 {
        return Err(Error::Failed(
            "the probe was stopped before its first wake-up".to_owned(),
        ));
    }
    let report = latencies.report(plan, scheduler_name(Path::new("/")));
    if json {
        print_json(&report, out)?;
    } else {
        report.print(out)?;
    }
    Ok(out.flush()?)
}

fn measure(plan: Plan, stop: &AtomicBool) -> Latencies {
    // The kernel may delay an ordinary thread's timer by 50 us to save power. That is not the
    // scheduler's doing, so ask for none; where this is refused the floor is only a little higher.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));

    let mut latencies = Latencies::new();
    let interval = Duration::from_micros(plan.interval_us.into());
    let start = now();
    let end = start + Duration::from_secs(plan.seconds.into());
    let mut due = start + interval;
    while due <= end && !stop.load(Ordering::Relaxed) {
        if sleep_until(due).is_err() {
            continue;
        }
        let late = now().saturating_sub(due);
        latencies.record(late);
        due += interval;
        // Wake-ups that were due while we waited cannot be measured; counting them keeps a long
        // wait from looking like a rare one.
        while due < now() {
            latencies.overruns += 1;
            due += interval;
        }
    }
    latencies
}

fn now() -> Duration {
    let at = rustix::time::clock_gettime(ClockId::Monotonic);
    Duration::new(at.tv_sec.unsigned_abs(), at.tv_nsec.unsigned_abs() as u32)
}

fn sleep_until(due: Duration) -> Result<(), rustix::io::Errno> {
    let request = Timespec {
        tv_sec: due.as_secs().cast_signed(),
        tv_nsec: due.subsec_nanos().into(),
    };
    rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &request)
}

/// The scheduler in charge, in the kernel's words.
pub fn scheduler_name(root: &Path) -> String {
    std::fs::read_to_string(root.join("sys/kernel/sched_ext/root/ops"))
        .map(|ops| ops.trim().to_owned())
        .ok()
        .filter(|ops| !ops.is_empty())
        .unwrap_or_else(|| "kernel default".to_owned())
}

impl Latencies {
    fn new() -> Latencies {
        Latencies {
            counts: vec![0; MAX_US + 1],
            total: 0,
            max_us: 0,
            overruns: 0,
        }
    }

    fn record(&mut self, late: Duration) {
        let us = late.as_micros() as u64;
        let slot = &mut self.counts[(us as usize).min(MAX_US)];
        *slot = slot.saturating_add(1);
        self.total += 1;
        self.max_us = self.max_us.max(us);
    }

    /// The smallest latency that at least `permille` of the wake-ups did not exceed.
    fn percentile_us(&self, permille: u64) -> u64 {
        let rank = (self.total * permille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (us, &count) in self.counts.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank {
                return us as u64;
            }
        }
        self.max_us
    }

    /// Powers of two from 1 us to the longest latency.
    fn histogram(&self) -> Vec<Bucket> {
        let mut buckets = Vec::new();
        let mut from = 0;
        let mut up_to = 1;
        while from <= self.max_us.min(MAX_US as u64) {
            let end = (up_to as usize).min(MAX_US);
            let count = self.counts[from as usize..=end]
                .iter()
                .map(|&c| u64::from(c))
                .sum();
            buckets.push(Bucket {
                up_to_us: up_to,
                count,
            });
            from = up_to + 1;
            up_to *= 2;
        }
        buckets
    }

    fn report(&self, plan: Plan, scheduler: String) -> Report {
        Report {
            scheduler,
            interval_us: plan.interval_us,
            wakeups: self.total,
            overruns: self.overruns,
            p50_us: self.percentile_us(500),
            p99_us: self.percentile_us(990),
            max_us: self.max_us,
            histogram: self.histogram(),
        }
    }
}

impl Report {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut row = |name: &str, value: String| writeln!(out, "{}{value}", pad(name, 12));
        row("scheduler", self.scheduler.clone())?;
        row(
            "interval",
            format!("{} us", grouped(self.interval_us.into())),
        )?;
        row("wake-ups", grouped(self.wakeups))?;
        row("overruns", grouped(self.overruns))?;
        row("p50", format!("{} us", grouped(self.p50_us)))?;
        row("p99", format!("{} us", grouped(self.p99_us)))?;
        row("max", format!("{} us", grouped(self.max_us)))?;
        writeln!(out)?;

        let most = self
            .histogram
            .iter()
            .map(|b| b.count)
            .max()
            .unwrap_or(0)
            .max(1);
        for bucket in self.histogram.iter().skip_while(|bucket| bucket.count == 0) {
            let columns = (bucket.count * BAR_COLUMNS).div_ceil(most) as usize;
            let bar = "#".repeat(columns);
            let bound = grouped(bucket.up_to_us);
            let count = grouped(bucket.count);
            writeln!(
                out,
                "{}",
                format!("<= {bound:>9} us {count:>9} {bar}").trim_end()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(us: &[u64]) -> Latencies {
        let mut all = Latencies::new();
        for &us in us {
            all.record(Duration::from_micros(us));
        }
        all
    }

    #[test]
    fn percentiles_are_ranks_not_interpolations() {
        let all = latencies(&(1..=100).collect::<Vec<_>>());
        assert_eq!(all.percentile_us(500), 50);
        assert_eq!(all.percentile_us(990), 99);
        assert_eq!(all.max_us, 100);
        assert_eq!(latencies(&[7]).percentile_us(500), 7);
    }

    #[test]
    fn the_histogram_counts_everything_once() {
        let buckets = latencies(&[0, 1, 2, 3, 4, 5, 9]).histogram();
        let counts: Vec<_> = buckets.iter().map(|b| (b.up_to_us, b.count)).collect();
        assert_eq!(counts, [(1, 2), (2, 1), (4, 2), (8, 1), (16, 1)]);
    }

    #[test]
    fn a_wait_beyond_the_table_is_kept_as_the_maximum() {
        let all = latencies(&[10, 5_000_000]);
        assert_eq!(all.max_us, 5_000_000);
        assert_eq!(all.percentile_us(1000), MAX_US as u64);
        assert_eq!(all.histogram().iter().map(|b| b.count).sum::<u64>(), 2);
    }

    #[test]
    fn a_short_probe_measures_and_prints() {
        let plan = Plan {
            seconds: 1,
            interval_us: 20_000,
        };
        let all = measure(plan, &AtomicBool::new(false));
        assert!(all.total > 0);
        let mut out = Vec::new();
        all.report(plan, "test".to_owned())
            .print(&mut out)
            .expect("writing to memory");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("p99"), "{text}");
    }

    #[test]
    fn without_sched_ext_the_scheduler_is_the_kernels_own() {
        assert_eq!(scheduler_name(Path::new("/nonexistent")), "kernel default");
    }
}
