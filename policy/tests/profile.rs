//! What a profile learns from observations.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Observation, Prediction, Profile, Tier};
use proptest::prelude::*;

fn comm(name: &str) -> [u8; 16] {
    std::array::from_fn(|i| name.as_bytes().get(i).copied().unwrap_or(0))
}

fn seen(tier: Tier, avg_runtime_ns: u64, runtime_dev_ns: u64) -> Observation {
    Observation {
        comm: comm("task"),
        tier,
        avg_runtime_ns,
        runtime_dev_ns,
        wakeup_freq: 20,
        csw_rate: 40,
        lat_cri: 10,
        exited: false,
    }
}

fn learned(observations: &[Observation]) -> Profile {
    let mut profile = Profile::first(&observations[0], 1);
    observations[1..].iter().for_each(|o| profile.merge(o, 1));
    profile
}

#[test]
fn three_steady_observations_are_enough() {
    let o = seen(Tier::LatCritical, 100_000, 20_000);
    assert!(!learned(&[o; 2]).is_confident());
    let profile = learned(&[o; 3]);
    assert!(profile.is_confident());
    assert_eq!(profile.tier(), Tier::LatCritical);
    assert_eq!(profile.confidence_permille(), 900);
}

#[test]
fn confidence_follows_its_formula() {
    let base = learned(&[seen(Tier::Batch, 1000, 0)]);
    let confidence = |votes, runtime_dev_ns| {
        Profile {
            votes,
            runtime_dev_ns,
            ..base.clone()
        }
        .confidence_permille()
    };
    assert_eq!(confidence([4, 0, 0], 0), 1000);
    assert_eq!(confidence([4, 0, 0], 500), 750);
    assert_eq!(confidence([4, 0, 0], 1000), 500);
    assert_eq!(confidence([4, 0, 0], u64::MAX), 500);
    assert_eq!(confidence([3, 1, 0], 0), 750);
    assert_eq!(confidence([2, 1, 1], 500), 375);
    assert_eq!(confidence([0, 0, 0], 0), 0);
}

#[test]
fn disagreement_over_the_tier_prevents_confidence() {
    let mixed: Vec<_> = (0..30)
        .map(|i| seen(Tier::ALL[i % 3], 100_000, 0))
        .collect();
    assert!(!learned(&mixed).is_confident());
}

#[test]
fn unlike_programs_of_one_name_are_not_trusted_for_their_runtime() {
    let steady = |ns| seen(Tier::Batch, ns, 0);
    let unlike: Vec<_> = (0..40)
        .map(|i| steady(if i % 2 == 0 { 10_000 } else { 40_000_000 }))
        .collect();
    let alike: Vec<_> = (0..40).map(|_| steady(10_000)).collect();
    assert_eq!(learned(&unlike).confidence_permille(), 500);
    assert_eq!(learned(&alike).confidence_permille(), 1000);
}

/// The first thread of a program is often unlike those that do its work, and ends after them.
#[test]
fn one_unlike_thread_among_five_does_not_take_the_confidence_whenever_it_ends() {
    let worker = seen(Tier::Interactive, 300_000, 30_000);
    let first = seen(Tier::Interactive, 450_000, 590_000);
    for end in 0..5 {
        let mut threads = [worker; 5];
        threads[end] = first;
        assert!(learned(&threads).is_confident(), "ends as number {end}");
    }
}

#[test]
fn a_program_that_changes_for_good_is_believed_in_the_end() {
    let mut profile = learned(&[seen(Tier::Batch, 5_000_000, 0); 500]);
    let new = seen(Tier::Interactive, 5_000_000, 0);
    for _ in 0..200 {
        profile.merge(&new, 1);
    }
    assert_eq!(profile.tier(), Tier::Interactive);
    assert!(profile.is_confident());
    assert_eq!(profile.observations, 700);
}

#[test]
fn a_tie_goes_to_the_less_privileged_tier() {
    let profile = learned(&[seen(Tier::LatCritical, 1, 0), seen(Tier::Interactive, 1, 0)]);
    assert_eq!(profile.tier(), Tier::Interactive);
}

#[test]
fn young_profiles_are_the_mean_and_old_ones_follow_slowly() {
    let mut young = learned(&[seen(Tier::Batch, 1000, 0); 2]);
    young.merge(&seen(Tier::Batch, 1900, 0), 1);
    assert_eq!(young.avg_runtime_ns, 1300);
    let mut old = learned(&[seen(Tier::Batch, 1000, 0); 20]);
    old.merge(&seen(Tier::Batch, 1800, 0), 1);
    assert_eq!(old.avg_runtime_ns, 1100);
}

#[test]
fn rates_are_smoothed_like_run_lengths() {
    let rates = |wakeup_freq, csw_rate| Observation {
        wakeup_freq,
        csw_rate,
        ..seen(Tier::Batch, 1000, 0)
    };
    let mut profile = learned(&[rates(10, 100); 2]);
    profile.merge(&rates(19, 190), 1);
    assert_eq!((profile.wakeup_freq, profile.csw_rate), (13, 130));
    let mut old = learned(&[rates(10, 100); 20]);
    old.merge(&rates(26, 20), 1);
    assert_eq!((old.wakeup_freq, old.csw_rate), (12, 90));
}

