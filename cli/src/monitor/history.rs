//! The last minutes, one point a second.

use std::collections::VecDeque;

use pandemonium_api::Snapshot;

/// Ten minutes: more columns than a terminal has.
const CAPACITY: usize = 600;

/// One second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// P99 by tier in ns: batch, interactive, latency-critical.
    pub p99_ns: [Option<u64>; 3],
    /// The regime, if the scheduler ran.
    pub regime: Option<Regime>,
}

/// What kind of load it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// Mostly idle.
    Light,
    /// In between.
    Mixed,
    /// No idle time to speak of.
    Heavy,
}

impl Regime {
    /// The regime with this name.
    pub fn named(name: &str) -> Option<Regime> {
        match name {
            "LIGHT" => Some(Regime::Light),
            "MIXED" => Some(Regime::Mixed),
            "HEAVY" => Some(Regime::Heavy),
            _ => None,
        }
    }

    /// One letter for it.
    pub fn letter(self) -> char {
        match self {
            Regime::Light => 'L',
            Regime::Mixed => 'M',
            Regime::Heavy => 'H',
        }
    }
}

/// A bounded row of points; a gap is a second without a daemon.
#[derive(Debug, Default)]
pub struct History {
    points: VecDeque<Option<Point>>,
}

impl History {
    /// Remembers a sample, or a gap.
    pub fn push(&mut self, snapshot: Option<&Snapshot>) {
        if self.points.len() == CAPACITY {
            self.points.pop_front();
        }
        self.points.push_back(snapshot.map(Point::of));
    }

    /// The latest `width` points, oldest first, with gaps for the time before the first.
    pub fn last(&self, width: usize) -> impl Iterator<Item = Option<Point>> + '_ {
        let missing = width.saturating_sub(self.points.len());
        let skip = self.points.len().saturating_sub(width);
        std::iter::repeat_n(None, missing).chain(self.points.iter().skip(skip).copied())
    }
}

impl Point {
    fn of(snapshot: &Snapshot) -> Point {
        let known = |ns: u64| (ns != 0).then_some(ns);
        let (batch, interactive, critical) = snapshot.p99_by_tier_nsec;
        Point {
            p99_ns: [known(batch), known(interactive), known(critical)],
            regime: Regime::named(&snapshot.regime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ns: u64) -> Snapshot {
        Snapshot {
            p99_by_tier_nsec: (ns, 0, 0),
            regime: "LIGHT".into(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_latest_are_on_the_right_and_the_rest_is_empty() {
        let mut history = History::default();
        history.push(Some(&sample(1)));
        history.push(None);
        history.push(Some(&sample(3)));
        let batch: Vec<_> = history
            .last(5)
            .map(|point| point.and_then(|point| point.p99_ns[0]))
            .collect();
        assert_eq!(batch, [None, None, Some(1), None, Some(3)]);
        assert_eq!(history.last(1).count(), 1);
        assert_eq!(history.last(0).count(), 0);
    }

    #[test]
    fn is_bounded() {
        let mut history = History::default();
        for ns in 0..2_000 {
            history.push(Some(&sample(ns)));
        }
        assert_eq!(history.points.len(), CAPACITY);
    }
}
