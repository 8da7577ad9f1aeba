//! `pandemonium bench` with a daemon that remembers what it was asked for, and `bench compare` without any.

mod binary;
mod bus;
mod pretended;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use binary::{stderr, stdout};
use pandemonium_api::BusError;
use pretended::Pretended;
use serde_json::Value;

const SMALL: &str = "bench --rows pipe,floor --seconds 1";

#[test]
fn every_mode_is_measured_in_turn_and_the_mode_is_put_back() {
    let daemon = Pretended::start();
    daemon.kept().mode = "bpf".to_owned();
    let dir = tempfile::tempdir().expect("a directory");
    let archive = dir.path().join("results.prom");
    let output = daemon.run(&format!("{SMALL} --prom {}", archive.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let requests = ["mode off", "mode adaptive", "mode bpf"];
    assert_eq!(
        daemon.kept().requests,
        requests,
        "bpf is what it was before"
    );
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 6, "{said}");
    assert!(said.starts_with("1 of 2, eevdf, "), "{said}");
    let text = stdout(&output);
    for part in [
        "eevdf",
        "adaptive",
        "bpf",
        "goal",
        "pipe round trip, idle machine p50",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    // Children were this program: each of them sent its bytes back.
    let kept = fs::read_to_string(archive).expect("the archive");
    assert_eq!(
        kept.matches("workload=\"pipe\",figure=\"p50_us\"").count(),
        3
    );
}

#[test]
fn rounds_alternate_and_json_has_all_their_values() {
    let daemon = Pretended::start();
    let output = daemon.run("bench --rows floor --seconds 1 --rounds 2 --modes adaptive --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        daemon.kept().requests,
        ["mode off", "mode adaptive", "mode off", "mode adaptive"]
    );
    assert_eq!(stderr(&output), "");
    let values: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let values = values.as_array().expect("values");
    let medians = values.iter().filter(|value| value["figure"] == "p50_us");
    let rounds: Vec<_> = medians
        .map(|value| (&value["scheduler"], &value["round"]))
        .collect();
    assert_eq!(rounds.len(), 4, "{rounds:?}");
    assert_eq!(
        (rounds[3].0.as_str(), rounds[3].1.as_u64()),
        (Some("adaptive"), Some(2))
    );
}

#[test]
fn a_mode_that_is_named_twice_is_measured_once() {
    let daemon = Pretended::start();
    let output = daemon.run("bench --rows floor --seconds 1 --modes adaptive,adaptive");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(daemon.kept().requests, ["mode off", "mode adaptive"]);
}

#[test]
fn a_mode_that_does_not_last_spoils_the_run_and_is_put_back() {
    let daemon = Pretended::start();
    daemon.kept().ends_at_request = Some(2);
    let output = daemon.run(SMALL);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("the mode became off while adaptive was measured"),
        "{said}"
    );
    assert_eq!(stdout(&output), "");
}

#[test]
fn whoever_may_not_switch_is_told_before_anything_is_measured() {
    let daemon = Pretended::start();
    daemon.kept().refusal = Some((BusError::AccessDenied, "no"));
    let output = daemon.run(SMALL);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(stderr(&output), "pandemonium: not permitted: no\n");
    assert_eq!(daemon.kept().requests, ["mode off"], "and not once more");
}

#[test]
fn a_mode_that_cannot_be_loaded_is_not_wanted_any_more_afterwards() {
    let daemon = Pretended::start();
    daemon.kept().mode = "off".to_owned();
    daemon.kept().cannot_load = true;
    let output = daemon.run(SMALL);
    assert_eq!(output.status.code(), Some(6));
    let said = stderr(&output);
    assert!(
        said.ends_with("pandemonium: It cannot be loaded.\n"),
        "{said}"
    );
    let requests = ["mode off", "mode adaptive", "mode off"];
    assert_eq!(daemon.kept().requests, requests);
}

#[test]
fn a_scheduler_that_was_stopped_is_stopped_again_and_its_mode_is_kept() {
    let daemon = Pretended::start();
    daemon.kept().state = "stopped";
    daemon.kept().mode_reason = "request of uid 0";
    let output = daemon.run("bench --rows floor --seconds 1 --modes adaptive");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let requests = ["mode off", "mode adaptive", "mode adaptive", "stop"];
    assert_eq!(daemon.kept().requests.split_off(0), requests);

    // It need not be loaded to be stopped.
    daemon.kept().cannot_load = true;
    let output = daemon.run("bench --rows floor --seconds 1 --modes bpf");
    assert_eq!(output.status.code(), Some(6));
    let said = stderr(&output);
    assert!(
        said.ends_with("pandemonium: It cannot be loaded.\n"),
        "{said}"
    );
    let requests = ["mode off", "mode bpf", "mode adaptive", "stop"];
    assert_eq!(daemon.kept().requests.split_off(0), requests);
}

#[test]
fn a_scheduler_that_could_not_be_loaded_is_not_stopped_because_nobody_did() {
    let daemon = Pretended::start();
    daemon.kept().state = "stopped";
    daemon.kept().mode_reason = "stopped";
    let output = daemon.run("bench --rows floor --seconds 1 --modes adaptive");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(daemon.kept().requests, ["mode off", "mode adaptive"]);
}

#[test]
fn ctrl_c_puts_the_mode_back() {
    let daemon = Pretended::start();
    let mut command = daemon.command("bench --rows floor,wakeup --seconds 600");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    while daemon.kept().requests.is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
    }
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.expect("kill runs").success());
    let mut said = String::new();
    let mut progress = BufReader::new(child.stderr.take().expect("a pipe"));
    while progress.read_line(&mut said).is_ok_and(|read| read > 0) {}
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    assert!(said.ends_with("pandemonium: stopped\n"), "{said}");
    assert_eq!(daemon.kept().requests, ["mode off", "mode adaptive"]);
}

