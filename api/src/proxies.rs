//! Typed client proxies. The interfaces themselves are documented in
//! `data/dbus/org.pandemonium.Scheduler1.xml`.

use std::collections::{BTreeMap, HashMap};

use zbus::{Fd, OwnedFd, Variant, proxy};

use crate::{HistoryPoint, HoldRow, LastExit, ProfileDetails, ProfileRow, Snapshot};

/// State, mode and what the kernel says.
#[proxy(
    interface = "org.pandemonium.Scheduler1",
    default_service = "org.pandemonium.Scheduler1",
    default_path = "/org/pandemonium/Scheduler1"
)]
pub trait Scheduler1 {
    /// Switches the mode. Returns when the kernel agrees.
    #[zbus(allow_interactive_auth)]
    fn set_mode(&self, mode: &str, options: HashMap<&str, Variant<'_>>) -> zbus::Result<()>;

    /// Keeps the mode that waits for a confirmation.
    #[zbus(allow_interactive_auth)]
    fn confirm(&self) -> zbus::Result<()>;

    /// Takes it back at once.
    #[zbus(allow_interactive_auth)]
    fn revert(&self) -> zbus::Result<()>;

    /// Loads the scheduler in the mode that was wanted last.
    #[zbus(allow_interactive_auth)]
    fn start(&self) -> zbus::Result<()>;

    /// Takes the scheduler off without forgetting which mode is wanted.
    #[zbus(allow_interactive_auth)]
    fn stop(&self) -> zbus::Result<()>;

    /// Loads the scheduler anew.
    #[zbus(allow_interactive_auth)]
    fn restart(&self) -> zbus::Result<()>;

    /// Reads the configuration files again.
    #[zbus(allow_interactive_auth)]
    fn reload(&self) -> zbus::Result<()>;

    /// Holds a mode until the descriptor is closed. At its end of file the hold was cancelled.
    #[zbus(allow_interactive_auth)]
    fn hold(&self, mode: &str, reason: &str, application: &str) -> zbus::Result<OwnedFd>;

    /// Writes a report for people into a regular file, pipe or socket.
    #[zbus(allow_interactive_auth)]
    fn write_diagnostics(&self, fd: Fd<'_>) -> zbus::Result<()>;

    /// Treats programs of this name as compositors; with a `*` at its end, all whose names start so.
    #[zbus(allow_interactive_auth)]
    fn add_compositor(&self, pattern: &str) -> zbus::Result<()>;

    /// Takes a name back, which has to be one of the property's, text for text.
    #[zbus(allow_interactive_auth)]
    fn remove_compositor(&self, pattern: &str) -> zbus::Result<()>;

    /// Prefers these CPUs: `all`, `performance`, `powersave`, `auto`, or a CPU mask in hex.
    #[zbus(allow_interactive_auth)]
    fn set_primary_domain(&self, domain: &str) -> zbus::Result<()>;

    /// Replaces the power map. The keys are `ac`, `battery`, `performance`, `balanced` and `power-saver`;
    /// the values as for `set_primary_domain`, but for `auto`.
    #[zbus(allow_interactive_auth)]
    fn set_power_map(&self, map: BTreeMap<&str, &str>) -> zbus::Result<()>;

    /// Switches the scheduler's own choice of idle CPUs on, or to the kernel's.
    #[zbus(allow_interactive_auth)]
    fn set_idle_selector(&self, on: bool) -> zbus::Result<()>;

    /// Takes these choices, of [`crate::choice::ALL`], back to the configuration; without any, all of them.
    #[zbus(allow_interactive_auth)]
    fn reset_choices(&self, choices: &[&str]) -> zbus::Result<()>;

    /// The kernel ended the scheduler.
    #[zbus(signal)]
    fn ejected(
        &self,
        kind: String,
        code: i64,
        reason: String,
        will_retry: bool,
        next_retry_usec: u64,
    ) -> zbus::Result<()>;

    /// A mode that waited for a confirmation went back; reason is one of [`crate::revert::ALL`].
    #[zbus(signal)]
    fn reverted(&self, from: String, to: String, reason: String) -> zbus::Result<()>;

    /// A request for a mode cancelled these holds.
    #[zbus(signal)]
    fn holds_cancelled(&self, by: String, holds: Vec<HoldRow>) -> zbus::Result<()>;

    /// One of [`crate::state::ALL`].
    #[zbus(property)]
    fn state(&self) -> zbus::Result<String>;
    /// One sentence on why the state is what it is; empty while running.
    #[zbus(property)]
    fn state_reason(&self) -> zbus::Result<String>;
    /// The mode in effect, one of [`crate::mode::ALL`].
    #[zbus(property)]
    fn mode(&self) -> zbus::Result<String>;
    /// The mode that was asked for last.
    #[zbus(property)]
    fn requested_mode(&self) -> zbus::Result<String>;
    /// The mode that the next start of the daemon takes.
    #[zbus(property)]
    fn boot_mode(&self) -> zbus::Result<String>;
    /// Who or what decided the mode in effect.
    #[zbus(property)]
    fn mode_reason(&self) -> zbus::Result<String>;
    /// When the mode goes back unless it is confirmed, microseconds of CLOCK_REALTIME; 0 for never.
    #[zbus(property, name = "ConfirmUSec")]
    fn confirm_usec(&self) -> zbus::Result<u64>;
    /// The programs that hold a mode, the newest last.
    #[zbus(property)]
    fn holds(&self) -> zbus::Result<Vec<HoldRow>>;
    /// The kernel's own state word.
    #[zbus(property)]
    fn kernel_state(&self) -> zbus::Result<String>;
    /// The name of the loaded sched_ext scheduler, whoever loaded it; empty without one.
    #[zbus(property)]
    fn kernel_ops(&self) -> zbus::Result<String>;
    /// Why the kernel last ended the scheduler.
    #[zbus(property)]
    fn last_exit(&self) -> zbus::Result<LastExit>;
    /// Automatic returns since the daemon started.
    #[zbus(property)]
    fn restart_count(&self) -> zbus::Result<u32>;
    /// When the next automatic return is tried, microseconds of CLOCK_REALTIME; 0 for never.
    #[zbus(property, name = "NextRetryUSec")]
    fn next_retry_usec(&self) -> zbus::Result<u64>;
    /// `LIGHT`, `MIXED` or `HEAVY`; empty while not running.
    #[zbus(property)]
    fn regime(&self) -> zbus::Result<String>;
    /// A fork storm is on.
    #[zbus(property)]
    fn burst(&self) -> zbus::Result<bool>;
    /// Batch work has been waiting for seconds.
    #[zbus(property)]
    fn longrun(&self) -> zbus::Result<bool>;
    /// Sentences about things that work less well than they could.
    #[zbus(property)]
    fn warnings(&self) -> zbus::Result<Vec<String>>;
    /// The names whose programs are compositors, sorted.
    #[zbus(property)]
    fn compositors(&self) -> zbus::Result<Vec<String>>;
    /// The primary domain as it was asked for.
    #[zbus(property)]
    fn primary_domain(&self) -> zbus::Result<String>;
    /// The CPUs it stands for as a mask in hex; empty for every CPU.
    #[zbus(property)]
    fn primary_domain_cpus(&self) -> zbus::Result<String>;
    /// What the domain `auto` stands for in which power situation.
    #[zbus(property)]
    fn power_map(&self) -> zbus::Result<BTreeMap<String, String>>;
    /// `ac` or `battery`; empty if nobody says.
    #[zbus(property)]
    fn power_source(&self) -> zbus::Result<String>;
    /// `performance`, `balanced` or `power-saver`; empty if nobody says.
    #[zbus(property)]
    fn power_profile(&self) -> zbus::Result<String>;
    /// Whether the scheduler chooses idle CPUs itself.
    #[zbus(property)]
    fn idle_selector(&self) -> zbus::Result<bool>;
    /// The daemon's version.
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> zbus::Result<String>;
    /// [`crate::API_LEVEL`] of the daemon.
    #[zbus(property(emits_changed_signal = "const"))]
    fn api_level(&self) -> zbus::Result<u32>;
}

/// Numbers that change every second.
#[proxy(
    interface = "org.pandemonium.Metrics1",
    default_service = "org.pandemonium.Scheduler1",
    default_path = "/org/pandemonium/Scheduler1"
)]
pub trait Metrics1 {
    /// Everything known about the last tick.
    fn get_snapshot(&self) -> zbus::Result<Snapshot>;

