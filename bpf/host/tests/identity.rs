//! What a name, an executable or a decision makes of a task: compositors, programs that are known, pins.
#![allow(clippy::unwrap_used, missing_docs)]

use std::ffi::CStr;

use pandemonium_bpf_host::machine::{BATCH, Counter, INTERACTIVE, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::{new_task, tier, tiers};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

const SCHED_IDLE: u32 = 5;
const EXT4: u64 = 0xef53;
const FUSE: u64 = 0x6573_5546;
/// The most that a compositor may use at once.
const BUDGET_NS: u64 = 25 * MS;

/// A task that behaves like batch, with an executable of its own.
fn with_executable(
    m: &mut Machine,
    comm: &str,
    file: &'static CStr,
    uid: u32,
    mode: u32,
    magic: u64,
) -> Task {
    let task = m.task(comm);
    m.set_executable(task, file, uid, mode, magic);
    m.enter(task, 0);
    m.set_history(task, 1, 1, 50 * MS);
    task
}

fn compositor(m: &mut Machine) -> Task {
    m.add_compositor("kwin_wayland");
    with_executable(m, "kwin_wayland", c"kwin_wayland", 0, 0o755, EXT4)
}

#[test]
fn a_compositor_is_latency_critical_by_its_name_and_by_an_executable_to_trust() {
    const KWIN: &CStr = c"kwin_wayland";
    for (comm, file, uid, mode, magic, expected) in [
        ("kwin_wayland", KWIN, 0, 0o100_755, EXT4, LAT_CRITICAL),
        ("kwin", KWIN, 0, 0o100_755, EXT4, BATCH),
        ("kwin_wayland", c"sh", 0, 0o100_755, EXT4, BATCH),
        ("kwin_wayland", KWIN, 1000, 0o100_755, EXT4, BATCH),
        ("kwin_wayland", KWIN, 0, 0o100_775, EXT4, BATCH),
        ("kwin_wayland", KWIN, 0, 0o100_757, EXT4, BATCH),
        ("kwin_wayland", KWIN, 0, 0o100_755, FUSE, BATCH),
    ] {
        let mut m = Machine::with_cpus(1);
        m.add_compositor("kwin_wayland");
        let task = with_executable(&mut m, comm, file, uid, mode, magic);
        m.interrupt(task, 0);
        assert_eq!(
            tier(&m, task),
            expected,
            "{comm} {file:?} {uid} {mode:o} {magic:x}"
        );
    }
}

#[test]
fn a_compositor_chosen_while_it_runs_is_one_from_its_next_sleep_on() {
    let mut m = Machine::with_cpus(1);
    let task = with_executable(&mut m, "wm", c"wm", 0, 0o755, EXT4);
    assert_eq!(tiers(&mut m, task, 2, MS, 10 * MS), [BATCH; 2]);
    m.add_compositor("wm");
    m.interrupt(task, 0);
    assert_eq!(tier(&m, task), BATCH);
    m.sleep(0);
    assert_eq!(tier(&m, task), LAT_CRITICAL);
}

#[test]
fn a_compositor_runs_on_as_one_until_its_budget_is_spent() {
    let mut m = Machine::with_cpus(1);
    let task = compositor(&mut m);
    m.interrupt(task, 0);
    m.advance(BUDGET_NS - 1);
    m.tick(0);
    assert_eq!(tier(&m, task), LAT_CRITICAL);
    assert_eq!(m.counter(Counter::BoostsSpent), 0);
    m.advance(1);
    m.tick(0);
    assert_eq!(tier(&m, task), BATCH);
    assert_eq!(m.counter(Counter::BoostsSpent), 1);
}

#[test]
fn a_compositor_that_is_interrupted_just_when_its_budget_ends_has_spent_it() {
    let mut m = Machine::with_cpus(1);
    let task = compositor(&mut m);
    m.interrupt(task, 0);
    m.advance(BUDGET_NS);
    m.hold(0);
    assert_eq!(tier(&m, task), BATCH);
    assert_eq!(m.counter(Counter::BoostsSpent), 1);
}

#[test]
fn half_of_the_time_is_earned_again() {
    for (slept_ns, expected) in [(1, BATCH), (2, LAT_CRITICAL)] {
        let mut m = Machine::with_cpus(1);
        let task = compositor(&mut m);
        tiers(&mut m, task, 1, BUDGET_NS, slept_ns);
        assert_eq!(tier(&m, task), BATCH, "it behaves like it");
        m.interrupt(task, 0);
        assert_eq!(tier(&m, task), expected, "{slept_ns}");
        // Its first wake-up was one as well.
        assert_eq!(m.counter(Counter::Boosts), 1 + slept_ns / 2);
    }
}

#[test]
fn a_compositor_that_uses_less_than_half_a_cpu_always_is_one_and_one_that_uses_more_is_not() {
    for (run_ns, always) in [(7 * MS, true), (10 * MS, false)] {
        let mut m = Machine::with_cpus(1);
        let task = compositor(&mut m);
        let seen = tiers(&mut m, task, 100, run_ns, 16 * MS - run_ns);
        assert_eq!(seen.iter().all(|tier| *tier == LAT_CRITICAL), always);
    }
}

#[test]
fn a_launch_is_no_more_urgent_than_any_other_until_it_sleeps() {
    let mut m = Machine::with_cpus(1);
    m.predict("known", LAT_CRITICAL, 64, 8, 100 * US);
    let task = m.task("known");
    m.fork(task, 0);
    assert_eq!(m.view(task).tier, INTERACTIVE);
    m.advance(100 * US);
    m.sleep(0);
    m.advance(MS);
    m.interrupt(task, 0);
    assert_eq!(m.view(task).tier, LAT_CRITICAL);
}

#[test]
fn a_new_task_starts_from_what_is_known_of_its_name() {
    for known in [BATCH, INTERACTIVE, LAT_CRITICAL] {
        let mut m = Machine::with_cpus(1);
        m.predict("known", known, 7, 5, 3 * MS);
        let task = m.task("known");
        m.fork(task, 0);
        let view = m.view(task);
        assert_eq!(
            (view.tier, view.age, view.wakeup_freq, view.csw_rate),
            (known.min(INTERACTIVE), 2, 7, 5)
        );
        assert_eq!(view.avg_runtime_ns, 3 * MS);
        assert_eq!(m.counter(Counter::WarmStarts), 1);
    }
}

#[test]
fn what_is_known_of_other_names_does_not_matter() {
    let mut m = Machine::with_cpus(1);
    m.predict("known", BATCH, 1, 1, 50 * MS);
    let task = m.task("know");
    m.fork(task, 0);
    assert_eq!((tier(&m, task), m.view(task).age), (INTERACTIVE, 0));
    assert_eq!(m.counter(Counter::WarmStarts), 0);
}

#[test]
fn the_idle_class_is_batch_whatever_is_known_of_its_name() {
    let mut m = Machine::with_cpus(1);
    m.predict("known", LAT_CRITICAL, 20, 20, MS / 10);
    let task = m.task("known");
    m.set_policy(task, SCHED_IDLE);
    m.fork(task, 0);
    assert_eq!(tier(&m, task), BATCH);
}

#[test]
fn a_program_is_known_by_its_name_when_it_first_loses_the_cpu() {
    let mut m = Machine::with_cpus(1);
    m.predict("cc1", BATCH, 1, 1, 50 * MS);
    let task = m.task("make");
    m.fork(task, 0);
    m.rename(task, "cc1");
    m.advance(MS);
    m.hold(0);
    assert_eq!(tier(&m, task), BATCH);
    assert_eq!(m.counter(Counter::WarmStarts), 1);
}

#[test]
fn a_name_that_a_task_takes_counts_until_it_has_settled() {
    // It is looked at when it sleeps after its 8th and its 16th wake-up, as old as 7 and 15.
    for (wakes, expected) in [(7, LAT_CRITICAL), (15, BATCH)] {
        let mut m = Machine::with_cpus(1);
        m.predict("known", LAT_CRITICAL, 60, 60, MS / 10);
        let task = new_task(&mut m, "unknown");
        tiers(&mut m, task, wakes, MS, 100 * MS);
        assert_eq!(tier(&m, task), BATCH);
        m.rename(task, "known");
        tiers(&mut m, task, 1, MS, 100 * MS);
        assert_eq!(tier(&m, task), expected, "{wakes}");
        assert_eq!(
            m.counter(Counter::WarmStarts),
            u64::from(expected == LAT_CRITICAL)
        );
    }
}

#[test]
fn what_is_known_counts_once_for_each_name() {
    let mut m = Machine::with_cpus(1);
    m.predict("a-long-name", BATCH, 1, 1, 50 * MS);
    let task = new_task(&mut m, "a-long-name");
    tiers(&mut m, task, 4, MS / 10, 5 * MS);
    assert_eq!(m.counter(Counter::WarmStarts), 1);
}

#[test]
fn what_a_task_does_takes_over_from_what_was_known() {
    let mut m = Machine::with_cpus(1);
    m.predict("known", LAT_CRITICAL, 20, 20, MS / 10);
    let task = new_task(&mut m, "known");
    assert_eq!(tiers(&mut m, task, 4, 50 * MS, MS)[3], BATCH);

    drop(m);
    let mut m = Machine::with_cpus(1);
    m.predict("known", BATCH, 1, 1, 2 * MS);
    let task = new_task(&mut m, "known");
    assert_eq!(tiers(&mut m, task, 5, MS / 10, 5 * MS)[4], LAT_CRITICAL);
}

#[test]
fn a_pinned_task_is_of_its_tier_from_its_start_on_whatever_it_does() {
    for (pinned, run_ns, sleep_ns) in [(BATCH, MS / 10, 5 * MS), (INTERACTIVE, MS, 200 * MS)] {
        let mut m = Machine::with_cpus(1);
        m.pin("decided", pinned, true);
        let task = new_task(&mut m, "decided");
        assert_eq!(tier(&m, task), pinned);
        assert_eq!(tiers(&mut m, task, 100, run_ns, sleep_ns), [pinned; 100]);
        drop(m);

        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "decided");
        let seen = tiers(&mut m, task, 100, run_ns, sleep_ns);
        assert_ne!(seen[99], pinned, "it does behave otherwise");
    }
}

