//! The whole scheduler on a machine of plain C: tests wake tasks, move the clock and see who runs.
//!
//! Time passes only when a test lets it, and everything happens in one order, so every outcome is exact.
//! What the kernel would end the scheduler for makes the test fail.

mod calls;
mod habits;
mod views;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ffi::{CStr, CString};
use std::sync::MutexGuard;

use pandemonium_policy::idle_layout::{IdleLayout, NO_LLC};
use pandemonium_policy::limits::{BURST_WINDOW_NS, LONGRUN_NS};
use pandemonium_policy::{Cpu, Knobs, Limits, Settings, Topology};

use calls::*;
use habits::Habit;
pub use views::{Counter, Observation, View};

/// Time between two ticks of a busy CPU, ns: `CONFIG_HZ=250`.
pub const TICK_NS: u64 = 4_000_000;

/// `enum tier`.
pub const BATCH: u32 = 0;
/// `enum tier`.
pub const INTERACTIVE: u32 = 1;
/// `enum tier`.
pub const LAT_CRITICAL: u32 = 2;

/// How a task sleeps, in `include/linux/sched.h`: whoever waits for somebody else.
pub const INTERRUPTIBLE: u32 = 0x001;
/// Whoever waits for the kernel, as for a page or a lock.
pub const UNINTERRUPTIBLE: u32 = 0x002;
/// A thread of the kernel that has nothing to do.
pub const IDLE: u32 = 0x402;

/// `enum queue_kind`.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Interactive and latency-critical work.
    Interactive,
    /// Batch work, and what queues with it.
    Batch,
}

/// A task of one [`Machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task(u32);

/// The machine with the scheduler loaded; there is one at a time.
pub struct Machine {
    _guard: MutexGuard<'static, ()>,
    layout: IdleLayout,
    cpus: Vec<u32>,
    habits: BTreeMap<Task, Habit>,
    wakes: BinaryHeap<Reverse<(u64, Task)>>,
}

fn text(comm: &str) -> CString {
    CString::new(comm).unwrap_or_default()
}

impl Machine {
    /// A machine with nothing to do, with the limits of its size and otherwise the defaults.
    pub fn new(topology: &Topology) -> Machine {
        let guard = crate::lock();
        let layout = IdleLayout::of(topology);
        kernel_reset(topology.nr_cpu_ids());
        host_set_machine(topology.nr_cpu_ids(), topology.nr_nodes(), layout.nr_llcs);
        for id in 0..topology.nr_cpu_ids() {
            host_set_cpu(id, 0, id, NO_LLC, 0, 0);
            kernel_set_online(id, false);
        }
        for cpu in &topology.cpus {
            let place = layout.cpus[cpu.id as usize];
            let (llc, bit) = (place.llc, place.bit.into());
            host_set_cpu(cpu.id, cpu.node, cpu.l2, llc, bit, place.l2_mask);
            kernel_set_online(cpu.id, cpu.online);
        }
        for (index, llc) in layout.llcs.iter().enumerate() {
            host_set_llc(index as u32, llc.node, &llc.single, &llc.pair, &llc.cpus);
        }
        let mut machine = Machine {
            _guard: guard,
            layout,
            cpus: topology.cpus.iter().map(|cpu| cpu.id).collect(),
            habits: BTreeMap::new(),
            wakes: BinaryHeap::new(),
        };
        machine.set_knobs(&Knobs::default());
        machine.set_limits(&Limits::for_cpus(topology.nr_online()));
        machine.choose(&Settings::default());
        assert_eq!(kernel_start(), 0, "the scheduler starts");
        machine
    }

    /// A machine of so many CPUs that share one cache and have no siblings.
    pub fn with_cpus(nr_cpus: u32) -> Machine {
        let cpus = (0..nr_cpus).map(|id| Cpu {
            id,
            online: true,
            core: id,
            l2: id,
            l3: 0,
            node: 0,
            max_khz: 0,
        });
        Machine::new(&Topology {
            cpus: cpus.collect(),
        })
    }

