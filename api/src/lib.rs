//! The bus contract of PANDEMONIUM.
//!
//! Every name that the daemon, the command line, the applet and the files under `data/` have to agree
//! on is written here once: bus name, object path, interfaces, errors, polkit actions, wire types and
//! the typed client proxies.

mod error;
mod history;
mod name;
mod proxies;
mod snapshot;
mod telemetry;
mod types;

pub use error::{BusError, Refusal, explain};
pub use history::HistoryPoint;
pub use name::{MAX_NAME_BYTES, check_name, unescape_name};
pub use proxies::{
    Ejected, EjectedArgs, EjectedStream, HoldsCancelled, HoldsCancelledArgs, HoldsCancelledStream,
    Metrics1Proxy, Processes1Proxy, Reverted, RevertedArgs, RevertedStream, SampleStream,
    Scheduler1Proxy,
};
pub use snapshot::{SNAPSHOT_UNITS, Snapshot};
pub use telemetry::telemetry_line;
pub use types::{
    HoldRow, LastExit, ModeOptions, ProfileDetails, ProfileFilter, ProfileRow, escape, printable,
};

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
pub const API_LEVEL: u32 = 4;

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
    /// Holding a mode for as long as a program runs.
    pub const HOLD: &str = "org.pandemonium.hold";
    /// Listing learned profiles, which shows the names of other users' programs.
    pub const INSPECT: &str = "org.pandemonium.inspect";
    /// Compositors, primary domain, idle selector and what outlasts the daemon: what holds for every user
    /// of the machine.
    pub const CONFIGURE: &str = "org.pandemonium.configure";
    /// Deciding on the tiers of programs, forgetting them, and taking them over from elsewhere.
    pub const MODIFY_PROFILES: &str = "org.pandemonium.modify-profiles";
    /// Every action of the policy file.
    pub const ALL: [&str; 5] = [SET_MODE, HOLD, INSPECT, CONFIGURE, MODIFY_PROFILES];
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

/// The keys of the options of `SetMode`; any other key is refused.
pub mod mode_option {
    use std::ops::RangeInclusive;

    /// `b`: the next start takes this mode too.
    pub const PERSIST: &str = "persist";
    /// `u`: seconds after which the mode goes back by itself unless it is confirmed.
    pub const CONFIRM_TIMEOUT: &str = "confirm-timeout";
    /// The seconds that are accepted: long enough to read a dialog, short enough to sit out.
    pub const CONFIRM_SECONDS: RangeInclusive<u32> = 5..=600;
}

/// The choices that `ResetChoices` knows.
pub mod choice {
    /// Names of compositors, added or removed.
    pub const COMPOSITORS: &str = "compositors";
    /// The primary domain.
    pub const PRIMARY_DOMAIN: &str = "primary-domain";
    /// What the domain `auto` stands for.
    pub const POWER_MAP: &str = "power-map";
    /// Who finds idle CPUs.
    pub const IDLE_SELECTOR: &str = "idle-selector";
    /// Every choice.
    pub const ALL: [&str; 4] = [COMPOSITORS, PRIMARY_DOMAIN, POWER_MAP, IDLE_SELECTOR];
}

/// Why a mode that was to be confirmed went back: the last argument of the signal `Reverted`.
pub mod revert {
    /// Nobody confirmed it in time.
    pub const TIMEOUT: &str = "timeout";
    /// Somebody called `Revert`.
    pub const REQUEST: &str = "request";
    /// Somebody called `Stop`.
    pub const STOPPED: &str = "stopped";
    /// The kernel ended the scheduler meanwhile.
    pub const EJECTED: &str = "ejected";
    /// Every reason.
    pub const ALL: [&str; 4] = [TIMEOUT, REQUEST, STOPPED, EJECTED];
}

/// Words of the property `ModeReason` that clients tell apart from the rest, which is for people.
pub mod mode_reason {
    /// A mode that was to be confirmed went back to this one.
    pub const REVERT: &str = "revert";
}

