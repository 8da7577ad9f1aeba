//! A kernel that follows a script, for tests and the demo.
//!
//! Time is counted in reads, so the same script always gives the same numbers. The file is read again
//! when it is replaced, and starts over at its first step: that is how a test or a demo steers a
//! running daemon.

use std::cell::{Cell, RefCell};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use pandemonium_policy::{
    Changes, Knobs, Limits, Observation, Pattern, Prediction, Predictions, Reading, Settings,
    Topology,
};

use super::script::{Outcome, Script, Seen, Stage, play};
use super::{AttachError, Exit, Kernel, KernelStatus, OPS_NAME};

/// Which version of the script file was read: inode, size, mtime.
type Version = (u64, u64, i64);

/// The scripted kernel.
pub struct ScriptedKernel {
    path: PathBuf,
    stage: RefCell<Stage>,
    version: Cell<Option<Version>>,
    topology: Topology,
    attached: bool,
    enable_seq: u64,
    reading: Reading,
    observed: Vec<Seen>,
    told: Predictions,
    exit: Option<Exit>,
    bell: UnixStream,
    listener: UnixStream,
}

impl ScriptedKernel {
    /// Reads the script.
    pub fn open(path: &Path) -> anyhow::Result<ScriptedKernel> {
        let version = version_of(path);
        let script = parse(path)?;
        let (bell, listener) = UnixStream::pair().context("cannot make the event channel")?;
        bell.set_nonblocking(true)?;
        listener.set_nonblocking(true)?;
        Ok(ScriptedKernel {
            topology: script.topology(),
            path: path.to_owned(),
            stage: RefCell::new(Stage::new(script)),
            version: Cell::new(version),
            attached: false,
            enable_seq: 0,
            reading: Reading::default(),
            observed: Vec::new(),
            told: Predictions::default(),
            exit: None,
            bell,
            listener,
        })
    }

    /// The directory that stands for /sys, if there is one.
    pub fn sysfs(&self) -> Option<PathBuf> {
        self.stage.borrow().script.sysfs.clone()
    }

    /// Real time between two ticks, and real time that stands for one back-off second.
    pub fn pace(&self) -> (Duration, Duration) {
        let script = &self.stage.borrow().script;
        (
            Duration::from_millis(script.tick_ms.max(1)),
            Duration::from_millis(script.backoff_ms),
        )
    }

    fn refresh(&self) {
        let version = version_of(&self.path);
        if version.is_none() || version == self.version.replace(version) {
            return;
        }
        match parse(&self.path) {
            Ok(script) => *self.stage.borrow_mut() = Stage::new(script),
            Err(error) => log::warn!("the script is left as it was: {error:#}"),
        }
    }

    /// Fails if the script says so; what is written goes into the record otherwise.
    fn take(&self, lines: &[String]) -> anyhow::Result<()> {
        self.refresh();
        let script = &self.stage.borrow().script;
        if script.write_error {
            bail!("the script says that writing fails");
        }
        let Some(path) = &script.record else {
            return Ok(());
        };
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(file.write_all((lines.join("\n") + "\n").as_bytes())?)
    }

    fn end(&mut self, exit: Exit) {
        self.attached = false;
        self.exit = Some(exit);
        // A full channel is readable already, which is all that is wanted.
        let _ = self.bell.write(&[0]);
    }
}

impl Kernel for ScriptedKernel {
    fn attach(
        &mut self,
        limits: &Limits,
        _knobs: &Knobs,
        settings: &Settings,
        predictions: &[Prediction],
    ) -> Result<(), AttachError> {
        self.refresh();
        self.topology = self.stage.borrow().script.topology();
        let (outcome, foreign, unsupported, delay_ms) = {
            let mut stage = self.stage.borrow_mut();
            stage.attempts += 1;
            let script = &stage.script;
            let outcome = script
                .attach
                .get(stage.attempts - 1)
                .copied()
                .unwrap_or(Outcome::Ok);
            (
                outcome,
                script.foreign.clone(),
                script.unsupported,
                script.attach_ms,
            )
        };
        std::thread::sleep(Duration::from_millis(delay_ms));
        if unsupported {
            return Err(AttachError::without_sched_ext());
        }
        if let Some(name) = foreign {
            return Err(AttachError::Foreign(name));
        }
        match outcome {
            Outcome::Load => return Err(AttachError::Load("the verifier said no".into())),
            Outcome::Permission => return Err(AttachError::without_capabilities("EPERM")),
            Outcome::Ok => {}
        }
        self.told = Predictions::of(predictions);
        let told = [
            "attach".to_owned(),
            words(settings),
            names(&self.told),
            cpus(limits),
        ];
        self.take(&told)
            .map_err(|error| AttachError::Load(error.to_string()))?;
        self.attached = true;
        self.enable_seq += 1;
        self.reading = Reading {
            at_ns: self.reading.at_ns,
            ..Reading::default()
        };
        Ok(())
    }

