//! A mode on trial: the question on a terminal, `pandemonium confirm` and `pandemonium revert`.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use pandemonium_api::{Scheduler1Proxy, mode_reason};
use tokio::sync::mpsc;

use crate::connection::{Daemon, answer, block_on, explain};
use crate::error::Error;
use crate::status::now_usec;

/// Between two looks at the clock.
const LOOK: Duration = Duration::from_millis(250);

/// How the question ended.
enum Answer {
    Keep,
    TakeBack,
    /// It was confirmed or taken back elsewhere, or the time is over.
    Over,
}

/// Keeps the mode that waits.
pub fn run() -> Result<(), Error> {
    block_on(async {
        let daemon = Daemon::connect().await?;
        daemon.scheduler.confirm().await.map_err(explain)
    })
}

/// Takes it back.
pub fn take_back() -> Result<(), Error> {
    block_on(async {
        let daemon = Daemon::connect().await?;
        daemon.scheduler.revert().await.map_err(explain)
    })
}

/// Whether somebody can be asked.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks whether to keep the mode, for the next start too or not, and does so. Whether it is kept.
pub async fn ask(daemon: &Daemon, mode: &str, is_lasting: bool) -> Result<bool, Error> {
    // A daemon that went away would be in the cache for ever.
    let scheduler = answer(daemon.uncached()).await?;
    let end = question(&scheduler, mode).await;
    // The countdown ends without a line end.
    eprintln!();
    let is_kept = match end? {
        Answer::Keep => {
            scheduler.confirm().await.map_err(explain)?;
            true
        }
        Answer::TakeBack => {
            scheduler.revert().await.map_err(explain)?;
            false
        }
        Answer::Over => answer(was_kept(&scheduler, mode, is_lasting)).await?,
    };
    Ok(is_kept)
}

/// Whether somebody else kept it. What it goes back to may be the same mode, so that alone says nothing.
async fn was_kept(
    scheduler: &Scheduler1Proxy<'_>,
    mode: &str,
    is_lasting: bool,
) -> zbus::Result<bool> {
    let is_wanted = scheduler.requested_mode().await? == mode
        && scheduler.mode_reason().await? != mode_reason::REVERT;
    let is_remembered = !is_lasting || scheduler.boot_mode().await? == mode;
    Ok(is_wanted && is_remembered)
}

async fn question(scheduler: &Scheduler1Proxy<'_>, mode: &str) -> Result<Answer, Error> {
    let mut lines = lines();
    loop {
        let deadline = answer(scheduler.confirm_usec()).await?;
        if deadline == 0 {
            return Ok(Answer::Over);
        }
        let left = deadline.saturating_sub(now_usec()).div_ceil(1_000_000);
        eprint!("\rKeep mode {mode}? It goes back in {left} s. [y/N] ");
        let _ = io::stderr().flush();
        match tokio::time::timeout(LOOK, lines.recv()).await {
            Ok(Some(line)) if is_yes(&line) => return Ok(Answer::Keep),
            Ok(_) => return Ok(Answer::TakeBack),
            Err(_) => {}
        }
    }
}

/// What is typed; the thread ends with the process if nothing is.
fn lines() -> mpsc::Receiver<String> {
    let (typed, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut line = String::new();
        if io::stdin()
            .lock()
            .read_line(&mut line)
            .is_ok_and(|read| read > 0)
        {
            let _ = typed.blocking_send(line);
        }
    });
    lines
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_keeps_the_mode() {
        for yes in ["y\n", "Yes\n", " y "] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yep\n", "maybe"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
