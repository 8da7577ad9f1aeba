//! The file that drives the scripted kernel, and the load it describes.

use std::path::PathBuf;

use pandemonium_policy::{Counters, Cpu, Histogram, Reading, Topology};
use serde::Deserialize;

const SECOND_NS: u64 = 1_000_000_000;

/// A whole script. Every key has a default, so an empty file is an idle four-CPU machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// CPUs of the pretended machine.
    pub nr_cpus: u32,
    /// Highest frequency of each CPU in kHz; unknown for those that are not listed.
    pub max_khz: Vec<u64>,
    /// A directory that stands for /sys when the power profile is read.
    pub sysfs: Option<PathBuf>,
    /// A file that every attach, setting and prediction is appended to, a line each.
    pub record: Option<PathBuf>,
    /// Writing into the kernel half fails.
    pub write_error: bool,
    /// Real milliseconds between two ticks of the daemon; each still reads as one second of load.
    pub tick_ms: u64,
    /// Real milliseconds that stand for the first back-off second.
    pub backoff_ms: u64,
    /// Real milliseconds that attaching takes.
    pub attach_ms: u64,
    /// What the next attempts to attach lead to; afterwards they succeed.
    pub attach: Vec<Outcome>,
    /// Another scheduler that is loaded while ours is not.
    pub foreign: Option<String>,
    /// The kernel is about to take the other scheduler off.
    pub foreign_leaves: bool,
    /// The kernel has no sched_ext.
    pub unsupported: bool,
    /// The load, one step after the other; the last one lasts for ever.
    pub step: Vec<Step>,
}

impl Default for Script {
    fn default() -> Self {
        Script {
            nr_cpus: 4,
            max_khz: Vec::new(),
            sysfs: None,
            record: None,
            write_error: false,
            tick_ms: 1_000,
            backoff_ms: 1_000,
            attach_ms: 0,
            attach: Vec::new(),
            foreign: None,
            foreign_leaves: false,
            unsupported: false,
            step: Vec::new(),
        }
    }
}

impl Script {
    /// The pretended machine: every CPU is a core of its own, all share one last-level cache.
    pub fn topology(&self) -> Topology {
        let cpu = |id: u32| Cpu {
            id,
            online: true,
            core: id,
            l2: id,
            l3: 0,
            node: 0,
            max_khz: self.max_khz.get(id as usize).copied().unwrap_or(0),
        };
        Topology {
            cpus: (0..self.nr_cpus.max(1)).map(cpu).collect(),
        }
    }
}

/// What an attempt to attach leads to.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Attached.
    Ok,
    /// The kernel refuses.
    Load,
    /// The privileges are missing.
    Permission,
}

/// One stretch of load.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// Ticks it lasts.
    pub ticks: u32,
    /// Idle share, 0..=1000.
    pub idle_permille: u64,
    /// Dispatches per tick.
    pub dispatches: u64,
    /// Slice that each of them is granted.
    pub slice_us: u64,
    /// Typical wake-up latency by tier: batch, interactive, latency-critical.
    pub latency_us: [u64; 3],
    /// Wake-ups per tick by tier.
    pub wakes: [u64; 3],
    /// Short sleeps as percent of all.
    pub io_percent: u64,
    /// How long the batch queues have waited.
    pub batch_wait_us: u64,
    /// CPUs that run an interactive or latency-critical task.
    pub interactive_running: u32,
    /// Events per tick that do not follow from the rest.
    pub count: Counts,
    /// A fork storm is on.
    pub burst: bool,
    /// Batch work has been waiting for seconds.
    pub longrun: bool,
    /// Reading the counters fails.
    pub read_error: bool,
    /// Tasks observed in every tick of the step.
    pub observe: Vec<Seen>,
    /// The kernel ends the scheduler in the step's first tick.
    pub exit: Option<ScriptedExit>,
}

impl Default for Step {
    fn default() -> Self {
        Step {
            ticks: 1,
            idle_permille: 800,
            dispatches: 20_000,
            slice_us: 2_000,
            latency_us: [200, 50, 20],
            wakes: [100, 200, 100],
            io_percent: 50,
            batch_wait_us: 500,
            interactive_running: 1,
            count: Counts::default(),
            burst: false,
            longrun: false,
            read_error: false,
            observe: Vec::new(),
            exit: None,
        }
    }
}

