//! What the daemon says, in words that one need not know a scheduler for. Pure functions.

pub mod choices;
pub mod programs;

use gettextrs::{gettext, ngettext};
use pandemonium_api::{HistoryPoint, mode, mode_reason, regime, state};

use crate::link::Trouble;
use crate::model::{Presence, Status, p99_by_tier};
use crate::translation::fill;

/// The symbolic icon of a state.
pub fn icon(presence: &Presence) -> &'static str {
    match presence.status() {
        None if *presence == Presence::Connecting => "pandemonium-starting-symbolic",
        None => "pandemonium-problem-symbolic",
        Some(status) => match status.state.as_str() {
            state::RUNNING => "pandemonium-running-symbolic",
            state::STARTING => "pandemonium-starting-symbolic",
            state::STOPPED => "pandemonium-off-symbolic",
            _ => "pandemonium-problem-symbolic",
        },
    }
}

/// The state in a few words.
pub fn headline(presence: &Presence) -> String {
    match presence {
        Presence::Connecting => gettext("Looking for the service"),
        Presence::NoBus(_) => gettext("No connection to the system"),
        Presence::NoDaemon => gettext("The service is not running"),
        Presence::Here(status) => match status.state.as_str() {
            state::RUNNING => gettext("Your system is tuned"),
            state::STARTING => gettext("Starting"),
            state::STOPPED if status.is_off() => gettext("Switched off"),
            state::STOPPED => gettext("Stopped"),
            state::EJECTED => gettext("Ended by the kernel"),
            state::CONFLICT => gettext("Another scheduler is in charge"),
            state::UNSUPPORTED => gettext("Not possible with this kernel"),
            _ => gettext("The service is newer than this program"),
        },
    }
}

/// The same in a sentence or two: what that means for the person.
pub fn explanation(presence: &Presence) -> String {
    let status = match presence {
        Presence::Connecting => return String::new(),
        Presence::NoBus(reason) => return reason.clone(),
        Presence::NoDaemon => {
            return gettext("Linux schedules by itself until the service is started.");
        }
        Presence::Here(status) => status,
    };
    match status.state.as_str() {
        state::RUNNING => running(status),
        state::STARTING => gettext("The scheduler is being loaded into the kernel."),
        state::STOPPED => gettext("Linux schedules by itself. Games and desktop work as usual."),
        state::EJECTED => {
            gettext("Linux took over without a break. Nothing was lost; programs go on as before.")
        }
        state::CONFLICT => gettext("Only one scheduler can be loaded, and that one is left alone."),
        state::UNSUPPORTED => {
            gettext("Linux schedules by itself. A kernel with sched_ext is needed.")
        }
        _ => String::new(),
    }
}

fn running(status: &Status) -> String {
    match status.mode.as_str() {
        mode::BPF => gettext("What you see and hear goes first, with fixed settings."),
        _ => gettext("What you see and hear goes first, and the settings follow the load."),
    }
}

/// What one button can do about a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Ask the bus to start the service.
    StartService,
    /// Load the scheduler in the mode that is wanted.
    Start,
    /// Want a mode other than off.
    SwitchOn,
    /// Read what the daemon says at length.
    Explain,
}

/// A reason to worry, and the button beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// One or two sentences.
    pub text: String,
    /// The button's words and what it does.
    pub remedy: (String, Remedy),
}

/// What the banner says; nothing while all is well.
pub fn notice(presence: &Presence, now_usec: u64) -> Option<Notice> {
    let (text, label, remedy) = match presence {
        Presence::Connecting | Presence::NoBus(_) => return None,
        Presence::NoDaemon => (
            gettext("The PANDEMONIUM service is not running."),
            gettext("_Start Service"),
            Remedy::StartService,
        ),
        Presence::Here(status) => match status.state.as_str() {
            state::STOPPED if status.is_off() => (
                gettext("The scheduler is switched off."),
                gettext("Switch _On"),
                Remedy::SwitchOn,
            ),
            state::STOPPED => (reason(status), gettext("_Start"), Remedy::Start),
            state::EJECTED => (
                ejected(status, now_usec),
                gettext("_Try Now"),
                Remedy::Start,
            ),
            state::CONFLICT => (conflict(status), gettext("_Try Again"), Remedy::Start),
            state::UNSUPPORTED => (
                gettext("This kernel cannot load a scheduler."),
                gettext("_Why?"),
                Remedy::Explain,
            ),
            _ => return None,
        },
    };
    Some(Notice {
        text,
        remedy: (label, remedy),
    })
}

