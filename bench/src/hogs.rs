//! Threads that never stop computing.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::gaps::Gaps;
use crate::random::Random;
use crate::report::{Report, ms};
use crate::run::{self, Run};
use crate::sys;

/// Which plain hogs to run.
#[derive(Clone, Copy, Debug)]
pub struct Hogs<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Nice value of all of them.
    pub nice: i32,
    /// Whether each is bound to one CPU, in turn.
    pub pin: bool,
    /// Name of the process and of the threads, instead of our own.
    pub name: Option<&'a CStr>,
}

/// Plain hogs.
pub fn hog(run: Run, cpus: &[usize], hogs: Hogs<'_>) -> Result<Report, String> {
    let Hogs {
        threads,
        nice,
        pin,
        name,
    } = hogs;
    require_nice(nice)?;
    name.inspect(|name| sys::set_name(name));
    let longest_ns = spin_all(threads, |index, gaps| {
        name.inspect(|name| sys::set_name(name));
        if nice != 0 {
            sys::set_nice(nice)?;
        }
        if pin {
            let cpu = cpus[index % cpus.len()];
            sys::set_affinity(&[cpu])
                .map_err(|error| format!("cannot bind a thread to CPU {cpu} ({error})"))?;
        }
        gaps.spin(run, u64::MAX);
        Ok(())
    })?;
    let text = format!("{threads} threads, longest gap {}", ms(longest_ns));
    Ok(gap_report("hog", text, threads, longest_ns))
}

/// Hogs that move themselves to random sets of CPUs every 1 to 5 ms.
pub fn affinity_churn(run: Run, cpus: &[usize], threads: usize) -> Result<Report, String> {
    let (changes, refusals) = (AtomicU64::new(0), AtomicU64::new(0));
    let longest_ns = spin_all(threads, |index, gaps| {
        let mut random = Random::new(index as u64);
        while !run.is_over() {
            // A CPU may go away meanwhile: being refused is no failure of the scheduler.
            match sys::set_affinity(&random.subset(cpus)) {
                Ok(()) => changes.fetch_add(1, Ordering::Relaxed),
                Err(_) => refusals.fetch_add(1, Ordering::Relaxed),
            };
            gaps.spin(run, random.between(1, 5) * 1_000_000);
        }
        Ok(())
    })?;
    let (changes, refusals) = (changes.into_inner(), refusals.into_inner());
    let text = format!(
        "{changes} changes by {threads} threads, {refusals} refused, longest gap {}",
        ms(longest_ns)
    );
    let report = gap_report("affinity-churn", text, threads, longest_ns);
    Ok(report.with("changes", changes).with("refused", refusals))
}

/// Hogs of three nice values against each other.
pub fn nice_mix(run: Run, threads_each: usize) -> Result<Report, String> {
    const KINDS: [(i32, &str); 3] = [(-20, "minus20"), (0, "0"), (19, "19")];
    require_nice(KINDS[0].0)?;
    let longest: [AtomicU64; 3] = Default::default();
    spin_all(threads_each * KINDS.len(), |index, gaps| {
        let kind = index % KINDS.len();
        sys::set_nice(KINDS[kind].0)?;
        gaps.spin(run, u64::MAX);
        longest[kind].fetch_max(gaps.longest_ns(), Ordering::Relaxed);
        Ok(())
    })?;
    let longest = longest.map(AtomicU64::into_inner);
    let each = KINDS
        .iter()
        .zip(longest)
        .map(|((nice, _), ns)| format!("nice {nice}: {}", ms(ns)));
    let text = format!("longest gap at {}", each.collect::<Vec<_>>().join(", "));
    let report = Report::new("nice-mix", text).with("threads_each", threads_each as u64);
    let fields = KINDS.iter().zip(longest);
    Ok(fields.fold(report, |report, ((_, name), ns)| {
        report.with(&format!("nice_{name}_gap_max_us"), ns / 1000)
    }))
}

/// Fails at once, and not after the run, if this nice value is out of reach. Tried on a thread of its
/// own, because not everybody may go back.
fn require_nice(nice: i32) -> Result<(), String> {
    if nice == 0 {
        return Ok(());
    }
    thread::scope(|scope| run::join(run::thread(scope, "wl-nice", || sys::set_nice(nice))?)?)
}

fn gap_report(name: &'static str, text: String, threads: usize, longest_ns: u64) -> Report {
    Report::new(name, text)
        .with("threads", threads as u64)
        .with("gap_max_us", longest_ns / 1000)
}

/// Runs `body` on many threads; the longest gap any of them saw, ns.
fn spin_all(
    threads: usize,
    body: impl Fn(usize, &Gaps) -> Result<(), String> + Sync,
) -> Result<u64, String> {
    let body = &body;
    thread::scope(|scope| {
        let mut handles = Vec::new();
        for index in 0..threads {
            let gaps = Gaps::default();
            gaps.begin();
            handles.push(run::thread(scope, "wl-hog", move || {
                body(index, &gaps).map(|()| gaps.longest_ns())
            })?);
        }
        let mut longest_ns = 0;
        for handle in handles {
            longest_ns = longest_ns.max(run::join(handle)??);
        }
        Ok(longest_ns)
    })
}
