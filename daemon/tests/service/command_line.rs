//! Exit codes, sentences, and the daemon without a bus.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::harness::{Guard, World};

/// Runs to the end without a bus: the exit code and what was said.
async fn alone(script: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let world = World::prepare(script).await;
    let mut command = world.command();
    let output = command.arg("--no-bus").args(arguments).output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[tokio::test]
async fn without_a_bus_the_exit_code_says_what_is_wrong() {
    let cases = [
        ("unsupported = true", 3, "CONFIG_SCHED_CLASS_EXT", 1),
        ("foreign = \"scx_other\"", 4, "scx_other", 1),
        ("attach = [\"permission\"]", 6, "CAP_BPF", 1),
        (
            "attach = [\"load\", \"load\", \"load\", \"load\", \"load\"]",
            1,
            "refused to load",
            5,
        ),
    ];
    for (script, code, word, times) in cases {
        let (exit, said) = alone(script, &[]).await;
        assert_eq!(exit, Some(code), "{script}: {said}");
        let told = said.lines().filter(|line| line.contains(word)).count();
        assert_eq!(told, times, "once for each attempt: {said}");
    }
}

#[tokio::test]
async fn without_a_bus_sysrq_is_a_clean_end() {
    let (exit, said) = alone("[[step]]\nexit = { kind = \"sysrq\" }\n", &[]).await;
    assert_eq!(exit, Some(0), "{said}");
}

#[tokio::test]
async fn telemetry_is_a_line_a_tick() {
    let world =
        World::prepare("[[step]]\nidle_permille = 20\nburst = true\ninteractive_running = 3\n")
            .await;
    let mut command = world.command();
    command
        .args(["--no-bus", "--telemetry", "--no-adaptive"])
        .stdout(Stdio::piped());
    let mut daemon = Guard(command.spawn().unwrap());
    let lines = BufReader::new(daemon.0.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let line = lines
        .take(200)
        .find(|line| line.ends_with("[HEAVY BURST] cpus: 3/4 queued: 0/0 slice: 2000us"))
        .unwrap();
    for label in [
        "d/s: 20000  ",
        "idle: 2% ",
        "p99: ",
        "L2: B=75% ",
        "procdb: 0/0 ",
        "rescue: 0 ",
    ] {
        assert!(line.contains(label), "{label:?} is missing in {line}");
    }
}

#[tokio::test]
async fn a_missing_bus_is_one_sentence() {
    let world = World::prepare("").await;
    let mut command = world.command();
    let output = command
        .args(["--bus-address", "unix:path=/nonexistent/bus"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains("--no-bus"), "{said}");
}

#[tokio::test]
async fn a_second_daemon_on_the_same_bus_leaves() {
    let world = World::start("").await;
    let mut command = world.command();
    let output = command
        .args(["--bus-address", &world.bus.address])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("another pandemoniumd"), "{said}");
    assert!(world.scheduler().await.state().await.is_ok());
}

#[tokio::test]
async fn a_wrong_command_line_or_configuration_is_two() {
    let world = World::prepare("").await;
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = run(world.command().args(["--mode", "turbo"]));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("adaptive"), "{said}");

    std::fs::write(world.path("config.toml"), "\nmdoe = \"bpf\"\n").unwrap();
    let (code, said) = run(world.command().arg("--no-bus"));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("config.toml:2") && said.contains("mdoe"),
        "{said}"
    );

    std::fs::write(world.path("config.toml"), "slice_lag_us = 20001\n").unwrap();
    let (code, said) = run(world.command().arg("--no-bus"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("config.toml:1: slice_lag_us"), "{said}");
    std::fs::write(world.path("config.toml"), "").unwrap();

    for (option, value, word) in [
        ("--compositor", "a/b", "printable ASCII"),
        ("--primary-domain", "fast", "powersave"),
        ("--slice-lag-us", "20001", "20000"),
    ] {
        let (code, said) = run(world.command().args(["--no-bus", option, value]));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(option) && said.contains(word), "{said}");
    }
    let many = (0..64).flat_map(|n| ["--compositor".to_owned(), format!("wm-{n}")]);
    let (code, said) = run(world.command().arg("--no-bus").args(many));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("64"), "{said}");

    let (code, said) = run(world
        .command()
        .args(["--no-bus"])
        .env("PANDEMONIUM_LOG", "loud"));
    assert_eq!(code, Some(2), "{said}");
}

#[tokio::test]
async fn help_teaches() {
    let mut help = String::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pandemoniumd"))
        .arg("--help")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut help)
        .unwrap();
    assert!(child.wait().unwrap().success());
    for word in [
        "Examples:",
        "Exit codes:",
        "--scripted",
        "--compositor mywm",
        "--primary-domain performance",
        "/etc/pandemonium/config.toml",
    ] {
        assert!(help.contains(word), "{word} is missing");
    }
}
