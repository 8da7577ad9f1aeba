//! A panel for each row, a group of bars for each number of CPUs, a bar for each scheduler with its value below it.

use std::fmt::Write as _;

use super::{MARGIN, MIDDLE, PANEL, SMALL, colour, frame, title};
use crate::results::{OURS, Place, Results, cpus_in_words};
use crate::suite::{Goal, ROWS, Row};
use crate::verdict::{limit, number};

/// Room for the values below the bars: seven digits.
const VALUES: f64 = 44.0;
/// What part of a group is bars; the rest is the gap to the next group.
const FILLED: f64 = 0.85;

/// All rows that have a goal, of one kind of time.
pub fn bars(results: &Results, time: &str) -> String {
    let places = results.places();
    let cpus: Vec<usize> = places.iter().filter(|p| p.0 == time).map(|p| p.1).collect();
    let panels: Vec<String> = ROWS
        .iter()
        .filter(|row| row.goal != Goal::Shown)
        .filter_map(|row| panel(results, time, &cpus, row))
        .collect();
    let ours = OURS.join(" and ");
    let words = format!("{time} time; a line across bars is the goal of {ours}");
    frame(results, &words, &panels)
}

/// One row; `None` if it was not measured.
fn panel(results: &Results, time: &str, cpus: &[usize], row: &Row) -> Option<String> {
    let schedulers = results.schedulers();
    let value = |cpus: usize, name: &str| {
        results.get(&Place { time, cpus }, name, row.workload, row.figure)
    };
    let all = cpus
        .iter()
        .flat_map(|n| schedulers.iter().map(|s| value(*n, s)));
    let highest = all.flatten().reduce(f64::max)?;
    let (left, right, top, bottom) = MARGIN;
    let base = PANEL.1 - bottom - VALUES;
    // A bar's length means something only from zero, which a logarithm has not; what is dwarfed is told by its number.
    let tall = |value: f64| (base - top) * value / highest.max(f64::MIN_POSITIVE);
    let group = (PANEL.0 - left - right) / cpus.len() as f64;
    let bar = group * FILLED / schedulers.len() as f64;
    let mut text = title(row.words, &heading(row));
    for (at, count) in cpus.iter().enumerate() {
        let cpus = cpus_in_words(*count);
        let x = left + group * at as f64;
        for (index, name) in schedulers.iter().enumerate() {
            let Some(value) = value(*count, name) else {
                continue;
            };
            // A bar of nothing would look like nothing measured.
            let tall = tall(value).max(1.0);
            let x = x + bar * index as f64;
            let written = number(value);
            let _ = writeln!(
                text,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"{}\">\
                 <title>{name}, {cpus}: {written} {}</title></rect>",
                base - tall,
                bar * 0.9,
                colour(index),
                row.unit()
            );
            // Text that stands upright is as wide as its font is high.
            let size = bar.min(SMALL);
            let _ = writeln!(
                text,
                "<text transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"end\" \
                 font-size=\"{size:.1}\">{written}</text>",
                x + bar * 0.45 + size * MIDDLE,
                base + 4.0
            );
        }
        let middle = x + group * FILLED / 2.0;
        let _ = writeln!(
            text,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{cpus}</text>",
            base + VALUES + 14.0
        );
        let Some(limit) = limit(results, &Place { time, cpus: *count }, row) else {
            continue;
        };
        let _ = writeln!(
            text,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"{SMALL}\" \
             fill=\"#666666\">goal {}</text>",
            base + VALUES + 25.0,
            number(limit)
        );
        if limit <= highest {
            let _ = writeln!(
                text,
                "<line x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#000000\"/>",
                x - 2.0,
                x + group * FILLED + 1.0,
                y = base - tall(limit)
            );
        }
    }
    Some(text)
}

