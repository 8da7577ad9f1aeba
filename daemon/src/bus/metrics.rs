//! `org.pandemonium.Metrics1`: numbers that change every second, for those who ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pandemonium_api::{BusError, HistoryPoint, OBJECT_PATH, Refusal, SNAPSHOT_UNITS, Snapshot};
use pandemonium_policy::{Knobs, Limits};
use tokio::sync::watch;
use zbus::message::Header;
use zbus::names::{BusName, OwnedUniqueName};
use zbus::object_server::SignalEmitter;
use zbus::{Connection, interface};

use super::authority::{Authority, Origin, Permit};
use super::subscribers::Subscribers;
use crate::history::History;
use crate::status::{State, Status, named_counters, named_limits};

/// The last hour, shared by the task that writes it and the calls that read it. They all run on one
/// thread and never wait while they hold it.
#[derive(Clone, Default)]
pub struct SharedHistory(Arc<Mutex<History>>);

impl SharedHistory {
    fn lock(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps every tick from now on, whether the bus is there or not.
    pub async fn follow(self, mut status: watch::Receiver<Status>) {
        while status.changed().await.is_ok() {
            self.lock().record(&status.borrow_and_update().numbers());
        }
    }
}

/// The interface object.
pub struct Metrics {
    /// What was published.
    pub status: watch::Receiver<Status>,
    /// The last hour.
    pub history: SharedHistory,
    /// Who gets samples.
    pub subscribers: Subscribers,
    /// Who may.
    pub authority: Authority,
}

#[interface(name = "org.pandemonium.Metrics1", introspection_docs = false)]
impl Metrics {
    /// Open to everybody: sums over all tasks, no names.
    #[zbus(out_args("snapshot"))]
    fn get_snapshot(&self) -> Snapshot {
        Snapshot {
            units: units(),
            ..self.status.borrow().snapshot()
        }
    }

    /// Open to everybody as well.
    #[zbus(out_args("points"))]
    fn get_history(&self, since_usec: u64, max: u32) -> Vec<HistoryPoint> {
        self.history.lock().since(since_usec, max)
    }

    async fn subscribe(
        &self,
        interval_ms: u32,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let (permit, name) = self.subscriber("Subscribe", (&header, connection)).await?;
        self.subscribers
            .add(connection, name, permit.uid(), interval_ms)
    }

    async fn unsubscribe(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let (_, name) = self
            .subscriber("Unsubscribe", (&header, connection))
            .await?;
        if self.subscribers.remove(&name) {
            return Ok(());
        }
        Err(BusError::NotFound.because("This connection has not subscribed."))
    }

