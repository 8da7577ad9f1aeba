//! Which idle CPU a task gets: the ladder, the primary domain, and nobody gets the same one twice.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;

use pandemonium_bpf_host::idle::{Idle, Llc};
use pandemonium_policy::idle_layout::IdleLayout;
use pandemonium_policy::{Cpu, CpuSet, Topology};
use proptest::prelude::*;

const BATCH: u32 = 0;
const INTERACTIVE: u32 = 1;
const LAT_CRITICAL: u32 = 2;
const OFF: u64 = 0;
const WEAK: u64 = 1;
const STRONG: u64 = 2;
/// `CNT_DOMAIN_SPILLS` and `CNT_L2_PLACEMENTS`.
const DOMAIN_SPILLS: u32 = 22;
const L2_PLACEMENTS: u32 = 24;

/// Cores of two siblings each, numbered one after the other; `l2` and `l3` say how many CPUs share one.
fn smt(nr_cpus: u32, l2: u32, l3: u32, per_node: u32) -> Topology {
    let cpus = (0..nr_cpus).map(|id| Cpu {
        id,
        online: true,
        core: id / 2 * 2,
        l2: id / l2 * l2,
        l3: id / l3 * l3,
        node: id / per_node,
        max_khz: 0,
    });
    Topology {
        cpus: cpus.collect(),
    }
}

fn machine(topology: &Topology) -> Idle {
    let layout = IdleLayout::of(topology);
    let mut idle = Idle::new(layout.nr_llcs, topology.nr_nodes());
    for (id, cpu) in layout.cpus.iter().enumerate() {
        idle.set_cpu(id as u32, cpu.llc, cpu.bit.into(), cpu.l2_mask);
    }
    for (index, llc) in layout.llcs.iter().enumerate() {
        let (node, single, pair, cpus) = (llc.node, llc.single, llc.pair, llc.cpus);
        idle.set_llc(
            index as u32,
            &Llc {
                node,
                single,
                pair,
                cpus,
            },
        );
    }
    idle
}

fn with_idle(topology: &Topology, cpus: &[u32]) -> Idle {
    let mut idle = machine(topology);
    for cpu in cpus {
        idle.note(*cpu, true);
    }
    idle
}

fn with_domain(idle: &mut Idle, topology: &Topology, domain: &[u32]) {
    let set: CpuSet = domain.iter().copied().collect();
    for (llc, words) in IdleLayout::of(topology).words_of(&set).iter().enumerate() {
        idle.set_domain(llc as u32, words);
    }
}

/// Eight CPUs, four cores, two second-level caches of two cores, one last-level cache.
fn laptop() -> Topology {
    smt(8, 4, 8, 8)
}

fn weak(idle: &mut Idle, prev: u32) -> Option<u32> {
    idle.claim(prev, INTERACTIVE, false, WEAK)
}

#[test]
fn a_saturated_machine_has_none() {
    assert_eq!(weak(&mut with_idle(&laptop(), &[]), 3), None);
    // Nor has one with several caches.
    assert_eq!(weak(&mut with_idle(&smt(16, 2, 4, 8), &[]), 3), None);
}

#[test]
fn the_last_cpu_is_kept_while_its_whole_core_is_idle() {
    for prev in 0..8 {
        assert_eq!(
            weak(&mut with_idle(&laptop(), &[0, 1, 2, 3, 4, 5, 6, 7]), prev),
            Some(prev)
        );
    }
}

#[test]
fn a_whole_core_nearby_comes_before_one_far_away_and_before_the_last_cpu() {
    // CPU 1 is idle, its sibling is not; cores 2-3 (same second-level cache) and 4-5 are.
    assert_eq!(
        weak(&mut with_idle(&laptop(), &[1, 2, 3, 4, 5]), 1),
        Some(2)
    );
    assert_eq!(weak(&mut with_idle(&laptop(), &[1, 4, 5]), 1), Some(4));
}

