//! The regression gate: ratios to the kernel's scheduler in the same run, held against a stored baseline.

use std::fmt::Write as _;

use crate::results::{EEVDF, OURS, Place, Results};
use crate::suite::{ROWS, Row};
use crate::verdict::number;

/// How much worse than the baseline a ratio may be. Virtual time repeats exactly, but another instruction anywhere
/// shifts every coincidence: percentiles of a short run move by this much without any reason.
const SLACK: f64 = 1.5;
/// Ratios below this are as good as it: a wake-up far below the kernel's may vary.
const FLOOR: f64 = 0.1;
/// Where more is better, ratios above this are as good as it: who has more than a fair share has it from others.
const ENOUGH: f64 = 1.0;

/// Rows of which one coincidence decides: workload and figure.
const NOT_HELD: [(&str, &str); 1] = [("starvation", "max_us")];

/// A ratio of the baseline or of a run.
#[derive(Clone, Debug, PartialEq)]
struct Ratio {
    mode: String,
    workload: String,
    figure: String,
    value: f64,
}

/// The baseline that these results would make; fails if it would hold nothing.
pub fn baseline(results: &Results) -> Result<String, String> {
    let mut text =
        "# mode workload figure, and its ratio to the kernel's scheduler in the same run\n"
            .to_owned();
    let found = ratios(results)?;
    if found.is_empty() {
        return Err(format!(
            "there is no ratio for a baseline: no row was measured both under {EEVDF} and in a mode of ours"
        ));
    }
    for ratio in found {
        let Ratio {
            mode,
            workload,
            figure,
            value,
        } = ratio;
        let _ = writeln!(text, "{mode} {workload} {figure} {value:.3}");
    }
    Ok(text)
}

/// Holds results against a baseline: a line for each ratio, or the sentences that say what is wrong.
pub fn hold(results: &Results, baseline: &str) -> Result<String, String> {
    let now = ratios(results)?;
    let (mut text, mut wrong) = (String::new(), Vec::new());
    for line in baseline.lines().filter(|line| !line.starts_with('#')) {
        let before = parse(line)?;
        let is_same = |ratio: &&Ratio| {
            (&ratio.mode, &ratio.workload, &ratio.figure)
                == (&before.mode, &before.workload, &before.figure)
        };
        let Ratio {
            mode,
            workload,
            figure,
            ..
        } = &before;
        let Some(ratio) = now.iter().find(is_same) else {
            wrong.push(format!("{mode} {workload} {figure} was not measured"));
            continue;
        };
        let line = format!(
            "{mode} {workload} {figure}: {} times that of {EEVDF}, the baseline is {}",
            number(ratio.value),
            number(before.value)
        );
        let _ = writeln!(text, "{line}");
        if is_worse(&before, ratio.value) {
            wrong.push(line);
        }
    }
    if text.is_empty() && wrong.is_empty() {
        return Err("the baseline is empty".to_owned());
    }
    if wrong.is_empty() {
        Ok(text)
    } else {
        Err(format!(
            "not what the baseline allows: {}",
            wrong.join("; ")
        ))
    }
}

fn is_worse(before: &Ratio, now: f64) -> bool {
    let row = ROWS.iter().find(|row| is_of(row, before));
    if row.is_none_or(Row::is_less_better) {
        now > before.value.max(FLOOR) * SLACK
    } else {
        now < before.value.min(ENOUGH) / SLACK
    }
}

fn is_of(row: &Row, ratio: &Ratio) -> bool {
    row.workload == ratio.workload && row.figure == ratio.figure
}

/// Every row of ours that is held and that the kernel's scheduler has too, at the only place that was measured.
fn ratios(results: &Results) -> Result<Vec<Ratio>, String> {
    let places = results.places();
    let [(time, cpus)] = places.as_slice() else {
        return Err("a baseline is about one number of CPUs".to_owned());
    };
    let here = Place { time, cpus: *cpus };
    let mut found = Vec::new();
    for mode in OURS {
        let is_held = |row: &&Row| !NOT_HELD.contains(&(row.workload, row.figure));
        for row in ROWS.iter().filter(is_held) {
            let value = |name| results.get(&here, name, row.workload, row.figure);
            let pair = value(mode).zip(value(EEVDF));
            let ratio = pair.filter(|(_, theirs)| *theirs > 0.0);
            found.extend(ratio.map(|(ours, theirs)| Ratio {
                mode: mode.to_owned(),
                workload: row.workload.to_owned(),
                figure: row.figure.to_owned(),
                value: ours / theirs,
            }));
        }
    }
    Ok(found)
}

