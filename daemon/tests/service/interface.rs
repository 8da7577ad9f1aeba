//! The shipped files against what the daemon serves.

use std::collections::{BTreeSet, HashMap};

use pandemonium_api::{BUS_NAME, INTERFACES, OBJECT_PATH, USER, mode};
use roxmltree::{Document, Node, ParsingOptions};
use zbus::fdo::{IntrospectableProxy, PeerProxy, PropertiesProxy};

use crate::harness::{Bus, World, until};

fn shipped(name: &str) -> String {
    let path = format!("{}/../data/dbus/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Every member of our interfaces as one line each, so that order and comments do not matter.
fn members(xml: &str) -> BTreeSet<String> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(xml, options).unwrap();
    let attributes = |node: &Node<'_, '_>, default: &str| {
        let get = |name: &str| node.attribute(name).unwrap_or_default().to_owned();
        let direction = node.attribute("direction").unwrap_or(default);
        format!(
            "{} {} {} {direction}",
            get("name"),
            get("type"),
            get("access")
        )
    };
    let mut lines = BTreeSet::new();
    for interface in document
        .descendants()
        .filter(|node| node.has_tag_name("interface"))
    {
        let name = interface.attribute("name").unwrap();
        if !INTERFACES.contains(&name) {
            continue;
        }
        for member in interface.children().filter(Node::is_element) {
            let default = if member.has_tag_name("method") {
                "in"
            } else {
                ""
            };
            let parts: Vec<_> = member
                .children()
                .filter(Node::is_element)
                .map(|part| match part.tag_name().name() {
                    "annotation" => part.attribute("value").unwrap().to_owned(),
                    _ => attributes(&part, default),
                })
                .collect();
            let kind = member.tag_name().name();
            lines.insert(format!(
                "{name} {kind} {} {parts:?}",
                attributes(&member, "")
            ));
        }
    }
    lines
}

#[tokio::test]
async fn the_shipped_interface_file_is_what_is_served() {
    let world = World::start("").await;
    let served = IntrospectableProxy::builder(&world.client)
        .destination(BUS_NAME)
        .path(OBJECT_PATH)
        .build()
        .await
        .unwrap()
        .introspect()
        .await
        .unwrap();
    let (served, shipped) = (
        members(&served),
        members(&shipped("org.pandemonium.Scheduler1.xml")),
    );
    let only_served: Vec<_> = served.difference(&shipped).collect();
    let only_shipped: Vec<_> = shipped.difference(&served).collect();
    assert!(
        only_served.is_empty() && only_shipped.is_empty(),
        "only served: {only_served:#?}\nonly in the file: {only_shipped:#?}"
    );
    assert!(shipped.len() > 20);
}

/// A bus that denies everything but what the shipped policy allows.
fn strict_policy() -> String {
    let shipped = shipped("org.pandemonium.Scheduler1.conf");
    let body = shipped
        .split_once("<busconfig>")
        .unwrap()
        .1
        .split_once("</busconfig>")
        .unwrap()
        .0;
    // The user of the package does not exist here; this one stands in for it.
    let uid = rustix::process::geteuid().as_raw().to_string();
    let body = body.replace(&format!("user=\"{USER}\""), &format!("user=\"{uid}\""));
    assert!(body.contains(&uid));
    format!(
        r#"<policy context="default">
    <allow user="*"/><deny own="*"/><deny send_type="method_call"/>
    <allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/><allow receive_type="method_call"/>
    <allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
    <allow own="org.freedesktop.PolicyKit1"/>
    <allow send_destination="org.freedesktop.PolicyKit1"/>
  </policy>
  {body}"#
    )
}

#[tokio::test]
async fn the_shipped_bus_policy_lets_every_member_through() {
    let mut world = World::prepare("").await;
    let directory = tempfile::tempdir().unwrap();
    world.bus = Bus::with_policy(directory.path(), &strict_policy());
    world.client = world.bus.connect().await;
    world.start_polkit().await;
    world.launch(&[]).await;

    until("it runs", async || world.state().await == "running").await;
    world.set_mode(mode::BPF).await.unwrap();
    let scheduler = world.scheduler().await;
    scheduler.add_compositor("mywm").await.unwrap();
    scheduler.remove_compositor("mywm").await.unwrap();
    scheduler.set_primary_domain("all").await.unwrap();
    scheduler.set_idle_selector(true).await.unwrap();
    world.metrics().await.get_snapshot().await.unwrap();
    world
        .processes()
        .await
        .list(0, 0, HashMap::new())
        .await
        .unwrap();
    let properties = PropertiesProxy::builder(&world.client)
        .destination(BUS_NAME)
        .path(OBJECT_PATH)
        .build()
        .await
        .unwrap();
    for interface in INTERFACES {
        let all = properties
            .get_all(interface.try_into().unwrap())
            .await
            .unwrap();
        assert!(all.len() >= 3, "{interface}: {all:?}");
    }
    let peer = PeerProxy::builder(&world.client)
        .destination(BUS_NAME)
        .path(OBJECT_PATH);
    peer.build().await.unwrap().ping().await.unwrap();

    // The policy does deny what it does not name.
    let stray = world
        .client
        .call_method(
            Some(BUS_NAME),
            OBJECT_PATH,
            Some("org.example.Other"),
            "Foo",
            &(),
        )
        .await;
    assert!(matches!(stray, Err(zbus::Error::FDO(error)) if
        matches!(*error, zbus::fdo::Error::AccessDenied(_))));
}
