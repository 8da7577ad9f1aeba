//! `pandemonium metrics`: every number of the last tick, for people, for scripts, and for Prometheus.

use std::collections::BTreeMap;
use std::io::Write;

use pandemonium_api::Snapshot;
use serde_json::{Map, Value, json};

use crate::connection::{Daemon, answer, block_on};
use crate::error::Error;
use crate::text::{Style, pad, print_json, printable};

/// The tiers in the order of a triple.
const TIERS: [&str; 3] = ["batch", "interactive", "lat_critical"];

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A column each for name, value and unit.
    Text,
    /// One object.
    Json,
    /// The text format that Prometheus and its textfile collector read.
    Prometheus,
}

/// Prints the last tick.
pub fn run(form: Form, style: Style, out: &mut dyn Write) -> Result<(), Error> {
    let snapshot = block_on(async {
        let daemon = Daemon::connect().await?;
        answer(daemon.metrics.get_snapshot()).await
    })?;
    match form {
        Form::Text => Ok(print(&snapshot, style, out)?),
        Form::Json => print_json(&to_json(&snapshot), out),
        Form::Prometheus => Ok(prometheus(&snapshot, out)?),
    }
}

/// A number that has one value, or one for each tier.
enum Reading {
    One(u64),
    ByTier([u64; 3]),
}

