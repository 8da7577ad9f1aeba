//! What was measured, as values with labels: read from and written as Prometheus text, which is the format of the
//! archive, of comparisons and of the line between a virtual machine and its host.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::conditions::{self, Conditions};
use crate::suite::Figures;

/// The name of the metric.
const METRIC: &str = "pandemonium_bench";

/// The scheduler that others are held against.
pub const EEVDF: &str = "eevdf";
/// The modes of ours.
pub const OURS: [&str; 2] = ["adaptive", "bpf"];
/// The kind of time in which an instruction takes a nanosecond, whatever the host does.
pub const VIRTUAL: &str = "virtual";
/// The kind of time in which rounds of all schedulers are measured in turn, on one machine.
pub const REAL: &str = "real";

/// Under what something was measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// Number of CPUs.
    pub cpus: usize,
    /// `virtual`, or `real` where time is that of the host.
    pub time: String,
    /// Scheduler or mode.
    pub scheduler: String,
    /// Which of several rounds, from 1.
    pub round: u32,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Under what.
    pub label: Label,
    /// The workload.
    pub workload: String,
    /// The figure of it.
    pub figure: String,
    /// In the unit of the figure.
    pub value: f64,
}

/// Many values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The values.
    pub values: Vec<Value>,
    /// Under what they were measured; archives of older builds do not say.
    pub conditions: BTreeSet<Conditions>,
}

impl Results {
    /// Adds the figures of a workload.
    pub fn add(&mut self, label: &Label, workload: &str, figures: &Figures) {
        self.values
            .extend(figures.iter().map(|(figure, value)| Value {
                label: label.clone(),
                workload: workload.to_owned(),
                figure: (*figure).to_owned(),
                value: *value,
            }));
    }

    /// Takes in what others hold. What is there already is passed over; one that says something else is refused, since
    /// nobody knows which of the two is meant.
    pub fn merge(&mut self, more: Results) -> Result<(), String> {
        let mut all = BTreeMap::new();
        let mut kept = Vec::new();
        for value in self.values.iter().chain(&more.values) {
            match all.entry(value.name()) {
                Entry::Vacant(free) => {
                    free.insert(value.value);
                    kept.push(value.clone());
                }
                Entry::Occupied(other) if *other.get() == value.value => {}
                Entry::Occupied(other) => {
                    return Err(format!(
                        "there are two values, {} and {}, of {}",
                        other.get(),
                        value.value,
                        value.words()
                    ));
                }
            }
        }
        self.values = kept;
        self.conditions.extend(more.conditions);
        Ok(())
    }

    /// All rounds of one figure, in order.
    fn rounds<'a>(
        &'a self,
        of: &'a Place<'_>,
        scheduler: &'a str,
        workload: &'a str,
        figure: &'a str,
    ) -> impl Iterator<Item = (u32, f64)> + 'a {
        let found = self.values.iter().filter(move |value| {
            of.holds(&value.label)
                && value.label.scheduler == scheduler
                && value.workload == workload
                && value.figure == figure
        });
        found.map(|value| (value.label.round, value.value))
    }

    /// What two schedulers have of one figure, in rounds of the same number: one that only one of them has is no pair.
    pub fn pairs(
        &self,
        of: &Place<'_>,
        (ours, theirs): (&str, &str),
        workload: &str,
        figure: &str,
    ) -> Vec<(f64, f64)> {
        let theirs: BTreeMap<u32, f64> = self.rounds(of, theirs, workload, figure).collect();
        let ours: BTreeMap<u32, f64> = self.rounds(of, ours, workload, figure).collect();
        let both = ours.iter();
        both.filter_map(|(round, ours)| Some((*ours, *theirs.get(round)?)))
            .collect()
    }

    /// Whether anything was measured under this scheduler there.
    pub fn has(&self, of: &Place<'_>, scheduler: &str) -> bool {
        let mut labels = self.values.iter().map(|value| &value.label);
        labels.any(|label| of.holds(label) && label.scheduler == scheduler)
    }

    /// The median of the rounds of one figure.
    pub fn get(
        &self,
        of: &Place<'_>,
        scheduler: &str,
        workload: &str,
        figure: &str,
    ) -> Option<f64> {
        let rounds = self.rounds(of, scheduler, workload, figure);
        median(rounds.map(|(_, value)| value).collect())
    }

    /// Where anything was measured: kind of time, then number of CPUs.
    pub fn places(&self) -> Vec<(String, usize)> {
        let each = self.values.iter();
        let mut places: Vec<_> = each
            .map(|value| (value.label.time.clone(), value.label.cpus))
            .collect();
        places.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        places.dedup();
        places
    }

    /// Schedulers in the order of a report: the kernel's, ours, others by name.
    pub fn schedulers(&self) -> Vec<String> {
        let mut all: Vec<_> = self
            .values
            .iter()
            .map(|v| v.label.scheduler.clone())
            .collect();
        let rank = |name: &str| {
            let ours = OURS.iter().position(|mode| *mode == name);
            if name == EEVDF {
                0
            } else {
                ours.map_or(9, |index| index + 1)
            }
        };
        all.sort_by(|a, b| rank(a).cmp(&rank(b)).then(a.cmp(b)));
        all.dedup();
        all
    }

    /// Sorted Prometheus text with its explanation.
    pub fn to_prom(&self) -> String {
        let mut lines: Vec<String> = self.values.iter().map(Value::to_line).collect();
        lines.sort();
        // A series that is there twice makes the whole text invalid.
        lines.dedup();
        let mut text = conditions::to_prom(&self.conditions);
        let _ = write!(
            text,
            "# HELP {METRIC} What a workload measured under a scheduler; the figure ends in its unit.\n\
             # TYPE {METRIC} gauge\n"
        );
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// Every value that lines of this text hold; other lines, and damaged ones, are passed over.
    pub fn from_text(text: &str) -> Results {
        Results {
            values: text.lines().filter_map(Value::from_line).collect(),
            conditions: text.lines().filter_map(Conditions::from_line).collect(),
        }
    }

    /// Reads a file, or `results.prom` of a directory; fails if it says two things of the same.
    pub fn read(path: &Path) -> Result<Results, String> {
        let file = if path.is_dir() {
            path.join("results.prom")
        } else {
            path.to_owned()
        };
        let bytes = fs::read(&file)
            .map_err(|error| format!("{} cannot be read ({error})", file.display()))?;
        // Whatever else a console said, the lines of results are plain.
        let text = String::from_utf8_lossy(&bytes);
        if let Some(number) = text.lines().position(is_damaged) {
            return Err(format!(
                "line {} of {} is the beginning of a result, and not all of it: take it out to do without",
                number + 1,
                file.display()
            ));
        }
        let mut results = Results::default();
        results
            .merge(Results::from_text(&text))
            .map_err(|sentence| format!("{} contradicts itself: {sentence}", file.display()))?;
        if results.values.is_empty() {
            return Err(format!(
                "{} holds no results of a benchmark",
                file.display()
            ));
        }
        Ok(results)
    }
}

