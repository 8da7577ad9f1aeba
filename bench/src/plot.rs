//! Plots as SVG: panels in rows below a legend of the schedulers. [`bars`] compares, [`curves`] shows what grows.

mod bars;
mod curves;

use std::fmt::Write as _;

use crate::verdict::number;
pub use bars::bars;
pub use curves::curves;

const COLUMNS: usize = 3;
const PANEL: (f64, f64) = (300.0, 190.0);
/// Around what a panel shows: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (12.0, 12.0, 34.0, 28.0);
const LEGEND: f64 = 36.0;
/// Distinguishable by people who see colours differently (Okabe and Ito).
const COLOURS: [&str; 8] = [
    "#999999", "#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#000000",
];

/// The whole picture of these panels.
fn frame(schedulers: &[String], panels: &[String]) -> String {
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

/// What stands above the content of a panel.
fn title(words: &str, highest: f64, unit: &str) -> String {
    let left = MARGIN.0;
    format!(
        "<text x=\"{left}\" y=\"16\" font-weight=\"bold\">{words}</text>\
         <text x=\"{left}\" y=\"29\" fill=\"#666666\">highest {} {unit}</text>\n",
        number(highest)
    )
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}