/// Events per tick, by the names of [`Counters`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // Documented in the policy.
pub struct Counts {
    pub warm_starts: u64,
    pub boosts: u64,
    pub boosts_spent: u64,
    pub bursts_cusum: u64,
    pub bursts_wakeups: u64,
    pub guarded: u64,
    pub domain_spills: u64,
    pub local_kthreads: u64,
    pub l2_placements: u64,
    pub strong_waits: u64,
}

impl Counts {
    fn add_to(&self, counters: &mut Counters) {
        counters.warm_starts += self.warm_starts;
        counters.boosts += self.boosts;
        counters.boosts_spent += self.boosts_spent;
        counters.bursts_cusum += self.bursts_cusum;
        counters.bursts_wakeups += self.bursts_wakeups;
        counters.guarded += self.guarded;
        counters.domain_spills += self.domain_spills;
        counters.local_kthreads += self.local_kthreads;
        counters.l2_placements += self.l2_placements;
        counters.strong_waits += self.strong_waits;
    }
}

/// One observed task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Its name; cut after 15 bytes.
    pub comm: String,
    /// Its tier.
    pub tier: pandemonium_policy::Tier,
    /// Its average run, microseconds.
    #[serde(default)]
    pub avg_us: u64,
}

/// An end of the scheduler, as the kernel would report it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedExit {
    /// As [`super::Exit::kind`].
    pub kind: String,
    /// As [`super::Exit::code`].
    pub code: i64,
    /// As [`super::Exit::reason`].
    pub reason: String,
    /// As [`super::Exit::message`].
    pub message: String,
    /// As [`super::Exit::retry`].
    pub retry: bool,
}

/// The script and how far it has been played.
pub struct Stage {
    /// What is played.
    pub script: Script,
    /// Attempts to attach so far.
    pub attempts: usize,
    ticks: u32,
    step: usize,
}

impl Stage {
    /// The beginning of a script.
    pub fn new(script: Script) -> Stage {
        Stage {
            script,
            attempts: 0,
            ticks: 0,
            step: 0,
        }
    }

    /// The step of this tick, whether it is the step's first tick, and the CPU count.
    pub fn advance(&mut self) -> (Step, bool, u32) {
        if self
            .script
            .step
            .get(self.step)
            .is_some_and(|step| self.ticks >= step.ticks.max(1))
            && self.step + 1 < self.script.step.len()
        {
            self.step += 1;
            self.ticks = 0;
        }
        let step = self.script.step.get(self.step).cloned().unwrap_or_default();
        let is_first_tick = self.ticks == 0;
        self.ticks = self.ticks.saturating_add(1);
        (step, is_first_tick, self.script.nr_cpus.max(1))
    }
}

/// Adds one second of the step's load to the cumulative reading.
pub fn play(reading: &mut Reading, step: &Step, nr_cpus: u32) {
    let idle_permille = step.idle_permille.min(1_000);
    reading.at_ns += SECOND_NS;
    reading.nr_online = nr_cpus;
    reading.busy_ns += u64::from(nr_cpus) * SECOND_NS / 1_000 * (1_000 - idle_permille);
    let counters = &mut reading.counters;
    let idle_placements = step.dispatches * idle_permille / 1_000;
    counters.dispatches += step.dispatches;
    counters.idle_placements += idle_placements;
    counters.shared += step.dispatches - idle_placements;
    counters.tick_preempts += step.dispatches / 1_000;
    counters.keeps += step.dispatches / 500;
    counters.kicks_hard += step.dispatches / 30;
    counters.kicks_soft += step.dispatches / 10;
    counters.wakeups += step.wakes.iter().sum::<u64>();
    counters.requeues += step.dispatches / 10;
    step.count.add_to(counters);
    for tier in 0..3 {
        counters.l2_hits[tier] += step.dispatches / 4;
        counters.l2_misses[tier] += step.dispatches / 12;
        for wake in 0..step.wakes[tier] {
            // Spread over half to one and a half times the typical latency, always the same way.
            let ns = step.latency_us[tier] * (500 + wake * 37 % 1_000);
            Histogram::record(&mut reading.wake[tier], ns);
            reading.wake_sum_ns += ns;
        }
    }
    reading.slice_sum_ns += step.dispatches * step.slice_us * 1_000;
    let short_sleeps = step.io_percent.min(100);
    reading.sleep[0] += short_sleeps;
    reading.sleep[3] += 100 - short_sleeps;
    reading.batch_wait_ns = step.batch_wait_us * 1_000;
    reading.batch_queued = u64::from(step.longrun) * 8;
    reading.interactive_running = step.interactive_running.min(nr_cpus);
    reading.burst = step.burst;
    reading.longrun = step.longrun;
}
