//! Cumulative readings from the kernel -> what happened during one tick.

use crate::histogram::per_mille;
pub use crate::histogram::{HIST_BUCKETS, Histogram, Latencies};
use crate::tier::Tier;

/// Event counts since attach. Every field only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tasks that started to run, however they got onto their CPU.
    pub dispatches: u64,
    /// Wake-ups placed directly on an idle CPU, each counted once.
    pub idle_placements: u64,
    /// Tasks inserted into a queue shared by a node.
    pub shared: u64,
    /// Batch tasks that yielded at a tick.
    pub tick_preempts: u64,
    /// Tasks that kept their CPU because nothing was queued.
    pub keeps: u64,
    /// Kicks that interrupt what runs.
    pub kicks_hard: u64,
    /// Tasks without a wake-up that went straight to an idle CPU.
    pub kicks_soft: u64,
    /// Enqueues because of a wake-up.
    pub wakeups: u64,
    /// Enqueues of a task that was already runnable.
    pub requeues: u64,
    /// Dispatches from an overflow queue that had aged too long.
    pub overflow_rescues: u64,
    /// Dispatches by the hard starvation limit.
    pub starvation_rescues: u64,
    /// Dispatches because the oldest batch task had waited too long.
    pub sojourn_rescues: u64,
    /// Batch dispatches forced by the deficit counter.
    pub deficit_forced: u64,
    /// Dispatches from the queues of another node, or of another CPU that a task is bound to.
    pub steals: u64,
    /// Tasks taken back from a CPU that a higher scheduling class had claimed.
    pub drained: u64,
    /// Profile observations dropped because the ring buffer was full.
    pub observations_lost: u64,
    /// Tasks that started from what their name had been learned to be like.
    pub warm_starts: u64,
    /// Tasks that ran as latency-critical because their name is that of a compositor.
    pub boosts: u64,
    /// Times such a task had used up its CPU budget and lost the boost.
    pub boosts_spent: u64,
    /// Bursts noticed by a shift of the interval between enqueues.
    pub bursts_cusum: u64,
    /// Bursts noticed by the number of wake-ups in a window.
    pub bursts_wakeups: u64,
    /// Interactive tasks queued as batch because too many were interactive already.
    pub guarded: u64,
    /// Tasks placed outside of the primary domain because it was saturated.
    pub domain_spills: u64,
    /// Kernel threads bound to one CPU that went straight to it.
    pub local_kthreads: u64,
    /// Wake-ups placed on an idle CPU of the second-level cache they ran in last.
    pub l2_placements: u64,
    /// Times a task waited for its second-level cache instead of an idle CPU farther away.
    pub strong_waits: u64,
    /// Dispatches within the task's last second-level cache domain, by tier.
    pub l2_hits: [u64; Tier::COUNT],
    /// Dispatches outside of it, by tier.
    pub l2_misses: [u64; Tier::COUNT],
}

impl Counters {
    /// Field by field `self - earlier`, never below zero.
    pub fn saturating_sub(&self, earlier: &Counters) -> Counters {
        self.zip(earlier, u64::saturating_sub)
    }

    /// Whether any counter is below what it was, which means the kernel half was loaded anew.
    pub fn is_behind(&self, earlier: &Counters) -> bool {
        let mut behind = false;
        self.zip(earlier, |now, before| {
            behind |= now < before;
            0
        });
        behind
    }