    #[zbus(signal)]
    async fn sample(emitter: &SignalEmitter<'_>, sample: &Snapshot) -> zbus::Result<()>;

    #[zbus(property(emits_changed_signal = "false"), name = "P99Nsec")]
    fn p99_nsec(&self) -> u64 {
        self.status.borrow().numbers().p99_nsec.unwrap_or_default()
    }

    #[zbus(property(emits_changed_signal = "false"), name = "P99ByTierNsec")]
    fn p99_by_tier_nsec(&self) -> (u64, u64, u64) {
        self.status.borrow().numbers().p99_by_tier_nsec
    }

    #[zbus(property(emits_changed_signal = "false"), name = "SampledUSec")]
    fn sampled_usec(&self) -> u64 {
        self.status.borrow().sampled_usec()
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn regime(&self) -> String {
        self.status.borrow().regime().to_owned()
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn burst(&self) -> bool {
        self.status.borrow().burst()
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn longrun(&self) -> bool {
        self.status.borrow().longrun()
    }
}

impl Metrics {
    async fn subscriber(
        &self,
        member: &'static str,
        from: Origin<'_>,
    ) -> Result<(Permit, OwnedUniqueName), Refusal> {
        let permit = self.authority.permit(from, member, &[]).await?;
        let name = from
            .0
            .sender()
            .ok_or_else(|| BusError::AccessDenied.because("The caller has no bus name."))?;
        Ok((permit, name.to_owned().into()))
    }
}

/// Sends each new sample to those who subscribed and to nobody else. Without any of them nothing is done.
pub async fn deliver(
    connection: &Connection,
    mut status: watch::Receiver<Status>,
    subscribers: &Subscribers,
) {
    let mut shown = (0, State::default());
    while status.changed().await.is_ok() {
        if subscribers.is_empty() {
            continue;
        }
        let snapshot = {
            let status = status.borrow_and_update();
            let what = (status.sampled_usec(), status.state);
            if std::mem::replace(&mut shown, what) == what {
                continue;
            }
            status.snapshot()
        };
        for name in subscribers.due() {
            if let Err(error) = send(connection, name, &snapshot).await {
                log::debug!("a sample was not sent: {error}");
            }
        }
    }
}

async fn send(
    connection: &Connection,
    name: OwnedUniqueName,
    snapshot: &Snapshot,
) -> zbus::Result<()> {
    let emitter = SignalEmitter::new(connection, OBJECT_PATH)?
        .set_destination(BusName::from(name.into_inner()));
    Metrics::sample(&emitter, snapshot).await
}

/// The unit of every key of a snapshot and of its dictionaries.
fn units() -> BTreeMap<String, String> {
    let knobs = Knobs::SPECS.iter().map(|spec| {
        let unit = if spec.unit.is_empty() {
            "number"
        } else {
            spec.unit
        };
        (spec.name, unit)
    });
    let counters = named_counters(&Default::default());
    let counters = counters.into_keys().map(|name| (name, "count".to_owned()));
    let limits = named_limits(&Limits::for_cpus(1));
    let limits = limits.into_keys().map(|name| {
        let unit = if name.ends_with("_ns") { "ns" } else { "count" };
        (name, unit.to_owned())
    });
    let fixed = SNAPSHOT_UNITS.into_iter().chain(knobs);
    let fixed = fixed.map(|(key, unit)| (key.to_owned(), unit.to_owned()));
    counters.chain(limits).chain(fixed).collect()
}

#[cfg(test)]
mod tests {
    use pandemonium_api::regime;
    use pandemonium_policy::{Counters, Regime};

    use super::*;

    /// The words between `from` and `to` in the header that both halves share.
    fn in_c(from: &str, to: &str) -> Vec<&'static str> {
        let (_, body) = include_str!("../../../bpf/intf.h")
            .split_once(from)
            .expect("in the header");
        let (body, _) = body.split_once(to).expect("an end");
        body.split([',', ';', ' ', '\t', '\n'])
            .filter(|word| !word.is_empty())
            .collect()
    }

    #[test]
    fn every_counter_and_knob_of_the_kernel_half_is_shown_with_its_unit() {
        let units = units();
        let counters = named_counters(&Counters::default());
        let names = in_c("enum counter {", "NR_COUNTERS");
        assert!(names.len() > 20);
        for name in names {
            let name = name.strip_prefix("CNT_").expect(name).to_lowercase();
            assert!(counters.contains_key(&name), "{name}");
            assert_eq!(
                units.get(&name).map(String::as_str),
                Some("count"),
                "{name}"
            );
        }
        let knobs = in_c("struct knobs {", "}");
        let knobs: Vec<_> = knobs.into_iter().filter(|word| *word != "u64").collect();
        assert_eq!(
            knobs,
            Knobs::SPECS.iter().map(|s| s.name).collect::<Vec<_>>()
        );
        for name in knobs {
            let expected = if name.ends_with("_ns") {
                "ns"
            } else {
                "number"
            };
            assert_eq!(
                units.get(name).map(String::as_str),
                Some(expected),
                "{name}"
            );
        }
    }

    #[test]
    fn every_limit_of_the_kernel_half_is_shown_with_its_unit() {
        let mut names = in_c("struct limits {", "}");
        names.retain(|word| !["u64", "u32"].contains(word));
        names.sort_unstable();
        let shown = named_limits(&Limits::for_cpus(8));
        assert_eq!(names, shown.keys().collect::<Vec<_>>());
        let units = units();
        for name in names {
            let expected = if name.ends_with("_ns") { "ns" } else { "count" };
            assert_eq!(units[name], expected, "{name}");
        }
        let others = Knobs::SPECS.iter().map(|spec| spec.name.to_owned());
        let counters = named_counters(&Counters::default()).into_keys();
        for name in others.chain(counters) {
            assert!(!shown.contains_key(&name), "{name} would share a unit");
        }
    }

    #[test]
    fn the_history_knows_every_regime() {
        let names = [Regime::Light, Regime::Mixed, Regime::Heavy].map(Regime::name);
        assert_eq!(names, regime::ALL);
    }
}
