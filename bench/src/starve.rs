//! The promise that no runnable thread waits for long, put to the test.

use std::sync::Arc;
use std::thread::Builder;

use crate::gaps::Gaps;
use crate::random::Random;
use crate::report::{Report, ms};
use crate::run::Run;
use crate::sys;

/// What a thread does to be easily forgotten by a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Never stops.
    Plain,
    /// Never stops and may run on one CPU only.
    Pinned,
    /// Never stops, at nice 19.
    Niced,
    /// Works 1 to 8 ms, sleeps 1 to 10 ms.
    Sleeper,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Plain, Kind::Pinned, Kind::Niced, Kind::Sleeper];

    /// Every second thread sleeps now and then; the others take turns.
    fn of(index: usize) -> Kind {
        match index % 8 {
            0 | 6 => Kind::Plain,
            2 => Kind::Pinned,
            4 => Kind::Niced,
            _ => Kind::Sleeper,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Pinned => "pinned",
            Kind::Niced => "niced",
            Kind::Sleeper => "sleeper",
        }
    }

    fn live(self, run: Run, cpu: usize, seed: u64, gaps: &Gaps) {
        match self {
            Kind::Plain => {}
            // Both can only fail where nothing was restricted; then it is a plain hog.
            Kind::Pinned => drop(sys::set_affinity(&[cpu])),
            Kind::Niced => drop(sys::set_nice(19)),
            Kind::Sleeper => {
                let mut random = Random::new(seed);
                while !run.is_over() {
                    gaps.spin(run, random.between(1, 8) * 1_000_000);
                    gaps.sleep(run, random.between(1, 10) * 1_000_000);
                }
            }
        }
        gaps.spin(run, u64::MAX);
    }
}

/// Runs all kinds at once and holds the longest gap against the limit.
pub fn report(run: Run, cpus: &[usize], threads: usize, limit_ms: u64) -> Result<Report, String> {
    let records: Vec<Arc<Gaps>> = (0..threads).map(|_| Arc::default()).collect();
    for (index, gaps) in records.iter().enumerate() {
        let (gaps, cpu) = (Arc::clone(gaps), cpus[index % cpus.len()]);
        let kind = Kind::of(index);
        gaps.begin();
        let builder = Builder::new()
            .name(format!("wl-{}", kind.name()))
            .stack_size(256 * 1024);
        // Not joined: a thread that never gets a CPU again must not keep the verdict back.
        let body = move || {
            kind.live(run, cpu, index as u64, &gaps);
            gaps.finish();
        };
        let started = builder.spawn(body);
        started.map_err(|error| format!("cannot start a thread ({error}); use fewer --threads"))?;
    }
    run.sleep_until(run.end_ns);
    wait_for_all(&records, limit_ms);
    Ok(verdict(
        &records
            .iter()
            .map(|gaps| gaps.longest_ns())
            .collect::<Vec<_>>(),
        limit_ms,
    ))
}

/// Gives every thread the time it may wait, and a little more, to notice the end.
fn wait_for_all(records: &[Arc<Gaps>], limit_ms: u64) {
    let patience_ns = limit_ms
        .saturating_mul(1_000_000)
        .saturating_add(500_000_000);
    let give_up_ns = sys::now_ns().saturating_add(patience_ns);
    while sys::now_ns() < give_up_ns && !records.iter().all(|gaps| gaps.is_done()) {
        sys::sleep_until(sys::now_ns() + 5_000_000);
    }
}

/// The report on the longest gap of each thread, by index.
fn verdict(longest_ns: &[u64], limit_ms: u64) -> Report {
    let worst_of = |kind: Kind| {
        let own = longest_ns
            .iter()
            .enumerate()
            .filter(|(index, _)| Kind::of(*index) == kind);
        own.map(|(_, ns)| *ns).max().unwrap_or(0)
    };
    let worst = Kind::ALL.map(|kind| (kind, worst_of(kind)));
    let each = worst.map(|(kind, ns)| format!("{} {}", kind.name(), ms(ns)));
    let text = format!(
        "longest gaps of {} threads: {}",
        longest_ns.len(),
        each.join(", ")
    );
    let mut report = Report::new("starve", text)
        .with("threads", longest_ns.len() as u64)
        .with("limit_ms", limit_ms);
    for (kind, ns) in worst {
        report = report.with(&format!("{}_gap_max_us", kind.name()), ns / 1000);
    }
    let over = worst
        .into_iter()
        .filter(|(_, ns)| *ns > limit_ms.saturating_mul(1_000_000));
    report.failure = over.max_by_key(|(_, ns)| *ns).map(|(kind, ns)| {
        format!(
            "a {} thread that wanted to run was off the CPU for {}, the limit is {limit_ms} ms",
            kind.name(),
            ms(ns)
        )
    });
    report
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn half_of_the_threads_are_sleepers_and_every_kind_occurs() {
        let kinds: Vec<Kind> = (0..16).map(Kind::of).collect();
        assert_eq!(
            kinds.iter().filter(|kind| **kind == Kind::Sleeper).count(),
            8
        );
        assert!(Kind::ALL.iter().all(|kind| kinds.contains(kind)));
    }

    #[test]
    fn gaps_up_to_the_limit_pass() {
        let report = verdict(&[1000 * MS; 8], 1000);
        assert_eq!(report.failure, None);
        assert!(report.to_json().contains("\"passed\":true"));
    }

    #[test]
    fn the_kind_that_waited_longest_is_named() {
        let mut gaps = [10 * MS; 8];
        gaps[2] = 1500 * MS;
        gaps[1] = 1200 * MS;
        let failure = verdict(&gaps, 1000).failure.unwrap();
        assert!(failure.starts_with("a pinned thread"), "{failure}");
        assert!(failure.contains("1500.0 ms"), "{failure}");
    }
}
