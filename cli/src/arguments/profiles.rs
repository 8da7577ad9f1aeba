//! What can be asked about learned profiles.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};

/// Which learned profiles to list, and how.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
    /// What to sort by
    #[arg(long, value_enum, default_value_t = Sort::Observations)]
    pub sort: Sort,
    /// Print at most this many
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Only programs whose tier was decided
    #[arg(long)]
    pub pinned: bool,
}

/// What can be done with learned profiles.
#[derive(Debug, Subcommand)]
pub enum ProfilesAction {
    /// List the programs
    List(ListArguments),
    /// Show one program, and why it has its tier
    Show {
        /// Its name
        #[arg(value_parser = name)]
        name: Name,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Decide on the tier of a program, known or not
    ///
    /// Programs that run already follow when they wake the next time, or a few wake-ups later.
    ///
    /// lat_critical is for programs that sleep: it has the budget of a compositor, half a CPU, and beyond
    /// that counts what the program does. One pinned as interactive that runs on is batch until it sleeps.
    Pin {
        /// Its name
        #[arg(value_parser = name)]
        name: Name,
        /// The tier
        #[arg(value_parser = ["batch", "interactive", "lat_critical"])]
        tier: String,
    },
    /// Take such a decision back
    Unpin {
        /// Its name
        #[arg(value_parser = name)]
        name: Name,
    },
    /// Forget what was learned about a program, or about all; what was decided stays
    Forget {
        /// Its name
        #[arg(value_parser = name, required_unless_present = "all", conflicts_with = "all")]
        name: Option<Name>,
        /// All programs
        #[arg(long)]
        all: bool,
        /// Do not ask
        #[arg(long, requires = "all")]
        yes: bool,
    },
    /// Write all profiles as text that can be read, edited and imported elsewhere
    Export {
        /// Where to; standard output without it
        file: Option<PathBuf>,
    },
    /// Take profiles over from such text: of two with one name, the one that was observed more often
    Import {
        /// Where from; - is standard input
        file: PathBuf,
        /// Forget all that is known before
        #[arg(long)]
        replace: bool,
    },
}

/// The bytes of a program's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub Vec<u8>);

/// A compositor's name may be a pattern, and this may not: whoever types a * most likely means one.
fn name(text: &str) -> Result<Name, String> {
    if text.contains('*') {
        return Err(
            "there are no patterns here; a * that is part of a name is written \\x2a".to_owned(),
        );
    }
    let bytes = pandemonium_api::unescape_name(text);
    bytes.map(Name).map_err(|what| format!("the name {what}"))
}

/// An order of learned profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Most observed first
    Observations,
    /// By name
    Name,
    /// By tier, the most latency-critical first
    Tier,
    /// Most certain first
    Confidence,
    /// Longest average run first
    Runtime,
    /// Most wake-ups first
    Wakeups,
    /// Last used first
    LastUse,
}
