//! Holds the files under `data/` against the names in this crate.

#![allow(clippy::unwrap_used)]

use pandemonium_api::{
    BUS_NAME, BusError, INTERFACES, METRICS_INTERFACE, OBJECT_PATH, PROCESSES_INTERFACE,
    SCHEDULER_INTERFACE, UNIT, USER, action, message_id, mode, state,
};
use roxmltree::{Document, ParsingOptions};
use zbus::proxy::Defaults;

fn read(path: &str) -> String {
    let path = format!("{}/../data/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn parse(text: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).unwrap()
}

/// The values of this attribute, of every element with this tag.
fn values(text: &str, tag: &str, attribute: &str) -> Vec<String> {
    let document = parse(text);
    let nodes = document.descendants().filter(|node| node.has_tag_name(tag));
    nodes
        .filter_map(|node| node.attribute(attribute).map(str::to_owned))
        .collect()
}

/// The values of this key in a file of `KEY=VALUE` lines.
fn settings(text: &str, key: &str) -> Vec<String> {
    let value = |line: &str| {
        line.split_once('=')
            .filter(|(k, _)| *k == key)
            .map(|(_, v)| v.to_owned())
    };
    text.lines().filter_map(value).collect()
}

#[test]
fn the_interface_file_has_these_names() {
    let text = read("dbus/org.pandemonium.Scheduler1.xml");
    assert_eq!(values(&text, "node", "name"), [OBJECT_PATH]);
    assert_eq!(values(&text, "interface", "name"), INTERFACES);
    for state in state::ALL {
        assert!(text.contains(state), "the state {state} is not explained");
    }
    for mode in mode::ALL {
        assert!(text.contains(mode), "the mode {mode} is not explained");
    }
    for error in BusError::ALL.map(BusError::name) {
        let Some(own) = error.strip_prefix("org.pandemonium.Error.") else {
            continue;
        };
        assert!(text.contains(own), "the error {own} is not explained");
    }
}

#[test]
fn the_proxies_have_these_names() {
    fn names<P: Defaults>() -> (String, String, String) {
        (
            P::INTERFACE.as_ref().unwrap().to_string(),
            P::DESTINATION.as_ref().unwrap().to_string(),
            P::PATH.as_ref().unwrap().to_string(),
        )
    }
    let expected = |interface: &str| {
        (
            interface.to_owned(),
            BUS_NAME.to_owned(),
            OBJECT_PATH.to_owned(),
        )
    };
    assert_eq!(
        names::<pandemonium_api::Scheduler1Proxy<'_>>(),
        expected(SCHEDULER_INTERFACE)
    );
    assert_eq!(
        names::<pandemonium_api::Metrics1Proxy<'_>>(),
        expected(METRICS_INTERFACE)
    );
    assert_eq!(
        names::<pandemonium_api::Processes1Proxy<'_>>(),
        expected(PROCESSES_INTERFACE)
    );
}

#[test]
fn the_bus_policy_names_them_and_nothing_else() {
    let text = read("dbus/org.pandemonium.Scheduler1.conf");
    assert_eq!(values(&text, "allow", "own"), [BUS_NAME]);
    assert_eq!(values(&text, "policy", "user"), [USER]);
    let document = parse(&text);
    for rule in document
        .descendants()
        .filter(|node| node.has_tag_name("allow"))
    {
        let is_own = rule.attribute("own").is_some();
        assert!(
            is_own || rule.attribute("send_destination") == Some(BUS_NAME),
            "{rule:?}"
        );
    }
    let mut interfaces = values(&text, "allow", "send_interface");
    interfaces.retain(|name| !name.starts_with("org.freedesktop.DBus."));
    assert_eq!(interfaces, INTERFACES);
}

#[test]
fn activation_and_unit_name_each_other() {
    let activation = read("dbus/org.pandemonium.Scheduler1.service");
    assert_eq!(settings(&activation, "Name"), [BUS_NAME]);
    assert_eq!(settings(&activation, "SystemdService"), [UNIT]);
    assert_eq!(settings(&activation, "User"), [USER]);
    let unit = read(&format!("systemd/{UNIT}.in"));
    assert_eq!(settings(&unit, "BusName"), [BUS_NAME]);
    assert_eq!(settings(&unit, "User"), [USER]);
    assert_eq!(settings(&unit, "ExecStart"), ["@libexecdir@/pandemoniumd"]);
    for key in ["AmbientCapabilities", "CapabilityBoundingSet"] {
        assert_eq!(settings(&unit, key), ["CAP_BPF CAP_PERFMON"]);
    }
    let users = read("systemd/pandemonium.sysusers.conf");
    assert!(
        users
            .lines()
            .any(|line| line.starts_with(&format!("u {USER} ")))
    );
}

#[test]
fn the_polkit_policy_has_these_actions() {
    let text = read("polkit/org.pandemonium.policy");
    assert_eq!(values(&text, "action", "id"), action::ALL);
    let document = parse(&text);
    for action in document
        .descendants()
        .filter(|node| node.has_tag_name("action"))
    {
        let text_of = |tag: &str| {
            let node = action
                .descendants()
                .find(|node| node.has_tag_name(tag))
                .unwrap();
            node.text().unwrap_or_default().to_owned()
        };
        // Whoever sits there may, except for what concerns everybody else on the machine too; anybody
        // else has to be an administrator, and can be over SSH.
        let everybodys = [action::CONFIGURE, action::MODIFY_PROFILES];
        let is_everybodys = action
            .attribute("id")
            .is_some_and(|id| everybodys.contains(&id));
        let active = if is_everybodys {
            "auth_admin_keep"
        } else {
            "yes"
        };
        assert_eq!(text_of("allow_active"), active);
        assert_eq!(text_of("allow_inactive"), "auth_admin");
        assert_eq!(text_of("allow_any"), "auth_admin");
        assert_eq!(text_of("annotate"), format!("unix-user:{USER}"));
        assert!(!text_of("message").is_empty() && !text_of("description").is_empty());
    }
}

#[test]
fn the_journal_catalog_has_these_messages() {
    let text = read("systemd/pandemonium.catalog");
    let ids: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("-- "))
        .collect();
    assert_eq!(ids, message_id::ALL);
}
