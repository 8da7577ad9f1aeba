//! Owns all state. One loop: tick, request, kernel event, retry, signal.

mod choosing;
mod leaving;
mod lifecycle;
mod sampling;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pandemonium_api::Refusal;
use pandemonium_policy::{
    Control, Counters, Knobs, Limits, Mode, Pattern, Prediction, PrimaryDomain, Profiles, Reading,
    Settings,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::backoff::Backoff;
use crate::bus::authority::Permit;
use crate::choices::Overrides;
use crate::clock::{self, SuspendDetector};
use crate::config::{self, Config, Source};
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
    /// Treat programs of this name as compositors.
    AddCompositor(Pattern),
    /// Do so no longer.
    RemoveCompositor(Pattern),
    /// Prefer these CPUs.
    SetPrimaryDomain(PrimaryDomain),
    /// Find idle CPUs in our own masks, or in the kernel's.
    SetIdleSelector(bool),
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
    /// What was read there, with the command line's choices on top; a reload compares with it.
    pub configured: Config,
    /// The command line's choices.
    pub overrides: Overrides,
    /// Where the power profile is read; without it, it is always balanced.
    pub sysfs: Option<PathBuf>,
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
    settings: Settings,
    predictions: Vec<Prediction>,
    predicted_generation: u64,
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
    configured: Config,
    overrides: Overrides,
    sysfs: Option<PathBuf>,
    ticks: u64,
    is_reading_broken: bool,
    is_following_broken: bool,
    is_predicting_broken: bool,
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
            choices: setup.configured.choices.clone(),
            warnings: warning.into_iter().collect(),
            ..Status::default()
        };
        let mut daemon = Daemon {
            engine: Engine::new(setup.kernel),
            limits,
            is_cpu_count_fixed: setup.is_cpu_count_fixed,
            knobs: control.knobs(),
            control,
            settings: Settings::default(),
            predictions: Vec::new(),
            predicted_generation: profiles.generation(),
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
            configured: setup.configured,
            overrides: setup.overrides,
            sysfs: setup.sysfs,
            ticks: 0,
            is_reading_broken: false,
            is_following_broken: false,
            is_predicting_broken: false,
            has_telemetry: setup.has_telemetry,
            is_alone: setup.is_alone,
        };
        daemon.refresh_learned();
        daemon.follow_machine();
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
        let caller = request.permit.caller();
        let result = match request.command {
            Command::SetMode(mode) => self.set_mode(mode, &caller).await,
            Command::AddCompositor(name) => self.add_compositor(name, &caller),
            Command::RemoveCompositor(name) => self.remove_compositor(name, &caller),
            Command::SetPrimaryDomain(domain) => self.set_domain(domain, &caller),
            Command::SetIdleSelector(is_on) => self.set_idle_selector(is_on, &caller),
        };
        // A caller that has gone does not need the answer.
        let _ = request.reply.send(result);
    }

    /// Reads the configuration again. A wrong one changes nothing.
    async fn reload(&mut self) {
        self.notifier.reloading(clock::monotonic());
        match config::load(&self.config) {
            Ok(config) => self.reconfigure(config).await,
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
