//! The state machine: attach, detach, ejection, return.

use std::convert::Infallible;
use std::time::Duration;

use pandemonium_api::{BusError, Refusal, message_id, revert};
use pandemonium_policy::{Control, Counters, Mode};
use tokio::time::{Instant, interval};

use super::{Daemon, Pace, Why};
use crate::clock::realtime_usec_in;
use crate::kernel::{AttachError, Exit, OPS_NAME};
use crate::notify::Notifier;
use crate::status::{State, last_exit, printable};

/// The exit kind of the administrator's SysRq-S.
pub const SYSRQ: &str = "sysrq";

/// Seconds. An emulated machine takes half of them.
const LONGEST_ATTACH: u32 = 60;

const CONFLICT_OVER: &str =
    "The other scheduler is gone; ask for a mode to load PANDEMONIUM again.";

impl Daemon {
    /// Makes the wanted mode so because somebody asks for it, whatever happened before; or says why not.
    pub(super) async fn bring_about(&mut self, caller: &str) -> Result<(), Refusal> {
        let before = (self.status.target, self.status.state);
        let mode = self.wanted.target();
        self.backoff.reset();
        self.plan_retry(None);
        // Whoever only holds it off, or tries that, does not ask for what had ended.
        if mode != Mode::Off {
            self.ended = None;
        }
        let result = match mode {
            Mode::Off => {
                self.stop(self.wanted.why_off());
                Ok(())
            }
            Mode::Adaptive | Mode::Bpf if self.status.state == State::Running => self.apply_mode(),
            Mode::Adaptive | Mode::Bpf => self
                .attach(Why::Asked)
                .await
                .map_err(|error| refusal(&error)),
        };
        self.publish();
        if result.is_ok() && before != (self.status.target, self.status.state) {
            log::info!(
                MESSAGE_ID = message_id::MODE_CHANGED,
                PANDEMONIUM_MODE = mode.name(),
                PANDEMONIUM_CALLER = caller;
                "mode {} on request of {caller}", mode.name()
            );
        }
        result
    }

    /// The wanted mode has changed by itself: follows it. What is not loaded although it was wanted stays
    /// so, also if it was off meanwhile; what goes wrong is published and logged, and nobody waits for it.
    pub(super) async fn follow(&mut self, before: Mode) {
        match self.wanted.target() {
            now if now == before => {}
            Mode::Off => {
                self.plan_retry(None);
                self.stop(self.wanted.why_off());
            }
            _ if self.status.state == State::Running => {
                let _ = self.apply_mode();
            }
            _ if before == Mode::Off => match self.ended.clone() {
                Some((state, sentence)) => self.settle(state, &sentence),
                None => {
                    let _ = self.attach(Why::Asked).await;
                }
            },
            _ => {}
        }
        self.publish();
    }

    /// Somebody wants the scheduler loaded, in whatever mode was wanted last.
    pub(super) async fn start_again(&mut self, caller: &str) -> Result<(), Refusal> {
        self.wanted.start(format!("request of {caller}"));
        // It is asked for, even if a program still holds it off.
        self.ended = None;
        if self.status.state == State::Running && self.wanted.target() == self.status.target {
            return Ok(());
        }
        self.bring_about(caller).await
    }

    /// Somebody wants it off until it is started.
    pub(super) async fn stop_for_now(&mut self, caller: &str) -> Result<(), Refusal> {
        self.cancel_holds(caller);
        self.take_back(revert::STOPPED);
        self.forget_refused_mode();
        self.wanted.stop(format!("request of {caller}"));
        self.bring_about(caller).await
    }

    /// Somebody wants it loaded anew.
    pub(super) async fn restart(&mut self, caller: &str) -> Result<(), Refusal> {
        self.wanted.start(format!("request of {caller}"));
        self.ended = None;
        if self.status.state == State::Running && self.wanted.target() != Mode::Off {
            self.unload();
            self.status.state = State::Starting;
        }
        self.bring_about(caller).await
    }

    /// Attaches, and plans the next attempt if that makes sense.
    pub(super) async fn attach(&mut self, why: Why) -> Result<(), AttachError> {
        self.settle(State::Starting, "Being loaded.");
        self.control = Control::new(self.limits);
        self.knobs = self.control.knobs();
        self.previous = None;
        self.totals = Counters::default();
        self.follow_machine();
        let (settings, predictions) = (self.settings.clone(), self.predict_anew());
        let attaching = self
            .engine
            .attach(self.limits, self.knobs, settings, predictions);
        let feeding = feed(&self.notifier, self.pace);
        let result = tokio::select! {
            result = attaching => result,
            never = feeding => match never {},
        };
        match &result {
            Ok(()) => {
                self.plan_retry(None);
                self.ended = None;
                self.forget_refused_mode();
                self.limits_in_force = self.limits;
                self.status.restarts += u32::from(why == Why::Return);
                self.status.state = State::Running;
                // Loading may have found CPUs that were not known before.
                self.follow_machine();
                self.settle(State::Running, "");
                log::info!("attached, mode {}", self.wanted.target().name());
            }
            Err(error) => self.not_attached(error),
        }
        result
    }

