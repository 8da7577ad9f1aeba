//! When batch work that waits goes before young programs, which begin with a lead.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{
    BATCH, Counter, IDLE, INTERRUPTIBLE, Machine, TICK_NS, Task, UNINTERRUPTIBLE,
};
use pandemonium_bpf_host::scenes::{self, held, lag, longest_wait_ns, order, spawn, spawn_hogs};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
const SCHED_IDLE: u32 = 5;

#[test]
fn batch_that_waits_behind_young_programs_goes_before_them_after_6_ms() {
    for (waited_ns, aged_first) in [(6 * MS, false), (6 * MS + 1, true)] {
        let mut m = held(2);
        let aged = scenes::waiting(&mut m, BATCH);
        let young = m.task("young");
        m.fork(young, 0);
        m.advance(waited_ns);
        let expected = if aged_first {
            [aged, young]
        } else {
            [young, aged]
        };
        assert_eq!(order(&mut m), expected);
        let rescues = m.counter(Counter::OverflowRescues);
        assert_eq!(rescues, u64::from(aged_first), "{waited_ns}");
    }
}

#[test]
fn batch_waits_behind_young_programs_while_another_cpu_runs_batch_that_is_not_young() {
    for (is_young, aged_first) in [(true, true), (false, false)] {
        let mut m = held(3);
        m.unhold(2);
        if is_young {
            let other = m.task("young");
            m.fork(other, 2);
        } else {
            scenes::running(&mut m, BATCH, 2);
        }
        let aged = scenes::waiting(&mut m, BATCH);
        let young = m.task("young");
        m.fork(young, 0);
        m.advance(6 * MS + 1);
        let expected = if aged_first {
            [aged, young]
        } else {
            [young, aged]
        };
        assert_eq!(order(&mut m), expected, "{is_young}");
    }
}

#[test]
fn one_goes_before_young_programs_not_all_that_wait_behind_them() {
    let mut m = held(2);
    let aged = [(); 2].map(|()| scenes::waiting(&mut m, BATCH));
    let young = m.task("young");
    m.fork(young, 0);
    m.advance(6 * MS + 1);
    assert_eq!(order(&mut m), [aged[0], young, aged[1]]);
    assert_eq!(m.counter(Counter::OverflowRescues), 1);
}

/// So many that are not young wait, and so many that are; the first of those that are not is to go first.
#[derive(Clone, Copy, Debug)]
struct Ages {
    nr_cpus: u32,
    nr_aged: usize,
    nr_young: u32,
    are_launched: bool,
}

/// Whether it does, after so long.
fn aged_goes_first(ages: Ages, waited_ns: u64) -> bool {
    let mut m = held(ages.nr_cpus);
    for _ in 0..ages.nr_young {
        let young = m.task("young");
        m.fork(young, 0);
    }
    // What has run for 4 ms is no launch any more.
    let nr_run = if ages.are_launched { 0 } else { ages.nr_young };
    for _ in 0..nr_run {
        m.unhold(0);
        m.advance(4 * MS);
        m.hold(0);
    }
    let aged: Vec<Task> = (0..ages.nr_aged)
        .map(|_| scenes::waiting(&mut m, BATCH))
        .collect();
    m.advance(waited_ns);
    order(&mut m)[0] == aged[0]
}

fn assert_aged_goes_first_after(after_ns: u64, ages: Ages) {
    for is_over in [false, true] {
        let goes_first = aged_goes_first(ages, after_ns + u64::from(is_over));
        assert_eq!(goes_first, is_over, "{ages:?}");
    }
}

#[test]
fn beside_as_many_young_programs_as_cpus_each_that_is_not_young_has_a_turn_in_their_round() {
    for (nr_aged, nr_young, after_us) in [(1, 5, 9000), (2, 4, 4500), (1, 2, 6000), (2, 2, 3000)] {
        for are_launched in [false, true] {
            let ages = Ages {
                nr_cpus: 2,
                nr_aged,
                nr_young,
                are_launched,
            };
            assert_aged_goes_first_after(after_us * US, ages);
        }
    }
}

#[test]
fn while_a_launch_waits_what_is_not_young_has_turns_on_several_cpus_every_6_ms() {
    for (are_launched, after_us) in [(false, 1500), (true, 6000)] {
        let ages = Ages {
            nr_cpus: 4,
            nr_aged: 4,
            nr_young: 4,
            are_launched,
        };
        assert_aged_goes_first_after(after_us * US, ages);
    }
}

#[test]
fn fewer_young_programs_than_cpus_go_first_for_6_ms_however_many_others_wait() {
    for nr_aged in [1, 2, 8] {
        let ages = Ages {
            nr_cpus: 2,
            nr_aged,
            nr_young: 1,
            are_launched: true,
        };
        assert_aged_goes_first_after(6 * MS, ages);
    }
}