/// Whether a line began as a value and something else came between.
fn is_damaged(line: &str) -> bool {
    let is_value = line.trim().strip_prefix(METRIC);
    is_value.is_some_and(|rest| rest.starts_with('{')) && Value::from_line(line).is_none()
}

/// Kind of time and number of CPUs: only values of the same are comparable.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// `virtual` or `real`.
    pub time: &'a str,
    /// Number of CPUs.
    pub cpus: usize,
}

impl Place<'_> {
    fn holds(&self, label: &Label) -> bool {
        label.time == self.time && label.cpus == self.cpus
    }
}

/// A number of CPUs, for people.
pub fn cpus_in_words(cpus: usize) -> String {
    format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" })
}

/// The value of a label, as [`Value::to_line`] writes it: none has a quotation mark in it.
pub(crate) fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = labels.split_once(&format!("{name}=\""))?;
    Some(rest.split_once('"')?.0)
}

impl Value {
    /// One line of Prometheus text.
    pub fn to_line(&self) -> String {
        let Label {
            cpus,
            time,
            scheduler,
            round,
        } = &self.label;
        let mut line =
            format!("{METRIC}{{cpus=\"{cpus}\",time=\"{time}\",scheduler=\"{scheduler}\"");
        let _ = write!(
            line,
            ",round=\"{round}\",workload=\"{}\",figure=\"{}\"}} {:.3}",
            self.workload, self.figure, self.value
        );
        line
    }

    /// What no two values may share.
    fn name(&self) -> (&Label, &str, &str) {
        (&self.label, &self.workload, &self.figure)
    }

    /// The same for people.
    fn words(&self) -> String {
        let Label {
            cpus,
            time,
            scheduler,
            round,
        } = &self.label;
        format!(
            "{} {} under {scheduler}, {}, {time} time, round {round}",
            self.workload,
            self.figure,
            cpus_in_words(*cpus)
        )
    }

    fn from_line(line: &str) -> Option<Value> {
        let (labels, value) = line
            .trim()
            .strip_prefix(METRIC)?
            .strip_prefix('{')?
            .split_once("} ")?;
        let label = |name: &str| label(labels, name);
        Some(Value {
            label: Label {
                cpus: label("cpus")?.parse().ok()?,
                time: label("time")?.to_owned(),
                scheduler: label("scheduler")?.to_owned(),
                round: label("round")?.parse().ok()?,
            },
            workload: label("workload")?.to_owned(),
            figure: label("figure")?.to_owned(),
            value: value.parse().ok().filter(|value: &f64| value.is_finite())?,
        })
    }
}

