//! A panel for each row, a group of bars for each number of CPUs, a bar for each scheduler.

use std::fmt::Write as _;

use super::{MARGIN, PANEL, colour, frame, title};
use crate::results::{Place, Results};
use crate::suite::{Goal, ROWS, Row};
use crate::verdict::number;

/// All rows that have a goal, of one kind of time.
pub fn bars(results: &Results, time: &str) -> String {
    let schedulers = results.schedulers();
    let places = results.places();
    let cpus: Vec<usize> = places.iter().filter(|p| p.0 == time).map(|p| p.1).collect();
    let panels: Vec<String> = ROWS
        .iter()
        .filter(|row| row.goal != Goal::Shown)
        .filter_map(|row| panel(results, time, &cpus, &schedulers, row))
        .collect();
    frame(&schedulers, &panels)
}

/// One row; `None` if it was not measured.
fn panel(
    results: &Results,
    time: &str,
    cpus: &[usize],
    schedulers: &[String],
    row: &Row,
) -> Option<String> {
    let value = |cpus: usize, name: &str| {
        results.get(&Place { time, cpus }, name, row.workload, row.figure)
    };
    let all = cpus
        .iter()
        .flat_map(|n| schedulers.iter().map(|s| value(*n, s)));
    let highest = all.flatten().reduce(f64::max)?;
    let (left, right, top, bottom) = MARGIN;
    let height = PANEL.1 - top - bottom;
    let base = top + height;
    let group = (PANEL.0 - left - right) / cpus.len() as f64;
    let bar = group * 0.85 / schedulers.len() as f64;
    let mut text = title(row.words, highest, row.unit());
    for (at, count) in cpus.iter().enumerate() {
        let x = left + group * at as f64;
        for (index, name) in schedulers.iter().enumerate() {
            let Some(value) = value(*count, name) else {
                continue;
            };
            // A bar of nothing would look like nothing measured.
            let tall = if highest > 0.0 {
                (height * value / highest).max(1.0)
            } else {
                1.0
            };
            let _ = writeln!(
                text,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"{}\">\
                 <title>{name}, {count} CPUs: {} {}</title></rect>",
                x + bar * index as f64,
                base - tall,
                bar * 0.9,
                colour(index),
                number(value),
                row.unit()
            );
        }
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count} CPUs</text>",
            x + group * 0.425,
            base + 16.0
        );
    }
    Some(text)
}

#[cfg(test)]
mod tests {
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
        // 190 less the margins is 128: the highest bar, and a quarter of it.
        assert!(svg.contains("height=\"128.0\" fill=\"#999999\">"), "{svg}");
        assert!(svg.contains("height=\"32.0\" fill=\"#0072b2\">"), "{svg}");
        assert!(svg.contains("<title>bpf, 2 CPUs: 0 %</title>"), "{svg}");
        assert_eq!(
            svg.matches("<g ").count(),
            2,
            "rows that were not measured have no panel"
        );
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }
}
