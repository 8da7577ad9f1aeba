//! The last hour, one point a tick, in bounded memory.

use std::collections::VecDeque;

use pandemonium_api::{HistoryPoint, MAX_POINTS, Snapshot};

/// Points that are kept: an hour of ticks.
const LENGTH: usize = 3_600;
/// What they may take, bytes.
const MAX_BYTES: usize = 300 * 1024;
const _: () = assert!(LENGTH * size_of::<HistoryPoint>() <= MAX_BYTES);

/// The ring. Its points are in the order of their times.
#[derive(Debug)]
pub struct History {
    points: VecDeque<HistoryPoint>,
}

impl Default for History {
    /// All of the memory at once: a ring that doubles would take twice as much while it grows.
    fn default() -> Self {
        History {
            points: VecDeque::with_capacity(LENGTH),
        }
    }
}

impl History {
    /// Keeps a tick, unless nothing is known about it or it is kept already.
    pub fn record(&mut self, snapshot: &Snapshot) {
        let last_usec = self.points.back().map_or(0, |point| point.usec);
        if snapshot.elapsed_nsec == 0 || snapshot.sampled_usec == last_usec {
            return;
        }
        if snapshot.sampled_usec < last_usec {
            // Somebody set the clock back: what is kept would come from the future.
            self.points.clear();
        }
        if self.points.len() == LENGTH {
            self.points.pop_front();
        }
        self.points.push_back(HistoryPoint::of(snapshot));
    }

    /// The points after this time, oldest first: at most `max`, where 0 stands for a whole page.
    pub fn since(&self, usec: u64, max: u32) -> Vec<HistoryPoint> {
        let max = if max == 0 {
            MAX_POINTS
        } else {
            max.min(MAX_POINTS)
        };
        let start = self.points.partition_point(|point| point.usec <= usec);
        let page = self.points.range(start..).take(max as usize);
        page.copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(usec: u64) -> Snapshot {
        Snapshot {
            sampled_usec: usec,
            elapsed_nsec: 1_000_000_000,
            ..Snapshot::default()
        }
    }

    fn history(times: impl IntoIterator<Item = u64>) -> History {
        let mut history = History::default();
        times
            .into_iter()
            .for_each(|usec| history.record(&tick(usec)));
        history
    }

    fn times(points: &[HistoryPoint]) -> Vec<u64> {
        points.iter().map(|point| point.usec).collect()
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let history = history(1..=2 * LENGTH as u64);
        assert_eq!(history.points.len(), LENGTH);
        assert_eq!(history.points.capacity(), LENGTH, "it never grows");
        assert_eq!(history.since(0, 1)[0].usec, LENGTH as u64 + 1);
    }

    #[test]
    fn pages_follow_each_other_without_gap_or_repetition() {
        let history = history((1..=1_500).map(|n| n * 1_000_000));
        let (mut all, mut since) = (Vec::new(), 0);
        loop {
            let page = history.since(since, 0);
            assert!(page.len() <= MAX_POINTS as usize);
            let Some(last) = page.last() else { break };
            since = last.usec;
            all.extend(times(&page));
        }
        let expected: Vec<u64> = (1..=1_500).map(|n| n * 1_000_000).collect();
        assert_eq!(all, expected);
        assert_eq!(times(&history.since(1_498_000_000, 1)), [1_499_000_000]);
        assert_eq!(history.since(0, u32::MAX).len(), MAX_POINTS as usize);
    }

    #[test]
    fn a_tick_is_kept_once_and_only_if_something_is_known_about_it() {
        let mut history = history([5, 5, 5]);
        history.record(&Snapshot {
            elapsed_nsec: 0,
            ..tick(6)
        });
        assert_eq!(times(&history.since(0, 0)), [5]);
    }

    #[test]
    fn a_clock_that_is_set_back_starts_anew() {
        let history = history([100, 200, 50, 60]);
        assert_eq!(times(&history.since(0, 0)), [50, 60]);
    }
}
