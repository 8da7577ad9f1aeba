//! Which primary domain a power situation means.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::domain::DomainError;
use pandemonium_policy::power::PowerMapError;
use pandemonium_policy::{PowerMap, PowerProfile, PowerSituation, PowerSource, PrimaryDomain};

fn map(entries: &[(&str, &str)]) -> PowerMap {
    let mut map = PowerMap::empty();
    for (key, domain) in entries {
        map.insert(key, domain).unwrap();
    }
    map
}

fn situation(
    source: impl Into<Option<PowerSource>>,
    profile: impl Into<Option<PowerProfile>>,
) -> PowerSituation {
    PowerSituation {
        source: source.into(),
        profile: profile.into(),
    }
}

fn every_situation() -> Vec<PowerSituation> {
    let sources = [None, Some(PowerSource::Ac), Some(PowerSource::Battery)];
    let profiles = PowerProfile::ALL.map(Some);
    let profiles = || [None].into_iter().chain(profiles);
    let all = sources
        .into_iter()
        .flat_map(|source| profiles().map(move |profile| situation(source, profile)));
    all.collect()
}

#[test]
fn by_default_only_the_two_profiles_that_ask_for_something_get_it() {
    let map = PowerMap::default();
    for situation in every_situation() {
        let expected = match situation.profile {
            Some(PowerProfile::Performance) => PrimaryDomain::Performance,
            Some(PowerProfile::PowerSaver) => PrimaryDomain::Powersave,
            Some(PowerProfile::Balanced) | None => PrimaryDomain::All,
        };
        assert_eq!(map.domain(situation), expected, "{situation:?}");
    }
}

#[test]
fn an_empty_map_follows_nothing() {
    for situation in every_situation() {
        assert_eq!(PowerMap::empty().domain(situation), PrimaryDomain::All);
    }
}

#[test]
fn the_profile_goes_before_the_source() {
    let map = map(&[("battery", "powersave"), ("performance", "0x3")]);
    for (situation, domain) in [
        (situation(PowerSource::Battery, None), "powersave"),
        (
            situation(PowerSource::Battery, PowerProfile::Balanced),
            "powersave",
        ),
        (
            situation(PowerSource::Battery, PowerProfile::Performance),
            "0x3",
        ),
        (situation(None, PowerProfile::Performance), "0x3"),
        (situation(PowerSource::Ac, PowerProfile::Balanced), "all"),
    ] {
        assert_eq!(map.domain(situation).to_string(), domain, "{situation:?}");
    }
}

#[test]
fn every_key_is_taken_and_the_last_domain_counts() {
    let keys = ["ac", "balanced", "battery", "performance", "power-saver"];
    let mut map = PowerMap::empty();
    for key in keys {
        map.insert(key, "0x1").unwrap();
        map.insert(key, "powersave").unwrap();
    }
    let entries: Vec<_> = map.entries().collect();
    assert_eq!(entries, keys.map(|key| (key, PrimaryDomain::Powersave)));
    for situation in every_situation() {
        let is_known = situation != PowerSituation::default();
        let expected = if is_known {
            PrimaryDomain::Powersave
        } else {
            PrimaryDomain::All
        };
        assert_eq!(map.domain(situation), expected, "{situation:?}");
    }
}

#[test]
fn a_map_is_one_line() {
    let map = map(&[("performance", "0X3"), ("battery", "powersave")]);
    assert_eq!(map.to_string(), "battery=powersave performance=0x3");
    assert_eq!(PowerMap::empty().to_string(), "");
}

#[test]
fn what_is_no_entry_is_refused_and_changes_nothing() {
    let mut map = PowerMap::default();
    for (key, domain, error) in [
        ("", "all", PowerMapError::UnknownKey),
        ("Battery", "all", PowerMapError::UnknownKey),
        ("power_saver", "all", PowerMapError::UnknownKey),
        ("battery", "auto", PowerMapError::Auto),
        (
            "battery",
            "turbo",
            PowerMapError::Domain(DomainError::Unknown),
        ),
        ("battery", "0x0", PowerMapError::Domain(DomainError::NoCpus)),
    ] {
        assert_eq!(map.insert(key, domain), Err(error), "{key}={domain}");
    }
    assert_eq!(map, PowerMap::default());
}
