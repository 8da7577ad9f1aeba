//! What the daemon answers about its state, as read from the bus.

use pandemonium_api::{HoldRow, LastExit};

use crate::connection::{Daemon, answer};
use crate::domain::Domain;
use crate::error::Error;
use crate::text::printable;

/// The API level from which on a daemon knows [`Choices`].
const CHOICES_LEVEL: u32 = 2;
/// The same for [`Wanted`].
const WANTED_LEVEL: u32 = 3;

/// What people chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// `PrimaryDomain` and `PrimaryDomainCpus`.
    pub domain: Domain,
    /// `IdleSelector`.
    pub idle_selector: bool,
    /// `Compositors`.
    pub compositors: Vec<String>,
}

impl Choices {
    /// Asks the daemon; `None` if it is too old to know.
    async fn read(daemon: &Daemon) -> zbus::Result<Option<Choices>> {
        let scheduler = &daemon.scheduler;
        if scheduler.api_level().await? < CHOICES_LEVEL {
            return Ok(None);
        }
        Ok(Some(Choices {
            domain: Domain::read(daemon).await?,
            idle_selector: scheduler.idle_selector().await?,
            compositors: scheduler.compositors().await?,
        }))
    }
}

/// Which mode is wanted, and because of whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `BootMode`.
    pub boot_mode: String,
    /// `ModeReason`.
    pub mode_reason: String,
    /// `ConfirmUSec`.
    pub confirm_usec: u64,
    /// `Holds`.
    pub holds: Vec<HoldRow>,
}

impl Wanted {
    /// Asks the daemon; `None` if it is too old to know.
    async fn read(daemon: &Daemon) -> zbus::Result<Option<Wanted>> {
        let scheduler = &daemon.scheduler;
        if scheduler.api_level().await? < WANTED_LEVEL {
            return Ok(None);
        }
        Ok(Some(Wanted {
            boot_mode: scheduler.boot_mode().await?,
            mode_reason: scheduler.mode_reason().await?,
            confirm_usec: scheduler.confirm_usec().await?,
            holds: scheduler.holds().await?,
        }))
    }
}

/// The properties of the daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `State`.
    pub state: String,
    /// `StateReason`.
    pub state_reason: String,
    /// `Mode`.
    pub mode: String,
    /// `RequestedMode`.
    pub requested_mode: String,
    /// `KernelState`.
    pub kernel_state: String,
    /// `KernelOps`.
    pub kernel_ops: String,
    /// `LastExit`.
    pub last_exit: LastExit,
    /// `RestartCount`.
    pub restart_count: u32,
    /// `NextRetryUSec`.
    pub next_retry_usec: u64,
    /// Why the mode is what it is, as far as the daemon knows it.
    pub wanted: Option<Wanted>,
    /// What people chose, as far as the daemon knows it.
    pub choices: Option<Choices>,
    /// `Warnings`.
    pub warnings: Vec<String>,
    /// `Version`.
    pub version: String,
}

impl Status {
    /// Asks the daemon. The proxies keep what they were told, so asking again is cheap.
    pub async fn read(daemon: &Daemon) -> Result<Status, Error> {
        let scheduler = &daemon.scheduler;
        answer(async {
            Ok(Status {
                state: scheduler.state().await?,
                state_reason: scheduler.state_reason().await?,
                mode: scheduler.mode().await?,
                requested_mode: scheduler.requested_mode().await?,
                kernel_state: scheduler.kernel_state().await?,
                kernel_ops: scheduler.kernel_ops().await?,
                last_exit: scheduler.last_exit().await?,
                restart_count: scheduler.restart_count().await?,
                next_retry_usec: scheduler.next_retry_usec().await?,
                wanted: Wanted::read(daemon).await?,
                choices: Choices::read(daemon).await?,
                warnings: scheduler.warnings().await?,
                version: scheduler.version().await?,
            })
        })
        .await
    }

    /// The kernel's state and the loaded scheduler in one phrase.
    pub fn kernel(&self) -> String {
        match (self.kernel_state.as_str(), self.kernel_ops.as_str()) {
            ("", _) => "unknown".to_owned(),
            (state, "") => format!("sched_ext {}", printable(state)),
            (state, ops) => format!("sched_ext {}, {} loaded", printable(state), printable(ops)),
        }
    }
}
