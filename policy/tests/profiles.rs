//! The table of profiles: its bound, its eviction and its ageing.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Observation, Profile, Profiles, Tier};
use proptest::prelude::*;

fn comm(name: &str) -> [u8; 16] {
    std::array::from_fn(|i| name.as_bytes().get(i).copied().unwrap_or(0))
}

fn seen(name: &str, exited: bool) -> Observation {
    Observation {
        comm: comm(name),
        tier: Tier::Interactive,
        avg_runtime_ns: 50_000,
        runtime_dev_ns: 5_000,
        wakeup_freq: 10,
        csw_rate: 20,
        lat_cri: 12,
        exited,
    }
}

fn stored(name: &str, last_used: u64, observations: u32) -> Profile {
    let mut profile = Profile::first(&seen(name, true), last_used);
    profile.observations = observations;
    profile.votes = [0, observations, 0];
    profile
}

/// As many profiles as fit, `last_used` rising from 1.
fn full() -> Vec<Profile> {
    (0..Profiles::CAPACITY as u64)
        .map(|i| stored(&format!("p{i:04}"), i + 1, 5))
        .collect()
}

#[test]
fn an_empty_table_knows_nothing() {
    let table = Profiles::new();
    assert!(table.is_empty());
    assert_eq!(
        (table.len(), table.launches(), table.generation()),
        (0, 0, 0)
    );
    assert_eq!(table.get(&comm("bash")), None);
}

#[test]
fn launches_count_new_names_and_exits_but_not_reports_of_running_tasks() {
    let mut table = Profiles::new();
    table.learn(&seen("shell", false));
    assert_eq!(table.launches(), 1);
    (0..10).for_each(|_| table.learn(&seen("shell", false)));
    assert_eq!(table.launches(), 1);
    table.learn(&seen("shell", true));
    assert_eq!(table.launches(), 2);
    assert_eq!(table.get(&comm("shell")).unwrap().last_used, 2);
    assert_eq!(table.get(&comm("shell")).unwrap().first_used, 1);
}

#[test]
fn a_running_task_stays_recent_while_others_come_and_go() {
    let mut table = Profiles::new();
    for i in 0..2000 {
        table.learn(&seen("compositor", false));
        table.learn(&seen(&format!("job{i}"), true));
    }
    assert_eq!(table.len(), Profiles::CAPACITY);
    assert!(table.get(&comm("compositor")).unwrap().is_confident());
}

#[test]
fn every_observation_that_changes_the_table_is_a_new_generation() {
    let mut table = Profiles::new();
    table.learn(&seen("a", false));
    assert_eq!(table.generation(), 1);
    table.learn(&seen("a", false));
    assert_eq!(table.generation(), 2);
    table.learn(&seen("", true));
    assert_eq!(
        (table.generation(), table.launches(), table.len()),
        (2, 1, 1)
    );
}

#[test]
fn the_longest_unused_profile_goes_first() {
    // The oldest three are neither first nor last by name, and have been observed most.
    let mut profiles: Vec<_> = full()
        .into_iter()
        .map(|p| Profile {
            last_used: p.last_used + 500,
            ..p
        })
        .collect();
    let oldest = [400, 7, 250];
    for (last_used, i) in (1..).zip(oldest) {
        profiles[i].last_used = last_used;
        profiles[i].observations = 90;
    }
    let mut table = Profiles::from_stored(2000, profiles);
    let is_known = |table: &Profiles, i: usize| table.get(&comm(&format!("p{i:04}"))).is_some();
    for (round, evicted) in oldest.into_iter().enumerate() {
        let new = format!("new{round}");
        table.learn(&seen(&new, true));
        assert_eq!(table.len(), Profiles::CAPACITY);
        assert!(!is_known(&table, evicted), "p{evicted:04} stayed");
        assert!(table.get(&comm(&new)).is_some());
    }
    let others = (0..Profiles::CAPACITY).filter(|i| !oldest.contains(i));
    assert!(others.into_iter().all(|i| is_known(&table, i)));
}

#[test]
fn among_equally_old_ones_the_least_observed_goes_then_the_first_by_name() {
    let mut profiles: Vec<_> = full()
        .into_iter()
        .map(|p| Profile { last_used: 7, ..p })
        .collect();
    profiles[300].observations = 2;
    let mut table = Profiles::from_stored(7, profiles);
    table.learn(&seen("x", true));
    assert!(table.get(&comm("p0300")).is_none());
    table.learn(&seen("y", true));
    assert!(table.get(&comm("p0000")).is_none());
    assert!(table.get(&comm("p0001")).is_some());
}

