//! One tick: read, decide, write, learn, publish.

use std::io::{self, Write};

use futures_util::FutureExt;
use pandemonium_api::{BusError, Refusal, telemetry_line};
use pandemonium_policy::{Knobs, Limits, Mode, Prediction, Predictions, Reading, Sample};

use super::{Daemon, LEARNED_TICKS, SAVE_TICKS};
use crate::clock;
use crate::status::{Learned, State, Tick};

impl Daemon {
    /// A round of the control loop. Feeding the watchdog here and nowhere else means that systemd
    /// ends a daemon that its own scheduler starves.
    pub(super) fn tick(&mut self) {
        self.notifier.watchdog();
        self.ticks += 1;
        let has_slept = self.suspend.step(clock::boottime(), clock::monotonic());
        self.check_exit();
        if self.status.state == State::Running {
            self.sample(has_slept);
            self.drain_observations();
            self.predict();
        } else {
            // An attach tells all.
            self.profiles.take_changed();
            self.look_around();
        }
        self.follow_power();
        if self.ticks.is_multiple_of(LEARNED_TICKS) {
            self.refresh_learned();
        }
        self.note_save();
        if self.is_save_due || self.ticks.is_multiple_of(SAVE_TICKS) {
            self.save_in_background();
        }
        self.publish();
        if self.has_telemetry {
            // A closed pipe must not end the scheduler.
            let _ = writeln!(io::stdout(), "{}", telemetry_line(&self.status.snapshot()));
        }
    }

    fn sample(&mut self, has_slept: bool) {
        let Some(reading) = self.read() else { return };
        if has_slept {
            log::debug!("the machine slept, this window says nothing");
            self.control.discard_window();
        }
        self.follow_hotplug(&reading);
        let previous = self.previous.take().unwrap_or_else(|| reading.clone());
        let sample = Sample::between(&previous, &reading);
        let decision = self.control.step(self.wanted.target(), &sample);
        log::trace!(
            "idle {} permille, {}",
            sample.idle_permille,
            decision.reason
        );
        if decision.knobs != self.knobs && self.write_knobs(decision.knobs).is_ok() {
            log::debug!("{}: {:?}", decision.reason, decision.knobs);
        }
        self.totals = reading.counters;
        self.previous = Some(reading);
        if !has_slept {
            self.status.tick = Some(Tick {
                sampled_usec: clock::realtime_usec(),
                sample,
                totals: self.totals,
                regime: decision.regime,
                decided_by: decision.reason,
                knobs: self.knobs,
                limits: self.limits_in_force,
            });
        }
    }

    pub(super) fn read(&mut self) -> Option<Reading> {
        let read = self.engine.kernel()?.read();
        match read {
            Ok(reading) => {
                self.is_reading_broken = false;
                Some(reading)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_reading_broken, true) {
                    log::warn!("The counters cannot be read, so the knobs stay: {error:#}.");
                }
                None
            }
        }
    }

    fn follow_hotplug(&mut self, reading: &Reading) {
        let nr_cpus = reading.nr_online;
        if !self.is_cpu_count_fixed && nr_cpus > 0 && nr_cpus != self.limits.nr_cpus {
            log::info!("{nr_cpus} CPUs are online");
            self.limits = Limits::for_cpus(nr_cpus);
            self.control.set_limits(self.limits);
            self.write_limits();
        }
    }

    fn write_limits(&mut self) {
        let Some(kernel) = self.engine.kernel() else {
            return;
        };
        match kernel.write_limits(&self.limits) {
            Ok(()) => self.limits_in_force = self.limits,
            Err(error) => {
                log::warn!("The kernel half keeps the limits of another number of CPUs: {error:#}.")
            }
        }
    }

    /// Switches between adaptive and BPF mode while attached, without loading anything.
    pub(super) fn apply_mode(&mut self) -> Result<(), Refusal> {
        let knobs = match self.wanted.target() {
            Mode::Adaptive => self.control.knobs(),
            Mode::Bpf | Mode::Off => Knobs::default(),
        };
        self.write_knobs(knobs)
            .map_err(|error| BusError::LoadFailed.because(format!("The knobs stay: {error:#}.")))
    }

    fn write_knobs(&mut self, knobs: Knobs) -> anyhow::Result<()> {
        let Some(kernel) = self.engine.kernel() else {
            return Ok(());
        };
        let written = kernel.write_knobs(&knobs);
        match &written {
            Ok(()) => self.knobs = knobs,
            Err(error) => log::warn!("The knobs cannot be written: {error:#}."),
        }
        written
    }

    pub(super) fn drain_observations(&mut self) {
        let profiles = &mut self.profiles;
        if let Some(kernel) = self.engine.kernel() {
            kernel.drain_observations(&mut |observation| profiles.learn(&observation));
        }
    }

    /// What was learned goes into the kernel half, if it says anything new.
    pub(super) fn predict(&mut self) {
        self.unpredicted.append(&mut self.profiles.take_changed());
        let news = self.predicted.news(&self.profiles, &self.unpredicted);
        if !news.is_empty() {
            let Some(kernel) = self.engine.kernel() else {
                return;
            };
            if let Err(error) = kernel.write_predictions(&news) {
                if !std::mem::replace(&mut self.is_predicting_broken, true) {
                    log::warn!("New predictions cannot be written: {error:#}.");
                }
                // Of what neither side knows there is nothing to tell, however long this lasts.
                let (predicted, profiles) = (&self.predicted, &self.profiles);
                self.unpredicted
                    .retain(|comm| predicted.has(comm) || profiles.get(comm).is_some());
                return;
            }
            self.is_predicting_broken = false;
            self.predicted.take(&news);
        }
        self.unpredicted.clear();
    }

    /// All that is known, for an attach, which writes it.
    pub(super) fn predict_anew(&mut self) -> Vec<Prediction> {
        let predictions = self.profiles.predictions();
        self.predicted = Predictions::of(&predictions);
        self.unpredicted.clear();
        self.profiles.take_changed();
        predictions
    }

    pub(super) fn refresh_learned(&mut self) {
        let shown = &self.status.learned;
        let is_new = shown.generation != self.profiles.generation()
            || shown.profiles.len() != self.profiles.len();
        if is_new {
            self.status.learned = Learned::of(&self.profiles);
        }
    }

    /// A save now and then, so that a crash costs minutes of learning and not days.
    pub(super) fn save_in_background(&mut self) {
        self.note_save();
        let is_busy = self.saving.is_some();
        self.is_save_due = is_busy;
        if is_busy || self.profiles.generation() == self.saved_generation {
            return;
        }
        let (store, profiles) = (self.store.clone(), self.profiles.clone());
        self.saving = Some(tokio::task::spawn_blocking(move || {
            store.save(&profiles).map(|()| profiles.generation())
        }));
    }

    /// How the last save ended, if it has. One that failed is made up for by the next planned one, and
    /// people are told until then.
    fn note_save(&mut self) {
        let Some(ended) = self.saving.as_mut().and_then(FutureExt::now_or_never) else {
            return;
        };
        self.saving = None;
        let sentence = match ended.map_err(io::Error::from).flatten() {
            Ok(generation) => {
                self.saved_generation = generation;
                None
            }
            Err(error) => Some(format!(
                "What was learned or decided about programs since the last save lasts until the daemon ends, because it \
                 cannot be saved: {error}."
            )),
        };
        let before = std::mem::replace(&mut self.not_saved, sentence.clone());
        self.warn_once(before.as_ref(), sentence);
    }
}
