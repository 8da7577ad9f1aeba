//! Samples from the daemon, one a second, across restarts of the daemon and of the bus. The daemon sends them
//! to those who subscribed; where it does not, it is asked.

use std::time::Duration;

use futures_util::StreamExt;
use pandemonium_api::{SampleStream, Snapshot};
use tokio::time::{Instant, sleep_until};
use zbus::Connection;
use zbus::proxy::OwnerChangedStream;

use crate::connection::{Daemon, answer, system_bus};
use crate::error::Error;
use crate::status::{Status, now_usec};

/// The daemon's tick.
const TICK: Duration = Duration::from_secs(1);
/// How long after a tick its sample is asked for: late enough that it is there.
const MARGIN_US: u64 = 40_000;
/// A sample that is not new by then is shown again, so that a stuck daemon does not look like a
/// stuck monitor.
const STALE: Duration = Duration::from_secs(3);

/// What the daemon said at one moment.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// The properties.
    pub status: Status,
    /// The last tick.
    pub snapshot: Snapshot,
    /// Grows when the learned profiles change.
    pub generation: u64,
}

/// What [`Feed::next`] returns.
#[derive(Debug)]
pub enum News {
    /// A new sample.
    Sample(Box<Now>),
    /// The daemon sends no samples to us, so it is asked for them; the sentence says why.
    Asking(String),
    /// The daemon or the bus is not there; the sentence says which.
    Gone(Error),
}

/// A connection that heals. What the daemon knows of it ends when it is dropped.
pub struct Feed {
    bus: Option<Connection>,
    daemon: Option<Daemon>,
    way: Option<Way>,
    due: Instant,
    /// The last snapshot, and whether it still has to be shown.
    last: Option<Snapshot>,
    is_fresh: bool,
    last_shown: Instant,
}

/// How samples come.
enum Way {
    Told(Box<Told>),
    Asked,
}

struct Told {
    samples: SampleStream,
    owners: OwnerChangedStream<'static>,
}

impl Told {
    /// Listens before it asks to be told, so that nothing is missed.
    async fn subscribe(daemon: &Daemon) -> Result<Told, Error> {
        let told = answer(async {
            Ok(Told {
                samples: daemon.metrics.receive_sample().await?,
                owners: daemon.metrics.inner().receive_owner_changed().await?,
            })
        });
        let told = told.await?;
        let interval = u32::try_from(TICK.as_millis()).unwrap_or(u32::MAX);
        answer(daemon.metrics.subscribe(interval)).await?;
        Ok(told)
    }

    /// The next sample, or nothing when this moment comes first.
    async fn sample(&mut self, due: Instant) -> Result<Option<Snapshot>, Error> {
        tokio::select! {
            signal = self.samples.next() => match signal {
                Some(signal) => Ok(signal.args().ok().map(|args| args.sample)),
                None => Err(Error::NoBus("it went away".to_owned())),
            },
            // Its name is its connection's, so that there can be no other owner later.
            _ = self.owners.next() => Err(Error::NoDaemon),
            () = sleep_until(due) => Ok(None),
        }
    }
}

impl Feed {
    /// Starts with a daemon that is there; an absent one is an error now and `Gone` later.
    pub async fn connect() -> Result<Feed, Error> {
        let mut feed = Feed::on(system_bus().await?);
        feed.daemon().await?;
        Ok(feed)
    }

    /// Starts on a bus, with or without a daemon.
    pub fn on(bus: Connection) -> Feed {
        let now = Instant::now();
        Feed {
            bus: Some(bus),
            daemon: None,
            way: None,
            due: now,
            last: None,
            is_fresh: false,
            last_shown: now,
        }
    }

    /// The daemon, found again if it was lost.
    pub async fn daemon(&mut self) -> Result<Daemon, Error> {
        if let Some(daemon) = &self.daemon {
            return Ok(daemon.clone());
        }
        let bus = match &self.bus {
            Some(bus) => bus,
            None => self.bus.insert(system_bus().await?),
        };
        let daemon = Daemon::find(bus).await?;
        (self.way, self.last, self.is_fresh) = (None, None, false);
        Ok(self.daemon.insert(daemon).clone())
    }

    /// Waits for the next sample. May be dropped and called again at any time.
    pub async fn next(&mut self) -> News {
        match self.advance().await {
            Ok(news) => news,
            Err(error) => {
                (self.daemon, self.way) = (None, None);
                if matches!(error, Error::NoBus(_)) {
                    self.bus = None;
                }
                self.due = Instant::now() + TICK;
                News::Gone(error)
            }
        }
    }

