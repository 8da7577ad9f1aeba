//! The regime detector: where it goes, and where it stays.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::Regime;
use pandemonium_policy::regime::RegimeDetector;
use proptest::prelude::*;

fn after(readings: &[u32]) -> Regime {
    let mut detector = RegimeDetector::new();
    readings.iter().for_each(|idle| {
        detector.step(*idle);
    });
    detector.regime()
}

fn light() -> RegimeDetector {
    settled(1000)
}

fn settled(idle: u32) -> RegimeDetector {
    let mut detector = RegimeDetector::new();
    detector.step(idle);
    detector.step(idle);
    detector
}

#[test]
fn it_starts_in_mixed() {
    assert_eq!(RegimeDetector::new().regime(), Regime::Mixed);
}

#[test]
fn an_idle_machine_becomes_light() {
    assert_eq!(after(&[980, 970]), Regime::Light);
}

#[test]
fn a_half_busy_machine_is_mixed_wherever_it_came_from() {
    assert_eq!(after(&[500; 10]), Regime::Mixed);
    assert_eq!(after(&[0, 0, 0, 450, 450]), Regime::Mixed);
    assert_eq!(after(&[1000, 1000, 290, 290]), Regime::Mixed);
}

#[test]
fn a_saturated_machine_becomes_heavy() {
    assert_eq!(after(&[20, 0]), Regime::Heavy);
}

#[test]
fn one_tick_is_not_enough_for_any_change() {
    assert_eq!(after(&[1000]), Regime::Mixed);
    assert_eq!(after(&[0]), Regime::Mixed);
    assert_eq!(after(&[1000, 400, 1000, 400]), Regime::Mixed);
    let mut detector = light();
    assert_eq!(detector.step(0), Regime::Light);
    assert_eq!(detector.step(600), Regime::Light);
    assert_eq!(detector.step(0), Regime::Light);
}

#[test]
fn a_sudden_load_leads_from_light_to_heavy_directly() {
    let mut detector = light();
    detector.step(0);
    assert_eq!(detector.step(0), Regime::Heavy);
}

#[test]
fn ticks_that_disagree_on_the_way_out_lead_to_the_middle() {
    let mut detector = light();
    detector.step(200);
    assert_eq!(detector.step(50), Regime::Mixed);
    assert_eq!(
        detector.step(50),
        Regime::Mixed,
        "every change needs two ticks of its own"
    );
    assert_eq!(detector.step(50), Regime::Heavy);
}

#[test]
fn mixed_does_not_leave_when_ticks_pull_in_opposite_directions() {
    assert_eq!(after(&[1000, 0, 1000, 0, 1000, 0]), Regime::Mixed);
}

#[test]
fn thresholds_are_exclusive() {
    assert_eq!(after(&[500, 500, 500]), Regime::Mixed);
    assert_eq!(after(&[501, 501]), Regime::Light);
    assert_eq!(after(&[100, 100, 100]), Regime::Mixed);
    assert_eq!(after(&[99, 99]), Regime::Heavy);
    assert_eq!(after(&[1000, 1000, 300, 300]), Regime::Light);
    assert_eq!(after(&[1000, 1000, 299, 299]), Regime::Mixed);
    assert_eq!(after(&[0, 0, 250, 250]), Regime::Heavy);
    assert_eq!(after(&[0, 0, 251, 251]), Regime::Mixed);
}

#[test]
fn a_forgotten_pending_change_starts_over() {
    let mut detector = RegimeDetector::new();
    detector.step(1000);
    detector.forget_pending();
    assert_eq!(detector.step(1000), Regime::Mixed);
    assert_eq!(detector.step(1000), Regime::Light);
}

#[test]
fn a_busier_machine_tolerates_more_latency() {
    let regimes = [Regime::Light, Regime::Mixed, Regime::Heavy];
    let ceilings_ms = regimes.map(|regime| regime.p99_ceiling_ns() / 1_000_000);
    assert_eq!(ceilings_ms, [3, 5, 10]);
}

#[test]
fn names_are_those_of_the_telemetry() {
    let names = [Regime::Light, Regime::Mixed, Regime::Heavy].map(Regime::name);
    assert_eq!(names, ["LIGHT", "MIXED", "HEAVY"]);
    for regime in [Regime::Light, Regime::Mixed, Regime::Heavy] {
        let json = serde_json::to_string(&regime).unwrap();
        assert_eq!(json, format!("\"{}\"", regime.name()));
        assert_eq!(serde_json::from_str::<Regime>(&json).unwrap(), regime);
    }
}

proptest! {
    #[test]
    fn noise_inside_the_hysteresis_bands_never_flaps(
        low in prop::collection::vec(0u32..=250, 1..100),
        middle in prop::collection::vec(100u32..=500, 1..100),
        high in prop::collection::vec(300u32..=1000, 1..100)
    ) {
        let mut heavy = settled(0);
        prop_assert!(low.iter().all(|idle| heavy.step(*idle) == Regime::Heavy));
        let mut mixed = RegimeDetector::new();
        prop_assert!(middle.iter().all(|idle| mixed.step(*idle) == Regime::Mixed));
        let mut light = light();
        prop_assert!(high.iter().all(|idle| light.step(*idle) == Regime::Light));
    }

    #[test]
    fn a_change_always_follows_two_readings_beyond_the_threshold(
        readings in prop::collection::vec(any::<u32>().prop_map(|v| v % 1100), 2..200)
    ) {
        let mut detector = RegimeDetector::new();
        let mut before = detector.regime();
        for pair in readings.windows(2) {
            if pair.as_ptr() == readings.as_ptr() {
                before = detector.step(pair[0]);
            }
            let now = detector.step(pair[1]);
            if now != before {
                let beyond = |idle: &u32| match before {
                    Regime::Light => *idle < 300,
                    Regime::Mixed => *idle > 500 || *idle < 100,
                    Regime::Heavy => *idle > 250,
                };
                prop_assert!(pair.iter().all(beyond));
            }
            before = now;
        }
    }
}