/// The middle value, or the mean of the two middle ones.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let high = values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(*high);
    }
    values
        .get(middle.checked_sub(1)?)
        .map(|low| (low + high) / 2.0)
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Results at 2 CPUs in virtual time.
    pub fn results(values: &[(&str, &str, &str, f64)]) -> Results {
        let each = values
            .iter()
            .map(|(scheduler, workload, figure, value)| Value {
                label: Label {
                    cpus: 2,
                    time: "virtual".into(),
                    scheduler: (*scheduler).into(),
                    round: 1,
                },
                workload: (*workload).into(),
                figure: (*figure).into(),
                value: *value,
            });
        Results {
            values: each.collect(),
            ..Results::default()
        }
    }

    /// The same, measured on this kernel for a second each.
    pub fn on(kernel: &str, values: &[(&str, &str, &str, f64)]) -> Results {
        let mut results = results(values);
        results.conditions.insert(Conditions {
            cpus: 2,
            time: VIRTUAL.into(),
            kernel: kernel.into(),
            seconds: 1,
        });
        results
    }

    const HERE: Place<'static> = Place {
        time: "virtual",
        cpus: 2,
    };

    /// The rounds of a scheduler, from 1, at 2 CPUs; `None` is one that failed.
    pub fn rounds(
        time: &str,
        (scheduler, workload, figure): (&str, &str, &str),
        values: &[Option<f64>],
    ) -> Results {
        let mut all = Results::default();
        for (round, value) in (1..).zip(values) {
            let Some(value) = value else { continue };
            let mut one = results(&[(scheduler, workload, figure, *value)]);
            one.values[0].label.round = round;
            time.clone_into(&mut one.values[0].label.time);
            all.values.extend(one.values);
        }
        all
    }

    #[test]
    fn a_round_that_failed_leaves_the_others_with_their_partners() {
        let mut all = rounds(
            "virtual",
            ("eevdf", "pipe", "p50_us"),
            &[Some(1.0), Some(2.0), Some(3.0)],
        );
        let ours = [Some(10.0), None, Some(30.0), Some(40.0)];
        all.values
            .extend(rounds("virtual", ("bpf", "pipe", "p50_us"), &ours).values);
        all.values.reverse();
        assert_eq!(
            all.pairs(&HERE, ("bpf", "eevdf"), "pipe", "p50_us"),
            [(10.0, 1.0), (30.0, 3.0)]
        );
    }

    #[test]
    fn what_was_read_twice_is_there_once_and_a_contradiction_is_refused() {
        let once = results(&[("bpf", "pipe", "p50_us", 16.0)]);
        let mut all = once.clone();
        all.merge(once.clone()).unwrap();
        assert_eq!(all, once);
        let sentence = all.merge(results(&[("bpf", "pipe", "p50_us", 17.0)]));
        assert_eq!(
            sentence.unwrap_err(),
            "there are two values, 16 and 17, of pipe p50_us under bpf, 2 CPUs, virtual time, round 1"
        );
        assert_eq!(all, once);

        let mut twice = once.clone();
        twice.values.extend(once.values.clone());
        assert_eq!(twice.to_prom(), once.to_prom());
    }

    #[test]
    fn what_was_written_is_read_back() {
        let all = results(&[
            ("bpfland", "wakeup", "p99_us", 1949.5),
            ("eevdf", "wakeup", "p50_us", 56.25),
        ]);
        let text = all.to_prom();
        assert!(text.starts_with("# HELP pandemonium_bench "), "{text}");
        let line = "pandemonium_bench{cpus=\"2\",time=\"virtual\",scheduler=\"eevdf\",round=\"1\",\
                    workload=\"wakeup\",figure=\"p50_us\"} 56.250";
        assert!(text.lines().any(|found| found == line), "{text}");
        let back = Results::from_text(&text);
        assert_eq!(back.get(&HERE, "bpfland", "wakeup", "p99_us"), Some(1949.5));
        assert_eq!(back.to_prom(), text);
    }

    #[test]
    fn other_lines_of_a_console_are_passed_over() {
        let text = "booting\n  pandemonium_bench{cpus=\"2\"} 1\npandemonium_bench{cpus=\"4\",time=\"real\",\
                    scheduler=\"a\",round=\"1\",workload=\"w\",figure=\"f\"} NaN\n";
        assert_eq!(Results::from_text(text), Results::default());
    }

    #[test]
    fn rounds_are_one_value_by_their_median() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn one_cpu_is_not_written_as_several() {
        assert_eq!([1, 2].map(cpus_in_words), ["1 CPU", "2 CPUs"]);
    }

    #[test]
    fn the_kernels_scheduler_comes_first_then_ours() {
        let all = results(&[
            ("cosmos", "a", "b", 1.0),
            ("bpf", "a", "b", 1.0),
            ("bpfland", "a", "b", 1.0),
            ("eevdf", "a", "b", 1.0),
            ("adaptive", "a", "b", 1.0),
        ]);
        let order = ["eevdf", "adaptive", "bpf", "bpfland", "cosmos"];
        assert_eq!(all.schedulers(), order);
    }
}
