//! The binary as a whole: it ends in time, reports, and leaves nothing behind.
#![allow(clippy::unwrap_used, missing_docs)]

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn workload(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pandemonium-workload"));
    command.args(args);
    command
}

fn run(args: &[&str]) -> (Output, String) {
    let output = workload(args).output().unwrap();
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    (output, stdout)
}

#[test]
fn every_workload_ends_in_time_with_one_line_of_json() {
    let workloads: [&[&str]; 8] = [
        &["mixed"],
        &["hog", "--threads", "2", "--pin"],
        &["probe"],
        &["frames"],
        &["forks", "--rate", "20"],
        &["pipe"],
        &["sleepers", "--threads", "2"],
        &["affinity-churn", "--threads", "2"],
    ];
    for args in workloads {
        let start = Instant::now();
        let (output, stdout) = run(&[args, &["--seconds", "1", "--json"]].concat());
        assert!(output.status.success(), "{args:?}: {output:?}");
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
        let beginning = format!("{{\"workload\":\"{}\",", args[0]);
        assert!(stdout.starts_with(&beginning), "{stdout}");
        assert!(stdout.ends_with("\"passed\":true}\n"), "{stdout}");
        assert!(start.elapsed() < Duration::from_secs(20), "{args:?}");
    }
}

#[test]
fn starving_for_longer_than_the_limit_fails_with_one_sentence() {
    // With a hundred threads a CPU, somebody waits for more than a millisecond under any scheduler.
    let cpus = std::thread::available_parallelism().unwrap().get();
    let threads = (cpus * 100).to_string();
    let args = [
        "starve",
        "--seconds",
        "1",
        "--limit-ms",
        "1",
        "--threads",
        &threads,
    ];
    let (output, stdout) = run(&args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.starts_with("starve: longest gaps of"), "{stdout}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("the limit is 1 ms"), "{stderr}");
}

#[test]
fn a_wrong_argument_is_explained() {
    let (output, _) = run(&["hog", "--threads", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("--threads")
    );
}

#[test]
fn being_asked_to_stop_ends_the_run_early_and_still_reports() {
    let scratch = std::env::temp_dir().join(format!("workload-test-{}", std::process::id()));
    std::fs::create_dir(&scratch).unwrap();
    let mut command = workload(&["mixed", "--seconds", "600"]);
    command.env("TMPDIR", &scratch).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    let id = child.id().to_string();
    std::thread::sleep(Duration::from_millis(700));
    let start = Instant::now();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(128 + 15));
    assert!(output.stdout.starts_with(b"mixed: probe p50"));
    // Empty, or this would fail: the run's own directory is gone.
    std::fs::remove_dir(&scratch).unwrap();
}