fn reason(status: &Status) -> String {
    if status.state_reason.is_empty() {
        gettext("The scheduler is stopped.")
    } else {
        status.state_reason.clone()
    }
}

/// What the kernel said when it ended the scheduler, and when it is tried again.
pub fn ejected(status: &Status, now_usec: u64) -> String {
    let exit = &status.last_exit;
    let said = if exit.reason.is_empty() {
        &exit.kind
    } else {
        &exit.reason
    };
    let said = fill(
        &gettext("The kernel ended the scheduler: {reason}."),
        &[("reason", said.trim_end_matches('.'))],
    );
    let wait = status.next_retry_usec.saturating_sub(now_usec);
    if status.next_retry_usec == 0 {
        said
    } else {
        format!("{said} {}", retry(wait.div_ceil(1_000_000)))
    }
}

fn retry(seconds: u64) -> String {
    let sentence = ngettext(
        "It returns by itself in {n} second.",
        "It returns by itself in {n} seconds.",
        count(seconds),
    );
    fill(&sentence, &[("n", &seconds.to_string())])
}

/// Which other scheduler is loaded.
pub fn conflict(status: &Status) -> String {
    fill(
        &gettext("Another scheduler is loaded: {name}."),
        &[("name", &status.kernel_ops)],
    )
}

/// The name of a mode.
pub fn mode_name(name: &str) -> String {
    match name {
        mode::ADAPTIVE => gettext("Adaptive"),
        mode::BPF => gettext("Fixed"),
        mode::OFF => gettext("Off"),
        other => other.to_owned(),
    }
}

/// The load as a person feels it.
pub fn regime_name(name: &str) -> String {
    match name {
        regime::LIGHT => gettext("Light load"),
        regime::MIXED => gettext("Mixed load"),
        regime::HEAVY => gettext("Heavy load"),
        _ => gettext("Unknown"),
    }
}

/// The tiers of the scheduler: batch, interactive, latency-critical.
pub fn tier_names() -> [String; 3] {
    [
        gettext("In the background"),
        gettext("Interactive"),
        gettext("Screen and sound"),
    ]
}

/// A time span of ns with its unit, three digits at most.
pub fn span(nsec: u64) -> String {
    let (value, unit) = match nsec {
        0..1_000 => return fill(&gettext("{n} ns"), &[("n", &nsec.to_string())]),
        1_000..1_000_000 => (nsec as f64 / 1e3, gettext("{n} µs")),
        1_000_000..1_000_000_000 => (nsec as f64 / 1e6, gettext("{n} ms")),
        _ => (nsec as f64 / 1e9, gettext("{n} s")),
    };
    let digits = if value < 9.95 { 1 } else { 0 };
    let number = format!("{value:.digits$}");
    let number = number.strip_suffix(".0").unwrap_or(&number);
    fill(&unit, &[("n", &number.replace('.', &decimal_point()))])
}

/// What stands between whole numbers and tenths.
fn decimal_point() -> String {
    match gettext("decimal point").as_str() {
        "decimal point" => ".".to_owned(),
        other => other.to_owned(),
    }
}

/// The load, and what is special about it.
pub fn load(status: &Status) -> String {
    let mut words = vec![regime_name(&status.regime)];
    if status.burst {
        words.push(gettext("many programs start"));
    }
    if status.longrun {
        words.push(gettext("background work has been waiting for seconds"));
    }
    words.join(", ")
}

/// Why the kernel last ended the scheduler.
pub fn last_exit(status: &Status) -> String {
    let exit = &status.last_exit;
    let mut text = exit.reason.clone();
    if text.is_empty() {
        text.clone_from(&exit.kind);
    }
    if !exit.message.is_empty() {
        text = format!("{text}: {}", exit.message);
    }
    text
}

