//! What systemd is told about the service. Without systemd every call does nothing.

use std::time::Duration;

use libsystemd::daemon::{NotifyState, notify, watchdog_enabled};

/// The service's line to systemd.
#[derive(Default)]
pub struct Notifier {
    is_watched: bool,
    shown: String,
}

impl Notifier {
    /// Finds out whether the watchdog is on.
    pub fn new() -> Notifier {
        Notifier {
            is_watched: watchdog_enabled(false).is_some(),
            shown: String::new(),
        }
    }

    /// The result of the first attach is known.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// The control loop has come round.
    pub fn watchdog(&self) {
        if self.is_watched {
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// The text of `systemctl status`; sent only when it differs from the last one.
    pub fn status(&mut self, text: &str) {
        if self.shown != text {
            self.shown = text.to_owned();
            tell(&[NotifyState::Status(text.to_owned())]);
        }
    }

    /// A reload begins; it ends with [`Notifier::ready`].
    pub fn reloading(&self, monotonic: Duration) {
        let usec = monotonic.as_micros();
        tell(&[
            NotifyState::Reloading,
            NotifyState::Other(format!("MONOTONIC_USEC={usec}")),
        ]);
    }

    /// The service is leaving.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }
}

fn tell(states: &[NotifyState]) {
    if let Err(error) = notify(false, states) {
        log::debug!("systemd cannot be notified: {error}");
    }
}
