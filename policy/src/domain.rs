//! The primary domain: the CPUs that tasks stay on until those are saturated.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

use crate::cpuset::{CpuSet, CpuSetError};
use crate::topology::{Cpu, Topology};

/// Which CPUs are preferred, as people say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PrimaryDomain {
    /// Every CPU: no preference.
    #[default]
    All,
    /// Every CPU that is faster than the slowest ones.
    Performance,
    /// The slowest CPUs, which are the most economical ones.
    Powersave,
    /// What the [power map](crate::power::PowerMap) says. Until it is asked, the same as [`PrimaryDomain::All`].
    Auto,
    /// These CPUs. An empty set is the same as [`PrimaryDomain::All`] and has no text.
    Cpus(CpuSet),
}

/// Why a text is not a primary domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DomainError {
    /// It is neither a name nor a mask.
    #[error("expected all, performance, powersave, auto or a hexadecimal CPU mask such as 0x3")]
    Unknown,
    /// It is a mask of more CPUs than there can be.
    #[error(transparent)]
    TooHigh(CpuSetError),
    /// The mask has no CPUs.
    #[error("a primary domain needs at least one CPU")]
    NoCpus,
}

impl PrimaryDomain {
    /// The CPUs of the domain on this machine; `None` is every CPU, which means no restriction.
    ///
    /// A machine whose online CPUs are all equally fast, or do not all say how fast they are, has no
    /// faster and slower ones. A set is cut to the possible CPUs.
    pub fn resolve(&self, topology: &Topology) -> Option<CpuSet> {
        match self {
            PrimaryDomain::All | PrimaryDomain::Auto => None,
            PrimaryDomain::Performance => {
                let slowest_khz = slowest_of_unlike_khz(topology)?;
                Some(cpus_where(topology, |cpu| cpu.max_khz > slowest_khz))
            }
            PrimaryDomain::Powersave => {
                let slowest_khz = slowest_of_unlike_khz(topology)?;
                Some(cpus_where(topology, |cpu| {
                    (1..=slowest_khz).contains(&cpu.max_khz)
                }))
            }
            PrimaryDomain::Cpus(cpus) => {
                let possible = cpus_where(topology, |_| true);
                let chosen = cpus.intersection(&possible);
                (!chosen.is_empty() && chosen != possible).then_some(chosen)
            }
        }
    }
}

/// The lowest of the highest frequencies, if there are several, kHz. The kernel tells no frequency of
/// a CPU that is offline, so those neither count nor make the others unknown.
fn slowest_of_unlike_khz(topology: &Topology) -> Option<u64> {
    let online = || topology.cpus.iter().filter(|cpu| cpu.online);
    let slowest_khz = online().map(|cpu| cpu.max_khz).min()?;
    let fastest_khz = online().map(|cpu| cpu.max_khz).max()?;
    (slowest_khz > 0 && slowest_khz < fastest_khz).then_some(slowest_khz)
}

fn cpus_where(topology: &Topology, is_wanted: impl Fn(&Cpu) -> bool) -> CpuSet {
    let wanted = topology.cpus.iter().filter(|cpu| is_wanted(cpu));
    wanted.map(|cpu| cpu.id).collect()
}

impl fmt::Display for PrimaryDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrimaryDomain::All => f.write_str("all"),
            PrimaryDomain::Performance => f.write_str("performance"),
            PrimaryDomain::Powersave => f.write_str("powersave"),
            PrimaryDomain::Auto => f.write_str("auto"),
            PrimaryDomain::Cpus(cpus) => fmt::Display::fmt(cpus, f),
        }
    }
}

impl FromStr for PrimaryDomain {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<PrimaryDomain, DomainError> {
        match text {
            "all" => Ok(PrimaryDomain::All),
            "performance" => Ok(PrimaryDomain::Performance),
            "powersave" => Ok(PrimaryDomain::Powersave),
            "auto" => Ok(PrimaryDomain::Auto),
            mask => match mask.parse::<CpuSet>() {
                Ok(cpus) if cpus.is_empty() => Err(DomainError::NoCpus),
                Ok(cpus) => Ok(PrimaryDomain::Cpus(cpus)),
                Err(error @ CpuSetError::TooHigh) => Err(DomainError::TooHigh(error)),
                Err(CpuSetError::Empty | CpuSetError::NotHex(_)) => Err(DomainError::Unknown),
            },
        }
    }
}

impl Serialize for PrimaryDomain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PrimaryDomain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PrimaryDomain, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
