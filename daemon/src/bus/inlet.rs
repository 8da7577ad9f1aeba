//! A descriptor that a caller handed over to be read from. It may never be written to, never end, or not be
//! what it was said to be.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::io::{Errno, read};

use super::deadline::Deadline;

/// The most that is read.
pub const MAX_BYTES: usize = 1024 * 1024;
/// What is read at once.
const CHUNK: usize = 64 * 1024;

/// A descriptor that can be read to its end.
#[derive(Debug)]
pub struct Inlet(OwnedFd);

impl Inlet {
    /// Takes only what ends by itself and is open for reading, or says in one sentence why not.
    pub fn new(fd: OwnedFd) -> Result<Inlet, String> {
        let unusable = |errno: Errno| format!("The descriptor cannot be used: {errno}.");
        let flags = fcntl_getfl(&fd).map_err(unusable)?;
        let kind = FileType::from_raw_mode(fstat(&fd).map_err(unusable)?.st_mode);
        let access = flags & OFlags::ACCMODE;
        if flags.contains(OFlags::PATH) || (access != OFlags::RDONLY && access != OFlags::RDWR) {
            return Err("The descriptor is not open for reading.".to_owned());
        }
        match kind {
            FileType::RegularFile | FileType::Fifo => Ok(Inlet(fd)),
            _ => Err("The descriptor is neither a regular file nor a pipe.".to_owned()),
        }
    }

    /// Reads to the end, or gives up when the patience is over or there are more than [`MAX_BYTES`];
    /// only a regular file can hold it up for longer. Blocks.
    pub fn read_all(&self, patience: Duration) -> io::Result<Vec<u8>> {
        let end = Deadline::after(patience);
        let mut bytes = Vec::new();
        let mut chunk = [0; CHUNK];
        loop {
            end.wait(&self.0, PollFlags::IN)?;
            match read(&self.0, &mut chunk) {
                Ok(0) => return Ok(bytes),
                Ok(read) => bytes.extend_from_slice(&chunk[..read]),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if bytes.len() > MAX_BYTES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Seek;

    use super::super::deadline::PATIENCE;
    use super::*;

    #[test]
    fn only_what_ends_and_is_open_for_reading_is_read() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let (socket, _other) = std::os::unix::net::UnixStream::pair().expect("sockets");
        let null = File::open("/dev/null").expect("null");
        let directory = File::open("/").expect("a directory");
        let file = tempfile::tempfile().expect("a file");
        for (fd, is_read) in [
            (OwnedFd::from(reader), true),
            (OwnedFd::from(file), true),
            (OwnedFd::from(writer), false),
            (OwnedFd::from(socket), false),
            (OwnedFd::from(null), false),
            (OwnedFd::from(directory), false),
        ] {
            let what = format!("{fd:?}");
            assert_eq!(Inlet::new(fd).is_ok(), is_read, "{what}");
        }
    }

    #[test]
    fn a_pipe_that_nobody_writes_ends_in_time() {
        let (reader, _writer) = io::pipe().expect("a pipe");
        let inlet = Inlet::new(reader.into()).expect("taken");
        let silent = inlet.read_all(Duration::from_millis(20));
        let error = silent.expect_err("nothing comes").kind();
        assert_eq!(error, io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let mut file = tempfile::tempfile().expect("a file");
        let copy = OwnedFd::from(file.try_clone().expect("a copy"));
        let inlet = Inlet::new(copy).expect("taken");
        for (size, is_read) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
            file.set_len(size as u64).expect("its size");
            file.rewind().expect("from its start");
            assert_eq!(inlet.read_all(PATIENCE).is_ok(), is_read, "{size}");
        }
    }
}