/// A tick for those who cannot see the chart.
pub fn tick(point: &HistoryPoint) -> String {
    let values = p99_by_tier(point);
    let mut parts = vec![regime_name(point.regime_name())];
    // What matters most comes first.
    for (name, value) in tier_names().iter().zip(values).rev() {
        if let Some(nsec) = value {
            parts.push(format!("{name} {}", span(nsec.into())));
        }
    }
    parts.join(", ")
}

/// A place on the axis of time.
pub fn minutes_ago(minutes: u32) -> String {
    if minutes == 0 {
        gettext("now")
    } else {
        fill(&gettext("−{n} min"), &[("n", &minutes.to_string())])
    }
}

/// Which CPUs are taken first.
pub fn domain(status: &Status) -> String {
    let wanted = match status.primary_domain.as_str() {
        "all" => return choices::domain_name("all"),
        "" => return gettext("Unknown"),
        mask if choices::is_mask(mask) => fill(&gettext("Your choice: {mask}"), &[("mask", mask)]),
        named => choices::domain_name(named),
    };
    let cpus = match cpus_in(&status.primary_domain_cpus) {
        0 => gettext("all of them now"),
        n => fill(
            &ngettext("{n} CPU now", "{n} CPUs now", n),
            &[("n", &n.to_string())],
        ),
    };
    format!("{wanted} ({cpus})")
}

/// CPUs of a mask in hex.
fn cpus_in(mask: &str) -> u32 {
    let digits = mask.trim_start_matches("0x");
    digits
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(u32::count_ones)
        .sum()
}

/// What the kernel says about schedulers of this kind.
pub fn kernel(status: &Status) -> String {
    match (status.kernel_state.as_str(), status.kernel_ops.as_str()) {
        ("", _) => gettext("Unknown"),
        ("unavailable", _) => gettext("No sched_ext in this kernel"),
        ("enabled", ops) => fill(&gettext("{name} is loaded"), &[("name", ops)]),
        ("disabled", _) => gettext("Nothing is loaded"),
        (word, ops) => format!("{word} {ops}").trim_end().to_owned(),
    }
}

/// Who decided on the mode. The daemon's words are for any reader; only the first one is fixed.
pub fn decided_by(reason: &str) -> String {
    let (word, rest) = reason.split_once(' ').unwrap_or((reason, ""));
    let whom = rest.trim_start_matches("of ");
    match word {
        "boot" => gettext("The start of the service"),
        "request" if whom.is_empty() => gettext("A request"),
        "request" => fill(&gettext("A request of {whom}"), &[("whom", whom)]),
        "configuration" => gettext("The configuration"),
        mode_reason::REVERT => gettext("Went back by itself"),
        "hold" => fill(&gettext("Held by {whom}"), &[("whom", whom)]),
        _ => headline_of_state(word),
    }
}

fn headline_of_state(word: &str) -> String {
    headline(&Presence::Here(Box::new(Status {
        state: word.to_owned(),
        ..Status::default()
    })))
}

/// What the dialog says that waits for a decision.
pub fn trial(status: &Status, seconds: u64) -> String {
    let sentence = ngettext(
        "The mode is now “{mode}”. It goes back in {n} second unless you keep it.",
        "The mode is now “{mode}”. It goes back in {n} seconds unless you keep it.",
        count(seconds),
    );
    let mode = mode_name(&status.requested_mode);
    fill(&sentence, &[("mode", &mode), ("n", &seconds.to_string())])
}

/// Why something was not done.
pub fn trouble(trouble: &Trouble) -> String {
    match trouble {
        Trouble::NoDaemon => gettext("Not done: the service is not running"),
        Trouble::Refused => gettext("Not done: no permission"),
        Trouble::Failed(sentence) => fill(&gettext("Not done: {reason}"), &[("reason", sentence)]),
    }
}

