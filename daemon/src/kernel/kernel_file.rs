//! An attribute of the kernel's that is read again every second: it stays open, and its text has a place to stay.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One byte more than an attribute has at most: that is a page.
const ROOM: usize = 4096 + 1;

/// An attribute below `/sys`, which one read has all of.
pub struct KernelFile {
    path: PathBuf,
    file: Option<File>,
    bytes: Vec<u8>,
}

impl KernelFile {
    /// Opens nothing yet.
    pub fn new(path: impl AsRef<Path>) -> KernelFile {
        KernelFile {
            path: path.as_ref().to_owned(),
            file: None,
            bytes: Vec::new(),
        }
    }

    /// The text as it is now. After an error the file is opened anew.
    pub fn read(&mut self) -> io::Result<&str> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path)?,
        };
        self.bytes.resize(ROOM, 0);
        let end = file.read_at(&mut self.bytes, 0)?;
        if end == ROOM {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file = Some(file);
        std::str::from_utf8(&self.bytes[..end]).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn what_is_read_is_what_the_file_says_now() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let mut file = KernelFile::new(&path);
        assert_eq!(file.read().unwrap_err().kind(), io::ErrorKind::NotFound);
        let long = "enabled\n".repeat(4096 / 8);
        for text in ["disabled\n", &long, "", "on\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(file.read().unwrap(), text);
        }
        fs::write(&path, long.clone() + "\n").unwrap();
        assert_eq!(file.read().unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_opened_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        fs::create_dir(&path).unwrap();
        let mut file = KernelFile::new(&path);
        assert!(file.read().is_err());
        fs::remove_dir(&path).unwrap();
        fs::write(&path, "cpu0").unwrap();
        assert_eq!(file.read().unwrap(), "cpu0");
    }
}
