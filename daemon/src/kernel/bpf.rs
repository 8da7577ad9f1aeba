//! The real kernel: loads the scheduler, attaches it, and hears when the kernel ended it.

use super::bpf_consts::KernelConsts;
use super::kernel_file::KernelFile;
use super::refusal::{self, NotTaken};
use super::{AttachError, Exit, Kernel, KernelStatus};
use super::{bpf_consts, maps, needed_types};
use crate::{clock, topology};
use anyhow::{Context, Result};
use libbpf_rs::btf::Btf;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{AsRawLibbpf, Link, OpenObject, RingBuffer, RingBufferBuilder, libbpf_sys};
use memmap2::MmapOptions;
use pandemonium_policy::idle_layout::IdleLayout;
use pandemonium_policy::knobs::Knobs;
use pandemonium_policy::limits::Limits;
use pandemonium_policy::predictions::Changes;
use pandemonium_policy::profile::{Observation, Prediction};
use pandemonium_policy::sample::Reading;
use pandemonium_policy::settings::Settings;
use pandemonium_policy::topology::Topology;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

#[allow(
    missing_docs,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used
)]
pub(super) mod skel {
    include!(concat!(env!("OUT_DIR"), "/bpf_skel.rs"));
}
use skel::{BpfSkel, BpfSkelBuilder, OpenBpfSkel};

pub(super) const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
pub(super) const SCHED_EXT: &str = "/sys/kernel/sched_ext";
/// Flags of our ops, by name; those the running kernel lacks are left out.
const OPS_FLAGS: &[&str] = &[
    "SCX_OPS_ENQ_EXITING",
    "SCX_OPS_ENQ_LAST",
    "SCX_OPS_ENQ_MIGRATION_DISABLED",
    "SCX_OPS_KEEP_BUILTIN_IDLE",
];

type Observations = Arc<Mutex<Vec<Observation>>>;

struct Loaded {
    // Order matters: the link must go first, so that nothing is freed under a running scheduler.
    _link: Link,
    ring: RingBuffer<'static>,
    observations: Observations,
    skel: BpfSkel<'static>,
    stats: maps::Stats,
    consts: KernelConsts,
}

/// The scheduler on the machine's own kernel.
pub struct BpfKernel {
    topology: Topology,
    layout: IdleLayout,
    /// Bursts counted until the last reading.
    bursts: u64,
    /// Written with the settings, so that running tasks look at the names again.
    generation: u64,
    loaded: Option<Loaded>,
    exit: Option<Exit>,
    observations: Vec<Observation>,
    /// What the kernel said last about the scheduler that is loaded now.
    said: KernelStatus,
    state_file: KernelFile,
}

impl BpfKernel {
    /// Nothing is loaded until [`Kernel::attach`].
    pub fn new(topology: Topology) -> BpfKernel {
        refusal::listen();
        BpfKernel {
            layout: IdleLayout::of(&topology),
            topology,
            bursts: 0,
            generation: 1,
            loaded: None,
            exit: None,
            observations: Vec::new(),
            said: KernelStatus::default(),
            state_file: KernelFile::new(Path::new(SCHED_EXT).join("state")),
        }
    }

    /// Empties the ring buffer, and notices whether the kernel ended the scheduler. The exit record is
    /// only there to wake us: it may not have found room.
    fn drain(&mut self) {
        let Some(loaded) = &mut self.loaded else {
            return;
        };
        if loaded.ring.consume().is_err() {
            return;
        }
        let mut observations = loaded
            .observations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.observations.append(&mut observations);
        if let Some((kind, code, reason, message)) = maps::read_exit(&loaded.skel) {
            self.exit = Some(exit_of(&loaded.consts, kind, code, reason, message));
        }
    }
}

