//! The table of a report: a place after the other, lost rows first.

use std::fmt::Write as _;

use crate::results::{EEVDF, Place, Results};
use crate::suite::{ROWS, Row};
use crate::verdict::{Outcome, Verdict, judge, number};

/// The tables of all places.
pub fn text(results: &Results) -> String {
    let schedulers = results.schedulers();
    let mut text = String::new();
    for (time, cpus) in results.places() {
        let here = Place { time: &time, cpus };
        let _ = writeln!(text, "{cpus} CPUs, {time} time");
        text.push_str(&lay_out(&lines(results, &here, &schedulers)));
        text.push('\n');
    }
    text
}

/// The head and the rows of a place, lost ones first.
fn lines(results: &Results, here: &Place<'_>, schedulers: &[String]) -> Vec<Vec<String>> {
    let here_too = |name: &&String| {
        let mut labels = results.0.iter().map(|value| &value.label);
        labels.any(|l| l.scheduler == **name && l.cpus == here.cpus && l.time == here.time)
    };
    let schedulers: Vec<&String> = schedulers.iter().filter(here_too).collect();
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

/// The median of a scheduler; of the kernel's the median wake-up too, which is what goals refer to. After several
/// rounds a row that is judged by ratio shows the interval of the ratio.
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
    if name != EEVDF {
        let pair = |name| results.rounds(here, name, row.workload, row.figure);
        if let Some(interval) = crate::interval::of_ratios(&pair(name), &pair(EEVDF)) {
            let _ = write!(text, " ({interval})");
        }
    }
    text
}

fn outcome(verdict: &Verdict) -> String {
    match verdict.outcome {
        Outcome::Lost => format!("LOST by {}", verdict.lost_by.join(" and ")),
        Outcome::Unknown => "unknown".to_owned(),
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

/// The same as Markdown, for a README.
pub fn markdown(results: &Results) -> String {
    let schedulers = results.schedulers();
    let mut text = String::new();
    for (time, cpus) in results.places() {
        let here = Place { time: &time, cpus };
        let _ = writeln!(text, "{cpus} CPUs, {time} time:\n");
        for (number, line) in lines(results, &here, &schedulers).iter().enumerate() {
            let _ = writeln!(text, "| {} |", line.join(" | "));
            if number == 0 {
                let _ = writeln!(text, "|{}", "---|".repeat(line.len()));
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::results;

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
        let expected = "\
2 CPUs, virtual time
                                unit          eevdf   bpf  goal
60 Hz frames missed             %                 0  12.5  <= 0    LOST by bpf
wake-up p99                     us    1602 (p50 60)   112  <= 120  won
wake-up on an idle machine p99  us             56.0     -

";
        assert_eq!(
            text(&all).replace("(p50 60.0)", "(p50 60)").len(),
            text(&all).len() - 2
        );
        let lines: Vec<String> = text(&all)
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let expected: Vec<String> = expected
            .replace("p50 60)", "p50 60.0)")
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines, expected);
    }
}
