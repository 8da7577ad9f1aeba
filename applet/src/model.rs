//! What the daemon says, as plain values.

use std::collections::{BTreeMap, VecDeque};

use pandemonium_api::{HistoryPoint, HoldRow, LastExit, Snapshot, mode, state};
use serde::Deserialize;
use zbus::{Type, as_variant};

use crate::clock::Clock;

/// The properties of `Scheduler1`. What an older daemon does not have is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Type)]
#[zbus(signature = "dict")]
#[serde(default, rename_all = "PascalCase")]
#[allow(missing_docs)] // As the properties of the same names.
pub struct Status {
    #[serde(with = "as_variant")]
    pub state: String,
    #[serde(with = "as_variant")]
    pub state_reason: String,
    #[serde(with = "as_variant")]
    pub mode: String,
    #[serde(with = "as_variant")]
    pub requested_mode: String,
    #[serde(with = "as_variant")]
    pub boot_mode: String,
    #[serde(with = "as_variant")]
    pub mode_reason: String,
    #[serde(with = "as_variant", rename = "ConfirmUSec")]
    pub confirm_usec: u64,
    #[serde(with = "as_variant")]
    pub holds: Vec<HoldRow>,
    #[serde(with = "as_variant")]
    pub kernel_state: String,
    #[serde(with = "as_variant")]
    pub kernel_ops: String,
    #[serde(with = "as_variant")]
    pub last_exit: LastExit,
    #[serde(with = "as_variant")]
    pub restart_count: u32,
    #[serde(with = "as_variant", rename = "NextRetryUSec")]
    pub next_retry_usec: u64,
    #[serde(with = "as_variant")]
    pub regime: String,
    #[serde(with = "as_variant")]
    pub burst: bool,
    #[serde(with = "as_variant")]
    pub longrun: bool,
    #[serde(with = "as_variant")]
    pub warnings: Vec<String>,
    #[serde(with = "as_variant")]
    pub compositors: Vec<String>,
    #[serde(with = "as_variant")]
    pub primary_domain: String,
    #[serde(with = "as_variant")]
    pub primary_domain_cpus: String,
    #[serde(with = "as_variant")]
    pub power_map: BTreeMap<String, String>,
    #[serde(with = "as_variant")]
    pub power_source: String,
    #[serde(with = "as_variant")]
    pub power_profile: String,
    #[serde(with = "as_variant")]
    pub idle_selector: bool,
    #[serde(with = "as_variant")]
    pub version: String,
}

impl Status {
    /// Whether the kernel runs this scheduler.
    pub fn is_running(&self) -> bool {
        self.state == state::RUNNING
    }

    /// Whether it is off because somebody wanted that.
    pub fn is_off(&self) -> bool {
        self.state == state::STOPPED && self.requested_mode == mode::OFF
    }
}

/// Whom the applet talks to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Nobody has answered yet.
    #[default]
    Connecting,
    /// There is no bus; the text is the bus library's.
    NoBus(String),
    /// Nobody has the daemon's name.
    NoDaemon,
    /// The daemon is there.
    Here(Box<Status>),
}

impl Presence {
    /// What the daemon says, if it is there.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Presence::Here(status) => Some(status),
            _ => None,
        }
    }
}

/// What comes from the bus, in the order in which it came.
#[derive(Clone, Debug)]
pub enum News {
    /// Whom we talk to, or what it says, is another now.
    Presence(Presence),
    /// The ticks of the last minutes; whatever was shown before is void.
    History(Vec<HistoryPoint>),
    /// A tick.
    Sample(Box<Snapshot>),
    /// What was learned about programs may be something else now.
    Profiles,
    /// A mode went back.
    Reverted(Revert),
}

/// A mode that waited to be kept went back, from one to another and why, all as in the signal `Reverted`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Revert {
    pub from: String,
    pub to: String,
    pub reason: String,
}

/// How much of the past is shown, microseconds.
pub const SPAN_USEC: u64 = 300_000_000;
/// Points kept; the daemon makes one a second, and this is enough for one in 250 ms.
const MAX_POINTS: usize = 1_300;

/// The ticks that are shown, oldest first.
#[derive(Clone, Debug)]
pub struct Series {
    points: VecDeque<HistoryPoint>,
    clock: Clock,
}

impl Default for Series {
    fn default() -> Series {
        Series {
            points: VecDeque::new(),
            clock: Clock::REAL,
        }
    }
}

impl Series {
    /// Which time the ticks are in.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// Starts anew with these.
    pub fn replace(&mut self, points: Vec<HistoryPoint>) {
        self.points.clear();
        for point in points {
            self.push(point);
        }
    }

