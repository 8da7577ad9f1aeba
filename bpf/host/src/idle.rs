//! The idle selection of `bpf/idle.bpf.h`, as it is, over masks that a test sets up.

use std::sync::{Mutex, MutexGuard, PoisonError};

// SAFETY: `idle.c` defines each of these with the same types. They touch only its static state, which
// `Idle` guards, and read only as many words as the arrays given here have.
unsafe extern "C" {
    safe fn host_idle_reset(nr_llcs: u32);
    safe fn host_idle_set_cpu(cpu: u32, llc: u16, bit: u16, l2_mask: u64);
    safe fn host_idle_set_llc(
        llc: u32,
        node: u32,
        single: &[u64; 2],
        pair: &[u64; 2],
        cpus: &[u16; 128],
    );
    safe fn host_idle_set_domain(llc: u32, words: &[u64; 2]);
    safe fn host_idle_set_online(cpu: u32, online: bool);
    safe fn host_idle_note(cpu: u32, idle: bool);
    safe fn host_idle_is_marked(cpu: u32) -> bool;
    safe fn host_idle_claim(prev: i32, tier: u32, is_kthread: bool, affinity_mode: u64) -> i32;
    safe fn host_idle_claim_better(cpu: i32) -> i32;
    safe fn host_idle_is_near(cpu: i32) -> bool;
    safe fn host_idle_counter(what: u32) -> u64;
}

static STATE: Mutex<()> = Mutex::new(());

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
    /// All CPUs busy and in no mask; waits until other tests are done with theirs.
    pub fn new(nr_llcs: u32) -> Idle {
        let guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        host_idle_reset(nr_llcs);
        Idle { _guard: guard }
    }

    /// Where a CPU is in the masks.
    pub fn set_cpu(&mut self, cpu: u32, llc: u16, bit: u16, l2_mask: u64) {
        host_idle_set_cpu(cpu, llc, bit, l2_mask);
    }

    /// What a mask stands for.
    pub fn set_llc(&mut self, index: u32, llc: &Llc) {
        host_idle_set_llc(index, llc.node, &llc.single, &llc.pair, &llc.cpus);
    }

    /// The primary domain within one cache.
    pub fn set_domain(&mut self, llc: u32, words: &[u64; 2]) {
        host_idle_set_domain(llc, words);
    }

    /// A CPU that is not online never counts as idle.
    pub fn set_online(&mut self, cpu: u32, online: bool) {
        host_idle_set_online(cpu, online);
    }

    /// The CPU goes idle or comes back.
    pub fn note(&mut self, cpu: u32, idle: bool) {
        host_idle_note(cpu, idle);
    }

    /// Whether the masks have the CPU as idle.
    pub fn is_marked(&self, cpu: u32) -> bool {
        host_idle_is_marked(cpu)
    }

    /// Claims a CPU for a task that ran on `prev`; tiers and modes are the scheduler's numbers.
    pub fn claim(
        &mut self,
        prev: u32,
        tier: u32,
        is_kthread: bool,
        affinity_mode: u64,
    ) -> Option<u32> {
        u32::try_from(host_idle_claim(
            prev.cast_signed(),
            tier,
            is_kthread,
            affinity_mode,
        ))
        .ok()
    }

    /// Claims a better CPU for what runs on `cpu`.
    pub fn claim_better(&mut self, cpu: u32) -> Option<u32> {
        u32::try_from(host_idle_claim_better(cpu.cast_signed())).ok()
    }

    /// Whether a CPU sharing the second-level cache is idle.
    pub fn is_near(&self, cpu: u32) -> bool {
        host_idle_is_near(cpu.cast_signed())
    }

    /// A counter by its number in `enum counter`.
    pub fn counter(&self, what: u32) -> u64 {
        host_idle_counter(what)
    }
}
