//! Somebody else's descriptor is waited for until a moment, and no longer.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long the other side may take, all in all.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// When the patience is over.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// After so much time.
    pub fn after(patience: Duration) -> Deadline {
        Deadline(Instant::now() + patience)
    }

    /// Waits until the descriptor is ready for this, or can only fail; `TimedOut` when the time is over.
    pub fn wait(&self, fd: impl AsFd, what: PollFlags) -> io::Result<()> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut fds = [PollFd::from_borrowed_fd(fd.as_fd(), what)];
        match poll(&mut fds, Some(&left)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}
