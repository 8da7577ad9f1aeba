//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::page::Page;

/// Shows what the PANDEMONIUM CPU scheduler does, and switches it.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "pandemonium-applet", version)]
pub struct Arguments {
    /// The page to show
    #[arg(long, value_name = "NAME")]
    pub page: Option<Page>,

    /// Start with the tray item alone, without a window
    #[arg(long, conflicts_with = "page")]
    pub hidden: bool,

    /// What the desktop says when it starts the program for a message and not for a window
    #[arg(long, hide = true, conflicts_with_all = ["hidden", "demo", "page"])]
    pub gapplication_service: bool,

    /// Show a pretended machine: nothing of this one is touched
    #[arg(long)]
    pub demo: bool,

    /// The script of the pretended machine instead of the built-in one
    #[arg(long, value_name = "FILE", requires = "demo")]
    pub demo_script: Option<PathBuf>,

    /// How many seconds of the demo pass in one
    #[arg(long, value_name = "N", requires = "demo", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=50))]
    pub demo_speed: u32,
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, ValueEnum};

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_manual_page_has_every_option_that_is_for_people() {
        let page = include_str!("../../data/man/pandemonium-applet.1").replace("\\-", "-");
        let mut command = Arguments::command();
        command.build();
        for option in command.get_arguments().filter(|a| !a.is_hide_set()) {
            let name = format!("--{}", option.get_long().expect("all have long names"));
            let told = |line: &str| line.split([' ', ',']).any(|word| word == name);
            assert!(page.lines().any(told), "{name}");
        }
        for page_name in Page::value_variants() {
            let value = page_name.to_possible_value().expect("each has a name");
            assert!(page.contains(value.get_name()), "{}", value.get_name());
        }
    }

    #[test]
    fn a_desktop_starts_it_as_a_service_and_nobody_else() {
        let parsed = |line: &[&str]| Arguments::try_parse_from(line).is_ok();
        assert!(parsed(&["x", "--gapplication-service"]));
        assert!(!parsed(&["x", "--gapplication-service", "--hidden"]));
        assert!(!parsed(&["x", "--gapplication-service", "--demo"]));
    }

    #[test]
    fn a_script_is_for_the_demo_only() {
        let parsed = |line: &[&str]| Arguments::try_parse_from(line).is_ok();
        assert!(parsed(&["x", "--demo", "--demo-script", "a"]));
        assert!(parsed(&["x", "--page", "processes"]));
        assert!(!parsed(&["x", "--page", "others"]));
        assert!(!parsed(&["x", "--demo-script", "a"]));
        assert!(!parsed(&["x", "--demo", "--demo-speed", "0"]));
    }
}
