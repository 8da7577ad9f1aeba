//! The report for people who help other people: everything published, as plain text. No name of a
//! program that was learned about, nothing of the journal.

use std::fmt::Write;

use pandemonium_api::{API_LEVEL, LastExit, escape, printable};

use crate::status::Status;

/// More than any report has; what a daemon gone wild would add is cut off.
const MAX_BYTES: usize = 64 << 10;

/// The report on this status, for the running kernel of this release.
pub fn report(status: &Status, release: &str, now_usec: u64) -> String {
    let mut text = String::new();
    // Writing to memory cannot fail.
    let _ = write(&mut text, status, release, now_usec);
    if text.len() > MAX_BYTES {
        text.truncate(text.floor_char_boundary(MAX_BYTES));
        text.push_str("\n(cut off)\n");
    }
    text
}

fn write(out: &mut String, s: &Status, release: &str, now_usec: u64) -> std::fmt::Result {
    writeln!(out, "PANDEMONIUM diagnostics")?;
    writeln!(out, "time_usec: {now_usec}")?;
    writeln!(out, "version: {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "api_level: {API_LEVEL}")?;
    writeln!(
        out,
        "kernel_release: {}",
        escape(release.trim().as_bytes(), 128)
    )?;

    writeln!(out, "\n[state]")?;
    writeln!(out, "state: {}", s.state.name())?;
    writeln!(out, "state_reason: {}", printable(&s.reason, 1024))?;
    writeln!(out, "mode: {} ({})", s.mode().name(), s.mode_reason())?;
    writeln!(out, "requested_mode: {}", s.requested.name())?;
    writeln!(out, "boot_mode: {}", s.boot_mode.name())?;
    writeln!(out, "confirm_usec: {}", s.confirm_usec)?;
    writeln!(out, "restart_count: {}", s.restarts)?;
    writeln!(out, "next_retry_usec: {}", s.next_retry_usec)?;
    for hold in &s.holds {
        let (mode, uid, since) = (&hold.mode, hold.uid, hold.usec);
        let (application, reason) = (&hold.application, &hold.reason);
        writeln!(
            out,
            "hold: {mode}, {application}, user {uid}, since {since}: {reason}"
        )?;
    }

    writeln!(out, "\n[kernel]")?;
    writeln!(out, "state: {}", s.kernel.state)?;
    writeln!(out, "ops: {}", s.kernel.ops)?;
    writeln!(out, "enable_seq: {}", s.kernel.enable_seq)?;
    writeln!(out, "ejections: {}", s.ejections)?;
    for exit in &s.exits {
        write_exit(out, exit)?;
    }

    let choices = &s.choices;
    writeln!(out, "\n[configuration in effect]")?;
    writeln!(
        out,
        "primary_domain: {} ({})",
        choices.domain,
        s.domain_text()
    )?;
    writeln!(out, "compositors: {}", s.compositor_texts().join(" "))?;
    writeln!(out, "idle_selector: {}", choices.idle_selector)?;
    writeln!(out, "local_kthreads: {}", choices.local_kthreads)?;
    writeln!(out, "slice_lag_us: {}", choices.slice_lag_us)?;

    let tick = &s.snapshot();
    writeln!(out, "\n[last tick]")?;
    writeln!(out, "sampled_usec: {}", tick.sampled_usec)?;
    writeln!(out, "online_cpus: {}", tick.online_cpus)?;
    writeln!(out, "regime: {}", tick.regime)?;
    writeln!(out, "burst: {}", tick.burst)?;
    writeln!(out, "longrun: {}", tick.longrun)?;
    writeln!(out, "idle_permille: {}", tick.idle_permille)?;
    writeln!(out, "p99_nsec: {}", tick.p99_nsec.unwrap_or_default())?;
    writeln!(out, "decided_by: {}", tick.decided_by)?;
    writeln!(
        out,
        "profiles: {}, {} confident",
        tick.profiles, tick.confident_profiles
    )?;
    for (title, values) in [("knobs", &tick.knobs), ("totals", &tick.totals)] {
        writeln!(out, "\n[{title}]")?;
        for (name, value) in values {
            writeln!(out, "{name}: {value}")?;
        }
    }

    writeln!(out, "\n[warnings]")?;
    for warning in &s.warnings {
        writeln!(out, "{}", printable(warning, 1024))?;
    }
    Ok(())
}

fn write_exit(out: &mut String, exit: &LastExit) -> std::fmt::Result {
    let LastExit {
        usec,
        kind,
        code,
        reason,
        message,
    } = exit;
    writeln!(out, "exit: {usec}, {kind}, code {code}: {reason}")?;
    if !message.is_empty() {
        writeln!(out, "  {message}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pandemonium_policy::{Counters, Knobs, Limits, Regime, Sample};

    use super::*;
    use crate::status::Tick;

    #[test]
    fn a_report_says_what_is_known_and_is_bounded() {
        let exit = LastExit {
            usec: 5,
            kind: "error_stall".into(),
            reason: "a task waited".into(),
            ..LastExit::default()
        };
        let mut status = Status {
            reason: "ended: \\x1b[2J".into(),
            warnings: vec!["one\nline".into()],
            exits: vec![exit.clone(), LastExit { usec: 6, ..exit }],
            ..Status::default()
        };
        let totals = Counters {
            dispatches: 42,
            ..Counters::default()
        };
        status.tick = Some(Tick {
            sampled_usec: 8,
            sample: Sample::default(),
            totals,
            regime: Regime::Mixed,
            decided_by: "baseline",
            knobs: Knobs::default(),
            limits: Limits::for_cpus(2),
        });
        let text = report(&status, "6.12.1\n", 7);
        for line in [
            "time_usec: 7",
            "kernel_release: 6.12.1",
            "state: stopped",
            "state_reason: ended: \\x1b[2J",
            "exit: 5, error_stall, code 0: a task waited",
            "exit: 6, error_stall, code 0: a task waited",
            "sampled_usec: 8",
            "regime: MIXED",
            "dispatches: 42",
            "one\\x0aline",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        status.warnings = vec!["w".repeat(1_000); 1_000];
        let text = report(&status, "", 0);
        assert!(text.len() < MAX_BYTES + 20 && text.ends_with("(cut off)\n"));
    }
}
