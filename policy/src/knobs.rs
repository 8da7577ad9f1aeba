//! Every knob of the BPF half: default, range, unit and meaning. Defaults are written nowhere else.

use serde::Serialize;

/// What is known about one knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KnobSpec {
    /// Field name in [`Knobs`], on the bus and in the BPF object.
    pub name: &'static str,
    /// `ns`, or empty for a plain number.
    pub unit: &'static str,
    /// Value in BPF-only mode and before the first tick.
    pub default: u64,
    /// Smallest accepted value.
    pub min: u64,
    /// Largest accepted value.
    pub max: u64,
    /// What the knob does, one line.
    pub meaning: &'static str,
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

const SLICE: KnobSpec = KnobSpec {
    name: "slice_ns",
    unit: "ns",
    default: MS,
    min: 100 * US,
    max: 20 * MS,
    meaning: "longest slice of an interactive or latency-critical task",
};
const PREEMPT_THRESH: KnobSpec = KnobSpec {
    name: "preempt_thresh_ns",
    unit: "ns",
    default: MS,
    min: 0,
    max: 20 * MS,
    meaning: "time on the CPU after which a batch task yields to a waiting interactive one",
};
const LAG_SCALE: KnobSpec = KnobSpec {
    name: "lag_scale",
    unit: "",
    default: 4,
    min: 1,
    max: 16,
    meaning: "how much virtual time a frequently waking task may bank while it sleeps",
};
const BATCH_SLICE: KnobSpec = KnobSpec {
    name: "batch_slice_ns",
    unit: "ns",
    default: 20 * MS,
    min: 500 * US,
    max: 25 * MS,
    meaning: "longest slice of a batch task",
};
const BURST_SLICE: KnobSpec = KnobSpec {
    name: "burst_slice_ns",
    unit: "ns",
    default: MS,
    min: 100 * US,
    max: 20 * MS,
    meaning: "longest slice of an interactive or latency-critical task during a burst or a longrun",
};
const CPU_BOUND_THRESH: KnobSpec = KnobSpec {
    name: "cpu_bound_thresh_ns",
    unit: "ns",
    default: 2_500 * US,
    min: 500 * US,
    max: 100 * MS,
    meaning: "run length between two sleeps above which an interactive task becomes batch",
};
const LAT_CRI_HIGH: KnobSpec = KnobSpec {
    name: "lat_cri_thresh_high",
    unit: "",
    default: 32,
    min: 1,
    max: 255,
    meaning: "latency-criticality score from which a task is latency-critical",
};
const LAT_CRI_LOW: KnobSpec = KnobSpec {
    name: "lat_cri_thresh_low",
    unit: "",
    default: 8,
    min: 1,
    max: 255,
    meaning: "latency-criticality score from which a task is interactive",
};
const AFFINITY_MODE: KnobSpec = KnobSpec {
    name: "affinity_mode",
    unit: "",
    default: AFFINITY_WEAK,
    min: AFFINITY_OFF,
    max: AFFINITY_STRONG,
    meaning: "placement in the second-level cache domain: 0 off, 1 weak, 2 strong",
};
const SOJOURN_THRESH: KnobSpec = KnobSpec {
    name: "sojourn_thresh_ns",
    unit: "ns",
    default: 5 * MS,
    min: MS,
    max: 50 * MS,
    meaning: "wait of the oldest batch task after which it is served before interactive ones",
};

/// `affinity_mode`: ignore the second-level cache.
pub const AFFINITY_OFF: u64 = 0;
/// `affinity_mode`: take an idle sibling in the cache domain if there is one.
pub const AFFINITY_WEAK: u64 = 1;
/// `affinity_mode`: prefer the cache domain over an idle CPU farther away.
pub const AFFINITY_STRONG: u64 = 2;

