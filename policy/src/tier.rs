//! The three behavioural tiers a task can be in.

use serde::{Deserialize, Serialize};

/// A task's tier. The discriminants are those of `enum tier` in `bpf/intf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Tier {
    /// Runs long, wakes rarely.
    Batch = 0,
    /// Wakes often enough that somebody may be waiting for it.
    Interactive = 1,
    /// Wakes often, runs shortly: compositors, audio, input.
    LatCritical = 2,
}

impl Tier {
    /// Number of tiers; the length of every per-tier array.
    pub const COUNT: usize = 3;
    /// Every tier, in index order.
    pub const ALL: [Tier; Tier::COUNT] = [Tier::Batch, Tier::Interactive, Tier::LatCritical];

    /// The tier's index into per-tier arrays.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The tier with this index, if there is one.
    pub fn from_index(index: usize) -> Option<Tier> {
        Tier::ALL.get(index).copied()
    }

    /// The name used on the bus, in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Batch => "batch",
            Tier::Interactive => "interactive",
            Tier::LatCritical => "lat_critical",
        }
    }
}
