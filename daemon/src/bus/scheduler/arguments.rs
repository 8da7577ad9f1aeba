//! What callers say, made into values or refused before anybody is asked for a password.

use std::collections::{BTreeMap, HashMap};

use pandemonium_api::{BusError, ModeOptions, Refusal, escape};
use pandemonium_policy::{Mode, Pattern, PowerMap, PrimaryDomain};
use zbus::OwnedVariant;

use crate::choices::Choice;

/// Bytes of what a program that holds a mode calls itself.
const MAX_APPLICATION: usize = 64;

pub(super) fn parse_application(name: &str) -> Result<String, Refusal> {
    if name.is_empty() {
        return Err(BusError::InvalidArgs.because("Hold: the name of the application is empty."));
    }
    Ok(escape(name.as_bytes(), MAX_APPLICATION))
}

pub(super) fn parse_mode(mode: &str) -> Result<Mode, Refusal> {
    mode.parse().map_err(|_| {
        let names = Mode::ALL.map(Mode::name).join(", ");
        let mode = escape(mode.as_bytes(), 64);
        BusError::InvalidMode.because(format!(
            "There is no mode \"{mode}\"; choose one of {names}."
        ))
    })
}

pub(super) fn parse_name(name: &str) -> Result<Pattern, Refusal> {
    name.parse().map_err(|error| {
        let name = escape(name.as_bytes(), 64);
        BusError::InvalidName.because(format!("\"{name}\" cannot be a compositor: {error}."))
    })
}

pub(super) fn parse_domain(domain: &str) -> Result<PrimaryDomain, Refusal> {
    domain.parse().map_err(|error| {
        let domain = escape(domain.as_bytes(), 64);
        BusError::InvalidArgs.because(format!("\"{domain}\" is no primary domain: {error}."))
    })
}

pub(super) fn parse_power_map(map: &BTreeMap<String, String>) -> Result<PowerMap, Refusal> {
    let mut parsed = PowerMap::empty();
    for (key, domain) in map {
        parsed.insert(key, domain).map_err(|error| {
            let [key, domain] = [key, domain].map(|text| escape(text.as_bytes(), 64));
            BusError::InvalidArgs.because(format!(
                "\"{key}={domain}\" cannot be in a power map: {error}."
            ))
        })?;
    }
    Ok(parsed)
}

/// Each once, whatever was said how often; all, if nothing was said.
pub(super) fn parse_choices(names: &[String]) -> Result<Vec<Choice>, Refusal> {
    let is_known = |name: &String| Choice::ALL.iter().any(|choice| choice.name() == name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let unknown = escape(unknown.as_bytes(), 64);
        let known = Choice::ALL.map(Choice::name).join(", ");
        return Err(BusError::InvalidArgs.because(format!(
            "There is no choice \"{unknown}\"; choose of {known}."
        )));
    }
    let is_meant = |choice: &Choice| names.is_empty() || names.iter().any(|n| n == choice.name());
    Ok(Choice::ALL.into_iter().filter(is_meant).collect())
}

pub(super) fn parse_options(
    options: &HashMap<String, OwnedVariant>,
) -> Result<ModeOptions, Refusal> {
    ModeOptions::from_options(options)
        .map_err(|sentence| BusError::InvalidArgs.because(format!("SetMode: {sentence}.")))
}
