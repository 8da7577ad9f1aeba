//! Which mode is wanted and because of whom: the last wish, a stop, the wish that goes back unless it is
//! confirmed, and the holds on top of all that. No clock, no kernel.

use pandemonium_api::{HoldRow, mode_reason};
use pandemonium_policy::Mode;

/// What was asked for last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wish {
    mode: Mode,
    /// Off until somebody starts it, without forgetting the mode.
    is_stopped: bool,
    /// The last mode other than off.
    last_on: Mode,
    why: String,
}

impl Wish {
    fn target(&self) -> Mode {
        if self.is_stopped {
            Mode::Off
        } else {
            self.mode
        }
    }
}

/// A wish that goes back unless it is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trial {
    before: Wish,
    is_persistent: bool,
}

/// A program that holds a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hold {
    id: u64,
    mode: Mode,
    row: HoldRow,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    wish: Wish,
    trial: Option<Trial>,
    /// The newest last.
    holds: Vec<Hold>,
}

impl Wanted {
    /// What the daemon starts with.
    pub fn at_boot(mode: Mode) -> Wanted {
        let wish = Wish {
            mode,
            is_stopped: false,
            last_on: if mode == Mode::Off {
                Mode::default()
            } else {
                mode
            },
            why: "boot".to_owned(),
        };
        Wanted {
            wish,
            trial: None,
            holds: Vec::new(),
        }
    }

    /// The mode to be in.
    pub fn target(&self) -> Mode {
        self.holds
            .last()
            .map_or(self.wish.target(), |hold| hold.mode)
    }

    /// The mode that was asked for last, whatever is on top of it.
    pub fn wish(&self) -> Mode {
        self.wish.mode
    }

    /// Who or what decided the target.
    pub fn why(&self) -> String {
        let Some(HoldRow {
            application,
            reason,
            uid,
            ..
        }) = self.holds.last().map(|hold| &hold.row)
        else {
            return self.wish.why.clone();
        };
        let colon = if reason.is_empty() { "" } else { ": " };
        format!("hold of {application} for user {uid}{colon}{reason}")
    }

