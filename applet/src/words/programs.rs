//! Programs in words, and why a program has its tier. Pure functions.

use gettextrs::{gettext, ngettext};
use pandemonium_api::{ProfileDetails, ProfileRow};

use super::choices::Labelled;
use super::{count, span, tier_names};
use crate::link::Trouble;
use crate::model::Presence;
use crate::programs::Program;
use crate::translation::fill;

/// The tiers by their names on the bus, the least urgent first.
pub const TIERS: [&str; 3] = ["batch", "interactive", "lat_critical"];

/// What stands where nothing is known.
const NOTHING: &str = "–";

/// The name of a tier.
pub fn tier_name(tier: &str) -> String {
    match TIERS.iter().position(|known| *known == tier) {
        Some(index) => tier_names()[index].clone(),
        None => tier.to_owned(),
    }
}

/// The printable name.
pub fn name(program: &Program) -> String {
    program.row.name.clone()
}

/// The tier that counts.
pub fn tier(program: &Program) -> String {
    tier_name(&program.row.tier)
}

/// How sure the tier is.
pub fn confidence(program: &Program) -> String {
    if_seen(&program.row, |row| percent(row.confidence_permille))
}

/// The average run between two sleeps.
pub fn run(program: &Program) -> String {
    if_seen(&program.row, |row| span(row.avg_runtime_ns))
}

/// How often it wakes up.
pub fn wakeups(program: &Program) -> String {
    if_seen(&program.row, |row| per_second(row.wakeup_freq))
}

/// When it was seen last. Launches of other programs are what its age is counted in.
pub fn seen(program: &Program) -> String {
    if_seen(&program.row, |_| launches_ago(program.launches_since))
}

/// All that matters, for those who hear the list.
pub fn summary(program: &Program) -> String {
    let mut parts = vec![name(program), tier(program)];
    if program.is_pinned {
        parts.push(gettext("pinned"));
    } else {
        parts.push(confidence(program));
    }
    parts.join(", ")
}

fn if_seen(row: &ProfileRow, words: impl FnOnce(&ProfileRow) -> String) -> String {
    match row.observations {
        0 => NOTHING.to_owned(),
        _ => words(row),
    }
}

fn percent(permille: u32) -> String {
    fill(&gettext("{n} %"), &[("n", &(permille / 10).to_string())])
}

/// What the kernel half counts in 100 ms.
fn per_second(in_100_ms: u32) -> String {
    let n = u64::from(in_100_ms) * 10;
    fill(&gettext("{n}/s"), &[("n", &n.to_string())])
}

/// A time that is counted in launches.
pub fn launches_ago(launches: u64) -> String {
    if launches == 0 {
        return gettext("Just now");
    }
    let words = ngettext("{n} launch ago", "{n} launches ago", count(launches));
    fill(&words, &[("n", &launches.to_string())])
}

/// What can be decided about a program; the first leaves it to its behaviour.
pub fn tiers() -> Vec<Labelled> {
    let automatic = (String::new(), gettext("As it behaves"));
    let pins = TIERS.iter().rev();
    let pins = pins.map(|tier| ((*tier).to_owned(), tier_name(tier)));
    [automatic].into_iter().chain(pins).collect()
}

/// Why a program has its tier, in a few sentences.
pub fn why(row: &ProfileRow, details: &ProfileDetails) -> String {
    let mut sentences = vec![decision(row, details)];
    if row.observations > 0 {
        sentences.extend(score(details));
    }
    sentences.join(" ")
}

fn decision(row: &ProfileRow, details: &ProfileDetails) -> String {
    let learned = tier_name(&details.learned_tier);
    if details.pinned {
        let tier = tier_name(&row.tier);
        let pinned = fill(
            &gettext("It is pinned to “{tier}”, whatever it does."),
            &[("tier", &tier)],
        );
        if row.observations == 0 || details.learned_tier == row.tier {
            return pinned;
        }
        let learned = fill(
            &gettext("Left alone, it would be “{tier}”."),
            &[("tier", &learned)],
        );
        return format!("{pinned} {learned}");
    }
    if details.confident {
        let (batch, interactive, critical) = details.votes;
        let all = batch.saturating_add(interactive).saturating_add(critical);
        let most = batch.max(interactive).max(critical);
        let words = ngettext(
            "It was “{tier}” {most} of the last {n} time it was looked at, so it starts there.",
            "It was “{tier}” {most} of the last {n} times it was looked at, so it starts there.",
            all,
        );
        return fill(
            &words,
            &[
                ("tier", &learned),
                ("most", &most.to_string()),
                ("n", &all.to_string()),
            ],
        );
    }
    let words = gettext(
        "So far it looks like “{tier}”, which is not sure enough yet: each of its processes starts without a tier and shows what it is.",
    );
    fill(&words, &[("tier", &learned)])
}

