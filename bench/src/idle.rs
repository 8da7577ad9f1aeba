//! What finding an idle CPU costs whoever is woken: round trips through blocked threads, while some
//! CPUs are kept busy. A scheduler that has to look at every CPU has the most to do here.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::random::Random;
use crate::report::Report;
use crate::run::{self, Run, burn_until};
use crate::stats::{Samples, Summary};
use crate::sys;

/// Round trips to measure unless told otherwise, and the most there can be: each takes 8 bytes.
pub const ITERATIONS: u64 = 100_000;
/// See [`ITERATIONS`].
pub const MAX_ITERATIONS: u64 = 10_000_000;
/// Round trips before the first that counts unless told otherwise.
pub const WARMUP: u64 = 5_000;
/// Most threads of each kind.
pub const MAX_THREADS: usize = 10_000;
/// Seed unless told otherwise.
pub const SEED: u64 = 1;
/// Open files besides ours.
const OTHER_FILES: u64 = 64;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Round trips of one round.
    pub iterations: u64,
    /// Threads that wait to be woken, at least 1.
    pub threads: usize,
    /// Threads that keep CPUs busy.
    pub background: usize,
    /// Round trips before the first one that counts, in every round.
    pub warmup: u64,
    /// Decides which thread is woken when; the same in every round.
    pub seed: u64,
}

/// CPUs this process may use.
pub fn cpus() -> usize {
    sys::allowed_cpus().len()
}

/// One round of round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Mean, ns.
    pub mean_ns: f64,
    /// Count, percentiles and maximum, ns.
    pub latency: Summary,
    /// How long the round took without its warm-up, ns.
    pub elapsed_ns: u64,
}

impl Round {
    /// Round trips per second; 0 without any.
    pub fn per_second(&self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        self.latency.count as f64 * 1e9 / self.elapsed_ns as f64
    }
}

/// Threads that are ready to be woken.
#[derive(Debug)]
pub struct Bench<'a> {
    plan: Plan,
    wakes: &'a [EventFd],
    reply: &'a EventFd,
}

impl Bench<'_> {
    /// Measures one round; fewer round trips than planned if `is_over` says so before.
    pub fn round(&self, is_over: impl Fn() -> bool) -> Result<Round, String> {
        let mut random = Random::new(self.plan.seed);
        for _ in 0..self.plan.warmup {
            if is_over() {
                break;
            }
            self.round_trip(&mut random)?;
        }
        let mut samples = Samples::with_room(self.plan.iterations as usize);
        let start_ns = sys::now_ns();
        for _ in 0..self.plan.iterations {
            if is_over() {
                break;
            }
            samples.push(self.round_trip(&mut random)?);
        }
        let elapsed_ns = sys::now_ns().saturating_sub(start_ns);
        Ok(Round {
            mean_ns: samples.mean(),
            latency: samples.summary(),
            elapsed_ns,
        })
    }

    /// Measures until the run is over, however many round trips that are; those before its start do not count.
    pub fn during(&self, run: Run) -> Result<Samples, String> {
        let mut random = Random::new(self.plan.seed);
        let mut samples = Samples::with_room(self.plan.iterations as usize);
        while !run.is_over() {
            let counts = sys::now_ns() >= run.start_ns;
            let round_trip_ns = self.round_trip(&mut random)?;
            if counts {
                samples.push(round_trip_ns);
            }
        }
        Ok(samples)
    }

    /// Wakes one thread and sleeps until it has answered, ns.
    fn round_trip(&self, random: &mut Random) -> Result<u64, String> {
        let last = self.wakes.len().saturating_sub(1) as u64;
        let wake = &self.wakes[random.between(0, last) as usize];
        let sent_ns = sys::now_ns();
        wake.add_one()
            .and_then(|()| self.reply.wait())
            .map_err(|error| format!("a thread cannot be woken ({error})"))?;
        Ok(sys::now_ns().saturating_sub(sent_ns))
    }
}

/// Starts the threads of the plan, lets `body` measure with them, and ends them all.
pub fn run<T>(plan: Plan, body: impl FnOnce(&Bench<'_>) -> T) -> Result<T, String> {
    sys::allow_files(plan.threads as u64 + OTHER_FILES);
    let (wakes, reply) = open(plan.threads.max(1)).map_err(|error| {
        format!("cannot open a file per thread ({error}); use fewer --threads or raise `ulimit -n`")
    })?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Whatever happens from here on, threads that were started are told to end: the scope waits.
        let _end = End {
            stop: &stop,
            wakes: &wakes,
        };
        let (stop, reply) = (&stop, &reply);
        for wake in &wakes {
            run::thread(scope, "wl-idle", move || answer(wake, reply, stop))?;
        }
        let mut started = 0;
        while started < wakes.len() as u64 {
            started += reply
                .wait()
                .map_err(|error| format!("a thread did not start ({error})"))?;
        }
        for _ in 0..plan.background {
            run::thread(scope, "wl-burn", move || burn_until(stop))?;
        }
        Ok(body(&Bench {
            plan,
            wakes: &wakes,
            reply,
        }))
    })
}

