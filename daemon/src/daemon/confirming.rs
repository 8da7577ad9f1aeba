//! Requests for a mode: at once, on trial, and remembered for the next start.

use std::io;
use std::time::Duration;

use pandemonium_api::{BusError, ModeOptions, Refusal, message_id, revert};
use pandemonium_policy::Mode;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::Daemon;
use crate::clock::realtime_usec_in;
use crate::memory::Memory;
use crate::status::Revert;

/// How long writing the memory may hold up the loop.
const SAVE: Duration = Duration::from_secs(2);

const NOTHING_WAITS: &str = "No mode waits for a confirmation.";

impl Daemon {
    /// Makes the mode so, or says why not. Without conditions the wish stays either way.
    pub(super) async fn set_mode(
        &mut self,
        mode: Mode,
        options: ModeOptions,
        caller: &str,
    ) -> Result<(), Refusal> {
        let why = format!("request of {caller}");
        let Some(seconds) = options.confirm_seconds else {
            if options.persist {
                self.remember(mode).await?;
            }
            self.cancel_holds(caller);
            self.plan_confirmation(None);
            self.forget_refused_mode();
            self.wanted.ask(mode, why);
            return self.bring_about(caller).await;
        };
        self.cancel_holds(caller);
        self.plan_confirmation(Some(self.pace.second * seconds));
        self.wanted.ask_on_trial(mode, why, options.persist);
        let result = self.bring_about(caller).await;
        if result.is_err() {
            self.plan_confirmation(None);
            self.wanted.revert();
            self.follow(mode).await;
        }
        result
    }

    /// Keeps the mode that waits, if it is the one that was authorised. What cannot be remembered goes on
    /// waiting.
    pub(super) async fn confirm(
        &mut self,
        mode: Mode,
        is_lasting: bool,
        caller: &str,
    ) -> Result<(), Refusal> {
        let Some(is_persistent) = self.wanted.trial() else {
            return Err(BusError::NotFound.because(NOTHING_WAITS));
        };
        if (self.wanted.wish(), is_persistent) != (mode, is_lasting) {
            return Err(BusError::Busy.because("Another mode waits by now; look at it again."));
        }
        if is_persistent {
            self.remember(mode).await?;
        }
        self.forget_refused_mode();
        self.wanted.confirm();
        self.plan_confirmation(None);
        self.publish();
        log::info!("mode {} confirmed by {caller}", mode.name());
        Ok(())
    }

    /// Somebody takes the mode that waits back.
    pub(super) async fn revert_now(&mut self, caller: &str) -> Result<(), Refusal> {
        if self.wanted.trial().is_none() {
            return Err(BusError::NotFound.because(NOTHING_WAITS));
        }
        log::info!("{caller} takes the unconfirmed mode back");
        self.revert(revert::REQUEST).await;
        Ok(())
    }

    /// The mode that waits goes back, and the scheduler with it.
    pub(super) async fn revert(&mut self, reason: &'static str) {
        if let Some(before) = self.take_back(reason) {
            self.follow(before).await;
        }
    }

    /// The wish that waits goes back: the mode that was wanted until now, if one waited.
    pub(super) fn take_back(&mut self, reason: &'static str) -> Option<Mode> {
        let before = self.wanted.target();
        let (from, to) = self.wanted.revert()?;
        self.plan_confirmation(None);
        self.status.last_revert = Revert { from, to, reason };
        self.status.reverts += 1;
        log::warn!(
            MESSAGE_ID = message_id::REVERTED,
            PANDEMONIUM_FROM = from.name(),
            PANDEMONIUM_MODE = to.name(),
            PANDEMONIUM_REASON = reason;
            "mode {} was not confirmed ({reason}); {} is wanted again", from.name(), to.name()
        );
        Some(before)
    }

    pub(super) fn plan_confirmation(&mut self, wait: Option<Duration>) {
        self.confirm_at = wait.map(|wait| Instant::now() + wait);
        self.status.confirm_usec = wait.map_or(0, realtime_usec_in);
    }

    /// Remembers the mode for the next start. On the disk first: what cannot be kept is not done.
    async fn remember(&mut self, mode: Mode) -> Result<(), Refusal> {
        let memory = self.memory.clone().with_mode(mode, self.configured.mode);
        if memory == self.memory && self.not_remembered.is_none() {
            return Ok(());
        }
        let saved = self.save_memory(&memory).await;
        saved.map_err(|error| {
            BusError::NotSaved.because(format!("The mode cannot be remembered: {error}."))
        })?;
        self.memory = memory;
        self.warn_about_memory(None);
        Ok(())
    }

    /// Remembers what was chosen since the configuration was written, for the next start. A choice is in
    /// effect already and stands if it cannot be kept, but people are told, until it can.
    pub(super) async fn remember_choices(&mut self) {
        let configured = &self.configured;
        let memory = self.memory.clone().with_mode_of(configured.mode);
        let memory = memory.with_choices(&self.status.choices, &configured.choices);
        if memory == self.memory && self.not_remembered.is_none() {
            return;
        }
        let saved = self.save_memory(&memory).await;
        self.memory = memory;
        self.warn_about_memory(saved.err().map(|error| {
            format!(
                "What was chosen lasts until the daemon ends, because it cannot be saved: {error}."
            )
        }));
    }

    fn warn_about_memory(&mut self, sentence: Option<String>) {
        let before = std::mem::replace(&mut self.not_remembered, sentence.clone());
        self.warn_once(before.as_ref(), sentence);
    }

    async fn save_memory(&mut self, memory: &Memory) -> io::Result<()> {
        let too_slow = || io::Error::other("the disk does not answer");
        let is_earlier_busy = |saving: &JoinHandle<_>| !saving.is_finished();
        if self.remembering.as_ref().is_some_and(is_earlier_busy) {
            // Two writers would be in each other's way.
            return Err(too_slow());
        }
        let (store, memory) = (self.memory_store.clone(), memory.clone());
        let mut saving = tokio::task::spawn_blocking(move || store.save(&memory));
        match timeout(SAVE, &mut saving).await {
            Ok(ended) => ended?,
            Err(_) => {
                self.remembering = Some(saving);
                Err(too_slow())
            }
        }
    }
}
