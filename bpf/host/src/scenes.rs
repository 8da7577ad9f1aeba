//! Situations that tests of several files begin with.

use std::ops::RangeInclusive;

use pandemonium_policy::{Cpu, Knobs, Topology};

use crate::machine::{BATCH, Counter, INTERACTIVE, Kind, Machine, Task};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Batch work ahead of its queue's clock by this is no reason to preempt other batch work.
pub const AHEAD: i64 = 1_000_000;

/// The default knobs, but for a change.
pub fn with_knobs(change: impl FnOnce(&mut Knobs)) -> Knobs {
    let mut knobs = Knobs::default();
    change(&mut knobs);
    knobs
}

/// So many CPUs that a higher class holds, so that whatever wakes has to queue.
pub fn held(nr_cpus: u32) -> Machine {
    let mut m = Machine::with_cpus(nr_cpus);
    for cpu in 0..nr_cpus {
        m.hold(cpu);
    }
    m
}

/// A task of this name that sleeps, and ran on CPU 0 last.
pub fn new_task(m: &mut Machine, comm: &str) -> Task {
    let task = m.task(comm);
    m.enter(task, 0);
    task
}

/// One that has shown by what it did that it is of this tier.
pub fn settled(m: &mut Machine, tier: u32) -> Task {
    let task = new_task(m, "settled");
    m.settle_as(task, tier);
    task
}

/// What the task is taken for; `enum tier`.
pub fn tier(m: &Machine, task: Task) -> u32 {
    m.view(task).tier
}

/// How far it is ahead of its queue's clock in virtual time, ns.
pub fn lag(m: &Machine, task: Task) -> i64 {
    let view = m.view(task);
    view.vtime.wrapping_sub(view.clock).cast_signed()
}

/// The task wakes, runs and sleeps, so many times; the tier of each wake-up.
pub fn tiers(m: &mut Machine, task: Task, times: usize, run_ns: u64, sleep_ns: u64) -> Vec<u32> {
    let mut seen = Vec::new();
    for _ in 0..times {
        m.interrupt(task, 0);
        seen.push(tier(m, task));
        m.advance(run_ns);
        m.sleep(0);
        m.advance(sleep_ns);
    }
    seen
}

/// A settled task that sleeps; it ran on `cpu` last.
pub fn asleep(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = m.task("task");
    m.enter(task, cpu);
    m.settle_as(task, tier);
    task
}

/// The longest that any of these tasks has waited, ns; 0 of none.
pub fn longest_wait_ns(m: &Machine, tasks: &[Task]) -> u64 {
    let waits = tasks.iter().map(|task| m.view(*task).longest_wait_ns);
    waits.max().unwrap_or(0)
}

/// A new task that runs and sleeps for so long in turn; with `sleep_ns` 0 it computes.
pub fn spawn(m: &mut Machine, cpu: u32, run_ns: u64, sleep_ns: u64) -> Task {
    let task = m.task("load");
    m.fork(task, cpu);
    m.set_habit(task, run_ns, sleep_ns);
    task
}

/// So many that compute all the time, forked on one CPU after the other.
pub fn spawn_hogs(m: &mut Machine, nr: u32) -> Vec<Task> {
    let nr_cpus = m.nr_cpus();
    (0..nr)
        .map(|hog| spawn(m, hog % nr_cpus, 100_000 * MS, 0))
        .collect()
}

/// So many sleepers on each CPU, which run and sleep for random times within these bounds, µs.
pub fn irregular(
    m: &mut Machine,
    per_cpu: u32,
    run_us: RangeInclusive<u64>,
    sleep_us: RangeInclusive<u64>,
    seed: u64,
) -> Vec<Task> {
    let in_ns = |us: &RangeInclusive<u64>| us.start() * 1000..=us.end() * 1000;
    let nr_cpus = m.nr_cpus();
    (0..per_cpu * nr_cpus)
        .map(|i| {
            let sleeper = spawn(m, i % nr_cpus, 30_000, sleep_us.start() * 1000);
            m.run_for(60_000);
            let seed = seed * 1000 + u64::from(i);
            m.set_random_habit(sleeper, in_ns(&run_us), in_ns(&sleep_us), seed);
            sleeper
        })
        .collect()
}

/// Batch work that waits in the queue of its node, and is through with its runs within a millisecond: nobody who waits with
/// it is behind because of them.
pub fn waiting_for_a_moment(m: &mut Machine) -> Task {
    let task = waiting(m, BATCH);
    m.set_history(task, 1, 1, MS);
    assert_eq!(tier(m, task), BATCH);
    task
}

/// A settled task that waits in the queue of its node and preempts no batch work.
pub fn waiting(m: &mut Machine, tier: u32) -> Task {
    let task = asleep(m, tier, 0);
    m.set_vtime(task, AHEAD);
    m.interrupt(task, 0);
    assert!(m.view(task).waits);
    task
}