#[test]
fn without_a_whole_core_the_last_cpu_then_a_near_one_then_any() {
    assert_eq!(weak(&mut with_idle(&laptop(), &[1, 3, 5]), 1), Some(1));
    assert_eq!(weak(&mut with_idle(&laptop(), &[3, 5]), 1), Some(3));
    assert_eq!(weak(&mut with_idle(&laptop(), &[5, 7]), 1), Some(5));
}

#[test]
fn strong_closeness_exhausts_the_second_level_cache_first() {
    let mut idle = with_idle(&laptop(), &[3, 4, 5]);
    assert_eq!(idle.claim(1, INTERACTIVE, false, STRONG), Some(3));
    drop(idle);
    let mut idle = with_idle(&laptop(), &[3, 4, 5]);
    assert_eq!(idle.claim(1, INTERACTIVE, false, WEAK), Some(4));
}

#[test]
fn latency_critical_work_kernel_threads_and_mode_off_do_not_look_at_the_second_level_cache() {
    // The next whole core, from the lowest again after the last, is the far one.
    for (tier, is_kthread, mode) in [
        (LAT_CRITICAL, false, STRONG),
        (INTERACTIVE, true, STRONG),
        (BATCH, false, OFF),
    ] {
        let mut idle = with_idle(&laptop(), &[0, 1, 4, 5]);
        assert_eq!(idle.claim(6, tier, is_kthread, mode), Some(0));
        assert_eq!(idle.counter(L2_PLACEMENTS), 0);
    }
    let mut idle = with_idle(&laptop(), &[0, 1, 4, 5]);
    assert_eq!(weak(&mut idle, 6), Some(4));
    assert_eq!(idle.counter(L2_PLACEMENTS), 1);
}

#[test]
fn of_equal_cpus_the_next_from_the_tasks_own_on_is_taken() {
    let small = smt(8, 2, 8, 8);
    assert_eq!(
        weak(&mut with_idle(&small, &[0, 1, 4, 5, 6, 7]), 3),
        Some(4)
    );
    assert_eq!(weak(&mut with_idle(&small, &[0, 5]), 3), Some(5));
    // After the last comes the first, and a whole core is more than the next.
    assert_eq!(weak(&mut with_idle(&small, &[0, 5]), 6), Some(0));
    assert_eq!(weak(&mut with_idle(&small, &[0, 1, 5]), 3), Some(0));
}

#[test]
fn a_claimed_cpu_is_nobody_elses_until_it_goes_idle_again() {
    let mut idle = with_idle(&laptop(), &[0, 1, 2, 3, 4, 5, 6, 7]);
    let claimed: BTreeSet<u32> = (0..8).map(|_| weak(&mut idle, 3).unwrap()).collect();
    assert_eq!(claimed.len(), 8);
    assert_eq!(weak(&mut idle, 3), None);
    // It runs what it got, and idles again.
    idle.note(5, false);
    assert!(!idle.is_marked(5));
    idle.note(5, true);
    assert_eq!(weak(&mut idle, 3), Some(5));
}

#[test]
fn other_caches_follow_those_of_the_same_node_first() {
    // Caches of four CPUs, two to a node.
    let server = smt(16, 2, 4, 8);
    assert_eq!(weak(&mut with_idle(&server, &[5, 8, 9]), 0), Some(5));
    assert_eq!(
        weak(&mut with_idle(&server, &[1, 4, 5]), 0),
        Some(1),
        "its own cache before all"
    );
    assert_eq!(weak(&mut with_idle(&server, &[3, 12, 13]), 8), Some(12));
    assert_eq!(weak(&mut with_idle(&server, &[3]), 12), Some(3));
}

#[test]
fn the_domain_comes_first_until_it_is_saturated() {
    let mut idle = with_idle(&laptop(), &[0, 1, 2, 3, 4, 5, 6, 7]);
    with_domain(&mut idle, &laptop(), &[6, 7]);
    assert_eq!(weak(&mut idle, 0), Some(6));
    assert_eq!(weak(&mut idle, 0), Some(7));
    assert_eq!(idle.counter(DOMAIN_SPILLS), 0);
    assert_eq!(weak(&mut idle, 0), Some(0));
    assert_eq!(idle.counter(DOMAIN_SPILLS), 1);
}