#[test]
fn nothing_ages_while_nothing_is_launched() {
    let table = Profiles::from_stored(512, full());
    let again = Profiles::from_stored(table.launches(), table.iter().cloned().collect());
    assert!(table.iter().eq(again.iter()));
    assert_eq!(again.launches(), 512);
    assert_eq!(again.confident_count(), 512);
}

#[test]
fn learning_goes_on_where_a_restart_interrupted_it() {
    let (mut one, mut two) = (Profiles::new(), Profiles::new());
    for i in 0..40 {
        one.learn(&seen(["a", "b", "c"][i % 3], i % 2 == 0));
    }
    for i in 0..40 {
        if i == 17 {
            two = Profiles::from_stored(two.launches(), two.iter().cloned().collect());
        }
        two.learn(&seen(["a", "b", "c"][i % 3], i % 2 == 0));
    }
    assert!(one.iter().eq(two.iter()));
    assert_eq!(one.launches(), two.launches());
}

#[test]
fn confident_profiles_predict_in_the_order_of_their_names() {
    let mut table = Profiles::new();
    for name in ["zsh", "audio", "once"] {
        table.learn(&seen(name, true));
    }
    assert!(table.predictions().is_empty());
    for name in ["zsh", "audio", "zsh", "audio"] {
        table.learn(&seen(name, true));
    }
    let predictions = table.predictions();
    let names: Vec<_> = predictions.iter().map(|p| p.comm).collect();
    assert_eq!(names, [comm("audio"), comm("zsh")]);
    assert_eq!(predictions.len(), table.confident_count());
    let audio = table.get(&comm("audio")).unwrap();
    assert_eq!(audio.prediction(), Some(predictions[0]));
}

#[test]
fn stored_nonsense_is_dropped_or_corrected() {
    let mut future = stored("future", 9_999, 5);
    future.first_used = 99_999;
    let mut garbage_after_end = stored("tail", 3, 5);
    garbage_after_end.comm[10] = b'!';
    let table = Profiles::from_stored(
        10,
        vec![
            stored("", 1, 5),
            stored("empty", 1, 0),
            future,
            garbage_after_end,
        ],
    );
    assert_eq!(table.len(), 2);
    let future = table.get(&comm("future")).unwrap();
    assert_eq!((future.last_used, future.first_used), (10, 10));
    assert!(table.get(&comm("tail")).is_some());
}

#[test]
fn of_two_stored_profiles_with_one_name_the_recent_one_stays() {
    let (old, new) = (stored("twin", 3, 50), stored("twin", 8, 4));
    for order in [vec![old.clone(), new.clone()], vec![new, old]] {
        let table = Profiles::from_stored(10, order);
        assert_eq!(table.get(&comm("twin")).unwrap().observations, 4);
    }
}

#[test]
fn counters_at_their_end_do_not_overflow() {
    let mut last = stored("end", u64::MAX, u32::MAX);
    last.votes = [u32::MAX; 3];
    let mut table = Profiles::from_stored(u64::MAX, vec![last]);
    table.learn(&seen("end", true));
    assert_eq!(table.launches(), u64::MAX);
    assert_eq!(table.get(&comm("end")).unwrap().observations, u32::MAX);
}

fn profile_list() -> impl Strategy<Value = Vec<Profile>> {
    let entry = (0u32..900, 0u64..50, 1u32..6)
        .prop_map(|(i, last, observations)| stored(&format!("n{i}"), last, observations));
    prop::collection::vec(entry, 0..1200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_table_never_exceeds_its_capacity(
        start in profile_list(), names in prop::collection::vec((any::<[u8; 2]>(), any::<bool>()), 0..600)
    ) {
        let mut table = Profiles::from_stored(50, start);
        prop_assert!(table.len() <= Profiles::CAPACITY);
        for (name, exited) in names {
            table.learn(&Observation {
                comm: std::array::from_fn(|i| *name.get(i).unwrap_or(&0)),
                ..seen("", exited)
            });
            prop_assert!(table.len() <= Profiles::CAPACITY);
        }
        prop_assert_eq!(table.len(), table.iter().count());
        prop_assert!(table.confident_count() <= table.len());
    }

    #[test]
    fn what_is_evicted_does_not_depend_on_the_stored_order(
        (sorted, shuffled) in profile_list().prop_flat_map(|list| {
            (Just(list.clone()), Just(list).prop_shuffle())
        })
    ) {
        let mut a = Profiles::from_stored(50, sorted);
        let mut b = Profiles::from_stored(50, shuffled);
        prop_assert_eq!(a.predictions(), b.predictions());
        for i in 0..20 {
            a.learn(&seen(&format!("fresh{i}"), true));
            b.learn(&seen(&format!("fresh{i}"), true));
        }
        prop_assert!(a.iter().eq(b.iter()));
    }
}
