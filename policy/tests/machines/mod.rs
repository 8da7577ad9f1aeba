//! Machines with idle masks, and what holds for the masks of each.

use std::collections::{BTreeMap, BTreeSet};

use pandemonium_policy::idle_layout::{IdleLlc, LLC_CPUS, MAX_LLCS, NO_CPU, NO_LLC};
use pandemonium_policy::{Cpu, IdleLayout, Topology};

/// One core: its CPUs, and the indices of its caches and node.
pub struct Core {
    pub cpus: Vec<u32>,
    pub l2: u32,
    pub l3: u32,
    pub node: u32,
}

pub fn machine(cores: &[Core]) -> Topology {
    let (mut lowest_of_l2, mut lowest_of_l3) = (BTreeMap::new(), BTreeMap::new());
    for core in cores {
        let first = *core.cpus.iter().min().unwrap();
        for lowest in [
            lowest_of_l2.entry(core.l2).or_insert(first),
            lowest_of_l3.entry(core.l3).or_insert(first),
        ] {
            *lowest = first.min(*lowest);
        }
    }
    let mut cpus = Vec::new();
    for core in cores {
        for id in &core.cpus {
            cpus.push(Cpu {
                id: *id,
                online: true,
                core: *core.cpus.iter().min().unwrap(),
                l2: lowest_of_l2[&core.l2],
                l3: lowest_of_l3[&core.l3],
                node: core.node,
                max_khz: 0,
            });
        }
    }
    cpus.sort_by_key(|cpu| cpu.id);
    Topology { cpus }
}

/// `llcs * cores` cores with an L2 cache each, siblings numbered as Linux does on x86: first one CPU
/// of every core, then the second of every core.
pub fn regular(nodes: u32, llcs: u32, cores: u32, smt: u32) -> Topology {
    let all = nodes * llcs * cores;
    let core = |i: u32| Core {
        cpus: (0..smt).map(|thread| i + thread * all).collect(),
        l2: i,
        l3: i / cores,
        node: i / (cores * llcs),
    };
    machine(&(0..all).map(core).collect::<Vec<_>>())
}

pub fn bits(words: [u64; 2]) -> impl Iterator<Item = usize> {
    (0..LLC_CPUS).filter(move |bit| words[bit / 64] >> (bit % 64) & 1 == 1)
}

/// Bits that stand for a CPU.
fn taken(llc: &IdleLlc) -> BTreeSet<usize> {
    (0..LLC_CPUS)
        .filter(|bit| llc.cpus[*bit] != NO_CPU)
        .collect()
}

pub fn has_no_place(layout: &IdleLayout, cpu: usize) -> bool {
    let place = layout.cpus[cpu];
    (place.llc, place.bit, place.l2_mask) == (NO_LLC, 0, 0)
}

/// Holds for every machine, whether its CPUs have places or not.
pub fn check(topology: &Topology) -> IdleLayout {
    let layout = IdleLayout::of(topology);
    assert_eq!(layout.nr_llcs as usize, layout.llcs.len());
    assert!(layout.llcs.len() <= MAX_LLCS);
    assert_eq!(layout.cpus.len(), topology.nr_cpu_ids() as usize);

    let ids: BTreeSet<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
    for id in (0..topology.nr_cpu_ids()).filter(|id| !ids.contains(id)) {
        assert!(
            has_no_place(&layout, id as usize),
            "CPU {id} does not exist"
        );
    }
    let mut places = BTreeSet::new();
    for cpu in &topology.cpus {
        let place = layout.cpus[cpu.id as usize];
        if place.llc == NO_LLC {
            assert!(has_no_place(&layout, cpu.id as usize));
            continue;
        }
        assert!(
            places.insert((place.llc, place.bit)),
            "CPU {} sits alone",
            cpu.id
        );
        let llc = &layout.llcs[usize::from(place.llc)];
        assert_eq!(llc.node, cpu.node);
        assert_eq!(u32::from(llc.cpus[usize::from(place.bit)]), cpu.id);
    }
    let inverse: usize = layout.llcs.iter().map(|llc| taken(llc).len()).sum();
    assert_eq!(
        inverse,
        places.len(),
        "no bit stands for a CPU that is elsewhere"
    );

    for (index, llc) in layout.llcs.iter().enumerate() {
        check_llc(topology, &layout, index, llc);
    }
    let order: Vec<_> = layout
        .llcs
        .iter()
        .map(|llc| (llc.node, *llc.cpus.iter().min().unwrap()))
        .collect();
    assert!(
        order.is_sorted_by(|a, b| a < b),
        "by node, then by lowest CPU"
    );
    layout
}

fn check_llc(topology: &Topology, layout: &IdleLayout, index: usize, llc: &IdleLlc) {
    let by_bit: BTreeMap<usize, Cpu> = taken(llc)
        .into_iter()
        .map(|bit| {
            let id = u32::from(llc.cpus[bit]);
            let found = topology.cpus.binary_search_by_key(&id, |cpu| cpu.id);
            (bit, topology.cpus[found.unwrap()])
        })
        .collect();
    let cpu_at = |bit: usize| by_bit[&bit];
    let mut covered: BTreeSet<usize> = bits(llc.single).collect();
    for bit in bits(llc.pair) {
        assert_eq!(bit % 2, 0);
        assert_eq!(
            cpu_at(bit).core,
            cpu_at(bit + 1).core,
            "siblings are adjacent"
        );
        assert!(cpu_at(bit).id < cpu_at(bit + 1).id);
        assert!(
            covered.insert(bit) && covered.insert(bit + 1),
            "one or the other"
        );
    }
    assert_eq!(covered, taken(llc), "every CPU is single or in a pair");

    let mut singles_of_core: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for bit in bits(llc.single) {
        let cpu = cpu_at(bit);
        *singles_of_core.entry((cpu.l2, cpu.core)).or_default() += 1;
    }
    assert!(
        singles_of_core.values().all(|n| *n == 1),
        "siblings are not left apart"
    );

    let order = |cpu: &Cpu| (cpu.l2, cpu.core, cpu.id);
    assert!(by_bit.values().is_sorted_by_key(order));

    for (bit, cpu) in &by_bit {
        let place = layout.cpus[cpu.id as usize];
        assert_eq!(usize::from(place.llc), index);
        let expected = by_bit
            .iter()
            .filter(|(other, sibling)| *other / 64 == bit / 64 && sibling.l2 == cpu.l2)
            .fold(0u64, |mask, (other, _)| mask | 1 << (other % 64));
        assert_eq!(place.l2_mask, expected);
    }
}
