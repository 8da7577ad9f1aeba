//! What people change about learned profiles: in the table and in the kernel half at once, and on disk
//! right after the reply.

use std::fmt;

use pandemonium_api::{BusError, Refusal, escape};
use pandemonium_policy::{Profile, Profiles, Tier};

use super::Daemon;
use crate::profile_store::counted;
use crate::status::State;

/// A name as the kernel keeps it.
pub type Comm = [u8; 16];

/// A change of what is known about programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Decide on the tier of a name.
    Pin(Comm, Tier),
    /// Take that back.
    Unpin(Comm),
    /// Forget what was learned about it.
    Forget(Comm),
    /// Forget what was learned about all.
    ForgetAll,
    /// Take these over, instead of all that is known or beside it.
    Import(Vec<Profile>, bool),
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |comm: &Comm| {
            let end = comm.iter().position(|byte| *byte == 0);
            escape(&comm[..end.unwrap_or(comm.len())], comm.len())
        };
        match self {
            Edit::Pin(comm, tier) => write!(f, "{} is pinned as {}", name(comm), tier.name()),
            Edit::Unpin(comm) => write!(f, "{} is no longer pinned", name(comm)),
            Edit::Forget(comm) => write!(f, "{} is forgotten", name(comm)),
            Edit::ForgetAll => f.write_str("all that was learned about programs is forgotten"),
            Edit::Import(profiles, is_replacing) => {
                let by_what = if *is_replacing { " instead of all" } else { "" };
                write!(f, "{} imported{by_what}", counted(profiles.len()))
            }
        }
    }
}

impl Daemon {
    /// Makes the change, and says how many programs it concerned.
    pub(super) fn edit_profiles(&mut self, edit: Edit, caller: &str) -> Result<u32, Refusal> {
        let what = edit.to_string();
        let count = self.edit(edit)?;
        log::info!("{what} on request of {caller}");
        if self.status.state == State::Running {
            self.predict();
        }
        self.refresh_learned();
        self.save_in_background();
        self.publish();
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    fn edit(&mut self, edit: Edit) -> Result<usize, Refusal> {
        let profiles = &mut self.profiles;
        let missing = |sentence: &str| Err(BusError::NotFound.because(sentence));
        match edit {
            Edit::Pin(comm, tier) if profiles.pin(&comm, tier) => Ok(1),
            Edit::Pin(..) => Err(BusError::LimitsExceeded.because(format!(
                "At most {} programs may be pinned; unpin one first.",
                Profiles::MAX_PINNED
            ))),
            Edit::Unpin(comm) if profiles.unpin(&comm) => Ok(1),
            Edit::Unpin(_) => missing("This program is not pinned."),
            Edit::Forget(comm) if profiles.forget(&comm) => Ok(1),
            Edit::Forget(_) => missing("Nothing was learned about this program."),
            Edit::ForgetAll => Ok(profiles.forget_all()),
            Edit::Import(imported, is_replacing) => {
                let count = imported.len();
                profiles.import(imported, is_replacing);
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_tells_one_from_many() {
        let imported = |count, is_replacing| {
            Edit::Import(
                vec![Profile::of_pin(b"make\0\0\0\0\0\0\0\0\0\0\0\0", Tier::Batch, 0); count],
                is_replacing,
            )
            .to_string()
        };
        assert_eq!(imported(1, false), "1 profile imported");
        assert_eq!(imported(2, true), "2 profiles imported instead of all");
    }
}
