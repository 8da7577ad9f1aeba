//! What the binary does with results that say too little or too much.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(args: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pandemonium-workload"));
    command.args(args).output().unwrap()
}

/// An empty directory of this name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn line(scheduler: &str, value: f64) -> String {
    format!(
        "pandemonium_bench{{cpus=\"2\",time=\"real\",scheduler=\"{scheduler}\",round=\"1\",\
         workload=\"pipe\",figure=\"p50_us\"}} {value:.3}\n"
    )
}

#[test]
fn a_file_that_is_named_twice_gives_every_series_once() {
    let dir = folder("twice");
    let log = dir.join("log");
    fs::write(&log, line("bpf", 16.0) + &line("bpf", 16.0)).unwrap();
    let report = Path::new("report");
    let told = run(&[report, &log, &log, Path::new("--dir"), &dir]);
    assert!(told.status.success(), "{told:?}");
    let kept = fs::read_to_string(dir.join("results.prom")).unwrap();
    assert_eq!(kept.matches("scheduler=\"bpf\"").count(), 1, "{kept}");
}

#[test]
fn a_report_of_two_values_for_one_round_is_refused_in_one_sentence() {
    let log = folder("contradiction").join("log");
    fs::write(&log, line("bpf", 16.0) + &line("bpf", 17.0)).unwrap();
    let told = run(&[Path::new("report"), &log]);
    let sentence = String::from_utf8(told.stderr).unwrap();
    assert_eq!(told.status.code(), Some(1), "{sentence}");
    assert_eq!((told.stdout.len(), sentence.lines().count()), (0, 1));
    assert!(
        sentence.contains("there are two values, 16 and 17, of pipe p50_us under bpf, 2 CPUs"),
        "{sentence}"
    );
}

#[test]
fn results_without_the_kernels_scheduler_leave_no_baseline_behind() {
    let dir = folder("alone");
    let (log, baseline) = (dir.join("log"), dir.join("baseline"));
    fs::write(&log, line("bpf", 16.0)).unwrap();
    let told = run(&[Path::new("gate"), &baseline, &log]);
    assert_eq!(told.status.code(), Some(1), "{told:?}");
    assert!(!baseline.exists());
}