    /// What to say while nothing is loaded because nobody wants it.
    pub fn why_off(&self) -> &'static str {
        if !self.holds.is_empty() {
            "A program holds it off."
        } else if self.wish.is_stopped {
            "Stopped on request; a start brings it back."
        } else {
            "Switched off on request."
        }
    }

    /// Somebody asks for a mode without condition.
    pub fn ask(&mut self, mode: Mode, why: String) {
        self.trial = None;
        self.wish.mode = mode;
        self.wish.is_stopped = false;
        if mode != Mode::Off {
            self.wish.last_on = mode;
        }
        self.wish.why = why;
    }

    /// Somebody asks for a mode that has to be confirmed. What it goes back to is what was last wanted
    /// without condition.
    pub fn ask_on_trial(&mut self, mode: Mode, why: String, is_persistent: bool) {
        let before = self.trial.take().map(|trial| trial.before);
        let before = before.unwrap_or_else(|| self.wish.clone());
        self.ask(mode, why);
        self.trial = Some(Trial {
            before,
            is_persistent,
        });
    }

    /// Whether a wish waits for a confirmation, and whether it is to be remembered then.
    pub fn trial(&self) -> Option<bool> {
        self.trial.as_ref().map(|trial| trial.is_persistent)
    }

    /// The target if the wish that waits goes back.
    pub fn revert_mode(&self) -> Mode {
        let wish = self
            .trial
            .as_ref()
            .map_or(&self.wish, |trial| &trial.before);
        wish.target()
    }

    /// The wish that waits is kept. Whether there was one.
    pub fn confirm(&mut self) -> bool {
        self.trial.take().is_some()
    }

    /// The wish that waits goes back, below the holds: from which mode to which, if there was one.
    pub fn revert(&mut self) -> Option<(Mode, Mode)> {
        let trial = self.trial.take()?;
        let from = self.wish.target();
        self.wish = trial.before;
        self.wish.why = mode_reason::REVERT.to_owned();
        Some((from, self.wish.target()))
    }

    /// A program holds this mode, on top of everything.
    pub fn hold(&mut self, id: u64, mode: Mode, row: HoldRow) {
        self.holds.push(Hold { id, mode, row });
    }

    /// It does so no longer; what it was, if it is known.
    pub fn release(&mut self, id: u64) -> Option<HoldRow> {
        let at = self.holds.iter().position(|hold| hold.id == id)?;
        Some(self.holds.remove(at).row)
    }

    /// Nobody holds anything any more.
    pub fn cancel_holds(&mut self) -> Vec<HoldRow> {
        self.holds.drain(..).map(|hold| hold.row).collect()
    }

    /// Every hold, the newest last.
    pub fn holds(&self) -> Vec<HoldRow> {
        self.holds.iter().map(|hold| hold.row.clone()).collect()
    }

    /// Somebody wants it loaded, in whatever mode was wanted last.
    pub fn start(&mut self, why: String) {
        if self.wish.target() == Mode::Off {
            self.wish.mode = self.wish.last_on;
            self.wish.is_stopped = false;
            self.wish.why = why;
        }
    }

    /// The mode that a start would lead to.
    pub fn start_mode(&self) -> Mode {
        match self.wish.target() {
            Mode::Off => self.wish.last_on,
            mode => mode,
        }
    }

    /// Somebody wants it off for now.
    pub fn stop(&mut self, why: String) {
        self.wish.is_stopped = true;
        self.wish.why = why;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(mode: Mode) -> Wanted {
        Wanted::at_boot(mode)
    }

    #[test]
    fn a_stop_is_on_top_of_the_wish_until_the_next_request() {
        let mut it = wanted(Mode::Bpf);
        it.stop("a".into());
        assert_eq!(
            (it.target(), it.wish(), it.why().as_str()),
            (Mode::Off, Mode::Bpf, "a")
        );
        it.start("b".into());
        assert_eq!((it.target(), it.why().as_str()), (Mode::Bpf, "b"));
        it.start("c".into());
        assert_eq!(it.why(), "b", "there was nothing to start");
        it.stop("d".into());
        it.ask(Mode::Adaptive, "e".into());
        assert_eq!((it.target(), it.why().as_str()), (Mode::Adaptive, "e"));
    }

    #[test]
    fn a_start_finds_the_last_mode_other_than_off() {
        let mut it = wanted(Mode::Off);
        assert_eq!(it.start_mode(), Mode::Adaptive);
        it.ask(Mode::Bpf, "a".into());
        it.ask(Mode::Off, "b".into());
        it.start("c".into());
        assert_eq!((it.target(), it.wish()), (Mode::Bpf, Mode::Bpf));
    }

    #[test]
    fn a_trial_goes_back_to_what_was_wanted_without_condition() {
        let mut it = wanted(Mode::Adaptive);
        it.stop("a".into());
        it.ask_on_trial(Mode::Bpf, "b".into(), false);
        it.ask_on_trial(Mode::Adaptive, "c".into(), true);
        assert_eq!((it.target(), it.trial()), (Mode::Adaptive, Some(true)));
        assert_eq!(it.revert(), Some((Mode::Adaptive, Mode::Off)));
        assert_eq!(
            (it.target(), it.wish(), it.why().as_str()),
            (Mode::Off, Mode::Adaptive, "revert")
        );
        assert_eq!(it.revert(), None);
    }

    #[test]
    fn a_confirmed_or_replaced_trial_stays() {
        let mut it = wanted(Mode::Adaptive);
        it.ask_on_trial(Mode::Bpf, "a".into(), false);
        assert!(it.confirm() && !it.confirm());
        assert_eq!((it.target(), it.revert()), (Mode::Bpf, None));
        it.ask_on_trial(Mode::Off, "b".into(), false);
        it.ask(Mode::Off, "c".into());
        assert_eq!((it.target(), it.revert()), (Mode::Off, None));
    }

    fn row(application: &str) -> HoldRow {
        HoldRow {
            application: application.to_owned(),
            uid: 7,
            ..HoldRow::default()
        }
    }

    #[test]
    fn the_newest_hold_is_in_effect_and_what_was_wanted_comes_back() {
        let mut it = wanted(Mode::Adaptive);
        it.hold(1, Mode::Off, row("a"));
        it.hold(2, Mode::Bpf, row("b"));
        assert_eq!((it.target(), it.wish()), (Mode::Bpf, Mode::Adaptive));
        assert_eq!(it.why(), "hold of b for user 7");
        assert_eq!(it.release(1), Some(row("a")));
        assert_eq!(it.target(), Mode::Bpf);
        assert_eq!((it.release(2), it.release(2)), (Some(row("b")), None));
        assert_eq!((it.target(), it.why().as_str()), (Mode::Adaptive, "boot"));
    }

    #[test]
    fn what_goes_back_or_is_started_does_so_below_the_holds() {
        let mut it = wanted(Mode::Adaptive);
        it.ask_on_trial(Mode::Off, "a".into(), false);
        it.hold(1, Mode::Bpf, row("b"));
        assert_eq!(it.revert(), Some((Mode::Off, Mode::Adaptive)));
        assert_eq!(it.target(), Mode::Bpf);
        it.stop("c".into());
        it.start("d".into());
        assert_eq!((it.target(), it.holds()), (Mode::Bpf, vec![row("b")]));
        assert_eq!(it.cancel_holds(), [row("b")]);
        assert_eq!((it.target(), it.why().as_str()), (Mode::Adaptive, "d"));
    }
}
