//! Crowds whose parts are in each other's way: quick to one of them is late to another, so each workload has figures of both
//! sides. They are chosen by name, and nobody has to win them.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;

use super::fairness::evenness;
use super::latency::{RHYTHM, probe_from};
use super::rivals::{Record, Rivals};
use super::{Figures, SETTLE_NS, Scene, figures_in, or_whole_run};
use crate::child::{self, Role};
use crate::frames::{self, Frames};
use crate::gaps::Gaps;
use crate::probe::{self, Rhythm};
use crate::random::Random;
use crate::run::{self, Run, burn};
use crate::stats::Samples;
use crate::sys;

/// Sleepers of each CPU in `sleepers`, in `beginthreads` and in `bound`.
const SLEEPERS_PER_CPU: usize = 4;
/// They run for as long as they sleep, and want twice what there is.
const LONG_SLEEPER: Rhythm = Rhythm {
    min_ns: 1_000_000,
    max_ns: 3_000_000,
    work_ns: 2_000_000,
};
/// What the thread that wakes shortly beside them does.
const SHORT_NS: u64 = 100_000;
/// Sleepers of each CPU in `longsleepers`, of which each wants a quarter of one, and so all of them twice what there is.
const MANY_SLEEPERS_PER_CPU: usize = 8;
const LONGER_SLEEPER: Rhythm = Rhythm {
    min_ns: 10_500_000,
    max_ns: 31_500_000,
    work_ns: 7_000_000,
};
/// They all but compute.
const ALMOST_HOG: Rhythm = Rhythm {
    min_ns: 5_000_000,
    max_ns: 5_000_000,
    work_ns: 10_000_000,
};
/// They want as much as there is.
const SHORT_SLEEPER: Rhythm = Rhythm {
    min_ns: 150_000,
    max_ns: 450_000,
    work_ns: 100_000,
};
/// Hogs of each CPU in `hogs`.
const MANY_PER_CPU: usize = 6;
/// Hogs that are bound to the same CPU in `bound`.
const BOUND: usize = 2;
/// What a thread that starts others computes before, and for how long it sleeps then.
const COMPUTED_NS: u64 = 50_000_000;
const RESTED_NS: u64 = 20_000_000;
/// Threads of each CPU that wake together, how often, and what each of them does.
const TOGETHER_PER_CPU: usize = 8;
const TOGETHER_INTERVAL_NS: u64 = 20_000_000;
const TOGETHER_WORK_NS: u64 = 300_000;
/// Worker threads of each CPU, and what a request takes.
const WORKERS_PER_CPU: usize = 2;
const REQUEST_NS: u64 = 200_000;
/// Pairs of each CPU, and what each end does before it answers.
const PAIRS_PER_CPU: usize = 2;
const ANSWER_NS: u64 = 50_000;
/// What a thread computes before it waits for the others.
const BARRIER_NS: u64 = 300_000;
/// CPU time of a program in a chain, ns.
const LINK_NS: (u64, u64) = (3_000_000, 25_000_000);

/// Nothing but hogs.
pub fn hogs(scene: &Scene) -> Result<Figures, String> {
    let run = scene.run_in(SETTLE_NS);
    let record = Rivals::begin(scene.cpus.len() * MANY_PER_CPU, run)?.finish()?;
    Ok(vec![
        ("wait_max_us", record.longest_us()),
        ("p10_of_mean", evenness(record.used_ns)),
    ])
}

/// Two hogs a CPU, and beside them as many that begin.
pub fn begin_hogs(scene: &Scene) -> Result<Figures, String> {
    let run = scene.run_in(SETTLE_NS);
    let count = scene.cpus.len() * 2;
    let first = Rivals::begin(count, run)?;
    run.sleep_until(run.start_ns);
    let later = Rivals::begin(count, run)?;
    let (first, later) = (first.finish()?, later.finish()?);
    Ok(vec![
        ("wait_max_us", first.longest_us()),
        ("later_max_us", later.longest_us()),
        ("share", first.part_of(scene.cpus.len(), scene)),
    ])
}