    /// The knobs, as the daemon writes them.
    pub fn set_knobs(&mut self, knobs: &Knobs) {
        let values = [
            knobs.slice_ns,
            knobs.preempt_thresh_ns,
            knobs.lag_scale,
            knobs.batch_slice_ns,
            knobs.burst_slice_ns,
            knobs.cpu_bound_thresh_ns,
            knobs.lat_cri_thresh_high,
            knobs.lat_cri_thresh_low,
            knobs.affinity_mode,
            knobs.sojourn_thresh_ns,
        ];
        host_set_knobs(&values, size_of_val(&values) as u64);
    }

    /// The limits, as the daemon writes them.
    pub fn set_limits(&mut self, limits: &Limits) {
        host_set_waits(
            limits.overflow_rescue_ns,
            limits.starvation_rescue_ns,
            limits.vtime_ceiling_ns,
            LONGRUN_NS,
        );
        host_set_budgets(
            limits.deficit_budget,
            limits.longrun_budget,
            limits.interactive_max,
            limits.placement_depth,
        );
        host_set_burst(BURST_WINDOW_NS, limits.burst_wakeups);
    }

    /// What people choose, but for compositors; a domain stays once it is set.
    pub fn choose(&mut self, settings: &Settings) {
        host_set_choices(
            settings.idle_selector,
            settings.local_kthreads,
            settings.slice_lag_ns,
        );
        if let Some(domain) = &settings.domain {
            for (llc, words) in self.layout.words_of(domain).iter().enumerate() {
                host_set_domain(llc as u32, words);
            }
        }
    }

    /// Tasks of exactly this name are compositors, if their executable is one.
    pub fn add_compositor(&mut self, comm: &str) {
        let mut name = [0; 16];
        name[..comm.len()].copy_from_slice(comm.as_bytes());
        host_add_pattern(&name, &[0xff; 16]);
    }

    /// Whether a local queue is drained when a higher class takes its CPU, also from idle.
    pub fn set_drains(&mut self, drains: bool) {
        host_set_drains(drains);
    }

    /// What is known of tasks of this name.
    pub fn predict(&mut self, comm: &str, tier: u32, freq: u32, csw: u32, avg_runtime_ns: u64) {
        let comm = text(comm);
        // SAFETY: the text ends with a zero and is only read.
        unsafe { host_predict(comm.as_ptr(), tier, freq, csw, avg_runtime_ns) }
    }

    /// The tier of tasks of this name is decided, until that is taken back.
    pub fn pin(&mut self, comm: &str, tier: u32, is_pinned: bool) {
        self.predict(comm, tier, 20, 0, 100_000);
        host_pin(is_pinned);
    }

    /// A new task, not yet known to the scheduler.
    pub fn task(&mut self, comm: &str) -> Task {
        let comm = text(comm);
        // SAFETY: the text ends with a zero and is only read.
        let task = unsafe { host_new_task(comm.as_ptr()) };
        assert_ne!(task, u32::MAX, "the machine has no room for another task");
        Task(task)
    }

    /// The task takes another name.
    pub fn rename(&mut self, task: Task, comm: &str) {
        let comm = text(comm);
        // SAFETY: the text ends with a zero and is only read.
        unsafe { host_set_comm(task.0, comm.as_ptr()) }
    }

    /// The file it executes: name, owner, mode and the kind of its file system.
    pub fn set_executable(
        &mut self,
        task: Task,
        name: &'static CStr,
        uid: u32,
        mode: u32,
        magic: u64,
    ) {
        // SAFETY: the text lives for ever.
        unsafe { host_set_executable(task.0, name.as_ptr(), uid, mode, magic) }
    }

    /// Behaviour that the task has settled in: wake-ups and switches per 100 ms, run between sleeps.
    pub fn set_history(&mut self, task: Task, freq: u32, csw: u32, avg_runtime_ns: u64) {
        host_set_history(task.0, freq, csw, avg_runtime_ns);
    }

    /// Behaviour that makes the task one of `tier`, and that it has settled in.
    pub fn settle_as(&mut self, task: Task, tier: u32) {
        match tier {
            BATCH => self.set_history(task, 1, 1, 50_000_000),
            INTERACTIVE => self.set_history(task, 10, 2, 100_000),
            _ => self.set_history(task, 20, 20, 100_000),
        }
        assert_eq!(self.view(task).tier, tier, "the tier of its behaviour");
    }

    /// Its waits so far no longer count as its longest.
    pub fn forget_wait(&mut self, task: Task) {
        host_forget_wait(task.0);
    }

