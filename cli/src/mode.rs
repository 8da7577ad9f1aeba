//! `pandemonium mode`: print or switch the mode.

use std::io::Write;

use crate::connection::{Daemon, answer, block_on};
use crate::error::Error;
use crate::text::escape;

/// Switches to `wanted`, if given, and prints the mode that is in effect afterwards.
pub fn run(wanted: Option<&str>, out: &mut dyn Write) -> Result<(), Error> {
    let mode = block_on(async {
        let daemon = Daemon::connect().await?;
        if let Some(wanted) = wanted {
            daemon.set_mode(wanted).await?;
            // The reply comes when the kernel agrees, so this is the new mode.
            return Ok(wanted.to_owned());
        }
        answer(daemon.scheduler.mode()).await
    })?;
    writeln!(out, "{}", escape(&mode))?;
    Ok(())
}
