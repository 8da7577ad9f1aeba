//! Virtual time: credit, places in the queue, clocks and what a run costs.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::{AHEAD, asleep, held, lag, order, running, waiting, with_knobs};
use pandemonium_policy::Settings;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Far from every clock, ns.
const FAR: i64 = 10_000 * MS as i64;

/// The virtual time against its queue's clock with which an interactive task of 10 wake-ups per 100 ms
/// starts on CPU 0 at once.
fn lag_of_waking(m: &mut Machine, vtime: i64) -> i64 {
    let task = asleep(m, INTERACTIVE, 0);
    m.set_vtime(task, vtime);
    m.interrupt(task, 0);
    assert_eq!(m.running(0), Some(task));
    lag(m, task)
}

#[test]
fn sleeping_buys_credit_by_how_often_a_task_wakes() {
    for (freq, credit_us) in [(1, 50), (10, 500), (30, 1500), (64, 3200)] {
        let mut m = Machine::with_cpus(1);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(task, freq, 8, MS / 10);
        m.set_vtime(task, -FAR);
        m.interrupt(task, 0);
        assert_eq!(lag(&m, task), -credit_us * US as i64, "{freq}");
    }
}

#[test]
fn the_credit_shrinks_with_what_waits_for_each_cpu() {
    let mut m = held(2);
    for waiting_per_cpu in 0..4 {
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(task, 10, 8, 250 * US);
        m.set_vtime(task, -FAR);
        m.interrupt(task, 0);
        assert_eq!(lag(&m, task), -500 * US as i64 / (waiting_per_cpu + 1));
        for _ in 0..2 {
            waiting(&mut m, BATCH);
        }
    }
}

#[test]
fn while_others_wait_for_each_cpu_the_credit_is_worth_four_of_the_usual_runs() {
    for (waiting_others, credit_us) in [(0, 3200), (1, 3200), (2, 200)] {
        let mut m = held(2);
        for _ in 0..waiting_others {
            waiting(&mut m, BATCH);
        }
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_history(task, 64, 8, 50 * US);
        m.set_vtime(task, -FAR);
        m.interrupt(task, 0);
        assert_eq!(lag(&m, task), -credit_us * US as i64, "{waiting_others}");
    }
}

#[test]
fn batch_work_keeps_little_credit() {
    let mut m = held(2);
    let task = asleep(&mut m, BATCH, 0);
    m.set_vtime(task, -FAR);
    m.interrupt(task, 0);
    assert_eq!(lag(&m, task), -10 * MS as i64);
}

#[test]
fn what_becomes_batch_work_has_had_at_most_4_ms_more_or_less_than_the_others() {
    for (others_ms, expected_us) in [(0, 4000), (12, -2500), (30, -4000)] {
        let mut m = Machine::with_cpus(2);
        running(&mut m, BATCH, 1);
        let task = asleep(&mut m, BATCH, 0);
        for tier in [BATCH, INTERACTIVE] {
            m.settle_as(task, tier);
            m.interrupt(task, 0);
            m.sleep(0);
        }
        m.advance(others_ms * MS);
        m.tick(1);
        m.interrupt(task, 0);
        assert_eq!(m.running(0), Some(task));
        m.advance(10 * MS);
        m.tick(0);
        assert_eq!(m.view(task).tier, BATCH);
        assert_eq!(lag(&m, task), expected_us * US as i64, "{others_ms}");
    }
}

#[test]
fn the_slice_lag_adds_to_the_credit_or_takes_from_it() {
    for lag_ns in [400 * US as i64, -400 * US as i64] {
        let mut m = Machine::with_cpus(1);
        m.choose(&Settings {
            slice_lag_ns: lag_ns,
            ..Default::default()
        });
        let expected = -500 * US as i64 - lag_ns;
        assert_eq!(lag_of_waking(&mut m, -FAR), expected);
    }
}

#[test]
fn a_waking_task_is_not_far_ahead_of_the_clock_either() {
    for (nr_cpus, ceiling) in [(2, 250 * MS), (7, 250 * MS), (8, 30 * MS)] {
        let mut m = Machine::with_cpus(nr_cpus);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_vtime(task, FAR);
        let before = m.view(task).vtime;
        m.interrupt(task, 0);
        let moved = before.wrapping_sub(m.view(task).vtime);
        assert_eq!(moved, FAR.cast_unsigned() - ceiling, "{nr_cpus}");
    }
}

#[test]
fn within_these_bounds_waking_leaves_virtual_time_alone() {
    for vtime in [-499 * US as i64, 0] {
        let mut m = Machine::with_cpus(1);
        assert_eq!(lag_of_waking(&mut m, vtime), vtime);
    }
}

