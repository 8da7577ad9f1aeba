//! `pandemonium mode`: print or switch the mode.

use std::io::Write;

use pandemonium_api::ModeOptions;
use serde_json::json;

use crate::arguments::ModeArguments;
use crate::confirm;
use crate::connection::{Daemon, answer, block_on, explain};
use crate::error::{Error, exit};
use crate::text::{print_json, printable};

/// Switches, if asked to, and prints the mode that is in effect afterwards. The exit status.
pub fn run(arguments: &ModeArguments, out: &mut dyn Write) -> Result<u8, Error> {
    let outcome = block_on(async {
        let daemon = Daemon::connect().await?;
        match &arguments.mode {
            Some(mode) => switch(&daemon, mode, arguments).await,
            None => Ok(Some(answer(daemon.scheduler.mode()).await?)),
        }
    })?;
    let Some(mode) = outcome else {
        let _ = writeln!(
            std::io::stderr(),
            "pandemonium: the mode was not confirmed and went back"
        );
        return Ok(exit::FAILURE);
    };
    if arguments.json {
        print_json(&json!({ "mode": mode }), out)?;
    } else {
        writeln!(out, "{}", printable(&mode))?;
    }
    out.flush()?;
    Ok(exit::OK)
}

/// The mode afterwards, or none if it went back. A password dialog may come first, so this waits as long
/// as it takes.
async fn switch(
    daemon: &Daemon,
    mode: &str,
    arguments: &ModeArguments,
) -> Result<Option<String>, Error> {
    let options = ModeOptions {
        persist: arguments.persist,
        confirm_seconds: arguments.confirm_timeout,
    };
    let set = daemon.scheduler.set_mode(mode, options.to_options()).await;
    set.map_err(explain)?;
    if let Some(seconds) = arguments.confirm_timeout {
        if confirm::can_ask() {
            let is_kept = confirm::ask(daemon, mode, arguments.persist).await?;
            return Ok(is_kept.then(|| mode.to_owned()));
        }
        let _ = writeln!(
            std::io::stderr(),
            "pandemonium: it goes back in {seconds} s unless you run `pandemonium confirm`"
        );
    }
    // The reply comes when the kernel agrees, so this is the new mode.
    Ok(Some(mode.to_owned()))
}
