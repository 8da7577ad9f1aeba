//! From behaviour to tier: what wake-ups, sleeps and running on make of a task, and what its name does.
#![allow(clippy::unwrap_used, missing_docs)]

use std::ffi::CStr;

use pandemonium_bpf_host::machine::{BATCH, Counter, INTERACTIVE, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::with_knobs;
use pandemonium_policy::Knobs;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

const WQ_WORKER: u32 = 0x20;
const SCHED_IDLE: u32 = 5;
const EXT4: u64 = 0xef53;
const FUSE: u64 = 0x6573_5546;
/// The most that a compositor may use at once.
const BUDGET_NS: u64 = 25 * MS;

fn new_task(m: &mut Machine, comm: &str) -> Task {
    let task = m.task(comm);
    m.enter(task, 0);
    task
}

fn settled(m: &mut Machine, tier: u32) -> Task {
    let task = new_task(m, "settled");
    m.settle_as(task, tier);
    task
}

fn tier(m: &Machine, task: Task) -> u32 {
    m.view(task).tier
}

/// The task wakes, runs and sleeps, so many times; the tier of each wake-up.
fn tiers(m: &mut Machine, task: Task, times: usize, run_ns: u64, sleep_ns: u64) -> Vec<u32> {
    let mut seen = Vec::new();
    for _ in 0..times {
        m.interrupt(task, 0);
        seen.push(tier(m, task));
        m.advance(run_ns);
        m.sleep(0);
        m.advance(sleep_ns);
    }
    seen
}

#[test]
fn every_wake_up_after_the_first_counts_in_the_averages() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    let seen: Vec<_> = (0..4)
        .map(|_| {
            tiers(&mut m, task, 1, MS / 10, 10 * MS - MS / 10);
            let view = m.view(task);
            (view.age, view.wakeup_freq, view.csw_rate)
        })
        .collect();
    // Every 10 ms, with one switch each; from 20 and 0, which new tasks begin with.
    assert_eq!(seen, [(0, 20, 0), (1, 15, 5), (2, 12, 7), (3, 11, 8)]);
}

#[test]
fn how_often_a_task_wakes_and_how_long_it_runs_is_its_tier() {
    for (period_ns, run_ns, expected) in [
        (10 * MS, MS / 10, LAT_CRITICAL),
        (20 * MS, MS / 10, INTERACTIVE),
        (50 * MS, MS / 10, BATCH),
        (10 * MS, 8 * MS, INTERACTIVE),
        (20 * MS, 8 * MS, BATCH),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "task");
        let seen = tiers(&mut m, task, 60, run_ns, period_ns - run_ns);
        assert_eq!(seen.last(), Some(&expected), "{period_ns} {run_ns}");
    }
}

#[test]
fn runs_of_changing_length_count_as_longer_than_their_average() {
    let scores = [[2_000 * US; 2], [1_600 * US, 2_400 * US]].map(|runs| {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "task");
        for run_ns in runs.repeat(30) {
            tiers(&mut m, task, 1, run_ns, 20 * MS - run_ns);
        }
        m.view(task).lat_cri
    });
    assert_eq!(scores, [25, 12]);
}

#[test]
fn a_batch_task_that_begins_to_wake_often_becomes_interactive_and_then_latency_critical() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, BATCH);
    let mut seen = tiers(&mut m, task, 60, MS / 10, 5 * MS);
    seen.dedup();
    assert_eq!(seen, [BATCH, INTERACTIVE, LAT_CRITICAL]);
}

#[test]
fn a_latency_critical_task_that_begins_to_wake_rarely_ends_as_batch() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, LAT_CRITICAL);
    let mut seen = tiers(&mut m, task, 60, MS / 10, 100 * MS);
    seen.dedup();
    assert_eq!(seen, [LAT_CRITICAL, INTERACTIVE, BATCH]);
}

#[test]
fn the_wake_up_itself_moves_the_tier() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    m.set_history(task, 4, 2, 100 * US);
    assert_eq!(tiers(&mut m, task, 1, MS / 10, 1_000 * MS), [INTERACTIVE]);
    m.interrupt(task, 0);
    assert_eq!(tier(&m, task), BATCH);
}

#[test]
fn the_sleep_itself_moves_the_tier() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    m.set_history(task, 4, 2, 2_090 * US);
    m.interrupt(task, 0);
    m.advance(2_400 * US);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.sleep(0);
    assert_eq!(tier(&m, task), BATCH);
}

#[test]
fn how_long_a_task_waits_for_a_cpu_does_not_matter() {
    for wait_ns in [0, 20 * MS] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "task");
        for _ in 0..20 {
            m.hold(0);
            m.interrupt(task, 0);
            m.advance(wait_ns);
            m.unhold(0);
            assert_eq!(m.running(0), Some(task));
            m.advance(MS);
            m.sleep(0);
            m.advance(MS);
        }
        let view = m.view(task);
        assert!((45..=50).contains(&view.wakeup_freq), "{wait_ns}: {view:?}");
        assert_eq!(view.tier, LAT_CRITICAL, "{wait_ns}: {view:?}");
    }
}

