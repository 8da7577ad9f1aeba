//! Text that the daemon writes into a descriptor or reads from one, and the files that this side opens for it.

use std::fs::File;
use std::io::{Read, Write, pipe, stdin};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, fstat};

use crate::connection::{Daemon, block_on, explain};
use crate::error::Error;
use crate::text::printable;

/// More than the daemon ever writes.
const MAX_BYTES: u64 = 16 << 20;

/// The file name that stands for standard input.
const STDIN: &str = "-";

/// What the daemon writes when it is asked to. Through a pipe, so that a refusal leaves no file behind, and anything
/// that can be written to is as good as a file. A password dialog may come first, so nothing is hurried.
pub fn fetch(
    ask: impl AsyncFnOnce(&Daemon, BorrowedFd<'_>) -> zbus::Result<()>,
) -> Result<Vec<u8>, Error> {
    let (reader, writer) = pipe()?;
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        reader.take(MAX_BYTES).read_to_end(&mut text).map(|_| text)
    });
    block_on(async {
        let daemon = Daemon::connect().await?;
        ask(&daemon, writer.as_fd()).await.map_err(explain)
    })?;
    // The reader sees the end only when nobody can write any more.
    drop(writer);
    let text = reading.join();
    let text = text.map_err(|_| Error::Failed("what the daemon wrote was lost".to_owned()))?;
    Ok(text?)
}

/// Writes the text to the file, or to standard output.
pub fn put(file: Option<&Path>, text: &[u8], out: &mut dyn Write) -> Result<(), Error> {
    let Some(path) = file else {
        return Ok(out.write_all(text)?);
    };
    std::fs::write(path, text)
        .map_err(|error| Error::Failed(format!("{} cannot be written: {error}", shown(path))))
}

/// The file, or standard input, for the daemon to read: it takes only what ends by itself.
pub fn open(path: &Path) -> Result<OwnedFd, Error> {
    let (fd, name) = if path == Path::new(STDIN) {
        (
            stdin().as_fd().try_clone_to_owned(),
            "standard input".into(),
        )
    } else {
        (File::open(path).map(OwnedFd::from), shown(path))
    };
    let unreadable = |error| Error::Failed(format!("{name} cannot be read: {error}"));
    let fd = fd.map_err(unreadable)?;
    let status = fstat(&fd).map_err(|errno| unreadable(errno.into()))?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile | FileType::Fifo => Ok(fd),
        _ => Err(Error::Failed(format!(
            "{name} is neither a regular file nor a pipe; give one with what \
             `pandemonium profiles export` wrote"
        ))),
    }
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}
