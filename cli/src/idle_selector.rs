//! `pandemonium idle-selector`: who chooses the idle CPU of a task that wakes.

use std::io::Write;

use pandemonium_api::choice;
use serde_json::json;

use crate::arguments::Selector;
use crate::connection::{Daemon, answer, block_on, explain};
use crate::error::Error;
use crate::text::print_json;

/// Switches it, if asked to, and prints what is in force afterwards.
pub fn run(wanted: Option<Selector>, json: bool, out: &mut dyn Write) -> Result<(), Error> {
    let is_on = block_on(async {
        let daemon = Daemon::connect().await?;
        match wanted {
            None => Ok(()),
            Some(Selector::On) => daemon.scheduler.set_idle_selector(true).await,
            Some(Selector::Off) => daemon.scheduler.set_idle_selector(false).await,
            Some(Selector::Reset) => {
                let choices = [choice::IDLE_SELECTOR];
                daemon.scheduler.reset_choices(&choices).await
            }
        }
        .map_err(explain)?;
        answer(daemon.scheduler.idle_selector()).await
    })?;
    if json {
        return print_json(&json!({ "idle_selector": is_on }), out);
    }
    writeln!(out, "{}", word(is_on))?;
    Ok(())
}

/// `on` or `off`.
pub fn word(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}
