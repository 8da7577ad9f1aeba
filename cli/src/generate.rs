//! Completions and manual pages, made from the definition of the command line.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap::builder::Resettable;
use clap_complete::Shell;

use crate::arguments::{Arguments, EXIT_STATUS};
use crate::error::Error;

const NAME: &str = "pandemonium";

/// Prints the completion script for `shell`.
pub fn completions(shell: Shell, out: &mut dyn Write) -> Result<(), Error> {
    // The generator panics when its output fails, so it only ever writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut script);
    out.write_all(&script)?;
    Ok(out.flush()?)
}

/// Writes `pandemonium.1` and a page for each subcommand into `dir`.
pub fn manual(dir: &Path) -> Result<(), Error> {
    // The generator would run the table of exit statuses together into one paragraph.
    let command = Arguments::command().after_help(Resettable::Reset);
    let written = clap_mangen::generate_to(command, dir).and_then(|()| {
        let page = dir.join(format!("{NAME}.1"));
        let mut page = OpenOptions::new().append(true).open(page)?;
        page.write_all(more_sections().as_bytes())
    });
    written.map_err(|error| {
        let dir = dir.display();
        Error::Failed(format!("manual pages cannot be written to {dir}: {error}"))
    })
}

fn more_sections() -> String {
    let mut text = String::from("\n.SH \"EXIT STATUS\"\n");
    for (code, meaning) in EXIT_STATUS {
        text.push_str(&format!(".TP\n.B {code}\n{meaning}\n"));
    }
    text.push_str(".SH \"SEE ALSO\"\n.BR pandemoniumd (8),\n.BR busctl (1)\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_commands() {
        for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
            let mut out = Vec::new();
            completions(shell, &mut out).expect("writing to memory");
            let script = String::from_utf8(out).expect("text");
            assert!(script.contains("monitor"), "{shell}");
            // fish's generator has no values for positional arguments.
            assert!(
                script.contains("adaptive") || shell == Shell::Fish,
                "{shell}"
            );
        }
    }

    #[test]
    fn each_visible_command_has_a_page() {
        let dir = tempfile::tempdir().expect("a directory");
        manual(dir.path()).expect("pages");
        let page = std::fs::read_to_string(dir.path().join("pandemonium.1")).expect("the page");
        assert!(
            page.contains(".TP\n.B 3\nthe daemon is not running"),
            "{page}"
        );
        for command in Arguments::command().get_subcommands() {
            let page = dir
                .path()
                .join(format!("pandemonium-{}.1", command.get_name()));
            assert_eq!(page.exists(), !command.is_hide_set(), "{}", page.display());
        }
    }
}
