//! What is said about a command line that was not understood: one sentence, as about everything that goes wrong.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::{ErrorKind as IoError, Write};

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::arguments::Arguments;
use crate::error::exit;
use crate::text::printable;

/// Prints why the command line was not understood, or the help that was asked for.
pub fn refuse(error: &clap::Error, words: &[OsString]) -> u8 {
    let is_help =
        !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let printed = if is_help {
        error.print()
    } else {
        let sentence = value_sentence(error).unwrap_or_else(|| sentence(error, words));
        writeln!(std::io::stderr(), "pandemonium: {sentence}")
    };
    match printed {
        Err(error) if error.kind() == IoError::BrokenPipe => exit::OK,
        _ => u8::try_from(error.exit_code()).unwrap_or(exit::USAGE),
    }
}

/// What the parser says, without the usage that follows in a paragraph of its own.
fn sentence(error: &clap::Error, words: &[OsString]) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let said = text.split("\n\n").next().unwrap_or_default();
    let said: Vec<_> = said.lines().map(str::trim).collect();
    let said = printable(&said.join(" "));
    match similar(error) {
        Some(similar) => format!("{said}; did you mean {similar}?"),
        None => format!("{said}; see `{} --help`", command(words)),
    }
}

/// What the person may have meant.
fn similar(error: &clap::Error) -> Option<String> {
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg];
    match suggested.into_iter().find_map(|kind| error.get(kind))? {
        ContextValue::String(one) => Some(one.clone()),
        // The most similar one is the last.
        ContextValue::Strings(some) => some.last().cloned(),
        _ => None,
    }
}

/// The command that was meant, as far as it can be seen.
fn command(words: &[OsString]) -> String {
    let mut command = &Arguments::command();
    let mut path = command.get_name().to_owned();
    for word in words.iter().skip(1) {
        let Some(found) = command.find_subcommand(word) else {
            break;
        };
        path = format!("{path} {}", found.get_name());
        command = found;
    }
    path
}

/// One sentence for a value that cannot be meant, such as an unknown mode or a number that is too large.
fn value_sentence(error: &clap::Error) -> Option<String> {
    let ContextValue::String(value) = error.get(ContextKind::InvalidValue)? else {
        return None;
    };
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let argument = argument
        .trim_matches(['<', '>', '[', ']', '.'])
        .to_lowercase();
    let argument = argument
        .split_once(" <")
        .map_or(argument.as_str(), |(name, _)| name);
    let why = match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::ValueValidation, _) => {
            let source = error.source()?.to_string();
            format!(": {}", printable(&source.replace("..=", " to ")))
        }
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(valid)))
            if !value.is_empty() && !valid.is_empty() =>
        {
            format!("; it is one of {}", valid.join(", "))
        }
        _ => return None,
    };
    let value = printable(value);
    Some(format!("\"{value}\" is not a valid {argument}{why}"))
}