/// An interactive task that wakes and begins on this CPU, so that its virtual time is the front of the queue.
fn begin_at(m: &mut Machine, ahead_of_clock: i64, cpu: u32) -> Task {
    let task = asleep(m, INTERACTIVE, cpu);
    m.set_vtime(task, ahead_of_clock);
    m.interrupt(task, cpu);
    assert_eq!(m.running(cpu), Some(task));
    task
}

#[test]
fn the_place_in_the_queue_counts_the_time_already_awake() {
    for (tier, awake_ms, penalty_ms) in [
        (INTERACTIVE, 2, 2),
        (INTERACTIVE, 30, 30),
        (INTERACTIVE, 31, 30),
        (LAT_CRITICAL, 2, 2),
        (LAT_CRITICAL, 31, 20),
        (BATCH, 31, 0),
    ] {
        let mut m = Machine::with_cpus(2);
        m.set_knobs(&with_knobs(|knobs| knobs.cpu_bound_thresh_ns = 100 * MS));
        let task = running(&mut m, tier, 0);
        begin_at(&mut m, 200 * AHEAD, 1);
        m.hold(1);
        m.advance(awake_ms * MS);
        m.hold(0);
        let view = m.view(task);
        assert!(view.waits);
        assert_eq!(
            view.deadline - view.vtime,
            penalty_ms * MS,
            "{tier} {awake_ms}"
        );
    }
}

#[test]
fn what_has_used_up_its_slice_is_behind_the_front_by_half_a_millisecond_of_its_own_time() {
    for (weight, is_rare, behind_us) in [(100, false, 333), (50, false, 666), (100, true, 333)] {
        let mut m = Machine::with_cpus(2);
        let task = running(&mut m, INTERACTIVE, 0);
        if is_rare {
            m.sleep(0);
            m.set_history(task, 10, 2, 100 * US);
            m.advance(10 * MS);
            m.interrupt(task, 0);
        }
        m.set_weight(task, weight);
        let front = begin_at(&mut m, -AHEAD / 3, 1);
        let front_vtime = m.view(front).vtime;
        m.sleep(1);
        m.hold(1);
        m.advance(2 * MS);
        m.hold(0);
        let behind = m.view(task).deadline.wrapping_sub(front_vtime);
        assert_eq!(behind / US, behind_us, "{weight}");
    }
}

#[test]
fn what_goes_on_is_not_the_front() {
    let mut m = Machine::with_cpus(1);
    let task = running(&mut m, INTERACTIVE, 0);
    let began = m.view(task).vtime;
    for _ in 0..2 {
        m.advance(MS);
        m.hold(0);
        let behind = m.view(task).deadline.wrapping_sub(began);
        assert_eq!(behind / US, 333);
        m.unhold(0);
        assert_eq!(m.running(0), Some(task));
    }
}

#[test]
fn a_task_that_goes_first_because_it_waited_is_not_the_front() {
    for (waited_ns, behind_us) in [(100 * MS, 200_333), (100 * MS + 1, 333)] {
        let mut m = held(1);
        let task = asleep(&mut m, INTERACTIVE, 0);
        let clock = m.view(task).clock;
        m.set_vtime(task, 200 * AHEAD);
        m.interrupt(task, 0);
        m.advance(waited_ns);
        m.unhold(0);
        m.advance(2 * MS);
        m.hold(0);
        let behind = m.view(task).deadline.wrapping_sub(clock);
        assert_eq!(behind / US, behind_us, "{waited_ns}");
    }
}

#[test]
fn a_task_that_ran_on_sinks_behind_one_that_just_woke() {
    for (vtime_us, fresh_first) in [(300, true), (400, false)] {
        let mut m = Machine::with_cpus(1);
        let ran_on = running(&mut m, INTERACTIVE, 0);
        m.advance(2 * MS);
        m.hold(0);
        let fresh = asleep(&mut m, INTERACTIVE, 0);
        m.set_vtime(fresh, vtime_us * US as i64);
        m.interrupt(fresh, 0);
        let expected = if fresh_first {
            [fresh, ran_on]
        } else {
            [ran_on, fresh]
        };
        assert_eq!(order(&mut m), expected);
    }
}

#[test]
fn tiers_and_weights_divide_what_a_run_costs() {
    for (tier, weight, cost_ns) in [
        (BATCH, 100, 3 * MS),
        (INTERACTIVE, 100, 2 * MS),
        (LAT_CRITICAL, 100, 1_500 * US),
        (BATCH, 200, 1_500 * US),
        (LAT_CRITICAL, 50, 3 * MS),
    ] {
        let mut m = Machine::with_cpus(1);
        m.set_knobs(&with_knobs(|knobs| knobs.cpu_bound_thresh_ns = 100 * MS));
        let task = asleep(&mut m, tier, 0);
        m.set_weight(task, weight);
        m.interrupt(task, 0);
        // With nobody waiting, batch work would pay for its lead as well.
        m.set_vtime(task, 0);
        let before = m.view(task).vtime;
        m.advance(3 * MS);
        m.sleep(0);
        assert_eq!(
            m.view(task).vtime.wrapping_sub(before),
            cost_ns,
            "{tier} {weight}"
        );
    }
}

