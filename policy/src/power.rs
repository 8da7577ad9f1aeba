//! The automatic primary domain: which one the user wants in which power situation.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use crate::domain::{DomainError, PrimaryDomain};

/// Where the power comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PowerSource {
    /// The mains.
    Ac,
    /// The battery.
    Battery,
}

/// The power profile in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PowerProfile {
    /// Speed matters most.
    Performance,
    /// Neither of the two.
    Balanced,
    /// Energy matters most.
    PowerSaver,
}

/// What is known about the machine's power; `None` where nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerSituation {
    /// Where the power comes from.
    pub source: Option<PowerSource>,
    /// The profile that was chosen, by a person or by the desktop.
    pub profile: Option<PowerProfile>,
}

/// The domain of each situation that the user cares about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerMap(BTreeMap<&'static str, PrimaryDomain>);

/// Why something is no entry of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PowerMapError {
    /// No situation has this name.
    #[error("a power situation is one of ac, battery, performance, balanced and power-saver")]
    UnknownKey,
    /// The domain would ask the map.
    #[error("the map is what auto asks, so it cannot answer auto")]
    Auto,
    /// It is no domain.
    #[error(transparent)]
    Domain(DomainError),
}

impl PowerSource {
    /// Every source.
    pub const ALL: [PowerSource; 2] = [PowerSource::Ac, PowerSource::Battery];

    /// Its name everywhere.
    pub fn name(self) -> &'static str {
        match self {
            PowerSource::Ac => "ac",
            PowerSource::Battery => "battery",
        }
    }
}

impl PowerProfile {
    /// Every profile.
    pub const ALL: [PowerProfile; 3] = [
        PowerProfile::Performance,
        PowerProfile::Balanced,
        PowerProfile::PowerSaver,
    ];

    /// Its name everywhere; power-profiles-daemon's too.
    pub fn name(self) -> &'static str {
        match self {
            PowerProfile::Performance => "performance",
            PowerProfile::Balanced => "balanced",
            PowerProfile::PowerSaver => "power-saver",
        }
    }
}

/// The fast CPUs for speed, the economical ones for energy.
impl Default for PowerMap {
    fn default() -> PowerMap {
        PowerMap(BTreeMap::from([
            (PowerProfile::Performance.name(), PrimaryDomain::Performance),
            (PowerProfile::PowerSaver.name(), PrimaryDomain::Powersave),
        ]))
    }
}

impl PowerMap {
    /// A map that follows nothing.
    pub fn empty() -> PowerMap {
        PowerMap(BTreeMap::new())
    }

    /// Sets the domain of a situation, both as text.
    pub fn insert(&mut self, key: &str, domain: &str) -> Result<(), PowerMapError> {
        let key = keys()
            .find(|known| *known == key)
            .ok_or(PowerMapError::UnknownKey)?;
        match domain.parse().map_err(PowerMapError::Domain)? {
            PrimaryDomain::Auto => Err(PowerMapError::Auto),
            domain => {
                self.0.insert(key, domain);
                Ok(())
            }
        }
    }

    /// The entries in the order of their names.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, PrimaryDomain)> + '_ {
        self.0.iter().map(|(key, domain)| (*key, *domain))
    }

    /// The domain in this situation. The profile goes first, because somebody chose it, while the source
    /// is a mere circumstance that the profile often follows already.
    pub fn domain(&self, situation: PowerSituation) -> PrimaryDomain {
        let profile = situation.profile.map(PowerProfile::name);
        let source = situation.source.map(PowerSource::name);
        let mut entries = [profile, source].into_iter().flatten();
        entries
            .find_map(|key| self.0.get(key).copied())
            .unwrap_or_default()
    }
}

/// `battery=powersave performance=0x3`, in the order of the names.
impl fmt::Display for PowerMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (key, domain)) in self.entries().enumerate() {
            let gap = if n == 0 { "" } else { " " };
            write!(f, "{gap}{key}={domain}")?;
        }
        Ok(())
    }
}

fn keys() -> impl Iterator<Item = &'static str> {
    let sources = PowerSource::ALL.map(PowerSource::name);
    let profiles = PowerProfile::ALL.map(PowerProfile::name);
    sources.into_iter().chain(profiles)
}