    fn zip(&self, other: &Counters, mut join: impl FnMut(u64, u64) -> u64) -> Counters {
        let (a, b) = (self, other);
        Counters {
            dispatches: join(a.dispatches, b.dispatches),
            idle_placements: join(a.idle_placements, b.idle_placements),
            shared: join(a.shared, b.shared),
            tick_preempts: join(a.tick_preempts, b.tick_preempts),
            keeps: join(a.keeps, b.keeps),
            kicks_hard: join(a.kicks_hard, b.kicks_hard),
            kicks_soft: join(a.kicks_soft, b.kicks_soft),
            wakeups: join(a.wakeups, b.wakeups),
            requeues: join(a.requeues, b.requeues),
            overflow_rescues: join(a.overflow_rescues, b.overflow_rescues),
            starvation_rescues: join(a.starvation_rescues, b.starvation_rescues),
            sojourn_rescues: join(a.sojourn_rescues, b.sojourn_rescues),
            deficit_forced: join(a.deficit_forced, b.deficit_forced),
            steals: join(a.steals, b.steals),
            drained: join(a.drained, b.drained),
            observations_lost: join(a.observations_lost, b.observations_lost),
            warm_starts: join(a.warm_starts, b.warm_starts),
            boosts: join(a.boosts, b.boosts),
            boosts_spent: join(a.boosts_spent, b.boosts_spent),
            bursts_cusum: join(a.bursts_cusum, b.bursts_cusum),
            bursts_wakeups: join(a.bursts_wakeups, b.bursts_wakeups),
            guarded: join(a.guarded, b.guarded),
            domain_spills: join(a.domain_spills, b.domain_spills),
            local_kthreads: join(a.local_kthreads, b.local_kthreads),
            l2_placements: join(a.l2_placements, b.l2_placements),
            strong_waits: join(a.strong_waits, b.strong_waits),
            l2_hits: std::array::from_fn(|i| join(a.l2_hits[i], b.l2_hits[i])),
            l2_misses: std::array::from_fn(|i| join(a.l2_misses[i], b.l2_misses[i])),
        }
    }
}

/// One look at the kernel half: cumulative values, and gauges that hold for this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Monotonic time of the reading, ns.
    pub at_ns: u64,
    /// CPUs online.
    pub nr_online: u32,
    /// How long CPUs ran tasks since attach, summed over CPUs, ns. Realtime tasks are not ours, and do not count.
    pub busy_ns: u64,
    /// Event counts since attach.
    pub counters: Counters,
    /// Wake-up latency by tier since attach.
    pub wake: [Histogram; Tier::COUNT],
    /// Sum of all wake-up latencies since attach, ns.
    pub wake_sum_ns: u64,
    /// Sum of the slices that tasks were granted when they started to run, since attach, ns.
    pub slice_sum_ns: u64,
    /// Sleeps since attach of at most 1 ms, 10 ms, 100 ms, and longer.
    pub sleep: [u64; 4],
    /// Gauge: how long the batch queues have waited, ns.
    pub batch_wait_ns: u64,
    /// Gauge: tasks in batch queues.
    pub batch_queued: u64,
    /// Gauge: tasks in interactive queues.
    pub interactive_queued: u64,
    /// Gauge: CPUs running an interactive or latency-critical task.
    pub interactive_running: u32,
    /// Gauge: burst mode is on.
    pub burst: bool,
    /// Gauge: longrun mode is on.
    pub longrun: bool,
}

/// One tick: differences between two readings, and the gauges of the later one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Time between the readings, ns; 0 means that nothing can be said about this tick.
    pub elapsed_ns: u64,
    /// The share of all CPU time in which no task of ours ran, waits for I/O included, 0..=1000.
    pub idle_permille: u32,
    /// Events during the tick.
    pub counters: Counters,
    /// Wake-ups with a measured latency, by tier.
    pub wakes: [u64; Tier::COUNT],
    /// 99th percentile of the wake-up latency by tier, ns; `None` without wake-ups.
    pub p99_ns: [Option<u64>; Tier::COUNT],
    /// The same over all tiers.
    pub p99_all_ns: Option<u64>,
    /// Median over all tiers, ns.
    pub p50_all_ns: Option<u64>,
    /// Mean wake-up latency over all tiers, ns; 0 without wake-ups.
    pub wake_mean_ns: u64,
    /// Sleeps of at most 10 ms as percent of all sleeps; `None` without sleeps.
    pub io_pct: Option<u32>,
    /// Dispatches per second of real elapsed time.
    pub dispatches_per_sec: u64,
    /// Mean slice of the tasks that started to run, ns; `None` if none did.
    pub effective_slice_ns: Option<u64>,
    /// Gauge: how long the batch queues have waited, ns.
    pub batch_wait_ns: u64,
    /// Gauge: tasks in batch queues.
    pub batch_queued: u64,
    /// Gauge: tasks in interactive queues.
    pub interactive_queued: u64,
    /// Gauge: CPUs running an interactive or latency-critical task.
    pub interactive_running: u32,
    /// Gauge: burst mode is on.
    pub burst: bool,
    /// Gauge: longrun mode is on.
    pub longrun: bool,
    /// CPUs online.
    pub nr_online: u32,
}

