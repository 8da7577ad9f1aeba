//! What can go wrong, as one sentence that says what to do, and the exit status that goes with it.

use std::io;

/// Exit statuses, documented in `pandemonium --help` and in the manual page.
pub mod exit {
    /// The command did what it was asked to do.
    pub const OK: u8 = 0;
    /// Something failed that has no status of its own; `check` found that the scheduler cannot run.
    pub const FAILURE: u8 = 1;
    /// The command line was not understood.
    pub const USAGE: u8 = 2;
    /// The daemon is not on the bus.
    pub const NO_DAEMON: u8 = 3;
    /// There is no system bus.
    pub const NO_BUS: u8 = 4;
    /// The daemon or the kernel did not permit it.
    pub const DENIED: u8 = 5;
    /// The daemon understood and refused.
    pub const REFUSED: u8 = 6;
}

/// A reason to stop. `Display` is one sentence for the person at the terminal.
#[derive(Debug)]
pub enum Error {
    /// The daemon is not on the bus.
    NoDaemon,
    /// The system bus could not be reached; holds what was said about it.
    NoBus(String),
    /// Not permitted; holds the whole sentence.
    Denied(String),
    /// The daemon refused; holds the whole sentence.
    Refused(String),
    /// Bad input that only a command itself can notice; holds the whole sentence.
    Usage(String),
    /// Anything else; holds the whole sentence.
    Failed(String),
    /// Standard output failed. A reader that went away (`| head`) is not worth a word.
    Output(io::Error),
}

impl Error {
    /// The exit status for this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NoDaemon => exit::NO_DAEMON,
            Error::NoBus(_) => exit::NO_BUS,
            Error::Denied(_) => exit::DENIED,
            Error::Refused(_) => exit::REFUSED,
            Error::Usage(_) => exit::USAGE,
            Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::OK,
            Error::Failed(_) | Error::Output(_) => exit::FAILURE,
        }
    }

    /// Whether there is anything to tell: a closed pipe is the reader's wish, not an error.
    pub fn is_silent(&self) -> bool {
        self.exit_code() == exit::OK
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::NoDaemon => write!(
                f,
                "the daemon is not running; start it with `systemctl start pandemonium`"
            ),
            Error::NoBus(reason) => write!(
                f,
                "the system bus cannot be reached ({reason}); check that dbus is running and \
                 DBUS_SYSTEM_BUS_ADDRESS is right"
            ),
            Error::Denied(sentence)
            | Error::Refused(sentence)
            | Error::Usage(sentence)
            | Error::Failed(sentence) => f.write_str(sentence),
            Error::Output(error) => write!(f, "the output could not be written: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Output(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_a_quiet_success() {
        let error = Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(error.is_silent());
        assert_eq!(error.exit_code(), exit::OK);
    }

    #[test]
    fn a_full_disk_is_not_quiet() {
        let error = Error::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(!error.is_silent());
        assert_eq!(error.exit_code(), exit::FAILURE);
    }

    #[test]
    fn a_missing_daemon_says_how_to_start_it() {
        assert!(
            Error::NoDaemon
                .to_string()
                .contains("systemctl start pandemonium")
        );
    }
}