    /// The ticks after this moment (microseconds of CLOCK_REALTIME), oldest first: at most `max`, and at
    /// most [`crate::MAX_POINTS`].
    fn get_history(&self, since_usec: u64, max: u32) -> zbus::Result<Vec<HistoryPoint>>;

    /// Asks for the signal `Sample`, at most one in this many milliseconds, until the connection ends.
    fn subscribe(&self, interval_ms: u32) -> zbus::Result<()>;

    /// Takes that back.
    fn unsubscribe(&self) -> zbus::Result<()>;

    /// A tick, for those who subscribed.
    #[zbus(signal)]
    fn sample(&self, sample: Snapshot) -> zbus::Result<()>;

    /// One of [`crate::regime::ALL`]; empty while not running.
    #[zbus(property(emits_changed_signal = "false"))]
    fn regime(&self) -> zbus::Result<String>;
    /// A fork storm is on.
    #[zbus(property(emits_changed_signal = "false"))]
    fn burst(&self) -> zbus::Result<bool>;
    /// Batch work has been waiting for seconds.
    #[zbus(property(emits_changed_signal = "false"))]
    fn longrun(&self) -> zbus::Result<bool>;
    /// 99th percentile of the wake-up latency during the last tick, ns; 0 if unknown.
    #[zbus(property(emits_changed_signal = "false"), name = "P99Nsec")]
    fn p99_nsec(&self) -> zbus::Result<u64>;
    /// The same by tier: batch, interactive, latency-critical.
    #[zbus(property(emits_changed_signal = "false"), name = "P99ByTierNsec")]
    fn p99_by_tier_nsec(&self) -> zbus::Result<(u64, u64, u64)>;
    /// When the last tick ended, microseconds of CLOCK_REALTIME; 0 before the first.
    #[zbus(property(emits_changed_signal = "false"), name = "SampledUSec")]
    fn sampled_usec(&self) -> zbus::Result<u64>;
}

