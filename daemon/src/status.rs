//! Everything the daemon publishes, as one plain value.

use std::collections::BTreeMap;
use std::sync::Arc;

use pandemonium_api::{HoldRow, LastExit, Snapshot, escape, state};
use pandemonium_policy::limits::{BURST_WINDOW_NS, LONGRUN_NS, Limits};
use pandemonium_policy::{
    Counters, CpuSet, Knobs, Mode, Pattern, PowerProfile, PowerSituation, PowerSource, Profile,
    Profiles, Regime, Sample,
};

use crate::choices::Choices;
use crate::clock::realtime_usec;
use crate::kernel::{Exit, KernelStatus};

/// Exits that the report shows.
const MAX_EXITS: usize = 8;

/// The life of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Not loaded, on request or because it failed.
    #[default]
    Stopped,
    /// Being loaded.
    Starting,
    /// Loaded.
    Running,
    /// Ended by the kernel.
    Ejected,
    /// Another scheduler is loaded.
    Conflict,
    /// The kernel takes no scheduler.
    Unsupported,
}

impl State {
    /// The name on the bus.
    pub fn name(self) -> &'static str {
        match self {
            State::Stopped => state::STOPPED,
            State::Starting => state::STARTING,
            State::Running => state::RUNNING,
            State::Ejected => state::EJECTED,
            State::Conflict => state::CONFLICT,
            State::Unsupported => state::UNSUPPORTED,
        }
    }
}

/// What is published. Equal values need no signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// The life of the scheduler.
    pub state: State,
    /// One sentence on why; empty while running.
    pub reason: String,
    /// The mode to be in.
    pub target: Mode,
    /// Who or what decided that.
    pub why: String,
    /// The mode that was asked for last.
    pub requested: Mode,
    /// The programs that hold a mode, the newest last.
    pub holds: Vec<HoldRow>,
    /// How often holds were cancelled since the daemon started.
    pub cancellations: u64,
    /// The last time that happened.
    pub last_cancelled: Cancelled,
    /// The mode that a start would lead to now.
    pub start_mode: Mode,
    /// The mode that the next start of the daemon takes.
    pub boot_mode: Mode,
    /// When the mode goes back unless it is confirmed, CLOCK_REALTIME microseconds; 0 for never.
    pub confirm_usec: u64,
    /// Whether a mode waits for a confirmation, and whether confirming it means remembering it.
    pub trial: Option<bool>,
    /// The mode that is wanted again if it is not confirmed.
    pub revert_mode: Mode,
    /// How often an unconfirmed mode went back since the daemon started.
    pub reverts: u64,
    /// The last time that happened.
    pub last_revert: Revert,
    /// The kernel's own words.
    pub kernel: KernelStatus,
    /// Why the kernel last ended the scheduler.
    pub last_exit: LastExit,
    /// The last few of these, the newest last.
    pub exits: Vec<LastExit>,
    /// How often the kernel has done so since the daemon started.
    pub ejections: u64,
    /// Automatic returns since the daemon started.
    pub restarts: u32,
    /// When the next automatic return is tried, CLOCK_REALTIME microseconds; 0 for never.
    pub next_retry_usec: u64,
    /// What was chosen; shared, because every tick publishes it and hardly any has changed it.
    pub choices: Arc<Choices>,
    /// The CPUs that the primary domain stands for on this machine; `None` for every CPU.
    pub domain: Option<CpuSet>,
    /// What is known about power.
    pub power: PowerSituation,
    /// Sentences about things that work less well than they could.
    pub warnings: Vec<String>,
    /// The last tick while running.
    pub tick: Option<Tick>,
    /// How many programs are known.
    pub profiles: u32,
    /// What was learned.
    pub learned: Learned,
}

impl Status {
    /// The kernel ended the scheduler.
    pub fn note_exit(&mut self, exit: LastExit) {
        self.ejections += 1;
        if self.exits.len() == MAX_EXITS {
            self.exits.remove(0);
        }
        self.exits.push(exit.clone());
        self.last_exit = exit;
    }

    /// The mode in effect, which is `off` whenever the scheduler is not loaded.
    pub fn mode(&self) -> Mode {
        if self.state == State::Running {
            self.target
        } else {
            Mode::Off
        }
    }

    /// Who or what decided the mode in effect.
    pub fn mode_reason(&self) -> &str {
        match self.state {
            State::Running => &self.why,
            _ if self.target == Mode::Off => &self.why,
            state => state.name(),
        }
    }

    /// The names of compositors, sorted as text.
    pub fn compositor_texts(&self) -> Vec<String> {
        let mut texts: Vec<_> = self
            .choices
            .compositors
            .iter()
            .map(Pattern::to_string)
            .collect();
        texts.sort_unstable();
        texts
    }

