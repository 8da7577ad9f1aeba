//! Owns all state. One loop: tick, request, kernel event, retry, signal.

mod leaving;
mod lifecycle;
mod sampling;

use std::io;
use std::time::Duration;

use pandemonium_api::Refusal;
use pandemonium_policy::{Control, Counters, Knobs, Limits, Mode, Profiles, Reading};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::backoff::Backoff;
use crate::bus::authority::Permit;
use crate::clock::{self, SuspendDetector};
use crate::config::{self, Source};
use crate::engine::Engine;
use crate::failure::{Failure, exit_code};
use crate::kernel::Kernel;
use crate::notify::Notifier;
use crate::profile_store::ProfileStore;
use crate::status::Status;

/// Ticks between two looks of the bus at the learned profiles.
const LEARNED_TICKS: u64 = 5;
/// Ticks between two saves of the learned profiles.
const SAVE_TICKS: u64 = 600;

/// What somebody asked for. It cannot be made without the authority's permit.
pub struct Request {
    /// Proof that the caller may.
    pub permit: Permit,
    /// What to do.
    pub command: Command,
    /// Where the result goes.
    pub reply: oneshot::Sender<Result<(), Refusal>>,
}

/// Everything that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Switch the mode.
    SetMode(Mode),
}

/// How fast time passes; only a scripted kernel changes it.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two rounds of the control loop.
    pub tick: Duration,
    /// A second of back-off.
    pub backoff_second: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            tick: Duration::from_secs(1),
            backoff_second: Duration::from_secs(1),
        }
    }
}

/// What the daemon starts from.
pub struct Setup {
    /// The kernel half.
    pub kernel: Box<dyn Kernel>,
    /// CPUs for the core-count formulas.
    pub nr_cpus: u32,
    /// The count was given on the command line, so hotplug does not change it.
    pub is_cpu_count_fixed: bool,
    /// The first mode.
    pub mode: Mode,
    /// How fast time passes.
    pub pace: Pace,
    /// Where profiles are kept.
    pub store: ProfileStore,
    /// Where the configuration comes from, for a reload.
    pub config: Source,
    /// The configured mode, which a reload compares with.
    pub configured_mode: Mode,
    /// Print a line a second.
    pub has_telemetry: bool,
    /// Nobody can ask for anything: leave instead of waiting for a request.
    pub is_alone: bool,
}

/// The daemon.
pub struct Daemon {
    engine: Engine,
    limits: Limits,
    is_cpu_count_fixed: bool,
    control: Control,
    knobs: Knobs,
    previous: Option<Reading>,
    totals: Counters,
    profiles: Profiles,
    loaded_generation: u64,
    saving: Option<JoinHandle<io::Result<()>>>,
    store: ProfileStore,
    status: Status,
    published: watch::Sender<Status>,
    requests: mpsc::Receiver<Request>,
    backoff: Backoff,
    retry_at: Option<Instant>,
    suspend: SuspendDetector,
    notifier: Notifier,
    config: Source,
    configured_mode: Mode,
    ticks: u64,
    is_reading_broken: bool,
    has_telemetry: bool,
    is_alone: bool,
}

/// Why the scheduler is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Somebody wants it.
    Asked,
    /// The back-off is over.
    Return,
}

/// What ends the wait of the loop.
enum Event {
    Tick,
    Request(Request),
    Kernel,
    Retry,
    Reload,
    Leave,
}

/// The signals that are listened to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Daemon {
    /// Loads the learned profiles; attaching waits for [`Daemon::run`].
    pub fn new(
        setup: Setup,
        published: watch::Sender<Status>,
        requests: mpsc::Receiver<Request>,
    ) -> Daemon {
        let limits = Limits::for_cpus(setup.nr_cpus);
        let control = Control::new(limits);
        let (profiles, warning) = setup.store.load();
        if let Some(warning) = &warning {
            log::warn!("{warning}");
        }
        let status = Status {
            requested: setup.mode,
            warnings: warning.into_iter().collect(),
            ..Status::default()
        };
        let mut daemon = Daemon {
            engine: Engine::new(setup.kernel),
            limits,
            is_cpu_count_fixed: setup.is_cpu_count_fixed,
            knobs: control.knobs(),
            control,
            previous: None,
            totals: Counters::default(),
            loaded_generation: profiles.generation(),
            saving: None,
            profiles,
            store: setup.store,
            status,
            published,
            requests,
            backoff: Backoff::new(setup.pace.backoff_second),
            retry_at: None,
            suspend: SuspendDetector::default(),
            notifier: Notifier::new(),
            config: setup.config,
            configured_mode: setup.configured_mode,
            ticks: 0,
            is_reading_broken: false,
            has_telemetry: setup.has_telemetry,
            is_alone: setup.is_alone,
        };
        daemon.refresh_learned();
        daemon.publish();
        daemon
    }

    /// Runs until a signal, or until nothing is left to do for a daemon without a bus.
    pub async fn run(mut self, tick: Duration) -> Result<(), Failure> {
        let mut signals = Signals::new()?;
        let mut ticker = interval(tick);
        ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.start().await?;
        self.notifier.ready();
        loop {
            match self.next_event(&mut signals, &mut ticker).await {
                Event::Tick => self.tick(),
                Event::Request(request) => self.serve(request).await,
                Event::Kernel => self.check_exit(),
                Event::Retry => self.retry().await,
                Event::Reload => self.reload().await,
                Event::Leave => break,
            }
            if let Some(end) = self.is_pointless() {
                self.leave().await;
                return end;
            }
        }
        self.leave().await;
        Ok(())
    }

    async fn start(&mut self) -> Result<(), Failure> {
        if self.status.requested == Mode::Off {
            return Ok(());
        }
        match self.attach(Why::Asked).await {
            Err(error) if self.is_alone && self.retry_at.is_none() => Err(Failure::new(
                exit_code::of_attach(&error),
                error.to_string(),
            )),
            _ => Ok(()),
        }
    }

    async fn next_event(&mut self, signals: &mut Signals, ticker: &mut Interval) -> Event {
        let retry_at = self.retry_at;
        let retry = async {
            match retry_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = signals.terminate.recv() => Event::Leave,
            _ = signals.interrupt.recv() => Event::Leave,
            _ = ticker.tick() => Event::Tick,
            () = self.engine.event() => Event::Kernel,
            () = retry => Event::Retry,
            _ = signals.hangup.recv() => Event::Reload,
            Some(request) = self.requests.recv() => Event::Request(request),
        }
    }

    async fn serve(&mut self, request: Request) {
        let Command::SetMode(mode) = request.command;
        let result = self.set_mode(mode, &request.permit.caller()).await;
        // A caller that has gone does not need the answer.
        let _ = request.reply.send(result);
    }

    /// Reads the configuration again. A wrong one changes nothing.
    async fn reload(&mut self) {
        self.notifier.reloading(clock::monotonic());
        match config::load(&self.config) {
            Ok(config) if config.mode != self.configured_mode => {
                self.configured_mode = config.mode;
                if let Err(refusal) = self.set_mode(config.mode, "the configuration").await {
                    log::error!("{refusal}");
                }
            }
            Ok(_) => {}
            Err(error) => log::error!("The configuration stays as it was: {error}."),
        }
        self.notifier.ready();
    }
}

impl Signals {
    fn new() -> Result<Signals, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(
                    exit_code::OTHER,
                    format!("Cannot listen to signals: {error}."),
                )
            })
        };
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }
}
