//! Which CPUs a primary domain means on which machine.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::domain::DomainError;
use pandemonium_policy::{Cpu, CpuSet, PrimaryDomain, Topology};
use proptest::prelude::*;

/// CPUs of these highest frequencies in MHz, all online.
fn machine(max_mhz: &[u64]) -> Topology {
    let cpus = (0..).zip(max_mhz).map(|(id, mhz)| Cpu {
        id,
        online: true,
        core: id,
        l2: id,
        l3: 0,
        node: 0,
        max_khz: mhz * 1000,
    });
    Topology {
        cpus: cpus.collect(),
    }
}

/// Four P-cores of which two are favoured, and four E-cores.
fn hybrid() -> Topology {
    machine(&[5000, 5200, 5200, 5000, 3800, 3800, 3800, 3800])
}

fn resolved(domain: PrimaryDomain, topology: &Topology) -> Option<CpuSet> {
    domain.resolve(topology)
}

#[test]
fn the_fast_cpus_are_all_above_the_slowest_ones() {
    let fast = resolved(PrimaryDomain::Performance, &hybrid());
    assert_eq!(fast, Some((0..4).collect()));
    let slow = resolved(PrimaryDomain::Powersave, &hybrid());
    assert_eq!(slow, Some((4..8).collect()));
}

#[test]
fn equal_or_unknown_cpus_are_no_domain() {
    for topology in [
        machine(&[4000; 8]),
        machine(&[0; 4]),
        machine(&[5000, 3800, 0]),
        machine(&[5000]),
        Topology::default(),
    ] {
        assert_eq!(resolved(PrimaryDomain::Performance, &topology), None);
        assert_eq!(resolved(PrimaryDomain::Powersave, &topology), None);
    }
}

#[test]
fn cpus_that_are_offline_do_not_hide_the_difference_between_the_others() {
    let mut topology = hybrid();
    for cpu in [1, 6] {
        topology.cpus[cpu].online = false;
        topology.cpus[cpu].max_khz = 0;
    }
    let fast = resolved(PrimaryDomain::Performance, &topology);
    assert_eq!(fast, Some([0, 2, 3].into_iter().collect()));
    let slow = resolved(PrimaryDomain::Powersave, &topology);
    assert_eq!(slow, Some([4, 5, 7].into_iter().collect()));
    topology.cpus[4..].iter_mut().for_each(|cpu| {
        cpu.online = false;
    });
    topology.cpus[..4].iter_mut().for_each(|cpu| {
        cpu.max_khz = 5_000_000;
    });
    assert_eq!(
        resolved(PrimaryDomain::Powersave, &topology),
        None,
        "a domain without an online CPU is none"
    );
}

#[test]
fn a_set_is_cut_to_the_possible_cpus() {
    let resolve = |text: &str| resolved(text.parse().unwrap(), &hybrid());
    assert_eq!(resolve("0xc"), Some([2, 3].into_iter().collect()));
    assert_eq!(resolve("0xf0c"), Some([2, 3].into_iter().collect()));
    assert_eq!(resolve("0xff00"), None, "none of them exist");
    assert_eq!(resolve("0xff"), None, "all of them");
    assert_eq!(resolve("0xffff"), None, "all of them and more");
    assert_eq!(resolved(PrimaryDomain::All, &hybrid()), None);
    assert_eq!(resolved(PrimaryDomain::Auto, &hybrid()), None);
}

#[test]
fn names_are_read_back_and_the_rest_is_refused() {
    for name in ["all", "performance", "powersave", "auto", "0xf0"] {
        let domain: PrimaryDomain = name.parse().unwrap();
        assert_eq!(domain.to_string(), name);
        let json = serde_json::to_string(&domain).unwrap();
        assert_eq!(json, format!("\"{name}\""));
        assert_eq!(
            serde_json::from_str::<PrimaryDomain>(&json).unwrap(),
            domain
        );
    }
    assert_eq!(PrimaryDomain::default(), PrimaryDomain::All);
    assert_eq!("0".parse::<PrimaryDomain>(), Err(DomainError::NoCpus));
    for wrong in ["", "All", "fast", "0x", "0-3", " auto"] {
        let error = wrong.parse::<PrimaryDomain>().unwrap_err().to_string();
        assert!(error.starts_with("expected all, performance, powersave, auto or"));
        assert!(serde_json::from_str::<PrimaryDomain>(&format!("\"{wrong}\"")).is_err());
    }
}

proptest! {
    #[test]
    fn a_resolved_domain_is_a_true_part_of_the_machine_with_an_online_cpu(
        mhz in prop::collection::vec((0u64..4, any::<bool>()), 1..40),
        mask in prop::collection::btree_set(0u32..60, 0..20)
    ) {
        let mut topology = machine(&mhz.iter().map(|(mhz, _)| mhz * 1000).collect::<Vec<_>>());
        for (cpu, (_, online)) in topology.cpus.iter_mut().zip(&mhz) {
            cpu.online = *online;
        }
        let possible: CpuSet = topology.cpus.iter().map(|cpu| cpu.id).collect();
        let online: CpuSet = topology.cpus.iter().filter(|c| c.online).map(|c| c.id).collect();
        let fast = resolved(PrimaryDomain::Performance, &topology);
        let slow = resolved(PrimaryDomain::Powersave, &topology);
        prop_assert_eq!(fast.is_some(), slow.is_some());
        for cpus in fast.iter().chain(&slow) {
            prop_assert!(!cpus.intersection(&online).is_empty());
        }
        if let (Some(fast), Some(slow)) = (fast, slow) {
            prop_assert!(fast.intersection(&slow).is_empty());
        }
        let chosen = resolved(PrimaryDomain::Cpus(mask.into_iter().collect()), &topology);
        for cpus in [fast, slow, chosen].into_iter().flatten() {
            prop_assert_eq!(cpus.intersection(&possible), cpus);
            prop_assert!(!cpus.is_empty() && cpus != possible);
        }
    }

    #[test]
    fn the_text_of_any_domain_reads_back(cpus in prop::collection::btree_set(0u32..1024, 1..64)) {
        let domain = PrimaryDomain::Cpus(cpus.into_iter().collect());
        prop_assert_eq!(domain.to_string().parse::<PrimaryDomain>(), Ok(domain));
    }
}
