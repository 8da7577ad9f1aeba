//! The monitor with a daemon that sends samples, or does not.

mod binary;
mod bus;
mod pretended;

use binary::{stderr, stdout};
use pandemonium_api::BusError;
use pretended::Pretended;
use serde_json::Value;

/// The times of the samples that were printed.
fn times(output: &std::process::Output) -> Vec<u64> {
    let lines = stdout(output);
    let values = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    values
        .map(|value: Value| value["sampled_usec"].as_u64().expect("a time"))
        .collect()
}

#[test]
fn samples_are_sent_and_not_asked_for() {
    let daemon = Pretended::start();
    let output = daemon.run("monitor --json --count 4");
    assert_eq!(stderr(&output), "");
    assert_eq!(times(&output), [1, 10, 11, 12]);
    let kept = daemon.kept();
    assert_eq!(kept.requests, ["subscribe 1000"]);
    assert_eq!(
        kept.snapshots, 1,
        "only the first, to have something at once"
    );
}

#[test]
fn a_sample_that_is_shown_already_is_not_shown_twice() {
    let daemon = Pretended::start();
    daemon.kept().samples = vec![1, 1, 2];
    assert_eq!(times(&daemon.run("monitor --json --count 2")), [1, 2]);
}

#[test]
fn whoever_gets_no_samples_asks_and_says_so_once() {
    let daemon = Pretended::start();
    let limit = "At most 4 connections of one user may subscribe.";
    daemon.kept().refusal = Some((BusError::LimitsExceeded, limit));
    let output = daemon.run("monitor --json --count 3");
    let said = format!(
        "pandemonium: {}; asking once a second instead\n",
        limit.trim_end_matches('.')
    );
    assert_eq!(stderr(&output), said);
    assert_eq!(times(&output), [1, 2, 3]);
    let lines = stdout(&daemon.run("monitor --plain --count 1"));
    assert!(lines.contains("HEAVY"), "{lines}");
}
