//! Percentiles over every single value.

use std::sync::Mutex;

/// Values in the order in which they were measured.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<u64>);

impl Samples {
    /// An empty set with room for this many values, so that adding them takes the same time each.
    pub fn with_room(count: usize) -> Samples {
        Samples(Vec::with_capacity(count))
    }

    /// Adds one value.
    pub fn push(&mut self, value: u64) {
        self.0.push(value);
    }

    /// Adds all values of another set.
    pub fn append(&mut self, mut other: Samples) {
        self.0.append(&mut other.0);
    }

    /// Adds these to what all threads have measured.
    pub fn add_to(self, all: &Mutex<Samples>) {
        if let Ok(mut all) = all.lock() {
            all.append(self);
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Arithmetic mean; 0 without values.
    pub fn mean(&self) -> f64 {
        let sum: u128 = self.0.iter().map(|value| u128::from(*value)).sum();
        if self.0.is_empty() {
            0.0
        } else {
            sum as f64 / self.0.len() as f64
        }
    }

    /// The values as they came.
    pub fn values(&self) -> &[u64] {
        &self.0
    }

    /// The values from this index on.
    pub fn since(&self, index: usize) -> Samples {
        Samples(self.0.get(index..).unwrap_or_default().to_vec())
    }

    /// Median, 99th percentile and maximum.
    pub fn summary(mut self) -> Summary {
        self.0.sort_unstable();
        Summary {
            count: self.0.len(),
            p50: nearest_rank(&self.0, 500),
            p99: nearest_rank(&self.0, 990),
            max: self.0.last().copied().unwrap_or(0),
        }
    }
}

/// What is reported about a set of values; all 0 without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

/// The value that `permille` of the sorted values do not exceed; 0 without values.
fn nearest_rank(sorted: &[u64], permille: usize) -> u64 {
    let rank = (sorted.len() * permille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: impl IntoIterator<Item = u64>) -> Summary {
        Samples(values.into_iter().collect()).summary()
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let expected = Summary {
            count: 1000,
            p50: 500,
            p99: 990,
            max: 1000,
        };
        assert_eq!(summary((1..=1000).rev()), expected);
        assert_eq!(
            summary([7]),
            Summary {
                count: 1,
                p50: 7,
                p99: 7,
                max: 7
            }
        );
        assert_eq!(
            summary([1, 2]),
            Summary {
                count: 2,
                p50: 1,
                p99: 2,
                max: 2
            }
        );
    }

    #[test]
    fn the_mean_is_exact_even_of_huge_values() {
        assert_eq!(Samples(vec![1, 2, 4, 5]).mean(), 3.0);
        assert_eq!(Samples(vec![u64::MAX; 4]).mean(), u64::MAX as f64);
        assert_eq!(Samples::with_room(8).mean(), 0.0);
    }

    #[test]
    fn no_values_give_zeros() {
        assert_eq!(
            summary([]),
            Summary {
                count: 0,
                p50: 0,
                p99: 0,
                max: 0
            }
        );
    }

    #[test]
    fn one_outlier_in_two_hundred_stays_out_of_p99() {
        let values = (0..200).map(|i| if i == 3 { 1_000_000 } else { 10 });
        let summary = summary(values);
        assert_eq!((summary.p99, summary.max), (10, 1_000_000));
    }

    #[test]
    fn later_values_can_be_looked_at_alone() {
        let samples = Samples(vec![100, 100, 1, 2, 3]);
        assert_eq!(samples.since(2).summary().max, 3);
        assert_eq!(samples.since(99).len(), 0);
    }
}
