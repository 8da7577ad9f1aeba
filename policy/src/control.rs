//! The control loop's decision: one tick's sample in, regime and knobs out.
//!
//! The layers act in this order: regime baseline, batch slice by sleep pattern, sojourn threshold by
//! dispatch rate, tighten, relax, longrun. A later layer may override an earlier one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::knobs::{AFFINITY_WEAK, Knobs};
use crate::limits::Limits;
use crate::regime::{Regime, RegimeDetector};
use crate::sample::Sample;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Tightening never goes below this slice.
const SLICE_FLOOR_NS: u64 = 500 * US;
/// One step back towards the baseline.
const RELAX_STEP_NS: u64 = 500 * US;
/// Ticks in a row that must agree before the slice is tightened or relaxed.
const HOLD_TICKS: u32 = 2;
/// Share of short sleeps above which batch slices grow, percent.
const IO_HEAVY_PCT: u32 = 60;
/// Share of short sleeps below which batch slices shrink, percent.
const IDLE_HEAVY_PCT: u32 = 15;
/// Sleep tuning never stretches a batch slice beyond this.
const BATCH_CEILING_NS: u64 = 25 * MS;

/// Who decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The BPF half schedules, the control loop adjusts its knobs every tick.
    #[default]
    Adaptive,
    /// The BPF half schedules with default knobs.
    Bpf,
    /// The kernel's own scheduler runs.
    Off,
}

impl Mode {
    /// Every mode, in the order in which they are offered.
    pub const ALL: [Mode; 3] = [Mode::Adaptive, Mode::Bpf, Mode::Off];

    /// The name used on the bus, in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Adaptive => "adaptive",
            Mode::Bpf => "bpf",
            Mode::Off => "off",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A mode name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMode(pub String);

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Mode::ALL.map(Mode::name).join(", ");
        write!(f, "unknown mode {:?}, expected one of: {names}", self.0)
    }
}

impl std::error::Error for UnknownMode {}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Mode::ALL.into_iter().find(|mode| mode.name() == name);
        known.ok_or_else(|| UnknownMode(name.to_owned()))
    }
}

/// What one tick came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The regime after this tick.
    pub regime: Regime,
    /// The knobs to write, each inside its range.
    pub knobs: Knobs,
    /// The last layer that changed something, for debug logs.
    pub reason: &'static str,
}

/// State of the control loop between ticks.
#[derive(Clone, Debug)]
pub struct Control {
    limits: Limits,
    detector: RegimeDetector,
    knobs: Knobs,
    sojourn_ns: u64,
    slice: SliceState,
    discard_next: bool,
}

/// How far the slice is from its baseline, and how long latency has been good or bad.
#[derive(Clone, Copy, Debug, Default)]
struct SliceState {
    /// The regime the slice belongs to; `None` starts over at the next baseline.
    regime: Option<Regime>,
    slice_ns: u64,
    bad_ticks: u32,
    good_ticks: u32,
}

impl Control {
    /// A loop that has seen nothing: MIXED, default knobs.
    pub fn new(limits: Limits) -> Control {
        let knobs = Knobs::default();
        Control {
            limits,
            detector: RegimeDetector::new(),
            knobs,
            sojourn_ns: into_sojourn_bounds(knobs.sojourn_thresh_ns, &limits),
            slice: SliceState::default(),
            discard_next: false,
        }
    }

    /// Takes over other limits after CPUs came or went; the next tick starts from their baseline.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.sojourn_ns = into_sojourn_bounds(self.sojourn_ns, &limits);
        self.slice = SliceState::default();
    }

    /// Decides on one tick. A sample without elapsed time, or the first after
    /// [`Control::discard_window`], leaves regime and knobs as they are.
    pub fn step(&mut self, mode: Mode, sample: &Sample) -> Decision {
        let usable = sample.elapsed_ns > 0 && !std::mem::take(&mut self.discard_next);
        if usable {
            self.detector.step(sample.idle_permille);
        }
        let reason = match mode {
            Mode::Adaptive if usable => self.adapt(sample),
            Mode::Adaptive => "no usable window",
            Mode::Bpf | Mode::Off => {
                self.knobs = Knobs::default();
                self.slice = SliceState::default();
                "mode defaults"
            }
        };
        Decision {
            regime: self.regime(),
            knobs: self.knobs,
            reason,
        }
    }

    /// Ignores the window that is open now: it spans a suspend, or something else that makes its
    /// numbers meaningless. What needs two ticks in a row starts to count anew.
    pub fn discard_window(&mut self) {
        self.discard_next = true;
        self.detector.forget_pending();
        self.slice.bad_ticks = 0;
        self.slice.good_ticks = 0;
    }

    /// The current regime.
    pub fn regime(&self) -> Regime {
        self.detector.regime()
    }

    /// The knobs of the last decision.
    pub fn knobs(&self) -> Knobs {
        self.knobs
    }

    /// The effective sojourn threshold of the adaptive mode, smoothed and inside the limits, ns.
    pub fn sojourn_target_ns(&self) -> u64 {
        self.sojourn_ns
    }

    /// Runs the layers and names the last one that changed something.
    fn adapt(&mut self, sample: &Sample) -> &'static str {
        let regime = self.regime();
        let baseline = regime.baseline(&self.limits);
        let mut knobs = baseline;
        let mut reason = "regime";

        if !sample.longrun {
            knobs.batch_slice_ns = batch_by_sleep_ns(baseline.batch_slice_ns, sample.io_pct);
        }
        if knobs.batch_slice_ns != baseline.batch_slice_ns {
            reason = "sleep";
        }

        let sojourn_ns = next_sojourn_ns(self.sojourn_ns, sample, &self.limits);
        if sojourn_ns != self.sojourn_ns {
            reason = "sojourn";
        }
        self.sojourn_ns = sojourn_ns;
        knobs.sojourn_thresh_ns = sojourn_ns;

        if let Some(acted) = self
            .slice
            .step(regime, baseline.slice_ns, sample.p99_all_ns)
        {
            reason = acted;
        }
        knobs.slice_ns = self.slice.slice_ns;

        if sample.longrun {
            knobs.affinity_mode = AFFINITY_WEAK;
            knobs.batch_slice_ns = baseline.batch_slice_ns;
            reason = "longrun";
        }
        self.knobs = knobs.clamped();
        reason
    }
}

