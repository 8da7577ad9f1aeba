//! The binary as a whole: it ends by itself or when it is asked to, reports, and leaves nothing behind.
#![allow(clippy::unwrap_used, missing_docs)]

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Half of what the runs would take that are ended early: long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(300);

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
fn every_workload_ends_by_itself_with_one_line_of_json() {
    let workloads: [&[&str]; 11] = [
        &["mixed"],
        &["hog", "--threads", "2", "--pin"],
        &["probe"],
        &["frames"],
        &["forks", "--rate", "20"],
        &["pipe"],
        &["sleepers", "--threads", "2"],
        &["affinity-churn", "--threads", "2"],
        &["duty", "--percent", "20", "--threads", "2"],
        &["share", "--group", "one:1", "--group", "two:2"],
        &["idle", "-i", "100", "-w", "10", "-t", "2", "-b", "1"],
    ];
    for args in workloads {
        let (output, stdout) = run(&[args, &["--seconds", "1", "--json"]].concat());
        assert!(output.status.success(), "{args:?}: {output:?}");
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
        let beginning = format!("{{\"workload\":\"{}\",", args[0]);
        assert!(stdout.starts_with(&beginning), "{stdout}");
        assert!(stdout.ends_with("\"passed\":true}\n"), "{stdout}");
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
fn idle_makes_exactly_the_round_trips_it_was_asked_for() {
    let (output, stdout) = run(&[
        "idle", "-i", "321", "-w", "0", "-t", "3", "-b", "0", "--json",
    ]);
    assert!(output.status.success(), "{output:?}");
    assert!(
        stdout.contains("\"threads\":3,\"background\":0,\"round_trip_count\":321,"),
        "{stdout}"
    );
    let (_, stdout) = run(&["idle", "-i", "5", "-t", "1"]);
    assert!(
        stdout.starts_with("idle: 5 round trips through 1 threads"),
        "{stdout}"
    );
}

/// The names of the threads of a process, the main thread first.
fn thread_names(pid: u32) -> Vec<String> {
    let mut tasks: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .map(|task| task.unwrap().path())
        .collect();
    tasks.sort();
    let names = tasks.iter().map(|task| {
        let name = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        name.trim().to_owned()
    });
    names.collect()
}

#[test]
fn hogs_and_duties_carry_the_name_they_were_given() {
    for kind in ["hog", "duty"] {
        let args = [
            kind,
            "--name",
            "kwin_wayland",
            "--threads",
            "2",
            "--seconds",
            "600",
        ];
        let mut child = workload(&args).stdout(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        let all_named = loop {
            let names = thread_names(child.id());
            if names.len() == 3 && names.iter().all(|name| name == "kwin_wayland") {
                break true;
            }
            if start.elapsed() > PATIENCE {
                break false;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(all_named, "{kind}");
    }
}

#[test]
fn what_a_group_cannot_enter_ends_the_run_before_it_begins() {
    let (output, stdout) = run(&["share", "--group", "a:1:/nonexistent", "--seconds", "600"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout, "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("group a cannot enter /nonexistent"),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn every_group_is_a_process_that_says_its_name_and_is_put_into_its_cgroup() {
    let dir = std::env::temp_dir().join(format!("workload-group-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let procs = dir.join("cgroup.procs");
    std::fs::write(&procs, "").unwrap();
    let group = format!("alone:2:{}", dir.display());
    let (output, stdout) = run(&["share", "--group", &group, "--seconds", "1", "--json"]);
    assert!(output.status.success(), "{output:?}");
    assert!(stdout.contains("\"alone_threads\":2,"), "{stdout}");
    assert!(
        stdout.contains("\"alone_share_permille\":1000,"),
        "{stdout}"
    );
    let pid: u32 = std::fs::read_to_string(&procs).unwrap().parse().unwrap();
    assert!(
        !std::path::Path::new(&format!("/proc/{pid}")).exists(),
        "it was left behind"
    );
    std::fs::remove_dir_all(&dir).unwrap();
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
    assert!(start.elapsed() < PATIENCE);
    assert_eq!(output.status.code(), Some(128 + 15));
    assert!(output.stdout.starts_with(b"mixed: probe p50"));
    // Empty, or this would fail: the run's own directory is gone.
    std::fs::remove_dir(&scratch).unwrap();
}