#[test]
fn a_pin_reaches_a_running_task_at_its_next_look_and_is_taken_back_there() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "decided");
    let free = tiers(&mut m, task, 100, MS / 10, 5 * MS);
    assert_eq!(free[99], LAT_CRITICAL);
    m.pin("decided", BATCH, true);
    // It is looked at when it sleeps after its 128th and its 192nd wake-up.
    let pinned = tiers(&mut m, task, 60, MS / 10, 5 * MS);
    assert_eq!(
        (pinned[27], pinned[28], pinned[59]),
        (LAT_CRITICAL, BATCH, BATCH)
    );
    m.pin("decided", BATCH, false);
    let freed = tiers(&mut m, task, 40, MS / 10, 5 * MS);
    assert_eq!((freed[31], freed[32]), (BATCH, LAT_CRITICAL));
}

#[test]
fn a_task_pinned_as_interactive_that_runs_on_is_batch_until_it_sleeps() {
    let mut m = Machine::with_cpus(1);
    m.pin("decided", INTERACTIVE, true);
    let task = new_task(&mut m, "decided");
    m.interrupt(task, 0);
    m.advance(100 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), BATCH);
    m.sleep(0);
    m.advance(MS);
    m.interrupt(task, 0);
    assert_eq!(tier(&m, task), INTERACTIVE);
}

