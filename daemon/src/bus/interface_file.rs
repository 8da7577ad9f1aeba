//! The shipped interface file, for the tests that hold the code against it.

use roxmltree::{Document, Node, ParsingOptions};

/// The names of all methods, sorted.
pub fn methods() -> Vec<String> {
    read(|document| {
        let nodes = document.descendants();
        names(nodes.filter(|node| node.has_tag_name("method")))
    })
}

/// The names of the properties of an interface whose changes are announced, sorted.
pub fn announced(interface: &str) -> Vec<String> {
    let is_announced = |node: &Node<'_, '_>| {
        node.has_tag_name("property") && !node.children().any(|n| n.has_tag_name("annotation"))
    };
    read(|document| {
        let interfaces = document.descendants().filter(|node| {
            node.has_tag_name("interface") && node.attribute("name") == Some(interface)
        });
        names(
            interfaces
                .flat_map(|node| node.children())
                .filter(is_announced),
        )
    })
}

fn names<'a, 'input: 'a>(nodes: impl Iterator<Item = Node<'a, 'input>>) -> Vec<String> {
    let names = nodes.filter_map(|node| node.attribute("name").map(str::to_owned));
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

fn read<T>(ask: impl FnOnce(&Document<'_>) -> T) -> T {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../data/dbus/org.pandemonium.Scheduler1.xml"
    );
    let text = std::fs::read_to_string(path).expect("readable");
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    ask(&Document::parse_with_options(&text, options).expect("valid"))
}
