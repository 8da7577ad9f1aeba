//! Small wire types.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use zbus::{OwnedVariant, Type, Variant};

use crate::filter;

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
    /// The daemon start during which the program was last seen, counted from 1.
    pub last_used: u64,
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
                (filter::TIER | filter::NAME, _) => {
                    return Err(format!("the filter \"{key}\" takes a string"));
                }
                (filter::MIN_CONFIDENCE, _) => {
                    return Err(format!("the filter \"{key}\" takes a number, 0 to 1000"));
                }
                _ => {
                    return Err(format!(
                        "unknown filter \"{}\"; known are {}, {} and {}",
                        escape(key.as_bytes(), 64),
                        filter::TIER,
                        filter::NAME,
                        filter::MIN_CONFIDENCE
                    ));
                }
            }
        }
        Ok(wanted)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_interface_file() {
        assert_eq!(*LastExit::SIGNATURE, "(tsxss)");
        assert_eq!(*ProfileRow::SIGNATURE, "(ayssuuttut)");
    }

    #[test]
    fn escape_is_printable_and_bounded() {
        assert_eq!(escape(b"a\x1b[2J\\\xff", 16), "a\\x1b[2J\\\\\\xff");
        assert_eq!(escape(&[b'x'; 100], 4), "xxxx");
    }

    #[test]
    fn a_filter_survives_the_bus() {
        let filter = ProfileFilter {
            tier: Some("batch".into()),
            name: Some("cc1".into()),
            min_confidence_permille: Some(500),
        };
        let options = filter
            .to_options()
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value.try_into_owned().ok()?)))
            .collect();
        assert_eq!(ProfileFilter::from_options(&options), Ok(filter));
    }

    #[test]
    fn an_unknown_or_mistyped_filter_is_named() {
        let one = |key: &str, value: Variant<'static>| {
            HashMap::from([(
                key.to_owned(),
                value.try_into_owned().expect("no descriptor"),
            )])
        };
        let unknown = ProfileFilter::from_options(&one("teir", Variant::from("batch")));
        assert!(unknown.is_err_and(|message| message.contains("teir")));
        let mistyped = ProfileFilter::from_options(&one(filter::TIER, Variant::from(3u32)));
        assert!(mistyped.is_err_and(|message| message.contains(filter::TIER)));
    }
}
