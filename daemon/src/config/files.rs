//! Which files there are, and what is in them.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::Source;
use super::error::ConfigError;

/// Files larger than this are refused: nobody wrote them by hand.
pub(super) const MAX_BYTES: u64 = 1 << 20;

// Below the root of the system.
pub(super) const VENDOR: &str = "usr/lib/pandemonium/config.toml";
pub(super) const ADMINISTRATOR: &str = "etc/pandemonium/config.toml";
const DROP_INS: &str = "etc/pandemonium/config.d";

/// The files that may be there, the later ones on top.
pub(super) fn files(source: &Source) -> Result<Vec<PathBuf>, ConfigError> {
    match source {
        Source::File(path) => Ok(vec![path.clone()]),
        Source::System(root) => {
            let mut files = vec![root.join(VENDOR), root.join(ADMINISTRATOR)];
            files.extend(drop_ins(&root.join(DROP_INS))?);
            Ok(files)
        }
    }
}

pub(super) fn drop_ins(directory: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable {
        path: directory.to_owned(),
        error,
    };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a text file without being held up by a FIFO or filled up by a huge file.
pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable {
        path: path.to_owned(),
        error,
    };
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(ConfigError::NotAFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ConfigError::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| ConfigError::NotText(path.to_owned()))
}