    fn detach(&mut self) {
        self.attached = false;
    }

    fn is_attached(&self) -> bool {
        self.attached
    }

    fn read(&mut self) -> anyhow::Result<Reading> {
        self.refresh();
        let (step, is_first_tick, nr_cpus) = self.stage.borrow_mut().advance();
        if let (true, Some(exit)) = (is_first_tick, &step.exit) {
            self.end(Exit {
                kind: exit.kind.clone(),
                code: exit.code,
                reason: exit.reason.clone(),
                message: exit.message.clone(),
                retry: exit.retry,
            });
        }
        if step.read_error {
            bail!("the script says that reading fails");
        }
        play(&mut self.reading, &step, nr_cpus);
        self.observed.extend(step.observe);
        Ok(self.reading.clone())
    }

    fn write_knobs(&mut self, _knobs: &Knobs) -> anyhow::Result<()> {
        Ok(())
    }

    fn write_limits(&mut self, limits: &Limits) -> anyhow::Result<()> {
        self.take(&[cpus(limits)])
    }

    fn write_settings(&mut self, settings: &Settings) -> anyhow::Result<()> {
        self.take(&[words(settings)])
    }

    fn write_predictions(&mut self, news: &Changes) -> anyhow::Result<()> {
        let mut told = self.told.clone();
        told.take(news);
        self.take(&[names(&told)])?;
        self.told = told;
        Ok(())
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn drain_observations(&mut self, sink: &mut dyn FnMut(Observation)) {
        for seen in self.observed.drain(..) {
            let mut comm = [0; 16];
            let bytes = seen.comm.as_bytes();
            let length = bytes.len().min(15);
            comm[..length].copy_from_slice(&bytes[..length]);
            sink(Observation {
                comm,
                tier: seen.tier,
                avg_runtime_ns: seen.avg_us * 1_000,
                runtime_dev_ns: seen.avg_us * 100,
                wakeup_freq: 20,
                csw_rate: 20,
                lat_cri: 16,
                exited: true,
            });
        }
    }

    fn exit(&mut self) -> Option<Exit> {
        let mut rung = [0; 16];
        while matches!(self.listener.read(&mut rung), Ok(1..)) {}
        self.exit.take()
    }

    fn event_fd(&self) -> Option<RawFd> {
        Some(self.listener.as_raw_fd())
    }

    fn status(&mut self) -> KernelStatus {
        self.refresh();
        let stage = self.stage.borrow();
        let (state, ops) = match &stage.script.foreign {
            _ if stage.script.unsupported => ("unavailable", ""),
            _ if self.attached => ("enabled", OPS_NAME),
            Some(name) if stage.script.foreign_leaves => ("disabling", name.as_str()),
            Some(name) => ("enabled", name.as_str()),
            None => ("disabled", ""),
        };
        KernelStatus {
            state: state.to_owned(),
            ops: ops.to_owned(),
            enable_seq: self.enable_seq,
        }
    }
}

/// Settings as a line of the record.
fn words(settings: &Settings) -> String {
    let domain = settings.domain.map(|cpus| cpus.to_string());
    let compositors: Vec<_> = settings
        .compositors
        .iter()
        .map(Pattern::to_string)
        .collect();
    format!(
        "settings idle_selector={} local_kthreads={} slice_lag_ns={} domain={} compositors={}",
        settings.idle_selector,
        settings.local_kthreads,
        settings.slice_lag_ns,
        domain.as_deref().unwrap_or("all"),
        compositors.join(",")
    )
}

/// Predictions as a line of the record.
fn names(told: &Predictions) -> String {
    let name = |prediction: &Prediction| {
        let comm = prediction.comm.split(|byte| *byte == 0).next();
        let comm = String::from_utf8_lossy(comm.unwrap_or_default());
        let pinned = if prediction.is_pinned { "!" } else { "" };
        format!("{comm}={}{pinned}", prediction.tier.name())
    };
    let all: Vec<_> = told.iter().map(name).collect();
    format!("predictions {}", all.join(","))
}

/// Limits as a line of the record.
fn cpus(limits: &Limits) -> String {
    format!("limits of {} CPUs", limits.nr_cpus)
}

fn version_of(path: &Path) -> Option<Version> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.ino(), meta.size(), meta.mtime_nsec()))
}

fn parse(path: &Path) -> anyhow::Result<Script> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the script {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("the script {} is not valid", path.display()))
}

#[cfg(test)]
mod tests {
    use pandemonium_policy::Tier;

    use super::*;