fn open(threads: usize) -> io::Result<(Vec<EventFd>, EventFd)> {
    let wakes = (0..threads).map(|_| EventFd::new());
    Ok((wakes.collect::<io::Result<_>>()?, EventFd::new()?))
}

/// Says that it is there, then answers every wake-up.
fn answer(wake: &EventFd, reply: &EventFd, stop: &AtomicBool) {
    loop {
        // Both can only fail if the descriptor is not what it should be; the other end then fails too.
        if reply.add_one().is_err() || wake.wait().is_err() || stop.load(Ordering::Acquire) {
            return;
        }
    }
}

/// Ends every thread when dropped.
struct End<'a> {
    stop: &'a AtomicBool,
    wakes: &'a [EventFd],
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for wake in self.wakes {
            let _ = wake.add_one();
        }
    }
}

/// A counter to block on.
#[derive(Debug)]
struct EventFd(File);

impl EventFd {
    fn new() -> io::Result<EventFd> {
        Ok(EventFd(File::from(sys::eventfd()?)))
    }

    fn add_one(&self) -> io::Result<()> {
        (&self.0).write_all(&1u64.to_ne_bytes())
    }

    /// Blocks until the counter is not zero, takes all of it, and returns it.
    fn wait(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// One round.
pub(crate) fn report(plan: Plan) -> Result<Report, String> {
    let round = run(plan, |bench| bench.round(|| sys::caught_signal().is_some()))??;
    let latency = &round.latency;
    let text = format!(
        "{} round trips through {} threads beside {} busy ones, mean {:.0} ns, p50 {} ns, p99 {} ns, \
         max {} ns, {:.0} per second",
        latency.count,
        plan.threads,
        plan.background,
        round.mean_ns,
        latency.p50,
        latency.p99,
        latency.max,
        round.per_second(),
    );
    Ok(Report::new("idle", text)
        .with("threads", plan.threads as u64)
        .with("background", plan.background as u64)
        .with("round_trip_count", latency.count as u64)
        .with("round_trip_mean_ns", round.mean_ns.round() as u64)
        .with("round_trip_p50_ns", latency.p50)
        .with("round_trip_p99_ns", latency.p99)
        .with("round_trip_max_ns", latency.max)
        .with("per_second", round.per_second().round() as u64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;

    use super::*;

    const SMALL: Plan = Plan {
        iterations: 200,
        threads: 3,
        background: 1,
        warmup: 10,
        seed: 7,
    };

    #[test]
    fn every_round_has_all_its_round_trips() {
        let rounds = run(SMALL, |bench| {
            [bench.round(|| false), bench.round(|| false)]
        });
        for round in rounds.unwrap() {
            let round = round.unwrap();
            assert_eq!(round.latency.count, 200);
            assert!(round.latency.p50 > 0 && round.latency.p50 <= round.latency.p99);
            assert!(round.mean_ns > 0.0 && round.mean_ns <= round.latency.max as f64);
            assert!(round.per_second() > 0.0);
        }
    }

    #[test]
    fn being_stopped_leaves_what_was_measured_so_far() {
        let asked = Cell::new(0);
        let is_over = || {
            asked.set(asked.get() + 1);
            asked.get() > 10 + 25
        };
        let round = run(SMALL, |bench| bench.round(is_over)).unwrap().unwrap();
        assert_eq!(round.latency.count, 25);
        let none = run(SMALL, |bench| bench.round(|| true)).unwrap().unwrap();
        assert_eq!((none.latency.count, none.mean_ns), (0, 0.0));
    }

    #[test]
    fn a_run_has_the_round_trips_after_its_start_and_ends_in_time() {
        let count = |delay_ns, length_ns| {
            let run_in = || Run::starting_in(delay_ns, length_ns);
            let samples = run(SMALL, |bench| bench.during(run_in())).unwrap();
            samples.unwrap().len()
        };
        assert!(count(0, 100_000_000) > 0);
        // What is due before the start is not kept, and the last one may end after the end.
        assert!(count(100_000_000, 0) <= 1);
    }

    #[test]
    fn nobody_is_measured_and_everybody_ends() {
        assert_eq!(run(SMALL, |_| 5), Ok(5));
    }

    #[test]
    fn no_time_is_no_rate() {
        let round = Round {
            mean_ns: 0.0,
            latency: Samples::default().summary(),
            elapsed_ns: 0,
        };
        assert_eq!(round.per_second(), 0.0);
        let second = Round {
            elapsed_ns: 500_000_000,
            latency: Summary {
                count: 100,
                ..round.latency
            },
            ..round
        };
        assert_eq!(second.per_second(), 200.0);
    }
}
