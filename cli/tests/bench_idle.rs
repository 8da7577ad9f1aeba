//! `pandemonium bench idle` with a daemon that remembers how often it was asked.

mod binary;
mod bus;
mod pretended;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use binary::{stderr, stdout};
use pandemonium_api::BusError;
use pretended::Pretended;
use serde_json::Value;

const SMALL: &str = "bench idle -i 40 -w 4 -t 2 -b 1";

#[test]
fn rounds_alternate_and_the_selector_is_put_back() {
    let daemon = Pretended::start();
    let output = daemon.run(&format!("{SMALL} --rounds 4"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        daemon.kept().requests,
        [
            "idle true",
            "idle false",
            "idle true",
            "idle false",
            "idle true"
        ]
    );
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 4, "{said}");
    assert!(
        said.starts_with("round 1 of 4, idle selector on: mean "),
        "{said}"
    );
    let text = stdout(&output);
    for part in ["ON", "OFF", "gain", "mean", "p50", "p99", "ops/s"] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    assert!(
        text.contains("Medians of 2 rounds each."),
        "the number of pairs: {text}"
    );
}

#[test]
fn a_selector_that_was_off_stays_off() {
    let daemon = Pretended::start();
    daemon.kept().idle_selector = false;
    let output = daemon.run(&format!("{SMALL} --rounds 2"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let kept = daemon.kept();
    assert_eq!(kept.requests, ["idle true", "idle false"]);
    assert!(!kept.idle_selector);
}

#[test]
fn json_has_every_round_and_nothing_else_is_said() {
    let daemon = Pretended::start();
    let output = daemon.run(&format!("{SMALL} --rounds 2 --json"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["plan"]["iterations"], 40);
    assert_eq!(value["plan"]["background"], 1);
    let rounds = value["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 2);
    assert_eq!(rounds[0]["idle_selector"], true);
    assert_eq!(rounds[1]["idle_selector"], false);
    for round in rounds {
        assert_eq!(round["round_trips"], 40);
    }
    assert!(value["comparison"]["p99_ns"]["gain"]["median"].is_number());
    // No scheduler of ours is loaded here, or nobody may look.
    assert!(value["note"].is_string(), "{value}");
}

#[test]
fn a_scheduler_that_is_not_loaded_is_one_sentence() {
    let daemon = Pretended::start();
    daemon.kept().state = "stopped";
    let output = daemon.run(SMALL);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("the scheduler is not loaded (it is stopped)"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(daemon.kept().requests.is_empty());
}

#[test]
fn a_scheduler_that_goes_away_spoils_the_comparison_and_the_selector_is_put_back() {
    let daemon = Pretended::start();
    daemon.kept().ends_at_request = Some(2);
    let output = daemon.run(&format!("{SMALL} --rounds 4"));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("(it is ejected)"));
    assert_eq!(stdout(&output), "");
    assert_eq!(
        daemon.kept().requests,
        ["idle true", "idle false", "idle true"]
    );
}

#[test]
fn whoever_may_not_switch_is_told_before_anything_is_measured() {
    let daemon = Pretended::start();
    daemon.kept().refusal = Some((BusError::AccessDenied, "no"));
    let output = daemon.run(SMALL);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(stderr(&output), "pandemonium: not permitted: no\n");
    assert_eq!(daemon.kept().requests, ["idle true"], "and not once more");
}

#[test]
fn ctrl_c_puts_the_selector_back_and_shows_what_was_measured() {
    let daemon = Pretended::start();
    let mut child = daemon
        .command("bench idle -i 2000 -w 0 -t 2 -b 0 --rounds 100")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut progress = BufReader::new(child.stderr.take().expect("a pipe"));
    for _ in 0..2 {
        progress
            .read_line(&mut String::new())
            .expect("a line of progress");
    }
    let id = child.id().to_string();
    let status = Command::new("kill").args(["-INT", &id]).status();
    assert!(status.expect("kill runs").success());
    // Nobody reads the rest, and it fits into the pipe.
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("gain"), "{}", stdout(&output));
    let kept = daemon.kept();
    assert!(kept.idle_selector);
    assert_eq!(kept.requests.last().map(String::as_str), Some("idle true"));
}

#[test]
fn being_stopped_before_there_is_anything_to_compare_is_said() {
    let daemon = Pretended::start();
    let mut child = daemon
        .command("bench idle -i 10000000 -t 2 -b 0 -w 0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    while daemon.kept().requests.is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
    }
    let id = child.id().to_string();
    let status = Command::new("kill").args(["-TERM", &id]).status();
    assert!(status.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("stopped "), "{}", stderr(&output));
    assert!(daemon.kept().idle_selector);
}
