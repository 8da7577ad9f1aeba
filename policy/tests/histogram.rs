//! The latency histogram: bucket choice, bounds and percentiles.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::Histogram;
use pandemonium_policy::sample::{HIST_BUCKETS, Latencies};
use proptest::prelude::*;

/// Start of the last, open bucket: about one second.
const OPEN_NS: u64 = (15 << 18) << 8;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    values.iter().for_each(|ns| histogram.record(*ns));
    histogram
}

fn between(earlier: &Histogram, later: &Histogram) -> Option<Latencies> {
    let one = |histogram: &Histogram| [histogram.clone()];
    Latencies::between(&one(earlier), &one(later)).map(|(_, all)| all)
}

fn latencies(values: &[u64]) -> Latencies {
    between(&Histogram::default(), &of(values)).unwrap()
}

/// Nearest rank on the raw values.
fn exact(values: &[u64], permille: u32) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() as u64 * u64::from(permille))
        .div_ceil(1000)
        .max(1);
    sorted[rank as usize - 1]
}

fn is_close(estimate: u64, exact: u64) -> bool {
    estimate.abs_diff(exact) <= (exact / 10).max(256)
}

#[test]
fn buckets_tile_the_whole_range() {
    assert_eq!(Histogram::bounds_ns(0), (0, 256));
    for bucket in 1..HIST_BUCKETS {
        let (lower, upper) = Histogram::bounds_ns(bucket);
        assert_eq!(Histogram::bounds_ns(bucket - 1).1, lower);
        assert!(lower < upper);
    }
    assert_eq!(Histogram::bounds_ns(HIST_BUCKETS - 1), (OPEN_NS, u64::MAX));
    assert_eq!(Histogram::bounds_ns(usize::MAX), (OPEN_NS, u64::MAX));
}

#[test]
fn bounds_and_bucket_of_agree_at_every_edge() {
    for bucket in 0..HIST_BUCKETS {
        let (lower, upper) = Histogram::bounds_ns(bucket);
        assert_eq!(Histogram::bucket_of(lower), bucket);
        assert_eq!(Histogram::bucket_of(upper - 1), bucket);
    }
}

#[test]
fn an_empty_histogram_has_no_percentile() {
    assert_eq!(latencies(&[]).percentile_ns(990), None);
    assert_eq!(latencies(&[]).count(), 0);
}

#[test]
fn one_outlier_in_a_thousand_does_not_move_p99() {
    let mut values = vec![40_000; 999];
    values.push(900_000_000);
    let histogram = latencies(&values);
    assert!(is_close(histogram.percentile_ns(990).unwrap(), 40_000));
    assert!(is_close(
        histogram.percentile_ns(1000).unwrap(),
        900_000_000
    ));
}

#[test]
fn waits_beyond_a_second_are_reported_as_at_least_a_second() {
    assert_eq!(latencies(&[u64::MAX]).percentile_ns(500), Some(OPEN_NS));
}

#[test]
fn full_buckets_do_not_overflow() {
    let full = Histogram {
        buckets: [u64::MAX; HIST_BUCKETS],
    };
    let none = Histogram::default();
    let mut more = full.clone();
    more.record(0);
    assert_eq!(more, full);
    let before = [none.clone(), none.clone()];
    let (each, all) = Latencies::between(&before, &[full.clone(), more]).unwrap();
    assert!(each.iter().chain([&all]).all(|l| l.count() == u64::MAX));
    assert!(all.percentile_ns(u32::MAX).is_some());
    assert_eq!(between(&full, &none), None);
}

proptest! {
    #[test]
    fn every_value_lies_in_its_bucket(ns: u64) {
        let (lower, upper) = Histogram::bounds_ns(Histogram::bucket_of(ns));
        prop_assert!(lower <= ns && (ns < upper || upper == u64::MAX));
    }

    #[test]
    fn longer_waits_never_fall_into_lower_buckets(a: u64, b: u64) {
        let (short, long) = (a.min(b), a.max(b));
        prop_assert!(Histogram::bucket_of(short) <= Histogram::bucket_of(long));
    }

    #[test]
    fn percentiles_are_within_a_tenth_of_the_exact_value(
        values in prop::collection::vec(0..OPEN_NS, 1..400), permille in 0u32..=1000
    ) {
        let estimate = latencies(&values).percentile_ns(permille).unwrap();
        prop_assert!(is_close(estimate, exact(&values, permille)));
    }

    #[test]
    fn percentiles_of_typical_latencies_are_within_a_tenth(
        values in prop::collection::vec((8u32..24).prop_flat_map(|bits| 0u64..1 << bits), 1..400),
        permille in 0u32..=1000
    ) {
        let estimate = latencies(&values).percentile_ns(permille).unwrap();
        prop_assert!(is_close(estimate, exact(&values, permille)));
    }

    #[test]
    fn equal_values_are_reported_within_a_tenth_at_every_rank(
        ns in 2048..OPEN_NS, n in 1usize..200, permille in 0u32..=1000
    ) {
        let estimate = latencies(&vec![ns; n]).percentile_ns(permille).unwrap();
        prop_assert!(estimate.abs_diff(ns) * 10 <= ns);
    }

    #[test]
    fn percentiles_grow_with_the_rank(
        values in prop::collection::vec(any::<u64>(), 1..100), a in 0u32..=1000, b in 0u32..=1000
    ) {
        let histogram = latencies(&values);
        prop_assert!(histogram.percentile_ns(a.min(b)) <= histogram.percentile_ns(a.max(b)));
    }

    #[test]
    fn only_what_came_in_between_counts(
        before in prop::collection::vec(any::<u64>(), 0..50),
        after in prop::collection::vec(any::<u64>(), 0..50)
    ) {
        let both = [before.clone(), after.clone()].concat();
        prop_assert_eq!(between(&of(&before), &of(&both)), Some(latencies(&after)));
        if !after.is_empty() {
            prop_assert_eq!(between(&of(&both), &of(&before)), None);
        }
    }

    #[test]
    fn all_tiers_together_are_what_one_histogram_would_have_counted(
        a in prop::collection::vec(0..OPEN_NS, 0..50), b in prop::collection::vec(0..OPEN_NS, 0..50)
    ) {
        let none = Histogram::default();
        let (each, all) = Latencies::between(&[none.clone(), none], &[of(&a), of(&b)]).unwrap();
        prop_assert_eq!(each, [latencies(&a), latencies(&b)]);
        prop_assert_eq!(all, latencies(&[a, b].concat()));
    }
}
