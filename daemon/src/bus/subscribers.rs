//! Who wants a signal after each tick, how often, and since when.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pandemonium_api::{BusError, MIN_SAMPLE_INTERVAL_MS, Refusal};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use zbus::Connection;
use zbus::names::OwnedUniqueName;

use super::authority;
use super::places::{Place, Places};

/// Connections of one user, and of all, that may subscribe.
const MAX_PER_USER: usize = 4;
const MAX: usize = 64;
/// A tick comes this much early at most, and one that does is not left out.
const SLACK: Duration = Duration::from_millis(MIN_SAMPLE_INTERVAL_MS as u64 / 2);

/// The subscribers of this daemon.
#[derive(Clone, Default)]
pub struct Subscribers(Arc<Mutex<Table>>);

/// Subscribers by their unique name.
struct Table {
    by_name: HashMap<OwnedUniqueName, Subscriber>,
    places: Arc<Places>,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            by_name: HashMap::new(),
            places: Places::new(MAX_PER_USER, MAX),
        }
    }
}

struct Subscriber {
    _place: Place,
    interval: Duration,
    sent: Option<Instant>,
    /// Waits for the connection's end.
    watch: Option<JoinHandle<()>>,
}

impl Subscribers {
    /// Adds a connection of this user until it leaves the bus, or changes its interval.
    pub fn add(
        &self,
        connection: &Connection,
        name: OwnedUniqueName,
        uid: u32,
        interval_ms: u32,
    ) -> Result<(), Refusal> {
        let mut table = self.lock();
        let subscriber = table.enter(name.clone(), uid, interval_ms)?;
        if subscriber.watch.is_none() {
            let (connection, subscribers) = (connection.clone(), self.clone());
            subscriber.watch = Some(tokio::spawn(async move {
                authority::departure(&connection, &name).await;
                subscribers.remove(&name);
            }));
        }
        Ok(())
    }

    /// Whether there was one to remove.
    pub fn remove(&self, name: &OwnedUniqueName) -> bool {
        self.lock().by_name.remove(name).is_some()
    }

    /// The bus is gone, and all of them with it.
    pub fn clear(&self) {
        self.lock().by_name.clear();
    }

    /// Whether anybody listens.
    pub fn is_empty(&self) -> bool {
        self.lock().by_name.is_empty()
    }

    /// Those whose time has come; they count as served.
    pub fn due(&self) -> Vec<OwnedUniqueName> {
        self.lock().due(Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Every change is a single step, so a panic elsewhere cannot leave it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn enter(
        &mut self,
        name: OwnedUniqueName,
        uid: u32,
        interval_ms: u32,
    ) -> Result<&mut Subscriber, Refusal> {
        if interval_ms < MIN_SAMPLE_INTERVAL_MS {
            return Err(BusError::InvalidArgs.because(format!(
                "The interval is at least {MIN_SAMPLE_INTERVAL_MS} ms."
            )));
        }
        let subscriber = match self.by_name.entry(name) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Subscriber {
                _place: self.places.enter(uid).ok_or_else(full)?,
                interval: Duration::ZERO,
                sent: None,
                watch: None,
            }),
        };
        subscriber.interval = Duration::from_millis(interval_ms.into());
        Ok(subscriber)
    }

    fn due(&mut self, now: Instant) -> Vec<OwnedUniqueName> {
        let mut names = Vec::new();
        for (name, subscriber) in &mut self.by_name {
            let is_due = subscriber
                .sent
                .is_none_or(|sent| now.duration_since(sent) + SLACK >= subscriber.interval);
            if is_due {
                subscriber.sent = Some(now);
                names.push(name.clone());
            }
        }
        names
    }
}

fn full() -> Refusal {
    BusError::LimitsExceeded.because(format!(
        "At most {MAX_PER_USER} connections of one user, and {MAX} in all, may subscribe."
    ))
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> OwnedUniqueName {
        format!(":1.{number}").try_into().expect("a unique name")
    }

    fn error(result: Result<&mut Subscriber, Refusal>) -> Option<BusError> {
        result.err().map(|refusal| refusal.error)
    }

    #[test]
    fn subscribers_are_few_per_user_and_in_all() {
        let mut table = Table::default();
        for number in 0..MAX_PER_USER {
            assert_eq!(error(table.enter(name(number), 1, 1_000)), None);
        }
        let limit = Some(BusError::LimitsExceeded);
        assert_eq!(error(table.enter(name(99), 1, 1_000)), limit);
        assert_eq!(
            error(table.enter(name(0), 1, 500)),
            None,
            "another interval"
        );
        for number in MAX_PER_USER..MAX {
            let uid = 1 + (number / MAX_PER_USER) as u32;
            assert_eq!(error(table.enter(name(number), uid, 1_000)), None);
        }
        assert_eq!(error(table.enter(name(99), 99, 1_000)), limit);
        assert_eq!(table.by_name.len(), MAX);
        table.by_name.remove(&name(0));
        assert_eq!(error(table.enter(name(99), 99, 1_000)), None);
    }

    #[test]
    fn too_short_an_interval_is_refused_and_adds_nobody() {
        let mut table = Table::default();
        let invalid = Some(BusError::InvalidArgs);
        assert_eq!(error(table.enter(name(1), 1, 249)), invalid);
        assert!(table.by_name.is_empty());
        assert_eq!(error(table.enter(name(1), 1, 250)), None);
    }

    #[test]
    fn each_is_served_once_in_its_interval_and_an_early_tick_counts() {
        let mut table = Table::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(error(table.enter(name(1), 1, 1_000)), None);
        assert_eq!(error(table.enter(name(2), 1, 2_000)), None);
        let mut served = [0, 0];
        // Ten ticks of a second, each a few milliseconds early or late.
        for (tick, jitter) in (0u64..10).zip([0, 3, 995, 4, 998, 1, 2, 990, 0, 7]) {
            let ms = match jitter {
                early @ 900.. => tick * 1_000 - (1_000 - early),
                late => tick * 1_000 + late,
            };
            for due in table.due(at(ms)) {
                served[usize::from(due == name(2))] += 1;
            }
        }
        assert_eq!(served, [10, 5]);
        assert!(table.due(at(9_100)).is_empty());
    }
}
