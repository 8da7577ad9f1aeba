//! What the machine of plain C offers: calls that make something happen, and calls that ask.

use std::ffi::c_char;

use super::{Observation, View};

// SAFETY: `kernel.c`, `kfuncs.c`, `migration.c` and `scheduler.c` define each of these with the same types. They touch only their own
// static state, which `Machine` guards, read no more of an array than its type says, keep no pointer but
// that of `host_set_executable`, which gets one to text that lives for ever, and take no number of a task or
// CPU that they did not give out.
unsafe extern "C" {
    pub(super) safe fn kernel_reset(nr_cpus: u32);
    pub(super) safe fn kernel_start() -> i32;
    pub(super) safe fn kernel_error() -> *const c_char;
    pub(super) safe fn kernel_set_online(cpu: u32, online: bool);
    pub(super) safe fn kernel_advance(ns: u64);
    pub(super) safe fn kernel_now() -> u64;
    pub(super) safe fn kernel_sleep(cpu: i32, state: u32);
    pub(super) safe fn kernel_yield(cpu: i32);
    pub(super) safe fn kernel_exit(cpu: i32);
    pub(super) safe fn kernel_tick(cpu: i32);
    pub(super) safe fn kernel_set_interrupts(cpu: i32, enabled: bool);
    pub(super) safe fn kernel_set_softirq(cpu: i32, serving: bool);
    pub(super) safe fn kernel_set_timer(due_ns: u64);
    pub(super) safe fn kernel_hold(cpu: i32);
    pub(super) safe fn kernel_unhold(cpu: i32);
    pub(super) safe fn kernel_begin_offline(cpu: i32);
    pub(super) safe fn kernel_is_left(cpu: i32) -> bool;
    pub(super) safe fn kernel_offline(cpu: i32);
    pub(super) safe fn kernel_online(cpu: i32);
    pub(super) safe fn kernel_nr_in(queue: u64) -> u64;

    pub(super) safe fn host_set_knobs(values: &[u64; 10], size: u64);
    pub(super) safe fn host_set_machine(nr_cpu_ids: u32, nr_nodes: u32, nr_llcs: u32);
    pub(super) safe fn host_set_waits(
        overflow_ns: u64,
        starvation_ns: u64,
        ceiling_ns: u64,
        longrun_ns: u64,
    );
    pub(super) safe fn host_set_budgets(
        deficit: u32,
        longrun: u32,
        interactive_max: u32,
        depth: u32,
    );
    pub(super) safe fn host_set_burst(window_ns: u64, wakeups: u32);
    pub(super) safe fn host_set_choices(
        idle_selector: bool,
        local_kthreads: bool,
        slice_lag_ns: i64,
    );
    pub(super) safe fn host_set_domain(llc: u32, words: &[u64; 2]);
    pub(super) safe fn host_add_pattern(text: &[u8; 16], mask: &[u8; 16]);
    pub(super) safe fn host_set_drains(drains: bool);
    pub(super) safe fn host_pin(pinned: bool);
    pub(super) safe fn host_set_cpu(cpu: u32, node: u32, l2: u32, llc: u16, bit: u16, l2_mask: u64);
    pub(super) safe fn host_set_llc(
        llc: u32,
        node: u32,
        single: &[u64; 2],
        pair: &[u64; 2],
        cpus: &[u16; 128],
    );
    pub(super) fn host_predict(
        comm: *const c_char,
        tier: u32,
        freq: u32,
        csw: u32,
        avg_runtime_ns: u64,
    );

    pub(super) safe fn host_counter(what: u32) -> u64;
    pub(super) safe fn host_nr_sent() -> u64;
    pub(super) safe fn host_sleeps(class: u32) -> u64;
    pub(super) safe fn host_wakes(tier: u32) -> u64;
    pub(super) safe fn host_wake_sum_ns() -> u64;
    pub(super) safe fn host_read_sent(out: &mut Observation);
    pub(super) safe fn host_fill_records();
    pub(super) safe fn host_read_task(task: u32, out: &mut View);
    pub(super) safe fn host_current(cpu: i32) -> i64;
    pub(super) safe fn host_nr_waiting(queue: u32) -> u64;
    pub(super) safe fn host_counts_agree() -> bool;
    pub(super) safe fn host_cpu_queue(cpu: i32, kind: u32) -> u32;
    pub(super) safe fn host_node_queue(node: u32, kind: u32) -> u32;
    pub(super) safe fn host_tier_on(cpu: i32) -> u32;
    pub(super) safe fn host_is_burst() -> bool;
    pub(super) safe fn host_is_longrun(cpu: i32) -> bool;

    pub(super) fn host_new_task(comm: *const c_char) -> u32;
    pub(super) fn host_set_comm(task: u32, comm: *const c_char);
    pub(super) fn host_set_executable(
        task: u32,
        name: *const c_char,
        uid: u32,
        mode: u32,
        magic: u64,
    );
    pub(super) safe fn host_set_history(task: u32, freq: u32, csw: u32, avg_runtime_ns: u64);
    pub(super) safe fn host_forget_wait(task: u32);
    pub(super) safe fn host_set_vtime(task: u32, ahead_of_clock: i64);
    pub(super) safe fn host_set_flags(task: u32, flags: u32);
    pub(super) safe fn host_set_policy(task: u32, policy: u32);
    pub(super) safe fn host_set_weight(task: u32, weight: u32);
    pub(super) safe fn host_set_migration_disabled(task: u32, disabled: bool);
    pub(super) safe fn host_allow(task: u32, cpu: u32, allowed: bool);
    pub(super) safe fn host_change(task: u32, changer: i32);
    pub(super) safe fn host_rebind(task: u32);
    pub(super) safe fn host_is_marked_idle(cpu: u32) -> bool;
    pub(super) safe fn host_enter(task: u32, cpu: i32);
    pub(super) safe fn host_raise(task: u32, cpu: i32);
    pub(super) safe fn host_fork(task: u32, cpu: i32);
    pub(super) safe fn host_wake(task: u32, waker: i32, sync: bool, by_interrupt: bool);
    pub(super) safe fn host_join_group(task: u32, is_idle: bool);
}
