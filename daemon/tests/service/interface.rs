//! The shipped interface file against what the daemon serves. That the shipped bus policy lets all of it through
//! is seen in `trust.rs`.

use std::collections::BTreeSet;

use pandemonium_api::{BUS_NAME, INTERFACES, OBJECT_PATH};
use roxmltree::{Document, Node, ParsingOptions};
use zbus::fdo::IntrospectableProxy;

use crate::harness::World;

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
