//! The table of profiles: its bound, its eviction and its ageing.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Observation, Predictions, Profile, Profiles, Tier};
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
fn a_pinned_profile_is_never_evicted_and_never_ages() {
    let mut profiles = full();
    profiles[0].pinned = Some(Tier::Batch);
    let mut table = Profiles::from_stored(512, profiles);
    assert!(table.pin(&comm("new"), Tier::LatCritical), "known or not");
    for i in 0..2 * Profiles::CAPACITY {
        table.learn(&seen(&format!("job{i}"), true));
    }
    assert_eq!(table.len(), Profiles::CAPACITY);
    let tier = |name: &str| table.get(&comm(name)).map(Profile::tier);
    assert_eq!(tier("p0000"), Some(Tier::Batch));
    assert_eq!(tier("new"), Some(Tier::LatCritical));
    assert_eq!(tier("p0001"), None);
    let again = Profiles::from_stored(table.launches(), table.iter().cloned().collect());
    assert!(table.iter().eq(again.iter()), "a restart keeps them");
    let pinned: Vec<_> = table
        .predictions()
        .into_iter()
        .filter(|p| p.is_pinned)
        .collect();
    assert_eq!(pinned.len(), 2);
}

#[test]
fn pins_are_bounded_so_that_learning_goes_on() {
    let mut table = Profiles::new();
    for i in 0..Profiles::MAX_PINNED {
        assert!(table.pin(&comm(&format!("p{i}")), Tier::Batch));
    }
    assert!(!table.pin(&comm("one-more"), Tier::Batch));
    assert!(table.pin(&comm("p0"), Tier::Interactive), "another tier");
    assert!(table.unpin(&comm("p1")));
    assert!(table.pin(&comm("one-more"), Tier::Batch));
    assert_eq!(table.pinned_count(), Profiles::MAX_PINNED);
    let many = (0..400).map(|i| Profile::of_pin(&comm(&format!("q{i}")), Tier::Batch, 0));
    let stored = Profiles::from_stored(0, many.collect());
    assert_eq!(stored.pinned_count(), Profiles::MAX_PINNED);
    assert!(!table.pin(&comm(""), Tier::Batch));
}

#[test]
fn unpinning_leaves_what_was_learned_and_nothing_else() {
    let mut table = Profiles::new();
    table.learn(&seen("known", true));
    assert!(table.pin(&comm("known"), Tier::Batch) && table.pin(&comm("unknown"), Tier::Batch));
    let before = table.generation();
    assert!(table.unpin(&comm("known")) && table.unpin(&comm("unknown")));
    assert_eq!(table.generation(), before + 2);
    assert_eq!(table.get(&comm("known")).unwrap().tier(), Tier::Interactive);
    assert_eq!(table.get(&comm("unknown")), None);
    assert!(!table.unpin(&comm("known")) && !table.unpin(&comm("nobody")));
    assert_eq!(table.generation(), before + 2);
}

#[test]
fn forgetting_takes_what_was_learned_and_leaves_pins() {
    let mut table = Profiles::new();
    for name in ["a", "b", "c"] {
        table.learn(&seen(name, true));
    }
    table.pin(&comm("b"), Tier::Batch);
    table.pin(&comm("d"), Tier::Batch);
    assert!(table.forget(&comm("a")) && !table.forget(&comm("a")));
    assert!(!table.forget(&comm("d")), "nothing was learned");
    let generation = table.generation();
    assert_eq!(table.forget_all(), 2);
    assert!(table.generation() > generation);
    let left: Vec<_> = table.iter().map(|p| (p.comm, p.observations)).collect();
    assert_eq!(left, [(comm("b"), 0), (comm("d"), 0)]);
    assert_eq!(table.forget_all(), 0);
}

