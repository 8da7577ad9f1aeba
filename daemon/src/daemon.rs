//! Owns all state. One loop: tick, request, kernel event, retry, signal.

mod choosing;
mod confirming;
mod editing;
mod holding;
mod leaving;
mod lifecycle;
mod sampling;

pub use holding::Held;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pandemonium_api::{BusError, ModeOptions, Refusal, revert};
use pandemonium_policy::{
    Control, Counters, Knobs, Limits, Mode, Pattern, PowerMap, Predictions, PrimaryDomain,
    Profiles, Reading, Settings,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::backoff::Backoff;
use crate::bus::authority::Permit;
use crate::choices::{Choice, Overrides};
use crate::clock::{self, SuspendDetector};
use crate::config::{self, Config, Source};
use crate::engine::Engine;
use crate::failure::{Failure, exit_code};
use crate::kernel::Kernel;
use crate::memory::{Memory, MemoryStore};
use crate::notify::Notifier;
use crate::power::Told;
use crate::profile_store::ProfileStore;
use crate::status::{State, Status};
use crate::ticker::Ticker;
use crate::wanted::Wanted;
pub use editing::{Comm, Edit};
use holding::Watch;

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
    /// Where the result goes: how many programs it concerned, where that is the question.
    pub reply: oneshot::Sender<Result<u32, Refusal>>,
}

/// Everything that can be asked for.
#[derive(Debug)]
pub enum Command {
    /// Switch the mode.
    SetMode(Mode, ModeOptions),
    /// Keep this mode, which waits for a confirmation, and remember it if that was asked for.
    Confirm(Mode, bool),
    /// Take it back.
    Revert,
    /// Load the scheduler in the mode that was wanted last.
    Start,
    /// Take it off until somebody starts it.
    Stop,
    /// Load it anew.
    Restart,
    /// Read the configuration again.
    Reload,
    /// Hold a mode while a program runs.
    Hold(Held),
    /// Treat programs of this name as compositors.
    AddCompositor(Pattern),
    /// Do so no longer.
    RemoveCompositor(Pattern),
    /// Prefer these CPUs.
    SetPrimaryDomain(PrimaryDomain),
    /// Let the automatic domain follow the power situation like this.
    SetPowerMap(PowerMap),
    /// Find idle CPUs in our own masks, or in the kernel's.
    SetIdleSelector(bool),
    /// Go back to the configuration.
    ResetChoices(Vec<Choice>),
    /// Change what is known about programs.
    Edit(Edit),
}

