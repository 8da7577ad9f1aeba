//! A daemon that only pretends: it keeps what it is told, refuses what a test wants it to refuse, and
//! remembers every request.
#![allow(dead_code, reason = "each test file uses its own part")]

mod metrics;
pub mod processes;

use std::collections::{BTreeMap, HashMap};
use std::io::{PipeWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pandemonium_api::{
    API_LEVEL, BUS_NAME, BusError, HoldRow, LastExit, ModeOptions, OBJECT_PATH, Refusal,
};
use tempfile::TempDir;
use tokio::sync::oneshot;
use zbus::OwnedVariant;
use zbus::{connection, interface};

use crate::bus::Bus;
use metrics::Metrics;
use processes::Processes;

/// What the daemon keeps.
pub struct Kept {
    pub state: &'static str,
    pub compositors: Vec<String>,
    pub domain: String,
    pub mask: String,
    pub power_map: BTreeMap<String, String>,
    pub idle_selector: bool,
    pub mode: String,
    pub mode_reason: &'static str,
    pub boot_mode: &'static str,
    pub confirm_usec: u64,
    /// A mode that needs the scheduler is wanted from then on, and fails.
    pub cannot_load: bool,
    /// Our end of the last hold.
    pub held: Option<PipeWriter>,
    /// What every change is refused with.
    pub refusal: Option<(BusError, &'static str)>,
    /// The scheduler goes away at this request, counted from 1.
    pub ends_at_request: Option<usize>,
    /// Every change that was asked for.
    pub requests: Vec<String>,
    /// Snapshots that were asked for.
    pub snapshots: u64,
    /// The samples that a subscriber gets, by their time; then the connection lives on in silence.
    pub samples: Vec<u64>,
}

impl Kept {
    fn ask(&mut self, request: String) -> Result<(), Refusal> {
        self.requests.push(request);
        if self.ends_at_request == Some(self.requests.len()) {
            self.state = "ejected";
        }
        match self.refusal {
            Some((error, sentence)) => Err(error.because(sentence)),
            None => Ok(()),
        }
    }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Kept>>);

impl Shared {
    fn new() -> Shared {
        Shared(Arc::new(Mutex::new(Kept {
            state: "running",
            compositors: vec!["kwin_wayland*".into(), "sway".into()],
            domain: "all".into(),
            mask: String::new(),
            power_map: BTreeMap::from([("battery".into(), "0xf0".into())]),
            idle_selector: true,
            mode: "adaptive".into(),
            mode_reason: "boot",
            boot_mode: "bpf",
            confirm_usec: 0,
            cannot_load: false,
            held: None,
            refusal: None,
            ends_at_request: None,
            requests: Vec::new(),
            snapshots: 0,
            samples: vec![10, 11, 12],
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Scheduler(Shared);

#[interface(name = "org.pandemonium.Scheduler1")]
impl Scheduler {
    fn add_compositor(&self, pattern: String) -> Result<(), Refusal> {
        let mut kept = self.0.lock();
        kept.ask(format!("add {pattern}"))?;
        kept.compositors.push(pattern);
        Ok(())
    }

    fn remove_compositor(&self, pattern: String) -> Result<(), Refusal> {
        let mut kept = self.0.lock();
        kept.ask(format!("remove {pattern}"))?;
        kept.compositors.retain(|name| *name != pattern);
        Ok(())
    }

    fn set_primary_domain(&self, domain: String) -> Result<(), Refusal> {
        let mut kept = self.0.lock();
        kept.ask(format!("domain {domain}"))?;
        kept.mask = if domain == "all" { "" } else { "0xf0" }.to_owned();
        kept.domain = domain;
        Ok(())
    }

    fn set_power_map(&self, map: BTreeMap<String, String>) -> Result<(), Refusal> {
        let mut kept = self.0.lock();
        let entries = map.iter().map(|(key, domain)| format!(" {key}={domain}"));
        let request = format!("power{}", entries.collect::<String>());
        kept.ask(request)?;
        kept.power_map = map;
        Ok(())
    }

    fn set_idle_selector(&self, on: bool) -> Result<(), Refusal> {
        let mut kept = self.0.lock();
        kept.ask(format!("idle {on}"))?;
        kept.idle_selector = on;
        Ok(())
    }

    fn reset_choices(&self, choices: Vec<String>) -> Result<(), Refusal> {
        let mut kept = self.0.lock();
        kept.ask(format!("reset {}", choices.join(" ")))?;
        for choice in choices {
            match choice.as_str() {
                "compositors" => kept.compositors = vec!["sway".into()],
                "primary-domain" => (kept.domain, kept.mask) = ("auto".into(), String::new()),
                "power-map" => kept.power_map = BTreeMap::from([("ac".into(), "all".into())]),
                "idle-selector" => kept.idle_selector = true,
                other => panic!("there is no choice {other}"),
            }
        }
        Ok(())
    }

    fn set_mode(
        &self,
        mode: String,
        options: HashMap<String, OwnedVariant>,
    ) -> Result<(), Refusal> {
        let mut kept = self.0.lock();
        let options = ModeOptions::from_options(&options).expect("known options");
        let mut request = format!("mode {mode}");
        if options.persist {
            request += " for good";
        }
        if let Some(seconds) = options.confirm_seconds {
            request += &format!(" on trial for {seconds}");
            kept.confirm_usec = u64::MAX;
        }
        kept.ask(request)?;
        // One that went away is off, whatever it was told.
        kept.mode = if kept.state == "ejected" {
            "off".to_owned()
        } else {
            mode
        };
        if kept.cannot_load && kept.mode != "off" {
            return Err(BusError::LoadFailed.because("It cannot be loaded."));
        }
        Ok(())
    }

    fn confirm(&self) -> Result<(), Refusal> {
        self.0.lock().ask("confirm".to_owned())
    }

    fn revert(&self) -> Result<(), Refusal> {
        self.0.lock().ask("revert".to_owned())
    }

    fn start(&self) -> Result<(), Refusal> {
        self.0.lock().ask("start".to_owned())
    }

    fn stop(&self) -> Result<(), Refusal> {
        self.0.lock().ask("stop".to_owned())
    }

    fn restart(&self) -> Result<(), Refusal> {
        self.0.lock().ask("restart".to_owned())
    }

    fn reload(&self) -> Result<(), Refusal> {
        self.0.lock().ask("reload".to_owned())
    }

    fn hold(
        &self,
        mode: String,
        reason: String,
        application: String,
    ) -> Result<zbus::OwnedFd, Refusal> {
        let mut kept = self.0.lock();
        kept.ask(format!("hold {mode} for {application} ({reason})"))?;
        let (theirs, ours) = std::io::pipe().expect("a pipe");
        kept.held = Some(ours);
        Ok(std::os::fd::OwnedFd::from(theirs).into())
    }

    fn write_diagnostics(&self, fd: zbus::OwnedFd) -> Result<(), Refusal> {
        self.0.lock().ask("diagnostics".to_owned())?;
        let mut file = std::fs::File::from(std::os::fd::OwnedFd::from(fd));
        file.write_all(b"a report\n").expect("it can be written to");
        Ok(())
    }

    #[zbus(property)]
    fn boot_mode(&self) -> String {
        self.0.lock().boot_mode.to_owned()
    }

    #[zbus(property)]
    fn mode_reason(&self) -> String {
        self.0.lock().mode_reason.to_owned()
    }

    #[zbus(property, name = "ConfirmUSec")]
    fn confirm_usec(&self) -> u64 {
        self.0.lock().confirm_usec
    }

    #[zbus(property)]
    fn holds(&self) -> Vec<HoldRow> {
        vec![HoldRow {
            mode: "adaptive".into(),
            application: "game".into(),
            reason: "fun".into(),
            uid: 7,
            usec: 9,
        }]
    }

    #[zbus(property)]
    fn compositors(&self) -> Vec<String> {
        self.0.lock().compositors.clone()
    }

    #[zbus(property)]
    fn primary_domain(&self) -> String {
        self.0.lock().domain.clone()
    }

    #[zbus(property)]
    fn primary_domain_cpus(&self) -> String {
        self.0.lock().mask.clone()
    }

    #[zbus(property)]
    fn power_map(&self) -> BTreeMap<String, String> {
        self.0.lock().power_map.clone()
    }

    #[zbus(property)]
    fn power_source(&self) -> String {
        "battery".to_owned()
    }

    #[zbus(property)]
    fn power_profile(&self) -> String {
        String::new()
    }

    #[zbus(property)]
    fn idle_selector(&self) -> bool {
        self.0.lock().idle_selector
    }

    #[zbus(property)]
    fn state(&self) -> String {
        self.0.lock().state.to_owned()
    }

    #[zbus(property)]
    fn state_reason(&self) -> String {
        String::new()
    }

    #[zbus(property)]
    fn mode(&self) -> String {
        self.0.lock().mode.clone()
    }

    #[zbus(property)]
    fn requested_mode(&self) -> String {
        self.0.lock().mode.clone()
    }

    #[zbus(property)]
    fn kernel_state(&self) -> String {
        "enabled".to_owned()
    }

    #[zbus(property)]
    fn kernel_ops(&self) -> String {
        "pandemonium".to_owned()
    }

    #[zbus(property)]
    fn last_exit(&self) -> LastExit {
        LastExit::default()
    }

    #[zbus(property)]
    fn restart_count(&self) -> u32 {
        0
    }

    #[zbus(property, name = "NextRetryUSec")]
    fn next_retry_usec(&self) -> u64 {
        0
    }

    #[zbus(property)]
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    #[zbus(property)]
    fn version(&self) -> String {
        "0".to_owned()
    }

    #[zbus(property)]
    fn api_level(&self) -> u32 {
        API_LEVEL
    }
}

/// A daemon of the time before there was anything to choose.
struct OldScheduler;

#[interface(name = "org.pandemonium.Scheduler1")]
impl OldScheduler {
    #[zbus(property)]
    fn state(&self) -> String {
        "running".to_owned()
    }

    #[zbus(property)]
    fn api_level(&self) -> u32 {
        1
    }
}

/// A daemon on a bus of its own; both end with this.
pub struct Pretended {
    kept: Shared,
    /// Where the bus listens.
    pub bus: Bus,
    end: Option<oneshot::Sender<()>>,
    _dir: TempDir,
}

impl Pretended {
    /// A daemon that runs and has an idle selector that is on.
    pub fn start() -> Pretended {
        let kept = Shared::new();
        let scheduler = Scheduler(kept.clone());
        let processes = Processes(kept.clone());
        let metrics = Metrics(kept.clone());
        Pretended::serve(kept, |builder| {
            builder
                .serve_at(OBJECT_PATH, scheduler)
                .serve_at(OBJECT_PATH, metrics)
                .serve_at(OBJECT_PATH, processes)
        })
    }

    /// A daemon that cannot be told anything.
    pub fn start_old() -> Pretended {
        Pretended::serve(Shared::new(), |builder| {
            builder.serve_at(OBJECT_PATH, OldScheduler)
        })
    }

    fn serve(
        kept: Shared,
        with: impl FnOnce(connection::Builder<'static>) -> connection::Builder<'static> + Send + 'static,
    ) -> Pretended {
        let dir = tempfile::tempdir().expect("a directory");
        let bus = Bus::start(dir.path(), None);
        let address = bus.address.clone();
        let (end, ended) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("an event loop");
            runtime.block_on(async {
                let address: zbus::Address = address.parse().expect("an address");
                let builder = with(connection::Builder::address(address).name(BUS_NAME));
                let _connection = builder.build().await.expect("a connection");
                ready.send(()).expect("somebody waits");
                // Resolves when the other end is dropped.
                let _ = ended.await;
            });
        });
        is_ready.recv().expect("the daemon is there");
        Pretended {
            kept,
            bus,
            end: Some(end),
            _dir: dir,
        }
    }

    /// What it keeps, to look at or to change.
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }

    /// It goes away, and the bus stays.
    pub fn leave(&mut self) {
        self.end = None;
    }

    /// The command line on its bus.
    pub fn command(&self, line: &str) -> std::process::Command {
        let mut command = crate::binary::command(env!("CARGO_BIN_EXE_pandemonium"));
        command
            .env("DBUS_SYSTEM_BUS_ADDRESS", &self.bus.address)
            .args(line.split(' '));
        command
    }

    /// Runs the command line to its end.
    pub fn run(&self, line: &str) -> std::process::Output {
        self.command(line).output().expect("it starts")
    }
}
