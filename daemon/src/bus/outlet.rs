//! A descriptor that a caller handed over to be written to. It may be slow, full or a trap, so it is
//! written to by a thread that the loop does not wait for.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::io::{Errno, ReadWriteFlags, pwritev2, write};
use rustix::net::{SendFlags, send};

use super::deadline::Deadline;

/// What is written at once: a pipe that can be written to has room for this much (PIPE_BUF).
const CHUNK: usize = 4096;
/// Between two attempts when there was less room than poll(2) said.
const PAUSE: Duration = Duration::from_millis(10);

/// What kind of thing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Pipe,
    Socket,
}

/// A descriptor that can be written to.
#[derive(Debug)]
pub struct Outlet {
    fd: OwnedFd,
    kind: Kind,
}

impl Outlet {
    /// Takes it, or says in one sentence why not.
    pub fn new(fd: OwnedFd) -> Result<Outlet, String> {
        let unusable = |errno: Errno| format!("The descriptor cannot be used: {errno}.");
        let flags = fcntl_getfl(&fd).map_err(unusable)?;
        let kind = match FileType::from_raw_mode(fstat(&fd).map_err(unusable)?.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Fifo => Kind::Pipe,
            FileType::Socket => Kind::Socket,
            _ => return Err("The descriptor is no regular file, pipe or socket.".to_owned()),
        };
        // One that was opened with O_PATH says read-only here.
        let access = flags & OFlags::ACCMODE;
        if access != OFlags::WRONLY && access != OFlags::RDWR {
            return Err("The descriptor is not open for writing.".to_owned());
        }
        Ok(Outlet { fd, kind })
    }

    /// Writes everything, or gives up when the patience is over; only a regular file can hold it up for
    /// longer. Blocks.
    pub fn write_all(&self, bytes: &[u8], patience: Duration) -> io::Result<()> {
        let end = Deadline::after(patience);
        let mut rest = bytes;
        while !rest.is_empty() {
            end.wait(&self.fd, PollFlags::OUT)?;
            match self.write_some(&rest[..rest.len().min(CHUNK)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(PAUSE),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Never waits, without changing flags that the caller's own descriptor shares.
    fn write_some(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let no_offset = u64::MAX;
        match self.kind {
            Kind::File => write(&self.fd, bytes),
            Kind::Socket => send(&self.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            Kind::Pipe => {
                let slices = [IoSlice::new(bytes)];
                match pwritev2(&self.fd, &slices, no_offset, ReadWriteFlags::NOWAIT) {
                    // A named pipe of some kernels; there is room, unless somebody else fills it now.
                    Err(Errno::OPNOTSUPP) => write(&self.fd, bytes),
                    written => written,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    use std::os::unix::net::UnixStream;

    use super::super::deadline::PATIENCE;
    use super::*;

    fn refused(fd: impl Into<OwnedFd>) -> String {
        Outlet::new(fd.into()).expect_err("refused")
    }

    #[test]
    fn only_files_pipes_and_sockets_that_are_open_for_writing_are_taken() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let open = |flags: OFlags| {
            let flags = flags.bits().cast_signed();
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(flags).open(file.path())
        };
        let (reader, writer) = std::io::pipe().expect("a pipe");
        assert!(refused(open(OFlags::empty()).expect("opens")).contains("not open for writing"));
        assert!(refused(open(OFlags::PATH).expect("opens")).contains("not open for writing"));
        assert!(refused(reader).contains("not open for writing"));
        let null = OpenOptions::new().write(true).open("/dev/null");
        assert!(refused(null.expect("opens")).contains("no regular file"));
        assert!(refused(File::open("/").expect("opens")).contains("no regular file"));
        let (one, _other) = UnixStream::pair().expect("sockets");
        let append = OpenOptions::new().append(true).open(file.path());
        for fd in [writer.into(), one.into(), append.expect("opens").into()] {
            assert!(Outlet::new(fd).is_ok());
        }
    }

    #[test]
    fn more_than_fits_at_once_arrives_in_order() {
        let text: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let (one, other) = UnixStream::pair().expect("sockets");
        let ends: [(OwnedFd, Box<dyn Read + Send>); 2] = [
            (writer.into(), Box::new(reader)),
            (one.into(), Box::new(other)),
        ];
        for (fd, mut source) in ends {
            let outlet = Outlet::new(fd).expect("taken");
            let reader = std::thread::spawn(move || {
                let mut got = Vec::new();
                source.read_to_end(&mut got).map(|_| got)
            });
            outlet.write_all(&text, PATIENCE).expect("written");
            drop(outlet);
            let got = reader.join().expect("no panic").expect("read");
            assert!(got == text);
        }
    }

    #[test]
    fn one_that_nobody_empties_is_given_up() {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        let outlet = Outlet::new(writer.into()).expect("taken");
        let error = outlet
            .write_all(&[0; 1 << 20], Duration::from_millis(50))
            .expect_err("full");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn one_that_nobody_reads_any_more_is_an_error() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let outlet = Outlet::new(writer.into()).expect("taken");
        let error = outlet.write_all(b"x", PATIENCE).expect_err("closed");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
