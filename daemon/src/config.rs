//! The configuration files, checked.

mod error;
mod files;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use pandemonium_policy::{Mode, Pattern, PowerMap};
use serde::Deserialize;
use toml::Spanned;

use crate::choices::{Choices, MAX_SLICE_LAG_US};
pub use error::ConfigError;
use error::Place;
use files::{files, read};

/// What can be configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The mode after start.
    pub mode: Mode,
    /// Compositors, CPUs to prefer, and the rest that the kernel half follows.
    pub choices: Choices,
}

/// Which files to read, the later ones on top.
#[derive(Clone, Debug)]
pub enum Source {
    /// The system's below this root: vendor, administrator, drop-ins in the order of their names.
    System(PathBuf),
    /// One file that has to exist.
    File(PathBuf),
}

/// One file as written; every key may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    mode: Option<Mode>,
    compositors: Option<Spanned<Vec<Spanned<String>>>>,
    default_compositors: Option<bool>,
    primary_domain: Option<Spanned<String>>,
    idle_selector: Option<bool>,
    local_kthreads: Option<bool>,
    slice_lag_us: Option<Spanned<i64>>,
    #[serde(rename = "power-map")]
    power_map: Option<BTreeMap<Spanned<String>, Spanned<String>>>,
}

/// The names of compositors as far as the files have been read.
#[derive(Debug)]
struct Names {
    own: Vec<Pattern>,
    has_built_in: bool,
}

/// Reads and merges the files. A missing system file is fine; anything else wrong is an error.
pub fn load(source: &Source) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    let mut names = Names {
        own: Vec::new(),
        has_built_in: true,
    };
    for path in files(source)? {
        let text = match read(&path) {
            Ok(text) => text,
            Err(ConfigError::Unreadable { error, .. })
                if error.kind() == io::ErrorKind::NotFound
                    && matches!(source, Source::System(_)) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        let place = Place {
            path: &path,
            text: &text,
        };
        let layer = place.parse()?;
        names.lay(&layer, &place)?;
        config.lay(&layer, &names, &place)?;
    }
    Ok(config)
}

impl Names {
    /// The list of a later file replaces that of an earlier one.
    fn lay(&mut self, layer: &Layer, place: &Place<'_>) -> Result<(), ConfigError> {
        self.has_built_in = layer.default_compositors.unwrap_or(self.has_built_in);
        if let Some(list) = &layer.compositors {
            let parsed = list.get_ref().iter().map(|name| {
                let wrong = |error| place.wrong(name.span().start, "compositors", error);
                name.get_ref().parse::<Pattern>().map_err(wrong)
            });
            self.own = parsed.collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = Pattern> {
        let built_in = self.has_built_in.then(Pattern::defaults);
        let built_in = built_in.into_iter().flatten();
        built_in.chain(self.own.iter().copied())
    }
}

impl Config {
    fn lay(&mut self, layer: &Layer, names: &Names, place: &Place<'_>) -> Result<(), ConfigError> {
        self.mode = layer.mode.unwrap_or(self.mode);
        let choices = &mut self.choices;
        choices.compositors = names.all().collect();
        choices.check().map_err(|sentence| {
            let list = layer.compositors.as_ref();
            let start = list.map_or(0, |list| list.span().start);
            place.wrong(start, "compositors", sentence)
        })?;
        if let Some(domain) = &layer.primary_domain {
            let wrong = |error| place.wrong(domain.span().start, "primary_domain", error);
            choices.domain = domain.get_ref().parse().map_err(wrong)?;
        }
        choices.idle_selector = layer.idle_selector.unwrap_or(choices.idle_selector);
        choices.local_kthreads = layer.local_kthreads.unwrap_or(choices.local_kthreads);
        if let Some(lag) = &layer.slice_lag_us {
            let (start, us) = (lag.span().start, *lag.get_ref());
            let range = -MAX_SLICE_LAG_US..=MAX_SLICE_LAG_US;
            if !range.contains(&us) {
                let sentence = format!(
                    "{us} is not in the range {} to {}",
                    range.start(),
                    range.end()
                );
                return Err(place.wrong(start, "slice_lag_us", sentence));
            }
            choices.slice_lag_us = us;
        }
        if let Some(entries) = &layer.power_map {
            choices.power_map = power_map(entries, place)?;
        }
        Ok(())
    }
}

/// A later file's map replaces that of an earlier one, as a request on the bus does.
fn power_map(
    entries: &BTreeMap<Spanned<String>, Spanned<String>>,
    place: &Place<'_>,
) -> Result<PowerMap, ConfigError> {
    let mut map = PowerMap::empty();
    for (key, domain) in entries {
        map.insert(key.get_ref(), domain.get_ref())
            .map_err(|error| place.wrong(key.span().start, "power-map", error))?;
    }
    Ok(map)
}

#[cfg(test)]
mod tests;