#[test]
fn an_import_replaces_or_keeps_the_better_of_two() {
    let imported = || {
        let mut pinned = stored("pinned", 0, 2);
        pinned.pinned = Some(Tier::Batch);
        vec![stored("both", 3, 4), stored("theirs", 90, 9), pinned]
    };
    let ours = || {
        let mut pinned = stored("pinned", 10, 9);
        pinned.pinned = Some(Tier::LatCritical);
        vec![stored("both", 10, 7), stored("ours", 20, 1), pinned]
    };
    let mut table = Profiles::from_stored(50, ours());
    let generation = table.generation();
    table.import(imported(), false);
    let row = |table: &Profiles, name: &str| {
        let profile = table.get(&comm(name)).cloned();
        profile.map(|p| (p.observations, p.last_used, p.pinned))
    };
    assert!(table.generation() > generation);
    assert_eq!(row(&table, "both"), Some((7, 10, None)));
    assert_eq!(row(&table, "ours"), Some((1, 20, None)));
    assert_eq!(
        row(&table, "theirs"),
        Some((9, 0, None)),
        "longer ago than all here"
    );
    assert_eq!(row(&table, "pinned"), Some((9, 10, Some(Tier::Batch))));

    let mut table = Profiles::from_stored(50, ours());
    table.import(imported(), true);
    assert_eq!(row(&table, "both"), Some((4, 47, None)));
    assert_eq!((row(&table, "ours"), table.len()), (None, 3));
    assert_eq!(table.launches(), 50);
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

/// What may happen to a table.
#[derive(Clone, Debug)]
enum Event {
    Seen(u8, Tier, bool),
    Pinned(u8, Tier),
    Unpinned(u8),
    Forgotten(u8),
    AllForgotten,
    Imported(Vec<u8>, bool),
}

fn event() -> impl Strategy<Value = Event> {
    let tier = || prop::sample::select(Tier::ALL.to_vec());
    prop_oneof![
        40 => (any::<u8>(), tier(), any::<bool>()).prop_map(|(n, t, e)| Event::Seen(n, t, e)),
        10 => (0..4u8, tier(), any::<bool>()).prop_map(|(n, t, e)| Event::Seen(n, t, e)),
        4 => (0..4u8, tier()).prop_map(|(n, t)| Event::Pinned(n, t)),
        2 => (0..4u8).prop_map(Event::Unpinned),
        2 => (0..4u8).prop_map(Event::Forgotten),
        1 => Just(Event::AllForgotten),
        1 => (prop::collection::vec(any::<u8>(), 0..6), any::<bool>())
            .prop_map(|(names, all)| Event::Imported(names, all)),
    ]
}

fn happen(table: &mut Profiles, event: Event) {
    let name = |n: u8| comm(&format!("n{n}"));
    match event {
        Event::Seen(n, tier, exited) => table.learn(&Observation {
            tier,
            ..seen(&format!("n{n}"), exited)
        }),
        Event::Pinned(n, tier) => drop(table.pin(&name(n), tier)),
        Event::Unpinned(n) => drop(table.unpin(&name(n))),
        Event::Forgotten(n) => drop(table.forget(&name(n))),
        Event::AllForgotten => drop(table.forget_all()),
        Event::Imported(names, is_replacing) => {
            let stored = names.iter().map(|n| stored(&format!("n{n}"), 1, 9));
            table.import(stored.collect(), is_replacing);
        }
    }
}

proptest! {
    #[test]
    fn news_of_what_changed_is_all_that_has_to_be_told(
        first in prop::collection::vec(event(), 0..60),
        then in prop::collection::vec(prop::collection::vec(event(), 0..8), 0..20),
        is_full in any::<bool>(),
    ) {
        // A full table evicts names that nobody mentioned.
        let mut table = Profiles::from_stored(600, if is_full { full() } else { Vec::new() });
        first.into_iter().for_each(|event| happen(&mut table, event));
        table.take_changed();
        let mut told = Predictions::of(&table.predictions());
        for events in then {
            events.into_iter().for_each(|event| happen(&mut table, event));
            let changed = table.take_changed();
            let news = told.news(&table, &changed);
            for comm in &news.gone {
                prop_assert!(told.has(comm) && table.predictions().iter().all(|p| p.comm != *comm));
            }
            for prediction in &news.new {
                prop_assert!(told.iter().all(|known| known != prediction));
            }
            told.take(&news);
            prop_assert_eq!(&told, &Predictions::of(&table.predictions()));
            prop_assert!(told.news(&table, &changed).is_empty(), "told once");
        }
    }
}
