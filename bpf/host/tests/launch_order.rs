//! Who goes on first where a program is forked or interrupted: the program, or what waits for a CPU.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{INTERACTIVE, Kind, Machine, Task};
use pandemonium_bpf_host::scenes::{
    asleep, busy, displaced, preempts_after, runner, running, waiting, waiting_for, with_knobs,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SCHED_IDLE: u32 = 5;

/// A program that has run on CPU 0 since it was forked there; a higher class holds CPU 1.
fn launched_alone(ran_ns: u64) -> (Machine, Task) {
    let mut m = Machine::with_cpus(2);
    m.hold(1);
    let program = m.task("program");
    m.fork(program, 0);
    m.advance(ran_ns);
    (m, program)
}

/// It waits in the queue of the node as interactive work, after CPU 1 was taken from it, and has slept often or once.
fn displaced_after(m: &mut Machine, is_known: bool) -> Task {
    m.unhold(1);
    if is_known {
        return displaced(m);
    }
    m.predict("other", INTERACTIVE, 10, 2, 100 * US);
    let other = m.task("other");
    m.enter(other, 1);
    m.interrupt(other, 1);
    m.hold(1);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 1);
    other
}

#[test]
fn a_program_that_is_launched_goes_on_before_unknown_work_if_what_interrupted_it_was_short() {
    for (ran_ns, took_ns, is_known, goes_on) in [
        (MS, 100 * US, false, true),
        (6 * MS, 100 * US, false, true),
        (MS, 200 * US, false, false),
        (MS, 100 * US, true, false),
    ] {
        let (mut m, program) = launched_alone(ran_ns);
        let other = displaced_after(&mut m, is_known);
        let short = asleep(&mut m, INTERACTIVE, 0);
        m.interrupt(short, 0);
        assert_eq!(m.running(0), Some(short));
        m.advance(took_ns);
        m.sleep(0);
        let next = if goes_on { program } else { other };
        assert_eq!(m.running(0), Some(next), "{ran_ns} {took_ns} {is_known}");
    }
}

#[test]
fn it_does_not_matter_how_little_of_its_slice_was_left_to_a_program_that_is_launched() {
    let mut m = Machine::with_cpus(2);
    m.set_knobs(&with_knobs(|knobs| knobs.batch_slice_ns = 3 * MS));
    m.hold(1);
    let program = m.task("program");
    m.fork(program, 0);
    m.advance(2500 * US);
    displaced_after(&mut m, false);
    let short = asleep(&mut m, INTERACTIVE, 0);
    m.interrupt(short, 0);
    assert_eq!(m.running(0), Some(short));
    m.advance(50 * US);
    m.sleep(0);
    assert_eq!(m.running(0), Some(program));
}

#[test]
fn a_program_that_is_launched_goes_on_after_whom_it_woke_however_long_that_runs() {
    let (mut m, program) = launched_alone(MS);
    let other = displaced_after(&mut m, false);
    let parent = asleep(&mut m, INTERACTIVE, 0);
    m.wake(parent, 0);
    assert_eq!(m.running(0), Some(parent));
    m.advance(500 * US);
    m.sleep(0);
    assert_eq!(m.running(0), Some(program));
    m.sleep(0);
    assert_eq!(m.running(0), Some(other));
}

/// It has slept once, and waits in the queue of the node as interactive work; nobody is to be stopped for it.
fn unknown_that_waits(m: &mut Machine) -> Task {
    let other = m.task("other");
    m.enter(other, 0);
    m.interrupt(other, 0);
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 1);
    other
}

#[test]
fn a_program_that_finds_nobody_to_stop_is_next_where_it_was_forked() {
    for comes_free in [0, 1] {
        let mut m = busy(2, INTERACTIVE);
        let program = m.task("program");
        m.fork(program, 1);
        let other = unknown_that_waits(&mut m);
        m.sleep(comes_free);
        let next = if comes_free == 1 { program } else { other };
        assert_eq!(m.running(comes_free), Some(next), "{comes_free}");
    }
}

