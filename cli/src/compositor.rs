//! `pandemonium compositor`: the names whose programs are treated as compositors.

use std::io::Write;

use pandemonium_api::choice;

use crate::arguments::CompositorAction;
use crate::connection::{Daemon, answer, block_on, explain};
use crate::error::Error;
use crate::text::{print_json, printable};

/// Lists the names, or has the daemon change them. A change prints nothing: it is done or an error.
pub fn run(action: &CompositorAction, out: &mut dyn Write) -> Result<(), Error> {
    match action {
        CompositorAction::List { json } => {
            let names = block_on(async {
                let daemon = Daemon::connect().await?;
                answer(daemon.scheduler.compositors()).await
            })?;
            list(&names, *json, out)
        }
        // A password dialog may come first, so both wait as long as it takes.
        CompositorAction::Add { name } => block_on(async {
            let daemon = Daemon::connect().await?;
            daemon.scheduler.add_compositor(name).await.map_err(explain)
        }),
        CompositorAction::Remove { name } => block_on(async {
            let daemon = Daemon::connect().await?;
            let removed = daemon.scheduler.remove_compositor(name).await;
            removed.map_err(explain)
        }),
        CompositorAction::Reset => block_on(async {
            let daemon = Daemon::connect().await?;
            let reset = daemon.scheduler.reset_choices(&[choice::COMPOSITORS]);
            reset.await.map_err(explain)
        }),
    }
}

fn list(names: &[String], json: bool, out: &mut dyn Write) -> Result<(), Error> {
    if json {
        return print_json(&names, out);
    }
    for name in names {
        writeln!(out, "{}", printable(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: &[&str], json: bool) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut out = Vec::new();
        list(&names, json, &mut out).expect("writing to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn names_are_lines_that_can_be_given_back() {
        assert_eq!(listed(&["kwin*", "sway"], false), "kwin*\nsway\n");
        assert_eq!(listed(&["a\x1b[2J"], false), "a\\x1b[2J\n");
        assert_eq!(listed(&[], false), "");
    }

    #[test]
    fn json_is_an_array_even_of_nothing() {
        let value: serde_json::Value =
            serde_json::from_str(&listed(&["kwin*", "sway"], true)).expect("JSON");
        assert_eq!(value, serde_json::json!(["kwin*", "sway"]));
        assert_eq!(listed(&[], true), "[]\n");
    }
}
