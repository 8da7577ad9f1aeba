//! What people choose about the kernel half, before it is resolved against the machine.

use std::collections::BTreeSet;

use pandemonium_api::choice;
use pandemonium_policy::{Pattern, PowerMap, PowerSituation, PrimaryDomain, Settings, Topology};

/// Most microseconds of slice lag, in either direction.
pub const MAX_SLICE_LAG_US: i64 = Settings::SLICE_LAG_MAX_NS / 1_000;

/// The choices, wherever they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Names of compositors.
    pub compositors: BTreeSet<Pattern>,
    /// The CPUs to prefer.
    pub domain: PrimaryDomain,
    /// What the automatic domain is in which power situation.
    pub power_map: PowerMap,
    /// Idle CPUs are found in our own masks.
    pub idle_selector: bool,
    /// Kernel threads bound to one CPU go ahead of everything.
    pub local_kthreads: bool,
    /// Lead that a sleeping task may save up besides the usual, us.
    pub slice_lag_us: i64,
}

/// A part of the choices that is made at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Names of compositors.
    Compositors,
    /// The CPUs to prefer.
    PrimaryDomain,
    /// What the automatic domain is in which power situation.
    PowerMap,
    /// Who finds idle CPUs.
    IdleSelector,
}

impl Choice {
    /// Every one, in the order of [`choice::ALL`].
    pub const ALL: [Choice; 4] = [
        Choice::Compositors,
        Choice::PrimaryDomain,
        Choice::PowerMap,
        Choice::IdleSelector,
    ];

    /// Its name on the bus.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Compositors => choice::COMPOSITORS,
            Choice::PrimaryDomain => choice::PRIMARY_DOMAIN,
            Choice::PowerMap => choice::POWER_MAP,
            Choice::IdleSelector => choice::IDLE_SELECTOR,
        }
    }
}

impl Default for Choices {
    fn default() -> Choices {
        let settings = Settings::default();
        Choices {
            compositors: settings.compositors.into_iter().collect(),
            domain: PrimaryDomain::default(),
            power_map: PowerMap::default(),
            idle_selector: settings.idle_selector,
            local_kthreads: settings.local_kthreads,
            slice_lag_us: settings.slice_lag_ns / 1_000,
        }
    }
}

impl Choices {
    /// Whether the kernel half has room for them; the error is one sentence.
    pub fn check(&self) -> Result<(), String> {
        let count = self.compositors.len();
        if count > Pattern::MAX {
            return Err(format!(
                "{count} compositors, counting the built-in ones, are more than the {} there is room \
                 for.",
                Pattern::MAX
            ));
        }
        Ok(())
    }

    /// What the kernel half works with on this machine. The power map has a say only in the automatic
    /// domain: any other was chosen for good.
    pub fn settings(&self, topology: &Topology, power: PowerSituation) -> Settings {
        let domain = match self.domain {
            PrimaryDomain::Auto => self.power_map.domain(power),
            chosen => chosen,
        };
        let settings = Settings {
            idle_selector: self.idle_selector,
            local_kthreads: self.local_kthreads,
            slice_lag_ns: self.slice_lag_us.saturating_mul(1_000),
            domain: domain.resolve(topology),
            compositors: self.compositors.iter().copied().collect(),
        };
        settings.clamped()
    }

    /// These choices with one of them as it is configured.
    pub fn reset(mut self, which: Choice, configured: &Choices) -> Choices {
        match which {
            Choice::Compositors => self.compositors.clone_from(&configured.compositors),
            Choice::PrimaryDomain => self.domain = configured.domain,
            Choice::PowerMap => self.power_map = configured.power_map.clone(),
            Choice::IdleSelector => self.idle_selector = configured.idle_selector,
        }
        self
    }

    /// These choices after a new configuration: what differs from the one before is taken from it, and
    /// the rest stays as it was chosen meanwhile.
    pub fn after(&self, before: &Choices, now: &Choices) -> Choices {
        let removed = |pattern: &&Pattern| {
            before.compositors.contains(*pattern) && !now.compositors.contains(*pattern)
        };
        let kept = self.compositors.iter().filter(|pattern| !removed(pattern));
        let added = now.compositors.difference(&before.compositors);
        Choices {
            compositors: kept.chain(added).copied().collect(),
            domain: changed(self.domain, before.domain, now.domain),
            power_map: changed(&self.power_map, &before.power_map, &now.power_map).clone(),
            idle_selector: changed(self.idle_selector, before.idle_selector, now.idle_selector),
            local_kthreads: changed(
                self.local_kthreads,
                before.local_kthreads,
                now.local_kthreads,
            ),
            slice_lag_us: changed(self.slice_lag_us, before.slice_lag_us, now.slice_lag_us),
        }
    }
}

