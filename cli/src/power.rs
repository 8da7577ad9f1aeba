//! `pandemonium power`: the power situation, and what the domain `auto` stands for in it.

use std::collections::BTreeMap;
use std::io::Write;

use pandemonium_api::choice;
use serde_json::{Value, json};

use crate::arguments::PowerAction;
use crate::connection::{Daemon, answer, block_on, explain};
use crate::domain::Domain;
use crate::error::Error;
use crate::text::{print_json, printable};

/// The domain that takes an entry out of the map.
const NONE: &str = "none";

/// What the daemon says about power.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Power {
    source: String,
    profile: String,
    map: BTreeMap<String, String>,
    domain: Domain,
}

impl Power {
    async fn read(daemon: &Daemon) -> zbus::Result<Power> {
        Ok(Power {
            source: daemon.scheduler.power_source().await?,
            profile: daemon.scheduler.power_profile().await?,
            map: daemon.scheduler.power_map().await?,
            domain: Domain::read(daemon).await?,
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "source": known(&self.source),
            "profile": known(&self.profile),
            "map": self.map,
            "primary_domain": self.domain.to_json(),
        })
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let words = |text| known(text).map_or_else(|| "unknown".to_owned(), printable);
        writeln!(out, "source   {}", words(&self.source))?;
        writeln!(out, "profile  {}", words(&self.profile))?;
        let entries = self.map.iter();
        let entries =
            entries.map(|(key, domain)| format!("{}={}", printable(key), printable(domain)));
        let entries: Vec<_> = entries.collect();
        let map = match entries.is_empty() {
            true => "empty: nothing is followed".to_owned(),
            false => entries.join(" "),
        };
        writeln!(out, "map      {map}")?;
        // Otherwise somebody wonders why nothing follows.
        let hint = match self.domain.asked.as_str() {
            "auto" => "",
            _ => " (the map counts with auto: pandemonium domain set auto)",
        };
        writeln!(out, "domain   {}{hint}", self.domain.words())
    }
}

fn known(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Shows the situation and the map, after changing the map if that is the wish.
pub fn run(action: &PowerAction, out: &mut dyn Write) -> Result<(), Error> {
    let (PowerAction::Show { json } | PowerAction::Set { json, .. } | PowerAction::Reset { json }) =
        action;
    let power = block_on(async {
        let daemon = Daemon::connect().await?;
        match action {
            PowerAction::Show { .. } => Ok(()),
            PowerAction::Set { entries, .. } => {
                let map = merged(answer(daemon.scheduler.power_map()).await?, entries);
                let entries = map
                    .iter()
                    .map(|(key, domain)| (key.as_str(), domain.as_str()));
                daemon.scheduler.set_power_map(entries.collect()).await
            }
            PowerAction::Reset { .. } => {
                let choices = [choice::POWER_MAP];
                daemon.scheduler.reset_choices(&choices).await
            }
        }
        .map_err(explain)?;
        // Found anew, because the first one remembers the map of before until it hears of the change.
        let daemon = Daemon::connect().await?;
        answer(Power::read(&daemon)).await
    })?;
    if *json {
        return print_json(&power.to_json(), out);
    }
    power.print(out)?;
    Ok(())
}

fn merged(
    mut map: BTreeMap<String, String>,
    entries: &[(String, String)],
) -> BTreeMap<String, String> {
    for (key, domain) in entries {
        match domain.as_str() {
            NONE => map.remove(key),
            domain => map.insert(key.clone(), domain.to_owned()),
        };
    }
    map
}

#[cfg(test)]
mod tests {
    use pandemonium_api::POWER_MAP_AS_SHIPPED;

    use super::*;

    fn as_shipped() -> BTreeMap<String, String> {
        POWER_MAP_AS_SHIPPED
            .map(|(key, domain)| (key.to_owned(), domain.to_owned()))
            .into()
    }

    fn printed(power: &Power) -> String {
        let mut out = Vec::new();
        power.print(&mut out).expect("writing to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn what_nobody_says_is_unknown() {
        let mut power = Power::default();
        power.domain.asked = "auto".into();
        assert_eq!(
            printed(&power),
            "source   unknown\nprofile  unknown\nmap      empty: nothing is followed\n\
             domain   auto: every CPU\n"
        );
        assert_eq!(power.to_json()["source"], Value::Null);
        assert_eq!(power.to_json()["map"], json!({}));
    }

    #[test]
    fn entries_are_lines_that_can_be_given_back_and_nothing_escapes() {
        let power = Power {
            source: "battery".into(),
            profile: "\x1b[2J".into(),
            map: as_shipped(),
            domain: Domain {
                asked: "all".into(),
                mask: String::new(),
            },
        };
        assert_eq!(
            printed(&power),
            "source   battery\nprofile  \\x1b[2J\n\
             map      performance=performance power-saver=powersave\n\
             domain   all (the map counts with auto: pandemonium domain set auto)\n"
        );
    }

    #[test]
    fn entries_are_merged_and_none_removes() {
        let entry = |key: &str, domain: &str| (key.to_owned(), domain.to_owned());
        let map = merged(
            as_shipped(),
            &[
                entry("battery", "powersave"),
                entry("power-saver", "0x1"),
                entry("performance", "none"),
                entry("ac", "none"),
            ],
        );
        let expected = [entry("battery", "powersave"), entry("power-saver", "0x1")];
        assert_eq!(map, expected.into());
    }
}
