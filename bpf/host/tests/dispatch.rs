//! What a CPU takes next: the nine steps, each on its own and in their order.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, Counter, INTERACTIVE, Kind, Machine, Task};
use pandemonium_bpf_host::scenes::{self, held, order, rest_of_runs, two_nodes, with_knobs};
use pandemonium_policy::Limits;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A settled task that waits for one of `cpus`; it ran on the first of them last.
fn waiting(m: &mut Machine, comm: &str, tier: u32, cpus: &[u32]) -> Task {
    let task = m.task(comm);
    m.bind(task, cpus);
    m.enter(task, cpus[0]);
    m.settle_as(task, tier);
    m.interrupt(task, cpus[0]);
    assert!(m.view(task).waits, "{comm}");
    task
}

fn waiting_own(m: &mut Machine, tier: u32) -> Task {
    waiting(m, "own", tier, &[0])
}

fn waiting_node(m: &mut Machine, tier: u32) -> Task {
    waiting(m, "node", tier, &[0, 1])
}

/// CPU 0 comes free and runs what it takes, each after it ran for a while.
fn order_of_runs(m: &mut Machine, run_ns: u64) -> Vec<Task> {
    m.unhold(0);
    rest_of_runs(m, run_ns)
}

#[test]
fn its_own_interactive_work_comes_before_the_nodes_and_batch_comes_last() {
    let mut m = held(2);
    let node_batch = waiting_node(&mut m, BATCH);
    let own_batch = waiting_own(&mut m, BATCH);
    let node = waiting_node(&mut m, INTERACTIVE);
    let own = waiting_own(&mut m, INTERACTIVE);
    assert_eq!(order(&mut m), [own, node, own_batch, node_batch]);
}

#[test]
fn an_interactive_queue_of_the_node_that_aged_comes_before_everything() {
    let mut m = held(2);
    let aged = waiting_node(&mut m, INTERACTIVE);
    m.advance(Limits::for_cpus(2).overflow_rescue_ns);
    let own = waiting_own(&mut m, INTERACTIVE);
    m.advance(1);
    assert_eq!(order(&mut m), [aged, own]);
    assert_eq!(m.counter(Counter::OverflowRescues), 1);
}

#[test]
fn an_interactive_queue_of_the_node_that_has_just_been_filled_takes_its_turn() {
    let mut m = held(2);
    let node = waiting_node(&mut m, INTERACTIVE);
    m.advance(Limits::for_cpus(2).overflow_rescue_ns);
    let own = waiting_own(&mut m, INTERACTIVE);
    assert_eq!(order(&mut m), [own, node]);
    assert_eq!(m.counter(Counter::OverflowRescues), 0);
}

#[test]
fn batch_that_aged_comes_first_only_after_other_work_had_the_cpu() {
    let mut m = held(2);
    let aged = waiting_own(&mut m, BATCH);
    m.advance(Limits::for_cpus(2).overflow_rescue_ns + 1);
    let others = [(); 2].map(|()| waiting_own(&mut m, INTERACTIVE));
    assert_eq!(order(&mut m), [others[0], aged, others[1]]);
    assert_eq!(m.counter(Counter::OverflowRescues), 1);
}

#[test]
fn batch_that_aged_waits_for_its_turn_while_another_cpu_runs_batch() {
    for (other, aged_first) in [(INTERACTIVE, true), (BATCH, false)] {
        let mut m = held(3);
        m.unhold(2);
        scenes::running(&mut m, other, 2);
        let aged = scenes::waiting(&mut m, BATCH);
        m.advance(Limits::for_cpus(3).overflow_rescue_ns + 1);
        let others = [(); 2].map(|()| waiting_own(&mut m, INTERACTIVE));
        let expected = if aged_first {
            [others[0], aged, others[1]]
        } else {
            [others[0], others[1], aged]
        };
        assert_eq!(order(&mut m), expected);
        assert_eq!(
            m.counter(Counter::OverflowRescues),
            u64::from(aged_first),
            "{other}"
        );
    }
}