#[test]
fn a_task_pinned_as_latency_critical_has_the_budget_of_a_compositor() {
    for (run_ns, always) in [(7 * MS, true), (10 * MS, false)] {
        let mut m = Machine::with_cpus(1);
        m.pin("decided", LAT_CRITICAL, true);
        let task = new_task(&mut m, "decided");
        let seen = tiers(&mut m, task, 100, run_ns, 16 * MS - run_ns);
        assert_eq!(seen[1..].iter().all(|tier| *tier == LAT_CRITICAL), always);
    }
    let mut m = Machine::with_cpus(1);
    m.pin("decided", LAT_CRITICAL, true);
    let task = new_task(&mut m, "decided");
    tiers(&mut m, task, 3, MS, MS);
    m.interrupt(task, 0);
    m.advance(100 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), BATCH, "a hog");
}

#[test]
fn a_pin_comes_before_the_names_of_compositors() {
    let mut m = Machine::with_cpus(1);
    m.pin("kwin_wayland", BATCH, true);
    let task = compositor(&mut m);
    assert_eq!(tiers(&mut m, task, 20, MS, 10 * MS), [BATCH; 20]);
}

#[test]
fn the_idle_class_is_batch_whatever_was_decided() {
    let mut m = Machine::with_cpus(1);
    m.pin("decided", INTERACTIVE, true);
    let task = m.task("decided");
    m.set_policy(task, SCHED_IDLE);
    m.fork(task, 0);
    m.advance(MS);
    m.sleep(0);
    assert_eq!(tiers(&mut m, task, 20, MS, 10 * MS), [BATCH; 20]);
}
