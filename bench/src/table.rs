//! The table of a report: a place after the other, lost rows first.

use std::fmt::Write as _;

use crate::results::{EEVDF, Place, REAL, Results, VIRTUAL, cpus_in_words};
use crate::suite::{ROWS, Row};
use crate::verdict::{Outcome, Verdict, judge, number};
use crate::{conditions, interval};

/// The tables of all places.
pub fn text(results: &Results) -> String {
    let schedulers = results.schedulers();
    let mut text = String::new();
    for (time, cpus) in results.places() {
        let here = Place { time: &time, cpus };
        let conditions = conditions::words_of(&results.conditions, &here);
        let comma = if conditions.is_empty() { "" } else { ", " };
        let _ = writeln!(
            text,
            "{}, {time} time{comma}{conditions}",
            cpus_in_words(cpus)
        );
        text.push_str(&lay_out(&lines(results, &here, &schedulers)));
        text.push('\n');
    }
    text
}

/// The head and the rows of a place, lost ones first.
fn lines(results: &Results, here: &Place<'_>, schedulers: &[String]) -> Vec<Vec<String>> {
    let here_too = schedulers.iter().filter(|name| results.has(here, name));
    let schedulers: Vec<&String> = here_too.collect();
    let mut head = vec![String::new(), "unit".to_owned()];
    head.extend(schedulers.iter().map(|name| (*name).clone()));
    head.extend(["goal".to_owned(), String::new()]);

    let measured = ROWS.iter().filter(|row| is_measured(results, here, row));
    let mut judged: Vec<(Verdict, &Row)> = measured
        .map(|row| (judge(results, here, row), row))
        .collect();
    judged.sort_by_key(|(verdict, _)| verdict.outcome);

    let mut lines = vec![head];
    for (verdict, row) in judged {
        let mut line = vec![row.words.to_owned(), row.unit().to_owned()];
        let cells = schedulers.iter().map(|name| cell(results, here, name, row));
        line.extend(cells);
        line.push(verdict.goal.clone());
        line.push(outcome(&verdict));
        lines.push(line);
    }
    lines
}

fn is_measured(results: &Results, here: &Place<'_>, row: &Row) -> bool {
    let mut all = results.schedulers().into_iter();
    all.any(|name| results.get(here, &name, row.workload, row.figure).is_some())
}

/// The median of a scheduler; of the kernel's the median wake-up too, which is what goals refer to. After enough
/// rounds in turn the interval of its ratio to the kernel's follows.
fn cell(results: &Results, here: &Place<'_>, name: &str, row: &Row) -> String {
    let Some(value) = results.get(here, name, row.workload, row.figure) else {
        return "-".to_owned();
    };
    let mut text = number(value);
    if name == EEVDF
        && row.figure == "p99_us"
        && let Some(median) = results.get(here, name, row.workload, "p50_us")
    {
        let _ = write!(text, " (p50 {})", number(median));
    }
    if name != EEVDF
        && let Some(interval) = interval::of(results, here, name, row)
    {
        let _ = write!(text, " ({interval})");
    }
    text
}

fn outcome(verdict: &Verdict) -> String {
    match verdict.outcome {
        Outcome::Lost => format!("LOST by {}", verdict.lost_by.join(" and ")),
        Outcome::Unknown if verdict.missing.is_empty() => "unknown".to_owned(),
        Outcome::Unknown => format!("not measured: {}", verdict.missing.join(", ")),
        Outcome::Undecided => "undecided".to_owned(),
        Outcome::Won => "won".to_owned(),
        Outcome::Shown => String::new(),
    }
}

/// Columns as wide as their widest cell: words on the left, numbers on the right.
fn lay_out(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut one = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let is_number = column >= 2 && column + 2 < columns;
            if is_number {
                let _ = write!(one, "{cell:>width$}  ");
            } else {
                let _ = write!(one, "{cell:width$}  ");
            }
        }
        text.push_str(one.trim_end());
        text.push('\n');
    }
    text
}

/// All places of one kind of time in one Markdown table, for a README: a column for each number of CPUs, in which
/// the schedulers follow each other and modes that lost are bold.
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    for time in [VIRTUAL, REAL] {
        let places = results.places();
        let of_time = places.iter().filter(|place| place.0 == time);
        let cpus: Vec<usize> = of_time.map(|place| place.1).collect();
        if !cpus.is_empty() {
            text.push_str(&summary(results, time, &cpus));
            text.push('\n');
        }
    }
    text
}

