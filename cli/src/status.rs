//! `pandemonium status`: what the daemon and the kernel say, in words.

mod answers;
pub mod json;

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use pandemonium_api::{LastExit, Snapshot, state};

use crate::connection::{Daemon, answer, block_on};
use crate::error::Error;
use crate::idle_selector::word;
use crate::text::{Style, grouped, latency, pad, plural, print_json, printable};

pub use answers::{Choices, Status, Wanted};

/// Columns for the names of the lines.
const WIDTH: usize = 20;

/// Asks and prints.
pub fn run(json: bool, style: Style, out: &mut dyn Write) -> Result<(), Error> {
    let (status, snapshot) = block_on(async {
        let daemon = Daemon::connect().await?;
        let snapshot = answer(daemon.metrics.get_snapshot()).await?;
        Ok((Status::read(&daemon).await?, snapshot))
    })?;
    if json {
        print_json(&json::answer(&status, &snapshot), out)?;
    } else {
        print(&status, &snapshot, now_usec(), style, out)?;
    }
    Ok(())
}

/// Microseconds of CLOCK_REALTIME.
pub fn now_usec() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_micros() as u64)
}

fn print(
    status: &Status,
    snapshot: &Snapshot,
    now_usec: u64,
    style: Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for (name, value) in rows(status, snapshot, now_usec, style) {
        writeln!(out, "{}{value}", pad(name, WIDTH))?;
    }
    for warning in &status.warnings {
        writeln!(
            out,
            "{}{}",
            pad("warning", WIDTH),
            style.warn(&printable(warning))
        )?;
    }
    Ok(())
}

/// Name and value of each line; what is not known is left out or called unknown.
fn rows(s: &Status, m: &Snapshot, now: u64, style: Style) -> Vec<(&'static str, String)> {
    let mut rows = vec![("state", state_words(s, style))];
    let mode = if s.requested_mode == s.mode || s.requested_mode.is_empty() {
        printable(&s.mode)
    } else {
        format!(
            "{} ({} was asked for)",
            printable(&s.mode),
            printable(&s.requested_mode)
        )
    };
    rows.push(("mode", mode));
    if let Some(wanted) = &s.wanted {
        rows.extend(wanted_rows(wanted, now));
    }
    rows.push(("kernel", s.kernel()));
    if s.state == state::RUNNING {
        rows.extend(running_rows(m));
    }
    if let Some(choices) = &s.choices {
        rows.extend(choice_rows(choices));
    }
    rows.push((
        "profiles",
        format!(
            "{} learned, {} sure enough to use",
            m.profiles, m.confident_profiles
        ),
    ));
    if s.restart_count > 0 {
        rows.push(("restarts", grouped(s.restart_count.into())));
    }
    if s.next_retry_usec > now {
        let wait = ago((s.next_retry_usec - now) / 1_000_000);
        rows.push(("next try", format!("in {wait}")));
    }
    if s.last_exit.is_some() {
        rows.push(("last exit", exit_words(&s.last_exit, now)));
    }
    rows
}

fn wanted_rows(wanted: &Wanted, now: u64) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("decided by", printable(&wanted.mode_reason)),
        ("next start", printable(&wanted.boot_mode)),
    ];
    if wanted.confirm_usec > now {
        let wait = ago((wanted.confirm_usec - now) / 1_000_000);
        rows.push((
            "unconfirmed",
            format!("goes back in {wait}; keep it with `pandemonium confirm`"),
        ));
    }
    // The newest is the one in effect, so it comes first.
    rows.extend(wanted.holds.iter().rev().map(|hold| {
        let (mode, application) = (printable(&hold.mode), printable(&hold.application));
        let reason = if hold.reason.is_empty() {
            String::new()
        } else {
            format!(": {}", printable(&hold.reason))
        };
        (
            "hold",
            format!("{mode} by {application}, user {}{reason}", hold.uid),
        )
    }));
    rows
}

fn choice_rows(choices: &Choices) -> [(&'static str, String); 3] {
    [
        ("primary domain", choices.domain.words()),
        ("idle selector", word(choices.idle_selector).to_owned()),
        (
            "compositors",
            plural(choices.compositors.len() as u64, "name"),
        ),
    ]
}

fn state_words(s: &Status, style: Style) -> String {
    let state = printable(&s.state);
    let coloured = match s.state.as_str() {
        state::RUNNING => style.good(&state),
        state::STOPPED | state::STARTING => style.warn(&state),
        _ => style.bad(&state),
    };
    if s.state_reason.is_empty() {
        coloured
    } else {
        format!("{coloured}: {}", printable(&s.state_reason))
    }
}

fn running_rows(m: &Snapshot) -> Vec<(&'static str, String)> {
    let known = |ns: u64| {
        if ns == 0 {
            "no wake-ups".to_owned()
        } else {
            latency(ns)
        }
    };
    let (batch, interactive, critical) = m.p99_by_tier_nsec;
    vec![
        ("regime", regime_words(m)),
        (
            "wake-up P99",
            m.p99_nsec.map_or_else(|| "no wake-ups".to_owned(), latency),
        ),
        ("  latency-critical", known(critical)),
        ("  interactive", known(interactive)),
        ("  batch", known(batch)),
        (
            "dispatches",
            format!("{} per second", grouped(m.dispatches_per_sec)),
        ),
        (
            "effective slice",
            m.effective_slice_nsec
                .map_or_else(|| "nothing started".to_owned(), latency),
        ),
        (
            "idle",
            format!(
                "{} % of {}",
                m.idle_permille / 10,
                plural(m.online_cpus.into(), "CPU")
            ),
        ),
        (
            "interactive now",
            format!(
                "on {} of {}",
                m.interactive_running,
                plural(m.online_cpus.into(), "CPU")
            ),
        ),
    ]
}

/// The regime and what is unusual about it.
pub fn regime_words(m: &Snapshot) -> String {
    let mut words = if m.regime.is_empty() {
        "unknown".to_owned()
    } else {
        printable(&m.regime)
    };
    if m.burst {
        words.push_str(", fork storm");
    }
    if m.longrun {
        words.push_str(", batch work waiting for long");
    }
    words
}

/// Why the kernel ended the scheduler, and when.
pub fn exit_words(exit: &LastExit, now_usec: u64) -> String {
    let mut words = format!(
        "{} ago, {}",
        ago(now_usec.saturating_sub(exit.usec) / 1_000_000),
        printable(&exit.kind)
    );
    if exit.code != 0 {
        words.push_str(&format!(" (code {})", exit.code));
    }
    for part in [&exit.reason, &exit.message] {
        if !part.is_empty() {
            words.push_str(&format!(": {}", printable(part)));
        }
    }
    words
}

/// A number of seconds in its largest unit.
pub fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => plural(seconds / 86_400, "day"),
    }
}

