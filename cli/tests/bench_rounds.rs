//! `pandemonium bench` that does not come to its end, or whose archive cannot be written.

mod binary;
mod bus;
mod pretended;

use std::fs;

use binary::{stderr, stdout};
use pretended::Pretended;
use serde_json::Value;

const TWO_ROUNDS: &str = "bench --rows floor --seconds 1 --modes adaptive --rounds 2";

#[test]
fn rounds_before_a_failure_are_shown_and_kept_and_the_status_tells_of_it() {
    let daemon = Pretended::start();
    daemon.kept().ends_at_request = Some(4);
    let dir = tempfile::tempdir().expect("a directory");
    let archive = dir.path().join("results.prom");
    let output = daemon.run(&format!("{TWO_ROUNDS} --json --prom {}", archive.display()));
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("the mode became off while adaptive was measured"),
        "{said}"
    );
    let values: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let values = values.as_array().expect("values");
    // The kernel's scheduler was measured in the second round as well, which was not completed.
    assert!(!values.is_empty() && values.iter().all(|value| value["round"] == 1));
    assert!(
        values
            .iter()
            .any(|value| value["scheduler"] == "adaptive" && value["figure"] == "p99_us"),
        "{values:?}"
    );
    let kept = fs::read_to_string(archive).expect("the archive");
    assert!(kept.contains("round=\"1\"") && !kept.contains("round=\"2\""));
}

#[test]
fn a_run_without_a_complete_round_leaves_the_archive_as_it_was() {
    let daemon = Pretended::start();
    daemon.kept().ends_at_request = Some(2);
    let dir = tempfile::tempdir().expect("a directory");
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    fs::write(&old, "of last week").expect("a file");
    for archive in [&old, &new] {
        daemon.kept().state = "running";
        daemon.kept().requests.clear();
        let output = daemon.run(&format!("{TWO_ROUNDS} --prom {}", archive.display()));
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    assert_eq!(fs::read_to_string(&old).expect("a file"), "of last week");
    assert!(!new.exists());
}

#[test]
fn an_archive_that_cannot_be_opened_is_told_before_the_mode_is_switched() {
    let daemon = Pretended::start();
    let output = daemon.run(&format!("{TWO_ROUNDS} --prom /nonexistent/results.prom"));
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("/nonexistent/results.prom cannot be written"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(daemon.kept().requests.is_empty());
}

#[test]
fn a_full_disk_does_not_keep_the_table_back() {
    let daemon = Pretended::start();
    let output = daemon.run("bench --rows floor --seconds 1 --modes adaptive --prom /dev/full");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("pandemonium: /dev/full cannot be written"),
        "{said}"
    );
    let text = stdout(&output);
    assert!(text.contains("wake-up on an idle machine p99"), "{text}");
}
