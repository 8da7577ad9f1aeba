//! The binary with a daemon that can be told things.

mod binary;
mod bus;
mod pretended;

use binary::{stderr, stdout};
use pandemonium_api::BusError;
use pretended::Pretended;
use serde_json::{Value, json};

fn parsed(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn names_of_compositors_are_listed_added_and_removed() {
    let daemon = Pretended::start();
    for line in ["compositor", "compositor list"] {
        assert_eq!(stdout(&daemon.run(line)), "kwin_wayland*\nsway\n");
    }
    for line in ["compositor --json", "compositor list --json"] {
        assert_eq!(parsed(&daemon.run(line)), json!(["kwin_wayland*", "sway"]));
    }
    for line in ["compositor add wayfire-*", "compositor remove sway"] {
        let output = daemon.run(line);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output) + &stderr(&output), "", "done is enough");
    }
    assert_eq!(
        daemon.kept().requests,
        ["add wayfire-*", "remove sway"],
        "looking asks for nothing"
    );
    assert_eq!(
        stdout(&daemon.run("compositor")),
        "kwin_wayland*\nwayfire-*\n"
    );
}

#[test]
fn the_domain_is_shown_and_set() {
    let daemon = Pretended::start();
    for line in ["domain", "domain show"] {
        assert_eq!(stdout(&daemon.run(line)), "all\n");
    }
    assert_eq!(
        stdout(&daemon.run("domain set performance")),
        "performance: CPUs 4-7\n"
    );
    assert_eq!(
        parsed(&daemon.run("domain --json")),
        json!({ "domain": "performance", "mask": "0xf0", "cpus": [4, 5, 6, 7] })
    );
    assert_eq!(
        parsed(&daemon.run("domain set all --json")),
        json!({ "domain": "all", "mask": null, "cpus": null })
    );
    assert_eq!(daemon.kept().requests, ["domain performance", "domain all"]);
}

#[test]
fn the_idle_selector_is_shown_and_switched() {
    let daemon = Pretended::start();
    assert_eq!(stdout(&daemon.run("idle-selector")), "on\n");
    assert_eq!(stdout(&daemon.run("idle-selector off")), "off\n");
    assert_eq!(
        parsed(&daemon.run("idle-selector --json")),
        json!({ "idle_selector": false })
    );
    assert_eq!(
        parsed(&daemon.run("idle-selector on --json")),
        json!({ "idle_selector": true })
    );
    assert_eq!(daemon.kept().requests, ["idle false", "idle true"]);
}

#[test]
fn the_power_map_is_shown_changed_entry_by_entry_and_put_back() {
    let daemon = Pretended::start();
    let shown = "source   battery\nprofile  unknown\nmap      battery=0xf0\n\
                 domain   all (the map counts with auto: pandemonium domain set auto)\n";
    for line in ["power", "power show"] {
        assert_eq!(stdout(&daemon.run(line)), shown);
    }
    assert_eq!(
        parsed(&daemon.run("power --json")),
        json!({
            "source": "battery",
            "profile": null,
            "map": { "battery": "0xf0" },
            "primary_domain": { "domain": "all", "mask": null, "cpus": null },
        })
    );
    let added = parsed(&daemon.run("power set ac=all performance=0x3 --json"));
    assert_eq!(
        added["map"],
        json!({ "ac": "all", "battery": "0xf0", "performance": "0x3" })
    );
    daemon.run("power set battery=none");
    let reset = stdout(&daemon.run("power reset"));
    assert!(reset.contains("map      ac=all\n"), "{reset}");
    assert_eq!(
        daemon.kept().requests,
        [
            "power ac=all battery=0xf0 performance=0x3",
            "power ac=all performance=0x3",
            "reset power-map",
        ],
        "looking asks for nothing"
    );
}

#[test]
fn each_choice_goes_back_to_the_configuration() {
    let daemon = Pretended::start();
    for (line, said) in [
        ("compositor reset", ""),
        ("compositor", "sway\n"),
        ("domain reset", "auto: every CPU\n"),
        ("idle-selector off", "off\n"),
        ("idle-selector reset", "on\n"),
    ] {
        let output = daemon.run(line);
        assert_eq!(stdout(&output) + &stderr(&output), said, "{line}");
    }
    assert_eq!(parsed(&daemon.run("domain reset --json"))["domain"], "auto");
    assert_eq!(
        daemon.kept().requests,
        [
            "reset compositors",
            "reset primary-domain",
            "idle false",
            "reset idle-selector",
            "reset primary-domain",
        ]
    );
}