#[test]
fn switches_that_a_task_did_not_want_count_as_well() {
    let rates = [0, 3].map(|losses| {
        let mut m = Machine::with_cpus(1);
        let task = settled(&mut m, INTERACTIVE);
        m.interrupt(task, 0);
        for _ in 0..losses {
            m.hold(0);
            m.unhold(0);
        }
        m.sleep(0);
        m.advance(10 * MS);
        m.interrupt(task, 0);
        m.view(task).csw_rate
    });
    // From 2 an eighth of the way to 10 and to 40.
    assert_eq!(rates, [3, 6]);
}

#[test]
fn a_new_task_is_interactive_until_its_third_wake_up() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    assert_eq!(tier(&m, task), INTERACTIVE);
    let seen = tiers(&mut m, task, 4, MS, 100 * MS);
    assert_eq!(seen, [INTERACTIVE, INTERACTIVE, BATCH, BATCH]);
}

#[test]
fn a_new_task_is_taken_for_one_that_runs_for_100_us_and_may_run_as_batch_work_until_it_sleeps() {
    let mut m = Machine::with_cpus(1);
    let task = m.task("new");
    m.fork(task, 0);
    let view = m.view(task);
    assert_eq!((view.avg_runtime_ns, view.slice_ns), (100 * US, 20 * MS));
    m.sleep(0);
    m.interrupt(task, 0);
    assert!(m.view(task).slice_ns < MS);
}

#[test]
fn running_on_beyond_the_threshold_makes_batch_at_the_tick() {
    for thresh_ns in [MS / 2, 2_500 * US, 10 * MS] {
        for kind in [INTERACTIVE, LAT_CRITICAL] {
            let mut m = Machine::with_cpus(1);
            m.set_knobs(&with_knobs(|knobs| knobs.cpu_bound_thresh_ns = thresh_ns));
            let task = settled(&mut m, kind);
            m.interrupt(task, 0);
            m.advance(thresh_ns);
            m.tick(0);
            assert_eq!((tier(&m, task), m.tier_on(0)), (kind, kind), "{thresh_ns}");
            m.advance(1);
            m.tick(0);
            let seen = (tier(&m, task), m.tier_on(0));
            assert_eq!(seen, (BATCH, BATCH), "{thresh_ns}");
        }
    }
}

#[test]
fn twice_what_a_task_usually_needs_up_to_8_ms_does_not_make_it_batch() {
    for (usual_ns, enough_ns) in [
        (MS, 2_500 * US),
        (2 * MS, 4 * MS),
        (4 * MS, 8 * MS),
        (7 * MS, 8 * MS),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "frames");
        m.set_history(task, 12, 12, usual_ns);
        m.interrupt(task, 0);
        m.advance(enough_ns);
        m.tick(0);
        assert_ne!(tier(&m, task), BATCH, "{usual_ns}");
        m.advance(1);
        m.tick(0);
        assert_eq!(tier(&m, task), BATCH, "{usual_ns}");
    }
}

#[test]
fn runs_add_up_until_the_task_sleeps_and_make_batch_when_it_loses_the_cpu() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    m.interrupt(task, 0);
    for (run_ns, expected) in [
        (MS, INTERACTIVE),
        (1_500 * US, INTERACTIVE),
        (1, BATCH),
        (1, BATCH),
    ] {
        m.advance(run_ns);
        m.hold(0);
        assert_eq!(tier(&m, task), expected, "{run_ns}");
        m.unhold(0);
    }
}

#[test]
fn runs_add_up_at_the_tick_as_well() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    m.interrupt(task, 0);
    m.advance(2 * MS);
    m.hold(0);
    m.unhold(0);
    m.advance(500 * US);
    m.tick(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.advance(1);
    m.tick(0);
    assert_eq!(tier(&m, task), BATCH);
}

#[test]
fn runs_between_sleeps_do_not_add_up() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    tiers(&mut m, task, 10, 2 * MS, 10 * MS);
    m.interrupt(task, 0);
    m.advance(2 * MS);
    m.tick(0);
    assert_ne!(tier(&m, task), BATCH);
}

#[test]
fn a_sleep_undoes_the_demotion() {
    for kind in [INTERACTIVE, LAT_CRITICAL] {
        let mut m = Machine::with_cpus(1);
        let task = settled(&mut m, kind);
        m.interrupt(task, 0);
        m.advance(3 * MS);
        m.tick(0);
        assert_eq!(tier(&m, task), BATCH);
        m.sleep(0);
        assert_eq!(tier(&m, task), kind);
    }
}