    /// The mask of the primary domain, empty for every CPU.
    pub fn domain_text(&self) -> String {
        self.domain.map(|cpus| cpus.to_string()).unwrap_or_default()
    }

    /// The power map by name.
    pub fn power_map_texts(&self) -> BTreeMap<String, String> {
        let entries = self.choices.power_map.entries();
        entries
            .map(|(key, domain)| (key.to_owned(), domain.to_string()))
            .collect()
    }

    /// Where power comes from, empty if nobody says.
    pub fn power_source(&self) -> &'static str {
        self.power.source.map_or("", PowerSource::name)
    }

    /// The power profile, empty if nobody says.
    pub fn power_profile(&self) -> &'static str {
        self.power.profile.map_or("", PowerProfile::name)
    }

    /// The text of `systemctl status`.
    pub fn sentence(&self) -> String {
        match self.state {
            State::Running => {
                let regime = self.regime();
                let comma = if regime.is_empty() { "" } else { ", " };
                ["running, ", self.target.name(), comma, regime].concat()
            }
            state if self.reason.is_empty() => state.name().to_owned(),
            state => format!("{}: {}", state.name(), self.reason),
        }
    }

    /// The regime by name; empty while not running.
    pub fn regime(&self) -> &'static str {
        self.tick.as_ref().map_or("", |tick| tick.regime.name())
    }

    /// A fork storm is on.
    pub fn burst(&self) -> bool {
        self.tick.as_ref().is_some_and(|tick| tick.sample.burst)
    }

    /// Batch work has been waiting for seconds.
    pub fn longrun(&self) -> bool {
        self.tick.as_ref().is_some_and(|tick| tick.sample.longrun)
    }

    /// When the last tick ended, CLOCK_REALTIME microseconds; 0 while not running.
    pub fn sampled_usec(&self) -> u64 {
        self.tick.as_ref().map_or(0, |tick| tick.sampled_usec)
    }

    /// The last tick as it is published, without its dictionaries.
    pub fn numbers(&self) -> Snapshot {
        Snapshot {
            state: self.state.name().to_owned(),
            mode: self.mode().name().to_owned(),
            profiles: self.profiles,
            confident_profiles: self.learned.confident,
            ..self.tick.as_ref().map(Tick::numbers).unwrap_or_default()
        }
    }

    /// The last tick as it is published. Naming every counter is work, so this is for those who ask.
    pub fn snapshot(&self) -> Snapshot {
        let numbers = self.numbers();
        let Some(tick) = &self.tick else {
            return numbers;
        };
        Snapshot {
            counters: named_counters(&tick.sample.counters),
            totals: named_counters(&tick.totals),
            knobs: named_knobs(&tick.knobs),
            limits: named_limits(&tick.limits),
            ..numbers
        }
    }
}

/// A second of the control loop: what was counted, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// When it ended, CLOCK_REALTIME microseconds.
    pub sampled_usec: u64,
    /// What happened.
    pub sample: Sample,
    /// Every count since the attach.
    pub totals: Counters,
    /// The regime after it.
    pub regime: Regime,
    /// The layer of the control loop that acted last.
    pub decided_by: &'static str,
    /// The knobs in effect.
    pub knobs: Knobs,
    /// The limits in effect.
    pub limits: Limits,
}

impl Tick {
    fn numbers(&self) -> Snapshot {
        let sample = &self.sample;
        let tiers = |values: [u64; 3]| (values[0], values[1], values[2]);
        let has_wakes = sample.wakes.iter().any(|wakes| *wakes > 0);
        Snapshot {
            sampled_usec: self.sampled_usec,
            elapsed_nsec: sample.elapsed_ns,
            regime: self.regime.name().to_owned(),
            burst: sample.burst,
            longrun: sample.longrun,
            decided_by: self.decided_by.to_owned(),
            online_cpus: sample.nr_online,
            idle_permille: sample.idle_permille,
            dispatches_per_sec: sample.dispatches_per_sec,
            effective_slice_nsec: sample.effective_slice_ns,
            wake_mean_nsec: has_wakes.then_some(sample.wake_mean_ns),
            p50_nsec: sample.p50_all_ns,
            p99_nsec: sample.p99_all_ns,
            p99_by_tier_nsec: tiers(sample.p99_ns.map(Option::unwrap_or_default)),
            wakes_by_tier: tiers(sample.wakes),
            io_percent: sample.io_pct,
            batch_wait_nsec: sample.batch_wait_ns,
            batch_queued: sample.batch_queued,
            interactive_queued: sample.interactive_queued,
            interactive_running: sample.interactive_running,
            l2_hits: tiers(sample.counters.l2_hits),
            l2_misses: tiers(sample.counters.l2_misses),
            ..Snapshot::default()
        }
    }
}

