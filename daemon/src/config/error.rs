//! What is wrong, and where.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Layer;

/// What is wrong with which file.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It cannot be opened or read.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is a directory, a FIFO or a device.
    #[error("{}: is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// It is too large.
    #[error("{}: is larger than 1 MiB", .0.display())]
    TooLarge(PathBuf),
    /// It is not text.
    #[error("{}: is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// A key or value is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
}

/// A file's text, to say where in it something is wrong.
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Place<'_> {
    pub(super) fn parse(&self) -> Result<Layer, ConfigError> {
        toml::from_str(self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.invalid(start, error.message())
        })
    }

    /// The value of this key, which starts there, is wrong.
    pub(super) fn wrong(&self, start: usize, key: &str, sentence: impl Display) -> ConfigError {
        self.invalid(start, &format!("{key}: {sentence}"))
    }

    fn invalid(&self, start: usize, message: &str) -> ConfigError {
        let before = &self.text.as_bytes()[..start.min(self.text.len())];
        ConfigError::Invalid {
            path: self.path.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            // The line it is printed in brings its own full stop.
            message: message.replace('\n', " ").trim_end_matches('.').to_owned(),
        }
    }
}