/// A number as gettext takes it.
fn count(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(state: &str, requested: &str) -> Status {
        Status {
            state: state.to_owned(),
            requested_mode: requested.to_owned(),
            ..Status::default()
        }
    }

    fn here(status: Status) -> Presence {
        Presence::Here(Box::new(status))
    }

    #[test]
    fn every_state_has_its_words_and_only_those_that_need_one_a_banner() {
        let mut seen = Vec::new();
        for name in state::ALL {
            let presence = here(with(name, mode::ADAPTIVE));
            let title = headline(&presence);
            assert!(!seen.contains(&title), "{title}");
            seen.push(title);
            assert!(!explanation(&presence).is_empty(), "{name}");
            let is_well = [state::RUNNING, state::STARTING].contains(&name);
            assert_eq!(notice(&presence, 0).is_none(), is_well, "{name}");
        }
        assert!(notice(&Presence::NoDaemon, 0).is_some());
        assert!(notice(&Presence::Connecting, 0).is_none());
    }

    #[test]
    fn a_wish_to_be_off_is_no_failure() {
        let off = here(with(state::STOPPED, mode::OFF));
        let remedy = notice(&off, 0).map(|notice| notice.remedy.1);
        assert_eq!(remedy, Some(Remedy::SwitchOn));
        let stopped = here(with(state::STOPPED, mode::ADAPTIVE));
        let remedy = notice(&stopped, 0).map(|notice| notice.remedy.1);
        assert_eq!(remedy, Some(Remedy::Start));
    }

    #[test]
    fn an_ejection_says_what_the_kernel_said_and_when_it_returns() {
        let mut status = with(state::EJECTED, mode::ADAPTIVE);
        status.last_exit.kind = "error_stall".into();
        status.last_exit.reason = "runnable task stall.".into();
        let text = ejected(&status, 0);
        assert_eq!(text, "The kernel ended the scheduler: runnable task stall.");
        status.next_retry_usec = 5_500_000;
        let text = ejected(&status, 1_000_000);
        assert!(text.ends_with("in 5 seconds."), "{text}");
        let text = ejected(&status, 5_000_000);
        assert!(text.ends_with("in 1 second."), "{text}");
    }

    #[test]
    fn spans_have_three_digits_at_most() {
        let spans = [
            0,
            999,
            1_000,
            1_540,
            9_960,
            83_400,
            2_500_000,
            999_400_000,
            7_000_000_000,
        ];
        let words = [
            "0 ns", "999 ns", "1 µs", "1.5 µs", "10 µs", "83 µs", "2.5 ms", "999 ms", "7 s",
        ];
        assert_eq!(spans.map(span), words);
    }

    #[test]
    fn a_domain_tells_how_many_cpus_it_is() {
        let mut status = Status {
            primary_domain: "performance".into(),
            primary_domain_cpus: "0xff,000000ff".into(),
            ..Status::default()
        };
        assert_eq!(domain(&status), "Fast CPUs first (16 CPUs now)");
        status.primary_domain_cpus = "0x1".into();
        assert_eq!(domain(&status), "Fast CPUs first (1 CPU now)");
        status.primary_domain_cpus.clear();
        assert_eq!(domain(&status), "Fast CPUs first (all of them now)");
        status.primary_domain = "all".into();
        assert_eq!(domain(&status), "All CPUs alike");
    }

    #[test]
    fn the_kernel_is_quoted_even_with_a_word_nobody_knew() {
        let says = |state: &str, ops: &str| {
            kernel(&Status {
                kernel_state: state.into(),
                kernel_ops: ops.into(),
                ..Status::default()
            })
        };
        assert_eq!(says("enabled", "scx_lavd"), "scx_lavd is loaded");
        assert_eq!(says("disabled", ""), "Nothing is loaded");
        assert_eq!(says("enabling", ""), "enabling");
    }

    #[test]
    fn whoever_decided_is_named() {
        assert_eq!(decided_by("request of user 1000"), "A request of user 1000");
        assert_eq!(decided_by("hold of game"), "Held by game");
        assert_eq!(decided_by("boot"), "The start of the service");
        assert_eq!(decided_by("conflict"), "Another scheduler is in charge");
    }

    #[test]
    fn a_trial_counts_down() {
        let status = with(state::RUNNING, mode::BPF);
        assert!(trial(&status, 1).contains("in 1 second unless"));
        assert!(trial(&status, 12).contains("“Fixed”. It goes back in 12 seconds"));
    }
}
