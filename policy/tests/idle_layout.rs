//! Where CPUs are in the idle masks, on machines of all shapes.
#![allow(clippy::unwrap_used, missing_docs)]

mod machines;

use std::collections::BTreeSet;

use pandemonium_policy::idle_layout::{NO_CPU, NO_LLC};
use pandemonium_policy::{CpuSet, IdleLayout, Topology};
use proptest::prelude::*;

use machines::{Core, bits, check, has_no_place, machine, regular};

#[test]
fn a_hybrid_has_pairs_for_its_fast_cores_and_singles_for_the_others() {
    let mut cores: Vec<_> = (0..6)
        .map(|i| Core {
            cpus: vec![2 * i, 2 * i + 1],
            l2: i,
            l3: 0,
            node: 0,
        })
        .collect();
    cores.extend((0..8).map(|i| Core {
        cpus: vec![12 + i],
        l2: 100 + i / 4,
        l3: 0,
        node: 0,
    }));
    let topology = machine(&cores);
    let layout = check(&topology);
    assert_eq!(layout.nr_llcs, 1);
    assert_eq!(layout.llcs[0].pair, [0b0101_0101_0101, 0]);
    assert_eq!(layout.llcs[0].single, [0xff << 12, 0]);
    let l2_mask = |cpu: usize| layout.cpus[cpu].l2_mask;
    assert_eq!((l2_mask(0), l2_mask(3)), (0b11, 0b1100));
    assert_eq!((l2_mask(12), l2_mask(15)), (0xf << 12, 0xf << 12));
    assert_eq!(l2_mask(16), 0xf << 16);
}

#[test]
fn two_core_complexes_are_two_caches_with_adjacent_siblings() {
    let layout = check(&regular(1, 2, 8, 2));
    assert_eq!(layout.nr_llcs, 2);
    for llc in &layout.llcs {
        assert_eq!((llc.pair, llc.single), ([0x5555, 0], [0, 0]));
    }
    assert_eq!(layout.llcs[0].cpus[..4], [0, 16, 1, 17]);
    assert_eq!(layout.llcs[1].cpus[..4], [8, 24, 9, 25]);
}

#[test]
fn two_large_sockets_fill_both_words() {
    let layout = check(&regular(2, 1, 64, 2));
    assert_eq!(layout.nr_llcs, 2);
    for (node, llc) in (0..).zip(&layout.llcs) {
        assert_eq!(llc.node, node);
        assert_eq!(llc.pair, [0x5555_5555_5555_5555; 2]);
    }
    let place = layout.cpus[255];
    assert_eq!((place.llc, place.bit, place.l2_mask), (1, 127, 0b11 << 62));
}

#[test]
fn one_cpu_is_a_machine() {
    let layout = check(&regular(1, 1, 1, 1));
    assert_eq!(layout.llcs[0].single, [1, 0]);
    assert_eq!((layout.cpus[0].llc, layout.cpus[0].l2_mask), (0, 1));
    assert!(check(&Topology::default()).llcs.is_empty());
}

#[test]
fn holes_in_the_numbering_have_no_place() {
    let mut topology = regular(1, 2, 4, 2);
    topology.cpus.retain(|cpu| ![1, 3, 11].contains(&cpu.id));
    let layout = check(&topology);
    assert!([1, 3, 11].iter().all(|cpu| has_no_place(&layout, *cpu)));
    // Cores 0 and 2 are whole, of cores 1 and 3 one sibling is left and none.
    assert_eq!(layout.llcs[0].cpus[..6], [0, 8, 9, NO_CPU, 2, 10]);
    assert_eq!(layout.llcs[0].pair, [0b01_0001, 0]);
    assert_eq!(layout.llcs[0].single, [0b00_0100, 0]);
}

#[test]
fn a_cache_with_too_many_cpus_has_no_masks() {
    let small = regular(1, 1, 128, 1);
    assert_eq!(check(&small).nr_llcs, 1);
    for topology in [
        regular(1, 1, 129, 1),
        regular(1, 1, 65, 2),
        regular(1, 1, 500, 2),
    ] {
        let layout = check(&topology);
        assert_eq!(layout.nr_llcs, 0);
        assert!((0..layout.cpus.len()).all(|cpu| has_no_place(&layout, cpu)));
    }
}

#[test]
fn a_cache_that_does_not_fit_takes_no_index_from_one_that_does() {
    let mut cores: Vec<_> = (0..129)
        .map(|cpu| Core {
            cpus: vec![cpu],
            l2: cpu,
            l3: 0,
            node: 0,
        })
        .collect();
    cores.push(Core {
        cpus: vec![129],
        l2: 129,
        l3: 1,
        node: 0,
    });
    let layout = check(&machine(&cores));
    assert_eq!((layout.nr_llcs, layout.cpus[129].llc), (1, 0));
    assert!((0..129).all(|cpu| has_no_place(&layout, cpu)));
}

#[test]
fn the_caches_beyond_the_last_index_have_no_masks() {
    let layout = check(&regular(1, 70, 2, 1));
    assert_eq!(layout.nr_llcs, 64);
    assert_eq!(layout.cpus[127].llc, 63);
    assert!((128..140).all(|cpu| has_no_place(&layout, cpu)));
}

