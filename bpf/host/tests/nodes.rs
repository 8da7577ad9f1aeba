//! What a node decides by its own CPUs, as a machine of these would: its queues are served by no others.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_bpf_host::machine::{BATCH, INTERACTIVE, Kind, LAT_CRITICAL, Machine, Task};
use pandemonium_bpf_host::scenes::{order, rest_of_runs, runner, two_nodes, waiting, wake_crowd};

const MS: u64 = 1_000_000;

/// A machine of two CPUs, and one of two nodes with two CPUs each; there is only one at a time.
fn machines() -> impl Iterator<Item = Machine> {
    [|| Machine::with_cpus(2), two_nodes]
        .into_iter()
        .map(|new| new())
}

/// The same, with CPUs that a higher class holds.
fn held_machines() -> impl Iterator<Item = Machine> {
    machines().map(|mut m| {
        for cpu in 0..m.nr_cpus() {
            m.hold(cpu);
        }
        m
    })
}

#[test]
fn a_batch_slice_is_as_long_as_the_nodes_cpus_have_for_each_that_waits_there() {
    for mut m in held_machines() {
        let batch: Vec<Task> = (0..8).map(|_| waiting(&mut m, BATCH)).collect();
        m.unhold(0);
        assert_eq!(m.running(0), Some(batch[0]));
        assert_eq!(m.view(batch[0]).slice_ns, 2 * 8 * MS / 8);
    }
}

#[test]
fn a_crowd_has_the_room_of_its_nodes_cpus() {
    for (by_interrupt, room) in [(false, 2 * 2), (true, 2 * 4)] {
        for mut m in machines() {
            for cpu in 0..m.nr_cpus() {
                runner(&mut m, LAT_CRITICAL, cpu);
            }
            wake_crowd(&mut m, 20, by_interrupt);
            assert_eq!(m.waiting_in_node(0, Kind::Interactive), room);
            assert_eq!(m.waiting_in_node(0, Kind::Batch), 20 - room);
        }
    }
}

#[test]
fn a_nodes_cpu_that_goes_offline_takes_its_part_of_the_room_with_it() {
    let mut m = two_nodes();
    for cpu in [0, 2, 3] {
        runner(&mut m, LAT_CRITICAL, cpu);
    }
    m.take_offline(1);
    wake_crowd(&mut m, 20, true);
    // Of 16 for four CPUs, one third.
    assert_eq!(m.waiting_in_node(0, Kind::Interactive), 5);
}

#[test]
fn work_that_is_grown_waits_for_a_round_of_its_nodes_cpus_behind_young_programs() {
    for is_over in [false, true] {
        for mut m in held_machines() {
            let aged = waiting(&mut m, BATCH);
            for _ in 0..5 {
                let young = m.task("young");
                m.fork(young, 0);
            }
            // Six at two CPUs, 3 ms each.
            m.advance(9 * MS + u64::from(is_over));
            assert_eq!(order(&mut m)[0] == aged, is_over);
        }
    }
}

#[test]
fn batch_work_is_forced_when_it_has_less_than_its_part_of_the_nodes_cpus() {
    for mut m in held_machines() {
        let batch = [(); 2].map(|()| waiting(&mut m, BATCH));
        for _ in 0..7 {
            waiting(&mut m, INTERACTIVE);
        }
        m.unhold(0);
        let ran = rest_of_runs(&mut m, MS);
        let first = ran.iter().position(|task| batch.contains(task));
        // Then the two are to have half a CPU of two, with four others that wait.
        assert_eq!(first, Some(3));
    }
}
