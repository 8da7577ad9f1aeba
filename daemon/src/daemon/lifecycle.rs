//! The state machine: attach, detach, ejection, return.

use pandemonium_api::{BusError, Refusal, message_id};
use pandemonium_policy::{Control, Counters, Mode};
use tokio::time::Instant;

use super::{Daemon, Why};
use crate::clock::realtime_usec;
use crate::kernel::{AttachError, Exit, OPS_NAME};
use crate::status::{State, last_exit, printable};

/// The exit kind of the administrator's SysRq-S.
pub const SYSRQ: &str = "sysrq";

const CONFLICT_OVER: &str =
    "The other scheduler is gone; ask for a mode to load PANDEMONIUM again.";

impl Daemon {
    /// Makes the mode so, or says why not. The wish is remembered either way.
    pub(super) async fn set_mode(&mut self, mode: Mode, caller: &str) -> Result<(), Refusal> {
        let before = (self.status.requested, self.status.state);
        self.status.requested = mode;
        self.backoff.reset();
        self.plan_retry(None);
        let result = match mode {
            Mode::Off => {
                self.stop("Switched off on request.");
                Ok(())
            }
            Mode::Adaptive | Mode::Bpf if self.status.state == State::Running => self.apply_mode(),
            Mode::Adaptive | Mode::Bpf => self
                .attach(Why::Asked)
                .await
                .map_err(|error| refusal(&error)),
        };
        self.publish();
        if result.is_ok() && before != (self.status.requested, self.status.state) {
            log::info!(
                MESSAGE_ID = message_id::MODE_CHANGED,
                PANDEMONIUM_MODE = mode.name(),
                PANDEMONIUM_CALLER = caller;
                "mode {} on request of {caller}", mode.name()
            );
        }
        result
    }

    /// Attaches, and plans the next attempt if that makes sense.
    pub(super) async fn attach(&mut self, why: Why) -> Result<(), AttachError> {
        self.settle(State::Starting, "Being loaded.");
        self.control = Control::new(self.limits);
        self.knobs = self.control.knobs();
        self.previous = None;
        self.totals = Counters::default();
        self.follow_machine();
        self.predict_anew();
        let (settings, predictions) = (self.settings.clone(), self.predictions.clone());
        let attaching = self
            .engine
            .attach(self.limits, self.knobs, settings, predictions);
        let result = attaching.await;
        match &result {
            Ok(()) => {
                self.plan_retry(None);
                self.status.restarts += u32::from(why == Why::Return);
                self.status.state = State::Running;
                // Loading may have found CPUs that were not known before.
                self.follow_machine();
                self.settle(State::Running, "");
                log::info!("attached, mode {}", self.status.requested.name());
            }
            Err(error) => self.not_attached(error),
        }
        result
    }

    fn not_attached(&mut self, error: &AttachError) {
        let sentence = error.to_string();
        let mut wait = None;
        let state = match error {
            AttachError::Unsupported(_) => State::Unsupported,
            AttachError::Foreign(name) => {
                // Our own name is most likely an earlier daemon that the kernel still cleans up after.
                if name == OPS_NAME {
                    wait = self.backoff.failed(Instant::now());
                }
                State::Conflict
            }
            AttachError::Permission(_) => State::Stopped,
            AttachError::Load(_) => {
                wait = self.backoff.failed(Instant::now());
                State::Stopped
            }
        };
        if state == State::Conflict {
            log::warn!(MESSAGE_ID = message_id::CONFLICT; "{sentence}");
        } else {
            log::error!("{sentence}");
        }
        self.plan_retry(wait);
        self.settle(state, &sentence);
    }

    /// Asks the kernel half whether our scheduler was ended.
    pub(super) fn check_exit(&mut self) {
        if self.status.state != State::Running {
            return;
        }
        match self.engine.exit() {
            Some(exit) => self.ejected(&exit),
            None if !self.engine.is_attached() => self.ejected(&Exit {
                kind: "lost".into(),
                reason: "the kernel no longer runs this scheduler and does not say why".into(),
                retry: true,
                ..Exit::default()
            }),
            None => {}
        }
    }

