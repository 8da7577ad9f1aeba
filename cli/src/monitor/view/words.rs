//! The texts of the live view.

use pandemonium_api::{ProfileRow, Snapshot, state};

use crate::monitor::model::Model;
use crate::profiles::tier_words;
use crate::status::{exit_words, now_usec};
use crate::text::{grouped, latency, pad, plural, printable};

/// How long an exit stays on the screen of a scheduler that is back.
const EXIT_SHOWN_USEC: u64 = 10 * 60 * 1_000_000;

/// What somebody should know, the most important first.
pub(super) fn notices(model: &Model) -> Vec<String> {
    if let Some(reason) = &model.gone {
        return vec![reason.clone()];
    }
    let Some(now) = &model.now else {
        return Vec::new();
    };
    let s = &now.status;
    let mut notices = Vec::new();
    if !s.state_reason.is_empty() {
        notices.push(printable(&s.state_reason));
    }
    let since_exit_usec = now_usec().saturating_sub(s.last_exit.usec);
    if s.last_exit.is_some() && (s.state != state::RUNNING || since_exit_usec < EXIT_SHOWN_USEC) {
        notices.push(format!(
            "last exit: {}",
            exit_words(&s.last_exit, now_usec())
        ));
    }
    if now.snapshot.burst {
        notices.push("fork storm: many tasks are being started".to_owned());
    }
    if now.snapshot.longrun {
        notices.push("batch work has been waiting for seconds".to_owned());
    }
    notices.extend(s.warnings.iter().map(|warning| printable(warning)));
    notices
}

/// The regime and what is unusual about it, in the words of the telemetry line.
pub(super) fn regime_tags(m: &Snapshot) -> String {
    let mut tags = printable(&m.regime);
    for (is_on, tag) in [(m.burst, " BURST"), (m.longrun, " LONGRUN")] {
        if is_on {
            tags.push_str(tag);
        }
    }
    tags
}

/// The numbers of the last second, as short phrases.
pub(super) fn counters(m: &Snapshot) -> Vec<String> {
    let count = |name: &str| grouped(m.counter(name));
    let ns = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), latency);
    vec![
        format!("{} dispatches/s", grouped(m.dispatches_per_sec)),
        format!("{} % idle", m.idle_permille / 10),
        format!(
            "interactive on {} of {}",
            m.interactive_running,
            plural(m.online_cpus.into(), "CPU")
        ),
        format!("p50 {} p99 {}", ns(m.p50_nsec), ns(m.p99_nsec)),
        format!("{} wake-ups", count("wakeups")),
        format!("{} requeues", count("requeues")),
        format!("{} on idle CPUs", count("idle_placements")),
        format!("{} shared", count("shared")),
        format!("{} preempted", count("tick_preempts")),
        format!("{} kept", count("keeps")),
        format!("{} hard kicks", count("kicks_hard")),
        format!("{} soft kicks", count("kicks_soft")),
        format!("{} rescued", count("overflow_rescues")),
        format!("batch waits {}", latency(m.batch_wait_nsec)),
        format!("slice {}", ns(m.knobs.get("slice_ns").copied())),
        format!("effective slice {}", ns(m.effective_slice_nsec)),
    ]
}

/// Phrases filled into lines of `width` columns.
pub(super) fn flowed(phrases: &[String], width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for phrase in phrases {
        match lines.last_mut() {
            Some(line) if line.len() + 3 + phrase.len() <= width.into() => {
                line.push_str("   ");
                line.push_str(phrase);
            }
            _ => lines.push(phrase.clone()),
        }
    }
    lines
}

/// One learned program.
pub(super) fn profile_line(row: &ProfileRow) -> String {
    format!(
        "{} {} {:>4}% of {:>6} seen, runs {}",
        pad(&printable(&row.name), 16),
        pad(tier_words(&row.tier), 16),
        row.confidence_permille / 10,
        row.observations,
        latency(row.avg_runtime_ns),
    )
}
