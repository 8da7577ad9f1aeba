//! The core-count formulas against the specification's table and over their whole range.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::limits::{BURST_WINDOW_NS, LONGRUN_NS, MAX_CPUS};
use pandemonium_policy::{Cpu, Limits, Topology};

const MS: u64 = 1_000_000;

#[test]
fn limits_match_the_table_of_the_specification() {
    // CPUs, sojourn floor and ceiling, overflow rescue, starvation rescue (ms, rounded), deficit
    // budget, depth, MIXED batch cap (ms), MIXED slice cap (us).
    let table = [
        (2, 2, 4, 4, 50, 6, 1, 10, 1000),
        (4, 4, 8, 8, 100, 16, 2, 20, 1000),
        (8, 6, 12, 10, 200, 32, 2, 20, 1000),
        (12, 6, 12, 10, 167, 48, 2, 20, 1000),
    ];
    for (cpus, floor, ceiling, overflow, starvation, budget, depth, batch, slice_us) in table {
        let l = Limits::for_cpus(cpus);
        assert_eq!(l.nr_cpus, cpus);
        assert_eq!(l.sojourn_floor_ns, floor * MS, "{cpus} CPUs");
        assert_eq!(l.sojourn_ceiling_ns, ceiling * MS, "{cpus} CPUs");
        assert_eq!(l.overflow_rescue_ns, overflow * MS, "{cpus} CPUs");
        assert_eq!(
            (l.starvation_rescue_ns + MS / 2) / MS,
            starvation,
            "{cpus} CPUs"
        );
        assert_eq!(l.deficit_budget, budget, "{cpus} CPUs");
        assert_eq!(l.placement_depth, depth, "{cpus} CPUs");
        assert_eq!(l.mixed_batch_cap_ns, batch * MS, "{cpus} CPUs");
        assert_eq!(l.mixed_slice_cap_ns, slice_us * 1000, "{cpus} CPUs");
        assert_eq!(l.longrun_budget, cpus);
        assert_eq!(l.burst_wakeups_per_tick, cpus * 2);
    }
}

#[test]
fn the_virtual_time_ceiling_is_short_from_eight_cpus_on() {
    let ceiling_ms = |cpus| Limits::for_cpus(cpus).vtime_ceiling_ns / MS;
    assert_eq!([1, 2, 4, 7].map(ceiling_ms), [250; 4]);
    assert_eq!([8, 9, 12, 1024].map(ceiling_ms), [30; 4]);
}

#[test]
fn a_fork_storm_is_counted_over_four_ticks() {
    assert_eq!(BURST_WINDOW_NS, 4 * MS);
    assert_eq!(
        [1, 2, 4, 8].map(|n| Limits::for_cpus(n).burst_wakeups),
        [8, 16, 32, 64]
    );
}

#[test]
fn batch_that_waits_for_two_seconds_is_a_longrun() {
    assert_eq!(LONGRUN_NS, 2000 * MS);
}

#[test]
fn starvation_rescue_is_shortest_on_very_large_machines() {
    assert_eq!(Limits::for_cpus(128).starvation_rescue_ns, 20 * MS);
    assert_eq!(Limits::for_cpus(1024).starvation_rescue_ns, 20 * MS);
    assert_eq!(Limits::for_cpus(1).starvation_rescue_ns, 25 * MS);
}

#[test]
fn every_cpu_count_stays_inside_the_documented_bounds() {
    for cpus in 1..=MAX_CPUS {
        let l = Limits::for_cpus(cpus);
        assert!((2 * MS..=6 * MS).contains(&l.sojourn_floor_ns));
        assert_eq!(l.sojourn_ceiling_ns, 2 * l.sojourn_floor_ns);
        assert!((4 * MS..=10 * MS).contains(&l.overflow_rescue_ns));
        assert!((20 * MS..=500 * MS).contains(&l.starvation_rescue_ns));
        assert!(l.deficit_budget >= 2 * cpus && l.deficit_budget <= 4 * cpus);
        assert!(l.longrun_budget <= l.deficit_budget);
        assert!((1..=2).contains(&l.placement_depth));
        assert!(l.mixed_batch_cap_ns <= 20 * MS && l.mixed_batch_cap_ns >= 5 * MS);
        assert!(l.mixed_slice_cap_ns <= MS && l.mixed_slice_cap_ns >= MS / 2);
        assert!((30 * MS..=250 * MS).contains(&l.vtime_ceiling_ns));
        assert!(
            l.vtime_ceiling_ns > l.sojourn_ceiling_ns,
            "the ceiling leaves an order to what waits"
        );
        assert_eq!(l.interactive_max, 4 * cpus);
        assert_eq!(l.burst_wakeups, 4 * l.burst_wakeups_per_tick);
        assert!(
            l.starvation_rescue_ns > l.sojourn_ceiling_ns,
            "the net hangs below the rescue"
        );
        assert!(
            l.starvation_rescue_ns < 1000 * MS,
            "nothing may wait a second"
        );
    }
}

#[test]
fn clamped_formulas_never_shrink_with_more_cpus() {
    for cpus in 1..MAX_CPUS {
        let (few, many) = (Limits::for_cpus(cpus), Limits::for_cpus(cpus + 1));
        assert!(few.sojourn_floor_ns <= many.sojourn_floor_ns);
        assert!(few.overflow_rescue_ns <= many.overflow_rescue_ns);
        assert!(few.deficit_budget < many.deficit_budget);
        assert!(few.placement_depth <= many.placement_depth);
        assert!(few.mixed_batch_cap_ns <= many.mixed_batch_cap_ns);
        assert!(few.mixed_slice_cap_ns <= many.mixed_slice_cap_ns);
        assert!(few.burst_wakeups_per_tick < many.burst_wakeups_per_tick);
        assert!(few.burst_wakeups < many.burst_wakeups);
        assert!(few.interactive_max < many.interactive_max);
        assert!(few.longrun_budget < many.longrun_budget);
        assert!(few.vtime_ceiling_ns >= many.vtime_ceiling_ns);
    }
}

#[test]
fn starvation_rescue_rises_to_its_peak_and_falls_after_it() {
    // Integer division by four makes the falling side a staircase; within a step the rising side
    // still shows, so the comparison is between the ends of steps.
    let at = |cpus| Limits::for_cpus(cpus).starvation_rescue_ns;
    assert!((1..=10).all(|cpus| at(cpus) <= at(cpus + 1)));
    assert!((3..255).all(|step| at(4 * step + 3) >= at(4 * step + 7)));
}

#[test]
fn absurd_counts_are_brought_into_range() {
    assert_eq!(Limits::for_cpus(0), Limits::for_cpus(1));
    assert_eq!(Limits::for_cpus(u32::MAX), Limits::for_cpus(MAX_CPUS));
}

#[test]
fn only_online_cpus_count() {
    let cpu = |id, online| Cpu {
        id,
        online,
        core: id,
        l2: id,
        l3: 0,
        node: 0,
        max_khz: 0,
    };
    let topology = Topology {
        cpus: vec![cpu(0, true), cpu(1, false), cpu(2, true), cpu(7, true)],
    };
    assert_eq!(Limits::for_topology(&topology), Limits::for_cpus(3));
    assert_eq!(
        Limits::for_topology(&Topology::default()),
        Limits::for_cpus(1)
    );
}
