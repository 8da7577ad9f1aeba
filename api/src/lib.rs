//! The bus contract of PANDEMONIUM.
//!
//! Every name that the daemon, the command line, the applet and the files under `data/` have to agree
//! on is written here once: bus name, object path, interfaces, errors, polkit actions, wire types and
//! the typed client proxies.

mod error;
mod proxies;
mod snapshot;
mod telemetry;
mod types;

pub use error::{BusError, Refusal, explain};
pub use proxies::{
    Ejected, EjectedArgs, EjectedStream, Metrics1Proxy, Processes1Proxy, Scheduler1Proxy,
};
pub use snapshot::Snapshot;
pub use telemetry::telemetry_line;
pub use types::{LastExit, ProfileFilter, ProfileRow, escape};

/// The well-known name of the daemon on the system bus.
pub const BUS_NAME: &str = "org.pandemonium.Scheduler1";
/// The one object.
pub const OBJECT_PATH: &str = "/org/pandemonium/Scheduler1";
/// State, mode and what the kernel says.
pub const SCHEDULER_INTERFACE: &str = "org.pandemonium.Scheduler1";
/// Numbers that change every second.
pub const METRICS_INTERFACE: &str = "org.pandemonium.Metrics1";
/// What was learned about programs.
pub const PROCESSES_INTERFACE: &str = "org.pandemonium.Processes1";
/// Every interface of the object.
pub const INTERFACES: [&str; 3] = [SCHEDULER_INTERFACE, METRICS_INTERFACE, PROCESSES_INTERFACE];
/// Grows by one with every addition to an interface; nothing is ever removed.
pub const API_LEVEL: u32 = 2;

/// Kernel functions the scheduler cannot do without. Some kernel builds lost the prototypes of a few:
/// they exist, but no program may call them.
pub const NEEDED_KFUNCS: [&str; 4] = [
    "bpf_iter_scx_dsq_new",
    "scx_bpf_create_dsq",
    "scx_bpf_select_cpu_dfl",
    "scx_bpf_test_and_clear_cpu_idle",
];

/// The systemd unit that owns the bus name.
pub const UNIT: &str = "pandemonium.service";
/// The system user the unit runs as.
pub const USER: &str = "pandemonium";

/// The polkit action ids.
pub mod action {
    /// Switching the mode at run time.
    pub const SET_MODE: &str = "org.pandemonium.set-mode";
    /// Listing learned profiles, which shows the names of other users' programs.
    pub const INSPECT: &str = "org.pandemonium.inspect";
    /// Compositors, primary domain and idle selector: what holds for every user of the machine.
    pub const CONFIGURE: &str = "org.pandemonium.configure";
    /// Every action of the policy file.
    pub const ALL: [&str; 3] = [SET_MODE, INSPECT, CONFIGURE];
}

/// The values of the properties `Mode` and `RequestedMode` and of the argument of `SetMode`.
pub mod mode {
    /// Loaded, and the knobs follow the workload.
    pub const ADAPTIVE: &str = "adaptive";
    /// Loaded, and the knobs stay at their defaults.
    pub const BPF: &str = "bpf";
    /// Not loaded: the kernel's own scheduler runs.
    pub const OFF: &str = "off";
    /// Every mode.
    pub const ALL: [&str; 3] = [ADAPTIVE, BPF, OFF];
}

/// The values of the property `State`.
pub mod state {
    /// Not loaded, and nothing is being done about it; `StateReason` says why.
    pub const STOPPED: &str = "stopped";
    /// Being loaded.
    pub const STARTING: &str = "starting";
    /// The kernel runs this scheduler.
    pub const RUNNING: &str = "running";
    /// The kernel ended this scheduler; `LastExit` and `NextRetryUSec` say more.
    pub const EJECTED: &str = "ejected";
    /// Another sched_ext scheduler is loaded. It is left alone.
    pub const CONFLICT: &str = "conflict";
    /// This kernel cannot load a sched_ext scheduler.
    pub const UNSUPPORTED: &str = "unsupported";
    /// Every state.
    pub const ALL: [&str; 6] = [STOPPED, STARTING, RUNNING, EJECTED, CONFLICT, UNSUPPORTED];
}

/// The keys of the filter of `Processes1.List`; any other key is refused.
pub mod filter {
    /// `s`: `batch`, `interactive` or `lat_critical`.
    pub const TIER: &str = "tier";
    /// `s`: only names that contain this, in their escaped form.
    pub const NAME: &str = "name";
    /// `u`: lowest confidence, permille.
    pub const MIN_CONFIDENCE: &str = "min_confidence";
}

/// Most rows that one call of `Processes1.List` returns.
pub const MAX_ROWS: u32 = 512;

/// The journal's MESSAGE_ID of each event that has a catalog entry.
pub mod message_id {
    /// The kernel ended the scheduler.
    pub const EJECTED: &str = "dffac7ee9f4a4689b2a074fca5efeba4";
    /// The mode was changed on request.
    pub const MODE_CHANGED: &str = "f42d91366f5c4ef1aa08400d61c8614f";
    /// Another scheduler is loaded.
    pub const CONFLICT: &str = "74f3a04e37604cbf9fa89715fdfc403f";
    /// Every message id.
    pub const ALL: [&str; 3] = [EJECTED, MODE_CHANGED, CONFLICT];
}
