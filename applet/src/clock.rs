//! The time that is shown. In the demo it runs faster than that of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use pandemonium_api::MIN_SAMPLE_INTERVAL_MS;

/// Turns moments of the daemon's clock into those that are shown, and back never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin_usec: u64,
    speed: u64,
}

impl Clock {
    /// The clock of this machine.
    pub const REAL: Clock = Clock {
        origin_usec: 0,
        speed: 1,
    };

    /// A clock that shows the present as it is, and from there on this many seconds in each.
    pub fn fast(speed: u32) -> Clock {
        Clock {
            origin_usec: real_usec(),
            speed: u64::from(speed.max(1)),
        }
    }

    /// What is shown for a moment, microseconds of CLOCK_REALTIME. What lies before the origin is moved
    /// back by as much as it is older.
    pub fn shown(self, usec: u64) -> u64 {
        if usec >= self.origin_usec {
            self.origin_usec
                .saturating_add((usec - self.origin_usec).saturating_mul(self.speed))
        } else {
            self.origin_usec
                .saturating_sub((self.origin_usec - usec).saturating_mul(self.speed))
        }
    }

    /// The longest time, as it is shown, between two ticks of which none is missing, microseconds. Samples
    /// come once a tick, and not more often than a subscriber may ask for them.
    pub fn longest_tick(self) -> u64 {
        let between_samples = u64::from(MIN_SAMPLE_INTERVAL_MS) * 1_000;
        (2 * between_samples)
            .saturating_mul(self.speed)
            .max(2_000_000)
    }

    /// What came this much before another tick, as it is shown, is not just late: the clock was set back between them.
    pub fn longest_delay(self) -> u64 {
        self.speed.saturating_mul(5_000_000)
    }

    /// The present as it is shown.
    pub fn now(self) -> u64 {
        self.shown(real_usec())
    }
}

/// CLOCK_REALTIME, microseconds.
pub fn real_usec() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_stretches_what_lies_after_and_before_its_origin() {
        let clock = Clock {
            origin_usec: 1_000,
            speed: 10,
        };
        assert_eq!(clock.shown(1_000), 1_000);
        assert_eq!(clock.shown(1_050), 1_500);
        assert_eq!(clock.shown(990), 900);
        assert_eq!(clock.shown(0), 0);
        assert_eq!(Clock::REAL.shown(77), 77);
        assert_eq!(Clock::REAL.longest_tick(), 2_000_000);
        assert_eq!(clock.longest_tick(), 5_000_000);
        assert_eq!(clock.longest_delay(), 50_000_000);
    }
}
