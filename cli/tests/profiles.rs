//! The binary and learned profiles, with a daemon that keeps what it is told.

mod binary;
mod bus;
mod pretended;

use std::process::Stdio;

use binary::{stderr, stdout};
use pandemonium_api::BusError;
use pretended::Pretended;
use pretended::processes::EXPORTED;

#[test]
fn profiles_are_listed_with_and_without_the_word_for_it() {
    let daemon = Pretended::start();
    let text = stdout(&daemon.run("profiles"));
    assert_eq!(text.lines().count(), 3, "{text}");
    assert_eq!(stdout(&daemon.run("profiles list")), text);
    let pinned = stdout(&daemon.run("profiles list --pinned --json"));
    let value: serde_json::Value = serde_json::from_str(&pinned).expect("JSON");
    assert_eq!(value.as_array().map(Vec::len), Some(1));
    assert!(daemon.kept().requests.is_empty());
}

#[test]
fn one_program_is_shown_with_the_reason_for_its_tier() {
    let daemon = Pretended::start();
    let text = stdout(&daemon.run("profiles show make"));
    assert!(
        text.contains("make") && text.contains("it was pinned"),
        "{text}"
    );
}

#[test]
fn changes_are_asked_for_and_print_nothing() {
    let daemon = Pretended::start();
    for line in [
        "profiles pin kwin lat_critical",
        "profiles pin \\x1b\\\\ batch",
        "profiles pin gam\\x2a batch",
        "profiles unpin kwin",
        "profiles forget kwin",
    ] {
        let output = daemon.run(line);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output) + &stderr(&output), "", "{line}");
    }
    let kwin = "[107, 119, 105, 110]";
    assert_eq!(
        daemon.kept().requests,
        [
            format!("pin {kwin} lat_critical"),
            "pin [27, 92] batch".to_owned(),
            "pin [103, 97, 109, 42] batch".to_owned(),
            format!("unpin {kwin}"),
            format!("forget {kwin}"),
        ]
    );
    daemon.kept().refusal = Some((BusError::NotFound, "This program is not pinned."));
    let output = daemon.run("profiles unpin kwin");
    assert_eq!(output.status.code(), Some(6));
    assert!(stderr(&output).contains("is not pinned"));
}

#[test]
fn forgetting_everything_takes_a_yes() {
    let daemon = Pretended::start();
    let mut command = daemon.command("profiles forget --all");
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--yes"));
    assert!(daemon.kept().requests.is_empty());
    let output = daemon.run("profiles forget --all --yes");
    assert_eq!(stdout(&output), "7 programs forgotten\n");
    assert_eq!(daemon.kept().requests, ["forget all"]);
}

#[test]
fn an_export_goes_to_standard_output_or_to_a_file_and_a_refusal_leaves_none() {
    let daemon = Pretended::start();
    assert_eq!(stdout(&daemon.run("profiles export")).len(), EXPORTED);
    let dir = tempfile::tempdir().expect("a directory");
    let (file, other) = (dir.path().join("out.toml"), dir.path().join("other.toml"));
    let output = daemon.run(&format!("profiles export {}", file.display()));
    assert_eq!(stdout(&output) + &stderr(&output), "");
    assert_eq!(std::fs::read(&file).expect("written").len(), EXPORTED);
    daemon.kept().refusal = Some((BusError::AccessDenied, "Not authorized."));
    let output = daemon.run(&format!("profiles export {}", other.display()));
    assert_eq!(output.status.code(), Some(5));
    assert!(!other.exists());
}

#[test]
fn an_import_comes_from_a_file_or_from_standard_input() {
    let daemon = Pretended::start();
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("in.toml");
    std::fs::write(&file, "text").expect("a file");
    let output = daemon.run(&format!("profiles import {} --replace", file.display()));
    assert_eq!(
        stdout(&output),
        "2 programs imported\n",
        "{}",
        stderr(&output)
    );
    let from = std::fs::File::open(&file).expect("readable");
    let mut command = daemon.command("profiles import -");
    let output = command.stdin(from).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        daemon.kept().requests,
        ["import text true", "import text false"]
    );
    let output = daemon.run("profiles import /nowhere");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_cannot_be_imported_is_named_with_what_can() {
    let daemon = Pretended::start();
    // Standard input is /dev/null here.
    for (file, name) in [
        ("/etc", "/etc"),
        ("/dev/zero", "/dev/zero"),
        ("/dev/null", "/dev/null"),
        ("-", "standard input"),
    ] {
        let output = daemon.run(&format!("profiles import {file}"));
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert_eq!(
            stderr(&output),
            format!(
                "pandemonium: {name} is neither a regular file nor a pipe; give one with what \
                 `pandemonium profiles export` wrote\n"
            )
        );
    }
    assert!(daemon.kept().requests.is_empty());
}
