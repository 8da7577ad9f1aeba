//! `pandemonium history`: the last hour, a line a second.

use std::io::Write;

use pandemonium_api::{HistoryPoint, MAX_POINTS};
use serde_json::{Value, json};

use crate::connection::{Daemon, answer, block_on};
use crate::error::Error;
use crate::status::now_usec;
use crate::text::{Style, latency, print_json};

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Columns for people.
    Text,
    /// One array of objects.
    Json,
    /// Comma-separated values with a line of names.
    Csv,
}

/// The names of the values of a point, as in JSON and CSV.
const NAMES: [&str; 18] = [
    "usec",
    "elapsed_usec",
    "regime",
    "burst",
    "longrun",
    "idle_permille",
    "online_cpus",
    "interactive_running",
    "dispatches_per_sec",
    "p50_nsec",
    "p99_nsec",
    "p99_batch_nsec",
    "p99_interactive_nsec",
    "p99_lat_critical_nsec",
    "effective_slice_nsec",
    "batch_wait_usec",
    "batch_queued",
    "interactive_queued",
];

/// Prints what happened during the last `seconds`.
pub fn run(seconds: u64, form: Form, style: Style, out: &mut dyn Write) -> Result<(), Error> {
    let now = now_usec();
    let since = now.saturating_sub(seconds.saturating_mul(1_000_000));
    let points = block_on(async { fetch(&Daemon::connect().await?, since).await })?;
    match form {
        Form::Text => Ok(print(&points, now, style, out)?),
        Form::Csv => Ok(csv(&points, out)?),
        Form::Json => {
            let points: Vec<_> = points.iter().map(to_json).collect();
            print_json(&points, out)
        }
    }
}

/// Page by page, until one is not full.
async fn fetch(daemon: &Daemon, mut since: u64) -> Result<Vec<HistoryPoint>, Error> {
    let mut points = Vec::new();
    loop {
        let page = answer(daemon.metrics.get_history(since, MAX_POINTS)).await?;
        let is_last = page.len() < MAX_POINTS as usize;
        match page.last() {
            // A daemon that answers with old points would be asked for ever.
            Some(last) if last.usec > since => since = last.usec,
            _ => return Ok(points),
        }
        points.extend(page);
        if is_last {
            return Ok(points);
        }
    }
}

/// The values in the order of their names.
fn values(p: &HistoryPoint) -> [Value; NAMES.len()] {
    let (batch, interactive, critical) = p.p99_by_tier_nsec;
    [
        json!(p.usec),
        json!(p.elapsed_usec),
        json!(p.regime_name()),
        json!(p.is_burst()),
        json!(p.is_longrun()),
        json!(p.idle_permille),
        json!(p.online_cpus),
        json!(p.interactive_running),
        json!(p.dispatches_per_sec),
        json!(p.p50_nsec),
        json!(p.p99_nsec),
        json!(batch),
        json!(interactive),
        json!(critical),
        json!(p.effective_slice_nsec),
        json!(p.batch_wait_usec),
        json!(p.batch_queued),
        json!(p.interactive_queued),
    ]
}

fn to_json(point: &HistoryPoint) -> Value {
    let named = NAMES.into_iter().map(str::to_owned);
    Value::Object(named.zip(values(point)).collect())
}

fn csv(points: &[HistoryPoint], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}", NAMES.join(","))?;
    for point in points {
        // Numbers, true and false, and one word that is never quoted.
        let words = values(point).map(|value| value.to_string().replace('"', ""));
        writeln!(out, "{}", words.join(","))?;
    }
    Ok(())
}

fn print(
    points: &[HistoryPoint],
    now_usec: u64,
    style: Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    if points.is_empty() {
        return writeln!(out, "nothing was sampled in that time");
    }
    let head = format!(
        "{:>8}  {:<7}  {:>5}  {:>10}  {:>9}  {:>9}  {:>9}  {:>6}  {}",
        "ago", "regime", "idle", "dispatches", "median", "p99", "slice", "queued", "unusual"
    );
    writeln!(out, "{}", style.bold(&head))?;
    for p in points {
        let known = |ns: u32| match ns {
            0 => "-".to_owned(),
            ns => latency(ns.into()),
        };
        let unusual = [(p.is_burst(), "burst"), (p.is_longrun(), "longrun")];
        let unusual = unusual.iter().filter(|(is_on, _)| *is_on);
        let unusual: Vec<_> = unusual.map(|(_, word)| *word).collect();
        let line = format!(
            "{:>8}  {:<7}  {:>4}%  {:>10}  {:>9}  {:>9}  {:>9}  {:>6}  {}",
            ago(now_usec.saturating_sub(p.usec)),
            p.regime_name(),
            p.idle_permille / 10,
            p.dispatches_per_sec,
            known(p.p50_nsec),
            known(p.p99_nsec),
            known(p.effective_slice_nsec),
            p.batch_queued.saturating_add(p.interactive_queued),
            unusual.join(" "),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Minutes and seconds.
fn ago(usec: u64) -> String {
    let seconds = usec / 1_000_000;
    match seconds / 60 {
        0 => format!("{seconds}s"),
        minutes => format!("{minutes}m{:02}s", seconds % 60),
    }
}

/// A duration of the command line: `90`, `90s`, `10m` or `1h`, in seconds.
pub fn duration(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3_600),
        _ => (text, 1),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = digits.parse::<u64>().ok().filter(|_| is_number);
    seconds
        .and_then(|seconds| seconds.checked_mul(factor))
        .filter(|seconds| *seconds > 0)
        .ok_or_else(|| "a time is a number of seconds, or such as 90s, 10m or 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> HistoryPoint {
        HistoryPoint {
            usec: 1_000_000,
            regime: 2,
            flags: HistoryPoint::LONGRUN,
            idle_permille: 125,
            dispatches_per_sec: 4_000,
            p99_nsec: 1_540_000,
            p99_by_tier_nsec: (1, 2, 3),
            batch_queued: 2,
            interactive_queued: 1,
            ..HistoryPoint::default()
        }
    }

    fn written(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).expect("writing to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn people_read_how_long_ago_it_was() {
        let text = written(|out| print(&[point()], 76_000_000, Style::default(), out));
        let words: Vec<_> = text
            .lines()
            .nth(1)
            .expect("a line")
            .split_whitespace()
            .collect();
        assert_eq!(
            words,
            [
                "1m15s", "HEAVY", "12%", "4000", "-", "1.54", "ms", "-", "3", "longrun"
            ]
        );
        assert!(written(|out| print(&[], 0, Style::default(), out)).contains("nothing"));
    }

    #[test]
    fn csv_has_a_name_for_every_value() {
        let text = written(|out| csv(&[point()], out));
        let rows: Vec<Vec<_>> = text.lines().map(|l| l.split(',').collect()).collect();
        assert_eq!(rows[0], NAMES);
        assert_eq!(rows[0].len(), rows[1].len());
        assert_eq!(rows[1][..5], ["1000000", "0", "HEAVY", "false", "true"]);
        assert_eq!(rows[1][11..14], ["1", "2", "3"]);
    }

    #[test]
    fn json_has_the_same_names() {
        let value = to_json(&point());
        assert_eq!(value["p99_nsec"], 1_540_000);
        assert_eq!(value["longrun"], true);
        assert_eq!(
            value.as_object().map(serde_json::Map::len),
            Some(NAMES.len())
        );
    }

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3_600)] {
            assert_eq!(duration(text), Ok(seconds));
        }
        for text in ["", "s", "0", "-5", "+5", "1d", "1.5h", "99999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
