//! Two archives side by side: what got better, what got worse.

use std::fmt::Write as _;

use crate::conditions::Conditions;
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
    /// A line for each figure that changed or is gone, worse ones first, and those that count.
    pub text: String,
    /// How many got worse, or are in the older one only: a row that failed must not pass as unchanged.
    pub worse: usize,
}

/// The rows of two archives.
#[derive(Default)]
struct Found {
    both: Vec<(Change, String)>,
    only_a: Vec<String>,
    only_b: usize,
}

/// Compares every row of every scheduler and place; fails if the two have none in common.
pub fn compare(a: &Results, b: &Results, threshold_pct: f64) -> Result<Comparison, String> {
    let all = Results {
        values: a.values.iter().chain(&b.values).cloned().collect(),
        ..Results::default()
    };
    let places = all.places();
    let is_one_kind = places.iter().all(|(time, _)| *time == places[0].0);
    let mut found = Found::default();
    for (time, cpus) in &places {
        let here = Place { time, cpus: *cpus };
        // Where there are two kinds of time, nothing else tells them apart.
        let kind = if is_one_kind {
            String::new()
        } else {
            format!(", {time} time")
        };
        for scheduler in all.schedulers() {
            for row in &ROWS {
                let value =
                    |results: &Results| results.get(&here, &scheduler, row.workload, row.figure);
                let words = || format!("{scheduler}, {cpus} CPUs{kind}, {}", row.words);
                found.add(row, words, (value(a), value(b)), threshold_pct);
            }
        }
    }
    if found.both.is_empty() {
        return Err("the two have nothing in common that could be compared".to_owned());
    }
    found.both.sort();
    let mut comparison = found.tell(threshold_pct);
    comparison.text.insert_str(0, &differing_conditions(a, b));
    Ok(comparison)
}

/// What else than the scheduler may have made a difference, a line each; empty if nothing, or if one of them does not say.
fn differing_conditions(a: &Results, b: &Results) -> String {
    if a.conditions == b.conditions || a.conditions.is_empty() || b.conditions.is_empty() {
        return String::new();
    }
    let line = |name: &str, results: &Results| {
        let each: Vec<String> = results.conditions.iter().map(Conditions::words).collect();
        format!("{name} is of {}\n", each.join(" and "))
    };
    line("A", a) + &line("B", b)
}

impl Found {
    fn add(
        &mut self,
        row: &Row,
        words: impl Fn() -> String,
        values: (Option<f64>, Option<f64>),
        threshold_pct: f64,
    ) {
        match values {
            (Some(before), Some(after)) => {
                let (from, to) = (number(before), number(after));
                let line = format!("{}: {from} -> {to} {}", words(), row.unit());
                self.both.push((
                    change(row, before, after, threshold_pct),
                    line.trim_end().to_owned(),
                ));
            }
            (Some(_), None) => self.only_a.push(words()),
            (None, Some(_)) => self.only_b += 1,
            (None, None) => {}
        }
    }

    fn tell(&self, threshold_pct: f64) -> Comparison {
        let count = |wanted| {
            self.both
                .iter()
                .filter(|(change, _)| *change == wanted)
                .count()
        };
        let [worse, better, same] = [Change::Worse, Change::Better, Change::Same].map(count);
        let mut text = String::new();
        for (change, line) in &self.both {
            let word = match change {
                Change::Worse => "worse ",
                Change::Better => "better",
                Change::Same => continue,
            };
            let _ = writeln!(text, "{word}  {line}");
        }
        for line in &self.only_a {
            let _ = writeln!(text, "A only  {line}");
        }
        let _ = writeln!(
            text,
            "{worse} worse, {better} better, {same} the same within {threshold_pct} %"
        );
        for (count, name) in [(self.only_a.len(), "A"), (self.only_b, "B")] {
            let is = if count == 1 { "is" } else { "are" };
            if count > 0 {
                let _ = writeln!(text, "{count} {is} in {name} only");
            }
        }
        Comparison {
            text,
            worse: worse + self.only_a.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::{on, results, rounds};

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
             A only  eevdf, 2 CPUs, mixed p99\n\
             2 worse, 1 better, 1 the same within 10 %\n\
             1 is in A only\n"
        );
        assert_eq!(comparison.worse, 3, "what is gone is not fine");
        assert!(compare(&a, &results(&[]), 10.0).is_err());
    }

    #[test]
    fn another_kernel_comes_first_since_it_may_be_what_made_the_difference() {
        let of = |kernel: &str| on(kernel, &[("bpf", "wakeup", "p99_us", 100.0)]);
        let said = compare(&of("6.12.107"), &of("7.2.12"), 10.0).unwrap().text;
        assert_eq!(
            said,
            "A is of kernel 6.12.107, 1 s for each workload\n\
             B is of kernel 7.2.12, 1 s for each workload\n\
             0 worse, 0 better, 1 the same within 10 %\n"
        );
        let old = results(&[("bpf", "wakeup", "p99_us", 100.0)]);
        for (a, b) in [(&of("7.2.12"), &of("7.2.12")), (&old, &of("7.2.12"))] {
            let said = compare(a, b, 10.0).unwrap().text;
            assert_eq!(said, "0 worse, 0 better, 1 the same within 10 %\n");
        }
    }

    #[test]
    fn what_only_the_newer_one_has_is_counted_and_fine() {
        let a = results(&[("bpf", "wakeup", "p99_us", 100.0)]);
        let mut b = results(&[("bpf", "wakeup", "p99_us", 100.0)]);
        let mut more = results(&[
            ("bpf", "wakeup", "p99_us", 50.0),
            ("cosmos", "wakeup", "p99_us", 50.0),
        ]);
        for value in &mut more.values {
            value.label.cpus = 8;
        }
        b.values.extend(more.values);
        let comparison = compare(&a, &b, 10.0).unwrap();
        assert_eq!(
            comparison.text,
            "0 worse, 0 better, 1 the same within 10 %\n2 are in B only\n"
        );
        assert_eq!(comparison.worse, 0);
    }

    #[test]
    fn lines_say_the_kind_of_time_where_there_are_two() {
        let measured = |value: f64| {
            let mut all = results(&[("bpf", "wakeup", "p99_us", value)]);
            let real = rounds("real", ("bpf", "wakeup", "p99_us"), &[Some(2.0 * value)]);
            all.values.extend(real.values);
            all
        };
        let comparison = compare(&measured(100.0), &measured(200.0), 10.0).unwrap();
        assert_eq!(
            comparison.text,
            "worse   bpf, 2 CPUs, real time, wake-up p99: 200 -> 400 us\n\
             worse   bpf, 2 CPUs, virtual time, wake-up p99: 100 -> 200 us\n\
             2 worse, 0 better, 0 the same within 10 %\n"
        );
    }

    #[test]
    fn what_cannot_be_resolved_is_no_change() {
        let row = ROWS.iter().find(|row| row.workload == "wakeup").unwrap();
        assert_eq!(change(row, 3.0, 4.9, 10.0), Change::Same);
        assert_eq!(change(row, 3.0, 5.1, 10.0), Change::Worse);
        assert_eq!(change(row, 0.0, 5.1, 10.0), Change::Worse);
    }
}
