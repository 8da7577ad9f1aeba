//! The binary with a daemon whose mode can be switched, tried and held.

mod binary;
mod bus;
mod pretended;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, Stdio};

use binary::{stderr, stdout};
use pandemonium_api::BusError;
use pretended::Pretended;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn hold(daemon: &Pretended, options: &[&str], script: &str) -> Command {
    let mut command = daemon.command("hold adaptive");
    command.args(options).args(["--", "sh", "-c", script]);
    command
}

/// The command, started with signals as `env` makes them, whatever this process ignores.
fn with_signals(option: &str, command: &Command) -> Command {
    let mut with = Command::new("env");
    with.arg(option)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    with.stdin(Stdio::null());
    with
}

#[test]
fn options_of_a_mode_reach_the_daemon() {
    let daemon = Pretended::start();
    for line in [
        "mode bpf",
        "mode off --persist",
        "mode bpf --confirm-timeout 30",
        "mode adaptive --persist --confirm-timeout 5",
    ] {
        let output = daemon.run(line);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mode = line.split(' ').nth(1).expect("a mode");
        assert_eq!(stdout(&output), format!("{mode}\n"));
        let is_trial = line.contains("confirm");
        assert_eq!(
            stderr(&output).contains("pandemonium confirm"),
            is_trial,
            "{line}"
        );
    }
    let expected = [
        "mode bpf",
        "mode off for good",
        "mode bpf on trial for 30",
        "mode adaptive for good on trial for 5",
    ];
    assert_eq!(daemon.kept().requests, expected);
    for (line, mode) in [("mode --json", "adaptive"), ("mode off --json", "off")] {
        let output = daemon.run(line);
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(value, json!({ "mode": mode }), "{line}");
    }
    for line in ["mode bpf --confirm-timeout 4", "mode --persist"] {
        assert_eq!(daemon.run(line).status.code(), Some(2), "{line}");
    }
}

/// Runs the line on a terminal; once it asks, this happens, with somebody's fingers on the keys.
fn on_a_terminal(
    daemon: &mut Pretended,
    line: &str,
    then: impl FnOnce(&mut Pretended, &mut ChildStdin),
) -> (Option<i32>, String) {
    let binary = env!("CARGO_BIN_EXE_pandemonium");
    // One that asks for ever ends too, with a status of its own.
    let line = format!("timeout --foreground 60 {binary} {line}");
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("DBUS_SYSTEM_BUS_ADDRESS", &daemon.bus.address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script is installed");
    let mut keys = child.stdin.take().expect("a pipe");
    let mut screen = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut shown = Vec::new();
    screen.read_until(b'?', &mut shown).expect("a question");
    then(daemon, &mut keys);
    screen.read_to_end(&mut shown).expect("an end");
    let shown = String::from_utf8(shown).expect("text");
    (child.wait().expect("it ends").code(), shown)
}

#[test]
fn on_a_terminal_the_question_is_asked_at_once() {
    let mut daemon = Pretended::start();
    let line = "mode bpf --confirm-timeout 30";
    for (typed, status, answer) in [("y\n", 0, "confirm"), ("n\n", 1, "revert")] {
        let (code, shown) = on_a_terminal(&mut daemon, line, |_, keys| {
            keys.write_all(typed.as_bytes()).expect("it listens");
        });
        assert_eq!(code, Some(status), "{shown}");
        assert!(shown.contains("Keep mode bpf?"), "{shown}");
        let asked = daemon.kept().requests.split_off(0);
        assert_eq!(asked, ["mode bpf on trial for 30", answer]);
    }
}

#[test]
fn the_question_ends_when_the_daemon_goes_away() {
    let mut daemon = Pretended::start();
    let line = "mode bpf --confirm-timeout 30";
    let (code, shown) = on_a_terminal(&mut daemon, line, |daemon, _| daemon.leave());
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("the daemon is not running"), "{shown}");
}

#[test]
fn a_mode_that_goes_back_to_itself_was_not_kept() {
    let mut daemon = Pretended::start();
    let request = "request of uid 0";
    for (line, mode_reason, boot_mode, is_kept) in [
        ("mode bpf", "revert", "adaptive", false),
        ("mode bpf --persist", "revert", "adaptive", false),
        ("mode bpf --persist", "revert", "bpf", false),
        // Somebody else asked for the same mode, but not for good.
        ("mode bpf --persist", request, "adaptive", false),
        ("mode bpf --persist", request, "bpf", true),
        ("mode bpf", request, "adaptive", true),
    ] {
        let line = format!("{line} --confirm-timeout 30");
        let (code, shown) = on_a_terminal(&mut daemon, &line, |daemon, _| {
            let mut kept = daemon.kept();
            kept.mode_reason = mode_reason;
            kept.boot_mode = boot_mode;
            kept.confirm_usec = 0;
        });
        let case = format!("{line}, then {mode_reason} and {boot_mode}: {shown}");
        assert_eq!(code, Some(if is_kept { 0 } else { 1 }), "{case}");
        let is_said = shown.contains("was not confirmed and went back");
        assert_eq!(is_said, !is_kept, "{case}");
    }
}

