//! What a test may know of tasks and of the scheduler: mirrors of C types, and what it counts of all tasks.

use super::calls::*;
use super::{BATCH, INTERACTIVE, LAT_CRITICAL, Machine};

/// `enum counter`, in its order.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are those of the counters in intf.h")]
pub enum Counter {
    Dispatches,
    IdlePlacements,
    Shared,
    TickPreempts,
    Keeps,
    KicksHard,
    KicksSoft,
    Wakeups,
    Requeues,
    OverflowRescues,
    StarvationRescues,
    SojournRescues,
    DeficitForced,
    Steals,
    Drained,
    ObservationsLost,
    WarmStarts,
    Boosts,
    BoostsSpent,
    BurstsCusum,
    BurstsWakeups,
    Guarded,
    DomainSpills,
    LocalKthreads,
    L2Placements,
    StrongWaits,
}

/// What the scheduler and the kernel know of a task; `struct host_task`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// What is left of its slice, ns.
    pub slice_ns: u64,
    /// Virtual time, ns.
    pub vtime: u64,
    /// That of its queue's clock.
    pub clock: u64,
    /// Average run between two sleeps, ns.
    pub avg_runtime_ns: u64,
    /// The longest it has waited for a CPU since [`Machine::forget_wait`], ns.
    pub longest_wait_ns: u64,
    /// CPU time so far, ns.
    pub ran_ns: u64,
    /// `enum tier`.
    pub tier: u32,
    /// Wake-ups that its averages are from.
    pub age: u32,
    /// Latency criticality.
    pub lat_cri: u32,
    /// The queue its virtual time counts in.
    pub queue: u32,
    /// Where it runs or ran last.
    pub cpu: i32,
    /// In a queue of the kernel, local ones included.
    pub waits: bool,
    /// Wake-ups in 100 ms, on average.
    pub wakeup_freq: u32,
    /// Context switches in 100 ms, on average.
    pub csw_rate: u32,
    /// Its place in the queue that it was inserted into last.
    pub deadline: u64,
}

/// What the daemon is told of a task; `struct observation`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Observation {
    kind: u32,
    /// `enum tier`.
    pub tier: u32,
    /// Average run between two sleeps, ns.
    pub avg_runtime_ns: u64,
    /// How far runs are from it, ns.
    pub runtime_dev_ns: u64,
    /// Wake-ups in 100 ms.
    pub wakeup_freq: u32,
    /// Context switches in 100 ms.
    pub csw_rate: u32,
    /// Latency criticality.
    pub lat_cri: u32,
    /// Whether it is over; 0 or 1.
    pub exited: u32,
    /// Its name.
    pub comm: [u8; 16],
}

impl Machine {
    /// Wake-ups that came to run, by tier, and how long they waited in all, ns.
    pub fn wake_latencies(&self) -> ([u64; 3], u64) {
        (
            [BATCH, INTERACTIVE, LAT_CRITICAL].map(|tier| host_wakes(tier)),
            host_wake_sum_ns(),
        )
    }

    /// Sleeps up to 1, 10 and 100 ms, and longer ones.
    pub fn sleeps(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|class| host_sleeps(class))
    }
}
