//! Snapshots, samples and history that no scheduler made.

use pandemonium_api::{HistoryPoint, MAX_POINTS, OBJECT_PATH, Refusal, Snapshot};
use zbus::message::Header;
use zbus::names::BusName;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, interface};

use super::Shared;

pub(super) struct Metrics(pub(super) Shared);

fn snapshot(sampled_usec: u64) -> Snapshot {
    Snapshot {
        state: "running".into(),
        mode: "adaptive".into(),
        regime: "HEAVY".into(),
        burst: true,
        online_cpus: 8,
        interactive_running: 3,
        sampled_usec,
        ..Snapshot::default()
    }
}

#[interface(name = "org.pandemonium.Metrics1")]
impl Metrics {
    fn get_snapshot(&self) -> Snapshot {
        let mut kept = self.0.lock();
        kept.snapshots += 1;
        snapshot(kept.snapshots)
    }

    async fn subscribe(
        &self,
        interval_ms: u32,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let samples = {
            let mut kept = self.0.lock();
            kept.ask(format!("subscribe {interval_ms}"))?;
            kept.samples.clone()
        };
        let caller = BusName::from(header.sender().expect("a name").to_owned());
        let emitter = SignalEmitter::new(connection, OBJECT_PATH).expect("a path");
        let emitter = emitter.set_destination(caller);
        for usec in samples {
            let sent = Metrics::sample(&emitter, snapshot(usec)).await;
            sent.expect("the bus takes it");
        }
        Ok(())
    }

    #[zbus(signal)]
    async fn sample(emitter: &SignalEmitter<'_>, sample: Snapshot) -> zbus::Result<()>;

    /// A page and a half; as the real one, no more than a page at once.
    fn get_history(&self, since_usec: u64, max: u32) -> Vec<HistoryPoint> {
        let end = u64::MAX - 1;
        let points = (end - 900..end).filter(|usec| *usec > since_usec);
        let point = |usec| HistoryPoint {
            usec,
            regime: 1,
            ..HistoryPoint::default()
        };
        points
            .map(point)
            .take(max.min(MAX_POINTS) as usize)
            .collect()
    }
}