/// The gauges by the names they have on the bus; what is not known is left out.
fn gauges(m: &Snapshot) -> Vec<(&'static str, Reading)> {
    let one = |key, value: u64| Some((key, Reading::One(value)));
    let known = |key, value: Option<u64>| value.map(|value| (key, Reading::One(value)));
    let tiers = |key, (batch, interactive, critical): (u64, u64, u64)| {
        Some((key, Reading::ByTier([batch, interactive, critical])))
    };
    [
        one("sampled_usec", m.sampled_usec),
        one("elapsed_nsec", m.elapsed_nsec),
        one("burst", m.burst.into()),
        one("longrun", m.longrun.into()),
        one("online_cpus", m.online_cpus.into()),
        one("idle_permille", m.idle_permille.into()),
        one("dispatches_per_sec", m.dispatches_per_sec),
        known("effective_slice_nsec", m.effective_slice_nsec),
        known("wake_mean_nsec", m.wake_mean_nsec),
        known("p50_nsec", m.p50_nsec),
        known("p99_nsec", m.p99_nsec),
        tiers("p99_by_tier_nsec", m.p99_by_tier_nsec),
        tiers("wakes_by_tier", m.wakes_by_tier),
        known("io_percent", m.io_percent.map(u64::from)),
        one("batch_wait_nsec", m.batch_wait_nsec),
        one("batch_queued", m.batch_queued),
        one("interactive_queued", m.interactive_queued),
        one("interactive_running", m.interactive_running.into()),
        tiers("l2_hits", m.l2_hits),
        tiers("l2_misses", m.l2_misses),
        one("profiles", m.profiles.into()),
        one("confident_profiles", m.confident_profiles.into()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The words of a snapshot by the names they have on the bus.
fn words(m: &Snapshot) -> [(&'static str, &str); 4] {
    [
        ("state", &m.state),
        ("mode", &m.mode),
        ("regime", &m.regime),
        ("decided_by", &m.decided_by),
    ]
}

fn print(m: &Snapshot, style: Style, out: &mut dyn Write) -> std::io::Result<()> {
    let unit = |key: &str| printable(m.units.get(key).map_or("", String::as_str));
    let mut line = |name: &str, value: &str, unit: &str| {
        let text = format!("{}  {value:>20}  {unit}", pad(&printable(name), 32));
        writeln!(out, "{}", text.trim_end())
    };
    for (key, word) in words(m).iter().filter(|(_, word)| !word.is_empty()) {
        line(key, &printable(word), "")?;
    }
    for (key, reading) in gauges(m) {
        match reading {
            Reading::One(value) => line(key, &value.to_string(), &unit(key))?,
            Reading::ByTier(values) => {
                for (tier, value) in TIERS.iter().zip(values) {
                    line(&format!("{key}.{tier}"), &value.to_string(), &unit(key))?;
                }
            }
        }
    }
    for (group, values) in [
        ("counters", &m.counters),
        ("totals", &m.totals),
        ("knobs", &m.knobs),
        ("limits", &m.limits),
    ] {
        for (key, value) in values {
            line(&format!("{group}.{key}"), &value.to_string(), &unit(key))?;
        }
    }
    if m.sampled_usec == 0 {
        writeln!(
            out,
            "{}",
            style.dim("nothing was sampled: the scheduler is not running")
        )?;
    }
    Ok(())
}

fn to_json(m: &Snapshot) -> Value {
    let mut object = Map::new();
    for (key, word) in words(m) {
        object.insert(key.to_owned(), json!((!word.is_empty()).then_some(word)));
    }
    for (key, reading) in gauges(m) {
        let value = match (key, reading) {
            ("burst" | "longrun", Reading::One(value)) => json!(value != 0),
            (_, Reading::One(value)) => json!(value),
            (_, Reading::ByTier(values)) => {
                let by_tier: BTreeMap<_, _> = TIERS.iter().zip(values).collect();
                json!(by_tier)
            }
        };
        object.insert(key.to_owned(), value);
    }
    object.insert("counters".to_owned(), json!(m.counters));
    object.insert("totals".to_owned(), json!(m.totals));
    object.insert("knobs".to_owned(), json!(m.knobs));
    object.insert("limits".to_owned(), json!(m.limits));
    object.insert("units".to_owned(), json!(m.units));
    Value::Object(object)
}

/// Seconds and ratios, as Prometheus wants them, by the ending of the name.
fn base_unit(key: &str, value: u64) -> (String, String) {
    let scaled = |ending: &str, divisor: f64, unit: &str| {
        let stem = key.strip_suffix(ending)?;
        Some((
            format!("{stem}{unit}"),
            (value as f64 / divisor).to_string(),
        ))
    };
    scaled("_nsec", 1e9, "_seconds")
        .or_else(|| scaled("_ns", 1e9, "_seconds"))
        .or_else(|| scaled("_usec", 1e6, "_timestamp_seconds"))
        .or_else(|| scaled("_permille", 1e3, "_ratio"))
        .or_else(|| scaled("_percent", 1e2, "_ratio"))
        .unwrap_or_else(|| (key.to_owned(), value.to_string()))
}

fn prometheus(m: &Snapshot, out: &mut dyn Write) -> std::io::Result<()> {
    for (key, word) in words(m).iter().take(3) {
        writeln!(out, "# TYPE pandemonium_{key} gauge")?;
        if !word.is_empty() {
            writeln!(out, "pandemonium_{key}{{{key}=\"{}\"}} 1", label(word))?;
        }
    }
    for (key, reading) in gauges(m) {
        let (name, _) = base_unit(key, 0);
        writeln!(out, "# TYPE pandemonium_{name} gauge")?;
        match reading {
            Reading::One(value) => {
                writeln!(out, "pandemonium_{name} {}", base_unit(key, value).1)?;
            }
            Reading::ByTier(values) => {
                for (tier, value) in TIERS.iter().zip(values) {
                    let value = base_unit(key, value).1;
                    writeln!(out, "pandemonium_{name}{{tier=\"{tier}\"}} {value}")?;
                }
            }
        }
    }
    for (key, value) in &m.totals {
        let key = word_of(key);
        writeln!(out, "# TYPE pandemonium_{key}_total counter")?;
        writeln!(out, "pandemonium_{key}_total {value}")?;
    }
    for (kind, values) in [("knob", &m.knobs), ("limit", &m.limits)] {
        for (key, value) in values {
            let (name, value) = base_unit(&word_of(key), *value);
            writeln!(out, "# TYPE pandemonium_{kind}_{name} gauge")?;
            writeln!(out, "pandemonium_{kind}_{name} {value}")?;
        }
    }
    Ok(())
}

/// A value between quotation marks.
fn label(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// What may stand in a name: a newer daemon may count what this version does not know.
fn word_of(key: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    key.chars().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let one = |key: &str, value| BTreeMap::from([(key.to_owned(), value)]);
        Snapshot {
            sampled_usec: 2_500_000,
            state: "running".into(),
            mode: "adaptive".into(),
            regime: "HEAVY".into(),
            burst: true,
            idle_permille: 125,
            p99_nsec: Some(1_500_000),
            p99_by_tier_nsec: (3_000_000, 0, 20_000),
            counters: one("dispatches", 7),
            totals: one("dispatches", 70),
            knobs: one("slice_ns", 1_000_000),
            limits: one("longrun_ns", 2_000_000_000),
            units: BTreeMap::from([
                ("p99_nsec".to_owned(), "ns".to_owned()),
                ("slice_ns".to_owned(), "ns".to_owned()),
            ]),
            ..Snapshot::default()
        }
    }

    fn written(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).expect("writing to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn prometheus_gets_seconds_ratios_and_totals() {
        let text = written(|out| prometheus(&snapshot(), out));
        for line in [
            "pandemonium_state{state=\"running\"} 1",
            "pandemonium_regime{regime=\"HEAVY\"} 1",
            "pandemonium_burst 1",
            "pandemonium_sampled_timestamp_seconds 2.5",
            "pandemonium_idle_ratio 0.125",
            "pandemonium_p99_seconds 0.0015",
            "pandemonium_p99_by_tier_seconds{tier=\"batch\"} 0.003",
            "# TYPE pandemonium_dispatches_total counter",
            "pandemonium_dispatches_total 70",
            "pandemonium_knob_slice_seconds 0.001",
            "pandemonium_limit_longrun_seconds 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        assert!(!text.contains("p50"), "not known, so not said");
        let mut types: Vec<_> = text.lines().filter(|l| l.starts_with("# TYPE")).collect();
        let all = types.len();
        types.sort_unstable();
        types.dedup();
        assert_eq!(types.len(), all, "each name is declared once");
    }

    #[test]
    fn no_value_ends_its_quotation_marks() {
        assert_eq!(label("a\"b\\\n"), r#"a\"b\\\\x0a"#);
    }

    #[test]
    fn json_has_the_names_of_the_bus_and_their_units() {
        let value = to_json(&snapshot());
        assert_eq!(value["p99_nsec"], 1_500_000);
        assert_eq!(value["p99_by_tier_nsec"]["lat_critical"], 20_000);
        assert_eq!(value["burst"], true);
        assert_eq!(value["decided_by"], Value::Null);
        assert_eq!(value["totals"]["dispatches"], 70);
        assert_eq!(value["limits"]["longrun_ns"], 2_000_000_000);
        assert_eq!(value["units"]["p99_nsec"], "ns");
        assert_eq!(value.get("p50_nsec"), None);
    }

    #[test]
    fn people_get_a_line_for_each_number_and_its_unit() {
        let text = written(|out| print(&snapshot(), Style::default(), out));
        let has = |parts: &[&str]| {
            let is_line = |l: &str| l.split_whitespace().eq(parts.iter().copied());
            assert!(text.lines().any(is_line), "{parts:?}\n{text}");
        };
        has(&["regime", "HEAVY"]);
        has(&["p99_nsec", "1500000", "ns"]);
        has(&["p99_by_tier_nsec.batch", "3000000"]);
        has(&["totals.dispatches", "70"]);
        has(&["knobs.slice_ns", "1000000", "ns"]);
        has(&["limits.longrun_ns", "2000000000"]);
    }
}
