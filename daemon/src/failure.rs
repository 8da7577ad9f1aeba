//! Why the process ends, as one sentence and an exit code.

/// The exit codes. They are part of `--help`.
pub mod exit_code {
    use crate::kernel::AttachError;

    /// Anything without a code of its own.
    pub const OTHER: u8 = 1;
    /// The command line or the configuration is wrong.
    pub const USAGE: u8 = 2;
    /// The kernel takes no scheduler.
    pub const UNSUPPORTED: u8 = 3;
    /// Another sched_ext scheduler is loaded.
    pub const FOREIGN: u8 = 4;
    /// The bus is missing, or the name on it is taken.
    pub const BUS: u8 = 5;
    /// A permission is missing.
    pub const PERMISSION: u8 = 6;

    /// The code for a failed attach.
    pub fn of_attach(error: &AttachError) -> u8 {
        match error {
            AttachError::Unsupported(_) => UNSUPPORTED,
            AttachError::Foreign(_) => FOREIGN,
            AttachError::Permission(_) => PERMISSION,
            AttachError::Load(_) => OTHER,
        }
    }
}

/// The end of the process.
#[derive(Debug)]
pub struct Failure {
    /// The exit code, not 0.
    pub code: u8,
    /// What to tell the person who started it, unless the log has it already.
    pub sentence: Option<String>,
}

impl Failure {
    /// A failure with this code and sentence.
    pub fn new(code: u8, sentence: impl Into<String>) -> Failure {
        Failure {
            code,
            sentence: Some(sentence.into()),
        }
    }

    /// A failure that was logged when it happened.
    pub fn logged(code: u8) -> Failure {
        Failure {
            code,
            sentence: None,
        }
    }
}
