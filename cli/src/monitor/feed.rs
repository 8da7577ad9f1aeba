//! Samples from the daemon, one a second, across restarts of the daemon and of the bus.

use std::time::Duration;

use pandemonium_api::Snapshot;
use tokio::time::{Instant, sleep_until};
use zbus::Connection;

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
    /// The daemon or the bus is not there; the sentence says which.
    Gone(Error),
}

/// A connection that heals.
pub struct Feed {
    bus: Option<Connection>,
    daemon: Option<Daemon>,
    due: Instant,
    last_usec: u64,
    last_shown: Instant,
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
            due: now,
            last_usec: 0,
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
        self.last_usec = 0;
        Ok(self.daemon.insert(daemon).clone())
    }

    /// Waits for the next sample. May be dropped and called again at any time.
    pub async fn next(&mut self) -> News {
        loop {
            sleep_until(self.due).await;
            self.due = Instant::now() + TICK;
            match self.ask().await {
                Ok(now) if self.is_news(&now) => {
                    self.last_usec = now.snapshot.sampled_usec;
                    self.last_shown = Instant::now();
                    self.due = self.last_shown + until_next(&now.snapshot, now_usec());
                    return News::Sample(Box::new(now));
                }
                Ok(_) => self.due = Instant::now() + TICK / 4,
                Err(error) => {
                    self.daemon = None;
                    if matches!(error, Error::NoBus(_)) {
                        self.bus = None;
                    }
                    return News::Gone(error);
                }
            }
        }
    }

    async fn ask(&mut self) -> Result<Now, Error> {
        let daemon = self.daemon().await?;
        Ok(Now {
            snapshot: answer(daemon.metrics.get_snapshot()).await?,
            status: Status::read(&daemon).await?,
            generation: answer(daemon.processes.generation()).await?,
        })
    }

    /// While the daemon does not sample there is nothing new, but its state is worth a line a second.
    fn is_news(&self, now: &Now) -> bool {
        now.snapshot.sampled_usec != self.last_usec
            || now.snapshot.sampled_usec == 0
            || self.last_shown.elapsed() >= STALE
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
