//! The mode as something that is switched for a while and put back.

use std::sync::atomic::{AtomicBool, Ordering};

use pandemonium_api::Scheduler1Proxy;
use tokio::runtime::Runtime;

use super::selector::{stopped, uncached};
use crate::connection::{Daemon, answer, explain};
use crate::error::Error;
use crate::text::printable;

/// The mode of the daemon.
pub struct Modes<'a> {
    runtime: &'a Runtime,
    scheduler: Scheduler1Proxy<'static>,
    /// As it was asked for before.
    before: String,
    /// As it is; `None` while that is not known.
    now: Option<String>,
}

impl<'a> Modes<'a> {
    /// Finds it, or says in one sentence why there is nothing to switch.
    pub fn find(runtime: &'a Runtime) -> Result<Modes<'a>, Error> {
        let (scheduler, before) = runtime.block_on(async {
            let daemon = Daemon::connect().await?;
            let scheduler = answer(uncached(&daemon)).await?;
            let before = answer(scheduler.requested_mode()).await?;
            Ok::<_, Error>((scheduler, before))
        })?;
        Ok(Modes {
            runtime,
            scheduler,
            now: Some(before.clone()),
            before,
        })
    }

    /// Switches, and returns whether that is done: a password dialog may come first, and `stop` ends the wait for it.
    pub fn set(&mut self, mode: &str, stop: &AtomicBool) -> Result<bool, Error> {
        let scheduler = &self.scheduler;
        let outcome = self.runtime.block_on(async {
            tokio::select! {
                answer = scheduler.set_mode(mode, Default::default()) => Some(answer),
                () = stopped(stop) => None,
            }
        });
        match outcome {
            Some(Ok(())) => {
                self.now = Some(mode.to_owned());
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

    /// Fails if the mode is another one by now: what was measured is then not what was meant.
    pub fn require(&self, mode: &str) -> Result<(), Error> {
        let now = self
            .runtime
            .block_on(async { answer(self.scheduler.mode()).await })?;
        if now == mode {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "the mode became {} while {mode} was measured; `pandemonium status` may know why",
            printable(&now)
        )))
    }

    /// Makes it what it was. A second Ctrl-C gives up.
    pub fn restore(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        if self.now.as_deref() == Some(self.before.as_str()) {
            return Ok(());
        }
        stop.store(false, Ordering::Relaxed);
        let before = self.before.clone();
        let reason = match self.set(&before, stop) {
            Ok(true) => return Ok(()),
            Ok(false) => "stopped".to_owned(),
            // It went, and the mode with it.
            Err(Error::NoDaemon) => return Err(Error::NoDaemon),
            Err(error) => error.to_string(),
        };
        let before = printable(&before);
        Err(Error::Failed(format!(
            "the mode is not put back ({reason}); do it with `pandemonium mode {before}`"
        )))
    }
}
