//! Where log records go: to the journal with structured fields, or to standard error.
//!
//! `info` is a state change, `debug` a decision, `trace` a tick.

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
        let _ = writeln!(std::io::stderr().lock(), "pandemoniumd: {prefix}{message}");
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
    let mut fields = Fields(vec![(
        "SYSLOG_IDENTIFIER".to_owned(),
        "pandemoniumd".to_owned(),
    )]);
    // Collecting into a vector cannot fail.
    let _ = record.key_values().visit(&mut fields);
    journal_send(priority, message, fields.0.into_iter())
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
