//! Wall-clock stamps for people, and the detection of a suspend.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Below this, the difference between two clock reads is jitter and not a suspend.
const JITTER: Duration = Duration::from_millis(100);

/// Microseconds of CLOCK_REALTIME, for stamps that a person reads.
pub fn realtime_usec() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
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

/// Notices that the machine slept: the two clocks have moved apart.
#[derive(Debug, Default)]
pub struct SuspendDetector {
    apart: Option<Duration>,
}

impl SuspendDetector {
    /// Feeds both clocks; true if the machine slept since the last call.
    pub fn step(&mut self, boottime: Duration, monotonic: Duration) -> bool {
        let apart = boottime.saturating_sub(monotonic);
        let before = self.apart.replace(apart);
        before.is_some_and(|before| apart.saturating_sub(before) > JITTER)
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
}