#[test]
fn what_is_far_ahead_of_its_part_or_idle_does_not_go_before_young_programs() {
    for (ahead_ms, is_idle, goes_first) in [(40, false, true), (41, false, false), (1, true, false)]
    {
        let mut m = held(2);
        let aged = scenes::asleep(&mut m, BATCH, 0);
        if is_idle {
            m.set_policy(aged, SCHED_IDLE);
        }
        m.set_vtime(aged, ahead_ms * scenes::AHEAD);
        m.interrupt(aged, 0);
        let young = m.task("young");
        m.fork(young, 0);
        m.advance(6 * MS + 1);
        let expected = if goes_first {
            [aged, young]
        } else {
            [young, aged]
        };
        assert_eq!(order(&mut m), expected, "{ahead_ms} {is_idle}");
    }
}

#[test]
fn young_programs_run_for_half_a_millisecond_before_another_goes_before_them() {
    for (ran_ns, is_aged) in [(MS / 2 - US, false), (MS / 2, true)] {
        let mut m = held(2);
        let aged = [(); 2].map(|()| scenes::waiting(&mut m, BATCH));
        for _ in 0..2 {
            let young = m.task("young");
            m.fork(young, 0);
        }
        m.advance(6 * MS + 1);
        m.unhold(0);
        assert_eq!(m.running(0), Some(aged[0]));
        m.advance(MS);
        m.exit(0);
        m.advance(ran_ns);
        m.hold(0);
        m.advance(10 * MS);
        m.unhold(0);
        assert_eq!(m.running(0) == Some(aged[1]), is_aged, "{ran_ns}");
    }
}

#[test]
fn a_moment_of_one_that_is_not_young_is_no_turn_of_those_behind_young_programs() {
    for (ran_ns, aged_first) in [(MS / 10, true), (MS, false)] {
        let mut m = held(2);
        let first = scenes::asleep(&mut m, BATCH, 0);
        m.set_vtime(first, scenes::AHEAD / 2);
        m.interrupt(first, 0);
        let aged = scenes::waiting(&mut m, BATCH);
        m.advance(2 * MS);
        m.unhold(0);
        assert_eq!(m.running(0), Some(first));
        m.advance(ran_ns);
        m.exit(0);
        m.hold(0);
        let young = m.task("young");
        m.fork(young, 0);
        m.advance(4 * MS + 1 - ran_ns);
        let expected = if aged_first {
            [aged, young]
        } else {
            [young, aged]
        };
        assert_eq!(order(&mut m), expected, "{ran_ns}");
    }
}

/// The lead with which a program goes on as batch work that slept in this state, ms, after it had run for so long.
fn lead_after_sleep(state: u32, ran_ns: u64) -> i64 {
    let mut m = Machine::with_cpus(1);
    let program = m.task("program");
    m.fork(program, 0);
    m.advance(ran_ns);
    m.sleep_in(0, state);
    m.advance(100 * US);
    m.interrupt(program, 0);
    m.advance(9 * MS);
    m.tick(0);
    assert_eq!(m.view(program).tier, BATCH);
    -lag(&m, program) / scenes::AHEAD
}

#[test]
fn a_launch_goes_on_after_it_waited_for_the_kernel_but_is_over_after_any_other_sleep() {
    for (state, lead) in [(UNINTERRUPTIBLE, 30), (INTERRUPTIBLE, -4), (IDLE, -4)] {
        assert_eq!(lead_after_sleep(state, 100 * US), lead, "{state:#x}");
    }
    // What has run for longer is no launch, whatever it waits for.
    assert_eq!(lead_after_sleep(UNINTERRUPTIBLE, 41 * MS), -4);
}

#[test]
fn a_launch_that_waits_for_the_kernel_now_and_then_keeps_its_lead() {
    let mut m = Machine::with_cpus(1);
    let program = m.task("program");
    m.fork(program, 0);
    for _ in 0..4 {
        m.advance(MS);
        m.sleep_in(0, UNINTERRUPTIBLE);
        m.advance(50 * MS);
        m.interrupt(program, 0);
    }
    assert_eq!(m.view(program).tier, BATCH);
    assert!(lag(&m, program) < -30 * scenes::AHEAD);
}

#[test]
fn of_hogs_that_start_together_one_that_waited_for_the_kernel_has_no_less_than_the_others() {
    for (nr_cpus, nr_hogs) in [(2, 9), (2, 12), (4, 17), (4, 24)] {
        let mut m = Machine::with_cpus(nr_cpus);
        let blocked = m.task("hog");
        m.fork(blocked, 0);
        let mut hogs = vec![blocked];
        for i in 1..nr_hogs {
            hogs.push(spawn(&mut m, i % nr_cpus, 100 * SEC, 0));
        }
        m.advance(50 * US);
        m.sleep_in(0, UNINTERRUPTIBLE);
        m.run_for(MS);
        m.set_habit(blocked, 100 * SEC, 0);
        m.wake(blocked, 0);
        m.run_for(SEC);
        let fair = SEC * u64::from(nr_cpus) / u64::from(nr_hogs);
        let scene = format!("{nr_hogs} at {nr_cpus}");
        for hog in hogs {
            let view = m.view(hog);
            assert!(view.longest_wait_ns <= 40 * MS, "{scene}: {view:?}");
            assert!(view.ran_ns >= fair * 9 / 10, "{scene}: {view:?}");
        }
    }
}

