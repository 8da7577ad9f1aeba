#![allow(clippy::unwrap_used)]

use super::*;
use crate::status::named_counters;

/// The names that `enum counter` gives to the places of the array, as Rust writes them.
fn counters_in_c() -> Vec<String> {
    let (_, from) = include_str!("../../../../bpf/intf.h")
        .split_once("enum counter {")
        .unwrap();
    let (body, _) = from.split_once("NR_COUNTERS,").unwrap();
    body.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| entry.strip_prefix("CNT_").unwrap().to_lowercase())
        .collect()
}

#[test]
fn every_counter_is_read_from_its_own_place() {
    let names = counters_in_c();
    assert_eq!(names.len(), COUNTERS);
    let mut sums = Counters::default();
    add_counters(&mut sums, &std::array::from_fn(|i| 1 << i));
    let named = named_counters(&sums);
    for (i, name) in names.iter().enumerate() {
        assert_eq!(named.get(name).copied(), Some(1 << i), "{name}");
    }
    // The two that remain have arrays of their own: l2_hits and l2_misses.
    assert_eq!(named.len(), names.len() + 2, "{named:?}");
}

/// A task name as the kernel keeps it: at most 15 bytes, the rest zero.
fn comm(name: &str) -> [u8; 16] {
    let shown = &name.as_bytes()[..name.len().min(15)];
    std::array::from_fn(|i| shown.get(i).copied().unwrap_or(0))
}

/// As `matches_any()` in `bpf/identity.bpf.h` compares.
fn agrees(raw: &types::pattern, comm: [u8; 16]) -> bool {
    let word = |i: usize| u64::from_ne_bytes(comm[8 * i..8 * i + 8].try_into().unwrap());
    (word(0) ^ raw.text[0]) & raw.mask[0] == 0 && (word(1) ^ raw.text[1]) & raw.mask[1] == 0
}

/// Whether the kernel half takes a task of this name for one of the pattern.
fn fits(pattern: &str, name: &str) -> bool {
    agrees(&pattern_of(&pattern.parse().unwrap()), comm(name))
}

#[test]
fn an_exact_name_fits_only_itself() {
    // Shorter than a word, a word, one more, and all that a name can have.
    for name in ["i3", "kwin_x1", "kwin_x11", "budgie-wm", "fifteen_letters"] {
        assert!(fits(name, name), "{name}");
        let shorter = &name[..name.len() - 1];
        for other in ["", shorter, &format!("{shorter}!"), &format!("x{name}")] {
            assert!(!fits(name, other), "{name}, {other}");
        }
        if name.len() < 15 {
            assert!(!fits(name, &format!("{name}x")), "{name} is no prefix");
        }
    }
}

#[test]
fn a_prefix_fits_itself_and_longer_names() {
    for prefix in ["i3", "kwin_wa", "kwin_way", "kwin_wayl", "fourteen_chars"] {
        let pattern = format!("{prefix}*");
        for rest in ["", "x", "-and-more"] {
            assert!(fits(&pattern, &format!("{prefix}{rest}")), "{pattern}");
        }
        let shorter = &prefix[..prefix.len() - 1];
        for other in ["", shorter, &format!("{shorter}!"), &format!("x{prefix}")] {
            assert!(!fits(&pattern, other), "{pattern}, {other}");
        }
    }
}

#[test]
fn the_kernel_half_and_the_policy_agree_on_every_default() {
    let patterns = Pattern::defaults();
    let names = patterns.iter().flat_map(|pattern| {
        let text = str::from_utf8(pattern.text()).unwrap();
        [text.to_owned(), format!("{text}-x"), text[1..].to_owned()]
    });
    for name in names {
        for pattern in &patterns {
            assert_eq!(
                agrees(&pattern_of(pattern), comm(&name)),
                pattern.matches(&comm(&name)),
                "{pattern}, {name}"
            );
        }
    }
}
