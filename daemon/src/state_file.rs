//! Files in the state directory: replaced as a whole so that a power cut leaves the old or the new one,
//! read without following links or being held up, and set aside when they are damaged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use thiserror::Error;

/// Files of one name that were set aside and are kept; the oldest goes first.
pub const MAX_SET_ASIDE: usize = 5;

/// Why a file cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// There is no file.
    #[error("does not exist")]
    Missing,
    /// It is a link, directory, FIFO or device.
    #[error("is not a regular file")]
    NotAFile,
    /// It is larger than it can have been written.
    #[error("is larger than {0} bytes")]
    TooLarge(usize),
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// The content of a regular file of at most `max` bytes.
pub fn read(path: &Path, max: usize) -> Result<Vec<u8>, ReadError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ReadError::Missing),
        Err(_) if fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()) => {
            return Err(ReadError::NotAFile);
        }
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(ReadError::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max {
        return Err(ReadError::TooLarge(max));
    }
    Ok(bytes)
}

/// Writes the file so that after a power cut either the old or the new one is there. The directory is
/// made when first needed.
pub fn replace(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let temporary = directory.join(format!(".{name}.new"));
    let written = write_durably(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, directory.join(name)))
        .and_then(|()| File::open(directory)?.sync_all());
    if written.is_err() {
        // What is left of a failed write must not use up a full disk.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Gives a file that is of no use another name, which is returned, so that it can still be looked at.
pub fn set_aside(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let numbered = |number: u64| directory.join(format!("{name}.corrupt-{number}"));
    let mut numbers = set_aside_so_far(directory, name)?;
    numbers.sort_unstable();
    let next = numbers.last().map_or(1, |last| last.saturating_add(1));
    fs::rename(directory.join(name), numbered(next))?;
    let surplus = (numbers.len() + 1).saturating_sub(MAX_SET_ASIDE);
    for number in numbers.into_iter().take(surplus) {
        // One that cannot be removed, such as a directory, only takes up its place.
        let _ = fs::remove_file(numbered(number));
    }
    Ok(numbered(next))
}

/// What became of a file that is of no use, for the middle of a sentence.
pub fn fate(directory: &Path, name: &str) -> String {
    match set_aside(directory, name) {
        Ok(kept) => format!("it was set aside as {}", kept.display()),
        Err(error) => format!("it could not be set aside ({error})"),
    }
}

fn set_aside_so_far(directory: &Path, name: &str) -> io::Result<Vec<u64>> {
    let prefix = format!("{name}.corrupt-");
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    Ok(numbers)
}

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o640)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
