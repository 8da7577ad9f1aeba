//! `pandemonium profiles show`: one program, and why it has its tier.

use std::io::Write;

use pandemonium_api::{ProfileDetails, ProfileRow};
use serde_json::{Value, json};

use super::{tier_words, to_json};
use crate::connection::{Daemon, block_on, explain};
use crate::error::Error;
use crate::text::{latency, pad, plural, print_json, printable};

/// Shows the program of this name.
pub fn run(name: &[u8], json: bool, out: &mut dyn Write) -> Result<(), Error> {
    let (row, why) = block_on(async {
        let daemon = Daemon::connect().await?;
        daemon.processes.get(name).await.map_err(explain)
    })?;
    if json {
        return print_json(&described(&row, &why), out);
    }
    for (name, value) in lines(&row, &why) {
        writeln!(out, "{}  {value}", pad(name, 12))?;
    }
    Ok(())
}

fn described(row: &ProfileRow, why: &ProfileDetails) -> Value {
    let mut value = to_json(row);
    let (batch, interactive, critical) = why.votes;
    let more = json!({
        "pinned": why.pinned,
        "learned_tier": why.learned_tier,
        "votes": { "batch": batch, "interactive": interactive, "lat_critical": critical },
        "confident": why.confident,
        "score": why.score,
        "interactive_from": why.interactive_from,
        "lat_critical_from": why.lat_critical_from,
        "csw_rate": why.csw_rate,
        "launches_since": why.launches_since,
        "launches_since_first": why.launches_since_first,
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
    }
    value
}

fn lines(row: &ProfileRow, why: &ProfileDetails) -> Vec<(&'static str, String)> {
    let tier = printable(tier_words(&row.tier));
    let mut lines = vec![
        ("program", printable(&row.name)),
        ("tier", tier),
        ("why", reason(row, why)),
    ];
    if row.observations > 0 {
        let (batch, interactive, critical) = why.votes;
        lines.extend([
            (
                "seen as",
                format!("batch {batch}, interactive {interactive}, latency-critical {critical}"),
            ),
            (
                "confidence",
                format!(
                    "{}% from {}{}",
                    row.confidence_permille / 10,
                    plural(row.observations.into(), "observation"),
                    if why.confident {
                        ""
                    } else {
                        ", too little to be used"
                    }
                ),
            ),
            (
                "average run",
                format!(
                    "{}, {} from it on average",
                    latency(row.avg_runtime_ns),
                    latency(row.runtime_dev_ns)
                ),
            ),
            (
                "last seen",
                format!(
                    "{} of any program ago",
                    plural(why.launches_since, "launch")
                ),
            ),
        ]);
    }
    lines
}

/// One sentence.
fn reason(row: &ProfileRow, why: &ProfileDetails) -> String {
    let learned = match row.observations {
        0 => "nothing was learned yet".to_owned(),
        _ => behaviour(row, why),
    };
    if why.pinned {
        return format!("it was pinned; {learned}");
    }
    learned
}

fn behaviour(row: &ProfileRow, why: &ProfileDetails) -> String {
    let limits = match (why.interactive_from, why.lat_critical_from) {
        (Some(low), Some(high)) => {
            format!(" (interactive from {low}, latency-critical from {high})")
        }
        _ => String::new(),
    };
    format!(
        "it wakes {} and switches {} in 100 ms and runs {}, which is a score of {}{limits}",
        plural(row.wakeup_freq.into(), "time"),
        plural(why.csw_rate.into(), "time"),
        latency(row.avg_runtime_ns),
        why.score
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    fn why() -> ProfileDetails {
        ProfileDetails {
            learned_tier: "lat_critical".into(),
            votes: (0, 1, 9),
            confident: true,
            score: 40,
            interactive_from: Some(8),
            lat_critical_from: Some(32),
            csw_rate: 12,
            launches_since: 5,
            ..ProfileDetails::default()
        }
    }

    fn text(row: &ProfileRow, why: &ProfileDetails) -> String {
        let line = |(name, value): (&str, String)| format!("{name}: {value}\n");
        lines(row, why).into_iter().map(line).collect()
    }

    #[test]
    fn the_reason_is_what_the_program_does_or_who_decided() {
        let kwin = row("kwin", "lat_critical", 10);
        let learned = text(&kwin, &why());
        assert!(
            learned.contains("why: it wakes 60 times and switches 12 times in 100 ms and runs 250 us, which is a score of 40 (interactive from 8, latency-critical from 32)"),
            "{learned}"
        );
        assert!(learned.contains("seen as: batch 0, interactive 1, latency-critical 9"));
        let pinned = ProfileDetails {
            pinned: true,
            ..why()
        };
        assert!(text(&kwin, &pinned).contains("why: it was pinned; it wakes 60"));
        let new = text(&row("new", "batch", 0), &pinned);
        assert!(
            new.ends_with("why: it was pinned; nothing was learned yet\n"),
            "{new}"
        );
    }

    #[test]
    fn once_is_not_said_as_often() {
        let once = ProfileRow {
            wakeup_freq: 1,
            ..row("new", "batch", 1)
        };
        let why = ProfileDetails {
            csw_rate: 1,
            launches_since: 1,
            ..why()
        };
        let text = text(&once, &why);
        for words in [
            "wakes 1 time and switches 1 time in",
            "from 1 observation\n",
            "1 launch of any program ago",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn json_has_the_row_and_the_reasons() {
        let value = described(&row("kwin", "lat_critical", 10), &why());
        assert_eq!(
            (&value["name"], &value["score"]),
            (&json!("kwin"), &json!(40))
        );
        assert_eq!(value["votes"]["lat_critical"], 9);
    }
}
