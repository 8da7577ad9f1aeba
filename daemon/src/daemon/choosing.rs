//! What people choose: into the kernel half at once, and kept through every attach.

use pandemonium_api::{BusError, Refusal};
use pandemonium_policy::{Pattern, PowerMap, PowerSituation, PrimaryDomain, Settings, Topology};

use super::Daemon;
use crate::choices::{Choice, Choices, Overrides};
use crate::config::Config;
use crate::memory::Memory;
use crate::power_profile;
use crate::status::State;

/// What the daemon starts with: what is configured, what was chosen since, and the command line on top; and
/// a sentence if not all of it fits.
pub(super) fn at_start(
    memory: &Memory,
    overrides: &Overrides,
    configured: &Choices,
) -> (Choices, Option<String>) {
    let choices = overrides.on(memory.choices(configured));
    match choices.check() {
        Ok(()) => (choices, None),
        Err(sentence) => (
            choices.reset(Choice::Compositors, configured),
            Some(format!(
                "{sentence} Those that were chosen at run time are forgotten."
            )),
        ),
    }
}

impl Daemon {
    pub(super) async fn add_compositor(
        &mut self,
        name: Pattern,
        caller: &str,
    ) -> Result<(), Refusal> {
        let mut choices = self.chosen();
        choices.compositors.insert(name);
        let words = format!("{name} is a compositor");
        self.choose_and_remember(choices, &words, caller).await
    }

    pub(super) async fn remove_compositor(
        &mut self,
        name: Pattern,
        caller: &str,
    ) -> Result<(), Refusal> {
        let mut choices = self.chosen();
        if !choices.compositors.remove(&name) {
            return Err(BusError::NotFound.because(format!("\"{name}\" is not a compositor.")));
        }
        let words = format!("{name} is no longer a compositor");
        self.choose_and_remember(choices, &words, caller).await
    }

    pub(super) async fn set_domain(
        &mut self,
        domain: PrimaryDomain,
        caller: &str,
    ) -> Result<(), Refusal> {
        let choices = Choices {
            domain,
            ..self.chosen()
        };
        let words = format!("the primary domain is {domain}");
        self.choose_and_remember(choices, &words, caller).await
    }

    pub(super) async fn set_power_map(
        &mut self,
        map: PowerMap,
        caller: &str,
    ) -> Result<(), Refusal> {
        let words = format!("the power map is \"{map}\"");
        let choices = Choices {
            power_map: map,
            ..self.chosen()
        };
        self.choose_and_remember(choices, &words, caller).await
    }

    pub(super) async fn set_idle_selector(
        &mut self,
        is_on: bool,
        caller: &str,
    ) -> Result<(), Refusal> {
        let choices = Choices {
            idle_selector: is_on,
            ..self.chosen()
        };
        let words = format!("idle selector: {},", if is_on { "on" } else { "off" });
        self.choose_and_remember(choices, &words, caller).await
    }

    /// Back to the configuration, all of them at once.
    pub(super) async fn reset_choices(
        &mut self,
        which: &[Choice],
        caller: &str,
    ) -> Result<(), Refusal> {
        let configured = &self.configured.choices;
        let chosen = self.chosen();
        let choices = which
            .iter()
            .fold(chosen, |choices, which| choices.reset(*which, configured));
        let names: Vec<_> = which.iter().map(|which| which.name()).collect();
        let words = format!("{} as configured", names.join(", "));
        self.choose_and_remember(choices, &words, caller).await
    }

    /// What is chosen now, to begin a choice with.
    fn chosen(&self) -> Choices {
        Choices::clone(&self.status.choices)
    }

    async fn choose_and_remember(
        &mut self,
        choices: Choices,
        words: &str,
        caller: &str,
    ) -> Result<(), Refusal> {
        self.choose(choices)?;
        log::info!("{words} on request of {caller}");
        self.remember_choices().await;
        Ok(())
    }

    /// Applies what changed in the configuration: the choices, then the mode. What could not be applied is
    /// tried again at the next reload.
    pub(super) async fn reconfigure(&mut self, config: Config) -> Result<(), Refusal> {
        let choices = self.overrides.on(config.choices);
        if choices != self.configured.choices {
            let wanted = self
                .status
                .choices
                .after(&self.configured.choices, &choices);
            self.choose(wanted)?;
            self.configured.choices = choices;
        }
        let is_new_mode = config.mode != self.configured.mode;
        self.configured.mode = config.mode;
        self.remember_choices().await;
        if !is_new_mode && self.mode_refused.is_none() {
            return Ok(());
        }
        self.cancel_holds("the configuration");
        self.plan_confirmation(None);
        self.wanted.ask(config.mode, "configuration".to_owned());
        let result = self.bring_about("the configuration").await;
        self.mode_refused = result.as_ref().err().map(ToString::to_string);
        result
    }

    /// The kernel half first: what it does not take is not chosen.
    fn choose(&mut self, choices: Choices) -> Result<(), Refusal> {
        choices
            .check()
            .map_err(|sentence| BusError::LimitsExceeded.because(sentence))?;
        let power = self.power(&choices);
        let settings = self.resolve(&choices, power);
        self.write_settings(settings).map_err(|error| {
            BusError::LoadFailed.because(format!("The settings stay as they were: {error:#}."))
        })?;
        self.status.choices = choices.into();
        self.status.power = power;
        self.publish();
        Ok(())
    }

    /// The settings that these choices mean on this machine at this moment.
    fn resolve(&self, choices: &Choices, power: PowerSituation) -> Settings {
        let unknown = Topology::default();
        choices.settings(self.engine.topology().unwrap_or(&unknown), power)
    }

    /// What is known about power. Where no service says the profile, sysfs may, which is only asked if
    /// somebody wants to know: some firmware takes its time.
    fn power(&self, choices: &Choices) -> PowerSituation {
        let told = self.heard.power();
        let is_wanted = told.profile.is_none() && choices.domain == PrimaryDomain::Auto;
        let sysfs = self.sysfs.as_deref().filter(|_| is_wanted);
        PowerSituation {
            profile: told.profile.or_else(|| sysfs.and_then(power_profile::read)),
            ..told
        }
    }

    /// Some service said something about power or sleep.
    pub(super) fn hear(&mut self) {
        let told = *self.told.borrow_and_update();
        if told.sleep != self.heard.sleep {
            self.suspend.announce(told.sleep.is_on);
        }
        self.heard = told;
        self.follow_machine();
        self.publish();
    }

    /// Once a tick: only sysfs says nothing by itself. What could not be written is tried again.
    pub(super) fn follow_power(&mut self) {
        if self.is_following_broken || self.power(&self.status.choices) != self.status.power {
            self.follow_machine();
        }
    }

    /// After every attach and when a service said something: the power situation or the known CPUs may have
    /// changed.
    pub(super) fn follow_machine(&mut self) {
        let power = self.power(&self.status.choices);
        self.status.power = power;
        let settings = self.resolve(&self.status.choices, power);
        if settings == self.settings {
            self.is_following_broken = false;
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
