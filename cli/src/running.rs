//! `pandemonium start`, `stop`, `restart` and `reload`: done is enough, or an error says what is wrong.

use crate::connection::{Daemon, block_on, explain};
use crate::error::Error;

/// What the daemon is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Load the scheduler in the mode that was wanted last.
    Start,
    /// Take it off until it is started.
    Stop,
    /// Load it anew.
    Restart,
    /// Read the configuration files again.
    Reload,
}

/// Asks. A password dialog may come first, so this waits as long as it takes.
pub fn run(request: Request) -> Result<(), Error> {
    block_on(async {
        let scheduler = Daemon::connect().await?.scheduler;
        let done = match request {
            Request::Start => scheduler.start().await,
            Request::Stop => scheduler.stop().await,
            Request::Restart => scheduler.restart().await,
            Request::Reload => scheduler.reload().await,
        };
        done.map_err(explain)
    })
}
