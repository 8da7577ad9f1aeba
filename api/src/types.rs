//! Small wire types.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use zbus::{OwnedVariant, Type, Variant, as_variant};

use crate::{filter, mode_option, sort};

/// Why the kernel last ended the scheduler, `(tsxss)`. All zero and empty if it never did.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, Variant, OwnedVariant,
)]
pub struct LastExit {
    /// When, microseconds of CLOCK_REALTIME.
    pub usec: u64,
    /// The kernel's kind of exit, such as `sysrq`, `error` or `error_stall`.
    pub kind: String,
    /// The exit code, 0 if there is none.
    pub code: i64,
    /// The kernel's one-line reason.
    pub reason: String,
    /// The kernel's longer message, often empty.
    pub message: String,
}

impl LastExit {
    /// Whether there has been an exit at all.
    pub fn is_some(&self) -> bool {
        self.usec != 0
    }
}

/// A program that holds a mode, `(sssut)`.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, Variant, OwnedVariant,
)]
pub struct HoldRow {
    /// The mode it holds.
    pub mode: String,
    /// What the program calls itself.
    pub application: String,
    /// Why it holds the mode, often empty.
    pub reason: String,
    /// The user it runs as.
    pub uid: u32,
    /// Since when, microseconds of CLOCK_REALTIME.
    pub usec: u64,
}

/// One learned program, `(ayssuuttut)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct ProfileRow {
    /// The kernel's name of the program, at most 15 arbitrary bytes.
    pub comm: Vec<u8>,
    /// The same, safe to print.
    pub name: String,
    /// `batch`, `interactive` or `lat_critical`.
    pub tier: String,
    /// How sure the tier is, 0..=1000.
    pub confidence_permille: u32,
    /// How many tasks of this name were observed.
    pub observations: u32,
    /// Average run between two sleeps, ns.
    pub avg_runtime_ns: u64,
    /// Mean deviation of that run, ns.
    pub runtime_dev_ns: u64,
    /// Wake-ups per 100 ms, as the kernel half estimates them.
    pub wakeup_freq: u32,
    /// Launch counter when the program was last seen.
    pub last_used: u64,
}

/// The options of `SetMode`; by default there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeOptions {
    /// The next start takes this mode too.
    pub persist: bool,
    /// Seconds after which the mode goes back by itself unless it is confirmed.
    pub confirm_seconds: Option<u32>,
}

impl ModeOptions {
    /// These options as they travel over the bus.
    pub fn to_options(self) -> HashMap<&'static str, Variant<'static>> {
        let mut options = HashMap::new();
        if self.persist {
            options.insert(mode_option::PERSIST, Variant::from(true));
        }
        if let Some(seconds) = self.confirm_seconds {
            options.insert(mode_option::CONFIRM_TIMEOUT, Variant::from(seconds));
        }
        options
    }

    /// Reads the options; the error is a sentence that names the offending key.
    pub fn from_options(options: &HashMap<String, OwnedVariant>) -> Result<Self, String> {
        let mut wanted = ModeOptions::default();
        for (key, value) in options {
            match (key.as_str(), &**value) {
                (mode_option::PERSIST, Variant::Bool(persist)) => wanted.persist = *persist,
                (mode_option::PERSIST, _) => {
                    return Err(format!("the option \"{key}\" takes a boolean"));
                }
                (mode_option::CONFIRM_TIMEOUT, Variant::U32(seconds))
                    if mode_option::CONFIRM_SECONDS.contains(seconds) =>
                {
                    wanted.confirm_seconds = Some(*seconds);
                }
                (mode_option::CONFIRM_TIMEOUT, _) => {
                    let range = mode_option::CONFIRM_SECONDS;
                    return Err(format!(
                        "the option \"{key}\" takes a number of seconds, {} to {}",
                        range.start(),
                        range.end()
                    ));
                }
                _ => {
                    return Err(format!(
                        "unknown option \"{}\"; known are {} and {}",
                        escape(key.as_bytes(), 64),
                        mode_option::PERSIST,
                        mode_option::CONFIRM_TIMEOUT
                    ));
                }
            }
        }
        Ok(wanted)
    }
}

/// What `Processes1.List` should return; empty means everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileFilter {
    /// Only this tier.
    pub tier: Option<String>,
    /// Only names that contain this, in their escaped form.
    pub name: Option<String>,
    /// Only profiles at least this sure, permille.
    pub min_confidence_permille: Option<u32>,
    /// Only those that are pinned, or only those that are not.
    pub is_pinned: Option<bool>,
    /// One of [`crate::sort::ALL`]; by name otherwise.
    pub sort: Option<String>,
    /// The other way round.
    pub is_descending: bool,
}

