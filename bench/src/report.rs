//! A workload's result, as a line for people or for programs.

use std::fmt::Write as _;

use crate::stats::Summary;

/// One result. Keys say their unit.
#[derive(Clone, Debug, Default)]
pub struct Report {
    workload: &'static str,
    text: String,
    fields: Vec<(String, u64)>,
    /// Why the run counts as failed, one sentence.
    pub failure: Option<String>,
}

impl Report {
    /// A result of this workload that reads `text`.
    pub fn new(workload: &'static str, text: String) -> Report {
        Report {
            workload,
            text,
            ..Report::default()
        }
    }

    /// Adds a number.
    pub fn with(mut self, key: &str, value: u64) -> Report {
        self.fields.push((key.to_owned(), value));
        self
    }

    /// Adds count, median, 99th percentile and maximum of nanosecond values, in microseconds.
    pub fn with_summary(self, prefix: &str, s: &Summary) -> Report {
        self.with(&format!("{prefix}_count"), s.count as u64)
            .with(&format!("{prefix}_p50_us"), s.p50 / 1000)
            .with(&format!("{prefix}_p99_us"), s.p99 / 1000)
            .with(&format!("{prefix}_max_us"), s.max / 1000)
    }

    /// The line for people.
    pub fn to_line(&self) -> String {
        format!("{}: {}", self.workload, self.text)
    }

    /// The line for programs. Keys and names are plain words, so nothing has to be escaped.
    pub fn to_json(&self) -> String {
        let mut json = format!("{{\"workload\":\"{}\"", self.workload);
        for (key, value) in &self.fields {
            let _ = write!(json, ",\"{key}\":{value}");
        }
        let _ = write!(json, ",\"passed\":{}}}", self.failure.is_none());
        json
    }
}

/// Median, 99th percentile and maximum of nanosecond values for people.
pub fn latencies(s: &Summary) -> String {
    format!(
        "p50 {} us, p99 {} us, max {} us",
        s.p50 / 1000,
        s.p99 / 1000,
        s.max / 1000
    )
}

/// Nanoseconds as milliseconds with one decimal.
pub fn ms(ns: u64) -> String {
    format!("{}.{} ms", ns / 1_000_000, ns / 100_000 % 10)
}

/// A share in percent with one decimal; 0 of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    let permille = (part * 1000).checked_div(whole).unwrap_or(0);
    format!("{}.{} %", permille / 10, permille % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_carry_the_result() {
        let summary = Summary {
            count: 3,
            p50: 1_500,
            p99: 20_000,
            max: 30_999,
        };
        let report = Report::new("probe", latencies(&summary)).with_summary("wake", &summary);
        assert_eq!(report.to_line(), "probe: p50 1 us, p99 20 us, max 30 us");
        let json = "{\"workload\":\"probe\",\"wake_count\":3,\"wake_p50_us\":1,\
                    \"wake_p99_us\":20,\"wake_max_us\":30,\"passed\":true}";
        assert_eq!(report.to_json(), json);
    }

    #[test]
    fn units_read_well() {
        assert_eq!(ms(1_290_000), "1.2 ms");
        assert_eq!(percent(1, 8), "12.5 %");
        assert_eq!(percent(1, 0), "0.0 %");
    }
}