fn summary(results: &Results, time: &str, cpus: &[usize]) -> String {
    let schedulers = results.schedulers();
    let place = |cpus: &usize| Place { time, cpus: *cpus };
    let mut rows: Vec<(Outcome, Vec<String>)> = Vec::new();
    for row in &ROWS {
        let here: Vec<Place<'_>> = cpus.iter().map(place).collect();
        if !here.iter().any(|here| is_measured(results, here, row)) {
            continue;
        }
        let verdicts: Vec<Verdict> = here.iter().map(|here| judge(results, here, row)).collect();
        let worst = verdicts.iter().map(|verdict| verdict.outcome).min();
        let unit = if row.unit().is_empty() { "" } else { ", " };
        let mut line = vec![
            format!("{}{unit}{}", row.words, row.unit()),
            row.goal.words(),
        ];
        let cells = here.iter().zip(&verdicts);
        line.extend(cells.map(|(here, verdict)| group(results, here, &schedulers, row, verdict)));
        rows.push((worst.unwrap_or(Outcome::Unknown), line));
    }
    rows.sort_by_key(|(outcome, _)| *outcome);
    let mut head = vec![schedulers.join(" / "), "goal".to_owned()];
    head.extend(cpus.iter().copied().map(cpus_in_words));
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for (_, line) in rows {
        let _ = writeln!(text, "| {} |", line.join(" | "));
    }
    text
}

/// The values of all schedulers at a place.
fn group(
    results: &Results,
    here: &Place<'_>,
    schedulers: &[String],
    row: &Row,
    verdict: &Verdict,
) -> String {
    let each = schedulers.iter().map(|name| {
        let value = results.get(here, name, row.workload, row.figure);
        let text = value.map_or("-".to_owned(), number);
        if verdict.lost_by.contains(&name.as_str()) {
            format!("**{text}**")
        } else {
            text
        }
    });
    each.collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{results, rounds};

    #[test]
    fn lost_rows_come_first_then_won_ones_then_those_without_a_goal() {
        let all = results(&[
            ("eevdf", "floor", "p99_us", 56.0),
            ("eevdf", "wakeup", "p50_us", 60.0),
            ("eevdf", "wakeup", "p99_us", 1602.0),
            ("eevdf", "deadline", "missed_pct", 0.0),
            ("bpf", "wakeup", "p99_us", 112.0),
            ("bpf", "deadline", "missed_pct", 12.5),
        ]);
        let lines: Vec<String> = text(&all)
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "2 CPUs, virtual time",
            "unit eevdf bpf goal",
            "60 Hz frames missed % 0 12.5 <= 0 LOST by bpf",
            "wake-up p99 us 1602 (p50 60.0) 112 <= 120 won",
            "wake-up on an idle machine p99 us 56.0 -",
            "",
        ];
        assert_eq!(lines, expected);
        let aligned: Vec<usize> = text(&all)
            .lines()
            .filter_map(|line| line.find("<= "))
            .collect();
        assert_eq!(aligned[0], aligned[1], "columns are aligned");
    }

    #[test]
    fn a_row_that_is_undecided_or_was_not_measured_says_so_and_has_no_bold_value() {
        let mut all = results(&[]);
        for (scheduler, last) in [("eevdf", 100.0), ("bpf", 200.0)] {
            let mut values = [Some(100.0); 6];
            values[5] = Some(last);
            let build = (scheduler, "build", "makespan_ms");
            all.values.extend(rounds("real", build, &values).values);
        }
        let missed = ("bpf", "deadline", "missed_pct");
        all.values
            .extend(rounds("real", missed, &[Some(0.0)]).values);
        assert!(
            text(&all).contains("100 (x1.000, 1.000 to 2.000)  <= 100  undecided\n"),
            "{}",
            text(&all)
        );
        assert!(!markdown(&all).contains("**"), "{}", markdown(&all));

        let probe = ("adaptive", "floor", "p99_us");
        all.values
            .extend(rounds("real", probe, &[Some(7.0)]).values);
        assert_eq!(
            text(&all).matches("  not measured: adaptive\n").count(),
            2,
            "{}",
            text(&all)
        );
    }

    #[test]
    fn the_summary_has_a_column_for_each_number_of_cpus_and_bold_losses() {
        let mut all = results(&[
            ("eevdf", "deadline", "missed_pct", 0.0),
            ("bpf", "deadline", "missed_pct", 12.5),
            ("bpf", "fairness", "p10_of_mean", 1.0),
        ]);
        let mut wide = results(&[("bpf", "deadline", "missed_pct", 0.0)]);
        wide.values[0].label.cpus = 8;
        all.values.extend(wide.values);
        assert_eq!(
            markdown(&all),
            "| eevdf / bpf | goal | 2 CPUs | 8 CPUs |\n|---|---|---|---|\n\
             | 60 Hz frames missed, % | <= 0 | 0 / **12.5** | - / 0 |\n\
             | equal hogs, p10 of mean | >= 0.99 | - / 1.00 | - / - |\n\n"
        );
    }
}
