//! Completions and manual pages, made from the definition of the command line.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::arguments::{Arguments, EXIT_STATUS};
use crate::error::Error;
use crate::examples;

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
    let command = Arguments::command();
    let pages = pages(&command, NAME);
    let written = clap_mangen::generate_to(without_tables(command), dir).and_then(|()| {
        for page in pages {
            let mut file = OpenOptions::new()
                .append(true)
                .open(dir.join(format!("{page}.1")))?;
            if let Some(section) = examples::section(&page) {
                file.write_all(section.as_bytes())?;
            }
            if page == NAME {
                file.write_all(more_sections().as_bytes())?;
            }
        }
        Ok(())
    });
    written.map_err(|error| {
        let dir = dir.display();
        Error::Failed(format!("manual pages cannot be written to {dir}: {error}"))
    })
}

/// The generator would run exit statuses and examples together into one paragraph.
fn without_tables(command: Command) -> Command {
    command
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset)
        .mut_subcommands(without_tables)
}

/// The names of all manual pages, that of this command first.
fn pages(command: &Command, name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        names.extend(pages(inner, &format!("{name}-{}", inner.get_name())));
    }
    names
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
            for word in [
                "monitor",
                "compositor",
                "remove",
                "idle-selector",
                "power",
                "bench",
                "no-compare",
            ] {
                assert!(script.contains(word), "{shell} does not know {word}");
            }
            // fish's generator has no values for positional arguments.
            assert!(
                script.contains("adaptive") && script.contains("powersave") || shell == Shell::Fish,
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
        let mut found: Vec<String> = std::fs::read_dir(dir.path())
            .expect("the directory")
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().trim_end_matches(".1").to_owned())
            .collect();
        let mut expected = pages(&Arguments::command(), NAME);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_page_is_installed() {
        let build = include_str!("../meson.build");
        for page in pages(&Arguments::command(), NAME) {
            let name = page.strip_prefix("pandemonium-").unwrap_or("pandemonium.1");
            assert!(build.contains(&format!("'{name}'")), "{page}");
        }
    }

    #[test]
    fn examples_have_a_section_of_their_own() {
        let dir = tempfile::tempdir().expect("a directory");
        manual(dir.path()).expect("pages");
        let page = dir.path().join("pandemonium-bench-idle.1");
        let page = std::fs::read_to_string(page).expect("the page");
        assert!(
            page.contains(".SH EXAMPLES\n.TP\n.B sudo pandemonium bench idle\n"),
            "{page}"
        );
        assert!(!page.contains("SH EXTRA"), "{page}");
    }
}