#[test]
fn a_cpu_is_kept_for_a_round_for_programs_whose_first_went_elsewhere() {
    for (later_ns, is_kept) in [(7 * MS, true), (9 * MS, false)] {
        let mut m = busy(2, INTERACTIVE);
        let first = m.task("first");
        m.fork(first, 1);
        m.sleep(0);
        assert_eq!(m.running(0), Some(first));
        m.exit(0);
        m.sleep(1);
        m.advance(later_ns);
        runner(&mut m, INTERACTIVE, 0);
        runner(&mut m, INTERACTIVE, 1);
        let second = m.task("second");
        m.fork(second, 0);
        let other = unknown_that_waits(&mut m);
        m.sleep(1);
        let next = if is_kept { second } else { other };
        assert_eq!(m.running(1), Some(next), "{later_ns}");
    }
}

#[test]
fn known_and_decided_work_goes_before_a_program_that_is_launched() {
    const PF_WQ_WORKER: u32 = 0x20;
    for urgent in [
        "known",
        "pinned",
        "worker",
        "bound",
        "none",
        "none that is bound",
    ] {
        let mut m = busy(2, INTERACTIVE);
        let program = m.task("program");
        m.fork(program, 1);
        let other = if urgent == "known" {
            waiting(&mut m, INTERACTIVE)
        } else {
            if urgent == "pinned" {
                m.pin("other", INTERACTIVE, true);
            }
            let other = m.task("other");
            m.enter(other, 1);
            if urgent == "worker" {
                m.set_flags(other, PF_WQ_WORKER);
            }
            if urgent == "none that is bound" {
                m.bind(other, &[1]);
            }
            m.interrupt(other, 1);
            other
        };
        let bound = (urgent == "bound").then(|| waiting_for(&mut m, INTERACTIVE, 1));
        m.sleep(1);
        let next = match urgent {
            "none" | "none that is bound" => program,
            _ => bound.unwrap_or(other),
        };
        assert_eq!(m.running(1), Some(next), "{urgent}");
    }
}

#[test]
fn a_program_that_is_to_run_only_when_nobody_else_wants_to_is_no_launch() {
    for policy in [0, SCHED_IDLE] {
        let mut m = busy(2, INTERACTIVE);
        let program = m.task("program");
        m.set_policy(program, policy);
        m.fork(program, 1);
        let other = unknown_that_waits(&mut m);
        m.sleep(1);
        let next = if policy == 0 { program } else { other };
        assert_eq!(m.running(1), Some(next), "{policy}");
    }
}

#[test]
fn of_two_programs_that_are_forked_one_goes_before_unknown_work() {
    let mut m = Machine::with_cpus(2);
    m.hold(1);
    running(&mut m, INTERACTIVE, 0);
    let other = displaced_after(&mut m, false);
    let programs = [m.task("first"), m.task("second")];
    for program in programs {
        m.fork(program, 0);
    }
    m.sleep(0);
    assert!(programs.map(Some).contains(&m.running(0)));
    m.exit(0);
    assert_eq!(m.running(0), Some(other));
}

#[test]
fn the_tick_does_not_end_the_turn_of_a_launch_for_unknown_work() {
    for (ran_ns, is_known, ends) in [(3 * MS, false, 0), (5 * MS, false, 1), (3 * MS, true, 1)] {
        let (mut m, _) = launched_alone(ran_ns);
        m.tick(0);
        displaced_after(&mut m, is_known);
        assert_eq!(preempts_after(&mut m, 0), ends, "{ran_ns} {is_known}");
    }
}

#[test]
fn a_launch_that_makes_room_for_known_work_at_the_tick_goes_on_before_unknown_work() {
    let (mut m, program) = launched_alone(3 * MS);
    m.tick(0);
    m.unhold(1);
    let known = running(&mut m, INTERACTIVE, 1);
    m.hold(1);
    assert_eq!(preempts_after(&mut m, 0), 1);
    assert_eq!(m.running(0), Some(known));
    unknown_that_waits(&mut m);
    m.advance(500 * US);
    m.sleep(0);
    assert_eq!(m.running(0), Some(program));
}
