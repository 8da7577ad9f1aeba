//! Who receives how much, and who waits for how long.

use std::thread;

use super::load::Load;
use super::{Figures, SETTLE_NS, Scene};
use crate::gaps::Gaps;
use crate::probe::{self, Rhythm};
use crate::run::{self, Run};
use crate::sys;

/// Equal hogs per CPU.
const HOGS_PER_CPU: usize = 4;
/// Sleepers per CPU. Together they want twice what there is.
const SLEEPERS_PER_CPU: usize = 4;
const SLEEPER: Rhythm = Rhythm {
    min_ns: 500_000,
    max_ns: 1_500_000,
    work_ns: 1_000_000,
};
/// Percentile of the CPU time of equal hogs that is held against the mean.
const LOW_PERCENTILE: usize = 10;

/// Equal hogs: the tenth percentile of their CPU time, as a part of the mean.
pub fn fairness(scene: &Scene) -> Result<Figures, String> {
    let received = Load::spinners(scene.cpus.len() * HOGS_PER_CPU)?
        .beside(|load| received_by(load, scene.run_in(SETTLE_NS)))?;
    Ok(vec![
        ("count", received.len() as f64),
        ("p10_of_mean", evenness(received)),
    ])
}

/// One compute task among many sleepers that want more than there is.
pub fn starvation(scene: &Scene) -> Result<Figures, String> {
    let cpus = scene.cpus.len();
    let sleepers = cpus * SLEEPERS_PER_CPU;
    let run = scene.run_in(0);
    let gaps = Gaps::default();
    let used_ns = thread::scope(|scope| {
        for seed in 0..sleepers as u64 {
            run::thread(scope, "wl-sleeper", move || {
                probe::wake_and_work(run, SLEEPER, seed, |_| ());
            })?;
        }
        // The wait for its first turn is one of them, that of whoever creates it is not.
        gaps.begin();
        let hog = run::thread(scope, "wl-compute", || {
            gaps.arrive();
            gaps.spin(run, u64::MAX);
            gaps.finish();
            sys::thread_cpu_ns()
        })?;
        run::join(hog)
    })?;
    let elapsed_ns = sys::now_ns().saturating_sub(run.start_ns).max(1);
    let fair = cpus as f64 / (sleepers + 1) as f64;
    Ok(vec![
        ("max_us", gaps.longest_ns() as f64 / 1000.0),
        ("share", used_ns as f64 / elapsed_ns as f64 / fair),
    ])
}

/// CPU time of each process of the load during the run, ns.
pub fn received_by(load: &Load, run: Run) -> Result<Vec<u64>, String> {
    run.sleep_until(run.start_ns);
    let before_ns = cpu_ns(load)?;
    run.sleep_until(run.end_ns);
    let after_ns = cpu_ns(load)?;
    let each = after_ns.iter().zip(before_ns);
    Ok(each
        .map(|(after, before)| after.saturating_sub(before))
        .collect())
}

fn cpu_ns(load: &Load) -> Result<Vec<u64>, String> {
    let each = load.ids().map(sys::process_cpu_ns);
    each.collect::<Result<_, _>>()
        .map_err(|error| format!("a spinner cannot be measured ({error})"))
}

/// The tenth percentile as a part of the mean; 0 of nothing.
pub fn evenness(mut received_ns: Vec<u64>) -> f64 {
    received_ns.sort_unstable();
    let rank = (received_ns.len() * LOW_PERCENTILE).div_ceil(100).max(1);
    let low = received_ns.get(rank - 1).copied().unwrap_or(0);
    let sum: u64 = received_ns.iter().sum();
    if sum == 0 {
        return 0.0;
    }
    low as f64 * received_ns.len() as f64 / sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_percentile_is_held_against_the_mean() {
        assert_eq!(evenness(vec![5; 8]), 1.0);
        // Of eight values the lowest is the tenth percentile, of twenty the second lowest.
        assert_eq!(evenness(vec![6, 10, 10, 10, 10, 10, 10, 14]), 0.6);
        let mut twenty = vec![10; 20];
        (twenty[3], twenty[4]) = (0, 20);
        assert_eq!(evenness(twenty), 1.0);
        assert_eq!(evenness(vec![0, 0]), 0.0);
        assert_eq!(evenness(Vec::new()), 0.0);
    }
}
