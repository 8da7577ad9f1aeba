//! Learned profiles as text that people can read, edit and take to another machine: TOML, an entry for
//! each program. What is read has to be right in every detail before any of it counts.

use std::collections::BTreeSet;

use pandemonium_api::unescape_name;
use pandemonium_policy::{Profile, Profiles, Tier};
use serde::{Deserialize, Serialize};

/// The version of the text. Another one is refused.
const FORMAT: u32 = 1;

const HEAD: &str = "# What PANDEMONIUM learned about programs. Times are in nanoseconds, rates per 100 ms, and\n\
                    # uses in launches of any program ago. A tier under \"pinned\" holds whatever was learned.\n";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    program: Vec<Entry>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pinned: Option<Tier>,
    #[serde(default)]
    observations: u32,
    /// How often each tier was seen: batch, interactive, latency-critical.
    #[serde(default)]
    votes: [u32; Tier::COUNT],
    #[serde(default)]
    average_run: u64,
    #[serde(default)]
    deviation: u64,
    #[serde(default)]
    wakeups: u32,
    #[serde(default)]
    switches: u32,
    #[serde(default)]
    last_used: u64,
    #[serde(default)]
    first_used: u64,
}

/// The text of these profiles, which were taken at this number of launches.
pub fn write(profiles: &[Profile], launches: u64) -> Result<String, String> {
    let text = Text {
        format: FORMAT,
        program: profiles.iter().map(|p| entry(p, launches)).collect(),
    };
    let body = toml::to_string(&text).map_err(|error| error.to_string())?;
    Ok(format!("{HEAD}{body}"))
}

/// The profiles in a text, with their uses as so many launches ago. The error is a sentence.
pub fn read(text: &str) -> Result<Vec<Profile>, String> {
    let text: Text = toml::from_str(text).map_err(|error| sentence(&error))?;
    if text.format != FORMAT {
        return Err(format!("The format is {}, not {FORMAT}.", text.format));
    }
    if text.program.len() > Profiles::CAPACITY {
        return Err(format!(
            "There are more than {} programs.",
            Profiles::CAPACITY
        ));
    }
    let mut seen = BTreeSet::new();
    let mut pinned = 0;
    let mut profiles = Vec::with_capacity(text.program.len());
    for (number, entry) in (1..).zip(text.program) {
        let profile = profile(&entry).map_err(|what| format!("Program {number} {what}."))?;
        if !seen.insert(profile.comm) {
            return Err(format!("Program {number} is there twice."));
        }
        pinned += usize::from(profile.pinned.is_some());
        profiles.push(profile);
    }
    if pinned > Profiles::MAX_PINNED {
        return Err(format!(
            "More than {} programs are pinned.",
            Profiles::MAX_PINNED
        ));
    }
    Ok(profiles)
}

/// Where and what, without a copy of what somebody else wrote.
fn sentence(error: &toml::de::Error) -> String {
    let message: String = error
        .message()
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    let message = pandemonium_api::escape(message.as_bytes(), 200);
    match error.span() {
        Some(span) => format!("At byte {}: {message}.", span.start),
        None => format!("{message}."),
    }
}

fn entry(p: &Profile, launches: u64) -> Entry {
    Entry {
        name: p.display_name(),
        pinned: p.pinned,
        observations: p.observations,
        votes: p.votes,
        average_run: p.avg_runtime_ns,
        deviation: p.runtime_dev_ns,
        wakeups: p.wakeup_freq,
        switches: p.csw_rate,
        last_used: launches.saturating_sub(p.last_used),
        first_used: launches.saturating_sub(p.first_used),
    }
}

fn profile(e: &Entry) -> Result<Profile, String> {
    let name = unescape_name(&e.name).map_err(|what| format!("has a name that {what}"))?;
    let comm = std::array::from_fn(|i| name.get(i).copied().unwrap_or(0));
    if e.observations == 0 {
        let tier = e.pinned.ok_or("is neither observed nor pinned")?;
        return Ok(Profile {
            last_used: e.last_used,
            first_used: e.first_used,
            ..Profile::of_pin(&comm, tier, 0)
        });
    }
    if e.votes == [0; Tier::COUNT] {
        return Err("was observed and has no votes for any tier".to_owned());
    }
    Ok(Profile {
        comm,
        votes: e.votes,
        observations: e.observations,
        avg_runtime_ns: e.average_run,
        runtime_dev_ns: e.deviation,
        wakeup_freq: e.wakeups,
        csw_rate: e.switches,
        last_used: e.last_used,
        first_used: e.first_used.max(e.last_used),
        pinned: e.pinned,
    })
}