/// The values of the property `Regime`, in the order of their numbers in the history.
pub mod regime {
    /// Mostly idle.
    pub const LIGHT: &str = "LIGHT";
    /// In between.
    pub const MIXED: &str = "MIXED";
    /// Saturated.
    pub const HEAVY: &str = "HEAVY";
    /// Every regime.
    pub const ALL: [&str; 3] = [LIGHT, MIXED, HEAVY];
}

/// The keys of the options of `Processes1.List`; any other key is refused.
pub mod filter {
    /// `s`: `batch`, `interactive` or `lat_critical`.
    pub const TIER: &str = "tier";
    /// `s`: only names that contain this, in their escaped form.
    pub const NAME: &str = "name";
    /// `u`: lowest confidence, permille.
    pub const MIN_CONFIDENCE: &str = "min_confidence";
    /// `b`: only those that are pinned, or only those that are not.
    pub const PINNED: &str = "pinned";
    /// `s`: what to sort by, one of [`crate::sort::ALL`].
    pub const SORT: &str = "sort";
    /// `b`: the other way round; programs that are alike in it stay in the order of their names.
    pub const DESCENDING: &str = "descending";
    /// Every key.
    pub const ALL: [&str; 6] = [TIER, NAME, MIN_CONFIDENCE, PINNED, SORT, DESCENDING];
}

/// What `Processes1.List` sorts by.
pub mod sort {
    /// The bytes of the name.
    pub const NAME: &str = "name";
    /// The least latency-critical first.
    pub const TIER: &str = "tier";
    /// The least sure first.
    pub const CONFIDENCE: &str = "confidence";
    /// The shortest average run first.
    pub const AVG_RUN: &str = "avg-run";
    /// The fewest wake-ups first.
    pub const WAKEUPS: &str = "wakeups";
    /// The longest unused first.
    pub const LAST_USE: &str = "last-use";
    /// Every order.
    pub const ALL: [&str; 6] = [NAME, TIER, CONFIDENCE, AVG_RUN, WAKEUPS, LAST_USE];
}

/// The key of the options of `Processes1.Import`; any other key is refused.
pub mod import {
    /// `b`: what was there goes, instead of what is better of both.
    pub const REPLACE: &str = "replace";
}

/// The power map before anybody chooses another one.
pub const POWER_MAP_AS_SHIPPED: [(&str, &str); 2] =
    [("performance", "performance"), ("power-saver", "powersave")];

/// Most rows that one call of `Processes1.List` returns.
pub const MAX_ROWS: u32 = 512;

/// Most points that one call of `Metrics1.GetHistory` returns: ten minutes, and less than 40 KiB.
pub const MAX_POINTS: u32 = 600;

/// Shortest time between two samples that `Metrics1.Subscribe` takes, milliseconds.
pub const MIN_SAMPLE_INTERVAL_MS: u32 = 250;

/// The journal's MESSAGE_ID of each event that has a catalog entry.
pub mod message_id {
    /// The kernel ended the scheduler.
    pub const EJECTED: &str = "dffac7ee9f4a4689b2a074fca5efeba4";
    /// The mode was changed on request.
    pub const MODE_CHANGED: &str = "f42d91366f5c4ef1aa08400d61c8614f";
    /// Another scheduler is loaded.
    pub const CONFLICT: &str = "74f3a04e37604cbf9fa89715fdfc403f";
    /// A mode that nobody confirmed went back.
    pub const REVERTED: &str = "215d3b9cbda747edb34ebed0f069ab2f";
    /// A request for a mode cancelled the holds.
    pub const HOLDS_CANCELLED: &str = "b219c9b20d734d3a97f52c9cd3cfe634";
    /// The kernel did not take the scheduler.
    pub const NOT_LOADED: &str = "e632a08d88854ad694afe73e1091ca86";
    /// Every message id.
    pub const ALL: [&str; 6] = [
        EJECTED,
        MODE_CHANGED,
        CONFLICT,
        REVERTED,
        HOLDS_CANCELLED,
        NOT_LOADED,
    ];
}
