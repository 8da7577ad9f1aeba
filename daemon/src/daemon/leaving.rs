//! The end: when there is nothing left to do, and how to go.

use std::io::{self, Write};
use std::time::Duration;

use pandemonium_policy::Mode;

use super::Daemon;
use super::lifecycle::SYSRQ;
use crate::failure::{Failure, exit_code};
use crate::status::{State, named_counters};

/// How long the last save may hold up the end of the daemon.
const LAST_SAVE: Duration = Duration::from_millis(1_500);

impl Daemon {
    /// Without a bus nobody can ask for a mode, so there is no use in staying when nothing will
    /// happen by itself.
    pub(super) fn is_pointless(&self) -> Option<Result<(), Failure>> {
        if !self.is_alone || self.retry_at.is_some() || self.wanted.target() == Mode::Off {
            return None;
        }
        let failed = |code| Some(Err(Failure::logged(code)));
        match self.status.state {
            State::Running | State::Starting => None,
            // The administrator wished it away with SysRq-S, which is no failure.
            State::Ejected if self.status.last_exit.kind == SYSRQ => Some(Ok(())),
            State::Conflict => failed(exit_code::FOREIGN),
            State::Unsupported => failed(exit_code::UNSUPPORTED),
            State::Stopped | State::Ejected => failed(exit_code::OTHER),
        }
    }

    /// Gives the CPUs back to the kernel's scheduler, saves, and says so.
    pub(super) async fn leave(&mut self) {
        self.notifier.stopping();
        self.drain_observations();
        self.print_totals();
        self.engine.detach();
        self.previous = None;
        self.settle(State::Stopped, "The daemon is leaving.");
        match tokio::time::timeout(LAST_SAVE, self.save()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log::warn!("The learned profiles were not saved: {error}."),
            Err(_) => log::warn!("The learned profiles were not saved in time."),
        }
        log::info!("left; the kernel's own scheduler runs");
    }

    /// The last line of the telemetry: every counter since the scheduler was loaded.
    fn print_totals(&mut self) {
        if !self.has_telemetry || self.status.state != State::Running {
            return;
        }
        let Some(reading) = self.read() else { return };
        let totals = named_counters(&reading.counters);
        let words: Vec<String> = totals
            .iter()
            .map(|(name, n)| format!("{name}={n}"))
            .collect();
        // A closed pipe must not end the scheduler badly.
        let _ = writeln!(std::io::stdout(), "totals: {}", words.join(" "));
    }

    async fn save(&mut self) -> io::Result<()> {
        if let Some(saving) = self.saving.take() {
            // Two writers would be in each other's way; what the earlier one could not save is saved now.
            if let Ok(Ok(generation)) = saving.await {
                self.saved_generation = generation;
            }
        }
        if self.profiles.generation() == self.saved_generation {
            return Ok(());
        }
        let (store, profiles) = (self.store.clone(), self.profiles.clone());
        tokio::task::spawn_blocking(move || store.save(&profiles)).await?
    }
}
