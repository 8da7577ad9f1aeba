//! What is worth interrupting a person for, once each: the kernel ended the scheduler, another one is loaded, a mode
//! went back. Nothing else is.

use gettextrs::gettext;
use pandemonium_api::{revert, state};

use crate::clock::real_usec;
use crate::model::{Presence, Revert};
use crate::translation::fill;
use crate::words;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// The same for all that say the same: a newer one takes the place of an older one.
    pub id: &'static str,
    /// A few words.
    pub title: String,
    /// One or two sentences.
    pub body: String,
    /// Whether the scheduler can be loaded again.
    pub can_load: bool,
}

/// The kernel ended the scheduler.
pub const EJECTED: &str = "ejected";
/// Another scheduler is loaded.
pub const CONFLICT: &str = "conflict";
/// A mode went back.
pub const REVERTED: &str = "reverted";

/// What was told before, so that it is not told again when the daemon, the bus or the panel returns.
#[derive(Debug, Default)]
pub struct Told {
    /// What was so before anybody looked is no news.
    has_looked: bool,
    /// When the kernel last ended the scheduler, microseconds of CLOCK_REALTIME.
    exit_usec: u64,
    /// The scheduler that is loaded instead.
    conflict: Option<String>,
}

impl Told {
    /// What has happened since the last call, if anything.
    pub fn news(&mut self, presence: &Presence) -> Option<Occasion> {
        let status = presence.status()?;
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        let exit = status.last_exit.usec;
        let is_ejected = exit != 0 && exit != self.exit_usec;
        if exit != 0 {
            self.exit_usec = exit;
        }
        let mut is_conflict = false;
        if status.state == state::CONFLICT {
            let other = Some(status.kernel_ops.clone());
            is_conflict = self.conflict != other;
            self.conflict = other;
        } else if status.is_running() {
            self.conflict = None;
        }
        let (id, body) = match (is_first, is_conflict, is_ejected) {
            (true, ..) | (_, false, false) => return None,
            (_, true, _) => (CONFLICT, words::conflict(status)),
            (_, _, true) => (EJECTED, words::ejected(status, real_usec())),
        };
        Some(Occasion {
            id,
            title: words::headline(presence),
            body,
            can_load: true,
        })
    }
}

/// A mode that went back; nothing if somebody asked for that, or if the kernel did it, which is told already.
pub fn reverted(revert: &Revert) -> Option<Occasion> {
    if [revert::REQUEST, revert::EJECTED].contains(&revert.reason.as_str()) {
        return None;
    }
    let sentence = gettext("“{old}” was not kept, so the mode is “{new}” again.");
    let names = [
        ("old", words::mode_name(&revert.from)),
        ("new", words::mode_name(&revert.to)),
    ];
    let names = names.each_ref().map(|(key, name)| (*key, name.as_str()));
    Some(Occasion {
        id: REVERTED,
        title: gettext("The mode went back"),
        body: fill(&sentence, &names),
        can_load: false,
    })
}

#[cfg(test)]
mod tests {
    use pandemonium_api::mode;

    use super::*;
    use crate::model::Status;

    fn status(state: &str) -> Status {
        Status {
            state: state.to_owned(),
            requested_mode: mode::ADAPTIVE.to_owned(),
            ..Status::default()
        }
    }

    fn here(status: &Status) -> Presence {
        Presence::Here(Box::new(status.clone()))
    }

    fn ids(told: &mut Told, seen: &[&Presence]) -> Vec<&'static str> {
        let news = seen.iter().filter_map(|presence| told.news(presence));
        news.map(|occasion| occasion.id).collect()
    }

    #[test]
    fn an_ejection_is_told_once_however_often_the_daemon_is_found_again() {
        let well = here(&status(state::RUNNING));
        let mut ejected = status(state::EJECTED);
        ejected.last_exit.usec = 5;
        ejected.last_exit.reason = "disabled by sysrq-S".into();
        let ended = here(&ejected);
        let mut told = Told::default();
        let seen = [&well, &ended, &ended, &Presence::NoDaemon, &ended, &well];
        assert_eq!(ids(&mut told, &seen), [EJECTED]);
        // A daemon that was started anew remembers none, and the next one is another.
        ejected.last_exit.usec = 9;
        assert_eq!(ids(&mut told, &[&well, &here(&ejected)]), [EJECTED]);
    }

    #[test]
    fn what_was_so_before_is_no_news() {
        let mut before = status(state::CONFLICT);
        before.kernel_ops = "scx_other".into();
        before.last_exit.usec = 5;
        let mut told = Told::default();
        assert_eq!(ids(&mut told, &[&here(&before), &here(&before)]), [""; 0]);
    }

    #[test]
    fn another_scheduler_is_told_once_until_ours_was_loaded() {
        let well = here(&status(state::RUNNING));
        let starting = here(&status(state::STARTING));
        let mut conflict = status(state::CONFLICT);
        conflict.kernel_ops = "scx_other".into();
        let conflict = here(&conflict);
        let mut told = Told::default();
        let seen = [&well, &conflict, &Presence::NoDaemon, &starting, &conflict];
        assert_eq!(ids(&mut told, &seen), [CONFLICT]);
        assert_eq!(ids(&mut told, &[&well, &conflict]), [CONFLICT]);
    }

    #[test]
    fn a_mode_that_went_back_is_told_unless_somebody_asked_for_that() {
        let because = |reason: &str| {
            reverted(&Revert {
                from: mode::BPF.into(),
                to: mode::ADAPTIVE.into(),
                reason: reason.into(),
            })
        };
        let told = because(revert::TIMEOUT).map(|occasion| occasion.body);
        let expected = "“Fixed” was not kept, so the mode is “Adaptive” again.";
        assert_eq!(told.as_deref(), Some(expected));
        assert!(because(revert::STOPPED).is_some());
        assert!(because(revert::REQUEST).is_none());
        assert!(because(revert::EJECTED).is_none());
    }
}
