//! Plots as SVG: panels in rows below a legend of the schedulers. [`bars`] compares, [`curves`] shows what grows.

mod bars;
mod curves;

use std::fmt::Write as _;

use crate::conditions;
use crate::results::Results;
pub use bars::bars;
pub use curves::curves;

const COLUMNS: usize = 3;
const PANEL: (f64, f64) = (300.0, 230.0);
/// Around what a panel shows: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (12.0, 12.0, 40.0, 36.0);
const LEGEND: f64 = 52.0;
/// Size of the font of what is read for its details: values, ticks, the second line of a panel.
const SMALL: f64 = 9.0;
/// How far above its foot the middle of a digit is, in sizes of the font.
const MIDDLE: f64 = 0.36;
/// Distinguishable by people who see colours differently (Okabe and Ito).
const COLOURS: [&str; 8] = [
    "#999999", "#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#000000",
];

/// The whole picture of these panels. Below the legend stand these words, and under what all of it was measured.
fn frame(results: &Results, words: &str, panels: &[String]) -> String {
    let rows = panels.len().div_ceil(COLUMNS) as f64;
    let (width, height) = (PANEL.0 * COLUMNS as f64, LEGEND + rows * PANEL.1);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (index, name) in results.schedulers().iter().enumerate() {
        let x = 14.0 + 100.0 * index as f64;
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"12\" width=\"12\" height=\"12\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"22\">{name}</text>",
            colour(index),
            x + 17.0
        );
    }
    let mut about = vec![
        words.to_owned(),
        conditions::words(results.conditions.iter()),
    ];
    about.retain(|words| !words.is_empty());
    let _ = writeln!(
        text,
        "<text x=\"14\" y=\"42\" fill=\"#666666\">{}</text>",
        escaped(&about.join("; "))
    );
    for (index, panel) in panels.iter().enumerate() {
        let x = (index % COLUMNS) as f64 * PANEL.0;
        let y = LEGEND + (index / COLUMNS) as f64 * PANEL.1;
        let _ = writeln!(text, "<g transform=\"translate({x} {y})\">\n{panel}</g>");
    }
    text.push_str("</svg>\n");
    text
}

/// What stands above the content of a panel: what it is, and below that in which unit.
fn title(words: &str, unit: &str) -> String {
    let left = MARGIN.0;
    format!(
        "<text x=\"{left}\" y=\"16\" font-weight=\"bold\">{}</text>\
         <text x=\"{left}\" y=\"28\" font-size=\"{SMALL}\" fill=\"#666666\">{}</text>\n",
        escaped(words),
        escaped(unit)
    )
}

/// As it has to be written between tags.
fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;")
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::on;

    #[test]
    fn a_picture_says_what_was_measured_and_on_which_kernel() {
        let values = [("eevdf", "pipe", "p50_us", 17.0)];
        let svg = frame(&on("6.12.1", &values), "a < b", &[]);
        let line = ">a &lt; b; kernel 6.12.1, 1 s for each workload</text>";
        assert!(svg.contains(line), "{svg}");
        assert!(svg.contains(">eevdf</text>"), "{svg}");
        let unknown = frame(&Results::default(), "virtual time", &[]);
        assert!(unknown.contains(">virtual time</text>"), "{unknown}");
    }
}