/// The unit and the goal.
fn heading(row: &Row) -> String {
    let goal = format!("goal {}", row.goal.words());
    match row.unit() {
        "" => goal,
        unit => format!("{unit}, {goal}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::results;

    #[test]
    fn bars_are_as_high_as_their_values_say() {
        let all = results(&[
            ("eevdf", "wakeup", "p99_us", 1000.0),
            ("bpf", "wakeup", "p99_us", 250.0),
            ("bpf", "deadline", "missed_pct", 0.0),
        ]);
        let svg = bars(&all, "virtual");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        // 230 less the margins and the values is 110: the highest bar, and a quarter of it.
        assert!(svg.contains("height=\"110.0\" fill=\"#999999\">"), "{svg}");
        assert!(svg.contains("height=\"27.5\" fill=\"#0072b2\">"), "{svg}");
        assert!(svg.contains("<title>bpf, 2 CPUs: 0 %</title>"), "{svg}");
        assert_eq!(
            svg.matches("<g ").count(),
            2,
            "rows that were not measured have no panel"
        );
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }

    /// Of each upright value: where it is, the size of its font, and what it says.
    fn values(svg: &str) -> Vec<(f64, f64, &str)> {
        let upright = svg.lines().filter(|line| line.contains("rotate(-90)"));
        let between = |line: &str, before: &str, after: char| {
            let (_, rest) = line.split_once(before).unwrap();
            rest.split_once(after).unwrap().0.parse::<f64>().unwrap()
        };
        upright
            .map(|line| {
                let said = line.trim_end_matches("</text>").rsplit_once('>').unwrap().1;
                let x = between(line, "translate(", ' ');
                (x, between(line, "font-size=\"", '"'), said)
            })
            .collect()
    }

    #[test]
    fn every_bar_has_its_value_beside_it_without_a_mouse() {
        let svg = bars(
            &results(&[
                ("eevdf", "wakeup", "p99_us", 29_814.2),
                ("adaptive", "wakeup", "p50_us", 8.0),
                ("bpf", "wakeup", "p99_us", 16.04),
            ]),
            "virtual",
        );
        let found = values(&svg);
        let said: Vec<&str> = found.iter().map(|value| value.2).collect();
        assert_eq!(said, ["29814", "16.0"], "none of what was not measured");
        // Three bars in 0.85 of 276: the first and the third.
        assert!((found[1].0 - found[0].0 - 156.4).abs() < 0.11, "{found:?}");
        assert!(
            svg.contains(">us, goal &lt;= 2 x the median of eevdf, "),
            "{svg}"
        );
    }

    #[test]
    fn values_of_narrow_bars_do_not_overlap() {
        let sizes = [2, 40].map(|schedulers| {
            let names: Vec<String> = (10..10 + schedulers).map(|n| format!("s{n}")).collect();
            let measured: Vec<_> = names
                .iter()
                .map(|name| (name.as_str(), "launch", "p99_us", 12_345.0))
                .collect();
            let svg = bars(&results(&measured), "virtual");
            let found = values(&svg);
            assert_eq!(found.len(), schedulers);
            for pair in found.windows(2) {
                let apart = pair[1].0 - pair[0].0;
                assert!(pair[0].1 <= apart + 0.11, "{pair:?}");
            }
            found[0].1
        });
        assert_eq!(sizes, [9.0, 5.9]);
    }

    /// The heights in a picture at which a goal is marked.
    fn marks(svg: &str) -> Vec<&str> {
        let lines = svg.lines().filter(|line| line.starts_with("<line "));
        lines
            .map(|line| line.split("y1=\"").nth(1).unwrap())
            .map(|rest| rest.split_once('"').unwrap().0)
            .collect()
    }

    #[test]
    fn a_goal_is_marked_where_it_lies_within_the_panel() {
        let wakeup = |highest| {
            let median = ("eevdf", "wakeup", "p50_us", 60.0);
            let values = [median, ("bpf", "wakeup", "p99_us", highest)];
            bars(&results(&values), "virtual")
        };
        // Bars stand at 150 and are up to 110 high.
        let within = wakeup(480.0);
        assert_eq!(marks(&within), ["122.5"], "{within}");
        assert!(within.contains(">goal 120</text>"), "{within}");
        let above = wakeup(119.0);
        assert!(marks(&above).is_empty(), "{above}");
        assert!(above.contains(">goal 120</text>"), "{above}");

        let unknown = bars(&results(&[("bpf", "wakeup", "p99_us", 480.0)]), "virtual");
        assert!(marks(&unknown).is_empty(), "{unknown}");
        assert!(!unknown.contains(">goal "), "{unknown}");
    }

    #[test]
    fn a_goal_of_nothing_that_is_reached_lies_at_the_foot() {
        let none = [("bpf", "deadline", "missed_pct", 0.0)];
        let svg = bars(&results(&none), "virtual");
        assert_eq!(marks(&svg), ["150.0"], "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
