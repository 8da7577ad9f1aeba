//! What `Metrics1.GetSnapshot` returns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zbus::{Type, as_variant};

/// One tick, as `a{sv}`. A key is left out when nothing is known; a client that meets an older daemon
/// sees the default. Per-tier triples are batch, interactive, latency-critical.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type)]
#[zbus(signature = "dict")]
#[serde(default)]
pub struct Snapshot {
    /// When the tick ended, microseconds of CLOCK_REALTIME; 0 while nothing was sampled.
    #[serde(with = "as_variant")]
    pub sampled_usec: u64,
    /// Length of the tick, ns.
    #[serde(with = "as_variant")]
    pub elapsed_nsec: u64,
    /// The property `State`.
    #[serde(with = "as_variant")]
    pub state: String,
    /// The property `Mode`.
    #[serde(with = "as_variant")]
    pub mode: String,
    /// `LIGHT`, `MIXED` or `HEAVY`; empty while not running.
    #[serde(with = "as_variant")]
    pub regime: String,
    /// A fork storm is on.
    #[serde(with = "as_variant")]
    pub burst: bool,
    /// Batch work has been waiting for seconds.
    #[serde(with = "as_variant")]
    pub longrun: bool,
    /// The layer of the control loop that acted last.
    #[serde(with = "as_variant")]
    pub decided_by: String,
    /// CPUs online.
    #[serde(with = "as_variant")]
    pub online_cpus: u32,
    /// Idle share of all CPU time, 0..=1000.
    #[serde(with = "as_variant")]
    pub idle_permille: u32,
    /// Dispatches per second of real elapsed time.
    #[serde(with = "as_variant")]
    pub dispatches_per_sec: u64,
    /// Mean slice that tasks were granted when they started to run, ns; missing if none did.
    #[serde(with = "as_variant::optional", skip_serializing_if = "Option::is_none")]
    pub effective_slice_nsec: Option<u64>,
    /// Mean wake-up latency, ns; missing without wake-ups.
    #[serde(with = "as_variant::optional", skip_serializing_if = "Option::is_none")]
    pub wake_mean_nsec: Option<u64>,
    /// Median wake-up latency, ns.
    #[serde(with = "as_variant::optional", skip_serializing_if = "Option::is_none")]
    pub p50_nsec: Option<u64>,
    /// 99th percentile of the wake-up latency, ns.
    #[serde(with = "as_variant::optional", skip_serializing_if = "Option::is_none")]
    pub p99_nsec: Option<u64>,
    /// The same by tier, ns; 0 for a tier without wake-ups.
    #[serde(with = "as_variant")]
    pub p99_by_tier_nsec: (u64, u64, u64),
    /// Wake-ups with a measured latency, by tier.
    #[serde(with = "as_variant")]
    pub wakes_by_tier: (u64, u64, u64),
    /// Short sleeps as percent of all sleeps; missing without sleeps.
    #[serde(with = "as_variant::optional", skip_serializing_if = "Option::is_none")]
    pub io_percent: Option<u32>,
    /// How long the batch queues have waited, ns.
    #[serde(with = "as_variant")]
    pub batch_wait_nsec: u64,
    /// Tasks in batch queues.
    #[serde(with = "as_variant")]
    pub batch_queued: u64,
    /// Tasks in interactive queues.
    #[serde(with = "as_variant")]
    pub interactive_queued: u64,
    /// CPUs that run an interactive or latency-critical task.
    #[serde(with = "as_variant")]
    pub interactive_running: u32,
    /// Dispatches within the task's last second-level cache domain, by tier.
    #[serde(with = "as_variant")]
    pub l2_hits: (u64, u64, u64),
    /// Dispatches outside of it, by tier.
    #[serde(with = "as_variant")]
    pub l2_misses: (u64, u64, u64),
    /// Events during the tick, by name.
    #[serde(with = "as_variant")]
    pub counters: BTreeMap<String, u64>,
    /// Events since the scheduler was loaded, by the same names.
    #[serde(with = "as_variant")]
    pub totals: BTreeMap<String, u64>,
    /// The knobs the kernel half works with, by name.
    #[serde(with = "as_variant")]
    pub knobs: BTreeMap<String, u64>,
    /// The bounds by the number of CPUs that the kernel half works with, by name.
    #[serde(with = "as_variant")]
    pub limits: BTreeMap<String, u64>,
    /// Learned programs.
    #[serde(with = "as_variant")]
    pub profiles: u32,
    /// Learned programs whose tier is sure enough to be used.
    #[serde(with = "as_variant")]
    pub confident_profiles: u32,
    /// The unit of every key, those of the dictionaries included; left out of samples.
    #[serde(with = "as_variant", skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
}

