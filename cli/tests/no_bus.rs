//! The binary on a machine without a system bus, and what needs none.

mod binary;

use binary::{pandemonium, stderr, stdout};

/// Exactly one sentence, ours, for a person.
fn sentence(output: &std::process::Output) -> String {
    let text = stderr(output);
    assert!(text.starts_with("pandemonium: "), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn what_needs_the_daemon_says_that_there_is_no_bus() {
    for arguments in [
        &["status"][..],
        &["status", "--json"],
        &["mode"],
        &["mode", "adaptive"],
        &["profiles"],
        &["monitor"],
        &["monitor", "--json", "--count", "1"],
        &["monitor", "--full"],
        &["compositor"],
        &["compositor", "--json"],
        &["compositor", "add", "sway"],
        &["domain"],
        &["domain", "set", "auto"],
        &["idle-selector"],
        &["idle-selector", "off"],
        &["power"],
        &["power", "set", "battery=powersave"],
        &["bench"],
        &["bench", "--json", "--rows", "pipe"],
        &["bench", "idle"],
        &["bench", "idle", "--json"],
    ] {
        let output = pandemonium(arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
        let text = sentence(&output);
        assert!(text.contains("the system bus cannot be reached"), "{text}");
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn an_unknown_mode_is_one_sentence_that_lists_the_modes() {
    let output = pandemonium(&["mode", "turbo\x1b[2J"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        sentence(&output),
        "pandemonium: \"turbo\\x1b[2J\" is not a valid mode; it is one of adaptive, bpf, off\n"
    );
    let output = pandemonium(&["idle-selector", "maybe"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        sentence(&output),
        "pandemonium: \"maybe\" is not a valid state; it is one of on, off, reset\n"
    );
    let output = pandemonium(&["profiles", "--sort", "luck"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(sentence(&output).contains("is not a valid --sort; it is one of observations, name"));
}

#[test]
fn a_command_line_that_is_not_understood_is_answered_with_one_sentence() {
    for (line, told) in [
        (
            "revert now",
            "unexpected argument 'now' found; see `pandemonium revert --help`",
        ),
        (
            "profiles pin kwin",
            "the following required arguments were not provided: <TIER>; \
             see `pandemonium profiles pin --help`",
        ),
        (
            "set --persist",
            "the following required arguments were not provided: <MODE>; see `pandemonium mode --help`",
        ),
        (
            "monitor --json --plain",
            "the argument '--json' cannot be used with '--plain'; see `pandemonium monitor --help`",
        ),
        (
            "mode bpf --confirm-timeout 4",
            "\"4\" is not a valid --confirm-timeout: 4 is not in 5 to 600",
        ),
        (
            "profiles pin gam* batch",
            "\"gam*\" is not a valid name: there are no patterns here; \
             a * that is part of a name is written \\x2a",
        ),
        (
            "power set battery",
            "\"battery\" is not a valid situation=domain: \
             an entry is a situation, = and a domain, such as battery=powersave",
        ),
        (
            "stauts",
            "unrecognized subcommand 'stauts'; did you mean status?",
        ),
        (
            "status --jsno",
            "unexpected argument '--jsno' found; did you mean --json?",
        ),
        (
            "revert \u{202e}won",
            "unexpected argument '\\u{202e}won' found; see `pandemonium revert --help`",
        ),
    ] {
        let words: Vec<_> = line.split(' ').collect();
        let output = pandemonium(&words);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(sentence(&output), format!("pandemonium: {told}\n"));
    }
}

#[test]
fn strange_command_lines_are_refused_without_a_panic() {
    for arguments in [
        &[][..],
        &["--nonsense"],
        &["mode", ""],
        &["mode", "adaptive", "bpf"],
        &["probe", "--seconds", "99999999999999999999"],
        &["monitor", "--count", "-1"],
        &["completions", "tcsh"],
        &["compositor", "add"],
        &["compositor", "add", "a", "b"],
        &["compositor", "--json", "add", "a"],
        &["compositor", "help"],
        &["domain", "set"],
        &["domain", "performance"],
        &["idle-selector", ""],
        &["power", "set"],
        &["power", "set", "battery"],
        &["bench", "everything"],
        &["bench", "--rows", "everything"],
        &["bench", "--modes", "off"],
        &["bench", "--json", "idle"],
        &["bench", "compare", "one"],
        &["bench", "idle", "--rounds", "3"],
        &["bench", "idle", "--threads", "99999999999999999999"],
    ] {
        let output = pandemonium(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(!stderr(&output).contains("panicked"), "{arguments:?}");
    }
}

#[test]
fn arguments_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let strange = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    let output = pandemonium(&[std::ffi::OsStr::new("mode"), strange]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_short_probe_works_without_anything() {
    let output = pandemonium(&[
        "probe",
        "--seconds",
        "1",
        "--interval-us",
        "10000",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["wakeups"].as_u64() > Some(0), "{report}");
    assert!(
        report["p50_us"].as_u64() <= report["max_us"].as_u64(),
        "{report}"
    );
}

#[test]
fn a_single_benchmark_round_works_without_anything() {
    let arguments = "bench idle --no-compare -i 50 -w 5 -t 2 -b 1";
    let words: Vec<&str> = arguments.split(' ').collect();
    let output = pandemonium(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("round trips   50 in each round, through 2 threads"));

    let output = pandemonium(&[&words[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        report["rounds"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    assert_eq!(report["rounds"][0]["round_trips"], 50);
    assert!(report["rounds"][0]["p50_ns"].as_f64() <= report["rounds"][0]["max_ns"].as_f64());
    assert_eq!(report["comparison"], serde_json::Value::Null);
}

#[test]
fn the_long_help_of_what_changes_things_has_examples() {
    for (arguments, example) in [
        (
            &["compositor", "--help"][..],
            "pandemonium compositor add gamescope-wl",
        ),
        (&["domain", "--help"], "pandemonium domain set 0xff"),
        (
            &["idle-selector", "--help"],
            "pandemonium idle-selector off",
        ),
        (&["bench", "idle", "--help"], "sudo pandemonium bench idle"),
    ] {
        let text = stdout(&pandemonium(arguments));
        assert!(
            text.contains("Examples:") && text.contains(example),
            "{text}"
        );
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let help = pandemonium(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let text = stdout(&help);
    assert!(
        text.contains("Exit status:") && text.contains("monitor"),
        "{text}"
    );
    assert!(
        !text.contains("man "),
        "the generator for packagers is hidden: {text}"
    );
    let version = stdout(&pandemonium(&["--version"]));
    assert_eq!(
        version,
        format!("pandemonium {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    for arguments in ["completions bash", "--help", "probe --seconds 1", "check"] {
        let script = format!("exec 2>&1; \"$0\" {arguments} | true; echo ${{PIPESTATUS[0]}}");
        let output = binary::bash(&script);
        let text = stdout(&output);
        let status = text.trim();
        assert!(
            status == "0" || (arguments == "check" && status == "1"),
            "{arguments}: {text}"
        );
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let output = binary::bash("\"$0\" completions bash > /dev/full");
    assert_eq!(output.status.code(), Some(1));
    assert!(sentence(&output).contains("could not be written"));
}

#[test]
fn manual_pages_need_a_directory() {
    let output = pandemonium(&["man", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(sentence(&output).contains("/nonexistent"));
}
