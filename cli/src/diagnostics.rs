//! `pandemonium diagnostics`: the daemon's report, to attach to a question or a bug.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use crate::connection::{Daemon, block_on, explain};
use crate::error::Error;

/// More than the daemon ever writes.
const MAX_BYTES: u64 = 1 << 20;

/// Has the daemon write into the file, or prints what it writes.
pub fn run(file: Option<&Path>, out: &mut dyn Write) -> Result<(), Error> {
    let Some(path) = file else {
        return print(out);
    };
    let unwritable = |error: io::Error| {
        let path = crate::text::printable(&path.to_string_lossy());
        Error::Failed(format!("{path} cannot be written: {error}"))
    };
    let file = File::create(path).map_err(unwritable)?;
    ask(file.into())
}

/// Standard output may be a terminal, which the daemon would not take.
fn print(out: &mut dyn Write) -> Result<(), Error> {
    let (reader, writer) =
        io::pipe().map_err(|error| Error::Failed(format!("no pipe: {error}")))?;
    let reading = std::thread::spawn(move || {
        let mut report = Vec::new();
        reader
            .take(MAX_BYTES)
            .read_to_end(&mut report)
            .map(|_| report)
    });
    ask(writer.into())?;
    match reading.join() {
        Ok(report) => Ok(out.write_all(&report?)?),
        Err(_) => Err(Error::Failed("the report cannot be read".to_owned())),
    }
}

/// A password dialog may come first, so this waits as long as it takes.
fn ask(fd: OwnedFd) -> Result<(), Error> {
    block_on(async {
        let daemon = Daemon::connect().await?;
        let written = daemon.scheduler.write_diagnostics(fd.into()).await;
        written.map_err(explain)
    })
}