    /// The task's virtual time, relative to its queue's clock.
    pub fn set_vtime(&mut self, task: Task, ahead_of_clock: i64) {
        host_set_vtime(task.0, ahead_of_clock);
    }

    /// `PF_*`.
    pub fn set_flags(&mut self, task: Task, flags: u32) {
        host_set_flags(task.0, flags);
    }

    /// `SCHED_*`.
    pub fn set_policy(&mut self, task: Task, policy: u32) {
        host_set_policy(task.0, policy);
    }

    /// 100 is nice 0.
    pub fn set_weight(&mut self, task: Task, weight: u32) {
        host_set_weight(task.0, weight);
    }

    /// Whether the task itself has its migration disabled.
    pub fn set_migration_disabled(&mut self, task: Task, disabled: bool) {
        host_set_migration_disabled(task.0, disabled);
    }

    /// The task is in a control group from now on, one with `cpu.idle` or one without.
    pub fn join_group(&mut self, task: Task, is_idle: bool) {
        host_join_group(task.0, is_idle);
    }

    /// Only these CPUs from now on.
    pub fn bind(&mut self, task: Task, cpus: &[u32]) {
        for cpu in &self.cpus {
            host_allow(task.0, *cpu, cpus.contains(cpu));
        }
        host_rebind(task.0);
    }

    /// Somebody on another CPU changes something about it that is none of the scheduler's business.
    pub fn change(&mut self, task: Task, changer: u32) {
        host_change(task.0, changer.cast_signed());
    }

    /// Whether others may claim the CPU as an idle one.
    pub fn is_marked_idle(&self, cpu: u32) -> bool {
        host_is_marked_idle(cpu)
    }

    /// The task, asleep, becomes one of the scheduler's; it ran on `cpu` last.
    pub fn enter(&mut self, task: Task, cpu: u32) {
        host_enter(task.0, cpu.cast_signed());
    }

    /// What runs on `cpu` has the task, asleep, be of a higher class for a moment, as priority inheritance does.
    pub fn raise(&mut self, task: Task, cpu: u32) {
        host_raise(task.0, cpu.cast_signed());
    }

    /// What runs on `cpu` forks the task.
    pub fn fork(&mut self, task: Task, cpu: u32) {
        host_fork(task.0, cpu.cast_signed());
    }

    /// Another task, on `waker`, wakes it.
    pub fn wake(&mut self, task: Task, waker: u32) {
        host_wake(task.0, waker.cast_signed(), false, false);
    }

    /// The same, by a waker that says that it is about to sleep.
    pub fn wake_sync(&mut self, task: Task, waker: u32) {
        host_wake(task.0, waker.cast_signed(), true, false);
    }

    /// An interrupt on `cpu` wakes it.
    pub fn interrupt(&mut self, task: Task, cpu: u32) {
        host_wake(task.0, cpu.cast_signed(), false, true);
    }

    /// What runs on the CPU calls `sched_yield()`.
    pub fn give_way(&mut self, cpu: u32) {
        kernel_yield(cpu.cast_signed());
    }

    /// What runs on the CPU goes to sleep.
    pub fn sleep(&mut self, cpu: u32) {
        self.sleep_in(cpu, INTERRUPTIBLE);
    }

    /// The same, in one of the states above.
    pub fn sleep_in(&mut self, cpu: u32, state: u32) {
        kernel_sleep(cpu.cast_signed(), state);
    }

    /// What runs on the CPU ends.
    pub fn exit(&mut self, cpu: u32) {
        kernel_exit(cpu.cast_signed());
    }

    /// The clock moves; nobody notices before something else happens.
    pub fn advance(&mut self, ns: u64) {
        kernel_advance(ns);
    }

    /// The timer interrupt of one CPU.
    pub fn tick(&mut self, cpu: u32) {
        kernel_tick(cpu.cast_signed());
    }

    /// A CPU with its interrupts disabled goes on with what it does whatever happens.
    pub fn set_interrupts(&mut self, cpu: u32, enabled: bool) {
        kernel_set_interrupts(cpu.cast_signed(), enabled);
    }

    /// Whether interrupts come while the CPU serves a softirq.
    pub fn set_softirq(&mut self, cpu: u32, serving: bool) {
        kernel_set_softirq(cpu.cast_signed(), serving);
    }