#[test]
fn what_spilled_or_shares_a_core_finds_a_better_cpu_when_there_is_one() {
    let mut idle = with_idle(&laptop(), &[6, 7]);
    with_domain(&mut idle, &laptop(), &[6, 7]);
    assert_eq!(idle.claim_better(0), Some(6));
    assert_eq!(idle.claim_better(0), Some(7));
    assert_eq!(idle.claim_better(0), None, "the domain is full");
    drop(idle);
    // Inside of the domain nothing is better, except a core of its own.
    let mut idle = with_idle(&laptop(), &[4, 5, 7]);
    assert_eq!(idle.claim_better(6), None, "alone on its core");
    assert_eq!(idle.claim_better(0), Some(4), "both siblings busy");
    assert_eq!(idle.claim_better(1), None, "no whole core is left");
}

#[test]
fn a_cpu_that_is_offline_is_never_idle() {
    let mut idle = machine(&laptop());
    idle.set_online(2, false);
    idle.note(2, true);
    assert!(!idle.is_marked(2));
    assert_eq!(weak(&mut idle, 2), None);
}

#[test]
fn the_second_level_cache_counts_as_near() {
    let idle = with_idle(&laptop(), &[2]);
    assert!(idle.is_near(0) && idle.is_near(2) && !idle.is_near(4));
}

#[test]
fn both_words_of_a_cache_of_128_cpus_are_searched() {
    let big = smt(128, 2, 128, 128);
    assert_eq!(weak(&mut with_idle(&big, &[127]), 0), Some(127));
    assert_eq!(weak(&mut with_idle(&big, &[1]), 127), Some(1));
    assert_eq!(
        weak(&mut with_idle(&big, &[1, 126, 127]), 0),
        Some(126),
        "a core beats a sibling"
    );
}

#[test]
fn cpus_without_a_place_are_left_to_the_kernel() {
    let too_big = smt(256, 2, 256, 256);
    let mut idle = with_idle(&too_big, &[0, 1, 2, 3]);
    assert_eq!(weak(&mut idle, 0), None);
    assert!(!idle.is_marked(0));
}

proptest! {
    /// Whatever is idle and wherever the task ran: it gets an idle CPU if there is one, of the domain if
    /// that has one, and a whole core if the cache it ran in has one.
    #[test]
    fn a_claim_is_idle_in_the_domain_and_a_whole_core_where_possible(
        bits: u16, domain in 1u16.., prev in 0u32..16, tier in 0u32..3, mode in 0u64..2
    ) {
        let server = smt(16, 4, 8, 16);
        let cpus: Vec<u32> = (0..16).filter(|cpu| bits >> cpu & 1 == 1).collect();
        let inside: Vec<u32> = (0..16).filter(|cpu| domain >> cpu & 1 == 1).collect();
        let mut idle = with_idle(&server, &cpus);
        with_domain(&mut idle, &server, &inside);
        let claimed = idle.claim(prev, tier, false, mode);
        let Some(cpu) = claimed else {
            prop_assert!(cpus.is_empty());
            return Ok(());
        };
        prop_assert!(cpus.contains(&cpu) && !idle.is_marked(cpu));
        let is_free = |cpu: &u32| cpus.contains(cpu) && inside.contains(cpu);
        prop_assert_eq!(is_free(&cpu), cpus.iter().any(&is_free));
        // Whole cores of the domain in the cache it ran in; both siblings of those count.
        let is_core = |cpu: u32| {
            is_free(&(cpu & !1)) && is_free(&(cpu | 1)) && cpu / 8 == prev / 8
        };
        if (0..16).any(is_core) {
            prop_assert!(cpus.contains(&(cpu ^ 1)), "{} shares its core", cpu);
        }
    }
}
