//! Whatever happens to machines of every shape, nobody is lost.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{Machine, Task};
use pandemonium_bpf_host::scenes::{spawn, topology};
use pandemonium_policy::Topology;
use proptest::prelude::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

/// Something that happens to a machine under load; numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Event {
    Fork {
        cpu: u32,
        run_us: u64,
        sleep_us: u64,
    },
    Bind {
        task: usize,
        cpus: Vec<u32>,
    },
    Change {
        task: usize,
        changer: u32,
    },
    Weigh {
        task: usize,
        weight: u32,
    },
    Hold(u32),
    Unhold(u32),
    Offline(u32),
    Online(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (any::<u32>(), 1..20_000u64, prop_oneof![Just(0), 1..20_000u64])
            .prop_map(|(cpu, run_us, sleep_us)| Event::Fork { cpu, run_us, sleep_us }),
        3 => (any::<usize>(), prop::collection::vec(any::<u32>(), 1..4))
            .prop_map(|(task, cpus)| Event::Bind { task, cpus }),
        3 => (any::<usize>(), any::<u32>())
            .prop_map(|(task, changer)| Event::Change { task, changer }),
        1 => (any::<usize>(), 1..10_000u32)
            .prop_map(|(task, weight)| Event::Weigh { task, weight }),
        1 => any::<u32>().prop_map(Event::Hold),
        1 => any::<u32>().prop_map(Event::Unhold),
        1 => any::<u32>().prop_map(Event::Offline),
        1 => any::<u32>().prop_map(Event::Online),
    ]
}

/// A machine, and what the events need to know of it.
struct Stage {
    m: Machine,
    cpus: Vec<u32>,
    online: Vec<bool>,
    held: Vec<bool>,
    tasks: Vec<(Task, Vec<u32>)>,
}

impl Stage {
    fn new(topology: &Topology) -> Stage {
        let cpus: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
        Stage {
            m: Machine::new(topology),
            online: vec![true; cpus.len()],
            held: vec![false; cpus.len()],
            tasks: Vec::new(),
            cpus,
        }
    }

    /// Whether every task may run on a CPU that is online without this one.
    fn can_do_without(&self, index: usize) -> bool {
        let left = |cpu: &u32| {
            let at = self.cpus.iter().position(|id| id == cpu);
            at.is_some_and(|at| at != index && self.online[at])
        };
        self.cpus.iter().any(left) && self.tasks.iter().all(|(_, cpus)| cpus.iter().any(left))
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::Fork {
                cpu,
                run_us,
                sleep_us,
            } => {
                let index = cpu as usize % self.cpus.len();
                if self.online[index] && self.tasks.len() < 4 * self.cpus.len() + 8 {
                    let task = spawn(&mut self.m, self.cpus[index], run_us * US, sleep_us * US);
                    self.tasks.push((task, self.cpus.clone()));
                }
            }
            Event::Bind { task, cpus } => {
                let cpus: Vec<u32> = cpus
                    .iter()
                    .map(|cpu| *cpu as usize % self.cpus.len())
                    .filter(|index| self.online[*index])
                    .map(|index| self.cpus[index])
                    .collect();
                let nr_tasks = self.tasks.len();
                if nr_tasks > 0 && !cpus.is_empty() {
                    let (task, may_use) = &mut self.tasks[task % nr_tasks];
                    self.m.bind(*task, &cpus);
                    *may_use = cpus;
                }
            }
            Event::Change { task, changer } => {
                let nr_tasks = self.tasks.len();
                if nr_tasks > 0 {
                    let changer = self.cpus[changer as usize % self.cpus.len()];
                    self.m.change(self.tasks[task % nr_tasks].0, changer);
                }
            }
            Event::Weigh { task, weight } => {
                let nr_tasks = self.tasks.len();
                if nr_tasks > 0 {
                    self.m.set_weight(self.tasks[task % nr_tasks].0, weight);
                }
            }
            Event::Hold(cpu) => self.hold(cpu as usize % self.cpus.len(), true),
            Event::Unhold(cpu) => self.hold(cpu as usize % self.cpus.len(), false),
            Event::Offline(cpu) => {
                let index = cpu as usize % self.cpus.len();
                if self.online[index] && self.can_do_without(index) {
                    self.hold(index, false);
                    self.m.take_offline(self.cpus[index]);
                    self.online[index] = false;
                }
            }
            Event::Online(cpu) => {
                let index = cpu as usize % self.cpus.len();
                if !self.online[index] {
                    self.m.take_online(self.cpus[index]);
                    self.online[index] = true;
                }
            }
        }
    }

    fn hold(&mut self, index: usize, hold: bool) {
        if !self.online[index] || self.held[index] == hold {
            return;
        }
        self.held[index] = hold;
        if hold {
            self.m.hold(self.cpus[index]);
        } else {
            self.m.unhold(self.cpus[index]);
        }
    }

    /// A CPU that idles without its mark is one that nobody finds.
    fn check_idle(&self) {
        for (index, cpu) in self.cpus.iter().enumerate() {
            let is_ours = self.online[index] && !self.held[index];
            assert!(
                !is_ours || self.m.running(*cpu).is_some() || self.m.is_marked_idle(*cpu),
                "CPU {cpu} is lost"
            );
        }
    }

    /// Every higher class leaves; from then on everybody runs again and again.
    fn check(&mut self) {
        for index in 0..self.cpus.len() {
            self.hold(index, false);
        }
        self.m.run_for(4 * SEC);
        let ran = |m: &Machine, task: &Task| m.view(*task).ran_ns;
        let before: Vec<u64> = self
            .tasks
            .iter()
            .map(|(task, _)| ran(&self.m, task))
            .collect();
        for (task, _) in &self.tasks {
            self.m.forget_wait(*task);
        }
        self.m.run_for(3 * SEC);
        for ((task, cpus), before) in self.tasks.iter().zip(before) {
            let view = self.m.view(*task);
            assert!(
                view.ran_ns > before,
                "{task:?} on {cpus:?} is lost: {view:?}"
            );
            assert!(view.longest_wait_ns < SEC, "{task:?} on {cpus:?}: {view:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_lost_whatever_happens(
        nr_cpus in 1..24u32,
        smt in any::<bool>(),
        per_node in 2..24u32,
        holes in any::<bool>(),
        events in prop::collection::vec(event(), 1..60),
    ) {
        let mut stage = Stage::new(&topology(nr_cpus, smt, per_node, holes));
        for event in events {
            stage.play(event);
            stage.m.run_for(3 * MS);
            assert_eq!(stage.m.error(), None);
            stage.check_idle();
        }
        stage.check();
    }
}