fn compare(arguments: &[&str]) -> Output {
    let mut command = binary::command(env!("CARGO_BIN_EXE_pandemonium"));
    command
        .args(["bench", "compare"])
        .args(arguments)
        .output()
        .expect("it starts")
}

#[test]
fn two_archives_are_compared_and_the_status_says_whether_anything_got_worse() {
    let dir = tempfile::tempdir().expect("a directory");
    let archive = |name: &str, value: f64| {
        let folder = dir.path().join(name);
        fs::create_dir(&folder).expect("a directory");
        let labels = "cpus=\"2\",time=\"virtual\",scheduler=\"bpf\",round=\"1\"";
        let line = format!(
            "pandemonium_bench{{{labels},workload=\"wakeup\",figure=\"p99_us\"}} {value}\n"
        );
        fs::write(folder.join("results.prom"), line).expect("a file");
        folder.display().to_string()
    };
    let (old, slow) = (archive("old", 100.0), archive("slow", 115.0));
    let worse = compare(&[&old, &slow]);
    assert_eq!(worse.status.code(), Some(1), "{}", stderr(&worse));
    assert_eq!(
        stdout(&worse),
        "worse   bpf, 2 CPUs, wake-up p99: 100 -> 115 us\n\
         ours: 1 worse, 0 better, 0 the same within 10 %\n"
    );
    let json = compare(&["--json", &old, &slow]);
    assert_eq!(json.status.code(), Some(1));
    let changes: Vec<serde_json::Value> = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["change"], "worse");
    assert_eq!(
        (&changes[0]["before"], &changes[0]["after"]),
        (&100.0.into(), &115.0.into())
    );
    assert_eq!(
        compare(&[&slow, &old]).status.code(),
        Some(0),
        "better is fine"
    );
    assert_eq!(
        compare(&["--threshold", "20", &old, &slow]).status.code(),
        Some(0)
    );
    let wider = dir.path().join("wider.prom");
    let more = fs::read_to_string(dir.path().join("old/results.prom")).expect("a file");
    let more = format!("{more}{}", more.replace("wakeup", "burst"));
    fs::write(&wider, more).expect("a file");
    let wider = wider.display().to_string();
    let gone = compare(&[&wider, &old]);
    assert_eq!(gone.status.code(), Some(1), "{}", stderr(&gone));
    assert_eq!(
        stdout(&gone),
        "A only  bpf, 2 CPUs, burst p99\n\
         ours: 0 worse, 0 better, 1 the same within 10 %, 1 in A only\n"
    );
    assert_eq!(compare(&[&old, &wider]).status.code(), Some(0));
    let missing = compare(&[&old, "/nonexistent"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(stderr(&missing).lines().count(), 1);
}
