//! The idle selector as something that is switched for a while and put back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pandemonium_api::{Scheduler1Proxy, state};
use tokio::runtime::Runtime;

use crate::connection::{Daemon, answer, explain};
use crate::error::Error;
use crate::idle_selector::word;
use crate::text::printable;

/// How often to look whether somebody pressed Ctrl-C while a password dialog is open.
const GLANCE: Duration = Duration::from_millis(100);

/// The idle selector of a scheduler that runs.
pub struct Selector<'a> {
    runtime: &'a Runtime,
    scheduler: Scheduler1Proxy<'static>,
    /// As it was found.
    before: bool,
    /// As it is; `None` while that is not known.
    now: Option<bool>,
}

impl<'a> Selector<'a> {
    /// Finds it, or says in one sentence why there is nothing to switch.
    pub fn find(runtime: &'a Runtime) -> Result<Selector<'a>, Error> {
        let (scheduler, before) = runtime.block_on(async {
            let daemon = Daemon::connect().await?;
            let scheduler = answer(daemon.uncached()).await?;
            require_running(&scheduler).await?;
            let before = answer(scheduler.idle_selector()).await?;
            Ok::<_, Error>((scheduler, before))
        })?;
        Ok(Selector {
            runtime,
            scheduler,
            before,
            now: Some(before),
        })
    }

    /// Switches it, and returns whether that is done: a password dialog may come first, and `stop` ends
    /// the wait for it.
    pub fn set(&mut self, on: bool, stop: &AtomicBool) -> Result<bool, Error> {
        let scheduler = &self.scheduler;
        let outcome = self.runtime.block_on(async {
            tokio::select! {
                answer = scheduler.set_idle_selector(on) => Some(answer),
                () = stopped(stop) => None,
            }
        });
        match outcome {
            Some(Ok(())) => {
                self.now = Some(on);
                Ok(true)
            }
            // Refused: everything is as it was.
            Some(Err(error)) => Err(explain(error)),
            None => {
                self.now = None;
                Ok(false)
            }
        }
    }

    /// Fails if the scheduler does not run any more: what was measured is then not what was meant.
    pub fn require_running(&self) -> Result<(), Error> {
        self.runtime.block_on(require_running(&self.scheduler))
    }

    /// Makes it what it was. A second Ctrl-C gives up.
    pub fn restore(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        if self.now == Some(self.before) {
            return Ok(());
        }
        stop.store(false, Ordering::Relaxed);
        let left = self.now.map_or("in an unknown state", word);
        let before = word(self.before);
        let reason = match self.set(self.before, stop) {
            Ok(true) => return Ok(()),
            Ok(false) => "stopped".to_owned(),
            // It went, and its choices with it.
            Err(Error::NoDaemon) => return Err(Error::NoDaemon),
            Err(error) => error.to_string(),
        };
        Err(Error::Failed(format!(
            "the idle selector is left {left} ({reason}); put it back with \
             `pandemonium idle-selector {before}`"
        )))
    }
}

async fn require_running(scheduler: &Scheduler1Proxy<'_>) -> Result<(), Error> {
    let now = answer(scheduler.state()).await?;
    if now == state::RUNNING {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "there is nothing to compare because the scheduler is not loaded (it is {}); load it with \
         `pandemonium mode adaptive`, or measure what runs now with --no-compare",
        printable(&now)
    )))
}

/// Ends when somebody pressed Ctrl-C.
pub async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(GLANCE).await;
    }
}