    fn scripted(text: &str) -> (tempfile::TempDir, ScriptedKernel) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("script.toml");
        fs::write(&path, text).expect("a script");
        let kernel = ScriptedKernel::open(&path).expect("a valid script");
        (dir, kernel)
    }

    fn attach(kernel: &mut ScriptedKernel) -> Result<(), AttachError> {
        let settings = Settings::default();
        kernel.attach(&Limits::for_cpus(4), &Knobs::default(), &settings, &[])
    }

    #[test]
    fn the_same_script_gives_the_same_readings() {
        let text = "[[step]]\nticks = 2\nidle_permille = 20\n[[step]]\nidle_permille = 900";
        let play = || {
            let (_dir, mut kernel) = scripted(text);
            attach(&mut kernel).expect("attaches");
            (0..5)
                .map(|_| kernel.read().expect("reads"))
                .collect::<Vec<_>>()
        };
        let readings = play();
        assert_eq!(readings, play());
        let busy: Vec<u64> = readings
            .windows(2)
            .map(|w| w[1].busy_ns - w[0].busy_ns)
            .collect();
        assert!(busy[0] > busy[1] && busy[1] == busy[2], "{busy:?}");
    }

    #[test]
    fn attempts_follow_the_list_and_then_succeed() {
        let (_dir, mut kernel) = scripted("attach = [\"load\", \"permission\"]");
        assert!(matches!(attach(&mut kernel), Err(AttachError::Load(_))));
        assert!(matches!(
            attach(&mut kernel),
            Err(AttachError::Permission(_))
        ));
        assert_eq!(attach(&mut kernel), Ok(()));
        assert_eq!(kernel.status().ops, OPS_NAME);
    }

    #[test]
    fn an_exit_is_told_once() {
        let (_dir, mut kernel) = scripted("[[step]]\nexit = { kind = \"sysrq\" }");
        attach(&mut kernel).expect("attaches");
        kernel.read().expect("reads");
        assert!(!kernel.is_attached());
        assert_eq!(
            kernel.exit().map(|exit| exit.kind),
            Some("sysrq".to_owned())
        );
        assert_eq!(kernel.exit(), None);
    }

    #[test]
    fn what_it_is_told_is_recorded() {
        let dir = tempfile::tempdir().expect("a directory");
        let record = dir.path().join("record");
        let (_dir, mut kernel) = scripted(&format!("record = {record:?}\nmax_khz = [2, 1]"));
        attach(&mut kernel).expect("attaches");
        let told = Settings {
            idle_selector: false,
            slice_lag_ns: -5,
            domain: Some([0, 1].into_iter().collect()),
            compositors: vec!["mywm*".parse().expect("a name")],
            ..Settings::default()
        };
        kernel.write_settings(&told).expect("writes");
        let mut comm = [0; 16];
        comm[..3].copy_from_slice(b"cc1");
        let prediction = Prediction {
            comm,
            tier: Tier::Batch,
            avg_runtime_ns: 1,
            runtime_dev_ns: 1,
            wakeup_freq: 1,
            csw_rate: 1,
            is_pinned: false,
        };
        let news = Changes {
            new: vec![prediction],
            ..Changes::default()
        };
        kernel.write_predictions(&news).expect("writes");
        let text = fs::read_to_string(&record).expect("recorded");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines[0], lines[2]), ("attach", "predictions "));
        assert_eq!(lines[3], "limits of 4 CPUs");
        assert_eq!(
            lines[4..],
            [
                "settings idle_selector=false local_kthreads=false slice_lag_ns=-5 domain=0x3 \
                 compositors=mywm*",
                "predictions cc1=batch"
            ]
        );
        let khz: Vec<_> = kernel
            .topology()
            .cpus
            .iter()
            .map(|cpu| cpu.max_khz)
            .collect();
        assert_eq!(khz, [2, 1, 0, 0]);
    }

    #[test]
    fn gauges_and_counters_are_the_scripts() {
        let text = "[[step]]\ninteractive_running = 9\ncount = { boosts = 2, guarded = 1 }";
        let (_dir, mut kernel) = scripted(text);
        attach(&mut kernel).expect("attaches");
        kernel.read().expect("reads");
        let reading = kernel.read().expect("reads");
        assert_eq!(
            reading.interactive_running, 4,
            "no more than there are CPUs"
        );
        assert_eq!((reading.counters.boosts, reading.counters.guarded), (4, 2));
    }

    #[test]
    fn a_write_fails_if_the_script_says_so() {
        let (_dir, mut kernel) = scripted("write_error = true");
        assert!(kernel.write_settings(&Settings::default()).is_err());
        assert!(kernel.write_predictions(&Changes::default()).is_err());
    }

    #[test]
    fn replacing_the_file_takes_effect() {
        let (dir, mut kernel) = scripted("");
        assert_eq!(kernel.status().state, "disabled");
        let next = dir.path().join("next");
        fs::write(&next, "foreign = \"scx_other\"").expect("a script");
        fs::rename(&next, dir.path().join("script.toml")).expect("renames");
        assert_eq!(kernel.status().ops, "scx_other");
    }
}
