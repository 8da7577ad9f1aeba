//! What can be chosen for the whole machine, in words. Pure functions.

use gettextrs::{gettext, ngettext};
use pandemonium_api::{HoldRow, mode};

use super::mode_name;
use crate::model::Status;
use crate::translation::fill;

/// A value and its words.
pub type Labelled = (String, String);

/// The primary domain that the power map decides on.
pub const AUTO: &str = "auto";
/// Stands for a CPU mask that is still to be written.
pub const OWN: &str = "own";
/// Stands for a power situation without an entry in the map.
pub const NOT_SET: &str = "";
/// The domains that have names.
const NAMED: [&str; 3] = ["all", "performance", "powersave"];
/// The keys of the power map, in the order of their rows.
pub const SITUATIONS: [&str; 5] = ["performance", "balanced", "power-saver", "ac", "battery"];
/// Most bytes of a name that are accepted, and fewest before a `*`.
const MAX_PATTERN_BYTES: usize = 64;
const MIN_PREFIX_BYTES: usize = 2;

fn labelled(value: &str, words: String) -> Labelled {
    (value.to_owned(), words)
}

/// The modes a start of the daemon can take.
pub fn modes() -> Vec<Labelled> {
    mode::ALL
        .iter()
        .map(|mode| labelled(mode, mode_name(mode)))
        .collect()
}

/// The name of a domain; a mask is its own.
pub fn domain_name(domain: &str) -> String {
    match domain {
        "all" => gettext("All CPUs alike"),
        "performance" => gettext("Fast CPUs first"),
        "powersave" => gettext("Economical CPUs first"),
        AUTO => gettext("By the power profile"),
        OWN => gettext("CPUs of your choice"),
        NOT_SET => gettext("Nothing special"),
        mask => mask.to_owned(),
    }
}

/// Whether a domain is a mask that somebody wrote.
pub fn is_mask(domain: &str) -> bool {
    !domain.is_empty() && domain != AUTO && !NAMED.contains(&domain)
}

/// What the primary domain can be.
pub fn domains() -> Vec<Labelled> {
    let names = NAMED.into_iter().chain([AUTO, OWN]);
    names
        .map(|name| labelled(name, domain_name(name)))
        .collect()
}

/// What a power situation can stand for. A mask is kept, though no other can be chosen here.
pub fn situation_domains(current: &str) -> Vec<Labelled> {
    let names = [NOT_SET].into_iter().chain(NAMED);
    let mut all: Vec<_> = names
        .map(|name| labelled(name, domain_name(name)))
        .collect();
    if is_mask(current) {
        all.push(labelled(current, domain_name(current)));
    }
    all
}

/// What the power map is for, and what the power situation is now.
pub fn power_explained(status: &Status) -> String {
    let purpose = match status.primary_domain.as_str() {
        AUTO => {
            gettext("Which CPUs go first, depending on power. A profile counts before the source.")
        }
        _ => fill(
            &gettext("Counts when “{choice}” is chosen above."),
            &[("choice", &domain_name(AUTO))],
        ),
    };
    format!("{purpose} {}", power_now(status))
}

/// What the power situation is now.
fn power_now(status: &Status) -> String {
    let profile = match status.power_profile.as_str() {
        "performance" => gettext("the performance profile"),
        "balanced" => gettext("the balanced profile"),
        "power-saver" => gettext("the power saver profile"),
        _ => String::new(),
    };
    let source = match status.power_source.as_str() {
        "ac" => gettext("plugged in"),
        "battery" => gettext("on battery"),
        _ => String::new(),
    };
    let known: Vec<_> = [source, profile]
        .into_iter()
        .filter(|words| !words.is_empty())
        .collect();
    if known.is_empty() {
        return gettext("Nobody says what it is now.");
    }
    fill(&gettext("Now: {what}."), &[("what", &known.join(", "))])
}

/// What the item in the panel is good for, or why there is none.
pub fn panel(is_there: bool) -> String {
    match is_there {
        true => gettext("When the window is closed, the icon stays."),
        false => gettext(
            "No panel here shows one, so the window comes instead. On GNOME it takes the extension AppIndicator.",
        ),
    }
}

