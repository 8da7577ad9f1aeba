//! Knob defaults, ranges and names.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Knobs, Limits, Regime};
use proptest::prelude::*;

fn is_within_specs(knobs: &Knobs) -> bool {
    Knobs::SPECS.iter().all(|spec| {
        let value = knobs.get(spec.name).unwrap();
        (spec.min..=spec.max).contains(&value)
    })
}

#[test]
fn defaults_are_those_of_the_specification() {
    let expected = [
        ("slice_ns", 1_000_000),
        ("preempt_thresh_ns", 1_000_000),
        ("lag_scale", 4),
        ("batch_slice_ns", 20_000_000),
        ("burst_slice_ns", 1_000_000),
        ("cpu_bound_thresh_ns", 2_500_000),
        ("lat_cri_thresh_high", 32),
        ("lat_cri_thresh_low", 8),
        ("affinity_mode", 1),
        ("sojourn_thresh_ns", 5_000_000),
    ];
    let knobs = Knobs::default();
    assert_eq!(Knobs::SPECS.len(), expected.len());
    for (spec, (name, value)) in Knobs::SPECS.iter().zip(expected) {
        assert_eq!(spec.name, name);
        assert_eq!(spec.default, value, "{name}");
        assert_eq!(knobs.get(name), Some(value), "{name}");
    }
    assert!(is_within_specs(&knobs));
    assert_eq!(knobs.clamped(), knobs);
}

#[test]
fn every_spec_explains_itself() {
    for spec in Knobs::SPECS {
        assert!(
            spec.min <= spec.default && spec.default <= spec.max,
            "{}",
            spec.name
        );
        assert_eq!(
            spec.unit == "ns",
            spec.name.ends_with("_ns"),
            "{}",
            spec.name
        );
        assert!(!spec.meaning.is_empty());
    }
}

#[test]
fn the_burst_slice_says_whose_slices_it_cuts() {
    let spec = Knobs::SPECS
        .iter()
        .find(|spec| spec.name == "burst_slice_ns");
    assert_eq!(
        spec.unwrap().meaning,
        "longest slice of an interactive or latency-critical task during a burst or a longrun"
    );
}

#[test]
fn an_unknown_knob_has_no_value() {
    assert_eq!(Knobs::default().get("slice"), None);
    assert_eq!(Knobs::default().get(""), None);
}

#[test]
fn serialised_names_are_the_spec_names() {
    let json = serde_json::to_value(Knobs::default()).unwrap();
    let fields = json.as_object().unwrap();
    assert_eq!(fields.len(), Knobs::SPECS.len());
    for spec in Knobs::SPECS {
        assert_eq!(fields[spec.name].as_u64(), Some(spec.default));
    }
}

#[test]
fn baselines_follow_the_specification_and_fit_at_every_cpu_count() {
    let big = Limits::for_cpus(12);
    let row = |regime: Regime| {
        let k = regime.baseline(&big);
        (
            k.slice_ns / 1000,
            k.preempt_thresh_ns / 1000,
            k.batch_slice_ns / 1000,
            k.affinity_mode,
        )
    };
    assert_eq!(row(Regime::Light), (2000, 1000, 20_000, 1));
    assert_eq!(row(Regime::Mixed), (1000, 1000, 20_000, 2));
    assert_eq!(row(Regime::Heavy), (4000, 2000, 20_000, 1));
    let small = Regime::Mixed.baseline(&Limits::for_cpus(2));
    assert_eq!(small.batch_slice_ns, 10_000_000);
    for cpus in 1..=1024 {
        for regime in [Regime::Light, Regime::Mixed, Regime::Heavy] {
            let knobs = regime.baseline(&Limits::for_cpus(cpus));
            assert!(is_within_specs(&knobs), "{regime:?} at {cpus}");
        }
    }
}

#[test]
fn a_busier_machine_demotes_sooner_and_lets_bank_less_at_every_cpu_count() {
    for cpus in [1, 2, 4, 12, 1024] {
        let row = |regime: Regime| {
            let k = regime.baseline(&Limits::for_cpus(cpus));
            (k.cpu_bound_thresh_ns / 1000, k.lag_scale)
        };
        let rows = [Regime::Light, Regime::Mixed, Regime::Heavy].map(row);
        assert_eq!(rows, [(5000, 6), (2500, 4), (2000, 2)], "{cpus} CPUs");
    }
}

proptest! {
    #[test]
    fn clamping_brings_anything_into_range_and_is_idempotent(values in any::<[u64; 10]>()) {
        let [slice_ns, preempt_thresh_ns, lag_scale, batch_slice_ns, burst_slice_ns,
             cpu_bound_thresh_ns, lat_cri_thresh_high, lat_cri_thresh_low, affinity_mode,
             sojourn_thresh_ns] = values;
        let knobs = Knobs { slice_ns, preempt_thresh_ns, lag_scale, batch_slice_ns, burst_slice_ns,
            cpu_bound_thresh_ns, lat_cri_thresh_high, lat_cri_thresh_low, affinity_mode,
            sojourn_thresh_ns }.clamped();
        prop_assert!(is_within_specs(&knobs));
        prop_assert!(knobs.lat_cri_thresh_low <= knobs.lat_cri_thresh_high);
        prop_assert_eq!(knobs.clamped(), knobs);
    }
}