/// What the score is, and what it means; the scores where tiers begin are only known while the
/// scheduler is loaded.
fn score(details: &ProfileDetails) -> Option<String> {
    let (interactive, critical) = (details.interactive_from?, details.lat_critical_from?);
    let words = gettext(
        "The more often a program wakes up and the shorter it runs, the higher is its score. This one has {score}; “{interactive}” begins at {from} and “{critical}” at {above}.",
    );
    let [_, interactive_name, critical_name] = tier_names();
    let score = fill(
        &words,
        &[
            ("score", &details.score.to_string()),
            ("interactive", &interactive_name),
            ("critical", &critical_name),
            ("from", &interactive.to_string()),
            ("above", &critical.to_string()),
        ],
    );
    let by_score = match u64::from(details.score) {
        score if score >= critical => TIERS[2],
        score if score >= interactive => TIERS[1],
        _ => TIERS[0],
    };
    if by_score == details.learned_tier {
        return Some(score);
    }
    let words = gettext(
        "By this average alone it would be “{tier}”; what counts is what it was taken for while it ran.",
    );
    let but = fill(&words, &[("tier", &tier_name(by_score))]);
    Some(format!("{score} {but}"))
}

/// How often each tier was seen lately, the most urgent first.
pub fn votes(details: &ProfileDetails) -> String {
    let (batch, interactive, critical) = details.votes;
    let seen: Vec<_> = tier_names()
        .iter()
        .zip([batch, interactive, critical])
        .rev()
        .filter(|(_, votes)| *votes > 0)
        .map(|(name, votes)| {
            fill(
                &gettext("{tier}: {n}"),
                &[("tier", name), ("n", &votes.to_string())],
            )
        })
        .collect();
    match seen.as_slice() {
        [] => NOTHING.to_owned(),
        seen => seen.join(", "),
    }
}

/// How sure the tier is, and what follows.
pub fn certainty(row: &ProfileRow, details: &ProfileDetails) -> String {
    let words = match details.confident {
        true => gettext("{percent}, sure enough to be used"),
        false => gettext("{percent}, not sure enough to be used"),
    };
    fill(&words, &[("percent", &percent(row.confidence_permille))])
}

/// Average and spread of the runs.
pub fn runs(row: &ProfileRow) -> String {
    fill(
        &gettext("{average}, give or take {deviation}"),
        &[
            ("average", &span(row.avg_runtime_ns)),
            ("deviation", &span(row.runtime_dev_ns)),
        ],
    )
}

/// Wake-ups and context switches.
pub fn switches(row: &ProfileRow, details: &ProfileDetails) -> String {
    fill(
        &gettext("Wake-ups: {wakeups}, context switches: {switches}"),
        &[
            ("wakeups", &per_second(row.wakeup_freq)),
            ("switches", &per_second(details.csw_rate)),
        ],
    )
}

/// How often it was looked at.
pub fn observations(row: &ProfileRow) -> String {
    let n = row.observations;
    let words = ngettext("Once", "{n} times", n);
    fill(&words, &[("n", &n.to_string())])
}

/// Why there is no list: a title, and a sentence below it.
pub fn nothing_to_list(presence: &Presence, trouble: Option<&Trouble>) -> (String, String) {
    match presence {
        Presence::Here(_) => match trouble {
            Some(Trouble::Refused) => (
                gettext("Not Allowed"),
                gettext(
                    "The list shows programs of all users of this computer. You may not see it.",
                ),
            ),
            Some(other) => (String::new(), super::trouble(other)),
            None => (
                gettext("Nothing Learned Yet"),
                gettext("Programs appear here as soon as the scheduler has seen them at work."),
            ),
        },
        Presence::Connecting => (super::headline(presence), String::new()),
        _ => (
            super::headline(presence),
            gettext("What it has learned shows when it is back."),
        ),
    }
}

/// How many programs were forgotten.
pub fn forgotten(n: u32) -> String {
    let words = ngettext("{n} program forgotten", "{n} programs forgotten", n);
    fill(&words, &[("n", &n.to_string())])
}

/// How many programs were read from a file.
pub fn imported(n: u32) -> String {
    let words = ngettext("{n} program imported", "{n} programs imported", n);
    fill(&words, &[("n", &n.to_string())])
}

