//! When to attach again after the kernel ended or refused the scheduler.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Failures within the window after which nothing happens by itself any more.
const MAX_FAILURES: usize = 5;
/// The window, in back-off seconds.
const WINDOW: u32 = 600;
/// The longest wait, in back-off seconds.
const LONGEST: u32 = 60;

/// Waits of 1, 2, 4, ... 60 seconds; gives up at the fifth failure within ten minutes.
#[derive(Debug)]
pub struct Backoff {
    second: Duration,
    failures: VecDeque<Instant>,
    exponent: u32,
}

impl Backoff {
    /// `second` is how long a back-off second takes; shorter than real in tests.
    pub fn new(second: Duration) -> Backoff {
        Backoff {
            second,
            failures: VecDeque::new(),
            exponent: 0,
        }
    }

    /// Notes a failure and returns how long to wait, or `None` for ever.
    pub fn failed(&mut self, now: Instant) -> Option<Duration> {
        let window = self.second * WINDOW;
        let is_recent = |at: &Instant| now.duration_since(*at) < window;
        if !self.failures.back().is_some_and(is_recent) {
            self.exponent = 0;
        }
        self.failures.retain(is_recent);
        self.failures.push_back(now);
        if self.failures.len() >= MAX_FAILURES {
            return None;
        }
        let wait = self.second * 2u32.pow(self.exponent.min(6)).min(LONGEST);
        self.exponent += 1;
        Some(wait)
    }

    /// Forgets everything: somebody asked for a mode.
    pub fn reset(&mut self) {
        self.failures.clear();
        self.exponent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn doubles_and_gives_up_at_the_fifth() {
        let mut backoff = Backoff::new(SECOND);
        let now = Instant::now();
        let waits: Vec<_> = (0..5).map(|i| backoff.failed(now + SECOND * i)).collect();
        let expected = [1, 2, 4, 8].map(|s| Some(SECOND * s));
        assert_eq!(waits[..4], expected);
        assert_eq!(waits[4], None);
        backoff.reset();
        assert_eq!(backoff.failed(now + SECOND * 5), Some(SECOND));
    }

    #[test]
    fn rare_failures_wait_up_to_a_minute_and_never_give_up() {
        let mut backoff = Backoff::new(SECOND);
        let now = Instant::now();
        let waits: Vec<_> = (0..9)
            .filter_map(|i| backoff.failed(now + SECOND * 200 * i))
            .collect();
        assert_eq!(waits.len(), 9);
        assert_eq!(waits.last(), Some(&(SECOND * LONGEST)));
    }

    #[test]
    fn a_long_peace_starts_from_one_second() {
        let mut backoff = Backoff::new(SECOND);
        let now = Instant::now();
        backoff.failed(now);
        backoff.failed(now + SECOND);
        assert_eq!(backoff.failed(now + SECOND * 700), Some(SECOND));
    }
}
