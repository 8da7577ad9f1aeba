//! Programs that hold a mode for as long as they keep a descriptor.

use std::io::PipeWriter;
use std::os::fd::OwnedFd;

use pandemonium_api::{BusError, HoldRow, Refusal, message_id};
use pandemonium_policy::Mode;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::Daemon;
use crate::clock::realtime_usec;
use crate::status::Cancelled;

/// Holds of one user, and of all.
const MAX_PER_USER: usize = 8;
const MAX: usize = 64;

/// A hold that is asked for.
#[derive(Debug)]
pub struct Held {
    /// The mode.
    pub mode: Mode,
    /// Why, printable.
    pub reason: String,
    /// What the program calls itself, printable.
    pub application: String,
    /// Our end of the pipe: nobody has the other one any more when the hold is over.
    pub end: PipeWriter,
}

/// Watches our end of a pipe. Dropping it closes that end, which the program can see.
pub(super) struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watch {
    /// Says this id when the other end is closed.
    fn start(id: u64, end: PipeWriter, over: UnboundedSender<u64>) -> std::io::Result<Watch> {
        let end = Sender::from_owned_fd(OwnedFd::from(end))?;
        let task = tokio::spawn(async move {
            // Nothing is ever written, so all that can happen is that the reader goes away.
            let _ = end.ready(Interest::ERROR).await;
            // The loop has ended if it no longer listens.
            let _ = over.send(id);
        });
        Ok(Watch(task.abort_handle()))
    }
}

impl Daemon {
    /// Holds the mode, if the kernel agrees.
    pub(super) async fn hold(&mut self, held: Held, uid: u32, caller: &str) -> Result<(), Refusal> {
        self.check_room(uid)?;
        let id = self.holds_so_far;
        let watch = Watch::start(id, held.end, self.over.clone()).map_err(|error| {
            BusError::LimitsExceeded.because(format!("The hold cannot be watched: {error}."))
        })?;
        self.holds_so_far += 1;
        self.watches.insert(id, watch);
        let row = HoldRow {
            mode: held.mode.name().to_owned(),
            application: held.application,
            reason: held.reason,
            uid,
            usec: realtime_usec(),
        };
        let words = format!("{caller}, held by {}", row.application);
        let (before, ended) = (self.wanted.target(), self.ended.clone());
        self.wanted.hold(id, held.mode, row);
        let result = self.bring_about(&words).await;
        if result.is_err() {
            if before == Mode::Off {
                // Only the hold was refused; what was off may come back as it would have without it.
                self.ended = ended;
            }
            self.watches.remove(&id);
            self.wanted.release(id);
            self.follow(held.mode).await;
        }
        result
    }

    fn check_room(&self, uid: u32) -> Result<(), Refusal> {
        let holds = self.wanted.holds();
        let own = holds.iter().filter(|hold| hold.uid == uid).count();
        if own < MAX_PER_USER && holds.len() < MAX {
            return Ok(());
        }
        Err(BusError::LimitsExceeded.because(format!(
            "There is no room for another hold: this user has {own} of {MAX_PER_USER}, and all have {} of {MAX}.",
            holds.len()
        )))
    }

    /// The program has closed its descriptor or ended.
    pub(super) async fn release(&mut self, id: u64) {
        self.watches.remove(&id);
        let before = self.wanted.target();
        let Some(row) = self.wanted.release(id) else {
            return;
        };
        self.follow(before).await;
        let (mode, why) = (self.wanted.target().name(), self.wanted.why());
        log::info!(
            "{} holds nothing any more; mode {mode} ({why})",
            row.application
        );
    }

    /// Somebody decides otherwise.
    pub(super) fn cancel_holds(&mut self, caller: &str) {
        self.watches.clear();
        let holds = self.wanted.cancel_holds();
        if holds.is_empty() {
            return;
        }
        let names: Vec<_> = holds.iter().map(|hold| hold.application.as_str()).collect();
        let names = names.join(", ");
        log::warn!(
            MESSAGE_ID = message_id::HOLDS_CANCELLED,
            PANDEMONIUM_HOLDS = names.as_str(),
            PANDEMONIUM_CALLER = caller;
            "the holds of {names} are cancelled on request of {caller}"
        );
        self.status.cancellations += 1;
        self.status.last_cancelled = Cancelled {
            by: caller.to_owned(),
            holds,
        };
    }
}
