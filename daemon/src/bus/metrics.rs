//! `org.pandemonium.Metrics1`: numbers that change every second, for those who ask.

use pandemonium_api::Snapshot;
use tokio::sync::watch;
use zbus::interface;

use crate::status::Status;

/// The interface object.
pub struct Metrics {
    /// What was published.
    pub status: watch::Receiver<Status>,
}

#[interface(name = "org.pandemonium.Metrics1", introspection_docs = false)]
impl Metrics {
    /// Open to everybody: sums over all tasks, no names.
    #[zbus(out_args("snapshot"))]
    fn get_snapshot(&self) -> Snapshot {
        self.status.borrow().snapshot.clone()
    }

    #[zbus(property(emits_changed_signal = "false"), name = "P99Nsec")]
    fn p99_nsec(&self) -> u64 {
        self.status.borrow().snapshot.p99_nsec.unwrap_or_default()
    }

    #[zbus(property(emits_changed_signal = "false"), name = "P99ByTierNsec")]
    fn p99_by_tier_nsec(&self) -> (u64, u64, u64) {
        self.status.borrow().snapshot.p99_by_tier_nsec
    }

    #[zbus(property(emits_changed_signal = "false"), name = "SampledUSec")]
    fn sampled_usec(&self) -> u64 {
        self.status.borrow().snapshot.sampled_usec
    }
}