    /// Interrupts come from a timer that is so late by now, or has so long if negative; `None` if from none.
    pub fn set_timer(&mut self, late_ns: Option<i64>) {
        kernel_set_timer(late_ns.map_or(0, |ns| kernel_now().wrapping_add_signed(-ns)));
    }

    /// A task of a higher class takes the CPU.
    pub fn hold(&mut self, cpu: u32) {
        kernel_hold(cpu.cast_signed());
    }

    /// And leaves it.
    pub fn unhold(&mut self, cpu: u32) {
        kernel_unhold(cpu.cast_signed());
    }

    /// A CPU is about to go offline: from now on the scheduler is not asked what it should run.
    pub fn begin_offline(&mut self, cpu: u32) {
        kernel_begin_offline(cpu.cast_signed());
    }

    /// Whether a CPU that is about to go offline has noticed that nobody is on it any more, which the kernel waits for.
    pub fn is_left(&self, cpu: u32) -> bool {
        kernel_is_left(cpu.cast_signed())
    }

    /// A CPU goes offline; everybody on it needs another one.
    pub fn take_offline(&mut self, cpu: u32) {
        kernel_offline(cpu.cast_signed());
    }

    /// And comes back.
    pub fn take_online(&mut self, cpu: u32) {
        kernel_online(cpu.cast_signed());
    }

    /// Why the kernel would have ended the scheduler.
    pub fn error(&self) -> Option<String> {
        let error = kernel_error();
        if error.is_null() {
            return None;
        }
        // SAFETY: the text ends with a zero, and nobody changes it while this machine is there.
        let error = unsafe { CStr::from_ptr(error) };
        Some(error.to_string_lossy().into_owned())
    }

    /// What runs on a CPU, if it is one of ours.
    pub fn running(&self, cpu: u32) -> Option<Task> {
        u32::try_from(host_current(cpu.cast_signed()))
            .ok()
            .map(Task)
    }

    /// Where a task runs, if it does.
    pub fn cpu_of(&self, task: Task) -> Option<u32> {
        self.cpus
            .iter()
            .copied()
            .find(|cpu| self.running(*cpu) == Some(task))
    }

    /// What is known of a task.
    pub fn view(&self, task: Task) -> View {
        let mut view = View::default();
        host_read_task(task.0, &mut view);
        view
    }

    /// A counter, summed over all CPUs.
    pub fn counter(&self, counter: Counter) -> u64 {
        host_counter(counter as u32)
    }

    /// Observations and other records sent to the daemon.
    pub fn records(&self) -> u64 {
        host_nr_sent()
    }

    /// The last observation sent.
    pub fn observation(&self) -> Observation {
        let mut observation = Observation::default();
        host_read_sent(&mut observation);
        observation
    }

    /// From now on there is no room for records.
    pub fn fill_records(&mut self) {
        host_fill_records();
    }

    /// Tasks that wait in the queue of a node.
    pub fn waiting_in_node(&self, node: u32, kind: Kind) -> u64 {
        self.waiting(host_node_queue(node, kind as u32))
    }

    /// Tasks that wait in the queue of a CPU.
    pub fn waiting_for(&self, cpu: u32, kind: Kind) -> u64 {
        self.waiting(host_cpu_queue(cpu.cast_signed(), kind as u32))
    }

    /// The scheduler's own count has to be the kernel's.
    fn waiting(&self, queue: u32) -> u64 {
        let counted = host_nr_waiting(queue);
        assert_eq!(
            counted,
            kernel_nr_in(queue.into()),
            "tasks of queue {queue}"
        );
        counted
    }

    /// The tier that wakers see on a CPU; 3 for none.
    pub fn tier_on(&self, cpu: u32) -> u32 {
        host_tier_on(cpu.cast_signed())
    }

    /// Whether a burst is on.
    pub fn is_burst(&self) -> bool {
        host_is_burst()
    }

    /// CPUs that there are, online or not.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// Whether a longrun is on at the CPU's node.
    pub fn is_longrun(&self, cpu: u32) -> bool {
        host_is_longrun(cpu.cast_signed())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let error = self.error();
        assert!(
            error.is_none() || std::thread::panicking(),
            "the kernel would end the scheduler: {error:?}"
        );
        assert!(
            host_counts_agree() || std::thread::panicking(),
            "a queue counts others than wait in it"
        );
    }
}
