//! What the kernel half may be asked for.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{CpuSet, Pattern, Settings};
use proptest::prelude::*;

fn named(names: impl Iterator<Item = String>) -> Settings {
    Settings {
        compositors: names.map(|name| name.parse().unwrap()).collect(),
        ..Settings::default()
    }
}

#[test]
fn defaults_are_in_force_as_they_are() {
    let settings = Settings::default();
    assert!(settings.idle_selector && !settings.local_kthreads);
    assert_eq!((settings.slice_lag_ns, settings.domain), (0, None));
    assert_eq!(settings.compositors, Pattern::defaults());
    assert_eq!(settings.clone().clamped(), settings);
}

#[test]
fn the_lag_stays_within_twenty_milliseconds_either_way() {
    let lag = |slice_lag_ns| {
        let settings = Settings {
            slice_lag_ns,
            ..Settings::default()
        };
        settings.clamped().slice_lag_ns
    };
    assert_eq!((lag(i64::MAX), lag(i64::MIN)), (20_000_000, -20_000_000));
    assert_eq!(
        (lag(20_000_000), lag(-20_000_000)),
        (20_000_000, -20_000_000)
    );
    assert_eq!(lag(-1), -1);
}

#[test]
fn patterns_are_sorted_and_each_is_there_once() {
    let settings = named(
        ["sway", "kwin*", "sway", "Xorg"]
            .map(String::from)
            .into_iter(),
    );
    let texts: Vec<_> = settings
        .clamped()
        .compositors
        .iter()
        .map(Pattern::to_string)
        .collect();
    assert_eq!(texts, ["Xorg", "kwin*", "sway"]);
}

#[test]
fn of_too_many_patterns_the_first_ones_stay() {
    let settings = named((0..100).rev().map(|i| format!("wm{i:02}"))).clamped();
    assert_eq!(settings.compositors.len(), Pattern::MAX);
    assert_eq!(settings.compositors[0].to_string(), "wm36");
    assert_eq!(settings.compositors[63].to_string(), "wm99");
    let repeated = named((0..200).map(|i| format!("wm{}", i / 4))).clamped();
    assert_eq!(
        repeated.compositors.len(),
        50,
        "what is there twice takes one place"
    );
}

#[test]
fn a_domain_without_cpus_is_no_restriction() {
    let with = |domain| {
        let settings = Settings {
            domain,
            ..Settings::default()
        };
        settings.clamped().domain
    };
    assert_eq!(with(Some(CpuSet::empty())), None);
    let some: CpuSet = [3].into_iter().collect();
    assert_eq!(with(Some(some)), Some(some));
}

proptest! {
    #[test]
    fn clamping_brings_anything_into_range_and_is_idempotent(
        slice_lag_ns: i64, idle_selector: bool, local_kthreads: bool,
        names in prop::collection::vec("[a-c]{1,4}", 0..200)
    ) {
        let settings = Settings {
            idle_selector, local_kthreads, slice_lag_ns, ..named(names.into_iter())
        };
        let clamped = settings.clone().clamped();
        prop_assert!(clamped.slice_lag_ns.abs() <= Settings::SLICE_LAG_MAX_NS);
        prop_assert!(clamped.compositors.len() <= Pattern::MAX);
        prop_assert!(clamped.compositors.is_sorted_by(|a, b| a < b));
        prop_assert!(clamped.compositors.iter().all(|p| settings.compositors.contains(p)));
        prop_assert_eq!(clamped.idle_selector, idle_selector);
        prop_assert_eq!(clamped.local_kthreads, local_kthreads);
        prop_assert_eq!(clamped.clone().clamped(), clamped);
    }
}
