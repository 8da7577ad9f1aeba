//! Threads that compute a fixed part of every period, as a decoder or a sound engine does.

use std::ffi::CStr;
use std::thread;

use crate::probe::late_ns;
use crate::report::{Report, latencies, percent};
use crate::run::{self, Run, burn};
use crate::stats::Samples;
use crate::sys;

/// Work is cut into pieces of this size, so that a run ends in time.
const PIECE_NS: u64 = 1_000_000;

/// What every thread does.
#[derive(Clone, Copy, Debug)]
pub struct Duty<'a> {
    /// Part of a period to compute, percent of one CPU, 1..=100.
    pub percent: u64,
    /// Length of a period.
    pub period_ms: u64,
    /// Number of threads.
    pub threads: usize,
    /// Name of the process and of the threads, instead of our own.
    pub name: Option<&'a CStr>,
}

/// What one thread saw.
#[derive(Debug, Default)]
struct Record {
    late: Samples,
    overruns: u64,
    cpu_ns: u64,
    wall_ns: u64,
}

/// Runs all threads, their periods spread evenly over time.
pub fn report(run: Run, duty: Duty<'_>) -> Result<Report, String> {
    duty.name.inspect(|name| sys::set_name(name));
    let period_ns = duty.period_ms * 1_000_000;
    let mut all = Record::default();
    thread::scope(|scope| {
        let mut handles = Vec::new();
        for index in 0..duty.threads as u64 {
            let first_ns = run.start_ns + period_ns * index / duty.threads as u64;
            handles.push(run::thread(scope, "wl-duty", move || {
                duty.name.inspect(|name| sys::set_name(name));
                live(run, first_ns, period_ns, period_ns * duty.percent / 100)
            })?);
        }
        for handle in handles {
            let one = run::join(handle)?;
            all.late.append(one.late);
            all.overruns += one.overruns;
            all.cpu_ns += one.cpu_ns;
            all.wall_ns += one.wall_ns;
        }
        Ok::<(), String>(())
    })?;
    Ok(summarise(duty, all))
}

/// One thread: sleeps until its period begins, notes how late that was, and works.
fn live(run: Run, first_ns: u64, period_ns: u64, work_ns: u64) -> Record {
    sys::disable_timer_slack();
    let mut record = Record::default();
    let (start_ns, cpu_start_ns) = (sys::now_ns(), sys::thread_cpu_ns());
    let mut due_ns = first_ns.max(start_ns);
    loop {
        if sys::now_ns() < due_ns {
            run.sleep_until(due_ns);
            if let Some(late_ns) = late_ns(run, due_ns) {
                record.late.push(late_ns);
            }
            if run.is_over() {
                break;
            }
        }
        work(run, work_ns);
        if run.is_over() {
            break;
        }
        let now_ns = sys::now_ns();
        due_ns += period_ns;
        if due_ns <= now_ns {
            // The next period has begun already: go on at once, and do not run after what was lost.
            record.overruns += 1;
            due_ns = now_ns;
        }
    }
    record.cpu_ns = sys::thread_cpu_ns().saturating_sub(cpu_start_ns);
    record.wall_ns = sys::now_ns().saturating_sub(start_ns);
    record
}

fn work(run: Run, work_ns: u64) {
    let end_ns = sys::thread_cpu_ns().saturating_add(work_ns);
    loop {
        let left_ns = end_ns.saturating_sub(sys::thread_cpu_ns());
        if left_ns == 0 || run.is_over() {
            return;
        }
        burn(left_ns.min(PIECE_NS));
    }
}

fn summarise(duty: Duty<'_>, all: Record) -> Report {
    let late = all.late.summary();
    let permille = (u128::from(all.cpu_ns) * 1000)
        .checked_div(u128::from(all.wall_ns))
        .unwrap_or(0) as u64;
    let text = format!(
        "{} threads that wanted {} % of every {} ms had {} of a CPU each, {} overruns, {} wake-ups, {}",
        duty.threads,
        duty.percent,
        duty.period_ms,
        percent(permille, 1000),
        all.overruns,
        late.count,
        latencies(&late),
    );
    Report::new("duty", text)
        .with("threads", duty.threads as u64)
        .with("percent", duty.percent)
        .with("period_ms", duty.period_ms)
        .with("share_permille", permille)
        .with("overruns", all.overruns)
        .with_summary("wake", &late)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn a_moment(ms: u64) -> Run {
        let start_ns = sys::now_ns();
        Run {
            start_ns,
            end_ns: start_ns + ms * MS,
        }
    }

    #[test]
    fn a_thread_uses_at_least_what_it_worked_and_records_every_sleep() {
        let run = a_moment(1_000);
        let record = live(run, run.start_ns + MS, 20 * MS, 2 * MS);
        assert!(!record.late.is_empty(), "{record:?}");
        assert!(record.cpu_ns >= 2 * MS && record.cpu_ns <= record.wall_ns);
    }

    #[test]
    fn a_thread_that_wants_everything_never_sleeps() {
        let run = a_moment(50);
        let record = live(run, run.start_ns, 5 * MS, 5 * MS);
        assert!(record.late.is_empty(), "{record:?}");
    }

    #[test]
    fn the_share_is_that_of_one_cpu() {
        let duty = Duty {
            percent: 30,
            period_ms: 10,
            threads: 2,
            name: None,
        };
        let record = Record {
            cpu_ns: 600 * MS,
            wall_ns: 2_000 * MS,
            overruns: 3,
            ..Record::default()
        };
        let report = summarise(duty, record);
        assert!(report.to_json().contains(
            "\"threads\":2,\"percent\":30,\"period_ms\":10,\"share_permille\":300,\"overruns\":3"
        ));
        assert!(report.to_line().contains("had 30.0 % of a CPU each"));
        let nothing = summarise(duty, Record::default());
        assert!(nothing.to_json().contains("\"share_permille\":0"));
    }
}