/// A thread that computes on after it has started others, which all but compute.
pub fn begin_threads(scene: &Scene) -> Result<Figures, String> {
    burn(COMPUTED_NS);
    sys::sleep_until(sys::now_ns() + RESTED_NS);
    let run = scene.run_at_once();
    let before_ns = sys::thread_cpu_ns();
    let gaps = Gaps::default();
    thread::scope(|scope| {
        for seed in 0..(scene.cpus.len() * SLEEPERS_PER_CPU) as u64 {
            run::thread(scope, "wl-begins", move || {
                probe::wake_and_work(run, ALMOST_HOG, seed, |_| ());
            })?;
        }
        // To start one it waits for memory that the others use, whoever schedules them.
        gaps.begin();
        gaps.spin(run, u64::MAX);
        Ok::<(), String>(())
    })?;
    let used_ns = sys::thread_cpu_ns().saturating_sub(before_ns);
    let own = Record {
        longest_ns: gaps.longest_ns(),
        used_ns: vec![used_ns],
    };
    Ok(vec![
        ("wait_max_us", own.longest_us()),
        ("share", own.part_of(1, scene)),
    ])
}

/// Sleepers of some milliseconds that want twice what there is, a hog a CPU, and a thread that wakes shortly.
pub fn sleepers(scene: &Scene) -> Result<Figures, String> {
    let rhythm = Rhythm {
        work_ns: SHORT_NS,
        ..RHYTHM
    };
    beside_hogs(scene, |run| {
        thread::scope(|scope| {
            let short = run::thread(scope, "wl-probe", || probe_from(run, rhythm, 0))?;
            let mut figures = asleep(scene, run, SLEEPERS_PER_CPU, LONG_SLEEPER)?;
            let short = run::join(short)?.summary();
            figures.push(("short_p99_us", short.p99 as f64 / 1000.0));
            Ok(figures)
        })
    })
}

/// Many sleepers of some milliseconds that want twice what there is, and a hog a CPU.
pub fn long_sleepers(scene: &Scene) -> Result<Figures, String> {
    beside_hogs(scene, |run| {
        asleep(scene, run, MANY_SLEEPERS_PER_CPU, LONGER_SLEEPER)
    })
}

/// Threads that wake all at once beside a hog a CPU: how long until the last one is done.
pub fn together(scene: &Scene) -> Result<Figures, String> {
    beside_hogs(scene, |run| {
        let rounds = (scene.length_ns / TOGETHER_INTERVAL_NS).max(1) as usize;
        let done: Vec<AtomicU64> = (0..rounds).map(|_| AtomicU64::new(0)).collect();
        let done = &done;
        thread::scope(|scope| {
            for _ in 0..scene.cpus.len() * TOGETHER_PER_CPU {
                run::thread(scope, "wl-together", move || {
                    sys::disable_timer_slack();
                    for (number, done) in done.iter().enumerate() {
                        let due_ns = run.start_ns + TOGETHER_INTERVAL_NS * number as u64;
                        run.sleep_until(due_ns);
                        burn(TOGETHER_WORK_NS);
                        done.fetch_max(sys::now_ns().saturating_sub(due_ns), Ordering::Relaxed);
                    }
                })?;
            }
            Ok::<(), String>(())
        })?;
        let mut samples = Samples::default();
        done.iter()
            .for_each(|done_ns| samples.push(done_ns.load(Ordering::Relaxed)));
        Ok(figures_in(run, samples))
    })
}

/// A messenger that hands requests to worker threads, which ask for the next when they are done, beside a hog a CPU.
pub fn workers(scene: &Scene) -> Result<Figures, String> {
    beside_hogs(scene, |run| {
        let collected = Mutex::new(Samples::default());
        let all = &collected;
        thread::scope(|scope| {
            let (asks, asked) = mpsc::channel();
            let mut workers = Vec::new();
            for number in 0..scene.cpus.len() * WORKERS_PER_CPU {
                let (hands, handed) = mpsc::channel();
                workers.push(hands);
                let asks = asks.clone();
                run::thread(scope, "wl-worker", move || {
                    serve_requests(run, number, &asks, &handed).add_to(all);
                })?;
            }
            drop(asks);
            run::thread(scope, "wl-messenger", move || {
                // Ends when the last worker has, and so has nobody to ask for a request.
                for number in asked {
                    let worker: &mpsc::Sender<u64> = &workers[number];
                    let _ = worker.send(sys::now_ns());
                }
            })?;
            Ok::<(), String>(())
        })?;
        Ok(figures_in(run, collected.into_inner().unwrap_or_default()))
    })
}

