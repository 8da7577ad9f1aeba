//! Names of compositors: what is accepted, and what it matches.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Pattern, PatternError};
use proptest::prelude::*;

fn pattern(text: &str) -> Pattern {
    text.parse().unwrap()
}

fn refused(text: &str) -> PatternError {
    text.parse::<Pattern>().unwrap_err()
}

#[test]
fn a_name_matches_itself_only() {
    let sway = pattern("sway");
    assert_eq!((sway.text(), sway.is_prefix()), (&b"sway"[..], false));
    assert!(sway.matches(b"sway"));
    for other in [&b"swaybg"[..], b"swa", b"Sway", b"", b" sway"] {
        assert!(!sway.matches(other));
    }
}

#[test]
fn a_prefix_matches_everything_that_begins_with_it() {
    let kwin = pattern("kwin_wayland*");
    assert_eq!(
        (kwin.text(), kwin.is_prefix()),
        (&b"kwin_wayland"[..], true)
    );
    assert!(kwin.matches(b"kwin_wayland"));
    assert!(kwin.matches(b"kwin_wayland_wr"));
    assert!(!kwin.matches(b"kwin_x11"));
    assert!(!kwin.matches(b"kwin"));
}

#[test]
fn a_task_name_ends_at_its_first_zero_byte() {
    assert!(pattern("sway").matches(b"sway\0\0\0\0\0\0\0\0\0\0\0\0"));
    assert!(pattern("sway").matches(b"sway\0garbage"));
    assert!(!pattern("sw*").matches(b"s\0way"));
    assert!(!pattern("sway").matches(b"\0sway"));
}

#[test]
fn a_name_longer_than_the_kernel_shows_is_what_the_kernel_makes_of_it() {
    let long = pattern("my-wayland-compositor");
    assert_eq!(long.to_string(), "my-wayland-comp");
    assert!(!long.is_prefix());
    assert!(long.matches(b"my-wayland-comp\0"));
    assert!(long.matches(b"my-wayland-compositor"));
    assert!(!long.matches(b"my-wayland-com"));
    assert_eq!(pattern("my-wayland-compositor*"), long);
    assert_eq!(pattern(&"x".repeat(64)), pattern(&"x".repeat(15)));
}

#[test]
fn fifteen_bytes_are_a_whole_name_with_or_without_a_star() {
    for text in ["0123456789abcde", "0123456789abcde*"] {
        assert_eq!(pattern(text).to_string(), text);
        assert!(pattern(text).matches(b"0123456789abcde"));
        assert!(!pattern(text).matches(b"0123456789abcd"));
    }
}

#[test]
fn what_no_compositor_is_called_is_refused() {
    assert_eq!(refused(""), PatternError::Empty);
    assert_eq!(refused(&"x".repeat(65)), PatternError::TooLong(65));
    assert_eq!(refused("a/b"), PatternError::Character('/'));
    assert_eq!(refused("a\nb"), PatternError::Character('\n'));
    assert_eq!(refused("a\0"), PatternError::Character('\0'));
    assert_eq!(refused("\u{7f}"), PatternError::Character('\u{7f}'));
    assert_eq!(refused("käse"), PatternError::Character('ä'));
    for wildcard in ["*sway", "s*y", "sway**", "**", "***"] {
        assert_eq!(refused(wildcard), PatternError::Wildcard, "{wildcard}");
    }
    assert_eq!(refused("*"), PatternError::ShortPrefix);
    assert_eq!(refused("k*"), PatternError::ShortPrefix);
    assert_eq!(pattern("k").text(), b"k");
    assert_eq!(pattern("Web Content").to_string(), "Web Content");
}

#[test]
fn errors_are_one_sentence_without_control_characters() {
    let sentence = refused("a\x1b[31m").to_string();
    assert_eq!(
        sentence,
        "a compositor's name is printable ASCII without '/', not '\\u{1b}'"
    );
    let sentence = refused("k*").to_string();
    assert_eq!(
        sentence,
        "a prefix needs at least 2 characters before its '*'"
    );
}

#[test]
fn patterns_sort_by_their_text() {
    let mut patterns = ["sway", "kwin*", ".Hyprland*", "kwin", "kwin_x11"].map(pattern);
    patterns.sort_unstable();
    let texts = patterns.map(|pattern| pattern.to_string());
    assert_eq!(texts, [".Hyprland*", "kwin", "kwin*", "kwin_x11", "sway"]);
}

#[test]
fn the_defaults_know_what_compositors_are_really_called() {
    let defaults = Pattern::defaults();
    assert_eq!(defaults.len(), 32, "each name of the list is valid");
    assert!(
        defaults.is_sorted_by(|a, b| a < b),
        "and none is there twice"
    );
    assert!(defaults.len() <= Pattern::MAX);
    let is_known = |comm: &[u8]| defaults.iter().any(|pattern| pattern.matches(comm));
    for comm in [
        &b"kwin_wayland"[..],
        b"kwin_wayland_wr",
        b"kwin_x11",
        b"gnome-shell",
        b"mutter-x11-fram",
        b"sway",
        b"Hyprland",
        b"cosmic-comp",
        b"Xorg",
        b"Xwayland",
        b"gamescope-wl",
        b"river",
        b"niri",
        b".gnome-shell-wr",
        b".kwin_wayland-w",
    ] {
        assert!(is_known(comm), "{}", comm.escape_ascii());
    }
    for comm in [&b"bash"[..], b"swaybg", b"kworker/0:1", b"firefox", b""] {
        assert!(!is_known(comm), "{}", comm.escape_ascii());
    }
}

proptest! {
    #[test]
    fn any_accepted_name_reads_back_and_matches_what_the_kernel_shows(name in "[ -~]{1,70}") {
        if let Ok(pattern) = name.parse::<Pattern>() {
            prop_assert_eq!(pattern.to_string().parse::<Pattern>(), Ok(pattern));
            prop_assert!((1..=15).contains(&pattern.text().len()));
            prop_assert!(pattern.matches(name.trim_end_matches('*').as_bytes()));
        }
    }

    #[test]
    fn any_text_is_read_or_refused_without_harm(name in any::<String>(), comm in any::<[u8; 16]>()) {
        match name.parse::<Pattern>() {
            Ok(pattern) => {
                pattern.matches(&comm);
            }
            Err(error) => prop_assert!(!error.to_string().contains(char::is_control)),
        }
    }
}
