//! Tasks with habits, which run and sleep in turn while time passes.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use super::{Machine, TICK_NS, Task, kernel_advance, kernel_now};

/// A task that runs for `run_ns` and then sleeps for `sleep_ns`, again and again; with `is_periodic` until the
/// next multiple of `sleep_ns`. Each time up to `run_more_ns` and `sleep_more_ns` longer, at random.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habit {
    run_ns: u64,
    run_more_ns: u64,
    sleep_ns: u64,
    sleep_more_ns: u64,
    random: u64,
    is_periodic: bool,
    left_ns: u64,
}

/// At most `most`; Knuth's linear congruential generator, of our own so that a scene stays what it is.
fn random_up_to(state: &mut u64, most: u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*state >> 33) % (most + 1)
}

impl Habit {
    /// What it does next, and when.
    fn begin_sleep(&mut self, now_ns: u64) -> u64 {
        self.left_ns = self.run_ns + random_up_to(&mut self.random, self.run_more_ns);
        let sleep_ns = self.sleep_ns + random_up_to(&mut self.random, self.sleep_more_ns);
        if self.is_periodic {
            (now_ns / self.sleep_ns + 1) * self.sleep_ns
        } else {
            now_ns + sleep_ns
        }
    }
}

impl Machine {
    /// From now on, within [`Machine::run_for`], the task runs and sleeps for so long in turn; with
    /// `sleep_ns` 0 it never sleeps.
    pub fn set_habit(&mut self, task: Task, run_ns: u64, sleep_ns: u64) {
        let habit = Habit {
            run_ns,
            sleep_ns,
            left_ns: run_ns,
            ..Habit::default()
        };
        self.habits.insert(task, habit);
    }

    /// The same, for times within these bounds; equal seeds give equal times.
    pub fn set_random_habit(
        &mut self,
        task: Task,
        run_ns: RangeInclusive<u64>,
        sleep_ns: RangeInclusive<u64>,
        seed: u64,
    ) {
        let mut habit = Habit {
            run_ns: *run_ns.start(),
            run_more_ns: run_ns.end() - run_ns.start(),
            sleep_ns: *sleep_ns.start(),
            sleep_more_ns: sleep_ns.end() - sleep_ns.start(),
            random: seed,
            ..Habit::default()
        };
        for _ in 0..8 {
            habit.begin_sleep(0);
        }
        self.habits.insert(task, habit);
    }

    /// The same, and the task wakes at multiples of `period_ns`; one that it is too late for is left out.
    pub fn set_period(&mut self, task: Task, run_ns: u64, period_ns: u64) {
        let habit = Habit {
            run_ns,
            sleep_ns: period_ns,
            is_periodic: true,
            left_ns: run_ns,
            ..Habit::default()
        };
        self.habits.insert(task, habit);
    }

    /// Lets time pass, with the ticks of busy CPUs and the habits of tasks.
    pub fn run_for(&mut self, ns: u64) {
        let end = kernel_now() + ns;
        while kernel_now() < end {
            let now = kernel_now();
            let next_tick = (now / TICK_NS + 1) * TICK_NS;
            let next_sleep = self
                .habits_on_cpus()
                .map(|(_, habit)| now + habit.left_ns)
                .min();
            let next_wake = self.wakes.peek().map(|Reverse((at, _))| *at);
            let next = [Some(next_tick), next_sleep, next_wake, Some(end)]
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(end)
                .max(now);
            self.pass(next - now);
            self.put_to_sleep();
            self.wake_due();
            if kernel_now() == next_tick {
                for cpu in self.cpus.clone() {
                    self.tick(cpu);
                }
            }
        }
    }

    fn habits_on_cpus(&self) -> impl Iterator<Item = (Task, Habit)> {
        self.cpus
            .iter()
            .filter_map(|cpu| self.running(*cpu))
            .filter_map(|task| self.habits.get(&task).map(|habit| (task, *habit)))
            .filter(|(_, habit)| habit.sleep_ns > 0)
    }

    fn pass(&mut self, ns: u64) {
        for cpu in &self.cpus {
            let running = self.running(*cpu);
            if let Some(habit) = running.and_then(|task| self.habits.get_mut(&task)) {
                habit.left_ns = habit.left_ns.saturating_sub(ns);
            }
        }
        kernel_advance(ns);
    }

    fn put_to_sleep(&mut self) {
        for cpu in self.cpus.clone() {
            while let Some(task) = self.running(cpu)
                && let Some(habit) = self.habits.get_mut(&task)
                && habit.sleep_ns > 0
                && habit.left_ns == 0
            {
                let at = habit.begin_sleep(kernel_now());
                self.wakes.push(Reverse((at, task)));
                self.sleep(cpu);
            }
        }
    }

    fn wake_due(&mut self) {
        while let Some(Reverse((at, task))) = self.wakes.peek().copied()
            && at <= kernel_now()
        {
            self.wakes.pop();
            let cpu = self.view(task).cpu.cast_unsigned();
            self.interrupt(task, cpu);
        }
    }
}