/// How late this worker got each request, by when the messenger handed it out.
fn serve_requests(
    run: Run,
    number: usize,
    asks: &mpsc::Sender<usize>,
    handed: &mpsc::Receiver<u64>,
) -> Samples {
    let mut samples = Samples::default();
    while !run.is_over() {
        if asks.send(number).is_err() {
            break;
        }
        let Ok(handed_ns) = handed.recv() else { break };
        if handed_ns >= run.start_ns {
            samples.push(sys::now_ns().saturating_sub(handed_ns));
        }
        burn(REQUEST_NS);
    }
    samples
}

/// Pairs of threads that answer each other through pipes, more than there are CPUs, and nothing else.
pub fn pairs(scene: &Scene) -> Result<Figures, String> {
    let run = scene.run_in(SETTLE_NS);
    let collected = Mutex::new(Samples::default());
    let all = &collected;
    let failed = |error: io::Error| format!("a pipe failed ({error})");
    thread::scope(|scope| {
        for _ in 0..scene.cpus.len() * PAIRS_PER_CPU {
            let (mut asked, mut asks) = io::pipe().map_err(failed)?;
            let (mut answered, mut answers) = io::pipe().map_err(failed)?;
            run::thread(scope, "wl-answers", move || {
                let mut byte = [0];
                // Ends when whoever asks is gone.
                while matches!(asked.read(&mut byte), Ok(1)) {
                    burn(ANSWER_NS);
                    if answers.write_all(&byte).is_err() {
                        return;
                    }
                }
            })?;
            run::thread(scope, "wl-asks", move || {
                let mut own = Samples::default();
                let mut byte = [0];
                while !run.is_over() {
                    let sent_ns = sys::now_ns();
                    if asks.write_all(&byte).is_err() || answered.read_exact(&mut byte).is_err() {
                        break;
                    }
                    if sent_ns >= run.start_ns {
                        own.push(sys::now_ns().saturating_sub(sent_ns));
                    }
                    burn(ANSWER_NS);
                }
                or_whole_run(run, own).add_to(all);
            })?;
        }
        Ok::<(), String>(())
    })?;
    Ok(figures_in(run, collected.into_inner().unwrap_or_default()))
}

/// A thread a CPU that waits for the others with `sched_yield()`, beside a hog a CPU.
pub fn barrier(scene: &Scene) -> Result<Figures, String> {
    beside_hogs(scene, |run| {
        let threads = scene.cpus.len();
        let arrived = AtomicUsize::new(0);
        let arrived = &arrived;
        let collected = Mutex::new(Samples::default());
        let all = &collected;
        thread::scope(|scope| {
            for number in 0..threads {
                run::thread(scope, "wl-barrier", move || {
                    let mut own = Samples::default();
                    let mut through = 0;
                    while !run.is_over() {
                        let from_ns = sys::now_ns();
                        burn(BARRIER_NS);
                        through += threads;
                        arrived.fetch_add(1, Ordering::AcqRel);
                        while arrived.load(Ordering::Acquire) < through && !run.is_over() {
                            thread::yield_now();
                        }
                        // All are through at the same time, so one tells for all.
                        if number == 0 && from_ns >= run.start_ns {
                            own.push(sys::now_ns().saturating_sub(from_ns));
                        }
                    }
                    own.add_to(all);
                })?;
            }
            Ok::<(), String>(())
        })?;
        Ok(figures_in(run, collected.into_inner().unwrap_or_default()))
    })
}

/// Two hogs and a chain of programs a CPU, of which the next begins when one has ended, and a frame loop. The time that
/// counts is what a program takes longer than it computes.
pub fn chains(scene: &Scene) -> Result<Figures, String> {
    let run = scene.run_in(SETTLE_NS);
    let cpus = scene.cpus.len();
    let rivals = Rivals::begin(cpus * 2, run)?;
    let frames = Frames::default();
    let collected = Mutex::new(Samples::default());
    let all = &collected;
    thread::scope(|scope| {
        let frames = &frames;
        let links = (0..cpus as u64)
            .map(|seed| run::thread(scope, "wl-chain", move || link_up(run, seed, all)))
            .collect::<Result<Vec<_>, _>>()?;
        run::thread(scope, "wl-frames", move || {
            run.sleep_until(run.start_ns);
            frames::draw(run, frames);
        })?;
        links.into_iter().try_for_each(|link| run::join(link)?)
    })?;
    let mut figures = figures_in(run, collected.into_inner().unwrap_or_default());
    let (due, missed) = frames.get();
    figures.push(("missed_pct", 100.0 * missed as f64 / due.max(1) as f64));
    add_hogs(&mut figures, &rivals.finish()?, scene);
    Ok(figures)
}