    /// Adds a tick. One that is not later than the last is an old one that came late; one that is much
    /// earlier says that the clock was set back, and what was before it cannot be shown beside it.
    pub fn push(&mut self, point: HistoryPoint) {
        if point.usec == 0 {
            return;
        }
        if let Some(last) = self.points.back() {
            if point.usec.saturating_add(self.clock.longest_delay()) < last.usec {
                self.points.clear();
            } else if point.usec <= last.usec {
                return;
            }
        }
        self.points.push_back(point);
        let oldest = point.usec.saturating_sub(SPAN_USEC + SPAN_USEC / 10);
        while self.points.len() > MAX_POINTS
            || self.points.front().is_some_and(|first| first.usec < oldest)
        {
            self.points.pop_front();
        }
    }

    /// The ticks.
    pub fn points(&self) -> &VecDeque<HistoryPoint> {
        &self.points
    }

    /// The latest.
    pub fn last(&self) -> Option<&HistoryPoint> {
        self.points.back()
    }
}

/// The 99th percentiles of a tick by tier: batch, interactive, latency-critical; `None` is unknown.
pub fn p99_by_tier(point: &HistoryPoint) -> [Option<u32>; 3] {
    let (batch, interactive, critical) = point.p99_by_tier_nsec;
    [batch, interactive, critical].map(|nsec| (nsec > 0).then_some(nsec))
}

/// The powers of ten, ns, between which all of these lie; a microsecond to a millisecond without any.
pub fn decades<'a>(points: impl IntoIterator<Item = &'a HistoryPoint>) -> (u32, u32) {
    let (mut least, mut most) = (u32::MAX, 0);
    for nsec in points.into_iter().flat_map(p99_by_tier).flatten() {
        least = least.min(nsec);
        most = most.max(nsec);
    }
    if most == 0 {
        return (3, 6);
    }
    let low = least.ilog10().clamp(2, 8);
    let high = (most.max(2) - 1).ilog10() + 1;
    (low, high.clamp(low + 1, 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(usec: u64) -> HistoryPoint {
        HistoryPoint {
            usec,
            ..HistoryPoint::default()
        }
    }

    fn times(series: &Series) -> Vec<u64> {
        series.points().iter().map(|point| point.usec).collect()
    }

    #[test]
    fn ticks_are_kept_in_order_and_each_once() {
        let mut series = Series::default();
        series.replace(vec![at(10), at(20)]);
        series.push(at(20));
        series.push(at(15));
        series.push(at(30));
        series.push(at(0));
        assert_eq!(times(&series), [10, 20, 30]);
    }

    #[test]
    fn what_is_older_than_the_chart_goes() {
        let mut series = Series::default();
        series.push(at(1));
        series.push(at(SPAN_USEC));
        series.push(at(2 * SPAN_USEC));
        assert_eq!(times(&series), [SPAN_USEC, 2 * SPAN_USEC]);
        for usec in 1..=5_000 {
            series.push(at(2 * SPAN_USEC + usec));
        }
        assert_eq!(series.points().len(), MAX_POINTS);
    }

    #[test]
    fn a_clock_that_is_set_back_starts_the_series_anew() {
        let mut series = Series::default();
        series.push(at(10 * SPAN_USEC));
        series.push(at(SPAN_USEC));
        assert_eq!(times(&series), [SPAN_USEC]);
    }

    #[test]
    fn a_clock_that_is_set_back_a_little_does_not_stop_the_series() {
        let mut series = Series::default();
        series.push(at(SPAN_USEC));
        series.push(at(SPAN_USEC - 60_000_000));
        series.push(at(SPAN_USEC - 59_000_000));
        // One that is only late is not taken for that.
        series.push(at(SPAN_USEC - 61_000_000));
        assert_eq!(
            times(&series),
            [SPAN_USEC - 60_000_000, SPAN_USEC - 59_000_000]
        );
    }

    #[test]
    fn the_scale_reaches_from_below_the_least_to_above_the_most() {
        let with = |by_tier| HistoryPoint {
            p99_by_tier_nsec: by_tier,
            ..at(1)
        };
        assert_eq!(decades(&[with((0, 0, 0))]), (3, 6));
        assert_eq!(decades(&[with((2_000_000, 40_000, 0))]), (4, 7));
        assert_eq!(decades(&[with((1_000, 1_000, 1_000))]), (3, 4));
        assert_eq!(decades(&[with((1, u32::MAX, 1))]), (2, 10));
    }

    #[test]
    fn what_an_older_daemon_lacks_is_empty_and_what_a_newer_one_adds_is_ignored() {
        use zbus::wire::{LE, serialized::Context, to_bytes};
        let sent: BTreeMap<&str, zbus::Variant<'_>> = BTreeMap::from([
            ("State", "running".into()),
            ("ConfirmUSec", 7u64.into()),
            ("Colour", "blue".into()),
        ]);
        let bytes = to_bytes(Context::new(LE, 0), &sent).expect("serialises");
        let (status, _): (Status, _) = bytes.deserialize().expect("deserialises");
        let expected = Status {
            state: "running".into(),
            confirm_usec: 7,
            ..Status::default()
        };
        assert_eq!(status, expected);
    }
}