/// The clock of the queue that a task has just started from on CPU 0, and its move since before.
fn clock_after_start(m: &mut Machine, tier: u32, vtime: i64) -> u64 {
    let task = asleep(m, tier, 0);
    m.set_vtime(task, vtime);
    m.interrupt(task, 0);
    m.unhold(0);
    assert_eq!(m.running(0), Some(task));
    let clock = m.view(task).clock;
    m.exit(0);
    m.hold(0);
    clock
}

#[test]
fn a_clock_is_that_of_the_latest_start_and_never_goes_back() {
    let mut m = held(1);
    let clocks = [5, 3, -3, 7].map(|vtime| clock_after_start(&mut m, INTERACTIVE, vtime * AHEAD));
    assert_eq!(clocks, [5 * MS, 8 * MS, 8 * MS, 15 * MS]);
}

#[test]
fn a_task_that_goes_first_because_it_waited_does_not_move_the_clock() {
    for (waited_ns, clock) in [(100 * MS, 200 * MS), (100 * MS + 1, 0)] {
        let mut m = held(1);
        let task = asleep(&mut m, INTERACTIVE, 0);
        m.set_vtime(task, 200 * AHEAD);
        m.interrupt(task, 0);
        m.advance(waited_ns);
        m.unhold(0);
        assert_eq!(m.view(task).clock, clock, "{waited_ns}");
        m.sleep(0);
        m.interrupt(task, 0);
        assert_eq!(m.view(task).clock, 200 * MS, "the next start does");
    }
}

/// The clock after 6 ms of a program that was just forked, or of settled batch work, before others that wait.
fn clock_after_run(others: u64, is_forked: bool) -> u64 {
    let mut m = held(1);
    for _ in 0..others {
        waiting(&mut m, BATCH);
    }
    let task = if is_forked {
        let task = m.task("forked");
        m.fork(task, 0);
        task
    } else {
        let task = asleep(&mut m, BATCH, 0);
        m.set_vtime(task, -10 * AHEAD);
        m.interrupt(task, 0);
        task
    };
    m.unhold(0);
    assert_eq!(m.running(0), Some(task));
    m.advance(6 * MS);
    m.exit(0);
    m.view(task).clock
}

#[test]
fn the_clock_of_a_batch_queue_moves_by_what_new_programs_get_shared_by_all_of_its_tasks() {
    // At one and a half times the weight, 6 ms cost 4, and count twice while others wait.
    for (others, clock) in [(0, 4 * MS), (1, 4 * MS), (3, 2 * MS)] {
        assert_eq!(clock_after_run(others, true), clock, "{others}");
    }
}

#[test]
fn whoever_had_less_than_those_that_wait_does_not_move_the_clock_away_from_them() {
    // What starts next moves it to its own virtual time, 1 ms.
    for (others, clock) in [(0, 6 * MS), (1, MS), (3, MS)] {
        assert_eq!(clock_after_run(others, false), clock, "{others}");
    }
}

#[test]
fn batch_work_that_nobody_else_wants_the_cpus_of_owes_nothing() {
    for hogs in [1, 3] {
        let mut m = Machine::with_cpus(4);
        let hogs: Vec<Task> = (0..hogs).map(|cpu| running(&mut m, BATCH, cpu)).collect();
        m.run_for(40 * MS);
        for hog in hogs {
            assert!(lag(&m, hog).abs() < US as i64, "but for rounding");
        }
    }
}

#[test]
fn the_lag_scale_counts_from_the_next_wake_up_on() {
    let mut m = Machine::with_cpus(1);
    assert_eq!(lag_of_waking(&mut m, -FAR), -500 * US as i64);
    m.sleep(0);
    m.set_knobs(&with_knobs(|knobs| knobs.lag_scale = 8));
    assert_eq!(lag_of_waking(&mut m, -FAR), -1000 * US as i64);
}

#[test]
fn what_comes_back_from_a_higher_class_is_not_launched_anew() {
    let mut m = Machine::with_cpus(2);
    let task = asleep(&mut m, BATCH, 0);
    m.set_vtime(task, 3 * MS as i64);
    let before = m.view(task);
    m.raise(task, 0);
    let after = m.view(task);
    assert_eq!((after.vtime, after.queue), (before.vtime, before.queue));
}