impl SliceState {
    /// Tightens by a quarter after two bad ticks in a row (MIXED only), relaxes by one step on every
    /// tick from the second good one on. A tick without wake-ups kept nobody waiting: it is good.
    fn step(
        &mut self,
        regime: Regime,
        baseline_ns: u64,
        p99_ns: Option<u64>,
    ) -> Option<&'static str> {
        if self.regime != Some(regime) {
            *self = SliceState {
                regime: Some(regime),
                slice_ns: baseline_ns,
                ..Self::default()
            };
        }
        if p99_ns.is_some_and(|p99_ns| p99_ns > regime.p99_ceiling_ns()) {
            self.good_ticks = 0;
            self.bad_ticks = self.bad_ticks.saturating_add(1);
            if regime == Regime::Mixed && self.bad_ticks >= HOLD_TICKS {
                return self.tighten();
            }
            return None;
        }
        self.bad_ticks = 0;
        self.good_ticks = self.good_ticks.saturating_add(1);
        if self.good_ticks >= HOLD_TICKS && self.slice_ns < baseline_ns {
            self.slice_ns = self.slice_ns.saturating_add(RELAX_STEP_NS).min(baseline_ns);
            return Some("relax");
        }
        None
    }

    /// The count starts over, so that the next step is judged by ticks that ran with this one.
    fn tighten(&mut self) -> Option<&'static str> {
        self.bad_ticks = 0;
        let tighter_ns = (self.slice_ns / 4 * 3)
            .max(SLICE_FLOOR_NS)
            .min(self.slice_ns);
        let changed = tighter_ns != self.slice_ns;
        self.slice_ns = tighter_ns;
        changed.then_some("tighten")
    }
}

/// Batch tasks that mostly wait for I/O get longer slices, so that they finish between two waits;
/// mostly idle ones get shorter slices.
fn batch_by_sleep_ns(base_ns: u64, io_pct: Option<u32>) -> u64 {
    match io_pct {
        Some(pct) if pct > IO_HEAVY_PCT => {
            base_ns.saturating_add(base_ns / 4).min(BATCH_CEILING_NS)
        }
        Some(pct) if pct < IDLE_HEAVY_PCT => base_ns - base_ns / 4,
        _ => base_ns,
    }
}

/// Four dispatch intervals, smoothed (7/8 old, 1/8 new) and kept between floor and ceiling.
///
/// The interval is what one busy CPU needs from one dispatch to the next: busy CPU time divided by
/// dispatches. The wall-clock interval of the whole machine is microseconds long under any load and
/// would pin the threshold to its floor. This one is about the length of the slices being used:
/// short wake-ups pull the threshold down to the floor, long slices push it up to the ceiling.
fn next_sojourn_ns(current_ns: u64, sample: &Sample, limits: &Limits) -> u64 {
    let busy_permille = u128::from(1000u32.saturating_sub(sample.idle_permille));
    let cpus = u128::from(sample.nr_online.max(1));
    let busy_ns = u128::from(sample.elapsed_ns) * cpus * busy_permille / 1000;
    let Some(interval_ns) = busy_ns.checked_div(u128::from(sample.counters.dispatches)) else {
        return current_ns;
    };
    let target_ns = u64::try_from(interval_ns * 4).unwrap_or(u64::MAX);
    // Clamping the target first keeps one odd tick from moving the average for many more.
    let target_ns = into_sojourn_bounds(target_ns, limits);
    // Rounding the step up lets the average arrive at the bounds.
    let step_ns = target_ns.abs_diff(current_ns).div_ceil(8);
    let next_ns = if target_ns > current_ns {
        current_ns + step_ns
    } else {
        current_ns - step_ns
    };
    into_sojourn_bounds(next_ns, limits)
}

fn into_sojourn_bounds(ns: u64, limits: &Limits) -> u64 {
    ns.max(limits.sojourn_floor_ns)
        .min(limits.sojourn_ceiling_ns)
}
