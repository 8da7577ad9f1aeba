//! Under what values were measured that no row or column of a report tells: a line of the archive.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use crate::results::{Label, Place, label};

/// The name of the metric; its labels say it all.
const METRIC: &str = "pandemonium_bench_conditions";
/// The release of the running kernel.
const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// What values of one place have to share to be compared, and no row or column of a report tells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conditions {
    /// Number of CPUs of the place.
    pub cpus: usize,
    /// Kind of time of the place.
    pub time: String,
    /// Release of the kernel.
    pub kernel: String,
    /// How long a workload of weight 1 was measured, s.
    pub seconds: u64,
}

impl Conditions {
    /// Those of what is measured here, for so long, under this label.
    pub fn here(label: &Label, seconds: u64) -> Conditions {
        let release = fs::read_to_string(RELEASE).unwrap_or_default();
        Conditions {
            cpus: label.cpus,
            time: label.time.clone(),
            kernel: release.trim().replace(['"', '\\'], ""),
            seconds,
        }
    }

    /// For people, but for the place.
    fn words(&self) -> String {
        format!(
            "kernel {}, {} s for each workload",
            self.kernel, self.seconds
        )
    }

    fn to_line(&self) -> String {
        format!(
            "{METRIC}{{cpus=\"{}\",time=\"{}\",kernel=\"{}\",seconds=\"{}\"}} 1",
            self.cpus, self.time, self.kernel, self.seconds
        )
    }

    /// Those that a line of an archive holds.
    pub(crate) fn from_line(line: &str) -> Option<Conditions> {
        let labels = line.trim().strip_prefix(METRIC)?.strip_prefix('{')?;
        Some(Conditions {
            cpus: label(labels, "cpus")?.parse().ok()?,
            time: label(labels, "time")?.to_owned(),
            kernel: label(labels, "kernel")?.to_owned(),
            seconds: label(labels, "seconds")?.parse().ok()?,
        })
    }
}

/// These for people, whatever their places; nothing if there are none.
pub fn words<'a>(some: impl Iterator<Item = &'a Conditions>) -> String {
    let each: BTreeSet<String> = some.map(Conditions::words).collect();
    each.into_iter().collect::<Vec<_>>().join(" and ")
}

/// Those of a place for people; nothing if no archive says.
pub fn words_of(all: &BTreeSet<Conditions>, here: &Place<'_>) -> String {
    let is_there = |one: &&Conditions| (one.cpus, one.time.as_str()) == (here.cpus, here.time);
    words(all.iter().filter(is_there))
}

/// A line for each with its explanation; nothing if there are none.
pub(crate) fn to_prom(all: &BTreeSet<Conditions>) -> String {
    let mut text = String::new();
    if !all.is_empty() {
        let _ = write!(
            text,
            "# HELP {METRIC} On which kernel, and for how many seconds each, values were measured.\n\
             # TYPE {METRIC} gauge\n"
        );
    }
    for conditions in all {
        let _ = writeln!(text, "{}", conditions.to_line());
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::results::Results;
    use crate::results::tests::on;

    #[test]
    fn an_archive_says_on_which_kernel_and_for_how_long_it_was_measured() {
        let mut all = on("7.2.12+deb13-amd64", &[("eevdf", "pipe", "p50_us", 18.0)]);
        let text = all.to_prom();
        let line = "pandemonium_bench_conditions{cpus=\"2\",time=\"virtual\",kernel=\"7.2.12+deb13-amd64\",seconds=\"1\"} 1";
        assert!(text.lines().any(|found| found == line), "{text}");
        assert_eq!(Results::from_text(&text), all);
        all.merge(on("6.12.107", &[("bpf", "pipe", "p50_us", 16.0)]))
            .unwrap();
        assert_eq!(Results::from_text(&all.to_prom()).conditions.len(), 2);

        let label = all.values[0].label.clone();
        let here = Conditions::here(&label, 3);
        assert!(!here.kernel.is_empty() && here.seconds == 3, "{here:?}");
    }
}
