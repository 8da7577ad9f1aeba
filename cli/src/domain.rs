//! `pandemonium domain`: the CPUs that are taken first.

use std::io::Write;

use pandemonium_api::choice;
use serde_json::{Value, json};

use crate::arguments::DomainAction;
use crate::connection::{Daemon, answer, block_on, explain};
use crate::error::Error;
use crate::text::{print_json, printable};

/// Most CPUs a mask can speak of.
const MAX_CPUS: usize = 1024;

/// The primary domain as it was asked for, and what it stands for now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// `PrimaryDomain`.
    pub asked: String,
    /// `PrimaryDomainCpus`: a mask in hex, empty for every CPU.
    pub mask: String,
}

impl Domain {
    /// Asks the daemon.
    pub async fn read(daemon: &Daemon) -> zbus::Result<Domain> {
        Ok(Domain {
            asked: daemon.scheduler.primary_domain().await?,
            mask: daemon.scheduler.primary_domain_cpus().await?,
        })
    }

    /// In one phrase.
    pub fn words(&self) -> String {
        let asked = printable(&self.asked);
        if self.mask.is_empty() {
            return match asked.as_str() {
                "all" => asked,
                _ => format!("{asked}: every CPU"),
            };
        }
        match cpus(&self.mask).as_deref() {
            None => format!("{asked}: {}", printable(&self.mask)),
            Some([one]) => format!("{asked}: CPU {one}"),
            Some(many) => format!("{asked}: CPUs {}", ranges(many)),
        }
    }

    /// As JSON; a mask and CPUs of `null` are every CPU.
    pub fn to_json(&self) -> Value {
        json!({
            "domain": self.asked,
            "mask": (!self.mask.is_empty()).then_some(&self.mask),
            "cpus": cpus(&self.mask),
        })
    }
}

/// Shows the domain, after choosing another one if that is the wish.
pub fn run(action: &DomainAction, out: &mut dyn Write) -> Result<(), Error> {
    let (DomainAction::Show { json }
    | DomainAction::Set { json, .. }
    | DomainAction::Reset { json }) = action;
    let domain = block_on(async {
        let daemon = Daemon::connect().await?;
        match action {
            DomainAction::Show { .. } => Ok(()),
            DomainAction::Set { domain, .. } => daemon.scheduler.set_primary_domain(domain).await,
            DomainAction::Reset { .. } => {
                let choices = [choice::PRIMARY_DOMAIN];
                daemon.scheduler.reset_choices(&choices).await
            }
        }
        .map_err(explain)?;
        answer(Domain::read(&daemon)).await
    })?;
    if *json {
        return print_json(&domain.to_json(), out);
    }
    writeln!(out, "{}", domain.words())?;
    Ok(())
}

/// The CPUs of a mask in hex, in order; `None` if there are none, or if it is no mask.
fn cpus(mask: &str) -> Option<Vec<u32>> {
    let digits = mask.strip_prefix("0x").unwrap_or(mask);
    if digits.len() > MAX_CPUS / 4 {
        return None;
    }
    let mut cpus = Vec::new();
    for (place, digit) in (0u32..).zip(digits.chars().rev()) {
        let bits = digit.to_digit(16)?;
        cpus.extend(
            (0..4)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| place * 4 + bit),
        );
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// `0-3,8`, as the kernel writes lists of CPUs.
fn ranges(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let text = parts.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(asked: &str, mask: &str) -> Domain {
        Domain {
            asked: asked.into(),
            mask: mask.into(),
        }
    }

    #[test]
    fn masks_are_cpus_from_the_last_digit_on() {
        assert_eq!(cpus("0x1"), Some(vec![0]));
        assert_eq!(cpus("0x8000000000000001"), Some(vec![0, 63]));
        assert_eq!(
            cpus(&format!("0x8{}", "0".repeat(255))),
            Some(vec![1023]),
            "the last one there can be"
        );
        for strange in ["", "0x", "0x0", "0xg", "ff,ff", "é"] {
            assert_eq!(cpus(strange), None, "{strange}");
        }
        assert_eq!(cpus(&"f".repeat(100_000)), None);
    }

    #[test]
    fn neighbours_become_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(ranges(&[7]), "7");
    }

    #[test]
    fn a_domain_is_said_with_its_cpus() {
        for (asked, mask, words) in [
            ("all", "", "all"),
            ("auto", "", "auto: every CPU"),
            ("performance", "0xff", "performance: CPUs 0-7"),
            ("0x10", "0x10", "0x10: CPU 4"),
            ("\x1b", "?\x1b", "\\x1b: ?\\x1b"),
        ] {
            assert_eq!(domain(asked, mask).words(), words);
        }
    }

    #[test]
    fn json_says_null_for_every_cpu() {
        assert_eq!(
            domain("auto", "").to_json(),
            json!({ "domain": "auto", "mask": null, "cpus": null })
        );
        assert_eq!(
            domain("powersave", "0x3").to_json(),
            json!({ "domain": "powersave", "mask": "0x3", "cpus": [0, 1] })
        );
    }
}