/// The unit of every key that is no dictionary. What is not measured is `text` or `flag`.
pub const SNAPSHOT_UNITS: [(&str, &str); 27] = [
    ("sampled_usec", "us"),
    ("elapsed_nsec", "ns"),
    ("state", "text"),
    ("mode", "text"),
    ("regime", "text"),
    ("burst", "flag"),
    ("longrun", "flag"),
    ("decided_by", "text"),
    ("online_cpus", "count"),
    ("idle_permille", "permille"),
    ("dispatches_per_sec", "1/s"),
    ("effective_slice_nsec", "ns"),
    ("wake_mean_nsec", "ns"),
    ("p50_nsec", "ns"),
    ("p99_nsec", "ns"),
    ("p99_by_tier_nsec", "ns"),
    ("wakes_by_tier", "count"),
    ("io_percent", "percent"),
    ("batch_wait_nsec", "ns"),
    ("batch_queued", "count"),
    ("interactive_queued", "count"),
    ("interactive_running", "count"),
    ("l2_hits", "count"),
    ("l2_misses", "count"),
    ("profiles", "count"),
    ("confident_profiles", "count"),
    ("units", "text"),
];

impl Snapshot {
    /// Events of this name during the tick, 0 for a name this daemon does not count.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use zbus::OwnedVariant;
    use zbus::wire::{LE, serialized::Context, to_bytes};

    use super::*;

    #[test]
    fn travels_as_a_dictionary_and_back() {
        let sent = Snapshot {
            regime: "HEAVY".into(),
            p99_nsec: Some(12_000),
            p99_by_tier_nsec: (1, 2, 3),
            interactive_running: 5,
            counters: BTreeMap::from([("dispatches".to_owned(), 7)]),
            ..Snapshot::default()
        };
        assert_eq!(*Snapshot::SIGNATURE, "a{sv}");
        let bytes = to_bytes(Context::new(LE, 0), &sent).expect("serialises");
        let (received, _): (Snapshot, _) = bytes.deserialize().expect("deserialises");
        assert_eq!(received, sent);
        assert_eq!(received.wake_mean_nsec, None);
    }

    #[test]
    fn every_key_has_a_unit() {
        let full = Snapshot {
            effective_slice_nsec: Some(1),
            wake_mean_nsec: Some(1),
            p50_nsec: Some(1),
            p99_nsec: Some(1),
            io_percent: Some(1),
            units: BTreeMap::from([("units".to_owned(), "text".to_owned())]),
            ..Snapshot::default()
        };
        let bytes = to_bytes(Context::new(LE, 0), &full).expect("serialises");
        let (sent, _): (BTreeMap<String, OwnedVariant>, _) =
            bytes.deserialize().expect("deserialises");
        let mut keys: Vec<_> = sent.keys().map(String::as_str).collect();
        keys.retain(|key| !["counters", "totals", "knobs", "limits"].contains(key));
        let mut with_unit = SNAPSHOT_UNITS.map(|(key, _)| key);
        with_unit.sort_unstable();
        assert_eq!(keys, with_unit);
    }
}