#[test]
fn what_a_program_runs_for_while_nobody_waits_uses_up_its_lead() {
    for (ran_ms, lead) in [(0, 40), (15, 28), (60, 0)] {
        let mut m = Machine::with_cpus(2);
        let program = m.task("program");
        m.fork(program, 0);
        m.run_for(ran_ms * MS);
        assert_eq!(-lag(&m, program) / scenes::AHEAD, lead, "{ran_ms}");
    }
}

#[test]
fn what_is_grown_uses_up_its_lead_as_well_while_nobody_waits() {
    for nr_cpus in [1, 2, 4, 8] {
        let mut m = Machine::with_cpus(nr_cpus);
        let [hogs, others] = [(); 2].map(|()| {
            let spawned = (0..nr_cpus).map(|cpu| spawn(&mut m, cpu, SEC, 0));
            spawned.collect::<Vec<Task>>()
        });
        m.run_for(80 * MS);
        for other in others {
            m.set_habit(other, 1, 100 * SEC);
        }
        m.run_for(208 * MS);
        for hog in hogs {
            let lead = -lag(&m, hog);
            assert!(lead <= TICK_NS as i64, "{nr_cpus} CPUs: {lead}");
        }
    }
}

#[test]
fn hogs_do_not_pay_for_their_turns_when_others_that_began_beside_them_have_grown_up() {
    for (nr_cpus, most) in [(1, 16), (2, 20), (4, 24)] {
        let mut m = Machine::with_cpus(nr_cpus);
        let mut hogs = spawn_hogs(&mut m, nr_cpus);
        m.run_for(300 * MS);
        hogs.extend(spawn_hogs(&mut m, 2 * nr_cpus));
        // Until here the new ones are young, and have a lead.
        m.run_for(100 * MS);
        hogs.iter().for_each(|hog| m.forget_wait(*hog));
        m.run_for(SEC);
        let waited_ns = longest_wait_ns(&m, &hogs);
        assert!(waited_ns <= most * MS, "{nr_cpus} CPUs: {waited_ns}");
    }
}

#[test]
fn what_has_grown_up_does_not_wait_for_all_that_a_hog_missed_while_it_was_launched() {
    for nr_cpus in [1, 2, 4] {
        let mut m = Machine::with_cpus(nr_cpus);
        spawn_hogs(&mut m, nr_cpus);
        m.run_for(300 * MS);
        let new = spawn_hogs(&mut m, nr_cpus);
        m.run_for(SEC);
        let waited_ns = longest_wait_ns(&m, &new);
        assert!(waited_ns <= 16 * MS, "{nr_cpus} CPUs: {waited_ns}");
    }
}

#[test]
fn frames_wait_for_no_more_than_one_lead_of_hogs_that_began_with_them() {
    for nr_cpus in [1, 2, 8, 12] {
        for (hogs_per_cpu, seed) in (2..=3).flat_map(|hogs| (0..6).map(move |seed| (hogs, seed))) {
            let mut m = Machine::with_cpus(nr_cpus);
            spawn_hogs(&mut m, hogs_per_cpu * nr_cpus);
            let frames = spawn(&mut m, 0, 3 * MS, 10 * MS);
            m.set_random_habit(frames, 2 * MS..=9 * MS, 7 * MS..=10 * MS, seed);
            m.run_for(750 * MS);
            let waited_ns = m.view(frames).longest_wait_ns;
            assert!(
                waited_ns <= 40 * MS,
                "{nr_cpus} CPUs, {hogs_per_cpu}, {seed}: {waited_ns}"
            );
        }
    }
}

