//! Text through a descriptor that a caller handed over: to it or from it, in bounded time and size. Whatever
//! the descriptor is, the work is done on a thread of its own, and each user has few of them.

use std::io;
use std::sync::Arc;

use pandemonium_api::{BusError, Refusal};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::authority::Permit;
use super::deadline::PATIENCE;
use super::inlet::{Inlet, MAX_BYTES};
use super::outlet::Outlet;
use super::places::Places;

/// Transfers of one user, and of all; one that hangs in somebody's file system keeps its place.
const MAX_PER_USER: usize = 4;
const MAX: usize = 16;

/// Does transfers.
#[derive(Clone)]
pub struct Transfers(Arc<Places>);

impl Default for Transfers {
    fn default() -> Self {
        Transfers(Places::new(MAX_PER_USER, MAX))
    }
}

impl Transfers {
    /// Writes all of the text, or refuses with `NotSaved`.
    pub async fn write(&self, permit: &Permit, to: Outlet, text: String) -> Result<(), Refusal> {
        let work = move || to.write_all(text.as_bytes(), PATIENCE);
        let written = self.run(permit.uid(), work).await?;
        written.map_err(|error| BusError::NotSaved.because(describe(&error)))
    }

    /// Reads to the end, and makes something of it on the same thread.
    pub async fn read<T: Send + 'static>(
        &self,
        permit: &Permit,
        from: Inlet,
        parse: impl FnOnce(Vec<u8>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let work = move || from.read_all(PATIENCE).map(parse);
        let read = self.run(permit.uid(), work).await?;
        read.map_err(|error| {
            let kind = match error.kind() {
                io::ErrorKind::FileTooLarge => BusError::LimitsExceeded,
                _ => BusError::InvalidArgs,
            };
            kind.because(describe(&error))
        })?
    }

    async fn run<T: Send + 'static>(
        &self,
        uid: u32,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<io::Result<T>, Refusal> {
        let place = self.0.enter(uid).ok_or_else(|| {
            BusError::LimitsExceeded.because(format!(
                "At most {MAX_PER_USER} transfers of one user, and {MAX} in all, happen at a time."
            ))
        })?;
        let done = spawn_blocking(move || {
            // Given back when the thread is free, not when the caller has stopped waiting.
            let _place = place;
            work()
        });
        // Twice the patience of the thread: this one only ends the wait for a file that hangs.
        Ok(match timeout(2 * PATIENCE, done).await {
            Ok(ended) => ended.unwrap_or_else(|error| Err(io::Error::other(error))),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        })
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => "The other end of the descriptor took too long.".to_owned(),
        io::ErrorKind::FileTooLarge => format!("There are more than {MAX_BYTES} bytes to read."),
        _ => format!("The descriptor fails: {error}."),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use super::*;

    fn kind<T>(result: Result<T, Refusal>) -> Option<BusError> {
        result.err().map(|refusal| refusal.error)
    }

    fn outlet() -> Outlet {
        let file = OwnedFd::from(tempfile::tempfile().expect("a file"));
        Outlet::new(file).expect("taken")
    }

    #[tokio::test]
    async fn few_transfers_of_a_user_happen_at_a_time_and_others_are_not_held_up() {
        let transfers = Transfers::default();
        let mut ends = Vec::new();
        let mut waiting = tokio::task::JoinSet::new();
        for uid in 0..(MAX / MAX_PER_USER) as u32 {
            for _ in 0..MAX_PER_USER {
                let (reader, writer) = io::pipe().expect("a pipe");
                ends.push(writer);
                let transfers = transfers.clone();
                let inlet = Inlet::new(reader.into()).expect("taken");
                waiting.spawn(async move {
                    let permit = Permit::of_test(uid);
                    transfers.read(&permit, inlet, Ok).await
                });
            }
            // Each has taken its place when it waits for its thread.
            tokio::task::yield_now().await;
            let permit = Permit::of_test(uid);
            let refused = transfers.write(&permit, outlet(), String::new()).await;
            assert_eq!(kind(refused), Some(BusError::LimitsExceeded));
            let stranger = Permit::of_test(99);
            let other = transfers.write(&stranger, outlet(), "x".into());
            let is_full = uid + 1 == (MAX / MAX_PER_USER) as u32;
            let expected = is_full.then_some(BusError::LimitsExceeded);
            assert_eq!(kind(other.await), expected, "after user {uid}");
        }
        for end in &mut ends {
            end.write_all(b"done").expect("somebody reads");
        }
        drop(ends);
        while let Some(read) = waiting.join_next().await {
            assert_eq!(read.expect("no panic"), Ok(b"done".to_vec()));
        }
        let permit = Permit::of_test(0);
        let written = transfers.write(&permit, outlet(), "x".into()).await;
        assert_eq!(written, Ok(()), "places are given back");
    }
}
