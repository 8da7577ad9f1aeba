//! Pairs that were measured in turn, and how sure their ratio is.

use std::fmt;

use crate::results::{EEVDF, Place, REAL, Results, median};
use crate::suite::Row;

/// Fewer pairs say nothing about their spread.
const FEWEST: usize = 6;
/// Chance that a bound is wrong on either side, in permille: together they leave 95 %.
const TAIL_PERMILLE: u64 = 25;

/// The median of ratios and an interval that holds the true one with at least 95 % probability, whatever their
/// distribution: order statistics by the sign test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The median ratio.
    pub median: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "x{:.3}, {:.3} to {:.3}",
            self.median, self.low, self.high
        )
    }
}

/// The ratio of a scheduler to the kernel's own. There is none in virtual time: each scheduler has a machine of its own
/// there, so rounds of the same number have nothing in common.
pub fn of(results: &Results, here: &Place<'_>, scheduler: &str, row: &Row) -> Option<Interval> {
    if here.time != REAL {
        return None;
    }
    of_ratios(&results.pairs(here, (scheduler, EEVDF), row.workload, row.figure))
}

/// The ratio of the first of each pair to the second; `None` with too few of them.
fn of_ratios(pairs: &[(f64, f64)]) -> Option<Interval> {
    let pairs = pairs.iter().filter(|(_, theirs)| *theirs > 0.0);
    let mut ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
    if ratios.len() < FEWEST {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let outside = left_out(ratios.len() as u64);
    Some(Interval {
        low: *ratios.get(outside)?,
        high: *ratios.get(ratios.len() - 1 - outside)?,
        median: median(ratios)?,
    })
}

/// How many values at either end lie outside the interval.
fn left_out(count: u64) -> usize {
    let all = 1u128 << count.min(120);
    let (mut chosen, mut below, mut outside) = (1u128, 0u128, 0);
    // `chosen` is the number of ways in which `outside` of `count` values are below the median.
    for k in 0..count {
        below += chosen;
        if below * 1000 > all * u128::from(TAIL_PERMILLE) {
            break;
        }
        outside = k as usize + 1;
        chosen = chosen * u128::from(count - k) / u128::from(k + 1);
    }
    outside.saturating_sub(1).min(count as usize / 2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::rounds;
    use crate::suite::ROWS;

    #[test]
    fn bounds_are_those_of_the_sign_test() {
        // Of six values the extremes bound the median with 1 - 2/64, of nine the second ones with 1 - 20/512.
        assert_eq!([6, 7, 8, 9, 12, 15].map(left_out), [0, 0, 0, 1, 2, 3]);
    }

    #[test]
    fn ratios_are_of_pairs() {
        let ours = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let same = of_ratios(&ours.map(|value| (value, value))).unwrap();
        assert_eq!((same.low, same.median, same.high), (1.0, 1.0, 1.0));
        let pairs = ours.map(|value| (value, 2.0));
        let found = of_ratios(&pairs).unwrap();
        assert_eq!((found.low, found.median, found.high), (0.5, 2.0, 3.5));
        assert_eq!(found.to_string(), "x2.000, 0.500 to 3.500");
        assert_eq!(of_ratios(&pairs[..5]), None);
    }

    #[test]
    fn rounds_of_machines_of_their_own_are_no_pairs() {
        let row = ROWS.iter().find(|row| row.workload == "pipe").unwrap();
        let interval = |time: &str| {
            let mut all = rounds(time, ("eevdf", "pipe", "p50_us"), &[Some(10.0); 6]);
            all.values
                .extend(rounds(time, ("bpf", "pipe", "p50_us"), &[Some(5.0); 6]).values);
            of(&all, &Place { time, cpus: 2 }, "bpf", row)
        };
        assert_eq!(interval("real").map(|ratio| ratio.median), Some(0.5));
        assert_eq!(interval("virtual"), None);
    }
}