#[test]
fn a_refusal_is_the_daemons_sentence_and_its_exit_status() {
    let daemon = Pretended::start();
    for (error, status) in [
        (BusError::InvalidName, 6),
        (BusError::NotFound, 6),
        (BusError::LimitsExceeded, 6),
        (BusError::InvalidArgs, 6),
        (BusError::LoadFailed, 6),
        (BusError::AccessDenied, 5),
    ] {
        daemon.kept().refusal = Some((error, "it has its reasons"));
        for line in [
            "compositor add a/b",
            "compositor remove nobody",
            "domain set turbo",
            "idle-selector off",
            "power set batery=all",
            "power reset",
            "compositor reset",
            "domain reset",
            "idle-selector reset",
        ] {
            let output = daemon.run(line);
            assert_eq!(output.status.code(), Some(status), "{error:?}: {line}");
            let said = stderr(&output);
            assert!(said.ends_with("it has its reasons\n"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            assert_eq!(stdout(&output), "", "{line}");
        }
    }
    let kept = daemon.kept();
    assert_eq!((kept.domain.as_str(), kept.idle_selector), ("all", true));
}

#[test]
fn a_daemon_that_ran_before_an_upgrade_is_recognised() {
    let daemon = Pretended::start_old();
    for line in [
        "compositor",
        "compositor add sway",
        "domain",
        "domain set all",
        "idle-selector",
        "idle-selector on",
        "power",
        "power set ac=all",
        "power reset",
        "compositor reset",
        "domain reset",
        "idle-selector reset",
        "bench idle -i 10",
    ] {
        let output = daemon.run(line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert_eq!(
            stderr(&output),
            "pandemonium: the daemon that runs is older than this command; restart it with \
             `systemctl restart pandemonium`\n",
            "{line}"
        );
    }
}

#[test]
fn the_status_tells_what_was_chosen() {
    let daemon = Pretended::start();
    let text = stdout(&daemon.run("status"));
    for row in [
        "interactive now     on 3 of 8 CPUs\n",
        "primary domain      all\n",
        "idle selector       on\n",
        "compositors         2 names\n",
    ] {
        assert!(text.contains(row), "{text}");
    }
    let value = parsed(&daemon.run("status --json"));
    assert_eq!(value["primary_domain"]["domain"], "all");
    assert_eq!(value["idle_selector"], true);
    assert_eq!(
        value["compositors"],
        serde_json::json!(["kwin_wayland*", "sway"])
    );
    assert_eq!(value["sample"]["interactive_running"], 3);
}

#[test]
fn output_that_is_no_terminal_has_no_colours() {
    let daemon = Pretended::start();
    for line in [
        "status",
        "compositor",
        "domain",
        "bench idle -i 5 -w 0 -t 1 -b 0 --rounds 2",
    ] {
        let output = daemon.run(line);
        assert!(!output.stdout.contains(&0x1b), "{line}");
        assert!(!output.stderr.contains(&0x1b), "{line}");
    }
}

#[test]
fn the_history_is_fetched_to_its_end_and_printed_in_every_form() {
    let daemon = Pretended::start();
    let text = stdout(&daemon.run("history --csv"));
    assert_eq!(text.lines().count(), 1 + 900);
    assert!(text.starts_with("usec,elapsed_usec,regime,"), "{text}");
    let value = parsed(&daemon.run("history --since 1h --json"));
    let points = value.as_array().expect("an array");
    assert_eq!(points.len(), 900);
    assert_eq!(points[0]["regime"], "MIXED");
    assert_eq!(stdout(&daemon.run("history")).lines().count(), 1 + 900);
}

#[test]
fn metrics_are_for_people_scripts_and_prometheus() {
    let daemon = Pretended::start();
    assert!(stdout(&daemon.run("metrics")).contains("online_cpus"));
    assert_eq!(parsed(&daemon.run("metrics --json"))["regime"], "HEAVY");
    let text = stdout(&daemon.run("metrics --prometheus"));
    assert!(text.contains("\npandemonium_online_cpus 8\n"), "{text}");
}
