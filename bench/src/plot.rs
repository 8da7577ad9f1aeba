//! Plots as SVG: a panel for each row, a group of bars for each number of CPUs, a bar for each scheduler.

use std::fmt::Write as _;

use crate::results::{Place, Results};
use crate::suite::{Goal, ROWS, Row};
use crate::verdict::number;

const COLUMNS: usize = 3;
const PANEL: (f64, f64) = (300.0, 190.0);
/// Around the bars of a panel: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (12.0, 12.0, 34.0, 28.0);
const LEGEND: f64 = 36.0;
/// Distinguishable by people who see colours differently (Okabe and Ito).
const COLOURS: [&str; 8] = [
    "#999999", "#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#000000",
];

/// All rows that have a goal, of one kind of time.
pub fn svg(results: &Results, time: &str) -> String {
    let schedulers = results.schedulers();
    let places = results.places();
    let cpus: Vec<usize> = places.iter().filter(|p| p.0 == time).map(|p| p.1).collect();
    let panels: Vec<String> = ROWS
        .iter()
        .filter(|row| row.goal != Goal::Shown)
        .filter_map(|row| panel(results, time, &cpus, &schedulers, row))
        .collect();
    let rows = panels.len().div_ceil(COLUMNS) as f64;
    let (width, height) = (PANEL.0 * COLUMNS as f64, LEGEND + rows * PANEL.1);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (index, name) in schedulers.iter().enumerate() {
        let x = 14.0 + 100.0 * index as f64;
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"12\" width=\"12\" height=\"12\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"22\">{name}</text>",
            colour(index),
            x + 17.0
        );
    }
    for (index, panel) in panels.iter().enumerate() {
        let x = (index % COLUMNS) as f64 * PANEL.0;
        let y = LEGEND + (index / COLUMNS) as f64 * PANEL.1;
        let _ = writeln!(text, "<g transform=\"translate({x} {y})\">\n{panel}</g>");
    }
    text.push_str("</svg>\n");
    text
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
    let mut text = format!(
        "<text x=\"{left}\" y=\"16\" font-weight=\"bold\">{}</text>\
         <text x=\"{left}\" y=\"29\" fill=\"#666666\">highest {} {}</text>\n",
        row.words,
        number(highest),
        row.unit()
    );
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

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
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
        let svg = svg(&all, "virtual");
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
