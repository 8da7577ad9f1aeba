//! Rows held against their goals.

use crate::interval;
use crate::results::{EEVDF, OURS, Place, Results};
use crate::suite::{Goal, Row};

/// What came of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// At least one mode missed the goal.
    Lost,
    /// A mode, or something that the goal speaks of, was not measured.
    Unknown,
    /// What was measured in pairs of rounds may be on either side of the goal.
    Undecided,
    /// Every mode reached the goal.
    Won,
    /// There is no goal.
    Shown,
}

/// A row at one place.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What came of it.
    pub outcome: Outcome,
    /// The modes that missed the goal.
    pub lost_by: Vec<&'static str>,
    /// The modes that were measured at this place, but not in this row.
    pub missing: Vec<&'static str>,
    /// The goal in words, with its number where it has one.
    pub goal: String,
}

/// Holds a row at a place against its goal.
pub fn judge(results: &Results, here: &Place<'_>, row: &Row) -> Verdict {
    let bounds = Bounds::of(results, here, row);
    let (mut worst, mut lost_by, mut missing) = (None, Vec::new(), Vec::new());
    for mode in OURS.into_iter().filter(|mode| results.has(here, mode)) {
        let value = results.get(here, mode, row.workload, row.figure);
        let outcome = match (value, &bounds) {
            (Some(value), Some(bounds)) => by_interval(results, here, mode, row)
                .unwrap_or_else(|| Outcome::of(bounds.hold(value))),
            _ => Outcome::Unknown,
        };
        if outcome == Outcome::Lost {
            lost_by.push(mode);
        }
        if value.is_none() {
            missing.push(mode);
        }
        worst = Some(worst.map_or(outcome, |worst: Outcome| worst.min(outcome)));
    }
    let outcome = if row.goal == Goal::Shown {
        Outcome::Shown
    } else {
        worst.unwrap_or(Outcome::Unknown)
    };
    Verdict {
        outcome,
        lost_by,
        missing,
        goal: words(row, bounds.as_ref()),
    }
}

impl Outcome {
    fn of(holds: bool) -> Outcome {
        if holds { Outcome::Won } else { Outcome::Lost }
    }
}

/// What enough pairs say of a goal that is a ratio. The whole interval has to be on one side of it: with only one end
/// to hold, noise would win.
fn by_interval(results: &Results, here: &Place<'_>, mode: &str, row: &Row) -> Option<Outcome> {
    let Goal::TimesEevdf(most) = row.goal else {
        return None;
    };
    let ratio = interval::of(results, here, mode, row)?;
    if ratio.low <= most && most < ratio.high {
        return Some(Outcome::Undecided);
    }
    Some(Outcome::of(ratio.high <= most))
}

/// The numbers that a goal comes to.
struct Bounds {
    most: Option<f64>,
    least: Option<f64>,
    /// The best of those that have to be beaten.
    below: Option<f64>,
}

impl Bounds {
    /// `None` if there is no goal, or if what it refers to was not measured.
    fn of(results: &Results, here: &Place<'_>, row: &Row) -> Option<Bounds> {
        let eevdf = |figure| results.get(here, EEVDF, row.workload, figure);
        let peers = results
            .schedulers()
            .into_iter()
            .filter(|name| name != EEVDF && !OURS.contains(&name.as_str()));
        let peers = peers.filter_map(|name| results.get(here, &name, row.workload, row.figure));
        let best_peer = peers.reduce(f64::min);
        let mut bounds = Bounds {
            most: None,
            least: None,
            below: None,
        };
        match row.goal {
            Goal::MediansOfEevdf(times) => {
                bounds.most = Some(eevdf("p50_us")? * times);
                bounds.below = best_peer;
            }
            Goal::BelowAll => {
                let eevdf = eevdf(row.figure)?;
                bounds.below = Some(best_peer.map_or(eevdf, |peer| peer.min(eevdf)));
            }
            Goal::TimesEevdf(times) => bounds.most = Some(eevdf(row.figure)? * times),
            Goal::AtMost(most) => bounds.most = Some(most),
            Goal::AtLeast(least) => bounds.least = Some(least),
            Goal::Shown => return None,
        }
        Some(bounds)
    }