/// An unconfirmed mode that went back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revert {
    /// What was to be confirmed.
    pub from: Mode,
    /// What is wanted again.
    pub to: Mode,
    /// One of [`pandemonium_api::revert::ALL`].
    pub reason: &'static str,
}

/// Holds that were cancelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cancelled {
    /// By whom.
    pub by: String,
    /// What they were.
    pub holds: Vec<HoldRow>,
}

/// The learned profiles as of some generation; shared, because they are many and change rarely.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// The profiles, in the order of their names.
    pub profiles: Arc<Vec<Profile>>,
    /// How many of them are sure enough to be used.
    pub confident: u32,
    /// Grows with every change.
    pub generation: u64,
    /// Launches of any program so far.
    pub launches: u64,
}

impl Learned {
    /// What this table holds now.
    pub fn of(profiles: &Profiles) -> Learned {
        Learned {
            profiles: Arc::new(profiles.iter().cloned().collect()),
            confident: u32::try_from(profiles.confident_count()).unwrap_or(u32::MAX),
            generation: profiles.generation(),
            launches: profiles.launches(),
        }
    }
}

/// The kernel's exit as it is published: stamped, printable and bounded.
pub fn last_exit(exit: &Exit) -> LastExit {
    LastExit {
        usec: realtime_usec(),
        kind: escape(exit.kind.as_bytes(), 64),
        code: exit.code,
        reason: escape(exit.reason.as_bytes(), 256),
        message: escape(exit.message.as_bytes(), 1024),
    }
}

/// The kernel's words made printable and bounded: the name of a scheduler is somebody else's choice.
pub fn printable(status: KernelStatus) -> KernelStatus {
    KernelStatus {
        state: escape(status.state.as_bytes(), 32),
        ops: escape(status.ops.as_bytes(), 128),
        enable_seq: status.enable_seq,
    }
}

fn named_knobs(knobs: &Knobs) -> BTreeMap<String, u64> {
    let named = |spec: &pandemonium_policy::knobs::KnobSpec| {
        knobs
            .get(spec.name)
            .map(|value| (spec.name.to_owned(), value))
    };
    Knobs::SPECS.iter().filter_map(named).collect()
}

/// What the kernel half knows of the limits, by the names it has for them.
pub fn named_limits(limits: &Limits) -> BTreeMap<String, u64> {
    [
        ("overflow_rescue_ns", limits.overflow_rescue_ns),
        ("starvation_rescue_ns", limits.starvation_rescue_ns),
        ("vtime_ceiling_ns", limits.vtime_ceiling_ns),
        ("longrun_ns", LONGRUN_NS),
        ("burst_window_ns", BURST_WINDOW_NS),
        ("burst_wakeups", limits.burst_wakeups.into()),
        ("deficit_budget", limits.deficit_budget.into()),
        ("longrun_budget", limits.longrun_budget.into()),
        ("interactive_max", limits.interactive_max.into()),
        ("placement_depth", limits.placement_depth.into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Every counter by the name it has on the bus.
pub fn named_counters(counters: &Counters) -> BTreeMap<String, u64> {
    // Taking the struct apart makes a counter that is forgotten here an error of the compiler.
    let Counters {
        dispatches,
        idle_placements,
        shared,
        tick_preempts,
        keeps,
        kicks_hard,
        kicks_soft,
        wakeups,
        requeues,
        overflow_rescues,
        starvation_rescues,
        sojourn_rescues,
        deficit_forced,
        steals,
        drained,
        observations_lost,
        warm_starts,
        boosts,
        boosts_spent,
        bursts_cusum,
        bursts_wakeups,
        guarded,
        domain_spills,
        local_kthreads,
        l2_placements,
        strong_waits,
        l2_hits,
        l2_misses,
    } = *counters;
    [
        ("dispatches", dispatches),
        ("idle_placements", idle_placements),
        ("shared", shared),
        ("tick_preempts", tick_preempts),
        ("keeps", keeps),
        ("kicks_hard", kicks_hard),
        ("kicks_soft", kicks_soft),
        ("wakeups", wakeups),
        ("requeues", requeues),
        ("overflow_rescues", overflow_rescues),
        ("starvation_rescues", starvation_rescues),
        ("sojourn_rescues", sojourn_rescues),
        ("deficit_forced", deficit_forced),
        ("steals", steals),
        ("drained", drained),
        ("observations_lost", observations_lost),
        ("warm_starts", warm_starts),
        ("boosts", boosts),
        ("boosts_spent", boosts_spent),
        ("bursts_cusum", bursts_cusum),
        ("bursts_wakeups", bursts_wakeups),
        ("guarded", guarded),
        ("domain_spills", domain_spills),
        ("local_kthreads", local_kthreads),
        ("l2_placements", l2_placements),
        ("strong_waits", strong_waits),
        ("l2_hits", l2_hits.iter().sum()),
        ("l2_misses", l2_misses.iter().sum()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
