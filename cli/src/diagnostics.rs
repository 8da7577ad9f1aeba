//! `pandemonium diagnostics`: the daemon's report, to attach to a question or a bug.

use std::io::Write;
use std::path::Path;

use crate::error::Error;
use crate::transfer;

/// Writes it into the file, or prints it.
pub fn run(file: Option<&Path>, out: &mut dyn Write) -> Result<(), Error> {
    let report =
        transfer::fetch(async |daemon, fd| daemon.scheduler.write_diagnostics(fd.into()).await)?;
    transfer::put(file, &report, out)
}