#[test]
fn a_sleep_undoes_the_demotion_of_a_new_task() {
    let mut m = Machine::with_cpus(1);
    let task = m.task("new");
    m.fork(task, 0);
    m.advance(3 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), BATCH);
    m.sleep(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
}

#[test]
fn a_kworker_is_never_batch() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "kworker/0:1");
    m.set_flags(task, WQ_WORKER);
    m.set_history(task, 1, 1, 50 * MS);
    m.interrupt(task, 0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.advance(3 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.hold(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
    m.unhold(0);
    m.sleep(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
}

#[test]
fn a_kworker_that_runs_on_is_no_longer_latency_critical() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, LAT_CRITICAL);
    m.set_flags(task, WQ_WORKER);
    m.interrupt(task, 0);
    m.advance(3 * MS);
    m.tick(0);
    assert_eq!(tier(&m, task), INTERACTIVE);
}

#[test]
fn the_idle_class_is_batch_whatever_it_does() {
    for (policy, is_group_idle, expected) in [
        (SCHED_IDLE, false, BATCH),
        (0, true, BATCH),
        (0, false, LAT_CRITICAL),
    ] {
        let mut m = Machine::with_cpus(1);
        let task = settled(&mut m, LAT_CRITICAL);
        m.set_policy(task, policy);
        m.join_group(task, is_group_idle);
        let seen = tiers(&mut m, task, 3, MS / 10, 5 * MS);
        assert_eq!(seen, [expected; 3]);
        assert_eq!(tier(&m, task), expected);
    }
}

#[test]
fn a_new_task_of_the_idle_class_is_batch_from_its_first_sleep_on() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "new");
    m.set_policy(task, SCHED_IDLE);
    let seen = tiers(&mut m, task, 2, MS / 10, 5 * MS);
    assert_eq!(seen, [INTERACTIVE, BATCH]);
}

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
fn a_compositor_chosen_while_it_runs_is_one_from_its_next_wake_up_on() {
    let mut m = Machine::with_cpus(1);
    let task = with_executable(&mut m, "wm", c"wm", 0, 0o755, EXT4);
    assert_eq!(tiers(&mut m, task, 2, MS, 10 * MS), [BATCH; 2]);
    m.add_compositor("wm");
    m.interrupt(task, 0);
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
        assert_eq!(m.counter(Counter::Boosts), slept_ns / 2);
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
    // It is looked at when it wakes for the 8th and for the 16th time, as old as 6 and 14.
    for (wakes, expected) in [(7, LAT_CRITICAL), (15, BATCH)] {
        let mut m = Machine::with_cpus(1);
        m.predict("known", LAT_CRITICAL, 60, 60, MS / 10);
        let task = new_task(&mut m, "unknown");
        tiers(&mut m, task, wakes, MS, 100 * MS);
        assert_eq!(tier(&m, task), BATCH);
        m.rename(task, "known");
        m.interrupt(task, 0);
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
    // It is looked at when it wakes for the 128th and for the 192nd time.
    let pinned = tiers(&mut m, task, 60, MS / 10, 5 * MS);
    assert_eq!(
        (pinned[26], pinned[27], pinned[59]),
        (LAT_CRITICAL, BATCH, BATCH)
    );
    m.pin("decided", BATCH, false);
    let freed = tiers(&mut m, task, 40, MS / 10, 5 * MS);
    assert_eq!((freed[30], freed[31]), (BATCH, LAT_CRITICAL));
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

/// A task that wakes every 20 ms: its score is 25.
fn tier_of_score_25(knobs: &Knobs) -> u32 {
    let mut m = Machine::with_cpus(1);
    m.set_knobs(knobs);
    let task = new_task(&mut m, "task");
    tiers(&mut m, task, 60, MS / 10, 20 * MS - MS / 10);
    assert_eq!(m.view(task).lat_cri, 25);
    tier(&m, task)
}

#[test]
fn the_thresholds_of_the_tiers_are_the_knobs() {
    for (low, high, expected) in [
        (8, 26, INTERACTIVE),
        (8, 25, LAT_CRITICAL),
        (25, 32, INTERACTIVE),
        (26, 32, BATCH),
    ] {
        let knobs = with_knobs(|knobs| {
            knobs.lat_cri_thresh_low = low;
            knobs.lat_cri_thresh_high = high;
        });
        assert_eq!(tier_of_score_25(&knobs), expected, "{low} {high}");
    }
}

/// The lowest score with which a waking task is interactive.
fn interactive_from(m: &mut Machine) -> u32 {
    let is_interactive = |score: &u32| {
        let probe = new_task(m, "probe");
        m.set_history(probe, *score, 1, MS / 10);
        tier(m, probe) == INTERACTIVE
    };
    (1..32).find(is_interactive).unwrap()
}

/// The same after each of so many ticks.
fn interactive_from_tick_to_tick(m: &mut Machine, ticks: usize) -> Vec<u32> {
    let next = |_| {
        m.tick(0);
        interactive_from(m)
    };
    (0..ticks).map(next).collect()
}

#[test]
fn when_what_runs_scores_high_it_takes_more_to_be_interactive_at_most_halfway() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "task");
    m.set_history(task, 48, 1, MS / 10);
    m.interrupt(task, 0);
    let rising = interactive_from_tick_to_tick(&mut m, 9);
    assert_eq!(rising, [8, 10, 13, 16, 18, 19, 20, 20, 20]);
    m.set_history(task, 1, 1, MS / 10);
    let falling = interactive_from_tick_to_tick(&mut m, 6);
    assert_eq!(falling, [16, 12, 9, 8, 8, 8]);
}

