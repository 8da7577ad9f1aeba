//! What can be chosen while the scheduler runs.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Subcommand, ValueEnum};

/// What can be done with the names of compositors.
#[derive(Debug, Subcommand)]
pub enum CompositorAction {
    /// List the names
    List {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Treat programs of this name as compositors
    Add {
        /// The name; a * at its end stands for any further bytes
        name: String,
    },
    /// Take a name back, a built-in one too
    Remove {
        /// The name as it is listed
        name: String,
    },
    /// Go back to the names of the configuration
    Reset,
}

/// What to do about the idle selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Selector {
    /// The scheduler chooses idle CPUs itself
    On,
    /// The kernel does
    Off,
    /// What the configuration says
    Reset,
}

/// What can be done with the primary domain.
#[derive(Debug, Subcommand)]
pub enum DomainAction {
    /// Show the domain and its CPUs
    Show {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Choose another domain, and show it
    Set {
        /// all, performance, powersave, auto, or a CPU mask in hex
        #[arg(value_parser = Suggested(&["all", "performance", "powersave", "auto"]),
              hide_possible_values = true)]
        domain: String,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Go back to the domain of the configuration, and show it
    Reset {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with the power map.
#[derive(Debug, Subcommand)]
pub enum PowerAction {
    /// Show the power situation and the map
    Show {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Set entries of the map, keep the others, and show it
    Set {
        /// ac, battery, performance, balanced or power-saver, and the domain for it: all, performance,
        /// powersave or a CPU mask in hex; none removes the entry
        #[arg(required = true, value_name = "SITUATION=DOMAIN", value_parser = entry)]
        entries: Vec<(String, String)>,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Go back to the map of the configuration, and show it
    Reset {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
}

/// The daemon decides what a situation and a domain is: a newer one may know more.
fn entry(text: &str) -> Result<(String, String), String> {
    let (key, domain) = text
        .split_once('=')
        .ok_or("an entry is a situation, = and a domain, such as battery=powersave")?;
    Ok((key.to_owned(), domain.to_owned()))
}

/// Any text. Completions offer these words; the daemon decides what it understands.
#[derive(Clone)]
struct Suggested(&'static [&'static str]);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}