impl Sample {
    /// What happened between two readings.
    ///
    /// When they do not belong together (no time passed, a counter went back, CPUs came or went)
    /// every difference is zero, `elapsed_ns` included; the gauges are still those of `later`.
    pub fn between(earlier: &Reading, later: &Reading) -> Sample {
        let gauges = Sample {
            batch_wait_ns: later.batch_wait_ns,
            batch_queued: later.batch_queued,
            interactive_queued: later.interactive_queued,
            interactive_running: later.interactive_running,
            burst: later.burst,
            longrun: later.longrun,
            nr_online: later.nr_online,
            ..Sample::default()
        };
        if !is_continuous(earlier, later) {
            return gauges;
        }
        let Some((wake, all)) = Latencies::between(&earlier.wake, &later.wake) else {
            return gauges;
        };
        let elapsed_ns = later.at_ns.saturating_sub(earlier.at_ns);
        let counters = later.counters.saturating_sub(&earlier.counters);
        let slice_sum_ns = later.slice_sum_ns.saturating_sub(earlier.slice_sum_ns);
        let wake_sum_ns = later.wake_sum_ns.saturating_sub(earlier.wake_sum_ns);
        Sample {
            elapsed_ns,
            idle_permille: idle_permille(earlier, later, elapsed_ns),
            counters,
            wakes: wake.each_ref().map(Latencies::count),
            p99_ns: wake.each_ref().map(|tier| tier.percentile_ns(990)),
            p99_all_ns: all.percentile_ns(990),
            p50_all_ns: all.percentile_ns(500),
            wake_mean_ns: wake_sum_ns.checked_div(all.count()).unwrap_or(0),
            io_pct: io_pct(&earlier.sleep, &later.sleep),
            dispatches_per_sec: per_second(counters.dispatches, elapsed_ns),
            effective_slice_ns: slice_sum_ns.checked_div(counters.dispatches),
            ..gauges
        }
    }
}

/// Whether `later - earlier` means something, as far as anything but the histograms says.
fn is_continuous(earlier: &Reading, later: &Reading) -> bool {
    let same_cpus = earlier.nr_online == 0 || earlier.nr_online == later.nr_online;
    let mut sleeps = earlier.sleep.iter().zip(&later.sleep);
    same_cpus
        && later.at_ns > earlier.at_ns
        && later.busy_ns >= earlier.busy_ns
        && later.wake_sum_ns >= earlier.wake_sum_ns
        && later.slice_sum_ns >= earlier.slice_sum_ns
        && !later.counters.is_behind(&earlier.counters)
        && sleeps.all(|(before, now)| now >= before)
}

fn idle_permille(earlier: &Reading, later: &Reading, elapsed_ns: u64) -> u32 {
    let busy_ns = u128::from(later.busy_ns.saturating_sub(earlier.busy_ns));
    let cpu_ns = u128::from(elapsed_ns) * u128::from(later.nr_online.max(1));
    1000 - per_mille(busy_ns, cpu_ns)
}

fn io_pct(earlier: &[u64; 4], later: &[u64; 4]) -> Option<u32> {
    let slept: [u128; 4] = std::array::from_fn(|i| u128::from(later[i].saturating_sub(earlier[i])));
    let all: u128 = slept.iter().sum();
    (all > 0).then(|| per_mille(slept[0] + slept[1], all) / 10)
}

fn per_second(events: u64, elapsed_ns: u64) -> u64 {
    let rate = u128::from(events) * 1_000_000_000 / u128::from(elapsed_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}
