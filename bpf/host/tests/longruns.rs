//! How long batch work waits: longruns, and since when a queue waits.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task,
};
use pandemonium_bpf_host::scenes::{
    held, order, rest_of_runs, running, short_in_bursts, slice_of, two_nodes, waiting,
    waiting_for_a_moment, with_knobs,
};
use pandemonium_policy::Limits;
use pandemonium_policy::limits::LONGRUN_NS;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

#[test]
fn batch_work_that_waits_for_two_seconds_makes_a_longrun_of_its_own_node() {
    let mut m = two_nodes();
    for cpu in 0..4 {
        m.hold(cpu);
    }
    waiting(&mut m, BATCH);
    m.advance(LONGRUN_NS);
    assert!(!m.is_longrun(0));
    m.advance(1);
    assert_eq!(
        [0, 1, 2, 3].map(|cpu| m.is_longrun(cpu)),
        [true, true, false, false]
    );
}

#[test]
fn interactive_work_makes_no_longrun() {
    let mut m = held(2);
    waiting(&mut m, INTERACTIVE);
    m.advance(LONGRUN_NS + 1);
    assert!(!m.is_longrun(0));
}

#[test]
fn only_an_empty_queue_ends_a_longrun() {
    let mut m = held(2);
    waiting(&mut m, BATCH);
    m.advance(MS);
    waiting(&mut m, BATCH);
    m.advance(LONGRUN_NS - MS + 1);
    m.unhold(0);
    m.advance(MS);
    assert!(m.is_longrun(0), "one is served, the other waits");
    m.exit(0);
    assert!(!m.is_longrun(0));
    m.hold(0);
    waiting(&mut m, BATCH);
    m.advance(LONGRUN_NS);
    assert!(
        !m.is_longrun(0),
        "it counts from when the queue was last empty"
    );
}

#[test]
fn a_longrun_leaves_as_many_runs_before_batch_as_there_are_cpus() {
    let limits = Limits::for_cpus(2);
    for (waited_ns, budget) in [
        (LONGRUN_NS - 7 * MS / 2, limits.deficit_budget),
        (LONGRUN_NS - 2 * MS, limits.longrun_budget + 1),
        (LONGRUN_NS - 2 * MS + 1, limits.longrun_budget),
    ] {
        let mut m = held(2);
        // What runs elsewhere all the time leaves batch work much that it is owed.
        m.unhold(1);
        let elsewhere = running(&mut m, INTERACTIVE, 1);
        m.bind(elsewhere, &[1]);
        let batch = [(); 2].map(|()| waiting_for_a_moment(&mut m));
        m.advance(waited_ns);
        m.hold(1);
        let others: Vec<Task> = (0..8).map(|_| waiting(&mut m, INTERACTIVE)).collect();
        m.unhold(0);
        assert_eq!(m.running(0), Some(batch[0]), "starved by then");
        m.advance(MS);
        m.exit(0);
        let ran = rest_of_runs(&mut m, MS / 2);
        let turn = budget as usize;
        assert_eq!(ran[..turn], others[..turn]);
        assert_eq!(ran[turn], batch[1], "{waited_ns}");
    }
}

#[test]
fn a_longrun_cuts_the_slices_of_sleepers_only() {
    for (tier, usual_ns, longrun_ns) in [
        (BATCH, 2 * 8 * MS / 3, 2 * 8 * MS / 3),
        (INTERACTIVE, MS, 300 * US),
        (LAT_CRITICAL, MS, 300 * US),
    ] {
        for (waited_ns, expected) in [(LONGRUN_NS, usual_ns), (LONGRUN_NS + 1, longrun_ns)] {
            let mut m = Machine::with_cpus(2);
            m.set_knobs(&short_in_bursts());
            running(&mut m, BATCH, 0);
            m.hold(1);
            waiting(&mut m, BATCH);
            m.advance(waited_ns);
            assert_eq!(slice_of(&mut m, tier, 0), expected, "{tier} {waited_ns}");
        }
    }
}

#[test]
fn interactive_and_batch_work_have_queues_of_their_own_at_all_times() {
    let mut m = held(2);
    waiting(&mut m, BATCH);
    for is_longrun in [false, true] {
        let before = [Kind::Interactive, Kind::Batch].map(|kind| m.waiting_in_node(0, kind));
        assert_eq!(m.is_longrun(0), is_longrun);
        for tier in [BATCH, INTERACTIVE, LAT_CRITICAL] {
            waiting(&mut m, tier);
        }
        let after = [Kind::Interactive, Kind::Batch].map(|kind| m.waiting_in_node(0, kind));
        assert_eq!(after, [before[0] + 2, before[1] + 1]);
        m.advance(LONGRUN_NS + 1);
    }
}

// Since when a queue waits.

#[test]
fn a_batch_queue_waits_since_it_was_last_served_not_since_its_task_came() {
    for sojourn_ns in [2 * MS, 5 * MS] {
        for (since_ns, rescues) in [(sojourn_ns, 0), (sojourn_ns + 1, 1)] {
            let mut m = held(2);
            m.set_knobs(&with_knobs(|knobs| knobs.sojourn_thresh_ns = sojourn_ns));
            let batch = [(); 2].map(|()| waiting_for_a_moment(&mut m));
            m.advance(sojourn_ns);
            m.unhold(0);
            assert_eq!(m.running(0), Some(batch[0]));
            m.advance(since_ns);
            m.exit(0);
            assert_eq!(m.running(0), Some(batch[1]));
            assert_eq!(m.counter(Counter::SojournRescues), rescues, "{since_ns}");
        }
    }
}

#[test]
fn a_batch_queue_that_was_empty_waits_since_work_came() {
    let mut m = held(2);
    waiting(&mut m, BATCH);
    order(&mut m);
    m.hold(0);
    m.advance(100 * MS);
    let task = waiting(&mut m, BATCH);
    m.advance(5 * MS);
    assert_eq!(order(&mut m), [task]);
    assert_eq!(m.counter(Counter::SojournRescues), 0);
}
