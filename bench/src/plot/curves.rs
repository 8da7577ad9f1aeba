//! A panel for each thing that grows, a line for each scheduler. A flat line is a cost that does not grow, and one that
//! doubles rises as high from 8 us as from 8 ms.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{MARGIN, MIDDLE, PANEL, SMALL, colour, frame, title};
use crate::results::{Place, Results, cpus_in_words};
use crate::suite::growth::{NAMES, RUNNABLE};
use crate::verdict::number;

/// Only there is a cost what a path has of instructions.
const TIME: &str = "virtual";
/// Room for the ticks of values: seven digits.
const TICKS: f64 = 42.0;

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
            &format!("wake-up p50 by runnable tasks, {}", cpus_in_words(*cpus)),
            &|name| figures(results, *cpus, name, "runnable", &RUNNABLE),
        )
    });
    let seen = places.iter().filter_map(|cpus| {
        by(
            &format!("pipe p50 by programs seen, {}", cpus_in_words(*cpus)),
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
    let words = format!("{TIME} time; logarithmic scale");
    Some(frame(results, &words, &panels))
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

/// Whole decades, each as high as any other.
struct Axis {
    /// The lowest and the highest power of ten.
    low: i32,
    high: i32,
}

impl Axis {
    /// Around these values, and at least one decade. What is not above 0 has no place on it.
    fn around(values: impl Iterator<Item = f64>) -> Axis {
        let powers: Vec<f64> = values.filter(|v| *v > 0.0).map(f64::log10).collect();
        let each = || powers.iter().copied();
        let low = each().reduce(f64::min).unwrap_or(0.0).floor() as i32;
        let high = each().reduce(f64::max).unwrap_or(0.0).ceil() as i32;
        Axis {
            low,
            high: high.max(low + 1),
        }
    }

    /// Where in a panel a value is; the bottom, if it is below the axis.
    fn y(&self, value: f64) -> f64 {
        let low = f64::from(self.low);
        // Of 0 the logarithm is infinite, and of less it is no number, of which this takes the other.
        let above = value.log10().max(low) - low;
        let (_, _, top, bottom) = MARGIN;
        let base = PANEL.1 - bottom;
        base - (base - top) * above / f64::from(self.high - self.low)
    }

    /// A line with its value for each power of ten, from one x to another.
    fn ticks(&self, left: f64, right: f64) -> String {
        let mut text = String::new();
        for power in self.low..=self.high {
            let tick = 10_f64.powi(power);
            let y = self.y(tick);
            let _ = writeln!(
                text,
                "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"{SMALL}\" \
                 fill=\"#666666\">{tick:.*}</text>",
                left - 4.0,
                y + SMALL * MIDDLE,
                power.min(0).unsigned_abs() as usize,
            );
        }
        text
    }
}

/// One panel; `None` if nothing of it was measured.
fn panel(words: &str, schedulers: &[String], lines: &[Line]) -> Option<String> {
    if lines.iter().all(Vec::is_empty) {
        return None;
    }
    // No line need have all of them: a scheduler may have failed at some.
    let steps: BTreeSet<usize> = lines.iter().flatten().map(|point| point.0).collect();
    let left = MARGIN.0 + TICKS;
    let width = PANEL.0 - left - MARGIN.1;
    let x = |step: usize| {
        let at = steps.range(..step).count();
        left + width * (at as f64 + 0.5) / steps.len() as f64
    };
    let axis = Axis::around(lines.iter().flatten().map(|point| point.1));
    let mut text = title(words, "us");
    text.push_str(&axis.ticks(left, left + width));
    let measured = schedulers.iter().zip(lines).enumerate();
    for (index, (name, line)) in measured.filter(|(_, (_, line))| !line.is_empty()) {
        let points: Vec<String> = line
            .iter()
            .map(|(step, value)| format!("{:.1},{:.1}", x(*step), axis.y(*value)))
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
                axis.y(*value),
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
            PANEL.1 - MARGIN.3 + 16.0
        );
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::results;

    /// The points of each line.
    fn lines(svg: &str) -> Vec<Vec<(f64, f64)>> {
        let point = |point: &str| {
            let (x, y) = point.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        svg.lines()
            .filter_map(|line| line.strip_prefix("<polyline points=\""))
            .map(|rest| rest.split_once('"').unwrap().0)
            .map(|points| points.split(' ').map(point).collect())
            .collect()
    }

    /// The values at which there is a tick, and where.
    fn ticks(svg: &str) -> Vec<(&str, f64)> {
        svg.lines()
            .filter(|line| line.starts_with("<line "))
            .map(|line| {
                let said = line.trim_end_matches("</text>").rsplit_once('>').unwrap().1;
                let (_, rest) = line.split_once("y1=\"").unwrap();
                (said, rest.split_once('"').unwrap().0.parse().unwrap())
            })
            .collect()
    }

    /// The picture of wake-ups beside more and more runnable tasks, of these many us.
    fn picture(measured: &[(&str, &[f64])]) -> String {
        let mut values: Vec<(&str, &str, &str, f64)> = Vec::new();
        for (scheduler, line) in measured {
            let steps = RUNNABLE.iter().zip(*line);
            values.extend(steps.map(|((_, figure), v)| (*scheduler, "runnable", *figure, *v)));
        }
        curves(&results(&values)).unwrap()
    }

    #[test]
    fn a_cost_that_does_not_grow_is_a_flat_line_and_one_that_doubles_rises_as_high_anywhere() {
        let svg = picture(&[
            ("eevdf", &[17_000.0, 34_000.0]),
            ("adaptive", &[8.0, 8.0]),
            ("bpf", &[8.0, 16.0]),
        ]);
        let rises: Vec<f64> = lines(&svg).iter().map(|l| l[0].1 - l[1].1).collect();
        // Five decades in 154, of each of which a doubling is 0.301.
        for (rise, expected) in rises.iter().zip([9.27, 0.0, 9.27]) {
            assert!((rise - expected).abs() < 0.11, "{rises:?}");
        }
        assert!(svg.contains("<title>eevdf, 100: 34000 us</title>"), "{svg}");
        assert_eq!(
            svg.matches("<g ").count(),
            1,
            "no panel of what was not measured"
        );
    }

    #[test]
    fn every_power_of_ten_around_what_was_measured_has_a_tick() {
        let said = |measured: &[f64]| -> Vec<String> {
            let svg = picture(&[("bpf", measured)]);
            ticks(&svg).iter().map(|t| t.0.to_owned()).collect()
        };
        assert_eq!(said(&[8.0, 200.0]), ["1", "10", "100", "1000"]);
        assert_eq!(said(&[10.0, 10.0]), ["10", "100"], "at least one decade");
        assert_eq!(said(&[0.02, 1.0]), ["0.01", "0.1", "1"]);

        let svg = picture(&[("bpf", &[8.0, 200.0, 100.0])]);
        let y: Vec<f64> = ticks(&svg).iter().map(|tick| tick.1).collect();
        assert_eq!((y[0], y[3]), (194.0, 40.0), "from the foot to the top");
        for pair in y.windows(2) {
            assert!((pair[0] - pair[1] - 154.0 / 3.0).abs() < 0.11, "{y:?}");
        }
        assert_eq!(lines(&svg)[0][2].1, y[2], "100 us are at their tick");
        assert!(svg.contains(">us</text>"), "{svg}");
    }

    #[test]
    fn what_is_not_above_zero_lies_at_the_foot_and_leaves_the_axis_alone() {
        let svg = picture(&[("bpf", &[50.0, 0.0, -3.0])]);
        let y: Vec<f64> = lines(&svg)[0].iter().map(|point| point.1).collect();
        assert_eq!(ticks(&svg), [("10", 194.0), ("100", 40.0)]);
        assert_eq!(y[1..], [194.0, 194.0]);
        assert!(y[0] < 194.0, "{y:?}");
        let nothing = picture(&[("bpf", &[0.0, 0.0])]);
        assert_eq!(ticks(&nothing), [("1", 194.0), ("10", 40.0)]);
        assert_eq!(lines(&nothing)[0][0].1, 194.0);
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
        let x: Vec<Vec<f64>> = lines(&svg)
            .iter()
            .map(|line| line.iter().map(|point| point.0).collect())
            .collect();
        // Three steps in 234 from 54.
        assert_eq!(x, [[93.0, 249.0], [171.0, 249.0]]);
        for (x, step) in [(93, 10), (171, 100), (249, 1000)] {
            let label =
                format!("<text x=\"{x}.0\" y=\"210.0\" text-anchor=\"middle\">{step}</text>");
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