#[test]
fn batch_that_is_interrupted_before_it_had_a_turn_does_not_wait_anew() {
    for (ran_ns, comes_first) in [(MS / 10, true), (MS, false)] {
        let mut m = held(2);
        let aged = scenes::waiting(&mut m, BATCH);
        m.advance(Limits::for_cpus(2).overflow_rescue_ns + 1);
        let others = [(); 3].map(|()| scenes::waiting(&mut m, INTERACTIVE));
        m.unhold(0);
        m.exit(0);
        assert_eq!(m.running(0), Some(aged));
        m.advance(ran_ns);
        // What is due is protected from wake-ups, but not from a higher class.
        m.hold(0);
        m.unhold(0);
        let first = if comes_first { aged } else { others[1] };
        assert_eq!(m.running(0), Some(first), "{ran_ns}");
    }
}

#[test]
fn what_runs_counts_as_batch_only_as_long_as_it_runs() {
    let mut m = held(3);
    m.unhold(2);
    for _ in 0..3 {
        scenes::running(&mut m, BATCH, 2);
        m.sleep(2);
    }
    m.hold(2);
    let aged = scenes::waiting(&mut m, BATCH);
    m.advance(Limits::for_cpus(3).overflow_rescue_ns + 1);
    let others = [(); 2].map(|()| waiting_own(&mut m, INTERACTIVE));
    assert_eq!(order(&mut m), [others[0], aged, others[1]]);
}

#[test]
fn a_sleeper_whose_slice_is_over_stops_for_others_like_it_but_not_for_batch() {
    for (other, goes_on) in [(BATCH, true), (INTERACTIVE, false)] {
        let mut m = Machine::with_cpus(2);
        m.hold(1);
        let task = m.task("frames");
        m.enter(task, 0);
        m.set_history(task, 8, 8, MS / 5);
        m.interrupt(task, 0);
        let waits = waiting_node(&mut m, other);
        m.advance(2 * MS);
        m.tick(0);
        let expected = if goes_on { task } else { waits };
        assert_eq!(m.running(0), Some(expected), "{other}");
    }
}

#[test]
fn work_that_has_just_begun_is_not_stopped_for_batch_of_which_nothing_runs() {
    for (ran_ns, goes_on) in [(MS / 2, true), (2 * MS, false)] {
        let mut m = held(2);
        let batch = waiting_node(&mut m, BATCH);
        let task = waiting_node(&mut m, INTERACTIVE);
        m.advance(Limits::for_cpus(2).overflow_rescue_ns);
        m.unhold(0);
        assert_eq!(m.running(0), Some(task));
        m.advance(ran_ns);
        m.tick(0);
        let expected = if goes_on { task } else { batch };
        assert_eq!(m.running(0), Some(expected), "{ran_ns}");
    }
}

#[test]
fn so_many_runs_of_other_work_force_one_of_batch() {
    let budget = Limits::for_cpus(2).deficit_budget as usize;
    let mut m = held(2);
    let batch = waiting_node(&mut m, BATCH);
    let others: Vec<Task> = (0..budget + 2)
        .map(|_| waiting_node(&mut m, INTERACTIVE))
        .collect();
    let ran = order_of_runs(&mut m, MS / 4);
    assert_eq!(ran[..budget], others[..budget]);
    assert_eq!(ran[budget..], [batch, others[budget], others[budget + 1]]);
    assert_eq!(m.counter(Counter::DeficitForced), 1);
}

