//! A panel for each thing that grows, a line for each scheduler. A flat line is a cost that does not grow.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{MARGIN, PANEL, colour, frame, title};
use crate::results::{Place, Results};
use crate::suite::growth::{NAMES, RUNNABLE};
use crate::verdict::number;

/// Only there is a cost what a path has of instructions.
const TIME: &str = "virtual";

/// One line: the steps at which something was measured, and what was, us.
type Line = Vec<(usize, f64)>;

/// How the cost of a wake-up grows with runnable tasks, CPUs and known programs, in virtual time; `None` if that was
/// not measured.
pub fn curves(results: &Results) -> Option<String> {
    let schedulers = results.schedulers();
    let by = |words: &str, line: &dyn Fn(&str) -> Line| {
        let lines: Vec<Line> = schedulers.iter().map(|name| line(name)).collect();
        panel(words, &schedulers, &lines)
    };
    let places = results.places();
    let places: Vec<usize> = places.iter().filter(|p| p.0 == TIME).map(|p| p.1).collect();
    let beside = places.iter().filter_map(|cpus| {
        by(
            &format!("wake-up p50 by runnable tasks, {cpus} CPUs"),
            &|name| figures(results, *cpus, name, "runnable", &RUNNABLE),
        )
    });
    let seen = places.iter().filter_map(|cpus| {
        by(
            &format!("pipe p50 by programs seen, {cpus} CPUs"),
            &|name| figures(results, *cpus, name, "names", &NAMES),
        )
    });
    let started = by("start of a thread p50 by CPUs", &|name| {
        medians(results, &places, name, "started")
    });
    let mut panels: Vec<String> = beside.chain(seen).chain(started).collect();
    if panels.is_empty() {
        // A round trip through a pipe belongs to every measurement.
        return None;
    }
    panels.extend(by("pipe p50 by CPUs", &|name| {
        medians(results, &places, name, "pipe")
    }));
    Some(frame(&schedulers, &panels))
}

/// The figures of a workload that goes through its steps by itself.
fn figures(
    results: &Results,
    cpus: usize,
    name: &str,
    workload: &str,
    steps: &[(usize, &str)],
) -> Line {
    let here = Place { time: TIME, cpus };
    let points = steps.iter().filter_map(|(step, figure)| {
        let value = results.get(&here, name, workload, figure)?;
        Some((*step, value))
    });
    points.collect()
}

/// The median of a workload for each number of CPUs.
fn medians(results: &Results, places: &[usize], name: &str, workload: &str) -> Line {
    let points = places.iter().filter_map(|cpus| {
        let here = Place {
            time: TIME,
            cpus: *cpus,
        };
        let value = results.get(&here, name, workload, "p50_us")?;
        Some((*cpus, value))
    });
    points.collect()
}

/// One panel; `None` if nothing of it was measured.
fn panel(words: &str, schedulers: &[String], lines: &[Line]) -> Option<String> {
    let highest = lines
        .iter()
        .flatten()
        .map(|point| point.1)
        .reduce(f64::max)?;
    // No line need have all of them: a scheduler may have failed at some.
    let steps: BTreeSet<usize> = lines.iter().flatten().map(|point| point.0).collect();
    let (left, right, top, bottom) = MARGIN;
    let (width, height) = (PANEL.0 - left - right, PANEL.1 - top - bottom);
    let x = |step: usize| {
        let at = steps.range(..step).count();
        left + width * (at as f64 + 0.5) / steps.len() as f64
    };
    let y = |value: f64| top + height * (1.0 - value / highest.max(f64::MIN_POSITIVE));
    let mut text = title(words, highest, "us");
    let _ = writeln!(
        text,
        "<line x1=\"{left}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"#cccccc\"/>",
        y(0.0),
        left + width
    );
    let measured = schedulers.iter().zip(lines).enumerate();
    for (index, (name, line)) in measured.filter(|(_, (_, line))| !line.is_empty()) {
        let points: Vec<String> = line
            .iter()
            .map(|(step, value)| format!("{:.1},{:.1}", x(*step), y(*value)))
            .collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
            points.join(" "),
            colour(index)
        );
        for (step, value) in line {
            let _ = writeln!(
                text,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{}\"><title>{name}, {step}: {} us</title></circle>",
                x(*step),
                y(*value),
                colour(index),
                number(*value)
            );
        }
    }
    for step in &steps {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{step}</text>",
            x(*step),
            top + height + 16.0
        );
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::results;

    #[test]
    fn a_cost_that_does_not_grow_is_a_flat_line_and_one_that_doubles_begins_at_half_the_height() {
        let mut values: Vec<(&str, &str, &str, f64)> = Vec::new();
        for (index, (_, figure)) in RUNNABLE.iter().enumerate() {
            values.push(("adaptive", "runnable", figure, 8.0));
            values.push(("eevdf", "runnable", figure, 4.0 + 4.0 * (index / 4) as f64));
        }
        values.extend(
            NAMES
                .iter()
                .map(|(_, figure)| ("adaptive", "names", *figure, 5.0)),
        );
        let svg = curves(&results(&values)).unwrap();
        // The content is 276 wide from 12 and 128 high from 34, in five steps.
        let flat = "points=\"39.6,34.0 94.8,34.0 150.0,34.0 205.2,34.0 260.4,34.0\"";
        let rising = "points=\"39.6,98.0 94.8,98.0 150.0,98.0 205.2,98.0 260.4,34.0\"";
        assert!(svg.contains(flat) && svg.contains(rising), "{svg}");
        assert!(
            svg.contains("<title>eevdf, 10000: 8.00 us</title>"),
            "{svg}"
        );
        assert_eq!(
            svg.matches("<g ").count(),
            2,
            "no panel of what was not measured"
        );
    }

    #[test]
    fn lines_of_different_steps_share_an_axis_that_has_all_of_them() {
        let [ten, hundred, thousand, ..] = RUNNABLE;
        let svg = curves(&results(&[
            ("adaptive", "runnable", ten.1, 8.0),
            ("adaptive", "runnable", thousand.1, 8.0),
            ("bpf", "runnable", hundred.1, 8.0),
            ("bpf", "runnable", thousand.1, 4.0),
        ]))
        .unwrap();
        // Three steps in 276 from 12.
        let both = svg.contains("points=\"58.0,34.0 242.0,34.0\"")
            && svg.contains("points=\"150.0,34.0 242.0,98.0\"");
        assert!(both, "{svg}");
        for (x, step) in [(58, 10), (150, 100), (242, 1000)] {
            let label =
                format!("<text x=\"{x}.0\" y=\"178.0\" text-anchor=\"middle\">{step}</text>");
            assert!(svg.contains(&label), "{svg}");
        }
    }

    #[test]
    fn what_it_costs_to_find_a_cpu_has_a_panel_beside_that_of_the_pipe() {
        let values = [
            ("eevdf", "started", "p50_us", 30.0),
            ("eevdf", "pipe", "p50_us", 17.0),
        ];
        let svg = curves(&results(&values)).unwrap();
        assert_eq!(svg.matches("<g ").count(), 2);
        assert!(svg.contains("start of a thread p50 by CPUs"), "{svg}");
    }

    #[test]
    fn there_is_no_picture_of_an_ordinary_measurement() {
        assert_eq!(curves(&results(&[("eevdf", "pipe", "p50_us", 17.0)])), None);
    }
}