/// How many names are compositors.
pub fn compositors(n: usize) -> String {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    let words = ngettext("{n} name", "{n} names", n);
    fill(&words, &[("n", &n.to_string())])
}

/// What is wrong with the name of a compositor. The daemon has the last word.
pub fn wrong_name(pattern: &str) -> Option<String> {
    let (text, is_prefix) = match pattern.strip_suffix('*') {
        Some(text) => (text, true),
        None => (pattern, false),
    };
    let is_allowed = |c: char| c == ' ' || c.is_ascii_graphic() && c != '/';
    if text.contains('*') {
        Some(gettext("A * can only be at the end."))
    } else if !text.chars().all(is_allowed) {
        Some(gettext(
            "Only English letters, digits, blanks and signs other than / are possible.",
        ))
    } else if is_prefix && text.len() < MIN_PREFIX_BYTES {
        Some(gettext("Two characters at least have to be before the *."))
    } else if text.len() > MAX_PATTERN_BYTES {
        Some(gettext("This is far longer than the name of any program."))
    } else {
        None
    }
}

/// Who holds a mode and why, and which and since when. `since` is the moment in words.
pub fn hold(hold: &HoldRow, since: &str) -> (String, String) {
    let title = match hold.reason.as_str() {
        "" => hold.application.clone(),
        reason => format!("{} – {reason}", hold.application),
    };
    let words = gettext("{mode}, since {since}, user {user}");
    let subtitle = fill(
        &words,
        &[
            ("mode", &mode_name(&hold.mode)),
            ("since", since),
            ("user", &hold.uid.to_string()),
        ],
    );
    (title, subtitle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_of_the_map_is_kept_but_only_there() {
        let values = |all: Vec<Labelled>| -> Vec<String> {
            all.into_iter().map(|(value, _)| value).collect()
        };
        let usual = ["", "all", "performance", "powersave"];
        assert_eq!(values(situation_domains("all")), usual);
        assert_eq!(values(situation_domains("")), usual);
        assert_eq!(values(situation_domains("0xf")).last(), Some(&"0xf".into()));
        assert!(values(domains()).contains(&AUTO.to_owned()));
        assert!(is_mask("0xf") && !is_mask("auto") && !is_mask("") && !is_mask("all"));
    }

    #[test]
    fn every_choice_has_words_of_its_own() {
        let words: Vec<_> = domains().into_iter().map(|(_, words)| words).collect();
        let mut unlike = words.clone();
        unlike.sort();
        unlike.dedup();
        assert_eq!(unlike.len(), words.len());
        assert_eq!(modes().len(), 3);
    }

    #[test]
    fn what_no_compositor_can_be_called_is_told() {
        for good in ["kwin_wayland", "my compositor", "gnome-shell*", "abc*"] {
            assert_eq!(wrong_name(good), None, "{good}");
        }
        for (bad, word) in [
            ("a*b", "at the end"),
            ("/bin/x", "other than /"),
            ("Zürich", "English letters"),
            ("a*", "Two characters"),
            (&"x".repeat(65), "far longer"),
        ] {
            let told = wrong_name(bad).unwrap_or_default();
            assert!(told.contains(word), "{bad}: {told}");
        }
    }

    #[test]
    fn the_power_situation_is_as_much_as_is_known() {
        let mut status = Status::default();
        assert_eq!(power_now(&status), "Nobody says what it is now.");
        status.power_source = "battery".into();
        assert_eq!(power_now(&status), "Now: on battery.");
        status.power_profile = "power-saver".into();
        assert_eq!(
            power_now(&status),
            "Now: on battery, the power saver profile."
        );
    }

    #[test]
    fn a_hold_says_who_why_and_which() {
        let game = HoldRow {
            mode: "bpf".into(),
            application: "game".into(),
            reason: String::new(),
            uid: 1000,
            usec: 0,
        };
        let (title, subtitle) = hold(&game, "12:00");
        assert_eq!(
            (title.as_str(), subtitle.as_str()),
            ("game", "Fixed, since 12:00, user 1000")
        );
        let reason = HoldRow {
            reason: "playing".into(),
            ..game
        };
        assert_eq!(hold(&reason, "").0, "game – playing");
    }
}