impl Kernel for BpfKernel {
    fn attach(
        &mut self,
        limits: &Limits,
        knobs: &Knobs,
        settings: &Settings,
        predictions: &[Prediction],
    ) -> Result<(), AttachError> {
        self.detach();
        self.exit = None;
        self.said = KernelStatus::default();
        self.bursts = 0;
        refusal::foreseen()?;
        // CPUs that were offline before may have shown their caches and nodes by now.
        if let Ok(topology) = topology::read(Path::new("/sys")) {
            self.layout = IdleLayout::of(&topology);
            self.topology = topology;
        }
        let opened = open().map_err(refusal::explained)?;
        if let [first, ..] = opened.consts.unusable() {
            return Err(AttachError::Unsupported(format!(
                "its type information is incomplete, so {first} cannot be called; boot another build of it"
            )));
        }
        let start = Start {
            topology: &self.topology,
            layout: &self.layout,
            limits: maps::limits_of(limits),
            knobs,
            settings: maps::settings_of(settings, &self.layout, self.generation),
            predictions,
        };
        self.loaded = Some(load(&start, opened).map_err(refusal::explained)?);
        Ok(())
    }

    fn detach(&mut self) {
        self.drain();
        self.loaded = None;
    }

    fn is_attached(&self) -> bool {
        self.loaded.is_some() && self.exit.is_none()
    }

    fn read(&mut self) -> Result<Reading> {
        let loaded = self
            .loaded
            .as_ref()
            .context("the scheduler is not loaded")?;
        let mut reading = maps::read(&loaded.skel, &loaded.stats, &self.topology)?;
        // One is over in milliseconds; what counts for a reader is whether there was one.
        let bursts = reading.counters.bursts_cusum + reading.counters.bursts_wakeups;
        reading.burst = bursts > self.bursts;
        self.bursts = bursts;
        reading.at_ns = u64::try_from(clock::monotonic().as_nanos()).unwrap_or(u64::MAX);
        Ok(reading)
    }

    fn write_knobs(&mut self, knobs: &Knobs) -> Result<()> {
        let loaded = self
            .loaded
            .as_mut()
            .context("the scheduler is not loaded")?;
        maps::write_knobs(&mut loaded.skel, knobs)
    }

    fn write_limits(&mut self, limits: &Limits) -> Result<()> {
        let loaded = self
            .loaded
            .as_mut()
            .context("the scheduler is not loaded")?;
        maps::write_limits(&mut loaded.skel, limits)
    }

    fn write_settings(&mut self, settings: &Settings) -> Result<()> {
        let loaded = self
            .loaded
            .as_mut()
            .context("the scheduler is not loaded")?;
        self.generation += 1;
        let raw = maps::settings_of(settings, &self.layout, self.generation);
        maps::write_settings(&mut loaded.skel, raw)
    }

    fn write_predictions(&mut self, news: &Changes) -> Result<()> {
        let loaded = self
            .loaded
            .as_ref()
            .context("the scheduler is not loaded")?;
        maps::write_predictions(&loaded.skel, news)
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn drain_observations(&mut self, sink: &mut dyn FnMut(Observation)) {
        self.drain();
        self.observations.drain(..).for_each(sink);
    }

    fn exit(&mut self) -> Option<Exit> {
        self.drain();
        let exit = self.exit.take()?;
        self.loaded = None;
        Some(exit)
    }

    fn event_fd(&self) -> Option<RawFd> {
        self.loaded.as_ref().map(|loaded| loaded.ring.epoll_fd())
    }

    fn status(&mut self) -> KernelStatus {
        let is_ours = self.is_attached();
        let state = self.state_file.read().map_or("unavailable", str::trim);
        // While ours is loaded no other can have come.
        if is_ours && state == self.said.state {
            return self.said.clone();
        }
        let read = |file: &str| {
            fs::read_to_string(Path::new(SCHED_EXT).join(file)).map(|s| s.trim().to_owned())
        };
        self.said = KernelStatus {
            state: state.to_owned(),
            ops: read("root/ops").unwrap_or_default(),
            enable_seq: read("enable_seq")
                .ok()
                .and_then(|s| s.parse().ok())
                .unwrap_or(0),
        };
        self.said.clone()
    }
}

/// What the scheduler starts with.
struct Start<'a> {
    topology: &'a Topology,
    layout: &'a IdleLayout,
    limits: skel::types::limits,
    knobs: &'a Knobs,
    settings: skel::types::settings,
    predictions: &'a [Prediction],
}

