//! Two archives side by side: what got better, what got worse.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::conditions;
use crate::results::{OURS, Place, Results, cpus_in_words};
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

/// A figure that both archives have, or the older one only.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What became of it; `None` if the newer one does not have it.
    pub change: Option<Change>,
    /// Scheduler or mode.
    pub scheduler: String,
    /// Kind of time and number of CPUs.
    pub place: (String, usize),
    /// The row of the report.
    pub row: &'static Row,
    /// In the unit of the row.
    pub before: f64,
    /// In the unit of the row.
    pub after: Option<f64>,
}

impl Compared {
    fn is_ours(&self) -> bool {
        OURS.contains(&self.scheduler.as_str())
    }

    /// Whether it counts against the newer archive: it got worse or is gone, in a mode of ours. What others have is no
    /// merit or fault of ours, and moves with every instruction.
    fn is_worse(&self) -> bool {
        self.is_ours() && matches!(self.change, None | Some(Change::Worse))
    }
}

/// What a comparison says.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Every figure of the older archive: ours first, and of these what got worse.
    pub figures: Vec<Compared>,
    /// How many only the newer one has.
    pub only_b: usize,
    /// What else than the scheduler may have made a difference, a line each.
    conditions: String,
    threshold_pct: f64,
}

/// Compares every row of every scheduler and place; fails if the two have none in common.
pub fn compare(a: &Results, b: &Results, threshold_pct: f64) -> Result<Comparison, String> {
    let all = Results {
        values: a.values.iter().chain(&b.values).cloned().collect(),
        ..Results::default()
    };
    let places = all.places();
    let mut comparison = Comparison {
        conditions: differing_conditions(&places, a, b),
        threshold_pct,
        ..Comparison::default()
    };
    for (time, cpus) in &places {
        let here = Place { time, cpus: *cpus };
        for scheduler in all.schedulers() {
            for row in &ROWS {
                let [before, after] =
                    [a, b].map(|results| results.get(&here, &scheduler, row.workload, row.figure));
                let Some(before) = before else {
                    comparison.only_b += usize::from(after.is_some());
                    continue;
                };
                comparison.figures.push(Compared {
                    change: after.map(|after| change(row, before, after, threshold_pct)),
                    scheduler: scheduler.clone(),
                    place: (time.clone(), *cpus),
                    row,
                    before,
                    after,
                });
            }
        }
    }
    if comparison
        .figures
        .iter()
        .all(|figure| figure.change.is_none())
    {
        return Err("the two have nothing in common that could be compared".to_owned());
    }
    comparison
        .figures
        .sort_by_key(|figure| (!figure.is_ours(), figure.change.is_none(), figure.change));
    Ok(comparison)
}

/// What else than the scheduler may have made a difference at a place that both have, a line each; empty if nothing, or if
/// one of them does not say.
fn differing_conditions(places: &[(String, usize)], a: &Results, b: &Results) -> String {
    let mut lines = BTreeSet::new();
    for (time, cpus) in places {
        let here = Place { time, cpus: *cpus };
        let [of_a, of_b] = [a, b].map(|results| conditions::words_of(&results.conditions, &here));
        if of_a != of_b && !of_a.is_empty() && !of_b.is_empty() {
            lines.extend([format!("A is of {of_a}\n"), format!("B is of {of_b}\n")]);
        }
    }
    lines.into_iter().collect()
}

impl Comparison {
    /// How many of ours got worse, or are in the older archive only: a row that failed must not pass as unchanged.
    pub fn worse(&self) -> usize {
        self.figures
            .iter()
            .filter(|figure| figure.is_worse())
            .count()
    }

    /// A line for each figure that changed or is gone, then how many did.
    pub fn text(&self) -> String {
        let mut text = self.conditions.clone();
        let mut places = self.figures.iter().map(|figure| &figure.place.0);
        // Where there are two kinds of time, nothing else tells them apart.
        let first = places.next();
        let is_one_kind = places.all(|time| Some(time) == first);
        for figure in &self.figures {
            let word = match figure.change {
                Some(Change::Worse) => "worse ",
                Some(Change::Better) => "better",
                Some(Change::Same) => continue,
                None => "A only",
            };
            let (time, cpus) = &figure.place;
            let kind = if is_one_kind {
                String::new()
            } else {
                format!(", {time} time")
            };
            let _ = write!(
                text,
                "{word}  {}, {}{kind}, {}",
                figure.scheduler,
                cpus_in_words(*cpus),
                figure.row.words
            );
            if let Some(after) = figure.after {
                let (from, to) = (number(figure.before), number(after));
                let line = format!(": {from} -> {to} {}", figure.row.unit());
                text.push_str(line.trim_end());
            }
            text.push('\n');
        }
        let (ours, others): (Vec<&Compared>, Vec<&Compared>) =
            self.figures.iter().partition(|figure| figure.is_ours());
        for (figures, whose) in [(ours, "ours"), (others, "others, which decide nothing")] {
            if !figures.is_empty() {
                text.push_str(&self.counts(&figures, whose));
            }
        }
        if self.only_b > 0 {
            let _ = writeln!(text, "{} in B only", self.only_b);
        }
        text
    }

