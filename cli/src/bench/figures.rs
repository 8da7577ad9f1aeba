//! What the rounds say: medians, and how much better one kind of round is than the other.

use std::io::Write;

use pandemonium_bench::idle::{Plan, Round};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::text::{Style, grouped, latency, pad, plural};

/// One round and what it was measured with.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Whether the idle selector was on; `None` if nobody knows or cares.
    pub selector: Option<bool>,
    /// The round trips.
    pub round: Round,
    /// Mean run time of the program that selects, ns.
    pub selection_ns: Option<f64>,
}

/// A number that every round has.
struct Figure {
    name: &'static str,
    key: &'static str,
    of: fn(&Measured) -> Option<f64>,
    words: fn(f64) -> String,
    is_more_better: bool,
}

const FIGURES: [Figure; 5] = [
    Figure {
        name: "mean",
        key: "mean_ns",
        of: |m| Some(m.round.mean_ns),
        words: time,
        is_more_better: false,
    },
    Figure {
        name: "p50",
        key: "p50_ns",
        of: |m| Some(m.round.latency.p50 as f64),
        words: time,
        is_more_better: false,
    },
    Figure {
        name: "p99",
        key: "p99_ns",
        of: |m| Some(m.round.latency.p99 as f64),
        words: time,
        is_more_better: false,
    },
    Figure {
        name: "ops/s",
        key: "ops_per_sec",
        of: |m| Some(m.round.per_second()),
        words: |value| grouped(value.round() as u64),
        is_more_better: true,
    },
    Figure {
        name: "selection",
        key: "selection_ns",
        of: |m| m.selection_ns,
        words: time,
        is_more_better: false,
    },
];

fn time(ns: f64) -> String {
    latency(ns.round() as u64)
}

/// How many times better ON is than the OFF after it, over all pairs of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Gain {
    median: f64,
    lowest: f64,
    highest: f64,
}

/// One figure of both kinds of round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Compared {
    on: f64,
    off: f64,
    gain: Gain,
}

/// Everything there is to tell.
#[derive(Debug)]
pub struct Answer {
    /// What was measured.
    pub plan: Plan,
    /// The scheduler in charge, in the kernel's words.
    pub scheduler: String,
    /// Complete rounds, in order.
    pub rounds: Vec<Measured>,
    /// Why there is no cost of a selection, if that was wanted.
    pub note: Option<String>,
}

impl Answer {
    /// For people.
    pub fn print(&self, style: Style, out: &mut dyn Write) -> std::io::Result<()> {
        let trips = self.rounds.iter().map(|m| m.round.latency.count).max();
        writeln!(out, "{}{}", pad("scheduler", 14), self.scheduler)?;
        writeln!(
            out,
            "{}{} in each round, through {} beside {}",
            pad("round trips", 14),
            grouped(trips.unwrap_or(0) as u64),
            plural(self.plan.threads as u64, "thread"),
            plural(self.plan.background as u64, "busy one"),
        )?;
        writeln!(out)?;
        if self.pairs().next().is_some() {
            self.print_comparison(style, out)?;
        } else {
            for figure in &FIGURES {
                if let Some(value) = median(self.rounds.iter().filter_map(figure.of)) {
                    let words = (figure.words)(value);
                    writeln!(out, "{}{words:>12}", pad(figure.name, 14))?;
                }
            }
        }
        if let Some(note) = &self.note {
            writeln!(out, "{}", style.dim(note))?;
        }
        Ok(())
    }

    fn print_comparison(&self, style: Style, out: &mut dyn Write) -> std::io::Result<()> {
        let head = format!("{}{:>12}{:>12}  gain", pad("", 14), "ON", "OFF");
        writeln!(out, "{}", style.bold(&head))?;
        for figure in &FIGURES {
            let Some(compared) = self.compared(figure) else {
                continue;
            };
            let Compared { on, off, gain } = compared;
            writeln!(
                out,
                "{}{:>12}{:>12}  {:.2} ({:.2} to {:.2})",
                pad(figure.name, 14),
                (figure.words)(on),
                (figure.words)(off),
                gain.median,
                gain.lowest,
                gain.highest,
            )?;
        }
        writeln!(out)?;
        let pairs = self.pairs().count();
        let explanation = format!(
            "Medians of {pairs} rounds each. Gain is how many times better ON is than the OFF after it: \
             median (lowest to highest)."
        );
        writeln!(out, "{}", style.dim(&explanation))
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let Plan {
            iterations,
            threads,
            background,
            warmup,
            seed,
        } = self.plan;
        let rounds: Vec<Value> = self.rounds.iter().map(round_json).collect();
        let comparison: Map<String, Value> = FIGURES
            .iter()
            .filter_map(|figure| Some((figure.key.to_owned(), json!(self.compared(figure)?))))
            .collect();
        json!({
            "plan": {
                "iterations": iterations,
                "threads": threads,
                "background": background,
                "warmup": warmup,
                "seed": seed,
            },
            "scheduler": self.scheduler,
            "rounds": rounds,
            "comparison": (!comparison.is_empty()).then_some(comparison),
            "note": self.note,
        })
    }

    /// ON and the OFF after it.
    fn pairs(&self) -> impl Iterator<Item = (&Measured, &Measured)> {
        self.rounds.chunks_exact(2).filter_map(|pair| match pair {
            [on, off] if on.selector == Some(true) && off.selector == Some(false) => {
                Some((on, off))
            }
            _ => None,
        })
    }