/// Why a program has its tier, `a{sv}`: what `Processes1.Get` says beyond the row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type)]
#[zbus(signature = "dict")]
#[serde(default)]
pub struct ProfileDetails {
    /// Somebody decided on the tier.
    #[serde(with = "as_variant")]
    pub pinned: bool,
    /// The tier seen most often lately, which counts unless it is pinned.
    #[serde(with = "as_variant")]
    pub learned_tier: String,
    /// How often each tier was seen lately: batch, interactive, latency-critical.
    #[serde(with = "as_variant")]
    pub votes: (u32, u32, u32),
    /// The tier is sure enough to be used.
    #[serde(with = "as_variant")]
    pub confident: bool,
    /// The latency-criticality score of these averages, 0..=255.
    #[serde(with = "as_variant")]
    pub score: u32,
    /// The score from which a task is interactive; missing while the scheduler is not loaded.
    #[serde(with = "as_variant::optional", skip_serializing_if = "Option::is_none")]
    pub interactive_from: Option<u64>,
    /// The score from which it is latency-critical.
    #[serde(with = "as_variant::optional", skip_serializing_if = "Option::is_none")]
    pub lat_critical_from: Option<u64>,
    /// Context switches per 100 ms.
    #[serde(with = "as_variant")]
    pub csw_rate: u32,
    /// Launches of any program since its last use.
    #[serde(with = "as_variant")]
    pub launches_since: u64,
    /// Launches of any program since it was first seen.
    #[serde(with = "as_variant")]
    pub launches_since_first: u64,
}

impl ProfileFilter {
    /// The filter as the options that travel over the bus.
    pub fn to_options(&self) -> HashMap<&'static str, Variant<'_>> {
        let mut options = HashMap::new();
        if let Some(tier) = &self.tier {
            options.insert(filter::TIER, Variant::from(tier.as_str()));
        }
        if let Some(name) = &self.name {
            options.insert(filter::NAME, Variant::from(name.as_str()));
        }
        if let Some(permille) = self.min_confidence_permille {
            options.insert(filter::MIN_CONFIDENCE, Variant::from(permille));
        }
        if let Some(is_pinned) = self.is_pinned {
            options.insert(filter::PINNED, Variant::from(is_pinned));
        }
        if let Some(sort) = &self.sort {
            options.insert(filter::SORT, Variant::from(sort.as_str()));
        }
        if self.is_descending {
            options.insert(filter::DESCENDING, Variant::from(true));
        }
        options
    }

    /// Reads the options; the error is a sentence that names the offending key.
    pub fn from_options(options: &HashMap<String, OwnedVariant>) -> Result<Self, String> {
        let mut wanted = ProfileFilter::default();
        for (key, value) in options {
            match (key.as_str(), &**value) {
                (filter::TIER, Variant::Str(tier)) => wanted.tier = Some(tier.to_string()),
                (filter::NAME, Variant::Str(name)) => wanted.name = Some(name.to_string()),
                (filter::MIN_CONFIDENCE, Variant::U32(permille)) => {
                    wanted.min_confidence_permille = Some(*permille);
                }
                (filter::PINNED, Variant::Bool(is_pinned)) => wanted.is_pinned = Some(*is_pinned),
                (filter::SORT, Variant::Str(order)) => wanted.sort = Some(order.to_string()),
                (filter::DESCENDING, Variant::Bool(is_on)) => wanted.is_descending = *is_on,
                (filter::TIER | filter::NAME | filter::SORT, _) => {
                    return Err(format!("the filter \"{key}\" takes a string"));
                }
                (filter::MIN_CONFIDENCE, _) => {
                    return Err(format!("the filter \"{key}\" takes a number, 0 to 1000"));
                }
                (filter::PINNED | filter::DESCENDING, _) => {
                    return Err(format!("the filter \"{key}\" takes true or false"));
                }
                _ => {
                    return Err(format!(
                        "unknown filter \"{}\"; known are {}",
                        escape(key.as_bytes(), 64),
                        filter::ALL.join(", ")
                    ));
                }
            }
        }
        match &wanted.sort {
            Some(order) if !sort::ALL.contains(&order.as_str()) => Err(format!(
                "unknown order \"{}\"; known are {}",
                escape(order.as_bytes(), 64),
                sort::ALL.join(", ")
            )),
            _ => Ok(wanted),
        }
    }
}

