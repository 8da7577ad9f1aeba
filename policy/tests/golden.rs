//! Half a minute of a desktop's day, written down as samples, and the decisions it must lead to.
//!
//! `PANDEMONIUM_WRITE_TRACE=1 cargo test -p pandemonium-policy --test golden` writes the decisions of
//! the current code into the trace; read the difference before keeping it.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Control, Counters, Decision, Limits, Mode, Sample};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/desktop-4cpu.txt");
const NR_CPUS: u32 = 4;

fn optional<T: std::str::FromStr>(field: &str) -> Option<T> {
    (field != "-").then(|| field.parse().ok().unwrap())
}

/// `elapsed_ms idle dispatches p99_us io_pct flags`
fn sample(input: &str) -> Sample {
    let fields: Vec<&str> = input.split_whitespace().collect();
    let [elapsed_ms, idle, dispatches, p99_us, io_pct, flags] = fields[..] else {
        panic!("six fields expected: {input}");
    };
    Sample {
        elapsed_ns: elapsed_ms.parse::<u64>().unwrap() * 1_000_000,
        idle_permille: idle.parse().unwrap(),
        counters: Counters {
            dispatches: dispatches.parse().unwrap(),
            ..Counters::default()
        },
        p99_all_ns: optional::<u64>(p99_us).map(|us| us * 1000),
        io_pct: optional(io_pct),
        longrun: flags.contains('L'),
        burst: flags.contains('B'),
        nr_online: NR_CPUS,
        ..Sample::default()
    }
}

fn describe(d: &Decision) -> String {
    let us = |ns: u64| ns / 1000;
    let k = &d.knobs;
    format!(
        "{} slice={} batch={} sojourn={} affinity={} ({})",
        d.regime.name(),
        us(k.slice_ns),
        us(k.batch_slice_ns),
        us(k.sojourn_thresh_ns),
        k.affinity_mode,
        d.reason
    )
}

#[test]
fn the_trace_leads_to_the_decisions_written_beside_it() {
    let text = std::fs::read_to_string(TRACE).unwrap();
    let mut control = Control::new(Limits::for_cpus(NR_CPUS));
    let mut replayed = String::new();
    for line in text.lines() {
        if line.starts_with('#') || line.trim().is_empty() {
            replayed.push_str(&format!("{line}\n"));
            continue;
        }
        let input = line.split("->").next().unwrap().trim_end();
        if input.trim_start().starts_with("resume") {
            control.discard_window();
            replayed.push_str(&format!("{input}\n"));
            continue;
        }
        let decision = control.step(Mode::Adaptive, &sample(input));
        replayed.push_str(&format!("{input} -> {}\n", describe(&decision)));
    }
    if std::env::var_os("PANDEMONIUM_WRITE_TRACE").is_some() {
        std::fs::write(TRACE, &replayed).unwrap();
    }
    for (number, (expected, actual)) in text.lines().zip(replayed.lines()).enumerate() {
        assert_eq!(expected, actual, "line {}", number + 1);
    }
}