    /// `None` without a pair that has this figure.
    fn compared(&self, figure: &Figure) -> Option<Compared> {
        let both = |(on, off)| Some(((figure.of)(on)?, (figure.of)(off)?));
        let values: Vec<(f64, f64)> = self.pairs().filter_map(both).collect();
        let gains = values.iter().map(|&(on, off)| match figure.is_more_better {
            true => on / off,
            false => off / on,
        });
        let gains: Vec<f64> = gains.filter(|gain| gain.is_finite()).collect();
        Some(Compared {
            on: median(values.iter().map(|(on, _)| *on))?,
            off: median(values.iter().map(|(_, off)| *off))?,
            gain: Gain {
                median: median(gains.iter().copied())?,
                lowest: gains.iter().copied().reduce(f64::min)?,
                highest: gains.iter().copied().reduce(f64::max)?,
            },
        })
    }
}

fn round_json(m: &Measured) -> Value {
    let mut value = json!({
        "idle_selector": m.selector,
        "round_trips": m.round.latency.count,
        "max_ns": m.round.latency.max,
    });
    for figure in &FIGURES {
        value[figure.key] = json!((figure.of)(m));
    }
    value
}

/// The middle value, or the mean of the two in the middle.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use pandemonium_bench::stats::Summary;

    use super::*;

    fn measured(selector: Option<bool>, ns: u64, selection_ns: Option<f64>) -> Measured {
        Measured {
            selector,
            round: Round {
                mean_ns: ns as f64,
                latency: Summary {
                    count: 1_000,
                    p50: ns - 1_000,
                    p99: ns * 2,
                    max: ns * 3,
                },
                elapsed_ns: ns * 1_000,
            },
            selection_ns,
        }
    }

    fn answer(rounds: Vec<Measured>) -> Answer {
        Answer {
            plan: Plan {
                iterations: 1_000,
                threads: 8,
                background: 4,
                warmup: 10,
                seed: 1,
            },
            scheduler: "pandemonium".into(),
            rounds,
            note: None,
        }
    }

    fn compared(selection_ns: Option<f64>) -> Answer {
        let pair = |on, off| {
            [
                measured(Some(true), on, selection_ns),
                measured(Some(false), off, selection_ns.map(|ns| ns * 3.0)),
            ]
        };
        answer(
            [
                pair(10_000, 30_000),
                pair(20_000, 50_000),
                pair(10_000, 40_000),
            ]
            .concat(),
        )
    }

    fn text(answer: &Answer) -> String {
        let mut out = Vec::new();
        answer
            .print(Style::default(), &mut out)
            .expect("writing to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0].into_iter()), Some(2.5));
        assert_eq!(median(std::iter::empty()), None);
    }

    #[test]
    fn the_table_shows_both_kinds_and_the_gain_with_its_spread() {
        let text = text(&compared(Some(200.0)));
        assert_eq!(
            text,
            "scheduler     pandemonium\n\
             round trips   1 000 in each round, through 8 threads beside 4 busy ones\n\
             \n\
             \x20                       ON         OFF  gain\n\
             mean               10.0 us     40.0 us  3.00 (2.50 to 4.00)\n\
             p50                9.00 us     39.0 us  3.22 (2.58 to 4.33)\n\
             p99                20.0 us     80.0 us  3.00 (2.50 to 4.00)\n\
             ops/s              100 000      25 000  3.00 (2.50 to 4.00)\n\
             selection           200 ns      600 ns  3.00 (3.00 to 3.00)\n\
             \n\
             Medians of 3 rounds each. Gain is how many times better ON is than the OFF after it: \
             median (lowest to highest).\n"
        );
    }

    #[test]
    fn what_was_not_counted_is_left_out_and_said() {
        let mut answer = compared(None);
        answer.note = Some("the cost of one selection is left out".into());
        let text = text(&answer);
        assert!(!text.contains("selection  "), "{text}");
        assert!(text.ends_with("left out\n"), "{text}");
        let value = answer.to_json();
        assert_eq!(value["comparison"].get("selection_ns"), None);
        assert_eq!(value["rounds"][0]["selection_ns"], Value::Null);
        assert_eq!(value["note"], "the cost of one selection is left out");
    }

    #[test]
    fn json_has_every_round_and_the_comparison() {
        let value = compared(Some(200.0)).to_json();
        assert_eq!(value["rounds"].as_array().map(Vec::len), Some(6));
        assert_eq!(value["rounds"][1]["idle_selector"], false);
        assert_eq!(value["rounds"][1]["round_trips"], 1_000);
        assert_eq!(value["rounds"][1]["p99_ns"], 60_000.0);
        assert_eq!(
            value["comparison"]["ops_per_sec"],
            json!({ "on": 100_000.0, "off": 25_000.0,
                    "gain": { "median": 3.0, "lowest": 2.5, "highest": 4.0 } })
        );
        assert_eq!(value["plan"]["threads"], 8);
    }

    #[test]
    fn a_single_round_is_compared_with_nothing() {
        let answer = answer(vec![measured(None, 10_000, None)]);
        let text = text(&answer);
        assert!(text.contains("mean               10.0 us\n"), "{text}");
        assert!(!text.contains("gain"), "{text}");
        let value = answer.to_json();
        assert_eq!(value["comparison"], Value::Null);
        assert_eq!(value["rounds"][0]["idle_selector"], Value::Null);
    }

    #[test]
    fn a_round_without_its_partner_does_not_count() {
        let mut answer = compared(None);
        answer.rounds.truncate(3);
        assert_eq!(answer.pairs().count(), 1);
    }

    #[test]
    fn nothing_measured_is_nothing_compared() {
        let mut broken = compared(None);
        for m in &mut broken.rounds {
            m.round.mean_ns = 0.0;
        }
        assert_eq!(broken.compared(&FIGURES[0]), None);
    }
}