/// The same in the queue of a CPU.
pub fn waiting_for(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = asleep(m, tier, cpu);
    m.set_vtime(task, AHEAD);
    m.bind(task, &[cpu]);
    m.interrupt(task, cpu);
    assert!(m.view(task).waits);
    task
}

/// So many interactive tasks wake, of an interrupt or of what runs on CPU 0.
pub fn wake_crowd(m: &mut Machine, tasks: u64, by_interrupt: bool) {
    for _ in 0..tasks {
        let task = asleep(m, INTERACTIVE, 0);
        if by_interrupt {
            m.interrupt(task, 0);
        } else {
            m.wake(task, 0);
        }
    }
}

/// A settled task that is bound to `cpu` and runs there, which was idle.
pub fn runner(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = asleep(m, tier, cpu);
    m.bind(task, &[cpu]);
    m.interrupt(task, cpu);
    assert_eq!(m.running(cpu), Some(task));
    task
}

/// Every CPU runs a task of `tier` that is bound to it.
pub fn busy(nr_cpus: u32, tier: u32) -> Machine {
    let mut m = Machine::with_cpus(nr_cpus);
    for cpu in 0..nr_cpus {
        runner(&mut m, tier, cpu);
    }
    m
}

/// A settled task that has just started on `cpu`, which is idle.
pub fn running(m: &mut Machine, tier: u32, cpu: u32) -> Task {
    let task = asleep(m, tier, cpu);
    m.set_vtime(task, 0);
    m.interrupt(task, cpu);
    assert_eq!(m.running(cpu), Some(task));
    task
}

/// CPU 0 comes free and runs what it takes, each until it ends.
pub fn order(m: &mut Machine) -> Vec<Task> {
    m.unhold(0);
    rest(m)
}

/// What runs on CPU 0 ends, and so does each that follows.
pub fn rest(m: &mut Machine) -> Vec<Task> {
    rest_of_runs(m, 0)
}

/// The same, each after it ran for a while.
pub fn rest_of_runs(m: &mut Machine, run_ns: u64) -> Vec<Task> {
    let mut ran = Vec::new();
    while let Some(task) = m.running(0) {
        ran.push(task);
        m.advance(run_ns);
        m.exit(0);
    }
    ran
}

/// Two nodes of two CPUs each.
pub fn two_nodes() -> Machine {
    let cpus = (0..4).map(|id| Cpu {
        id,
        online: true,
        core: id,
        l2: id,
        l3: id / 2,
        node: id / 2,
        max_khz: 0,
    });
    Machine::new(&Topology {
        cpus: cpus.collect(),
    })
}

/// Interactive work that waits in the queue of the node, after CPU 1 was taken from it.
pub fn displaced(m: &mut Machine) -> Task {
    let task = running(m, INTERACTIVE, 1);
    m.hold(1);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 1);
    task
}

/// After so long a tick comes on CPU 0; how often ticks have preempted by then.
pub fn preempts_after(m: &mut Machine, ns: u64) -> u64 {
    m.advance(ns);
    m.tick(0);
    m.counter(Counter::TickPreempts)
}

/// The slice on `cpu`, idle or busy with batch work, of a task that would like a longer one.
pub fn slice_of(m: &mut Machine, tier: u32, cpu: u32) -> u64 {
    let task = asleep(m, tier, cpu);
    m.set_vtime(task, -AHEAD);
    match tier {
        BATCH => m.set_history(task, 1, 1, 90 * MS),
        INTERACTIVE => m.set_history(task, 64, 20, 90 * MS),
        _ => m.set_history(task, 64, 100, 90 * MS),
    }
    assert_eq!(m.view(task).tier, tier);
    m.interrupt(task, cpu);
    assert_eq!(m.running(cpu), Some(task));
    m.view(task).slice_ns
}

/// Slices in bursts and longruns are shorter than others.
pub fn short_in_bursts() -> Knobs {
    with_knobs(|knobs| knobs.burst_slice_ns = 300 * US)
}

/// Cores of two siblings if `smt`, several caches and nodes if they are many; with `holes`, every fifth
/// number is no CPU's.
pub fn topology(nr_cpus: u32, smt: bool, per_node: u32, holes: bool) -> Topology {
    let cpus = (0..nr_cpus)
        .filter(|id| !holes || id % 5 != 3)
        .map(|id| Cpu {
            id,
            online: true,
            core: if smt { id / 2 * 2 } else { id },
            l2: id / 2 * 2,
            l3: id / 8 * 8,
            node: id / per_node,
            max_khz: 0,
        });
    Topology {
        cpus: cpus.collect(),
    }
}