#[test]
fn cpus_that_are_only_possible_do_not_displace_those_that_are_there() {
    let mut topology = regular(1, 100, 1, 1);
    topology.cpus[..90]
        .iter_mut()
        .for_each(|cpu| cpu.online = false);
    let layout = check(&topology);
    assert_eq!(layout.nr_llcs, 64);
    assert!((90..100).all(|cpu| layout.cpus[cpu].llc != NO_LLC));
    assert_eq!((layout.cpus[0].llc, layout.cpus[90].llc), (0, 54));
    assert!((54..90).all(|cpu| has_no_place(&layout, cpu)));
}

#[test]
fn cores_with_more_siblings_are_cut_into_pairs() {
    let layout = check(&regular(1, 1, 4, 4));
    assert_eq!(
        (layout.llcs[0].pair, layout.llcs[0].single),
        ([0x5555, 0], [0, 0])
    );
    assert_eq!(layout.llcs[0].cpus[..4], [0, 4, 8, 12]);
    let layout = check(&regular(1, 1, 2, 3));
    assert_eq!(layout.llcs[0].cpus[..7], [0, 2, 4, NO_CPU, 1, 3, 5]);
    assert_eq!(
        (layout.llcs[0].pair, layout.llcs[0].single),
        ([0b01_0001, 0], [0b100_0100, 0])
    );
}

#[test]
fn a_cache_that_spans_nodes_counts_for_each_of_them() {
    let mut topology = regular(1, 1, 8, 1);
    topology.cpus[4..].iter_mut().for_each(|cpu| cpu.node = 1);
    let layout = check(&topology);
    assert_eq!(layout.nr_llcs, 2);
    assert_eq!((layout.cpus[3].llc, layout.cpus[4].llc), (0, 1));
}

#[test]
fn caches_are_ordered_by_node_before_they_are_by_number() {
    let mut topology = regular(1, 4, 2, 1);
    for cpu in &mut topology.cpus {
        cpu.node = 1 - cpu.l3 / 2 % 2;
    }
    let layout = check(&topology);
    let of_cpu: Vec<_> = layout.cpus.iter().map(|place| place.llc).collect();
    assert_eq!(of_cpu, [2, 2, 0, 0, 3, 3, 1, 1]);
}

#[test]
fn a_set_of_cpus_becomes_masks() {
    let layout = check(&regular(1, 2, 8, 2));
    let set: CpuSet = [0, 1, 17, 31, 600].into_iter().collect();
    assert_eq!(layout.words_of(&set), [[0b1101, 0], [1 << 15, 0]]);
    assert_eq!(layout.words_of(&CpuSet::empty()), [[0; 2]; 2]);
    let large = check(&regular(1, 1, 129, 1));
    assert!(large.words_of(&set).is_empty());
}

#[test]
fn an_absurd_cpu_number_is_left_out() {
    let mut topology = regular(1, 1, 2, 1);
    topology.cpus[1].id = u32::MAX;
    let layout = IdleLayout::of(&topology);
    assert_eq!((layout.cpus.len(), layout.nr_llcs), (65_535, 1));
    assert!(has_no_place(&layout, 65_534));
}

/// Machines of unlike last-level caches, numbered at random with holes, some CPUs offline.
fn any_machine() -> impl Strategy<Value = Topology> {
    let core = 1usize..=4;
    let l2 = prop::collection::vec(core, 1..12);
    let l3 = (prop::collection::vec(l2, 1..8), 0u32..3);
    prop::collection::vec(l3, 1..6).prop_flat_map(|l3s| {
        let nr_cpus: usize = l3s.iter().flat_map(|(l2s, _)| l2s.iter().flatten()).sum();
        let numbers: Vec<u32> = (0..1024).collect();
        let numbers = prop::sample::subsequence(numbers, nr_cpus.min(1024)).prop_shuffle();
        let online = prop::collection::vec(prop::bool::weighted(0.9), 1024);
        (Just(l3s), numbers, online).prop_map(|(l3s, mut numbers, online)| {
            let mut cores = Vec::new();
            let mut l2 = 0;
            for (l3, (l2s, node)) in (0..).zip(l3s) {
                for sizes in l2s {
                    l2 += 1;
                    for size in sizes {
                        let cpus = numbers.split_off(numbers.len().saturating_sub(size));
                        cores.push(Core { cpus, l2, l3, node });
                    }
                }
            }
            cores.retain(|core| !core.cpus.is_empty());
            let mut topology = machine(&cores);
            for cpu in &mut topology.cpus {
                cpu.online = online[cpu.id as usize];
            }
            topology
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_machine_has_a_sound_layout(topology in any_machine()) {
        check(&topology);
    }

    #[test]
    fn the_masks_of_a_set_have_exactly_its_cpus(
        topology in any_machine(), cpus in prop::collection::btree_set(0u32..1024, 0..300)
    ) {
        let layout = IdleLayout::of(&topology);
        let words = layout.words_of(&cpus.iter().copied().collect());
        prop_assert_eq!(words.len(), layout.llcs.len());
        let mut named = BTreeSet::new();
        for (words, llc) in words.iter().zip(&layout.llcs) {
            named.extend(bits(*words).map(|bit| u32::from(llc.cpus[bit])));
        }
        let has_place = |cpu: &&u32| {
            layout.cpus.get(**cpu as usize).is_some_and(|place| place.llc != NO_LLC)
        };
        prop_assert_eq!(named, cpus.iter().filter(has_place).copied().collect::<BTreeSet<_>>());
    }

    #[test]
    fn every_size_of_cache_fits_or_is_left_out(cores in 1u32..140, smt in 1u32..=2) {
        let layout = check(&regular(1, 1, cores, smt));
        prop_assert_eq!(layout.nr_llcs == 1, cores * smt <= 128);
    }
}
