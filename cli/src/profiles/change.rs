//! `pandemonium profiles pin, unpin, forget, export, import`: what changes learned profiles, or carries
//! them elsewhere. A change prints nothing unless it concerns more than one program.

use std::collections::HashMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use pandemonium_api::import;

use crate::arguments::Name;
use crate::connection::{Daemon, block_on, explain};
use crate::error::Error;
use crate::text::plural;
use crate::transfer;

/// Decides on a tier. A password dialog may come first, here and below, so nothing is hurried.
pub fn pin(name: &Name, tier: &str) -> Result<(), Error> {
    block_on(async {
        let daemon = Daemon::connect().await?;
        daemon.processes.pin(&name.0, tier).await.map_err(explain)
    })
}

/// Takes that back.
pub fn unpin(name: &Name) -> Result<(), Error> {
    block_on(async {
        let daemon = Daemon::connect().await?;
        daemon.processes.unpin(&name.0).await.map_err(explain)
    })
}

/// Forgets what was learned about one program.
pub fn forget(name: &Name) -> Result<(), Error> {
    block_on(async {
        let daemon = Daemon::connect().await?;
        daemon.processes.forget(&name.0).await.map_err(explain)
    })
}

/// Forgets all that was learned, after a question on a terminal.
pub fn forget_all(is_sure: bool, out: &mut dyn Write) -> Result<(), Error> {
    if !is_sure && !confirm(out)? {
        return Ok(());
    }
    let count = block_on(async {
        let daemon = Daemon::connect().await?;
        daemon.processes.forget_all().await.map_err(explain)
    })?;
    writeln!(out, "{} forgotten", plural(count.into(), "program"))?;
    Ok(())
}

fn confirm(out: &mut dyn Write) -> Result<bool, Error> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Error::Usage(
            "forgetting everything takes --yes where nobody can be asked".to_owned(),
        ));
    }
    write!(out, "Forget all that was learned about programs? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Writes all profiles to a file, or to standard output.
pub fn export(file: Option<&Path>, out: &mut dyn Write) -> Result<(), Error> {
    let text = transfer::fetch(async |daemon, fd| daemon.processes.export(fd.into()).await)?;
    transfer::put(file, &text, out)
}

/// Takes profiles over from a file or from standard input.
pub fn import(file: &Path, is_replacing: bool, out: &mut dyn Write) -> Result<(), Error> {
    let options = HashMap::from([(import::REPLACE, is_replacing.into())]);
    let from = transfer::open(file)?;
    let count = block_on(async {
        let daemon = Daemon::connect().await?;
        let imported = daemon.processes.import(from.into(), options).await;
        imported.map_err(explain)
    })?;
    writeln!(out, "{} imported", plural(count.into(), "program"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        assert!(["y\n", "Yes\n", " YES "].map(is_yes).iter().all(|yes| *yes));
        assert!(
            !["", "\n", "n\n", "yeah\n", "no"]
                .map(is_yes)
                .iter()
                .any(|yes| *yes)
        );
    }
}
