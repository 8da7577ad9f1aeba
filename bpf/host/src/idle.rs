//! The idle selection of `bpf/idle.bpf.h`, as it is, over masks that a test sets up.

use std::sync::MutexGuard;

use pandemonium_policy::idle_layout::NO_LLC;
use pandemonium_policy::limits::MAX_CPUS;

// SAFETY: `kernel.c` and `scheduler.c` define each of these with the same types. They touch only its static state, which
// `Idle` guards, and read only as many words as the arrays given here have.
unsafe extern "C" {
    safe fn kernel_reset(nr_cpus: u32);
    safe fn host_set_machine(nr_cpu_ids: u32, nr_nodes: u32, nr_llcs: u32);
    safe fn host_set_choices(idle_selector: bool, local_kthreads: bool, slice_lag_ns: i64);
    safe fn host_set_cpu(cpu: u32, node: u32, l2: u32, llc: u16, bit: u16, l2_mask: u64);
    safe fn host_set_llc(
        llc: u32,
        node: u32,
        single: &[u64; 2],
        pair: &[u64; 2],
        cpus: &[u16; 128],
    );
    safe fn host_set_domain(llc: u32, words: &[u64; 2]);
    safe fn host_set_online(cpu: u32, online: bool);
    safe fn host_note_idle(cpu: u32, idle: bool);
    safe fn host_is_marked_idle(cpu: u32) -> bool;
    safe fn host_claim(prev: i32, tier: u32, is_kthread: bool, affinity_mode: u64) -> i32;
    safe fn host_claim_better(cpu: i32) -> i32;
    safe fn host_is_idle_near(cpu: i32) -> bool;
    safe fn host_counter(what: u32) -> u64;
}

/// The one state of the idle selection; there is one at a time.
pub struct Idle {
    _guard: MutexGuard<'static, ()>,
}

/// One last-level cache, as `struct idle_llc` has it.
pub struct Llc {
    /// Node number.
    pub node: u32,
    /// CPUs alone on their core.
    pub single: [u64; 2],
    /// First of each pair of siblings.
    pub pair: [u64; 2],
    /// CPU of each bit.
    pub cpus: [u16; 128],
}

impl Idle {
    /// All CPUs busy and in no mask, of so many caches and nodes; waits until other tests are done with theirs.
    pub fn new(nr_llcs: u32, nr_nodes: u32) -> Idle {
        let guard = crate::lock();
        kernel_reset(MAX_CPUS);
        host_set_machine(MAX_CPUS, nr_nodes, nr_llcs);
        host_set_choices(true, false, 0);
        for cpu in 0..MAX_CPUS {
            host_set_cpu(cpu, 0, 0, NO_LLC, 0, 0);
            host_set_online(cpu, true);
        }
        Idle { _guard: guard }
    }

    /// Where a CPU is in the masks.
    pub fn set_cpu(&mut self, cpu: u32, llc: u16, bit: u16, l2_mask: u64) {
        host_set_cpu(cpu, 0, 0, llc, bit, l2_mask);
    }

    /// What a mask stands for.
    pub fn set_llc(&mut self, index: u32, llc: &Llc) {
        host_set_llc(index, llc.node, &llc.single, &llc.pair, &llc.cpus);
    }

    /// The primary domain within one cache.
    pub fn set_domain(&mut self, llc: u32, words: &[u64; 2]) {
        host_set_domain(llc, words);
    }

    /// A CPU that is not online never counts as idle.
    pub fn set_online(&mut self, cpu: u32, online: bool) {
        host_set_online(cpu, online);
    }

    /// The CPU goes idle or comes back.
    pub fn note(&mut self, cpu: u32, idle: bool) {
        host_note_idle(cpu, idle);
    }

    /// Whether the masks have the CPU as idle.
    pub fn is_marked(&self, cpu: u32) -> bool {
        host_is_marked_idle(cpu)
    }

    /// Claims a CPU for a task that ran on `prev`; tiers and modes are the scheduler's numbers.
    pub fn claim(
        &mut self,
        prev: u32,
        tier: u32,
        is_kthread: bool,
        affinity_mode: u64,
    ) -> Option<u32> {
        u32::try_from(host_claim(
            prev.cast_signed(),
            tier,
            is_kthread,
            affinity_mode,
        ))
        .ok()
    }

    /// Claims a better CPU for what runs on `cpu`.
    pub fn claim_better(&mut self, cpu: u32) -> Option<u32> {
        u32::try_from(host_claim_better(cpu.cast_signed())).ok()
    }

    /// Whether a CPU sharing the second-level cache is idle.
    pub fn is_near(&self, cpu: u32) -> bool {
        host_is_idle_near(cpu.cast_signed())
    }

    /// A counter by its number in `enum counter`.
    pub fn counter(&self, what: u32) -> u64 {
        host_counter(what)
    }
}