#[test]
fn hogs_have_their_part_while_at_least_as_many_programs_begin_as_there_are_cpus() {
    for (nr_cpus, old, new, most) in [
        (1, 1, 1, 12),
        (1, 3, 1, 24),
        (2, 1, 1, 16),
        (2, 3, 3, 36),
        (4, 2, 1, 20),
        (4, 3, 3, 36),
        (8, 1, 2, 16),
        (8, 2, 2, 20),
        (8, 3, 3, 36),
    ] {
        let mut m = Machine::with_cpus(nr_cpus);
        let hogs = spawn_hogs(&mut m, old * nr_cpus);
        m.run_for(300 * MS);
        let had = |m: &Machine| hogs.iter().map(|hog| m.view(*hog).ran_ns).sum::<u64>();
        let before_ns = had(&m);
        hogs.iter().for_each(|hog| m.forget_wait(*hog));
        spawn_hogs(&mut m, new * nr_cpus);
        m.run_for(120 * MS);
        let waited_ns = longest_wait_ns(&m, &hogs);
        let fair_ns = 120 * MS * u64::from(nr_cpus * old) / u64::from(old + new);
        let ran_ns = had(&m) - before_ns;
        let scene = format!("{old} and {new} each at {nr_cpus} CPUs");
        assert!(waited_ns <= most * MS, "{scene}: {waited_ns}");
        assert!(ran_ns * 10 >= fair_ns * 6, "{scene}: {ran_ns} of {fair_ns}");
    }
}

/// Hogs come one after the other, and then a frame loop, of which the first frame is after a sleep.
fn frames_after_hogs(nr_cpus: u32, apart_ns: u64, later_ns: u64) -> (Task, Vec<Task>, Machine) {
    let mut m = Machine::with_cpus(nr_cpus);
    let mut hogs = Vec::new();
    for hog in 0..3 * nr_cpus {
        hogs.push(spawn(&mut m, hog % nr_cpus, 100 * SEC, 0));
        m.run_for(apart_ns);
    }
    m.run_for(later_ns);
    let frames = spawn(&mut m, 0, 100 * US, 16 * MS);
    m.run_for(17 * MS);
    m.set_habit(frames, 5 * MS, 11 * MS);
    hogs.iter().for_each(|hog| m.forget_wait(*hog));
    m.run_for(300 * MS);
    (frames, hogs, m)
}

#[test]
fn a_first_frame_does_not_wait_for_the_leads_of_hogs_of_which_some_have_grown_up() {
    for (nr_cpus, apart_ns) in [(2, 12 * MS), (4, 6 * MS), (4, 9 * MS), (8, 4500 * US)] {
        for later_ns in [0, 10 * MS, 20 * MS, 30 * MS] {
            let (frames, hogs, m) = frames_after_hogs(nr_cpus, apart_ns, later_ns);
            let scene = format!("{nr_cpus} CPUs, {apart_ns}, {later_ns}");
            assert!(longest_wait_ns(&m, &[frames]) <= 20 * MS, "{scene}");
            // Nor do hogs that grow up beside it lose theirs.
            let waited_ns = longest_wait_ns(&m, &hogs);
            assert!(waited_ns <= 36 * MS, "{scene}: {waited_ns}");
        }
    }
}

/// A compiler after the other, of which the next is forked as soon as one has ended.
#[derive(Default)]
struct Compilers {
    running: Option<Task>,
    need_ns: u64,
    nr: u64,
}

impl Compilers {
    fn go_on(&mut self, m: &mut Machine) {
        let cpus = 0..m.nr_cpus();
        match self.running {
            Some(compiler) if m.view(compiler).ran_ns < self.need_ns => {}
            Some(compiler) => {
                if let Some(cpu) = cpus
                    .into_iter()
                    .find(|cpu| m.running(*cpu) == Some(compiler))
                {
                    m.exit(cpu);
                    self.running = None;
                }
            }
            None => {
                self.nr += 1;
                self.need_ns = 4 * MS + self.nr * 7 % 22 * MS;
                self.running = Some(spawn(m, (self.nr % u64::from(cpus.end)) as u32, SEC, 0));
            }
        }
    }
}

#[test]
fn hogs_wait_for_no_more_than_a_round_beside_programs_that_are_launched_one_after_the_other() {
    for (nr_cpus, nr_hogs, nr_compilers, most) in
        [(2, 4, 2, 36), (2, 2, 2, 24), (4, 8, 4, 36), (4, 4, 4, 24)]
    {
        let mut m = Machine::with_cpus(nr_cpus);
        let hogs = spawn_hogs(&mut m, nr_hogs);
        let frames = spawn(&mut m, 0, 100 * US, 16 * MS);
        m.set_random_habit(frames, 2 * MS..=6 * MS, 10 * MS..=13 * MS, 1);
        let mut compilers: Vec<Compilers> = (0..nr_compilers)
            .map(|i| Compilers {
                nr: i,
                ..Compilers::default()
            })
            .collect();
        for step in 0..20_000 {
            compilers
                .iter_mut()
                .for_each(|compiler| compiler.go_on(&mut m));
            m.run_for(100 * US);
            if step == 4_000 {
                hogs.iter().for_each(|hog| m.forget_wait(*hog));
            }
        }
        let waited_ns = longest_wait_ns(&m, &hogs);
        assert!(
            waited_ns <= most * MS,
            "{nr_cpus} CPUs, {nr_hogs}: {waited_ns}"
        );
    }
}