/// Nothing is worse than what is no number.
fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

fn parse(line: &str) -> Result<Ratio, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let parsed = match words.as_slice() {
        [mode, workload, figure, value] => finite(value).map(|value| Ratio {
            mode: (*mode).to_owned(),
            workload: (*workload).to_owned(),
            figure: (*figure).to_owned(),
            value,
        }),
        _ => None,
    };
    parsed.ok_or_else(|| format!("the baseline has a line that is no ratio: {line:?}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::results;

    fn measured(wakeup: f64, share: f64) -> Results {
        results(&[
            ("eevdf", "wakeup", "p99_us", 1000.0),
            ("eevdf", "starvation", "share", 1.0),
            ("bpf", "wakeup", "p99_us", wakeup),
            ("bpf", "starvation", "share", share),
        ])
    }

    #[test]
    fn a_run_holds_its_own_baseline() {
        let stored = baseline(&measured(200.0, 1.2)).unwrap();
        assert!(stored.contains("\nbpf wakeup p99_us 0.200\n"), "{stored}");
        let text = hold(&measured(200.0, 1.2), &stored).unwrap();
        assert_eq!(text.lines().count(), 2);
        hold(&measured(290.0, 0.81), &stored).unwrap();
    }

    #[test]
    fn what_one_coincidence_decides_is_not_held() {
        let mut all = measured(200.0, 1.2);
        let longest = results(&[
            ("eevdf", "starvation", "max_us", 9000.0),
            ("bpf", "starvation", "max_us", 4000.0),
        ]);
        all.values.extend(longest.values);
        let stored = baseline(&all).unwrap();
        assert_eq!(stored, baseline(&measured(200.0, 1.2)).unwrap());
    }

    #[test]
    fn what_got_worse_is_named() {
        let stored = baseline(&measured(200.0, 1.2)).unwrap();
        let sentence = hold(&measured(310.0, 1.2), &stored).unwrap_err();
        assert!(
            sentence.contains("bpf wakeup p99_us: 0.31 times"),
            "{sentence}"
        );
        let sentence = hold(&measured(200.0, 0.6), &stored).unwrap_err();
        assert!(sentence.contains("bpf starvation share"), "{sentence}");
        let sentence = hold(&results(&[("bpf", "pipe", "p50_us", 1.0)]), &stored).unwrap_err();
        assert!(sentence.contains("was not measured"), "{sentence}");
    }

    #[test]
    fn far_below_the_kernels_small_ratios_may_vary() {
        let stored = baseline(&measured(20.0, 1.0)).unwrap();
        hold(&measured(149.0, 1.0), &stored).unwrap();
        hold(&measured(151.0, 1.0), &stored).unwrap_err();
    }

    #[test]
    fn a_share_may_come_down_to_about_that_under_the_kernels_own() {
        let stored = baseline(&measured(200.0, 2.1)).unwrap();
        hold(&measured(200.0, 0.7), &stored).unwrap();
        hold(&measured(200.0, 0.65), &stored).unwrap_err();
    }

    #[test]
    fn results_without_the_kernels_scheduler_make_no_baseline() {
        let alone = results(&[("bpf", "wakeup", "p99_us", 200.0)]);
        let sentence = baseline(&alone).unwrap_err();
        assert!(
            sentence.starts_with("there is no ratio for a baseline: "),
            "{sentence}"
        );
        let nothing = results(&[
            ("eevdf", "wakeup", "p99_us", 0.0),
            ("bpf", "wakeup", "p99_us", 1.0),
        ]);
        baseline(&nothing).unwrap_err();
    }

    #[test]
    fn a_broken_baseline_is_one_sentence() {
        for text in [
            "",
            "bpf wakeup p99_us",
            "bpf wakeup p99_us much",
            "bpf wakeup p99_us NaN",
        ] {
            assert_eq!(
                hold(&measured(1.0, 1.0), text).unwrap_err().lines().count(),
                1
            );
        }
    }
}
