//! The mode as something that is switched for a while and put back.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};

use pandemonium_api::{Scheduler1Proxy, mode, state};
use tokio::runtime::Runtime;

use super::selector::stopped;
use crate::connection::{Daemon, answer, explain};
use crate::error::Error;
use crate::text::printable;

/// What is wanted of the daemon.
#[derive(Clone, PartialEq, Eq)]
struct Wish {
    mode: String,
    /// It was taken off without forgetting the mode.
    is_stopped: bool,
}

impl Wish {
    async fn read(scheduler: &Scheduler1Proxy<'_>) -> zbus::Result<Wish> {
        let mode = scheduler.requested_mode().await?;
        // One that could not be loaded is stopped too, but then nobody decided that.
        let is_stopped = mode != mode::OFF
            && scheduler.state().await? == state::STOPPED
            && scheduler.mode_reason().await? != state::STOPPED;
        Ok(Wish { mode, is_stopped })
    }

    /// What somebody types who wants this.
    fn commands(&self) -> String {
        let stop = if self.is_stopped {
            " && pandemonium stop"
        } else {
            ""
        };
        format!("pandemonium mode {}{stop}", printable(&self.mode))
    }
}

/// The mode of the daemon.
pub struct Modes<'a> {
    runtime: &'a Runtime,
    scheduler: Scheduler1Proxy<'static>,
    /// As it was asked for before.
    before: Wish,
    /// As it is; `None` while that is not known.
    now: Option<Wish>,
}

impl<'a> Modes<'a> {
    /// Finds it, or says in one sentence why there is nothing to switch.
    pub fn find(runtime: &'a Runtime) -> Result<Modes<'a>, Error> {
        let (scheduler, before) = runtime.block_on(async {
            let daemon = Daemon::connect().await?;
            let scheduler = answer(daemon.uncached()).await?;
            let before = answer(Wish::read(&scheduler)).await?;
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
        let call = self.scheduler.set_mode(mode, Default::default());
        let outcome = wait(self.runtime, call, stop);
        self.now = match outcome {
            Ok(true) => Some(Wish {
                mode: mode.to_owned(),
                is_stopped: false,
            }),
            // Not even asked for.
            Err(Error::Denied(_)) => self.now.take(),
            // A mode that cannot be loaded may be wanted all the same.
            Ok(false) | Err(_) => None,
        };
        outcome
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
        if self.now.as_ref() == Some(&self.before) {
            return Ok(());
        }
        stop.store(false, Ordering::Relaxed);
        let reason = match self.put_back(stop) {
            Ok(true) => return Ok(()),
            Ok(false) => "stopped".to_owned(),
            // It went, and the mode with it.
            Err(Error::NoDaemon) => return Err(Error::NoDaemon),
            Err(error) => error.to_string(),
        };
        Err(Error::Failed(format!(
            "the mode is not put back ({reason}); do it with `{}`",
            self.before.commands()
        )))
    }

    fn put_back(&mut self, stop: &AtomicBool) -> Result<bool, Error> {
        let before = self.before.clone();
        match self.set(&before.mode, stop) {
            // Also if it cannot be loaded: it is wanted again, and taken off anyway.
            Ok(true) | Err(Error::Refused(_)) if before.is_stopped => {
                wait(self.runtime, self.scheduler.stop(), stop)
            }
            other => other,
        }
    }
}

/// Waits for an answer, and returns whether it came before somebody pressed Ctrl-C.
fn wait(
    runtime: &Runtime,
    call: impl Future<Output = zbus::Result<()>>,
    stop: &AtomicBool,
) -> Result<bool, Error> {
    runtime.block_on(async {
        tokio::select! {
            answer = call => answer.map(|()| true).map_err(explain),
            () = stopped(stop) => Ok(false),
        }
    })
}