/// The scheduler before it is loaded, and what it has to know of the kernel.
struct Opened {
    skel: OpenBpfSkel<'static>,
    consts: KernelConsts,
    /// Loading reads the kernel's types from here.
    _types: File,
}

fn open() -> Result<Opened> {
    // The skeleton borrows this for its whole life; it is one pointer in size and loads are rare.
    let storage: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut types = File::from(memfd_create("kernel-types", MemfdFlags::CLOEXEC)?);
    let path = format!("/proc/self/fd/{}", types.as_raw_fd());
    let mut builder = BpfSkelBuilder::default();
    builder.obj_builder.btf_custom_path(&path)?;
    let skel = builder.open(storage)?;
    types.write_all(&types_for(&skel)?)?;
    let consts = KernelConsts::of(&Btf::from_path(&path)?);
    Ok(Opened {
        skel,
        consts,
        _types: types,
    })
}

fn load(start: &Start<'_>, opened: Opened) -> Result<Loaded> {
    let Opened {
        skel: mut open,
        consts,
        _types,
    } = opened;
    let drains_from_idle = consts.has_reenqueue_anywhere();
    open.maps
        .cpu_stats
        .set_max_entries(start.topology.nr_cpu_ids())?;
    maps::write_constants(&mut open, start.topology, start.layout, drains_from_idle)?;
    fill_constants(&mut open, &consts)?;
    if let Some(data) = open.maps.data_knobs_data.as_deref_mut() {
        data.knobs = maps::knobs_of(start.knobs);
    }
    if let Some(data) = open.maps.data_limits_data.as_deref_mut() {
        data.limits = start.limits;
    }
    if let Some(data) = open.maps.data_settings_data.as_deref_mut() {
        data.settings = start.settings;
    }
    prepare_ops(&mut open, &consts)?;
    let mut skel = open.load()?;
    log_verified(&skel);
    let news = Changes {
        new: start.predictions.to_vec(),
        ..Changes::default()
    };
    maps::write_predictions(&skel, &news)?;
    let stats = maps::Stats::of(&skel, start.topology)?;
    let observations = Observations::default();
    let ring = ring_of(&skel, &observations)?;
    if needs_switch_drain(&consts) {
        let drain = skel.progs.drain_on_switch.attach()?;
        skel.links.drain_on_switch = Some(drain);
    }
    let link = skel.maps.pandemonium.attach_struct_ops();
    let link = link.context(NotTaken)?;
    Ok(Loaded {
        _link: link,
        ring,
        observations,
        skel,
        stats,
        consts,
    })
}

/// What the scheduler and this daemon ask of the kernel's types.
fn types_for(scheduler: &OpenBpfSkel<'_>) -> Result<Vec<u8>> {
    let file = File::open(KERNEL_TYPES).context(KERNEL_TYPES)?;
    // SAFETY: the kernel does not change its types.
    let mapped = unsafe { MmapOptions::new().map_copy_read_only(&file) };
    let copied;
    let kernel = match &mapped {
        Ok(mapped) => &mapped[..],
        // They cannot be mapped before 6.16.
        Err(_) => {
            copied = fs::read(KERNEL_TYPES).context(KERNEL_TYPES)?;
            &copied
        }
    };
    // SAFETY: the object outlives the borrow taken here.
    let object = unsafe { scheduler.open_object().as_libbpf_object().as_ref() };
    let btf = Btf::from_bpf_object(object)?.context("the scheduler has no type information")?;
    let mut len = 0;
    // SAFETY: a valid handle; the bytes belong to it and do not change.
    let bytes = unsafe { libbpf_sys::btf__raw_data(btf.as_libbpf_object().as_ptr(), &mut len) };
    anyhow::ensure!(!bytes.is_null(), "there is no room for type information");
    // SAFETY: as many bytes as `len` says are there as long as the handle is.
    let scheduler = unsafe { std::slice::from_raw_parts(bytes.cast(), len as usize) };
    let names = bpf_consts::names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    needed_types::needed(kernel, scheduler, &names)
}