/// Why nothing was taken over from a file.
pub fn not_imported(reason: &str) -> String {
    let words = gettext("These are no profiles: {reason}");
    fill(&words, &[("reason", reason)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::tests::program;

    fn details() -> ProfileDetails {
        ProfileDetails {
            learned_tier: "interactive".into(),
            votes: (1, 14, 0),
            confident: true,
            score: 42,
            interactive_from: Some(8),
            lat_critical_from: Some(80),
            ..ProfileDetails::default()
        }
    }

    #[test]
    fn cells_are_short_and_say_nothing_of_what_was_never_seen() {
        let known = program("x");
        assert_eq!(confidence(&known), "90 %");
        assert_eq!(run(&known), "250 µs");
        assert_eq!(wakeups(&known), "60/s");
        assert_eq!(seen(&known), "3 launches ago");
        assert_eq!(summary(&known), "x, Interactive, 90 %");
        let mut unseen = program("y");
        unseen.row.observations = 0;
        unseen.is_pinned = true;
        for cell in [confidence, run, wakeups, seen] {
            assert_eq!(cell(&unseen), "–");
        }
        assert_eq!(summary(&unseen), "y, Interactive, pinned");
        assert_eq!(launches_ago(0), "Just now");
        assert_eq!(launches_ago(1), "1 launch ago");
    }

    #[test]
    fn a_learned_tier_is_explained_by_what_was_seen_and_by_the_score() {
        let text = why(&program("x").row, &details());
        assert!(
            text.contains("“Interactive” 14 of the last 15 times"),
            "{text}"
        );
        assert!(text.contains("This one has 42"), "{text}");
        assert!(
            text.contains("begins at 8 and “Screen and sound” at 80"),
            "{text}"
        );
    }

    #[test]
    fn a_score_that_says_otherwise_does_not_go_uncommented() {
        let row = program("x").row;
        let with = |score| ProfileDetails { score, ..details() };
        assert!(!why(&row, &with(8)).contains("By this average"));
        assert!(!why(&row, &with(79)).contains("By this average"));
        for (score, tier) in [(7, "In the background"), (80, "Screen and sound")] {
            let text = why(&row, &with(score));
            let but = format!("By this average alone it would be “{tier}”");
            assert!(text.contains(&but), "{text}");
        }
    }

    #[test]
    fn without_the_scheduler_nothing_is_said_about_where_tiers_begin() {
        let unloaded = ProfileDetails {
            lat_critical_from: None,
            ..details()
        };
        assert!(!why(&program("x").row, &unloaded).contains("score"));
    }

    #[test]
    fn a_pin_says_what_would_be_without_it() {
        let pinned = ProfileDetails {
            pinned: true,
            ..details()
        };
        let mut row = program("x").row;
        assert!(!why(&row, &pinned).contains("Left alone"));
        row.tier = "batch".into();
        let text = why(&row, &pinned);
        assert!(
            text.starts_with("It is pinned to “In the background”"),
            "{text}"
        );
        assert!(
            text.contains("Left alone, it would be “Interactive”"),
            "{text}"
        );
        row.observations = 0;
        let text = why(&row, &pinned);
        assert!(
            !text.contains("Left alone") && !text.contains("score"),
            "{text}"
        );
    }

    #[test]
    fn what_is_not_sure_says_so() {
        let unsure = ProfileDetails {
            confident: false,
            ..details()
        };
        let row = program("x").row;
        assert!(why(&row, &unsure).contains("not sure enough yet"));
        assert_eq!(certainty(&row, &unsure), "90 %, not sure enough to be used");
        assert_eq!(certainty(&row, &details()), "90 %, sure enough to be used");
    }

    #[test]
    fn votes_leave_out_what_was_never_seen() {
        assert_eq!(votes(&details()), "Interactive: 14, In the background: 1");
        assert_eq!(votes(&ProfileDetails::default()), "–");
    }

    #[test]
    fn an_empty_list_has_its_reason() {
        let here = Presence::Here(Box::default());
        assert_eq!(nothing_to_list(&here, None).0, "Nothing Learned Yet");
        let refused = nothing_to_list(&here, Some(&Trouble::Refused));
        assert_eq!(refused.0, "Not Allowed");
        let failed = Trouble::Failed("no memory".to_owned());
        let failed = nothing_to_list(&here, Some(&failed));
        assert_eq!(failed.1, "Not done: no memory");
        let away = nothing_to_list(&Presence::NoDaemon, None);
        assert_eq!(away.0, "The service is not running");
        assert!(!away.1.is_empty());
    }
}
