//! Choices as they are remembered: only what differs from the configuration, as text that a person can read.

use std::collections::{BTreeMap, BTreeSet};

use pandemonium_policy::{Pattern, PowerMap};
use serde::{Deserialize, Serialize};

use super::Decision;
use crate::choices::Choices;

type Texts = BTreeMap<String, String>;

/// How choices differ from those of the configuration. What this version does not understand is passed
/// over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Chosen {
    primary_domain: Option<Decision<String>>,
    idle_selector: Option<Decision<bool>>,
    power_map: Option<Decision<Texts>>,
    compositors: Names,
}

/// Each name is a decision of its own: a configuration that has an added one, or lacks a removed one,
/// settles it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Names {
    added: BTreeSet<String>,
    removed: BTreeSet<String>,
}

impl Chosen {
    pub(super) fn instead_of(chosen: &Choices, configured: &Choices) -> Chosen {
        let names = |set: &BTreeSet<Pattern>, other: &BTreeSet<Pattern>| {
            set.difference(other).map(Pattern::to_string).collect()
        };
        Chosen {
            primary_domain: Decision::new(chosen.domain.to_string(), configured.domain.to_string()),
            idle_selector: Decision::new(chosen.idle_selector, configured.idle_selector),
            power_map: Decision::new(texts(&chosen.power_map), texts(&configured.power_map)),
            compositors: Names {
                added: names(&chosen.compositors, &configured.compositors),
                removed: names(&configured.compositors, &chosen.compositors),
            },
        }
    }

    pub(super) fn on(&self, configured: &Choices) -> Choices {
        let domain = self.primary_domain.as_ref();
        let domain = domain.and_then(|it| it.while_configured(&configured.domain.to_string()));
        let map = self.power_map.as_ref();
        let map = map.and_then(|it| it.while_configured(&texts(&configured.power_map)));
        let selector = self.idle_selector.as_ref();
        let selector = selector.and_then(|it| it.while_configured(&configured.idle_selector));
        let mut choices = configured.clone();
        choices.domain = domain
            .and_then(|text| text.parse().ok())
            .unwrap_or(choices.domain);
        choices.power_map = map.and_then(parse).unwrap_or(choices.power_map);
        choices.idle_selector = selector.copied().unwrap_or(choices.idle_selector);
        for name in patterns(&self.compositors.removed) {
            choices.compositors.remove(&name);
        }
        choices
            .compositors
            .extend(patterns(&self.compositors.added));
        choices
    }
}

fn patterns(names: &BTreeSet<String>) -> impl Iterator<Item = Pattern> + '_ {
    names.iter().filter_map(|name| name.parse().ok())
}

fn texts(map: &PowerMap) -> Texts {
    map.entries()
        .map(|(key, domain)| (key.to_owned(), domain.to_string()))
        .collect()
}

fn parse(texts: &Texts) -> Option<PowerMap> {
    let mut map = PowerMap::empty();
    for (key, domain) in texts {
        map.insert(key, domain).ok()?;
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use pandemonium_policy::PrimaryDomain;

    use super::*;

    fn with(names: &[&str]) -> Choices {
        Choices {
            compositors: names
                .iter()
                .map(|name| name.parse().expect("a name"))
                .collect(),
            ..Choices::default()
        }
    }

    /// Through the file, as it happens.
    fn remembered(chosen: &Choices, configured: &Choices) -> Chosen {
        let text = toml::to_string(&Chosen::instead_of(chosen, configured)).expect("text");
        toml::from_str(&text).expect("the same")
    }

    #[test]
    fn what_was_chosen_holds_while_the_configuration_says_the_same() {
        let configured = with(&["kept", "removed"]);
        let chosen = Choices {
            domain: "0x3".parse().expect("a mask"),
            idle_selector: false,
            power_map: PowerMap::empty(),
            ..with(&["kept", "added*"])
        };
        let memory = remembered(&chosen, &configured);
        assert_eq!(memory.on(&configured), chosen);
        assert_eq!(remembered(&configured, &configured), Chosen::default());
    }

    #[test]
    fn each_choice_is_overtaken_by_its_own_part_of_the_configuration() {
        let configured = with(&["kept", "removed"]);
        let chosen = Choices {
            domain: PrimaryDomain::Performance,
            idle_selector: false,
            power_map: PowerMap::empty(),
            ..with(&["kept", "added"])
        };
        let memory = remembered(&chosen, &configured);
        let mut map = PowerMap::empty();
        map.insert("ac", "all").expect("an entry");
        let later = Choices {
            domain: PrimaryDomain::Powersave,
            power_map: map.clone(),
            slice_lag_us: 5,
            ..with(&["kept", "removed", "new"])
        };
        let expected = Choices {
            idle_selector: false,
            compositors: with(&["kept", "added", "new"]).compositors,
            ..later.clone()
        };
        assert_eq!(memory.on(&later), expected);
        // Exactly what a reload makes of it.
        assert_eq!(chosen.after(&configured, &later), expected);
    }

    #[test]
    fn what_is_not_understood_is_passed_over() {
        let text = "[primary_domain]\nchosen = \"turbo\"\nconfigured = \"all\"\n\
            [compositors]\nadded = [\"a/b\", \"mywm\"]\nremoved = [\"\"]\n\
            [power_map.chosen]\nmoon = \"all\"\n[power_map.configured]\n\
            performance = \"performance\"\npower-saver = \"powersave\"\n";
        let memory: Chosen = toml::from_str(text).expect("of the right types");
        let mut expected = Choices::default();
        expected.compositors.insert("mywm".parse().expect("a name"));
        assert_eq!(memory.on(&Choices::default()), expected);
    }
}