/// Bytes that somebody else chose, made safe for a terminal, a log and a bus string: printable ASCII
/// stays, everything else becomes `\xNN`, and at most `limit` input bytes are kept.
pub fn escape(bytes: &[u8], limit: usize) -> String {
    let mut text = String::with_capacity(bytes.len().min(limit));
    for &byte in bytes.iter().take(limit) {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}

/// Text that the daemon made, which has escaped what others chose in it, safe for a terminal whoever sent it: what is
/// printable stays, backslashes too, so that nothing is escaped twice; at most `limit` characters are kept.
pub fn printable(text: &str, limit: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(limit));
    for c in text.chars().take(limit) {
        match c {
            '\\' | '\'' | '"' => safe.push(c),
            '\0'..='\x1f' | '\x7f' => safe.push_str(&format!("\\x{:02x}", u32::from(c))),
            // Printable characters stand for themselves here.
            c => safe.extend(c.escape_debug()),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_interface_file() {
        assert_eq!(*LastExit::SIGNATURE, "(tsxss)");
        assert_eq!(*HoldRow::SIGNATURE, "(sssut)");
        assert_eq!(*ProfileRow::SIGNATURE, "(ayssuuttut)");
    }

    #[test]
    fn escape_is_printable_and_bounded() {
        assert_eq!(escape(b"a\x1b[2J\\\xff", 16), "a\\x1b[2J\\\\\\xff");
        assert_eq!(escape(&[b'x'; 100], 4), "xxxx");
    }

    #[test]
    fn what_was_escaped_is_printable_as_it_is_and_the_rest_is_made_so() {
        for text in [
            "it's \"Z\u{fc}rich\" \u{65e5}\u{672c}",
            &escape(b"a\x1b[2J\\\xff", 16),
        ] {
            assert_eq!(printable(text, 99), text);
        }
        assert_eq!(printable("a\x1b[2J\n\x7f", 99), "a\\x1b[2J\\x0a\\x7f");
        assert_eq!(
            printable("\u{85}\u{202e}\u{200b}", 99),
            "\\u{85}\\u{202e}\\u{200b}"
        );
        assert_eq!(printable("\u{fc}\u{fc}\u{fc}", 2), "\u{fc}\u{fc}");
    }

    #[test]
    fn a_filter_survives_the_bus() {
        let filter = ProfileFilter {
            tier: Some("batch".into()),
            name: Some("cc1".into()),
            min_confidence_permille: Some(500),
            is_pinned: Some(false),
            sort: Some(sort::LAST_USE.into()),
            is_descending: true,
        };
        let options = filter
            .to_options()
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value.try_into_owned().ok()?)))
            .collect();
        assert_eq!(ProfileFilter::from_options(&options), Ok(filter));
    }

    fn one(key: &str, value: Variant<'static>) -> HashMap<String, OwnedVariant> {
        let value = value.try_into_owned().expect("no descriptor");
        HashMap::from([(key.to_owned(), value)])
    }

    #[test]
    fn options_of_a_mode_survive_the_bus() {
        let wanted = ModeOptions {
            persist: true,
            confirm_seconds: Some(30),
        };
        let options = wanted
            .to_options()
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value.try_into_owned().ok()?)))
            .collect();
        assert_eq!(ModeOptions::from_options(&options), Ok(wanted));
        assert!(ModeOptions::default().to_options().is_empty());
    }

    #[test]
    fn an_unknown_mistyped_or_unreasonable_option_of_a_mode_is_named() {
        for (key, value, word) in [
            ("presist", Variant::from(true), "presist"),
            ("persist", Variant::from(1u32), "boolean"),
            ("confirm-timeout", Variant::from(30i32), "5 to 600"),
            ("confirm-timeout", Variant::from(4u32), "5 to 600"),
            ("confirm-timeout", Variant::from(601u32), "5 to 600"),
        ] {
            let refused = ModeOptions::from_options(&one(key, value));
            let sentence = refused.expect_err(key);
            assert!(
                sentence.contains(word) && sentence.contains(key),
                "{sentence}"
            );
        }
        for seconds in [5u32, 600] {
            let taken = ModeOptions::from_options(&one("confirm-timeout", seconds.into()));
            assert_eq!(taken.map(|o| o.confirm_seconds), Ok(Some(seconds)));
        }
    }

    #[test]
    fn an_unknown_or_mistyped_filter_is_named() {
        let unknown = ProfileFilter::from_options(&one("teir", Variant::from("batch")));
        assert!(unknown.is_err_and(|message| message.contains("teir")));
        let order = ProfileFilter::from_options(&one(filter::SORT, Variant::from("colour")));
        assert!(order.is_err_and(|message| message.contains("colour")));
        let mistyped = ProfileFilter::from_options(&one(filter::TIER, Variant::from(3u32)));
        assert!(mistyped.is_err_and(|message| message.contains(filter::TIER)));
    }
}
