//! What scales with the number of CPUs: clamped linear formulas, no tables and no special cases.

use serde::Serialize;

use crate::topology::Topology;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Largest CPU count the formulas are computed for; more CPUs get the values of this many.
pub const MAX_CPUS: u32 = 1024;
/// Window in which wake-ups are counted to tell a fork storm, ns.
pub const BURST_WINDOW_NS: u64 = 4 * MS;
/// Time for which batch tasks must have waited without a break to make a longrun, ns.
pub const LONGRUN_NS: u64 = 2_000 * MS;

/// The tick that wake-ups are counted by, ns; the window is several, so that one of them says little.
const BURST_TICK_NS: u64 = MS;
/// CPUs from which on the virtual-time ceiling is short.
const VTIME_CEILING_CPUS: u32 = 8;

/// Bounds derived from the CPU count ("Core-Count Scaling" of the specification).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// The count everything else was computed from, 1..=[`MAX_CPUS`].
    pub nr_cpus: u32,
    /// Age of an overflow queue's oldest task that is served before the CPU's own queue: 4..=10 ms.
    pub overflow_rescue_ns: u64,
    /// Age at which batch is served whatever else waits: 20..=500 ms.
    pub starvation_rescue_ns: u64,
    /// Interactive dispatches in a row, of a millisecond together, before one batch dispatch is forced.
    pub deficit_budget: u32,
    /// The same during a longrun: one per CPU.
    pub longrun_budget: u32,
    /// Tasks that may be placed ahead on one CPU's own queue, 1 or 2.
    pub placement_depth: u32,
    /// Lowest batch sojourn threshold: 2..=6 ms.
    pub sojourn_floor_ns: u64,
    /// Highest batch sojourn threshold: twice the floor.
    pub sojourn_ceiling_ns: u64,
    /// Longest batch slice in the MIXED regime, at most 20 ms.
    pub mixed_batch_cap_ns: u64,
    /// Longest interactive slice in the MIXED regime, at most 1 ms.
    pub mixed_slice_cap_ns: u64,
    /// Wake-ups per tick that count as a burst.
    pub burst_wakeups_per_tick: u32,
    /// Wake-ups within [`BURST_WINDOW_NS`] that are a fork storm, a tick being 1 ms.
    pub burst_wakeups: u32,
    /// Furthest that a waking task's virtual time may lie ahead of its queue's clock, ns: 30 ms, on fewer
    /// than 8 CPUs 250 ms, where queues are short enough for the rescues to reach everybody.
    pub vtime_ceiling_ns: u64,
    /// Interactive tasks that may be queued at once, and a quarter more if they are short and rare. Threads that
    /// wake each other in large numbers look interactive too, and nobody waits for them.
    pub interactive_max: u32,
}

impl Limits {
    /// The limits for this many CPUs; the count is brought into 1..=[`MAX_CPUS`] first.
    pub fn for_cpus(nr_cpus: u32) -> Limits {
        let nr_cpus = nr_cpus.clamp(1, MAX_CPUS);
        let n = u64::from(nr_cpus);
        let sojourn_floor_ns = (n * MS).clamp(2 * MS, 6 * MS);
        let burst_wakeups_per_tick = nr_cpus * 2;
        Limits {
            nr_cpus,
            overflow_rescue_ns: (n * 2 * MS).clamp(4 * MS, 10 * MS),
            starvation_rescue_ns: starvation_rescue_ns(n),
            deficit_budget: nr_cpus * (2 + nr_cpus / 2).min(4),
            longrun_budget: nr_cpus,
            placement_depth: if nr_cpus < 4 { 1 } else { 2 },
            sojourn_floor_ns,
            sojourn_ceiling_ns: sojourn_floor_ns * 2,
            mixed_batch_cap_ns: (n * 5 * MS).min(20 * MS),
            mixed_slice_cap_ns: (n * 500 * US).min(MS),
            burst_wakeups_per_tick,
            burst_wakeups: burst_wakeups_per_tick * (BURST_WINDOW_NS / BURST_TICK_NS) as u32,
            vtime_ceiling_ns: vtime_ceiling_ns(nr_cpus),
            interactive_max: nr_cpus * 4,
        }
    }

    /// The limits for the CPUs that are online.
    pub fn for_topology(topology: &Topology) -> Limits {
        Limits::for_cpus(topology.nr_online())
    }
}

/// Rescues take the head of a queue. On many CPUs fresh tasks would keep it from those that have used
/// much virtual time; on few CPUs the queue is short enough for each of them to get there.
fn vtime_ceiling_ns(nr_cpus: u32) -> u64 {
    if nr_cpus < VTIME_CEILING_CPUS {
        250 * MS
    } else {
        30 * MS
    }
}

/// Short on few CPUs, where one hog is half the machine, and on many, where contention adds up;
/// longest in between.
fn starvation_rescue_ns(nr_cpus: u64) -> u64 {
    let rising = 25 * MS * nr_cpus;
    let falling = 500 * MS / (nr_cpus / 4).max(1);
    rising.min(falling).clamp(20 * MS, 500 * MS)
}