#[cfg(test)]
pub mod tests {
    use pandemonium_api::HoldRow;

    use super::*;
    use crate::domain::Domain;

    /// A daemon under load.
    pub fn running() -> (Status, Snapshot) {
        let status = Status {
            state: "running".into(),
            mode: "adaptive".into(),
            requested_mode: "adaptive".into(),
            kernel_state: "enabled".into(),
            kernel_ops: "pandemonium".into(),
            ..Status::default()
        };
        let snapshot = Snapshot {
            regime: "MIXED".into(),
            p99_nsec: Some(10_900),
            p99_by_tier_nsec: (1_540_000, 45_000, 0),
            dispatches_per_sec: 251_000,
            idle_permille: 54,
            online_cpus: 8,
            interactive_running: 3,
            effective_slice_nsec: Some(2_500_000),
            ..Snapshot::default()
        };
        (status, snapshot)
    }

    fn text(status: &Status, snapshot: &Snapshot, now: u64) -> String {
        let mut out = Vec::new();
        print(status, snapshot, now, Style::default(), &mut out).expect("writing to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_running_scheduler_is_described_in_aligned_lines() {
        let (status, snapshot) = running();
        assert_eq!(
            text(&status, &snapshot, 0),
            "state               running\n\
             mode                adaptive\n\
             kernel              sched_ext enabled, pandemonium loaded\n\
             regime              MIXED\n\
             wake-up P99         10.9 us\n\
             \x20 latency-critical  no wake-ups\n\
             \x20 interactive       45.0 us\n\
             \x20 batch             1.54 ms\n\
             dispatches          251 000 per second\n\
             effective slice     2.50 ms\n\
             idle                5 % of 8 CPUs\n\
             interactive now     on 3 of 8 CPUs\n\
             profiles            0 learned, 0 sure enough to use\n"
        );
    }

    #[test]
    fn what_was_chosen_is_shown_by_a_daemon_that_knows_it() {
        let (mut status, snapshot) = running();
        status.choices = Some(Choices {
            domain: Domain {
                asked: "performance".into(),
                mask: "0xff".into(),
            },
            idle_selector: true,
            compositors: vec!["sway".into(); 33],
        });
        let chosen = "primary domain      performance: CPUs 0-7\n\
                      idle selector       on\n\
                      compositors         33 names\n";
        assert!(text(&status, &snapshot, 0).contains(chosen));
        status.state = "stopped".into();
        let text = text(&status, &snapshot, 0);
        assert!(text.contains(chosen), "they hold all the same: {text}");
    }

    #[test]
    fn what_the_daemon_escaped_is_not_escaped_again_and_what_it_did_not_is() {
        let hold = HoldRow {
            mode: "bpf".into(),
            application: "game".into(),
            reason: r"spo\x1bof".into(),
            uid: 7,
            usec: 9,
        };
        let (mut status, snapshot) = running();
        status.wanted = Some(Wanted {
            boot_mode: "bpf".into(),
            mode_reason: "hold of game\x1b[2J".into(),
            confirm_usec: 0,
            holds: vec![hold],
        });
        let text = text(&status, &snapshot, 0);
        for line in [
            r"decided by          hold of game\x1b[2J",
            r"hold                bpf by game, user 7: spo\x1bof",
        ] {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
    }

    #[test]
    fn an_ejection_is_told_in_the_kernels_words() {
        let (mut status, snapshot) = running();
        status.state = "ejected".into();
        status.state_reason = "the kernel ended the scheduler".into();
        status.next_retry_usec = 130_000_000;
        status.last_exit = LastExit {
            usec: 60_000_000,
            kind: "error_stall".into(),
            code: -110,
            reason: "runnable task stall".into(),
            message: "make[7] failed to run\x1b[2J".into(),
        };
        let text = text(&status, &snapshot, 120_000_000);
        assert!(
            text.contains("state               ejected: the kernel ended"),
            "{text}"
        );
        assert!(
            text.contains(
                "1 min ago, error_stall (code -110): runnable task stall: make[7] failed to run\\x1b[2J"
            ),
            "{text}"
        );
        assert!(text.contains("next try            in 10 s"), "{text}");
        assert!(
            !text.contains("P99"),
            "numbers of a scheduler that does not run: {text}"
        );
    }
}