#[test]
fn every_sleep_is_counted_by_its_length() {
    let mut m = Machine::with_cpus(1);
    let task = settled(&mut m, INTERACTIVE);
    for sleep_ns in [
        1,
        MS,
        MS + 1,
        10 * MS,
        10 * MS + 1,
        100 * MS,
        100 * MS + 1,
        900 * MS,
        900 * MS,
    ] {
        tiers(&mut m, task, 1, 7 * MS, sleep_ns);
    }
    m.interrupt(task, 0);
    assert_eq!(m.sleeps(), [2, 2, 2, 3]);
}

#[test]
fn every_wait_after_a_wake_up_is_counted_once_with_its_tier() {
    let mut m = Machine::with_cpus(1);
    for (tier, wait_ns) in [(BATCH, 4 * MS), (INTERACTIVE, 2 * MS), (LAT_CRITICAL, MS)] {
        m.hold(0);
        let task = settled(&mut m, tier);
        m.interrupt(task, 0);
        m.advance(wait_ns);
        m.unhold(0);
        m.hold(0);
        m.advance(wait_ns);
        m.unhold(0);
        m.exit(0);
    }
    assert_eq!(m.wake_latencies(), ([1, 1, 1], 7 * MS));
}

#[test]
fn a_living_task_is_reported_every_64_wake_ups() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "alive");
    let mut reports = Vec::new();
    for wake in 1..=200 {
        tiers(&mut m, task, 1, MS / 10, 5 * MS);
        if m.records() as usize > reports.len() {
            reports.push(wake);
        }
    }
    assert_eq!(reports, [64, 128, 192]);
    let report = m.observation();
    assert_eq!(&report.comm[..6], b"alive\0");
    assert_eq!((report.tier, report.exited), (LAT_CRITICAL, 0));
    assert_eq!((report.wakeup_freq, report.csw_rate), (19, 19));
    assert_eq!(report.lat_cri, 255);
    assert!(report.avg_runtime_ns.abs_diff(MS / 10) < 10, "{report:?}");
    assert!(report.runtime_dev_ns < 10, "{report:?}");
}

#[test]
fn a_report_says_how_far_runs_are_from_their_average() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "uneven");
    for _ in 0..32 {
        tiers(&mut m, task, 1, MS, 5 * MS);
        tiers(&mut m, task, 1, 2 * MS, 5 * MS);
    }
    let report = m.observation();
    assert!(
        report.runtime_dev_ns.abs_diff(MS / 2) < MS / 10,
        "{report:?}"
    );
}

#[test]
fn a_report_that_finds_no_room_is_lost() {
    let mut m = Machine::with_cpus(1);
    let task = new_task(&mut m, "alive");
    m.fill_records();
    tiers(&mut m, task, 64, MS / 10, 5 * MS);
    assert_eq!(m.records(), 0);
    assert_eq!(m.counter(Counter::ObservationsLost), 1);
}

#[test]
fn a_task_that_ends_is_reported_if_it_has_shown_how_it_behaves() {
    for (wakes, records) in [(2, 0), (3, 1)] {
        let mut m = Machine::with_cpus(1);
        let task = new_task(&mut m, "short");
        tiers(&mut m, task, wakes - 1, MS, 10 * MS);
        m.interrupt(task, 0);
        m.exit(0);
        assert_eq!(m.records(), records, "{wakes}");
        assert_eq!(u64::from(m.observation().exited), records);
    }
}

#[test]
fn a_task_that_ends_before_it_behaved_does_not_repeat_what_is_known_of_it() {
    let mut m = Machine::with_cpus(1);
    m.predict("known", BATCH, 1, 1, 50 * MS);
    let task = m.task("known");
    m.fork(task, 0);
    m.advance(MS);
    m.exit(0);
    assert_eq!(m.counter(Counter::WarmStarts), 1);
    assert_eq!(m.records(), 0);
}