    fn counts(&self, figures: &[&Compared], whose: &str) -> String {
        let count = |wanted| {
            let found = figures.iter().filter(|figure| figure.change == wanted);
            found.count()
        };
        let [worse, better, same, gone] = [
            Some(Change::Worse),
            Some(Change::Better),
            Some(Change::Same),
            None,
        ]
        .map(count);
        let gone = match gone {
            0 => String::new(),
            gone => format!(", {gone} in A only"),
        };
        format!(
            "{whose}: {worse} worse, {better} better, {same} the same within {} %{gone}\n",
            self.threshold_pct
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::conditions::Conditions;
    use crate::results::tests::{on, results, rounds};

    #[test]
    fn what_got_worse_comes_first_and_is_counted() {
        let a = results(&[
            ("bpf", "wakeup", "p99_us", 100.0),
            ("bpf", "burst", "p99_us", 200.0),
            ("bpf", "ipc", "p99_us", 50.0),
            ("bpf", "fairness", "p10_of_mean", 0.99),
            ("bpf", "longrun", "p99_us", 9.0),
            ("eevdf", "mixed", "p99_us", 1.0),
        ]);
        let b = results(&[
            ("eevdf", "mixed", "p99_us", 9.0),
            ("bpf", "wakeup", "p99_us", 80.0),
            ("bpf", "burst", "p99_us", 260.0),
            ("bpf", "ipc", "p99_us", 51.0),
            ("bpf", "fairness", "p10_of_mean", 0.8),
        ]);
        let comparison = compare(&a, &b, 10.0).unwrap();
        assert_eq!(
            comparison.text(),
            "worse   bpf, 2 CPUs, burst p99: 200 -> 260 us\n\
             worse   bpf, 2 CPUs, equal hogs, p10 of mean: 0.99 -> 0.80\n\
             better  bpf, 2 CPUs, wake-up p99: 100 -> 80.0 us\n\
             A only  bpf, 2 CPUs, longrun p99\n\
             worse   eevdf, 2 CPUs, mixed p99: 1.00 -> 9.00 us\n\
             ours: 2 worse, 1 better, 1 the same within 10 %, 1 in A only\n\
             others, which decide nothing: 1 worse, 0 better, 0 the same within 10 %\n"
        );
        assert_eq!(
            comparison.worse(),
            3,
            "what is gone is not fine, and what others do is not ours"
        );
        assert!(compare(&a, &results(&[]), 10.0).is_err());
    }

    #[test]
    fn another_kernel_comes_first_since_it_may_be_what_made_the_difference() {
        let of = |kernel: &str| on(kernel, &[("bpf", "wakeup", "p99_us", 100.0)]);
        let said = compare(&of("6.12.107"), &of("7.2.12"), 10.0)
            .unwrap()
            .text();
        assert_eq!(
            said,
            "A is of kernel 6.12.107, 1 s for each workload\n\
             B is of kernel 7.2.12, 1 s for each workload\n\
             ours: 0 worse, 0 better, 1 the same within 10 %\n"
        );
        let old = results(&[("bpf", "wakeup", "p99_us", 100.0)]);
        for (a, b) in [(&of("7.2.12"), &of("7.2.12")), (&old, &of("7.2.12"))] {
            let said = compare(a, b, 10.0).unwrap().text();
            assert_eq!(said, "ours: 0 worse, 0 better, 1 the same within 10 %\n");
        }
    }

    #[test]
    fn what_was_measured_elsewhere_is_no_condition_of_what_is_compared() {
        let mut a = on("6.12.107", &[("bpf", "wakeup", "p99_us", 100.0)]);
        let b = a.clone();
        let mut elsewhere = on("7.2.12", &[("bpf", "wakeup", "p99_us", 100.0)]);
        elsewhere.values[0].label.cpus = 8;
        elsewhere.conditions = elsewhere
            .conditions
            .into_iter()
            .map(|conditions| Conditions {
                cpus: 8,
                ..conditions
            })
            .collect();
        a.merge(elsewhere).unwrap();
        let said = compare(&b, &a, 10.0).unwrap().text();
        assert!(!said.contains("kernel"), "{said}");
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
            comparison.text(),
            "ours: 0 worse, 0 better, 1 the same within 10 %\n2 in B only\n"
        );
        assert_eq!(comparison.worse(), 0);
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
            comparison.text(),
            "worse   bpf, 2 CPUs, virtual time, wake-up p99: 100 -> 200 us\n\
             worse   bpf, 2 CPUs, real time, wake-up p99: 200 -> 400 us\n\
             ours: 2 worse, 0 better, 0 the same within 10 %\n"
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