#[test]
fn many_tasks_of_batch_of_which_hardly_any_runs_are_forced_after_a_millisecond_of_other_work() {
    let budget = Limits::for_cpus(3).deficit_budget as usize;
    for (batch, runs_elsewhere, run_ns, forced_after) in [
        (1, false, MS / 4, budget),
        (8, false, MS, 1),
        (8, false, MS / 2, 2),
        // Wake-ups that take next to nothing are no reason to hold up the next one.
        (8, false, MS / 20, budget + 2),
        (1, false, MS / 20, budget + 2),
        (4, false, MS / 4, 4),
        // It has its part of three CPUs, which is one of them, until but two others wait.
        (4, true, MS / 4, budget - 1),
    ] {
        let mut m = held(3);
        let batch: Vec<Task> = (0..batch).map(|_| scenes::waiting(&mut m, BATCH)).collect();
        for _ in 0..budget + 2 {
            scenes::waiting(&mut m, INTERACTIVE);
        }
        if runs_elsewhere {
            m.unhold(2);
            m.advance(MS);
            m.exit(2);
            assert!(batch.contains(&m.running(2).unwrap()));
        }
        let ran = order_of_runs(&mut m, run_ns);
        let first = ran.iter().position(|task| batch.contains(task)).unwrap();
        let scene = format!("{} {runs_elsewhere} {run_ns}", batch.len());
        assert_eq!(first, forced_after, "{scene}");
    }
}

#[test]
fn batch_work_that_had_its_part_is_forced_no_more_until_none_of_it_ran_for_a_while() {
    let limits = Limits {
        deficit_budget: 3,
        ..Limits::for_cpus(3)
    };
    for is_owed in [true, false] {
        let mut m = held(3);
        m.set_limits(&limits);
        if is_owed {
            m.unhold(1);
            let elsewhere = scenes::running(&mut m, INTERACTIVE, 1);
            m.bind(elsewhere, &[1]);
        }
        let batch = [(); 2].map(|()| scenes::waiting_for_a_moment(&mut m));
        m.advance(20 * MS);
        if is_owed {
            m.hold(1);
        }
        for _ in 0..9 {
            scenes::waiting(&mut m, INTERACTIVE);
        }
        m.unhold(0);
        m.exit(0);
        assert_eq!(m.running(0), Some(batch[0]));
        m.advance(MS);
        m.exit(0);
        let ran = rest_of_runs(&mut m, MS / 2);
        let first = ran.iter().position(|&task| task == batch[1]).unwrap();
        let stalled = (limits.overflow_rescue_ns.min(4 * MS) - MS) / (MS / 2) + 1;
        let expected = if is_owed {
            u64::from(limits.deficit_budget)
        } else {
            stalled
        };
        assert_eq!(first as u64, expected, "{is_owed}");
    }
}

#[test]
fn what_a_cpu_took_because_it_was_due_counts_as_running_for_50_us() {
    for (after_ns, is_taken) in [(50 * US - 1, false), (50 * US, true)] {
        let mut m = held(3);
        let batch = [(); 2].map(|()| scenes::waiting(&mut m, BATCH));
        m.advance(Limits::for_cpus(3).overflow_rescue_ns + 1);
        for _ in 0..6 {
            scenes::waiting(&mut m, INTERACTIVE);
        }
        m.unhold(0);
        m.unhold(1);
        m.exit(0);
        assert_eq!(m.running(0), Some(batch[0]));
        m.hold(0);
        m.advance(after_ns);
        m.exit(1);
        assert_eq!(m.running(1) == Some(batch[1]), is_taken, "{after_ns}");
    }
}

#[test]
fn a_forced_turn_of_batch_comes_after_the_cpus_own_interactive_work() {
    let mut m = held(2);
    let batch = waiting_node(&mut m, BATCH);
    for _ in 0..=Limits::for_cpus(2).deficit_budget {
        waiting_node(&mut m, INTERACTIVE);
    }
    m.unhold(0);
    for _ in 1..Limits::for_cpus(2).deficit_budget {
        m.advance(MS / 4);
        m.exit(0);
    }
    let own = waiting_own(&mut m, INTERACTIVE);
    m.exit(0);
    assert_eq!(m.running(0), Some(own));
    m.exit(0);
    assert_eq!(m.running(0), Some(batch));
    assert_eq!(m.counter(Counter::DeficitForced), 1);
}

