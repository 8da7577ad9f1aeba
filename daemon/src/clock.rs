//! Wall-clock stamps for people, and the detection of a suspend.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Below this, the difference between two clock reads is jitter and not a suspend.
const JITTER: Duration = Duration::from_millis(100);
/// Windows for which an announced sleep is believed in; logind lets a sleep wait for seconds, not minutes.
const MAX_ANNOUNCED: u32 = 60;

/// Microseconds of CLOCK_REALTIME, for stamps that a person reads.
pub fn realtime_usec() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The stamp of the moment after this wait.
pub fn realtime_usec_in(wait: Duration) -> u64 {
    let usec = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
    realtime_usec().saturating_add(usec)
}

/// CLOCK_MONOTONIC, which stands still during suspend.
pub fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// CLOCK_BOOTTIME, which does not.
pub fn boottime() -> Duration {
    read(ClockId::Boottime)
}

fn read(id: ClockId) -> Duration {
    let now = clock_gettime(id);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// Knows which windows say nothing because of a sleep: the two clocks have moved apart, or somebody who
/// knows says so. The clocks miss that sessions are frozen before a sleep and thawed after it, and a sleep
/// that was called off in between.
#[derive(Debug, Default)]
pub struct SuspendDetector {
    apart: Option<Duration>,
    announced: u32,
}

impl SuspendDetector {
    /// A sleep begins, or is over.
    pub fn announce(&mut self, is_sleeping: bool) {
        self.announced = if is_sleeping { MAX_ANNOUNCED } else { 1 };
    }

    /// Feeds both clocks; true if the machine slept since the last call, or was about to.
    pub fn step(&mut self, boottime: Duration, monotonic: Duration) -> bool {
        let apart = boottime.saturating_sub(monotonic);
        let before = self.apart.replace(apart);
        let is_announced = self.announced > 0;
        self.announced = self.announced.saturating_sub(1);
        is_announced || before.is_some_and(|before| apart.saturating_sub(before) > JITTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_suspend_is_a_suspend() {
        let ms = Duration::from_millis;
        let mut detector = SuspendDetector::default();
        assert!(
            !detector.step(ms(5_000), ms(1_000)),
            "the first look only remembers"
        );
        assert!(!detector.step(ms(6_010), ms(2_000)), "jitter");
        assert!(detector.step(ms(67_000), ms(3_000)), "a minute asleep");
        assert!(!detector.step(ms(68_000), ms(4_000)), "told once");
    }

    #[test]
    fn an_announced_sleep_lasts_to_the_end_of_the_window_in_which_it_ended() {
        let second = Duration::from_secs;
        let mut detector = SuspendDetector::default();
        let step = |detector: &mut SuspendDetector, n: u64| {
            detector.step(second(n), second(n)) // The clocks say nothing.
        };
        assert!(!step(&mut detector, 1));
        detector.announce(true);
        assert!(step(&mut detector, 2) && step(&mut detector, 3));
        detector.announce(false);
        assert!(step(&mut detector, 4), "it ended in this one");
        assert!(!step(&mut detector, 5));
        detector.announce(true);
        let believed = (6..500).filter(|n| step(&mut detector, *n)).count();
        assert_eq!(
            believed, MAX_ANNOUNCED as usize,
            "an end that is never told"
        );
    }
}
