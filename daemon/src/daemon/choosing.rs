//! What people choose: into the kernel half at once, and kept through every attach.

use pandemonium_api::{BusError, Refusal};
use pandemonium_policy::{Pattern, PowerProfile, PrimaryDomain, Settings, Topology};

use super::Daemon;
use crate::choices::Choices;
use crate::config::Config;
use crate::power_profile;
use crate::status::State;

impl Daemon {
    pub(super) fn add_compositor(&mut self, name: Pattern, caller: &str) -> Result<(), Refusal> {
        let mut choices = self.status.choices.clone();
        choices.compositors.insert(name);
        self.choose(choices)?;
        log::info!("{name} is a compositor on request of {caller}");
        Ok(())
    }

    pub(super) fn remove_compositor(&mut self, name: Pattern, caller: &str) -> Result<(), Refusal> {
        let mut choices = self.status.choices.clone();
        if !choices.compositors.remove(&name) {
            return Err(BusError::NotFound.because(format!("\"{name}\" is not a compositor.")));
        }
        self.choose(choices)?;
        log::info!("{name} is no longer a compositor on request of {caller}");
        Ok(())
    }

    pub(super) fn set_domain(
        &mut self,
        domain: PrimaryDomain,
        caller: &str,
    ) -> Result<(), Refusal> {
        let choices = Choices {
            domain,
            ..self.status.choices.clone()
        };
        self.choose(choices)?;
        log::info!("the primary domain is {domain} on request of {caller}");
        Ok(())
    }

    pub(super) fn set_idle_selector(&mut self, is_on: bool, caller: &str) -> Result<(), Refusal> {
        let choices = Choices {
            idle_selector: is_on,
            ..self.status.choices.clone()
        };
        self.choose(choices)?;
        let word = if is_on { "on" } else { "off" };
        log::info!("idle selector: {word}, on request of {caller}");
        Ok(())
    }

    /// Applies what changed in the configuration. What could not be applied is tried again at the next
    /// reload.
    pub(super) async fn reconfigure(&mut self, config: Config) {
        let choices = self.overrides.on(config.choices);
        if choices != self.configured.choices {
            let wanted = self
                .status
                .choices
                .after(&self.configured.choices, &choices);
            match self.choose(wanted) {
                Ok(()) => self.configured.choices = choices,
                Err(refusal) => log::error!("The configuration was not applied: {refusal}"),
            }
        }
        if config.mode != self.configured.mode {
            self.configured.mode = config.mode;
            if let Err(refusal) = self.set_mode(config.mode, "the configuration").await {
                log::error!("{refusal}");
            }
        }
    }

    /// The kernel half first: what it does not take is not chosen.
    fn choose(&mut self, choices: Choices) -> Result<(), Refusal> {
        choices
            .check()
            .map_err(|sentence| BusError::LimitsExceeded.because(sentence))?;
        let settings = self.resolve(&choices);
        self.write_settings(settings).map_err(|error| {
            BusError::LoadFailed.because(format!("The settings stay as they were: {error:#}."))
        })?;
        self.status.choices = choices;
        self.publish();
        Ok(())
    }

    /// The settings that these choices mean on this machine at this moment.
    pub(super) fn resolve(&self, choices: &Choices) -> Settings {
        let profile = match (&self.sysfs, choices.domain) {
            (Some(root), PrimaryDomain::Auto) => power_profile::read(root),
            _ => PowerProfile::default(),
        };
        let unknown = Topology::default();
        choices.settings(self.engine.topology().unwrap_or(&unknown), profile)
    }

    /// Once a tick and after every attach: the power profile or the known CPUs may have changed.
    pub(super) fn follow_machine(&mut self) {
        let settings = self.resolve(&self.status.choices);
        if settings == self.settings {
            return;
        }
        let before = self.status.domain;
        match self.write_settings(settings) {
            Ok(()) => {
                self.is_following_broken = false;
                if self.status.domain != before {
                    let cpus = self.status.domain.map(|cpus| cpus.to_string());
                    let cpus = cpus.as_deref().unwrap_or("every CPU");
                    log::info!("the primary domain is {cpus} now");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_following_broken, true) {
                    log::warn!("The primary domain stays as it was: {error:#}.");
                }
            }
        }
    }

    fn write_settings(&mut self, settings: Settings) -> anyhow::Result<()> {
        let is_running = self.status.state == State::Running;
        if is_running
            && settings != self.settings
            && let Some(kernel) = self.engine.kernel()
        {
            let written = kernel.write_settings(&settings);
            if written.is_err() {
                // Part of it may have arrived; if this fails too, the next attach puts it right.
                let _ = kernel.write_settings(&self.settings);
                return written;
            }
        }
        self.status.domain = settings.domain;
        self.settings = settings;
        Ok(())
    }
}