/// How fast time passes; only a scripted kernel changes it.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two rounds of the control loop.
    pub tick: Duration,
    /// A second of back-off, or of the wait for a confirmation.
    pub second: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            tick: Duration::from_secs(1),
            second: Duration::from_secs(1),
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
    /// The first mode, if the command line says one.
    pub mode: Option<Mode>,
    /// How fast time passes.
    pub pace: Pace,
    /// Where profiles are kept.
    pub store: ProfileStore,
    /// Where decisions are kept.
    pub memory: MemoryStore,
    /// Where the configuration comes from, for a reload.
    pub config: Source,
    /// What was read there, with the command line's choices on top; a reload compares with it.
    pub configured: Config,
    /// The command line's choices.
    pub overrides: Overrides,
    /// Where the power profile is read if no service says it.
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
    /// Those that the kernel half was told.
    limits_in_force: Limits,
    is_cpu_count_fixed: bool,
    control: Control,
    knobs: Knobs,
    settings: Settings,
    /// What the kernel half was told about programs, and the names of those of which it may not know the latest.
    predicted: Predictions,
    unpredicted: BTreeSet<[u8; 16]>,
    previous: Option<Reading>,
    totals: Counters,
    profiles: Profiles,
    /// That of the profiles on the disk.
    saved_generation: u64,
    saving: Option<JoinHandle<io::Result<u64>>>,
    is_save_due: bool,
    not_saved: Option<String>,
    store: ProfileStore,
    wanted: Wanted,
    mode_option: Option<Mode>,
    memory: Memory,
    memory_store: MemoryStore,
    remembering: Option<JoinHandle<io::Result<()>>>,
    not_remembered: Option<String>,
    pace: Pace,
    confirm_at: Option<Instant>,
    watches: HashMap<u64, Watch>,
    holds_so_far: u64,
    over: mpsc::UnboundedSender<u64>,
    released: mpsc::UnboundedReceiver<u64>,
    status: Status,
    published: watch::Sender<Status>,
    requests: mpsc::Receiver<Request>,
    backoff: Backoff,
    retry_at: Option<Instant>,
    /// How it ended, if it does not come back before a mode is asked for.
    ended: Option<(State, String)>,
    suspend: SuspendDetector,
    notifier: Notifier,
    config: Source,
    configured: Config,
    overrides: Overrides,
    configuration_refused: Option<String>,
    /// Why the configured mode could not be brought about, until it is or another one is decided on.
    mode_refused: Option<String>,
    sysfs: Option<PathBuf>,
    told: watch::Receiver<Told>,
    heard: Told,
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
    Unconfirmed,
    Released(u64),
    Reload,
    Told,
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
        told: watch::Receiver<Told>,
    ) -> Daemon {
        let limits = Limits::for_cpus(setup.nr_cpus);
        let control = Control::new(limits);
        let (profiles, warning) = setup.store.load();
        let (memory, other) = setup.memory.load();
        let (choices, too_many) =
            choosing::at_start(&memory, &setup.overrides, &setup.configured.choices);
        let warnings = warning.into_iter().chain(other).chain(too_many);
        let warnings: Vec<_> = warnings.collect();
        for warning in &warnings {
            log::warn!("{warning}");
        }
        let status = Status {
            choices: choices.into(),
            warnings,
            ..Status::default()
        };
        // Not bounded, but there is one message for each hold, and holds are few.
        let (over, released) = mpsc::unbounded_channel();
        let boot_mode = memory.mode(setup.configured.mode);
        let mut daemon = Daemon {
            engine: Engine::new(setup.kernel),
            limits,
            limits_in_force: limits,
            is_cpu_count_fixed: setup.is_cpu_count_fixed,
            knobs: control.knobs(),
            control,
            settings: Settings::default(),
            predicted: Predictions::default(),
            unpredicted: BTreeSet::new(),
            previous: None,
            totals: Counters::default(),
            saved_generation: profiles.generation(),
            saving: None,
            is_save_due: false,
            not_saved: None,
            profiles,
            store: setup.store,
            wanted: Wanted::at_boot(setup.mode.unwrap_or(boot_mode)),
            mode_option: setup.mode,
            memory,
            memory_store: setup.memory,
            remembering: None,
            not_remembered: None,
            pace: setup.pace,
            confirm_at: None,
            watches: HashMap::new(),
            holds_so_far: 0,
            over,
            released,
            status,
            published,
            requests,
            backoff: Backoff::new(setup.pace.second),
            retry_at: None,
            ended: None,
            suspend: SuspendDetector::default(),
            notifier: Notifier::new(),
            config: setup.config,
            configured: setup.configured,
            overrides: setup.overrides,
            configuration_refused: None,
            mode_refused: None,
            sysfs: setup.sysfs,
            told,
            heard: Told::default(),
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
    pub async fn run(mut self) -> Result<(), Failure> {
        let mut signals = Signals::new()?;
        let ticker = Ticker::every(self.pace.tick).map_err(|error| {
            Failure::new(exit_code::OTHER, format!("There is no timer: {error}."))
        })?;
        self.start().await?;
        self.notifier.ready();
        // What the configuration has overtaken is forgotten for good.
        self.remember_choices().await;
        loop {
            match self.next_event(&mut signals, &ticker).await {
                Event::Tick => self.tick(),
                Event::Request(request) => self.serve(request).await,
                Event::Kernel => self.check_exit(),
                Event::Retry => self.retry().await,
                Event::Unconfirmed => self.revert(revert::TIMEOUT).await,
                Event::Released(id) => self.release(id).await,
                Event::Reload => {
                    if let Err(refusal) = self.reload().await {
                        log::error!("{refusal}");
                    }
                }
                Event::Told => self.hear(),
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
        if self.wanted.target() == Mode::Off {
            return Ok(());
        }
        match self.attach(Why::Asked).await {
            Err(error) if self.is_alone && self.retry_at.is_none() => {
                Err(Failure::logged(exit_code::of_attach(&error)))
            }
            _ => Ok(()),
        }
    }

    async fn next_event(&mut self, signals: &mut Signals, ticker: &Ticker) -> Event {
        let (retry, unconfirmed) = (until(self.retry_at), until(self.confirm_at));
        tokio::select! {
            biased;
            _ = signals.terminate.recv() => Event::Leave,
            _ = signals.interrupt.recv() => Event::Leave,
            () = ticker.tick() => Event::Tick,
            () = self.engine.event() => Event::Kernel,
            () = retry => Event::Retry,
            () = unconfirmed => Event::Unconfirmed,
            _ = signals.hangup.recv() => Event::Reload,
            Some(id) = self.released.recv() => Event::Released(id),
            Some(request) = self.requests.recv() => Event::Request(request),
            // Last: whatever others say how often, a request goes first.
            Ok(()) = self.told.changed() => Event::Told,
        }
    }

    async fn serve(&mut self, request: Request) {
        let caller = request.permit.caller();
        let result = match request.command {
            Command::Edit(edit) => {
                // The only one with an answer that somebody waits for.
                let _ = request.reply.send(self.edit_profiles(edit, &caller));
                return;
            }
            Command::SetMode(mode, options) => self.set_mode(mode, options, &caller).await,
            Command::Confirm(mode, is_lasting) => self.confirm(mode, is_lasting, &caller).await,
            Command::Revert => self.revert_now(&caller).await,
            Command::Start => self.start_again(&caller).await,
            Command::Stop => self.stop_for_now(&caller).await,
            Command::Restart => self.restart(&caller).await,
            Command::Reload => self.reload().await,
            Command::Hold(held) => self.hold(held, request.permit.uid(), &caller).await,
            Command::AddCompositor(name) => self.add_compositor(name, &caller).await,
            Command::RemoveCompositor(name) => self.remove_compositor(name, &caller).await,
            Command::SetPrimaryDomain(domain) => self.set_domain(domain, &caller).await,
            Command::SetPowerMap(map) => self.set_power_map(map, &caller).await,
            Command::SetIdleSelector(is_on) => self.set_idle_selector(is_on, &caller).await,
            Command::ResetChoices(which) => self.reset_choices(&which, &caller).await,
        };
        // A caller that has gone does not need the answer.
        let _ = request.reply.send(result.map(|()| 0));
    }

    /// systemd cannot be told that a reload failed, so people are, until one succeeds.
    fn warn_about_configuration(&mut self, refused: Option<String>) {
        let before = std::mem::replace(&mut self.configuration_refused, refused.clone());
        self.replace_warning(before.as_ref(), refused);
    }

    /// The configured mode no longer has to be brought about, and the warning that it could not be goes.
    fn forget_refused_mode(&mut self) {
        let refused = self.mode_refused.take();
        if refused.is_some() && refused == self.configuration_refused {
            self.warn_about_configuration(None);
        }
    }

    /// A failure is told once, until it is over or becomes another one.
    fn warn_once(&mut self, before: Option<&String>, now: Option<String>) {
        if before == now.as_ref() {
            return;
        }
        if let Some(sentence) = &now {
            log::warn!("{sentence}");
        }
        self.replace_warning(before, now);
    }

    fn replace_warning(&mut self, before: Option<&String>, now: Option<String>) {
        let warnings = &mut self.status.warnings;
        warnings.retain(|warning| Some(warning) != before);
        warnings.extend(now);
        self.publish();
    }

    /// Reads the configuration again. A wrong one changes nothing.
    async fn reload(&mut self) -> Result<(), Refusal> {
        self.notifier.reloading(clock::monotonic());
        let result = match config::load(&self.config) {
            Ok(config) => self.reconfigure(config).await,
            Err(error) => Err(BusError::InvalidConfig
                .because(format!("The configuration stays as it was: {error}."))),
        };
        self.warn_about_configuration(result.as_ref().err().map(ToString::to_string));
        self.notifier.ready();
        result
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
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