    fn hold(&self, value: f64) -> bool {
        self.most.is_none_or(|most| value <= most)
            && self.least.is_none_or(|least| value >= least)
            && self.below.is_none_or(|below| value < below)
    }
}

/// On which value it depends at a place whether the goal of a row is reached, in the unit of the row; `None` if there
/// is no goal, or if what it refers to was not measured.
pub fn limit(results: &Results, here: &Place<'_>, row: &Row) -> Option<f64> {
    let bounds = Bounds::of(results, here, row)?;
    let upper = bounds.most.into_iter().chain(bounds.below);
    bounds.least.or(upper.reduce(f64::min))
}

fn words(row: &Row, bounds: Option<&Bounds>) -> String {
    let Some(bounds) = bounds else {
        return if row.goal == Goal::Shown {
            String::new()
        } else {
            "needs eevdf".to_owned()
        };
    };
    let mut parts = Vec::new();
    parts.extend(bounds.most.map(|most| format!("<= {}", number(most))));
    parts.extend(bounds.least.map(|least| format!(">= {}", number(least))));
    parts.extend(bounds.below.map(|below| format!("< {}", number(below))));
    parts.join(", ")
}

/// A value with the digits that matter.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::tests::{results, rounds};
    use crate::suite::ROWS;

    const HERE: Place<'static> = Place {
        time: "virtual",
        cpus: 2,
    };

    fn verdict(values: &[(&str, &str, &str, f64)], words: &str) -> Verdict {
        let row = ROWS.iter().find(|row| row.words == words).unwrap();
        judge(&results(values), &HERE, row)
    }

    #[test]
    fn a_wake_up_is_held_against_the_median_and_every_peer() {
        let measured = |bpf: f64, peer: f64| {
            verdict(
                &[
                    ("eevdf", "wakeup", "p50_us", 60.0),
                    ("eevdf", "wakeup", "p99_us", 1600.0),
                    ("adaptive", "wakeup", "p99_us", 100.0),
                    ("bpf", "wakeup", "p99_us", bpf),
                    ("bpfland", "wakeup", "p99_us", peer),
                ],
                "wake-up p99",
            )
        };
        let won = measured(120.0, 1900.0);
        assert_eq!(
            (won.outcome, won.goal.as_str()),
            (Outcome::Won, "<= 120, < 1900")
        );
        let slow = measured(121.0, 1900.0);
        assert_eq!((slow.outcome, slow.lost_by), (Outcome::Lost, vec!["bpf"]));
        let beaten = measured(110.0, 100.0);
        assert_eq!(
            beaten.lost_by,
            ["adaptive", "bpf"],
            "as good as a peer is not below it"
        );
    }

    #[test]
    fn the_limit_is_what_is_the_hardest_to_reach() {
        let limit_of = |words: &str, values: &[(&str, &str, &str, f64)]| {
            let row = ROWS.iter().find(|row| row.words == words).unwrap();
            limit(&results(values), &HERE, row)
        };
        let median = ("eevdf", "wakeup", "p50_us", 60.0);
        let peer = |value| ("bpfland", "wakeup", "p99_us", value);
        let wakeup = |values: &[_]| limit_of("wake-up p99", values);
        assert_eq!(wakeup(&[median]), Some(120.0));
        assert_eq!(wakeup(&[median, peer(119.0)]), Some(119.0));
        assert_eq!(wakeup(&[median, peer(121.0)]), Some(120.0));
        assert_eq!(wakeup(&[peer(119.0)]), None);
        assert_eq!(
            limit_of("share among 4N sleepers, of fair", &[median]),
            Some(0.9)
        );
        assert_eq!(limit_of("bound sleepers p99", &[median]), None);
    }

    #[test]
    fn nothing_is_won_without_what_the_goal_refers_to() {
        let alone = [("bpf", "wakeup", "p99_us", 1.0)];
        assert_eq!(verdict(&alone, "wake-up p99").outcome, Outcome::Unknown);
        let other = [("eevdf", "wakeup", "p50_us", 1.0)];
        assert_eq!(verdict(&other, "wake-up p99").outcome, Outcome::Unknown);
    }

    #[test]
    fn a_launch_has_to_be_below_everybody() {
        let values = [
            ("eevdf", "launch", "p99_us", 6000.0),
            ("cosmos", "launch", "p99_us", 4000.0),
            ("bpf", "launch", "p99_us", 4000.0),
        ];
        assert_eq!(verdict(&values, "launch p99").outcome, Outcome::Lost);
        assert_eq!(verdict(&values[..1], "launch p99").goal, "< 6000");
    }

    #[test]
    fn shares_have_a_lower_bound_and_waits_an_upper_one() {
        let share = |value| {
            verdict(
                &[("bpf", "starvation", "share", value)],
                "share among 4N sleepers, of fair",
            )
            .outcome
        };
        assert_eq!((share(0.9), share(0.89)), (Outcome::Won, Outcome::Lost));
        let frames = |value| {
            verdict(
                &[("bpf", "deadline", "missed_pct", value)],
                "60 Hz frames missed",
            )
            .outcome
        };
        assert_eq!((frames(0.0), frames(0.4)), (Outcome::Won, Outcome::Lost));
    }

    /// The build in bpf mode, in rounds in turn with the kernel's scheduler, which always takes 100 ms.
    fn makespan(time: &str, ours: &[f64]) -> Outcome {
        let row = ROWS.iter().find(|row| row.workload == "build").unwrap();
        let mut all = Results::default();
        for (scheduler, values) in [("eevdf", vec![100.0; ours.len()]), ("bpf", ours.to_vec())] {
            let values: Vec<Option<f64>> = values.into_iter().map(Some).collect();
            all.values
                .extend(rounds(time, (scheduler, "build", "makespan_ms"), &values).values);
        }
        judge(&all, &Place { time, cpus: 2 }, row).outcome
    }

    const NOISY: [f64; 7] = [99.0, 101.0, 102.0, 101.0, 103.0, 102.0, 101.0];

    #[test]
    fn a_makespan_is_won_or_lost_only_if_the_whole_interval_is_on_one_side() {
        assert_eq!(makespan("real", &NOISY), Outcome::Undecided);
        let wider = NOISY.map(|value| 100.0 + 5.0 * (value - 100.0));
        assert_eq!(
            makespan("real", &wider),
            Outcome::Undecided,
            "more noise wins nothing"
        );
        let slower = NOISY.map(|value| value + 2.0);
        assert_eq!(makespan("real", &slower), Outcome::Lost);
        let faster = NOISY.map(|value| value - 3.0);
        assert_eq!(
            makespan("real", &faster),
            Outcome::Won,
            "as fast is fast enough"
        );
    }

    #[test]
    fn medians_decide_where_rounds_are_no_pairs_or_too_few() {
        assert_eq!(makespan("virtual", &NOISY), Outcome::Lost);
        assert_eq!(makespan("real", &NOISY[..5]), Outcome::Lost);
    }

    #[test]
    fn a_row_is_not_won_for_a_mode_that_was_measured_in_others_only() {
        let values = [
            ("adaptive", "wakeup", "p99_us", 1.0),
            ("bpf", "deadline", "missed_pct", 0.0),
        ];
        let open = verdict(&values, "60 Hz frames missed");
        assert_eq!(
            (open.outcome, open.missing),
            (Outcome::Unknown, vec!["adaptive"])
        );
        let alone = verdict(&values[1..], "60 Hz frames missed");
        assert_eq!((alone.outcome, alone.missing), (Outcome::Won, vec![]));
    }

    #[test]
    fn numbers_keep_three_digits() {
        let all = [1234.56, 12.345, 0.989, 0.0].map(number);
        assert_eq!(all, ["1235", "12.3", "0.99", "0"]);
    }
}
