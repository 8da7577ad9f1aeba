//! The files that are looked at, below a directory that tests can choose.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// No file of interest is larger, the kernel's type information included.
const MAX_BYTES: u64 = 32 << 20;

/// The directory taken for `/`.
pub(super) struct Root(PathBuf);

/// What looking at a file gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look<T> {
    /// It is there, with this in it.
    Found(T),
    /// It is not there.
    Absent,
    /// It could not be told; holds why.
    Unreadable(String),
}

impl<T> Look<T> {
    fn failed(error: &std::io::Error) -> Look<T> {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Look::Absent,
            _ => Look::Unreadable(error.to_string()),
        }
    }

    pub(super) fn map<U>(self, f: impl FnOnce(T) -> U) -> Look<U> {
        match self {
            Look::Found(value) => Look::Found(f(value)),
            Look::Absent => Look::Absent,
            Look::Unreadable(why) => Look::Unreadable(why),
        }
    }
}

impl Root {
    /// Looks below `dir`, which must be a directory.
    pub(super) fn new(dir: &Path) -> Result<Root, Error> {
        if dir.is_dir() {
            Ok(Root(dir.to_owned()))
        } else {
            Err(Error::Usage(format!(
                "{} is not a directory",
                dir.display()
            )))
        }
    }

    /// The bytes of a file.
    pub(super) fn bytes(&self, path: &str) -> Look<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = std::fs::File::open(self.0.join(path))
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
        match read {
            Ok(_) => Look::Found(bytes),
            Err(error) => Look::failed(&error),
        }
    }

    /// The text of a file without the white space around it.
    pub(super) fn text(&self, path: &str) -> Look<String> {
        self.bytes(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Whether there is anything at all at this path, a dangling link included.
    pub(super) fn exists(&self, path: &str) -> Look<()> {
        match std::fs::symlink_metadata(self.0.join(path)) {
            Ok(_) => Look::Found(()),
            Err(error) => Look::failed(&error),
        }
    }

    /// The same below `/sys/kernel`, where a missing file only means something if sysfs is mounted.
    pub(super) fn sysfs_exists(&self, path: &str) -> Look<()> {
        match (
            self.exists(&format!("sys/kernel/{path}")),
            self.exists("sys/kernel"),
        ) {
            (Look::Absent, Look::Found(())) => Look::Absent,
            (Look::Absent, _) => Look::Unreadable("sysfs is not mounted at /sys".to_owned()),
            (look, _) => look,
        }
    }

    /// The names in a directory, sorted.
    pub(super) fn names(&self, path: &str) -> Look<Vec<String>> {
        let entries = match std::fs::read_dir(self.0.join(path)) {
            Ok(entries) => entries,
            Err(error) => return Look::failed(&error),
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        Look::Found(names)
    }
}
