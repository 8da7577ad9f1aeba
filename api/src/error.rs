//! The errors that travel over the bus.

use std::fmt;

use zbus::message::{Header, Message};
use zbus::names::ErrorName;

/// What went wrong, as the caller can tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusError {
    /// The kernel refused to load the scheduler.
    LoadFailed,
    /// Another sched_ext scheduler is loaded.
    ForeignScheduler,
    /// This kernel takes no sched_ext scheduler.
    NotSupported,
    /// There is no such mode.
    InvalidMode,
    /// This cannot be the name of a program.
    InvalidName,
    /// What should be taken away is not there.
    NotFound,
    /// The daemon is leaving, or too many requests are waiting.
    Busy,
    /// The configuration files are wrong; what was in force stays.
    InvalidConfig,
    /// What should be kept cannot be written; nothing was done.
    NotSaved,
    /// The caller is not allowed to.
    AccessDenied,
    /// The caller would be allowed to after a dialog, but did not allow one.
    InteractiveAuthorizationRequired,
    /// An argument or option is not understood.
    InvalidArgs,
    /// There would be too many of something, such as requests of one caller that wait.
    LimitsExceeded,
}

impl BusError {
    /// Every error the daemon replies with.
    pub const ALL: [BusError; 13] = [
        BusError::LoadFailed,
        BusError::ForeignScheduler,
        BusError::NotSupported,
        BusError::InvalidMode,
        BusError::InvalidName,
        BusError::NotFound,
        BusError::Busy,
        BusError::InvalidConfig,
        BusError::NotSaved,
        BusError::AccessDenied,
        BusError::InteractiveAuthorizationRequired,
        BusError::InvalidArgs,
        BusError::LimitsExceeded,
    ];

    /// The error's name on the bus.
    pub const fn name(self) -> &'static str {
        match self {
            BusError::LoadFailed => "org.pandemonium.Error.LoadFailed",
            BusError::ForeignScheduler => "org.pandemonium.Error.ForeignScheduler",
            BusError::NotSupported => "org.pandemonium.Error.NotSupported",
            BusError::InvalidMode => "org.pandemonium.Error.InvalidMode",
            BusError::InvalidName => "org.pandemonium.Error.InvalidName",
            BusError::NotFound => "org.pandemonium.Error.NotFound",
            BusError::Busy => "org.pandemonium.Error.Busy",
            BusError::InvalidConfig => "org.pandemonium.Error.InvalidConfig",
            BusError::NotSaved => "org.pandemonium.Error.NotSaved",
            BusError::AccessDenied => "org.freedesktop.DBus.Error.AccessDenied",
            BusError::InteractiveAuthorizationRequired => {
                "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"
            }
            BusError::InvalidArgs => "org.freedesktop.DBus.Error.InvalidArgs",
            BusError::LimitsExceeded => "org.freedesktop.DBus.Error.LimitsExceeded",
        }
    }

    /// The error a failed call came back with, if it is one of these.
    pub fn of(error: &zbus::Error) -> Option<BusError> {
        let name = name_of(error)?;
        BusError::ALL.into_iter().find(|known| known.name() == name)
    }

    /// This error with one sentence for a person.
    pub fn because(self, sentence: impl Into<String>) -> Refusal {
        Refusal {
            error: self,
            sentence: sentence.into(),
        }
    }
}

/// An error reply: what went wrong, and one sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind, which becomes the error's name.
    pub error: BusError,
    /// The sentence, which becomes the error's text.
    pub sentence: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Refusal {}

impl zbus::DBusError for Refusal {
    fn create_reply(&self, call: &Header<'_>) -> zbus::Result<Message> {
        Message::error(call, self.error.name()).build(&(self.sentence.as_str(),))
    }

    fn name(&self) -> ErrorName<'_> {
        ErrorName::from_static_str_unchecked(self.error.name())
    }

    fn description(&self) -> Option<&str> {
        Some(&self.sentence)
    }
}

/// The sentence of a failed call, without the error's name around it.
pub fn explain(error: &zbus::Error) -> String {
    match error {
        zbus::Error::MethodError(_, Some(sentence), _) => sentence.clone(),
        zbus::Error::FDO(error) => match zbus::DBusError::description(&**error) {
            Some(sentence) if !sentence.is_empty() => sentence.to_owned(),
            _ => error.to_string(),
        },
        other => other.to_string(),
    }
}

fn name_of(error: &zbus::Error) -> Option<String> {
    match error {
        zbus::Error::MethodError(name, ..) => Some(name.to_string()),
        zbus::Error::FDO(error) => Some(zbus::DBusError::name(&**error).to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_valid_error_name_and_unique() {
        for error in BusError::ALL {
            assert!(ErrorName::try_from(error.name()).is_ok(), "{error:?}");
            let same = BusError::ALL
                .iter()
                .filter(|other| other.name() == error.name());
            assert_eq!(same.count(), 1);
        }
    }
}