/// How much work each program was for the verifier, which gives up at a million instructions.
fn log_verified(skel: &BpfSkel<'_>) {
    if !log::log_enabled!(log::Level::Debug) {
        return;
    }
    for prog in skel.object().progs() {
        let mut info = libbpf_sys::bpf_prog_info::default();
        let mut len = size_of_val(&info) as u32;
        let fd = prog.as_fd().as_raw_fd();
        // SAFETY: `info` is plain, and as long as `len` says.
        let error = unsafe {
            libbpf_sys::bpf_obj_get_info_by_fd(fd, std::ptr::from_mut(&mut info).cast(), &mut len)
        };
        if error == 0 {
            log::debug!(
                "verified {}: {} instructions",
                prog.name().to_string_lossy(),
                info.verified_insns
            );
        }
    }
}

fn fill_constants(open: &mut OpenBpfSkel<'_>, consts: &KernelConsts) -> Result<()> {
    let rodata = open
        .maps
        .rodata_data
        .as_deref_mut()
        .context("read-only data is not mapped")?;
    let len = size_of_val(rodata);
    // SAFETY: the mapped section as bytes, with no other reference to it alive.
    let bytes = unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(rodata).cast(), len) };
    consts.fill(open.open_object(), bytes)
}

/// From 6.19 to 7.0 only the tracepoint tells when a higher class takes a CPU; later kernels give such
/// tasks back by themselves, if the function that moves tasks can be told to.
fn needs_switch_drain(consts: &KernelConsts) -> bool {
    consts.has_reenqueue_anywhere() && !consts.has_immediate_moves()
}

/// Makes the callbacks and flags those of the running kernel.
fn prepare_ops(open: &mut OpenBpfSkel<'_>, consts: &KernelConsts) -> Result<()> {
    // The headers' own probe needs the function tracer, which not every kernel has.
    open.progs.scx_lib_init_probe.set_autoload(false);
    open.progs
        .drain_on_switch
        .set_autoload(needs_switch_drain(consts));
    if consts.has_reenqueue_anywhere() {
        open.progs.pandemonium_cpu_release.set_autoload(false);
        open.struct_ops.pandemonium_mut().cpu_release = std::ptr::null_mut();
    }
    let ops = open.struct_ops.pandemonium_mut();
    ops.flags = OPS_FLAGS
        .iter()
        .fold(0, |flags, name| flags | consts.get(name));
    ops.hotplug_seq = fs::read_to_string(Path::new(SCHED_EXT).join("hotplug_seq"))
        .context("reading the hotplug sequence number")?
        .trim()
        .parse()?;
    Ok(())
}

fn ring_of(skel: &BpfSkel<'_>, observations: &Observations) -> Result<RingBuffer<'static>> {
    let sink = Arc::clone(observations);
    let mut builder = RingBufferBuilder::new();
    builder.add(&skel.maps.records, move |bytes| {
        if let Some(observation) = maps::decode(bytes) {
            sink.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(observation);
        }
        0
    })?;
    Ok(builder.build()?)
}

/// Exit kinds by the kernel's own names: `unreg`, `sysrq`, `error_stall` and so on.
fn exit_of(consts: &KernelConsts, kind: u64, code: i64, reason: String, message: String) -> Exit {
    let name = consts.exit_kind_name(kind).map_or_else(
        || format!("unknown_{kind}"),
        |name| name["SCX_EXIT_".len()..].to_lowercase(),
    );
    // Everything from SCX_EXIT_ERROR on went wrong; below it somebody asked.
    let is_error = kind >= consts.get("SCX_EXIT_ERROR").max(1);
    let wants_restart = code as u64 & consts.get("SCX_ECODE_ACT_RESTART") != 0;
    Exit {
        kind: name,
        code,
        reason,
        message,
        retry: is_error || wants_restart,
    }
}
