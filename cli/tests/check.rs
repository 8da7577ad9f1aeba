//! `pandemonium check` on the trees in `tests/roots`, which look like machines seen in the field.

mod binary;

use binary::{pandemonium, stderr, stdout};
use serde_json::Value;

/// The findings of a tree, and whether the scheduler can run there.
fn check(root: &str) -> (Vec<Value>, bool) {
    let dir = format!("{}/tests/roots/{root}", env!("CARGO_MANIFEST_DIR"));
    let output = pandemonium(&["check", "--json", "--root", &dir]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let can_run = report["can_run"] == true;
    assert_eq!(output.status.code(), Some(if can_run { 0 } else { 1 }));
    (
        report["findings"].as_array().expect("a list").clone(),
        can_run,
    )
}

fn verdict<'a>(findings: &'a [Value], name: &str) -> &'a str {
    let found = findings.iter().find(|finding| finding["name"] == name);
    found
        .and_then(|finding| finding["verdict"].as_str())
        .unwrap_or("(not asked)")
}

#[test]
fn a_ready_machine_can_run() {
    let (findings, can_run) = check("ready");
    assert!(can_run, "{findings:?}");
    for name in [
        "kernel version",
        "sched_ext",
        "CONFIG_SCHED_CLASS_EXT",
        "kernel BTF",
        "scheduler",
    ] {
        assert_eq!(verdict(&findings, name), "ok", "{name}");
    }
}

#[test]
fn our_own_scheduler_is_no_obstacle_and_a_secret_configuration_neither() {
    let (findings, can_run) = check("loaded");
    assert!(can_run, "{findings:?}");
    assert_eq!(verdict(&findings, "scheduler"), "ok");
    assert_eq!(verdict(&findings, "kernel options"), "unknown");
}

#[test]
fn another_scheduler_and_its_friends_are_named() {
    let (findings, can_run) = check("foreign");
    assert!(!can_run);
    assert_eq!(verdict(&findings, "scheduler"), "problem");
    let text = findings
        .iter()
        .map(|f| f["found"].to_string())
        .collect::<Vec<_>>()
        .join("\n");
    for name in [
        "bpfland_1.1.4",
        "scx_bpfland is running",
        "tuned is running",
        "system76-schedu is running",
        "scx.service is enabled",
    ] {
        assert!(text.contains(name), "{name} is missing from\n{text}");
    }
    assert_eq!(
        text.matches("ananicy-cpp").count(),
        1,
        "two processes, one finding:\n{text}"
    );
}

#[test]
fn a_kernel_without_sched_ext_cannot_run_and_says_which_option() {
    let (findings, can_run) = check("no-sched-ext");
    assert!(!can_run);
    assert_eq!(verdict(&findings, "kernel version"), "ok");
    assert_eq!(verdict(&findings, "sched_ext"), "problem");
    assert_eq!(verdict(&findings, "CONFIG_SCHED_CLASS_EXT"), "problem");
    assert_eq!(verdict(&findings, "CONFIG_BPF_JIT"), "ok");
}

#[test]
fn an_old_kernel_is_too_old() {
    let (findings, can_run) = check("old");
    assert!(!can_run);
    assert_eq!(verdict(&findings, "kernel version"), "problem");
}

#[test]
fn what_cannot_be_seen_is_unknown_and_not_guessed() {
    let (findings, can_run) = check("bare");
    assert!(!can_run, "nobody knows whether it could");
    for name in [
        "sched_ext",
        "kernel options",
        "kernel BTF",
        "scheduler",
        "system bus",
    ] {
        assert_eq!(verdict(&findings, name), "unknown", "{name}");
    }
}

#[test]
fn damaged_files_are_unknown_and_their_bytes_stay_off_the_terminal() {
    let dir = format!("{}/tests/roots/damaged", env!("CARGO_MANIFEST_DIR"));
    let output = pandemonium(&["check", "--root", &dir]);
    let text = stdout(&output);
    assert!(
        text.lines()
            .any(|line| line.starts_with("unknown  kernel version")),
        "{text}"
    );
    assert!(text.contains("scx_\\x1b[2J is running"), "{text}");
    assert!(!text.contains('\x1b'), "{text:?}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_root_that_is_not_there_is_refused() {
    let dir = format!("{}/tests/roots/none", env!("CARGO_MANIFEST_DIR"));
    let output = pandemonium(&["check", "--root", &dir]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        format!("pandemonium: {dir} is not a directory\n")
    );
}