#[cfg(test)]
mod tests {
    use pandemonium_policy::Observation;
    use proptest::prelude::*;

    use super::*;

    fn seen(comm: &[u8], tier: Tier) -> Observation {
        Observation {
            comm: std::array::from_fn(|i| comm.get(i).copied().unwrap_or(0)),
            tier,
            avg_runtime_ns: 300_000,
            runtime_dev_ns: 1_000,
            wakeup_freq: 20,
            csw_rate: 40,
            lat_cri: 10,
            exited: true,
        }
    }

    fn table() -> Profiles {
        let mut table = Profiles::new();
        for name in [
            b"kwin_wayland".as_slice(),
            b"evil\x1b[2J\"",
            b"\xff\xfe",
            b"a\\b",
            b"cc1",
        ] {
            table.learn(&seen(name, Tier::Interactive));
        }
        assert!(table.pin(&seen(b"cc1", Tier::Batch).comm, Tier::Batch));
        assert!(table.pin(&seen(b"never seen", Tier::Batch).comm, Tier::LatCritical));
        table
    }

    fn text(table: &Profiles) -> String {
        let profiles: Vec<_> = table.iter().cloned().collect();
        write(&profiles, table.launches()).expect("written")
    }

    #[test]
    fn what_was_written_is_read_again_in_every_detail() {
        let table = table();
        let text = text(&table);
        assert!(!text.contains('\x1b'));
        let mut again = Profiles::from_stored(table.launches(), Vec::new());
        again.import(read(&text).expect("valid"), true);
        assert!(table.iter().eq(again.iter()), "{text}");
    }

    #[test]
    fn a_full_table_is_far_smaller_than_what_may_be_imported() {
        let mut full = Profiles::new();
        for number in 0..600u32 {
            let mut comm = [b'\x01'; 15];
            comm[..4].copy_from_slice(&number.to_le_bytes().map(|byte| byte | 0x80));
            full.learn(&seen(&comm, Tier::Batch));
        }
        assert!(text(&full).len() < 256 * 1024, "{}", text(&full).len());
    }

    #[test]
    fn anything_wrong_is_refused_with_a_sentence() {
        let program = |rest: &str| format!("format = 1\n[[program]]\n{rest}");
        let many = "[[program]]\nname = \"x\"\n".repeat(513);
        for (wrong, word) in [
            (String::new(), "format"),
            ("format = 2".to_owned(), "not 1"),
            ("format = 1\nnonsense = 3".to_owned(), "nonsense"),
            (program("name = \"\"\npinned = \"batch\""), "empty"),
            (program("name = \"a\\\\x00b\"\npinned = \"batch\""), "zero"),
            (
                program("name = \"sixteen-letters!\"\npinned = \"batch\""),
                "longer",
            ),
            (program("name = \"a\"\npinned = \"warp\""), "warp"),
            (program("name = \"a\""), "neither"),
            (program("name = \"a\"\nobservations = 3"), "votes"),
            (program("name = \"a\"\nobservations = -3"), "byte"),
            (
                program(
                    "name = \"a\"\npinned = \"batch\"\n[[program]]\nname = \"a\"\npinned = \"batch\"",
                ),
                "twice",
            ),
            (format!("format = 1\n{many}"), "512"),
            ("format = 1\n\u{1b}[2J".to_owned(), "byte"),
        ] {
            let sentence = read(&wrong).expect_err(&wrong);
            assert!(sentence.contains(word), "{sentence}");
            assert!(sentence.ends_with('.') && sentence.len() < 300 && !sentence.contains('\x1b'));
        }
        assert_eq!(read("format = 1"), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
            let _ = read(&text);
            let _ = read(&format!("format = 1\n[[program]]\nname = \"x\"\n{text}"));
        }
    }
}
