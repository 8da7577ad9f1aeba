//! The file with all values. It is opened before anything is measured: after the last round it would be too late to
//! learn that it cannot be written.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::error::Error;

/// A file that can be written. What was in it before stays until there is something better.
#[derive(Debug)]
pub struct Archive<'a> {
    path: &'a Path,
    file: File,
    /// It was not there before, so it goes again unless something is written.
    is_new: bool,
}

impl<'a> Archive<'a> {
    /// Opens it, or says in one sentence why that is impossible.
    pub fn open(path: &'a Path) -> Result<Archive<'a>, Error> {
        let options = || {
            let mut options = File::options();
            options.write(true).truncate(false);
            options
        };
        let (opened, is_new) = match options().create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                (options().create(true).open(path), false)
            }
            new => (new, true),
        };
        let file = opened.map_err(|error| cannot_write(path, &error))?;
        Ok(Archive { path, file, is_new })
    }

    /// Puts this in the place of whatever is in it.
    pub fn write(mut self, text: &str) -> Result<(), Error> {
        self.replace(text)
            .map_err(|error| cannot_write(self.path, &error))?;
        self.is_new = false;
        Ok(())
    }

    fn replace(&mut self, text: &str) -> io::Result<()> {
        // A pipe or a terminal has nothing that could be taken away.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Archive<'_> {
    fn drop(&mut self) {
        if self.is_new {
            let _ = fs::remove_file(self.path);
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::Failed(format!("{} cannot be written ({error})", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_gets_nothing_is_as_it_was() {
        let dir = tempfile::tempdir().expect("a directory");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::write(&old, "a long text of before").expect("a file");
        drop(Archive::open(&old).expect("it can be written"));
        drop(Archive::open(&new).expect("it can be written"));
        let text = fs::read_to_string(&old).expect("a file");
        assert_eq!(text, "a long text of before");
        assert!(!new.exists());

        for file in [&old, &new] {
            let archive = Archive::open(file).expect("it can be written");
            archive.write("short").expect("it is written");
            assert_eq!(fs::read_to_string(file).expect("a file"), "short");
        }
    }

    #[test]
    fn what_cannot_be_written_is_one_sentence() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = Archive::open(dir.path()).expect_err("a directory is no file");
        let sentence = error.to_string();
        assert!(sentence.contains(" cannot be written ("), "{sentence}");
        let archive = Archive::open(Path::new("/dev/full")).expect("it opens");
        let sentence = archive.write("x").expect_err("it is full").to_string();
        assert!(
            sentence.starts_with("/dev/full cannot be written"),
            "{sentence}"
        );
    }
}