/// What was learned about programs.
#[proxy(
    interface = "org.pandemonium.Processes1",
    default_service = "org.pandemonium.Scheduler1",
    default_path = "/org/pandemonium/Scheduler1"
)]
pub trait Processes1 {
    /// A page of the learned programs, the number of matches, and the generation they belong to.
    #[zbus(allow_interactive_auth)]
    fn list(
        &self,
        offset: u32,
        limit: u32,
        filter: HashMap<&str, Variant<'_>>,
    ) -> zbus::Result<(Vec<ProfileRow>, u32, u64)>;

    /// One learned program, and why it has its tier.
    #[zbus(allow_interactive_auth)]
    fn get(&self, name: &[u8]) -> zbus::Result<(ProfileRow, ProfileDetails)>;

    /// Decides on the tier of a program, known or not.
    #[zbus(allow_interactive_auth)]
    fn pin(&self, name: &[u8], tier: &str) -> zbus::Result<()>;

    /// Takes that back.
    #[zbus(allow_interactive_auth)]
    fn unpin(&self, name: &[u8]) -> zbus::Result<()>;

    /// Forgets what was learned about a program; a pin stays.
    #[zbus(allow_interactive_auth)]
    fn forget(&self, name: &[u8]) -> zbus::Result<()>;

    /// Forgets what was learned about all of them, and says how many these were.
    #[zbus(allow_interactive_auth)]
    fn forget_all(&self) -> zbus::Result<u32>;

    /// Writes all profiles as text to a file, pipe or socket.
    #[zbus(allow_interactive_auth)]
    fn export(&self, to: Fd<'_>) -> zbus::Result<()>;

    /// Reads such text from a file or pipe, and says how many profiles it had.
    #[zbus(allow_interactive_auth)]
    fn import(&self, from: Fd<'_>, options: HashMap<&str, Variant<'_>>) -> zbus::Result<u32>;

    /// Learned programs.
    #[zbus(property)]
    fn count(&self) -> zbus::Result<u32>;
    /// Those whose tier is sure enough to be used.
    #[zbus(property)]
    fn confident_count(&self) -> zbus::Result<u32>;
    /// The most that are kept.
    #[zbus(property(emits_changed_signal = "const"))]
    fn capacity(&self) -> zbus::Result<u32>;
    /// Grows when the list has changed.
    #[zbus(property)]
    fn generation(&self) -> zbus::Result<u64>;
}
