//! What people choose and the kernel half follows at once, without a tick of the control loop.

use std::collections::BTreeSet;

use crate::cpuset::CpuSet;
use crate::pattern::Pattern;

/// The choices in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Idle CPUs are found by the masks of [`IdleLayout`](crate::idle_layout::IdleLayout); otherwise
    /// the kernel's own search is used.
    pub idle_selector: bool,
    /// Kernel threads bound to one CPU go straight to it.
    pub local_kthreads: bool,
    /// Added to the virtual-time credit of sleepers, ns; within
    /// ±[`Settings::SLICE_LAG_MAX_NS`], negative takes credit away.
    pub slice_lag_ns: i64,
    /// The primary domain; `None` is every CPU.
    pub domain: Option<CpuSet>,
    /// Task names that are treated as compositors.
    pub compositors: Vec<Pattern>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            idle_selector: true,
            local_kthreads: false,
            slice_lag_ns: 0,
            domain: None,
            compositors: Pattern::defaults(),
        }
    }
}

impl Settings {
    /// The largest slice lag in either direction, ns.
    pub const SLICE_LAG_MAX_NS: i64 = 20_000_000;

    /// The same settings inside what the kernel half holds: the lag in its range, no empty domain,
    /// and the patterns sorted, each once. Of more than [`Pattern::MAX`] those named first stay.
    pub fn clamped(self) -> Settings {
        let mut compositors = BTreeSet::new();
        for pattern in self.compositors {
            if compositors.len() < Pattern::MAX {
                compositors.insert(pattern);
            }
        }
        Settings {
            slice_lag_ns: self
                .slice_lag_ns
                .clamp(-Settings::SLICE_LAG_MAX_NS, Settings::SLICE_LAG_MAX_NS),
            domain: self.domain.filter(|cpus| !cpus.is_empty()),
            compositors: compositors.into_iter().collect(),
            ..self
        }
    }
}
