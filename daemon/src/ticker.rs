//! When the next second begins, by a timer of the kernel's own. A sleep of tokio's would wake the daemon twice for each
//! of them, once on the way through its wheel of timers, and once more to note the next.

use std::future::pending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::{Errno, read};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Ticks at a fixed distance, the first at once. Those that nobody came for in time are one.
pub struct Ticker(AsyncFd<OwnedFd>);

impl Ticker {
    /// Starts to tick. Needs a runtime; fails without a file to spare, or with a distance that is no time.
    pub fn every(distance: Duration) -> io::Result<Ticker> {
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        let times = Itimerspec {
            it_interval: Timespec::try_from(distance).map_err(io::Error::other)?,
            // Zero would be never.
            it_value: Timespec {
                tv_sec: 0,
                tv_nsec: 1,
            },
        };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
        // SAFETY: the timer is owned by what is made here, and open for as long.
        let timer = unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) };
        timer.map(Ticker).map_err(Into::into)
    }

    /// Waits for the next tick. Nothing is lost if it is given up before that.
    pub async fn tick(&self) {
        loop {
            // It fails only when the runtime ends.
            let Ok(mut guard) = self.0.readable().await else {
                return pending().await;
            };
            let mut times = [0; size_of::<u64>()];
            let read = read(guard.get_inner().as_fd(), &mut times);
            // The next one makes it readable again; to read until nothing is there would be one more call each time.
            guard.clear_ready();
            if read != Err(Errno::AGAIN) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn the_first_tick_is_at_once_and_the_others_follow() {
        let ticker = Ticker::every(Duration::from_millis(1)).unwrap();
        for _ in 0..5 {
            ticker.tick().await;
        }
        let rare = Ticker::every(Duration::from_secs(1 << 20)).unwrap();
        rare.tick().await;
        tokio::select! {
            biased;
            () = rare.tick() => panic!("a second one came at once"),
            () = ticker.tick() => {}
        }
    }

    #[tokio::test]
    async fn what_nobody_came_for_is_one_tick() {
        let ticker = Ticker::every(Duration::from_millis(1)).unwrap();
        // Another one may come before it is looked, but if each were kept there would be more every time.
        let is_one = async || {
            thread::sleep(Duration::from_millis(20));
            ticker.tick().await;
            read(ticker.0.get_ref(), &mut [0; 8]) == Err(Errno::AGAIN)
        };
        for _ in 0..100 {
            if is_one().await {
                return;
            }
        }
        panic!("something is left after each tick");
    }

    #[tokio::test]
    async fn a_tick_that_was_given_up_is_not_lost() {
        let ticker = Ticker::every(Duration::from_secs(1 << 20)).unwrap();
        for _ in 0..3 {
            tokio::select! {
                biased;
                () = async {} => {}
                () = ticker.tick() => panic!("the other one is ready"),
            }
        }
        ticker.tick().await;
    }

    #[tokio::test]
    async fn a_distance_of_no_time_is_refused() {
        assert!(Ticker::every(Duration::MAX).is_err());
    }
}
