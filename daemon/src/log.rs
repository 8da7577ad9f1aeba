//! Where log records go: to the journal with structured fields, or to standard error.
//!
//! `info` is a state change, `debug` a decision, `trace` a tick. From `debug` on, standard error shows the
//! fields as well.

use std::io::Write;

use libsystemd::logging::{Priority, connected_to_journal, journal_send};
use log::kv::{Key, Value, VisitSource};
use log::{Level, LevelFilter, Log, Metadata, Record};

/// Starts logging. `verbosity` is the number of `--verbose`; without any, `PANDEMONIUM_LOG` decides,
/// and without that, state changes are shown.
pub fn start(verbosity: u8) -> Result<(), String> {
    let level = match (verbosity, std::env::var("PANDEMONIUM_LOG")) {
        (0, Ok(name)) => name.parse().map_err(|_| {
            format!(
                "PANDEMONIUM_LOG is {name:?}; it must be one of off, error, warn, info, debug, trace."
            )
        })?,
        (0, Err(_)) => LevelFilter::Info,
        (1, _) => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    };
    let sink = Sink {
        to_journal: connected_to_journal(),
    };
    // The second start of a process would fail, and there is only one.
    if log::set_boxed_logger(Box::new(sink)).is_ok() {
        log::set_max_level(level);
    }
    Ok(())
}

struct Sink {
    to_journal: bool,
}

impl Log for Sink {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let message = one_line(&record.args().to_string());
        if self.to_journal && send(record, &message).is_ok() {
            return;
        }
        let prefix = match record.level() {
            Level::Error | Level::Info => "",
            Level::Warn => "warning: ",
            Level::Debug => "debug: ",
            Level::Trace => "trace: ",
        };
        // Nowhere is left to say that standard error is gone.
        let shown = shown_fields(record);
        let _ = writeln!(
            std::io::stderr().lock(),
            "pandemoniumd: {prefix}{message}{shown}"
        );
    }

    fn flush(&self) {}
}

fn send(record: &Record<'_>, message: &str) -> Result<(), libsystemd::errors::SdError> {
    let priority = match record.level() {
        Level::Error => Priority::Error,
        Level::Warn => Priority::Warning,
        Level::Info => Priority::Info,
        Level::Debug | Level::Trace => Priority::Debug,
    };
    let identifier = ("SYSLOG_IDENTIFIER".to_owned(), "pandemoniumd".to_owned());
    let all = std::iter::once(identifier).chain(fields(record));
    journal_send(priority, message, all)
}

/// The fields as the end of a line, for whoever wants to see more.
fn shown_fields(record: &Record<'_>) -> String {
    if log::max_level() < LevelFilter::Debug {
        return String::new();
    }
    fields(record)
        .iter()
        .map(|(key, value)| format!(" {key}={}", one_line(value)))
        .collect()
}

fn fields(record: &Record<'_>) -> Vec<(String, String)> {
    let mut fields = Fields(Vec::new());
    // Collecting into a vector cannot fail.
    let _ = record.key_values().visit(&mut fields);
    fields.0
}

struct Fields(Vec<(String, String)>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), log::kv::Error> {
        self.0.push((key.as_str().to_owned(), value.to_string()));
        Ok(())
    }
}

/// Keeps a text that somebody else wrote from looking like a second log entry.
fn one_line(text: &str) -> String {
    text.trim_end()
        .replace('\n', " | ")
        .replace(|c: char| c.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stays_on_one_line() {
        assert_eq!(one_line("a\nb\x1b[2J\n"), "a | b?[2J");
    }
}