#[test]
fn only_a_confident_profile_predicts() {
    let o = seen(Tier::LatCritical, 100_000, 20_000);
    assert_eq!(learned(&[o; 2]).prediction(), None);
    assert_eq!(
        learned(&[o; 3]).prediction(),
        Some(Prediction {
            comm: comm("task"),
            tier: Tier::LatCritical,
            avg_runtime_ns: 100_000,
            runtime_dev_ns: 20_000,
            wakeup_freq: 20,
            csw_rate: 40,
            is_pinned: false,
        })
    );
}

#[test]
fn a_pin_predicts_whatever_was_learned_and_however_little() {
    let new = Profile::of_pin(&comm("task"), Tier::Batch, 7);
    let prediction = new.prediction().unwrap();
    assert!(prediction.is_pinned && !new.is_confident());
    assert_eq!(prediction.tier, Tier::Batch);
    // What the kernel half assumes of a task it knows nothing about.
    assert_eq!(
        (prediction.avg_runtime_ns, prediction.wakeup_freq),
        (100_000, 20)
    );

    let mut profile = learned(&[seen(Tier::LatCritical, 100_000, 20_000); 5]);
    profile.pinned = Some(Tier::Batch);
    assert_eq!(
        (profile.tier(), profile.learned_tier()),
        (Tier::Batch, Tier::LatCritical)
    );
    assert_eq!(profile.confidence_permille(), 900, "of what was learned");
    profile.merge(&seen(Tier::LatCritical, 100_000, 20_000), 9);
    assert_eq!(profile.prediction().unwrap().tier, Tier::Batch);
    assert_eq!((profile.observations, profile.last_used), (6, 9));
}

#[test]
fn the_first_observation_of_a_pinned_name_counts_in_full() {
    let mut profile = Profile::of_pin(&comm("task"), Tier::Batch, 3);
    profile.merge(&seen(Tier::Interactive, 5_000_000, 1_000), 8);
    let first = Profile::first(&seen(Tier::Interactive, 5_000_000, 1_000), 8);
    assert_eq!(
        profile,
        Profile {
            pinned: Some(Tier::Batch),
            ..first
        }
    );
}

#[test]
fn names_are_shown_without_surprises() {
    let shown = |bytes: &[u8]| {
        let mut o = seen(Tier::Batch, 1, 0);
        o.comm = std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0));
        Profile::first(&o, 1).display_name()
    };
    assert_eq!(shown(b"kwin_wayland"), "kwin_wayland");
    assert_eq!(shown("Zürich café".as_bytes()), "Zürich café");
    assert_eq!(shown(b"Web Content"), "Web Content");
    assert_eq!(shown(b"a\x1b[31m\n"), "a\\u{1b}[31m\\u{a}");
    assert_eq!(shown(b"\xff\xfeok"), "\\xff\\xfeok");
    assert_eq!(shown(b"back\\slash"), "back\\\\slash");
    assert_eq!(shown("\u{202e}txt.exe".as_bytes()), "\\u{202e}txt.exe");
    assert_eq!(shown(b"0123456789abcdef"), "0123456789abcdef");
    assert_eq!(shown(b"cut\0hidden"), "cut");
    assert_eq!(shown(b""), "");
}

#[test]
fn profiles_survive_serialisation() {
    let profile = learned(&[seen(Tier::Interactive, 123_456, 789); 5]);
    let json = serde_json::to_string(&profile).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile);
}

prop_compose! {
    fn any_observation()(
        comm: [u8; 16], tier in 0usize..3, v in any::<[u64; 2]>(), w in any::<[u32; 3]>(), exited: bool
    ) -> Observation {
        Observation {
            comm,
            tier: Tier::from_index(tier).unwrap(),
            avg_runtime_ns: v[0],
            runtime_dev_ns: v[1],
            wakeup_freq: w[0],
            csw_rate: w[1],
            lat_cri: w[2],
            exited,
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_observations_never_break_a_profile(
        observations in prop::collection::vec(any_observation(), 1..100)
    ) {
        let profile = learned(&observations);
        prop_assert!(profile.confidence_permille() <= 1000);
        let averages = observations.iter().map(|o| o.avg_runtime_ns);
        prop_assert!(profile.avg_runtime_ns >= averages.clone().min().unwrap());
        prop_assert!(profile.avg_runtime_ns <= averages.max().unwrap());
        let rates = observations.iter().map(|o| o.csw_rate);
        prop_assert!(profile.csw_rate >= rates.clone().min().unwrap());
        prop_assert!(profile.csw_rate <= rates.max().unwrap());
        prop_assert_eq!(profile.prediction().is_some(), profile.is_confident());
        prop_assert!(profile.votes.iter().sum::<u32>() <= 64 + 1);
        prop_assert!(!profile.display_name().contains(char::is_control));
    }

    #[test]
    fn arbitrary_stored_profiles_never_break_a_formula(
        votes: [u32; 3], observations: u32, avg_runtime_ns: u64, runtime_dev_ns: u64, o in any_observation()
    ) {
        let mut profile = learned(&[o]);
        profile = Profile { votes, observations, avg_runtime_ns, runtime_dev_ns, ..profile };
        prop_assert!(profile.confidence_permille() <= 1000);
        profile.merge(&o, u64::MAX);
        prop_assert!(profile.confidence_permille() <= 1000);
    }
}