    /// Every attempt has its entry in the journal; only one that nothing follows by itself is an error there.
    fn not_attached(&mut self, error: &AttachError) {
        let state = match error {
            AttachError::Unsupported(_) => State::Unsupported,
            AttachError::Foreign(_) => State::Conflict,
            AttachError::Permission(_) | AttachError::Load(_) => State::Stopped,
        };
        let is_worth_it = match error {
            // Our own name is most likely an earlier daemon that the kernel still cleans up after.
            AttachError::Foreign(name) => name == OPS_NAME,
            AttachError::Load(_) => true,
            AttachError::Unsupported(_) | AttachError::Permission(_) => false,
        };
        let wait = self.next_attempt(is_worth_it);
        let sentence = error.to_string();
        if state == State::Conflict {
            log::warn!(MESSAGE_ID = message_id::CONFLICT; "{sentence}");
        } else {
            let level = match wait {
                Some(_) => log::Level::Warn,
                None => log::Level::Error,
            };
            log::log!(level, MESSAGE_ID = message_id::NOT_LOADED; "{sentence}");
        }
        self.settle_down(state, sentence, wait);
    }

    /// Plans the next attempt to attach, if another one is worth it and there were not too many already.
    fn next_attempt(&mut self, is_worth_it: bool) -> Option<Duration> {
        let wait = is_worth_it
            .then(|| self.backoff.failed(Instant::now()))
            .flatten();
        self.plan_retry(wait);
        wait
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
        self.unload();
        self.take_back(revert::EJECTED);
        let is_worth_it = exit.retry && self.wanted.target() != Mode::Off;
        let wait = self.next_attempt(is_worth_it);
        let has_given_up = is_worth_it && wait.is_none();
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
        self.status.note_exit(shown);
        self.settle_down(State::Ejected, sentence, wait);
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
        let is_foreign = kernel.is_enabled() && !self.engine.is_attached();
        match self.status.state {
            State::Conflict if !kernel.is_taken() && self.retry_at.is_none() => {
                self.settle_down(State::Stopped, CONFLICT_OVER.to_owned(), None);
            }
            State::Ejected | State::Stopped if is_foreign && self.wanted.target() != Mode::Off => {
                self.not_attached(&AttachError::Foreign(printable(kernel).ops));
            }
            _ => {}
        }
    }

    /// Enters a state without a scheduler, and keeps it in mind if no return is planned.
    fn settle_down(&mut self, state: State, reason: String, wait: Option<Duration>) {
        self.settle(state, &reason);
        self.ended = wait.is_none().then_some((state, reason));
    }

    fn stop(&mut self, reason: &str) {
        self.unload();
        self.settle(State::Stopped, reason);
    }

    fn unload(&mut self) {
        self.drain_observations();
        self.engine.detach();
        self.previous = None;
    }

    fn plan_retry(&mut self, wait: Option<Duration>) {
        self.retry_at = wait.map(|wait| Instant::now() + wait);
        self.status.next_retry_usec = wait.map_or(0, realtime_usec_in);
    }

    /// Enters a state and publishes it with what the kernel says at this moment.
    pub(super) fn settle(&mut self, state: State, reason: &str) {
        self.status.state = state;
        self.status.reason = reason.to_owned();
        if state != State::Running {
            self.status.tick = None;
        }
        self.publish();
    }

    /// The one way out: the status as it is now, with the kernel's own words.
    pub(super) fn publish(&mut self) {
        let remembered = self.memory.mode(self.configured.mode);
        let status = &mut self.status;
        status.target = self.wanted.target();
        status.requested = self.wanted.wish();
        status.start_mode = self.wanted.start_mode();
        status.trial = self.wanted.trial();
        status.revert_mode = self.wanted.revert_mode();
        status.why = self.wanted.why();
        status.holds = self.wanted.holds();
        status.boot_mode = self.mode_option.unwrap_or(remembered);
        status.kernel = printable(self.engine.status());
        status.profiles = u32::try_from(self.profiles.len()).unwrap_or(u32::MAX);
        self.notifier.status(&status.sentence());
        self.published.send_replace(status.clone());
    }
}

/// Tells the watchdog that the loop, which waits for an attach, still can: as often as otherwise, but only as long as
/// an attach may take.
async fn feed(notifier: &Notifier, pace: Pace) -> Infallible {
    let mut ticker = interval(pace.tick);
    let end = Instant::now() + pace.second * LONGEST_ATTACH;
    while ticker.tick().await < end {
        notifier.watchdog();
    }
    std::future::pending().await
}

fn refusal(error: &AttachError) -> Refusal {
    let kind = match error {
        AttachError::Unsupported(_) => BusError::NotSupported,
        AttachError::Foreign(_) => BusError::ForeignScheduler,
        AttachError::Permission(_) | AttachError::Load(_) => BusError::LoadFailed,
    };
    kind.because(error.to_string())
}