#[test]
fn batch_takes_its_turn_unforced_when_nobody_else_waits() {
    let mut m = held(2);
    let others: Vec<Task> = (0..Limits::for_cpus(2).deficit_budget)
        .map(|_| waiting_node(&mut m, INTERACTIVE))
        .collect();
    let batch = waiting_node(&mut m, BATCH);
    let ran = order(&mut m);
    assert_eq!(ran[..others.len()], others);
    assert_eq!(ran[others.len()..], [batch]);
    assert_eq!(m.counter(Counter::DeficitForced), 0);
}

#[test]
fn a_short_run_of_batch_is_not_yet_its_turn_and_a_long_one_is() {
    let budget = Limits::for_cpus(2).deficit_budget as usize;
    for (run_ns, first_forced, batch_in_a_row) in [(MS / 4, 4, 2), (MS / 2, 2, 1)] {
        let mut m = held(2);
        let batch: Vec<Task> = (0..3).map(|_| waiting_node(&mut m, BATCH)).collect();
        let others: Vec<Task> = (0..budget + 2)
            .map(|_| waiting_node(&mut m, INTERACTIVE))
            .collect();
        let ran = order_of_runs(&mut m, run_ns);
        let first = ran.iter().position(|task| batch.contains(task)).unwrap();
        let forced = ran[first..]
            .iter()
            .take_while(|task| !others.contains(task))
            .count();
        assert_eq!((first, forced), (first_forced, batch_in_a_row), "{run_ns}");
    }
}

#[test]
fn batch_that_nobody_served_comes_before_the_nodes_interactive_work() {
    let mut m = held(2);
    let starved = waiting_node(&mut m, BATCH);
    m.advance(Limits::for_cpus(2).starvation_rescue_ns + 1);
    let node = waiting_node(&mut m, INTERACTIVE);
    assert_eq!(order(&mut m), [starved, node]);
    assert_eq!(m.counter(Counter::StarvationRescues), 1);
}

#[test]
fn beyond_the_sojourn_threshold_the_batch_queue_that_waited_longest_goes() {
    for (sojourn_ns, node_first) in [(4 * MS, true), (6 * MS, false)] {
        let mut m = held(2);
        m.set_knobs(&with_knobs(|knobs| knobs.sojourn_thresh_ns = sojourn_ns));
        let node = waiting_node(&mut m, BATCH);
        m.advance(5 * MS);
        let own = waiting_own(&mut m, BATCH);
        let first = if node_first { [node, own] } else { [own, node] };
        assert_eq!(order(&mut m), first, "{sojourn_ns}");
        assert_eq!(m.counter(Counter::SojournRescues), u64::from(node_first));
    }
}

#[test]
fn batch_of_the_cpu_and_of_the_node_goes_first_by_which_had_less() {
    let mut m = held(2);
    let node = [(); 2].map(|()| waiting_node(&mut m, BATCH));
    let own = [(); 2].map(|()| waiting_own(&mut m, BATCH));
    m.unhold(0);
    assert_eq!(m.running(0), Some(own[0]));
    m.advance(3 * MS);
    m.exit(0);
    assert_eq!(rest_of_runs(&mut m, MS), [node[0], node[1], own[1]]);
}

/// Two nodes whose CPUs a higher class holds.
fn held_nodes() -> Machine {
    let mut m = two_nodes();
    for cpu in 0..4 {
        m.hold(cpu);
    }
    m
}

#[test]
fn another_nodes_work_is_taken_when_there_is_none_at_home() {
    let mut m = held_nodes();
    let all = [0, 1, 2, 3];
    let far_batch = waiting(&mut m, "far", BATCH, &[2, 0, 1, 3]);
    let far = waiting(&mut m, "far", INTERACTIVE, &[2, 0, 1, 3]);
    let home = waiting(&mut m, "home", BATCH, &all);
    assert_eq!(m.waiting_in_node(1, Kind::Interactive), 1);
    assert_eq!(order(&mut m), [home, far, far_batch]);
    assert_eq!(m.counter(Counter::Steals), 2);
}

