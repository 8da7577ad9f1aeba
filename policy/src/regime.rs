//! How busy the machine is, with hysteresis, and what each regime starts from.

use serde::{Deserialize, Serialize};

use crate::knobs::{AFFINITY_STRONG, AFFINITY_WEAK, Knobs};
use crate::limits::Limits;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Idle share above which the machine becomes LIGHT, permille of all CPU time.
const LIGHT_ENTER: u32 = 500;
/// Idle share below which it stops being LIGHT.
const LIGHT_LEAVE: u32 = 300;
/// Idle share below which the machine becomes HEAVY.
const HEAVY_ENTER: u32 = 100;
/// Idle share above which it stops being HEAVY.
const HEAVY_LEAVE: u32 = 250;

/// The workload regime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Regime {
    /// Mostly idle.
    Light,
    /// In between; also the state before anything is known.
    Mixed,
    /// Saturated.
    Heavy,
}

impl Regime {
    /// The name used in telemetry and on the bus.
    pub fn name(self) -> &'static str {
        match self {
            Regime::Light => "LIGHT",
            Regime::Mixed => "MIXED",
            Regime::Heavy => "HEAVY",
        }
    }

    /// The wake-up latency P99 this regime tolerates, ns.
    pub fn p99_ceiling_ns(self) -> u64 {
        match self {
            Regime::Light => 3 * MS,
            Regime::Mixed => 5 * MS,
            Regime::Heavy => 10 * MS,
        }
    }

    /// The knobs this regime starts from, before any other layer acts.
    pub fn baseline(self, limits: &Limits) -> Knobs {
        let knobs = Knobs::default();
        match self {
            Regime::Light => Knobs {
                slice_ns: 2 * MS,
                preempt_thresh_ns: MS,
                lag_scale: 6,
                cpu_bound_thresh_ns: 5 * MS,
                affinity_mode: AFFINITY_WEAK,
                ..knobs
            },
            Regime::Mixed => Knobs {
                slice_ns: knobs.slice_ns.min(limits.mixed_slice_cap_ns),
                batch_slice_ns: knobs.batch_slice_ns.min(limits.mixed_batch_cap_ns),
                affinity_mode: AFFINITY_STRONG,
                ..knobs
            },
            Regime::Heavy => Knobs {
                slice_ns: 4 * MS,
                preempt_thresh_ns: 2 * MS,
                lag_scale: 2,
                cpu_bound_thresh_ns: 2_000 * US,
                affinity_mode: AFFINITY_WEAK,
                ..knobs
            },
        }
    }

    /// Where one reading of the idle share alone would lead from here.
    fn pull(self, idle_permille: u32) -> Regime {
        match self {
            Regime::Light if idle_permille >= LIGHT_LEAVE => Regime::Light,
            Regime::Heavy if idle_permille <= HEAVY_LEAVE => Regime::Heavy,
            _ if idle_permille > LIGHT_ENTER => Regime::Light,
            _ if idle_permille < HEAVY_ENTER => Regime::Heavy,
            _ => Regime::Mixed,
        }
    }
}

/// A Schmitt trigger over the idle share: a change needs two ticks in a row that ask for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegimeDetector {
    regime: Regime,
    pending: Option<Regime>,
}

impl Default for RegimeDetector {
    fn default() -> Self {
        Self::new()
    }
}

impl RegimeDetector {
    /// A detector that starts in MIXED.
    pub fn new() -> Self {
        RegimeDetector {
            regime: Regime::Mixed,
            pending: None,
        }
    }

    /// Feeds one tick's idle share, 0..=1000 permille, and returns the regime after it.
    pub fn step(&mut self, idle_permille: u32) -> Regime {
        let wanted = self.regime.pull(idle_permille);
        if wanted == self.regime {
            self.pending = None;
            return self.regime;
        }
        match self.pending {
            Some(before) => {
                // Two ticks that agree on leaving but not on where to lead to the middle; waiting
                // for agreement would let an alternating load hold the old regime for ever.
                let target = if before == wanted {
                    wanted
                } else {
                    Regime::Mixed
                };
                self.pending = (target == self.regime).then_some(wanted);
                self.regime = target;
            }
            None => self.pending = Some(wanted),
        }
        self.regime
    }

    /// The current regime.
    pub fn regime(&self) -> Regime {
        self.regime
    }

    /// Forgets a change that has been asked for only once.
    pub fn forget_pending(&mut self) {
        self.pending = None;
    }
}
