//! What the daemon needs from the kernel half, and nothing else of it.

use std::os::fd::RawFd;

use pandemonium_policy::{
    Changes, Knobs, Limits, Observation, Prediction, Reading, Settings, Topology,
};
use thiserror::Error;

#[cfg(feature = "bpf")]
pub mod bpf;
#[cfg(feature = "bpf")]
mod bpf_consts;
pub mod fake;
#[cfg(feature = "bpf")]
mod kernel_file;
#[cfg(feature = "bpf")]
mod maps;
#[cfg(feature = "bpf")]
mod needed_types;
#[cfg(feature = "bpf")]
mod refusal;
mod script;

/// The name our scheduler goes by in the kernel.
pub const OPS_NAME: &str = "pandemonium";

/// Why the scheduler could not be attached. Each text is one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AttachError {
    /// The kernel as it was started takes no scheduler: what is in the way, and what to do about it.
    #[error("This kernel cannot load a sched_ext scheduler: {0}.")]
    Unsupported(String),
    /// Another sched_ext scheduler, named here, is loaded.
    #[error("The sched_ext scheduler \"{0}\" is loaded; stop it, then try again.")]
    Foreign(String),
    /// The process may not do what loading takes: what that is, and who may.
    #[error("Not permitted to {0}.")]
    Permission(String),
    /// Anything else, such as a verifier rejection.
    #[error("The kernel refused to load the scheduler ({0}); please report this.")]
    Load(String),
}

impl AttachError {
    /// The kernel was built without what it takes.
    pub fn without_sched_ext() -> AttachError {
        AttachError::Unsupported(
            "it has no /sys/kernel/sched_ext; boot Linux 6.12 or newer with CONFIG_SCHED_CLASS_EXT=y"
                .to_owned(),
        )
    }

    /// The process lacks the right to load programs; `said` is how that was told.
    pub fn without_capabilities(said: &str) -> AttachError {
        AttachError::Permission(format!(
            "load BPF programs ({said}); run pandemoniumd as root or give it CAP_BPF and CAP_PERFMON"
        ))
    }
}

/// Why the kernel ended the scheduler, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Such as `sysrq`, `error`, `error_stall` or `unreg`.
    pub kind: String,
    /// The exit code, 0 if there is none.
    pub code: i64,
    /// One line.
    pub reason: String,
    /// More, often empty.
    pub message: String,
    /// Whether attaching again by itself is right; not so after the administrator's SysRq-S.
    pub retry: bool,
}

/// What the kernel says about sched_ext as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelStatus {
    /// `/sys/kernel/sched_ext/state`, or `unavailable`.
    pub state: String,
    /// `/sys/kernel/sched_ext/root/ops`, empty if nothing is loaded.
    pub ops: String,
    /// How often any scheduler was enabled since boot.
    pub enable_seq: u64,
}

impl KernelStatus {
    /// Whether some scheduler is loaded.
    pub fn is_enabled(&self) -> bool {
        self.state == "enabled"
    }

    /// Whether some scheduler is loaded or on its way out: the kernel takes no other one until it has gone.
    pub fn is_taken(&self) -> bool {
        matches!(self.state.as_str(), "enabling" | "enabled" | "disabling")
    }
}

/// The kernel half of the scheduler.
pub trait Kernel: Send {
    /// Loads and attaches; blocks for about a second, or for half a minute on a slow machine.
    fn attach(
        &mut self,
        limits: &Limits,
        knobs: &Knobs,
        settings: &Settings,
        predictions: &[Prediction],
    ) -> Result<(), AttachError>;
    /// Detaches; the kernel's own scheduler is back when it returns. Harmless when not attached.
    fn detach(&mut self);
    /// Whether our scheduler is the loaded one.
    fn is_attached(&self) -> bool;
    /// Reads the counters.
    fn read(&mut self) -> anyhow::Result<Reading>;
    /// Makes the kernel half work with these knobs.
    fn write_knobs(&mut self, knobs: &Knobs) -> anyhow::Result<()>;
    /// Makes the kernel half keep to these limits.
    fn write_limits(&mut self, limits: &Limits) -> anyhow::Result<()>;
    /// Makes the kernel half follow these settings.
    fn write_settings(&mut self, settings: &Settings) -> anyhow::Result<()>;
    /// Makes the kernel half start tasks of these names with what is known about them now. What was
    /// written about others stays.
    fn write_predictions(&mut self, news: &Changes) -> anyhow::Result<()>;
    /// The machine, as of the last attach.
    fn topology(&self) -> &Topology;
    /// Hands over what was observed about tasks since the last call.
    fn drain_observations(&mut self, sink: &mut dyn FnMut(Observation));
    /// Why the kernel ended our scheduler: set once, taking it clears it.
    fn exit(&mut self) -> Option<Exit>;
    /// Readable when [`Kernel::exit`] may have something to say. May change with every attach.
    fn event_fd(&self) -> Option<RawFd>;
    /// What the kernel says about sched_ext now.
    fn status(&mut self) -> KernelStatus;
}