    fn ejected(&mut self, exit: &Exit) {
        self.drain_observations();
        self.engine.detach();
        self.previous = None;
        let wait = if exit.retry {
            self.backoff.failed(Instant::now())
        } else {
            None
        };
        let has_given_up = exit.retry && wait.is_none();
        self.plan_retry(wait);
        let shown = last_exit(exit);
        let next = match wait {
            Some(wait) => format!("trying again in {:.1} s", wait.as_secs_f64()),
            None if has_given_up => {
                "that was the fifth failure in ten minutes, so it stays off until a mode is asked for"
                    .to_owned()
            }
            None => "it stays off until a mode is asked for".to_owned(),
        };
        let sentence = format!(
            "The kernel ended the scheduler ({}: {}); {next}.",
            shown.kind, shown.reason
        );
        log::warn!(
            MESSAGE_ID = message_id::EJECTED,
            PANDEMONIUM_EXIT_KIND = shown.kind.as_str(),
            PANDEMONIUM_EXIT_CODE = shown.code,
            PANDEMONIUM_EXIT_REASON = shown.reason.as_str(),
            PANDEMONIUM_EXIT_MESSAGE = shown.message.as_str();
            "{sentence}"
        );
        self.status.last_exit = shown;
        self.status.ejections += 1;
        self.settle(State::Ejected, &sentence);
    }

    /// The wait is over: attach again.
    pub(super) async fn retry(&mut self) {
        self.plan_retry(None);
        // The failure is published and logged; nobody waits for it.
        let _ = self.attach(Why::Return).await;
    }

    /// While not running: notices other schedulers come and go.
    pub(super) fn look_around(&mut self) {
        let kernel = self.engine.status();
        let is_taken = kernel.is_enabled() && !self.engine.is_attached();
        match self.status.state {
            State::Conflict if !is_taken && self.retry_at.is_none() => {
                self.settle(State::Stopped, CONFLICT_OVER)
            }
            State::Ejected | State::Stopped if is_taken && self.status.requested != Mode::Off => {
                self.not_attached(&AttachError::Foreign(printable(kernel).ops));
            }
            _ => {}
        }
    }

    fn stop(&mut self, reason: &str) {
        self.drain_observations();
        self.engine.detach();
        self.previous = None;
        self.settle(State::Stopped, reason);
    }

    fn plan_retry(&mut self, wait: Option<std::time::Duration>) {
        self.retry_at = wait.map(|wait| Instant::now() + wait);
        let usec = wait.map(|wait| u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
        self.status.next_retry_usec = usec.map_or(0, |usec| realtime_usec().saturating_add(usec));
    }

    /// Enters a state and publishes it with what the kernel says at this moment.
    pub(super) fn settle(&mut self, state: State, reason: &str) {
        self.status.state = state;
        self.status.reason = reason.to_owned();
        if state != State::Running {
            self.status.snapshot = pandemonium_api::Snapshot::default();
        }
        self.publish();
    }

    /// The one way out: the status as it is now, with the kernel's own words.
    pub(super) fn publish(&mut self) {
        let status = &mut self.status;
        status.kernel = printable(self.engine.status());
        status.snapshot.state = status.state.name().to_owned();
        status.snapshot.mode = status.mode().name().to_owned();
        status.snapshot.profiles = u32::try_from(self.profiles.len()).unwrap_or(u32::MAX);
        status.snapshot.confident_profiles = status.learned.confident;
        self.notifier.status(&status.sentence());
        self.published.send_replace(status.clone());
    }
}

fn refusal(error: &AttachError) -> Refusal {
    let kind = match error {
        AttachError::Unsupported(_) => BusError::NotSupported,
        AttachError::Foreign(_) => BusError::ForeignScheduler,
        AttachError::Permission(_) | AttachError::Load(_) => BusError::LoadFailed,
    };
    kind.because(error.to_string())
}
