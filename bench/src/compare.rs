//! Two archives side by side: what got better, what got worse.

use std::fmt::Write as _;

use crate::results::{Place, Results};
use crate::suite::{ROWS, Row};
use crate::verdict::number;

/// A change by less than this part is none, unless somebody asks for another.
pub const THRESHOLD_PCT: f64 = 10.0;
/// Differences below these are none in any case: the resolution of what is measured, by unit.
const RESOLUTION: [(&str, f64); 5] = [
    ("us", 2.0),
    ("ms", 1.0),
    ("%", 0.05),
    ("MiB", 0.1),
    ("", 0.005),
];

/// What became of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// By more than the threshold.
    Worse,
    /// By more than the threshold.
    Better,
    /// Within the threshold.
    Same,
}

/// What became of a value of this row.
pub fn change(row: &Row, before: f64, after: f64, threshold_pct: f64) -> Change {
    let resolution = RESOLUTION.iter().find(|(unit, _)| *unit == row.unit());
    let least = resolution.map_or(0.0, |(_, least)| *least);
    let difference = after - before;
    if difference.abs() <= least || difference.abs() * 100.0 <= before.abs() * threshold_pct {
        return Change::Same;
    }
    if (difference < 0.0) == row.is_less_better() {
        Change::Better
    } else {
        Change::Worse
    }
}

/// What a comparison says.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// A line for each figure that changed, worse ones first, and one that counts.
    pub text: String,
    /// How many got worse.
    pub worse: usize,
}

/// Compares every row of every scheduler and place that both have; fails if there is none.
pub fn compare(a: &Results, b: &Results, threshold_pct: f64) -> Result<Comparison, String> {
    let mut found = Vec::new();
    for (time, cpus) in a.places() {
        let here = Place { time: &time, cpus };
        for scheduler in a.schedulers() {
            for row in &ROWS {
                let value =
                    |results: &Results| results.get(&here, &scheduler, row.workload, row.figure);
                let Some((before, after)) = value(a).zip(value(b)) else {
                    continue;
                };
                let change = change(row, before, after, threshold_pct);
                let line = format!(
                    "{scheduler}, {cpus} CPUs, {}: {} -> {} {}",
                    row.words,
                    number(before),
                    number(after),
                    row.unit()
                );
                found.push((change, line.trim_end().to_owned()));
            }
        }
    }
    if found.is_empty() {
        return Err("the two have nothing in common that could be compared".to_owned());
    }
    found.sort();
    Ok(tell(&found, threshold_pct))
}

fn tell(found: &[(Change, String)], threshold_pct: f64) -> Comparison {
    let count = |wanted| found.iter().filter(|(change, _)| *change == wanted).count();
    let mut text = String::new();
    for (change, line) in found {
        let word = match change {
            Change::Worse => "worse ",
            Change::Better => "better",
            Change::Same => continue,
        };
        let _ = writeln!(text, "{word}  {line}");
    }
    let _ = writeln!(
        text,
        "{} worse, {} better, {} the same within {threshold_pct} %",
        count(Change::Worse),
        count(Change::Better),
        count(Change::Same)
    );
    Comparison {
        text,
        worse: count(Change::Worse),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::results;

    #[test]
    fn what_got_worse_comes_first_and_is_counted() {
        let a = results(&[
            ("bpf", "wakeup", "p99_us", 100.0),
            ("bpf", "burst", "p99_us", 200.0),
            ("bpf", "ipc", "p99_us", 50.0),
            ("bpf", "fairness", "p10_of_mean", 0.99),
            ("eevdf", "mixed", "p99_us", 1.0),
        ]);
        let b = results(&[
            ("bpf", "wakeup", "p99_us", 80.0),
            ("bpf", "burst", "p99_us", 260.0),
            ("bpf", "ipc", "p99_us", 51.0),
            ("bpf", "fairness", "p10_of_mean", 0.8),
        ]);
        let comparison = compare(&a, &b, 10.0).unwrap();
        assert_eq!(
            comparison.text,
            "worse   bpf, 2 CPUs, burst p99: 200 -> 260 us\n\
             worse   bpf, 2 CPUs, equal hogs, p10 of mean: 0.99 -> 0.80\n\
             better  bpf, 2 CPUs, wake-up p99: 100 -> 80.0 us\n\
             2 worse, 1 better, 1 the same within 10 %\n"
        );
        assert_eq!(comparison.worse, 2);
        assert!(compare(&a, &results(&[]), 10.0).is_err());
    }

    #[test]
    fn what_cannot_be_resolved_is_no_change() {
        let row = ROWS.iter().find(|row| row.workload == "wakeup").unwrap();
        assert_eq!(change(row, 3.0, 4.9, 10.0), Change::Same);
        assert_eq!(change(row, 3.0, 5.1, 10.0), Change::Worse);
        assert_eq!(change(row, 0.0, 5.1, 10.0), Change::Worse);
    }
}
