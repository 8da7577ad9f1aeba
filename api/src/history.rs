//! What `Metrics1.GetHistory` returns: one tick in a few bytes, so that an hour of them stays small.

use serde::{Deserialize, Serialize};
use zbus::Type;

use crate::{Snapshot, regime};

/// One tick, `(tuyyqqquuu(uuu)uuuu)`. A number that does not fit is the largest one; 0 is also "not known".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct HistoryPoint {
    /// When the tick ended, microseconds of CLOCK_REALTIME.
    pub usec: u64,
    /// Length of the tick, microseconds.
    pub elapsed_usec: u32,
    /// The place of the regime in [`regime::ALL`].
    pub regime: u8,
    /// [`HistoryPoint::BURST`] and [`HistoryPoint::LONGRUN`].
    pub flags: u8,
    /// Idle share of all CPU time, 0..=1000.
    pub idle_permille: u16,
    /// CPUs online.
    pub online_cpus: u16,
    /// CPUs that run an interactive or latency-critical task.
    pub interactive_running: u16,
    /// Dispatches per second of real elapsed time.
    pub dispatches_per_sec: u32,
    /// Median wake-up latency, ns.
    pub p50_nsec: u32,
    /// 99th percentile of the wake-up latency, ns.
    pub p99_nsec: u32,
    /// The same by tier: batch, interactive, latency-critical.
    pub p99_by_tier_nsec: (u32, u32, u32),
    /// Mean slice that tasks were granted when they started to run, ns.
    pub effective_slice_nsec: u32,
    /// How long the batch queues have waited, microseconds.
    pub batch_wait_usec: u32,
    /// Tasks in batch queues.
    pub batch_queued: u32,
    /// Tasks in interactive queues.
    pub interactive_queued: u32,
}

impl HistoryPoint {
    /// A fork storm was on.
    pub const BURST: u8 = 1;
    /// Batch work had been waiting for seconds.
    pub const LONGRUN: u8 = 2;

    /// What is kept of a snapshot.
    pub fn of(snapshot: &Snapshot) -> HistoryPoint {
        let s = snapshot;
        let known = |value: Option<u64>| fit(value.unwrap_or_default());
        let (batch, interactive, critical) = s.p99_by_tier_nsec;
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let place = regime::ALL.iter().position(|name| *name == s.regime);
        HistoryPoint {
            usec: s.sampled_usec,
            elapsed_usec: fit(s.elapsed_nsec / 1_000),
            regime: place.map_or(u8::MAX, |place| place as u8),
            flags: flag(s.burst, Self::BURST) | flag(s.longrun, Self::LONGRUN),
            idle_permille: fit_u16(s.idle_permille),
            online_cpus: fit_u16(s.online_cpus),
            interactive_running: fit_u16(s.interactive_running),
            dispatches_per_sec: fit(s.dispatches_per_sec),
            p50_nsec: known(s.p50_nsec),
            p99_nsec: known(s.p99_nsec),
            p99_by_tier_nsec: (fit(batch), fit(interactive), fit(critical)),
            effective_slice_nsec: known(s.effective_slice_nsec),
            batch_wait_usec: fit(s.batch_wait_nsec / 1_000),
            batch_queued: fit(s.batch_queued),
            interactive_queued: fit(s.interactive_queued),
        }
    }

    /// The regime's name; empty for one that this version does not know.
    pub fn regime_name(&self) -> &'static str {
        let name = regime::ALL.get(usize::from(self.regime));
        name.copied().unwrap_or_default()
    }

    /// Whether a fork storm was on.
    pub fn is_burst(&self) -> bool {
        self.flags & Self::BURST != 0
    }

    /// Whether batch work had been waiting for seconds.
    pub fn is_longrun(&self) -> bool {
        self.flags & Self::LONGRUN != 0
    }
}

fn fit(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn fit_u16(value: u32) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_kept_in_a_few_bytes_and_nothing_wraps() {
        assert_eq!(*HistoryPoint::SIGNATURE, "(tuyyqqquuu(uuu)uuuu)");
        assert_eq!(size_of::<HistoryPoint>(), 64);
        let point = HistoryPoint::of(&Snapshot {
            sampled_usec: 7,
            elapsed_nsec: 1_000_000_000,
            regime: regime::HEAVY.into(),
            longrun: true,
            online_cpus: 70_000,
            p99_nsec: Some(u64::MAX),
            p99_by_tier_nsec: (1, 2, 3),
            batch_wait_nsec: 12_000_000_000,
            ..Snapshot::default()
        });
        assert_eq!((point.usec, point.elapsed_usec), (7, 1_000_000));
        assert_eq!(point.regime_name(), regime::HEAVY);
        assert!(point.is_longrun() && !point.is_burst());
        assert_eq!((point.online_cpus, point.p99_nsec), (u16::MAX, u32::MAX));
        assert_eq!(point.p99_by_tier_nsec, (1, 2, 3));
        assert_eq!(point.batch_wait_usec, 12_000_000);
        let unknown = HistoryPoint::of(&Snapshot::default());
        assert_eq!(unknown.regime_name(), "");
    }
}
