//! The one-line view of a snapshot.

use crate::Snapshot;

/// The telemetry line of the specification, and after it how many of the online CPUs run an
/// interactive or latency-critical task, how many tasks wait in interactive and batch queues, and the
/// mean slice that was granted. A value that is not known this second is a dash.
pub fn telemetry_line(snapshot: &Snapshot) -> String {
    let s = snapshot;
    let dispatches = s.counter("dispatches");
    let idle = percent(s.counter("idle_placements"), dispatches);
    let l2 = |hits: u64, misses: u64| percent(hits, hits.saturating_add(misses));
    let sojourn_thresh_ns = s.knobs.get("sojourn_thresh_ns").copied();
    format!(
        "d/s: {}  idle: {} shared: {}  preempt: {}  keep: {}  kick: H={} S={} enq: W={} R={} \
         wake: {} p99: {} L2: B={} I={} LC={} procdb: {}/{} sleep: io={} sjrn: {}/{} rescue: {} [{}] \
         cpus: {} queued: {} slice: {}",
        s.dispatches_per_sec,
        idle,
        s.counter("shared"),
        s.counter("tick_preempts"),
        s.counter("keeps"),
        s.counter("kicks_hard"),
        s.counter("kicks_soft"),
        s.counter("wakeups"),
        s.counter("requeues"),
        unit(s.wake_mean_nsec, 1_000, "us"),
        unit(s.p99_nsec, 1_000, "us"),
        l2(s.l2_hits.0, s.l2_misses.0),
        l2(s.l2_hits.1, s.l2_misses.1),
        l2(s.l2_hits.2, s.l2_misses.2),
        s.profiles,
        s.confident_profiles,
        unit(s.io_percent.map(u64::from), 1, "%"),
        unit(Some(s.batch_wait_nsec), 1_000_000, "ms"),
        unit(sojourn_thresh_ns, 1_000_000, "ms"),
        s.counter("overflow_rescues"),
        tags(s),
        running(s),
        queued(s),
        unit(s.effective_slice_nsec, 1_000, "us"),
    )
}

fn running(s: &Snapshot) -> String {
    if s.online_cpus == 0 {
        return "-".to_owned();
    }
    format!("{}/{}", s.interactive_running, s.online_cpus)
}

fn queued(s: &Snapshot) -> String {
    if s.online_cpus == 0 {
        return "-".to_owned();
    }
    format!("{}/{}", s.interactive_queued, s.batch_queued)
}

fn tags(s: &Snapshot) -> String {
    let mut tags = if s.regime.is_empty() {
        s.state.to_uppercase()
    } else {
        s.regime.clone()
    };
    if s.burst {
        tags.push_str(" BURST");
    }
    if s.longrun {
        tags.push_str(" LONGRUN");
    }
    tags
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let share = u128::from(part) * 100 / u128::from(whole);
    format!("{}%", share.min(100))
}

fn unit(value: Option<u64>, divisor: u64, unit: &str) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| format!("{}{unit}", value / divisor),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn named(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    #[test]
    fn is_the_line_of_the_specification() {
        let snapshot = Snapshot {
            regime: "MIXED".into(),
            dispatches_per_sec: 251_000,
            counters: named(&[
                ("dispatches", 251_000),
                ("idle_placements", 12_600),
                ("shared", 230_000),
                ("tick_preempts", 12),
                ("kicks_hard", 8_000),
                ("kicks_soft", 22_000),
                ("wakeups", 8_000),
                ("requeues", 22_000),
            ]),
            knobs: named(&[("sojourn_thresh_ns", 5_000_000)]),
            wake_mean_nsec: Some(4_200),
            p99_nsec: Some(10_900),
            l2_hits: (67, 72, 85),
            l2_misses: (33, 28, 15),
            profiles: 42,
            confident_profiles: 5,
            io_percent: Some(87),
            batch_wait_nsec: 3_900_000,
            interactive_running: 3,
            interactive_queued: 2,
            batch_queued: 11,
            effective_slice_nsec: Some(1_234_567),
            online_cpus: 8,
            ..Snapshot::default()
        };
        assert_eq!(
            telemetry_line(&snapshot),
            "d/s: 251000  idle: 5% shared: 230000  preempt: 12  keep: 0  kick: H=8000 S=22000 \
             enq: W=8000 R=22000 wake: 4us p99: 10us L2: B=67% I=72% LC=85% procdb: 42/5 \
             sleep: io=87% sjrn: 3ms/5ms rescue: 0 [MIXED] cpus: 3/8 queued: 2/11 \
             slice: 1234us"
        );
    }

    #[test]
    fn says_what_is_unusual_and_what_is_unknown() {
        let busy = Snapshot {
            regime: "HEAVY".into(),
            burst: true,
            longrun: true,
            ..Snapshot::default()
        };
        assert!(telemetry_line(&busy).contains(" [HEAVY BURST LONGRUN] "));
        let off = Snapshot {
            state: "stopped".into(),
            ..Snapshot::default()
        };
        let line = telemetry_line(&off);
        assert!(
            line.ends_with("[STOPPED] cpus: - queued: - slice: -") && line.contains("p99: - "),
            "{line}"
        );
    }
}
