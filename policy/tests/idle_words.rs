//! Which word of the idle masks of a last-level cache each second-level cache and pair of siblings is in.
#![allow(clippy::unwrap_used, missing_docs)]

mod machines;

use std::collections::{BTreeMap, BTreeSet};

use pandemonium_policy::idle_layout::{NO_CPU, NO_LLC};
use pandemonium_policy::{IdleLayout, Topology};
use proptest::prelude::*;

use machines::{Core, check, machine, regular};

/// One last-level cache of cores without siblings, in second-level caches of these sizes.
fn clusters(sizes: &[u32]) -> Topology {
    let l2_of = (0..)
        .zip(sizes)
        .flat_map(|(l2, size)| vec![l2; *size as usize]);
    let cores = (0..).zip(l2_of).map(|(cpu, l2)| Core {
        cpus: vec![cpu],
        l2,
        l3: 0,
        node: 0,
    });
    machine(&cores.collect::<Vec<_>>())
}

/// Whether every second-level cache is in one word.
fn is_unbroken(topology: &Topology, layout: &IdleLayout) -> bool {
    let mut words: BTreeMap<u32, BTreeSet<(u16, u8)>> = BTreeMap::new();
    for cpu in &topology.cpus {
        let place = layout.cpus[cpu.id as usize];
        words
            .entry(cpu.l2)
            .or_default()
            .insert((place.llc, place.bit / 64));
    }
    words.values().all(|words| words.len() == 1)
}

#[test]
fn a_second_level_cache_moves_to_the_next_word_rather_than_be_cut() {
    let topology = clusters(&[40, 40]);
    let layout = check(&topology);
    assert_eq!((layout.cpus[39].bit, layout.cpus[40].bit), (39, 64));
    assert!(is_unbroken(&topology, &layout));
    assert!(is_unbroken(
        &clusters(&[64, 64]),
        &check(&clusters(&[64, 64]))
    ));
    assert!(is_unbroken(
        &clusters(&[63, 2, 62]),
        &check(&clusters(&[63, 2, 62]))
    ));
}

#[test]
fn a_second_level_cache_is_cut_where_the_cpus_would_not_fit_otherwise() {
    let layout = check(&clusters(&[40, 40, 40]));
    assert_eq!(layout.nr_llcs, 1);
    assert!((0..120).all(|cpu| usize::from(layout.cpus[cpu].bit) == cpu));
    let low = layout.cpus[40];
    let high = layout.cpus[79];
    assert_eq!(low.l2_mask, ((1 << 24) - 1) << 40);
    assert_eq!(high.l2_mask, (1 << 16) - 1);
}

#[test]
fn a_second_level_cache_larger_than_a_word_is_cut_without_padding() {
    let layout = check(&clusters(&[10, 100]));
    assert!((0..110).all(|cpu| usize::from(layout.cpus[cpu].bit) == cpu));
    assert_eq!(check(&clusters(&[128])).nr_llcs, 1);
}

#[test]
fn a_pair_is_never_in_two_words() {
    // 63 single CPUs leave one bit of the first word, which stays empty.
    let mut cores: Vec<_> = (0..63)
        .map(|cpu| Core {
            cpus: vec![cpu],
            l2: 0,
            l3: 0,
            node: 0,
        })
        .collect();
    cores.push(Core {
        cpus: vec![63, 64],
        l2: 0,
        l3: 0,
        node: 0,
    });
    let layout = check(&machine(&cores));
    assert_eq!(layout.llcs[0].cpus[62..66], [62, NO_CPU, 63, 64]);
    assert_eq!(layout.llcs[0].pair, [0, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn small_caches_are_all_placed_and_unbroken(
        llcs in 1u32..60, cores in 1u32..16, smt in 1u32..=4
    ) {
        let topology = regular(1, llcs, cores, smt);
        let layout = check(&topology);
        prop_assert_eq!(layout.nr_llcs, llcs);
        prop_assert!(layout.cpus.iter().all(|place| place.llc != NO_LLC));
        prop_assert!(is_unbroken(&topology, &layout));
    }
}