fn link_up(run: Run, seed: u64, all: &Mutex<Samples>) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut own = Samples::default();
    while !run.is_over() {
        let cpu_ns = random.between(LINK_NS.0, LINK_NS.1);
        let began_ns = sys::now_ns();
        let ended = child::start(Role::Compute(cpu_ns))?.0.wait();
        if !ended.is_ok_and(|status| status.success()) && sys::caught_signal().is_none() {
            return Err("a program of a chain failed".to_owned());
        }
        if began_ns >= run.start_ns {
            own.push(sys::now_ns().saturating_sub(began_ns + cpu_ns));
        }
    }
    own.add_to(all);
    Ok(())
}

/// Hogs that are bound to the same CPU, among sleepers that are not and want as much as there is.
pub fn bound(scene: &Scene) -> Result<Figures, String> {
    let run = scene.run_in(SETTLE_NS);
    let rivals = Rivals::begin(BOUND, run)?;
    for pid in rivals.ids() {
        sys::set_affinity_of(pid, &scene.cpus[..1])
            .map_err(|error| format!("a hog cannot be bound ({error})"))?;
    }
    let mut figures = asleep(scene, run, SLEEPERS_PER_CPU, SHORT_SLEEPER)?;
    let record = rivals.finish()?;
    figures.push(("wait_max_us", record.longest_us()));
    figures.push(("share", record.part_of(1, scene)));
    Ok(figures)
}

/// So many sleepers a CPU: how late each woke, and how long after it should have woken it was through with its work.
fn asleep(scene: &Scene, run: Run, per_cpu: usize, rhythm: Rhythm) -> Result<Figures, String> {
    let (late, done) = (
        Mutex::new(Samples::default()),
        Mutex::new(Samples::default()),
    );
    thread::scope(|scope| {
        for seed in 0..(scene.cpus.len() * per_cpu) as u64 {
            let (late, done) = (&late, &done);
            run::thread(scope, "wl-sleeper", move || {
                let (own_late, own_done) = sleep_and_work(run, rhythm, seed);
                own_late.add_to(late);
                own_done.add_to(done);
            })?;
        }
        Ok::<(), String>(())
    })?;
    let mut figures = figures_in(run, late.into_inner().unwrap_or_default());
    let done = or_whole_run(run, done.into_inner().unwrap_or_default()).summary();
    figures.push(("done_p50_us", done.p50 as f64 / 1000.0));
    figures.push(("done_p99_us", done.p99 as f64 / 1000.0));
    Ok(figures)
}

fn sleep_and_work(run: Run, rhythm: Rhythm, seed: u64) -> (Samples, Samples) {
    let (mut late, mut done) = (Samples::default(), Samples::default());
    let note = |late_ns| {
        if sys::now_ns() >= run.start_ns {
            late.push(late_ns);
        }
    };
    probe::wake_work_and_tell(run, rhythm, seed, note, |due_ns| {
        if due_ns >= run.start_ns {
            done.push(sys::now_ns().saturating_sub(due_ns));
        }
    });
    (late, done)
}

/// Measures beside a hog a CPU; the figures with what those saw.
fn beside_hogs(
    scene: &Scene,
    measure: impl FnOnce(Run) -> Result<Figures, String>,
) -> Result<Figures, String> {
    let run = scene.run_in(SETTLE_NS);
    let rivals = Rivals::begin(scene.cpus.len(), run)?;
    let mut figures = measure(run)?;
    add_hogs(&mut figures, &rivals.finish()?, scene);
    Ok(figures)
}

fn add_hogs(figures: &mut Figures, record: &Record, scene: &Scene) {
    figures.push(("wait_max_us", record.longest_us()));
    figures.push(("share", record.part_of(scene.cpus.len(), scene)));
}