#[test]
fn requests_without_an_answer_are_quiet_or_one_sentence() {
    let daemon = Pretended::start();
    let lines = ["confirm", "revert", "start", "stop", "restart", "reload"];
    for line in lines {
        let output = daemon.run(line);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output) + &stderr(&output), "");
    }
    assert_eq!(daemon.kept().requests, lines);
    daemon.kept().refusal = Some((BusError::NotFound, "No mode waits."));
    for line in lines {
        let output = daemon.run(line);
        assert_eq!(output.status.code(), Some(6));
        assert_eq!(stderr(&output), "pandemonium: No mode waits.\n");
    }
}

#[test]
fn a_command_runs_with_the_hold_and_its_status_is_the_answer() {
    let daemon = Pretended::start();
    let output = hold(&daemon, &["--reason", "a test"], "echo out; exit 42")
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(42), "{}", stderr(&output));
    assert_eq!(stdout(&output), "out\n");
    assert_eq!(daemon.kept().requests, ["hold adaptive for sh (a test)"]);
    let output = hold(&daemon, &[], "kill -KILL $$")
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(128 + 9));
    for (command, status) in [("/nonexistent/game", 127), ("/etc/passwd", 126)] {
        let output = daemon.run(&format!("hold bpf -- {command}"));
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(command));
    }
}

#[test]
fn the_hold_ends_with_the_command_even_if_that_leaves_something_behind() {
    let daemon = Pretended::start();
    let script = "sleep 60 >/dev/null 2>&1 & echo $!";
    let output = hold(&daemon, &[], script).output().expect("it starts");
    let left = stdout(&output).trim().parse().expect("a number");
    let ours = daemon.kept().held.take().expect("it was held");
    let mut ends = [rustix::event::PollFd::new(
        &ours,
        rustix::event::PollFlags::empty(),
    )];
    let timeout = rustix::event::Timespec {
        tv_sec: 30,
        tv_nsec: 0,
    };
    let ended = rustix::event::poll(&mut ends, Some(&timeout)).expect("polls");
    kill_process(Pid::from_raw(left).expect("an id"), Signal::KILL).expect("it runs still");
    assert_eq!(ended, 1, "nobody has the other end");
}

#[test]
fn signals_are_passed_on_and_do_not_end_the_hold_before_the_command() {
    let daemon = Pretended::start();
    let script = "trap 'echo term; exit 7' TERM; trap 'echo int' INT; echo ready; \
                  while :; do sleep 0.05; done";
    let mut child = with_signals("--default-signal", &hold(&daemon, &[], script))
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let id = Pid::from_raw(child.id().cast_signed()).expect("an id");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    assert_eq!(next(), "ready");
    kill_process(id, Signal::INT).expect("it runs");
    assert_eq!(next(), "int");
    kill_process(id, Signal::TERM).expect("it runs");
    assert_eq!(next(), "term");
    assert_eq!(child.wait().expect("it ends").code(), Some(7));
}

#[test]
fn what_whoever_started_it_ignores_the_command_ignores_too() {
    let daemon = Pretended::start();
    let command = hold(&daemon, &[], "kill -HUP $PPID $$; echo survived");
    let output = with_signals("--ignore-signal=HUP", &command)
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "survived\n");
}

#[test]
fn a_cancelled_hold_is_said_and_the_command_goes_on() {
    let daemon = Pretended::start();
    let mut child = hold(&daemon, &[], "echo ready; read line; exit 3")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut ready = [0; 6];
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut ready).expect("it runs");
    drop(daemon.kept().held.take());
    let mut said = String::new();
    BufReader::new(child.stderr.take().expect("a pipe"))
        .read_line(&mut said)
        .expect("a sentence");
    assert!(said.contains("the command goes on"), "{said}");
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
}

#[test]
fn without_a_hold_the_command_runs_only_if_that_is_asked_for() {
    let daemon = Pretended::start();
    daemon.kept().refusal = Some((BusError::AccessDenied, "No."));
    let output = hold(&daemon, &[], "echo ran").output().expect("it starts");
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(5), "")
    );
    let output = hold(&daemon, &["--optional"], "echo ran").output();
    let output = output.expect("it starts");
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "ran\n")
    );
    assert!(stderr(&output).contains("without a hold"));
}

#[test]
fn the_report_is_printed_or_written() {
    let daemon = Pretended::start();
    assert_eq!(stdout(&daemon.run("diagnostics")), "a report\n");
    let output = daemon.run("diagnostics --json");
    let answer: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(answer, json!({ "report": ["a report"] }));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("report.txt");
    let output = daemon.run(&format!("diagnostics -o {}", path.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert_eq!(
        std::fs::read_to_string(&path).expect("a file"),
        "a report\n"
    );
    daemon.kept().refusal = Some((BusError::AccessDenied, "No."));
    assert_eq!(daemon.run("diagnostics").status.code(), Some(5));
    let output = daemon.run(&format!("diagnostics -o {}", path.display()));
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(std::fs::read(&path).expect("it stays"), b"a report\n");
}

#[test]
fn status_says_who_decided_and_who_holds() {
    let daemon = Pretended::start();
    daemon.kept().confirm_usec = u64::MAX;
    let text = stdout(&daemon.run("status"));
    for words in [
        "boot",
        "pandemonium confirm",
        "adaptive by game, user 7: fun",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let value: Value = serde_json::from_slice(&daemon.run("status --json").stdout).expect("JSON");
    assert_eq!(value["boot_mode"], "bpf");
    assert_eq!(value["mode_reason"], "boot");
    let hold = json!({
        "mode": "adaptive", "application": "game", "reason": "fun", "uid": 7, "usec": 9
    });
    assert_eq!(value["holds"], json!([hold]));
}