/// The values BPF reads at its next scheduling decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Knobs {
    /// Longest interactive or latency-critical slice, ns.
    pub slice_ns: u64,
    /// Time on the CPU after which a batch task yields to a waiting interactive one, ns.
    pub preempt_thresh_ns: u64,
    /// Multiplier of the virtual-time credit of sleepers.
    pub lag_scale: u64,
    /// Longest batch slice, ns.
    pub batch_slice_ns: u64,
    /// Longest interactive or latency-critical slice during a burst or a longrun, ns.
    pub burst_slice_ns: u64,
    /// Run length between two sleeps that makes a task batch, ns.
    pub cpu_bound_thresh_ns: u64,
    /// Score from which a task is latency-critical, 1..=255.
    pub lat_cri_thresh_high: u64,
    /// Score from which a task is interactive, 1..=255, at most `lat_cri_thresh_high`.
    pub lat_cri_thresh_low: u64,
    /// [`AFFINITY_OFF`], [`AFFINITY_WEAK`] or [`AFFINITY_STRONG`].
    pub affinity_mode: u64,
    /// Wait of the oldest batch task that triggers its rescue, ns.
    pub sojourn_thresh_ns: u64,
}

impl Default for Knobs {
    fn default() -> Self {
        Knobs {
            slice_ns: SLICE.default,
            preempt_thresh_ns: PREEMPT_THRESH.default,
            lag_scale: LAG_SCALE.default,
            batch_slice_ns: BATCH_SLICE.default,
            burst_slice_ns: BURST_SLICE.default,
            cpu_bound_thresh_ns: CPU_BOUND_THRESH.default,
            lat_cri_thresh_high: LAT_CRI_HIGH.default,
            lat_cri_thresh_low: LAT_CRI_LOW.default,
            affinity_mode: AFFINITY_MODE.default,
            sojourn_thresh_ns: SOJOURN_THRESH.default,
        }
    }
}

impl Knobs {
    /// Every knob, in field order.
    pub const SPECS: &'static [KnobSpec] = &[
        SLICE,
        PREEMPT_THRESH,
        LAG_SCALE,
        BATCH_SLICE,
        BURST_SLICE,
        CPU_BOUND_THRESH,
        LAT_CRI_HIGH,
        LAT_CRI_LOW,
        AFFINITY_MODE,
        SOJOURN_THRESH,
    ];

    /// The same knobs with every value inside its range, and the lower score threshold not above
    /// the higher one.
    pub fn clamped(self) -> Knobs {
        let fit = |value: u64, spec: &KnobSpec| value.clamp(spec.min, spec.max);
        let lat_cri_thresh_high = fit(self.lat_cri_thresh_high, &LAT_CRI_HIGH);
        Knobs {
            slice_ns: fit(self.slice_ns, &SLICE),
            preempt_thresh_ns: fit(self.preempt_thresh_ns, &PREEMPT_THRESH),
            lag_scale: fit(self.lag_scale, &LAG_SCALE),
            batch_slice_ns: fit(self.batch_slice_ns, &BATCH_SLICE),
            burst_slice_ns: fit(self.burst_slice_ns, &BURST_SLICE),
            cpu_bound_thresh_ns: fit(self.cpu_bound_thresh_ns, &CPU_BOUND_THRESH),
            lat_cri_thresh_high,
            lat_cri_thresh_low: fit(self.lat_cri_thresh_low, &LAT_CRI_LOW).min(lat_cri_thresh_high),
            affinity_mode: fit(self.affinity_mode, &AFFINITY_MODE),
            sojourn_thresh_ns: fit(self.sojourn_thresh_ns, &SOJOURN_THRESH),
        }
    }

    /// The value of the knob called `name`, as in [`Knobs::SPECS`].
    pub fn get(&self, name: &str) -> Option<u64> {
        Some(match name {
            "slice_ns" => self.slice_ns,
            "preempt_thresh_ns" => self.preempt_thresh_ns,
            "lag_scale" => self.lag_scale,
            "batch_slice_ns" => self.batch_slice_ns,
            "burst_slice_ns" => self.burst_slice_ns,
            "cpu_bound_thresh_ns" => self.cpu_bound_thresh_ns,
            "lat_cri_thresh_high" => self.lat_cri_thresh_high,
            "lat_cri_thresh_low" => self.lat_cri_thresh_low,
            "affinity_mode" => self.affinity_mode,
            "sojourn_thresh_ns" => self.sojourn_thresh_ns,
            _ => return None,
        })
    }
}