fn changed<T: PartialEq>(chosen: T, before: T, now: T) -> T {
    if before == now { chosen } else { now }
}

/// The choices of the command line, which win over the configuration.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Overrides {
    /// Treat programs of this name as compositors, besides the built-in and configured names. A * at its
    /// end stands for any further bytes. May be given several times
    #[arg(long = "compositor", value_name = "NAME")]
    compositors: Vec<Pattern>,

    /// The CPUs to take first: all, performance, powersave, auto, or a CPU mask in hex
    #[arg(long, value_name = "D")]
    primary_domain: Option<PrimaryDomain>,

    /// Leave the choice of an idle CPU to the kernel's own masks
    #[arg(long)]
    no_idle_selector: bool,

    /// Put kernel threads that are bound to one CPU on it ahead of everything that waits
    #[arg(long)]
    local_kthreads: bool,

    /// Microseconds added to the lead that a sleeping task may save up, -20000 to 20000
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(i64).range(-MAX_SLICE_LAG_US..=MAX_SLICE_LAG_US))]
    slice_lag_us: Option<i64>,
}

impl Overrides {
    /// The configured choices with these on top.
    pub fn on(&self, configured: Choices) -> Choices {
        let mut choices = configured;
        choices.compositors.extend(&self.compositors);
        choices.domain = self.primary_domain.unwrap_or(choices.domain);
        choices.idle_selector &= !self.no_idle_selector;
        choices.local_kthreads |= self.local_kthreads;
        choices.slice_lag_us = self.slice_lag_us.unwrap_or(choices.slice_lag_us);
        choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().expect("a valid name")
    }

    fn with(names: &[&str]) -> Choices {
        Choices {
            compositors: names.iter().map(|name| pattern(name)).collect(),
            ..Choices::default()
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_policy() {
        let none = Topology::default();
        let settings = Choices::default().settings(&none, PowerSituation::default());
        assert_eq!(settings, Settings::default().clamped());
        assert_eq!(Choices::default().check(), Ok(()));
    }

    #[test]
    fn too_many_names_are_refused() {
        let names: Vec<_> = (0..=Pattern::MAX).map(|n| format!("wm-{n}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(with(&names[1..]).check(), Ok(()));
        let refused = with(&names).check();
        assert!(refused.is_err_and(|sentence| sentence.contains("65 compositors")));
    }

    #[test]
    fn a_new_configuration_changes_only_what_changed_in_it() {
        let before = with(&["kept", "dropped"]);
        let chosen = Choices {
            idle_selector: false,
            domain: PrimaryDomain::Performance,
            ..with(&["kept", "dropped", "added-at-run-time"])
        };
        let now = Choices {
            domain: PrimaryDomain::Powersave,
            slice_lag_us: -500,
            ..with(&["kept", "new"])
        };
        let expected = Choices {
            idle_selector: false,
            domain: PrimaryDomain::Powersave,
            slice_lag_us: -500,
            ..with(&["kept", "new", "added-at-run-time"])
        };
        assert_eq!(chosen.after(&before, &now), expected);
        assert_eq!(chosen.after(&before, &before), chosen);
    }

    #[test]
    fn each_choice_goes_back_to_the_configuration_by_itself() {
        let configured = with(&["configured"]);
        let chosen = Choices {
            idle_selector: false,
            domain: PrimaryDomain::Auto,
            power_map: PowerMap::empty(),
            slice_lag_us: 7,
            ..with(&["chosen"])
        };
        for which in Choice::ALL {
            let mut expected = chosen.clone();
            match which {
                Choice::Compositors => expected.compositors = configured.compositors.clone(),
                Choice::PrimaryDomain => expected.domain = PrimaryDomain::All,
                Choice::PowerMap => expected.power_map = PowerMap::default(),
                Choice::IdleSelector => expected.idle_selector = true,
            }
            assert_eq!(chosen.clone().reset(which, &configured), expected);
        }
        assert_eq!(Choice::ALL.map(Choice::name), choice::ALL);
    }

    #[test]
    fn options_win() {
        let overrides = Overrides {
            compositors: vec![pattern("mine")],
            primary_domain: Some(PrimaryDomain::Auto),
            no_idle_selector: true,
            local_kthreads: true,
            slice_lag_us: Some(-7),
        };
        let expected = Choices {
            domain: PrimaryDomain::Auto,
            idle_selector: false,
            local_kthreads: true,
            slice_lag_us: -7,
            ..with(&["theirs", "mine"])
        };
        assert_eq!(overrides.on(with(&["theirs"])), expected);
        let nothing = Overrides::default();
        assert_eq!(nothing.on(expected.clone()), expected);
    }
}