    async fn advance(&mut self) -> Result<News, Error> {
        if self.daemon.is_none() {
            sleep_until(self.due).await;
        }
        let daemon = self.daemon().await?;
        if self.way.is_none()
            && let Some(sentence) = self.choose_way(&daemon).await?
        {
            return Ok(News::Asking(sentence));
        }
        while !self.is_fresh {
            self.wait(&daemon).await?;
        }
        let now = Now {
            snapshot: self.last.clone().unwrap_or_default(),
            status: Status::read(&daemon).await?,
            generation: answer(daemon.processes.generation()).await?,
        };
        self.is_fresh = false;
        self.last_shown = Instant::now();
        self.due = self.last_shown + self.pause(&now.snapshot);
        Ok(News::Sample(Box::new(now)))
    }

    /// Subscribes, or says why not.
    async fn choose_way(&mut self, daemon: &Daemon) -> Result<Option<String>, Error> {
        match Told::subscribe(daemon).await {
            Ok(told) => {
                self.way = Some(Way::Told(Box::new(told)));
                // There is something to show at once.
                let snapshot = answer(daemon.metrics.get_snapshot()).await?;
                (self.last, self.is_fresh) = (Some(snapshot), true);
                Ok(None)
            }
            Err(error @ (Error::NoDaemon | Error::NoBus(_))) => Err(error),
            Err(error) => {
                (self.way, self.due) = (Some(Way::Asked), Instant::now());
                let reason = error.to_string();
                let reason = reason.trim_end_matches('.');
                Ok(Some(format!("{reason}; asking once a second instead")))
            }
        }
    }

    /// Waits for something that may be shown.
    async fn wait(&mut self, daemon: &Daemon) -> Result<(), Error> {
        if let Some(Way::Told(told)) = &mut self.way {
            let Some(snapshot) = told.sample(self.due).await? else {
                self.is_fresh = true;
                return Ok(());
            };
            // The first one may be what was asked for at the start.
            self.is_fresh = self.is_new(&snapshot);
            self.last = Some(snapshot);
            return Ok(());
        }
        sleep_until(self.due).await;
        self.due = Instant::now() + TICK;
        let snapshot = answer(daemon.metrics.get_snapshot()).await?;
        if self.is_news(&snapshot) {
            (self.last, self.is_fresh) = (Some(snapshot), true);
        } else {
            self.due = Instant::now() + TICK / 4;
        }
        Ok(())
    }

    /// While the daemon does not sample there is nothing new, but its state is worth a line a second.
    fn is_news(&self, snapshot: &Snapshot) -> bool {
        let last_usec = self.last.as_ref().map_or(0, |last| last.sampled_usec);
        snapshot.sampled_usec != last_usec
            || snapshot.sampled_usec == 0
            || self.last_shown.elapsed() >= STALE
    }

    fn is_new(&self, snapshot: &Snapshot) -> bool {
        self.last.as_ref().is_none_or(|last| {
            (last.sampled_usec, &last.state) != (snapshot.sampled_usec, &snapshot.state)
        })
    }

    /// How long to wait for something new before the same is shown again, or asked for.
    fn pause(&self, snapshot: &Snapshot) -> Duration {
        match self.way {
            Some(Way::Told(_)) if snapshot.sampled_usec != 0 => STALE,
            Some(Way::Told(_)) => TICK,
            _ => until_next(snapshot, now_usec()),
        }
    }
}

/// How long until the daemon should have another sample: its ticks set the pace, so that none is
/// shown twice or skipped.
fn until_next(snapshot: &Snapshot, now_usec: u64) -> Duration {
    let due = snapshot.sampled_usec + TICK.as_micros() as u64 + MARGIN_US;
    let wait = Duration::from_micros(due.saturating_sub(now_usec));
    if wait.is_zero() || wait > TICK + Duration::from_micros(MARGIN_US) {
        TICK
    } else {
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_a_little_after_the_daemons_next_tick() {
        let sampled = |usec| Snapshot {
            sampled_usec: usec,
            ..Snapshot::default()
        };
        let now = 50_000_000;
        assert_eq!(
            until_next(&sampled(now - 300_000), now),
            Duration::from_millis(740)
        );
        assert_eq!(until_next(&sampled(0), now), TICK);
        assert_eq!(
            until_next(&sampled(now - 9_000_000), now),
            TICK,
            "a stuck daemon"
        );
        assert_eq!(
            until_next(&sampled(now + 9_000_000), now),
            TICK,
            "a clock that was set back"
        );
    }
}
