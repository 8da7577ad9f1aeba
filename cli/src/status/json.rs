//! The JSON form of what the daemon says. Scripts rely on these names.

use pandemonium_api::{HoldRow, Snapshot};
use serde_json::{Value, json};

use super::Status;

/// Status and sample as one JSON object.
pub(super) fn answer(status: &Status, snapshot: &Snapshot) -> Value {
    let (exit, wanted) = (&status.last_exit, status.wanted.as_ref());
    json!({
        "state": status.state,
        "state_reason": status.state_reason,
        "mode": status.mode,
        "requested_mode": status.requested_mode,
        "boot_mode": wanted.map(|wanted| &wanted.boot_mode),
        "mode_reason": wanted.map(|wanted| &wanted.mode_reason),
        "confirm_usec": wanted.map(|wanted| wanted.confirm_usec),
        "holds": wanted.map(|wanted| holds(&wanted.holds)),
        "kernel": { "state": status.kernel_state, "ops": status.kernel_ops },
        "last_exit": exit.is_some().then(|| json!({
            "usec": exit.usec,
            "kind": exit.kind,
            "code": exit.code,
            "reason": exit.reason,
            "message": exit.message,
        })),
        "primary_domain": status.choices.as_ref().map(|choices| choices.domain.to_json()),
        "idle_selector": status.choices.as_ref().map(|choices| choices.idle_selector),
        "compositors": status.choices.as_ref().map(|choices| &choices.compositors),
        "restart_count": status.restart_count,
        "next_retry_usec": status.next_retry_usec,
        "warnings": status.warnings,
        "version": status.version,
        "sample": sample(snapshot),
    })
}

fn holds(holds: &[HoldRow]) -> Value {
    let hold = |hold: &HoldRow| {
        json!({
            "mode": hold.mode,
            "application": hold.application,
            "reason": hold.reason,
            "uid": hold.uid,
            "usec": hold.usec,
        })
    };
    holds.iter().map(hold).collect()
}

/// A snapshot as one JSON object; `null` is what is not known.
pub fn sample(m: &Snapshot) -> Value {
    let known = |ns: u64| (ns != 0).then_some(ns);
    let tiers = |(batch, interactive, critical): (u64, u64, u64)| json!({ "batch": batch, "interactive": interactive, "lat_critical": critical });
    let (batch, interactive, critical) = m.p99_by_tier_nsec;
    json!({
        "sampled_usec": m.sampled_usec,
        "elapsed_ns": m.elapsed_nsec,
        "state": m.state,
        "mode": m.mode,
        "regime": (!m.regime.is_empty()).then_some(&m.regime),
        "burst": m.burst,
        "longrun": m.longrun,
        "decided_by": m.decided_by,
        "online_cpus": m.online_cpus,
        "idle_permille": m.idle_permille,
        "dispatches_per_sec": m.dispatches_per_sec,
        "effective_slice_ns": m.effective_slice_nsec,
        "wake_mean_ns": m.wake_mean_nsec,
        "p50_ns": m.p50_nsec,
        "p99_ns": m.p99_nsec,
        "p99_by_tier_ns": {
            "batch": known(batch),
            "interactive": known(interactive),
            "lat_critical": known(critical),
        },
        "wakes_by_tier": tiers(m.wakes_by_tier),
        "io_percent": m.io_percent,
        "batch_wait_ns": m.batch_wait_nsec,
        "batch_queued": m.batch_queued,
        "interactive_queued": m.interactive_queued,
        "interactive_running": m.interactive_running,
        "l2_hits": tiers(m.l2_hits),
        "l2_misses": tiers(m.l2_misses),
        "counters": m.counters,
        "totals": m.totals,
        "knobs": m.knobs,
        "profiles": { "count": m.profiles, "confident": m.confident_profiles },
    })
}

#[cfg(test)]
mod tests {
    use super::super::Choices;
    use super::super::tests::running;
    use super::*;
    use crate::domain::Domain;

    #[test]
    fn json_says_null_for_what_is_not_known() {
        let (status, snapshot) = running();
        let value = answer(&status, &snapshot);
        assert_eq!(
            value["sample"]["p99_by_tier_ns"]["lat_critical"],
            Value::Null
        );
        assert_eq!(value["sample"]["p99_by_tier_ns"]["batch"], 1_540_000);
        assert_eq!(value["last_exit"], Value::Null);
        assert_eq!(value["kernel"]["ops"], "pandemonium");
        assert_eq!(value["sample"]["interactive_running"], 3);
        assert_eq!(value["sample"]["effective_slice_ns"], 2_500_000);
        assert_eq!(
            value["idle_selector"],
            Value::Null,
            "an old daemon does not say"
        );
    }

    #[test]
    fn json_has_what_was_chosen() {
        let (mut status, snapshot) = running();
        status.choices = Some(Choices {
            domain: Domain {
                asked: "auto".into(),
                mask: "0x3".into(),
            },
            idle_selector: false,
            compositors: vec!["kwin_wayland*".into(), "sway".into()],
        });
        let value = answer(&status, &snapshot);
        assert_eq!(
            value["primary_domain"],
            json!({ "domain": "auto", "mask": "0x3", "cpus": [0, 1] })
        );
        assert_eq!(value["idle_selector"], false);
        assert_eq!(value["compositors"], json!(["kwin_wayland*", "sway"]));
    }
}