#[test]
fn a_node_that_nobody_serves_is_helped_before_there_is_nothing_at_home() {
    let mut m = held_nodes();
    let far = waiting(&mut m, "far", INTERACTIVE, &[2, 0, 1, 3]);
    m.advance(Limits::for_cpus(4).starvation_rescue_ns + 1);
    let home: Vec<Task> = (0..6)
        .map(|_| waiting(&mut m, "home", INTERACTIVE, &[0, 1, 2, 3]))
        .collect();
    let ran = order(&mut m);
    let turn = ran.iter().position(|task| *task == far).unwrap();
    assert!(turn < home.len(), "{ran:?}");
    assert_eq!(m.counter(Counter::Steals), 0);
}

#[test]
fn work_bound_to_a_busy_cpu_is_taken_by_one_that_may_run_it() {
    let mut m = Machine::with_cpus(3);
    for cpu in 0..3 {
        m.hold(cpu);
    }
    let movable = waiting(&mut m, "movable", BATCH, &[1, 0]);
    let elsewhere = waiting(&mut m, "elsewhere", BATCH, &[1, 2]);
    let pinned = waiting(&mut m, "pinned", BATCH, &[1]);
    assert_eq!(m.waiting_for(1, Kind::Batch), 3);
    assert_eq!(order(&mut m), [movable]);
    assert_eq!(m.counter(Counter::Steals), 1);
    m.unhold(2);
    assert_eq!(m.running(2), Some(elsewhere));
    m.unhold(1);
    assert_eq!(m.running(1), Some(pinned));
}

#[test]
fn what_was_taken_from_another_cpus_queue_yields_to_what_waits_here() {
    let mut m = held(3);
    let taken = waiting(&mut m, "taken", BATCH, &[1, 0]);
    m.unhold(0);
    assert_eq!(m.running(0), Some(taken));
    let node = scenes::waiting(&mut m, BATCH);
    m.advance(20 * MS);
    m.tick(0);
    assert_eq!(m.running(0), Some(node));
}

#[test]
fn without_other_work_what_ran_goes_on_with_a_new_slice() {
    let mut m = Machine::with_cpus(1);
    let hog = m.task("hog");
    m.fork(hog, 0);
    m.run_for(200 * MS);
    assert_eq!(m.running(0), Some(hog));
    assert!(m.counter(Counter::Keeps) > 5);
    assert_eq!(m.counter(Counter::Dispatches), 1);
}

#[test]
fn a_sleeper_that_waits_for_100_ms_goes_first_however_often_it_is_overtaken_and_batch_after_300() {
    for (tier, waited_ns, starved_first) in [
        (INTERACTIVE, 99 * MS, false),
        (INTERACTIVE, 101 * MS, true),
        (BATCH, 299 * MS, false),
        (BATCH, 301 * MS, true),
    ] {
        let mut m = held(2);
        let overtaken = m.task("overtaken");
        m.enter(overtaken, 0);
        m.settle_as(overtaken, tier);
        m.set_vtime(overtaken, 200 * MS as i64);
        m.interrupt(overtaken, 0);
        m.advance(waited_ns);
        let fresh = waiting_node(&mut m, tier);
        let first = if starved_first {
            [overtaken, fresh]
        } else {
            [fresh, overtaken]
        };
        assert_eq!(order(&mut m), first, "{waited_ns} as {tier}");
        if tier == INTERACTIVE {
            let rescues = m.counter(Counter::StarvationRescues);
            assert_eq!(rescues, u64::from(starved_first), "{waited_ns}");
        }
    }
}

#[test]
fn a_new_program_goes_on_while_it_has_had_less_than_those_that_wait() {
    let mut m = held(2);
    m.set_knobs(&with_knobs(|knobs| {
        knobs.cpu_bound_thresh_ns = 100_000_000;
        knobs.sojourn_thresh_ns = 2_000_000;
    }));
    for _ in 0..2 {
        scenes::waiting(&mut m, BATCH);
    }
    let program = m.task("program");
    m.fork(program, 0);
    m.unhold(0);
    assert_eq!(m.running(0), Some(program));
    m.run_for(16_000_000);
    assert_eq!(m.view(program).ran_ns, 16_000_000);
    assert!(m.counter(Counter::TickPreempts) > 0);
}
