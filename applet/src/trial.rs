//! The dialog of a mode that goes back unless it is kept. The daemon counts; this only shows it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::glib;
use pandemonium_api::mode;

use crate::clock::real_usec;
use crate::model::Status;
use crate::words;

/// How long a new mode waits to be kept, seconds: long enough to look around, short enough to sit out.
const SECONDS: u32 = 15;

/// How long this mode waits. Off is where everybody is safe; any other mode goes back unless it is kept.
pub fn seconds(mode: &str) -> Option<u32> {
    (mode != mode::OFF).then_some(SECONDS)
}

const KEEP: &str = "keep";
const REVERT: &str = "revert";

/// An open dialog. It counts only while it can be seen.
pub struct Trial {
    inner: Rc<Inner>,
}

struct Inner {
    dialog: adw::AlertDialog,
    status: RefCell<Status>,
    is_over: Cell<bool>,
    timer: RefCell<Option<glib::SourceId>>,
}

impl Inner {
    fn begin_to_count(self: &Rc<Self>) {
        self.count_down();
        let counting = Rc::downgrade(self);
        let timer = glib::timeout_add_seconds_local(1, move || match counting.upgrade() {
            Some(inner) => {
                inner.count_down();
                glib::ControlFlow::Continue
            }
            None => glib::ControlFlow::Break,
        });
        self.count_by(Some(timer));
    }

    fn count_by(&self, timer: Option<glib::SourceId>) {
        if let Some(timer) = self.timer.replace(timer) {
            timer.remove();
        }
    }

    fn count_down(&self) {
        let status = self.status.borrow();
        let left = status.confirm_usec.saturating_sub(real_usec());
        let text = words::trial(&status, left.div_ceil(1_000_000));
        self.dialog.set_body(&text);
    }
}

impl Trial {
    /// Opens the dialog. `decide` is called with whether the mode is kept.
    pub fn begin(
        parent: &adw::ApplicationWindow,
        status: &Status,
        decide: impl Fn(bool) + 'static,
    ) -> Trial {
        let dialog = adw::AlertDialog::builder()
            .heading(gettext("Keep This Mode?"))
            .close_response(REVERT)
            .default_response(KEEP)
            .build();
        dialog.add_response(REVERT, &gettext("Go _Back"));
        dialog.add_response(KEEP, &gettext("_Keep"));
        dialog.set_response_appearance(KEEP, adw::ResponseAppearance::Suggested);
        let inner = Rc::new(Inner {
            dialog,
            status: RefCell::new(status.clone()),
            is_over: Cell::new(false),
            timer: RefCell::default(),
        });
        let answered = Rc::downgrade(&inner);
        inner.dialog.connect_response(None, move |_, response| {
            // Closing the dialog from here is no answer.
            if answered
                .upgrade()
                .is_some_and(|inner| !inner.is_over.replace(true))
            {
                decide(response == KEEP);
            }
        });
        let seen = Rc::downgrade(&inner);
        inner.dialog.connect_map(move |_| {
            if let Some(inner) = seen.upgrade() {
                inner.begin_to_count();
            }
        });
        let hidden = Rc::downgrade(&inner);
        inner.dialog.connect_unmap(move |_| {
            if let Some(inner) = hidden.upgrade() {
                inner.count_by(None);
            }
        });
        inner.count_down();
        inner.dialog.present(Some(parent));
        Trial { inner }
    }

    /// Whether the dialog is about this wait. One that was answered says nothing about a later one.
    pub fn is_about(&self, status: &Status) -> bool {
        let known = self.inner.status.borrow().confirm_usec;
        is_about((self.inner.is_over.get(), known), status.confirm_usec)
    }

    /// Shows another mode or time.
    pub fn show(&self, status: &Status) {
        self.inner.status.replace(status.clone());
        self.inner.count_down();
    }

    /// Closes the dialog: the matter is settled.
    pub fn end(self) {
        if !self.inner.is_over.replace(true) {
            self.inner.dialog.force_close();
        }
    }
}

/// `known`: whether the dialog was answered, and until when the mode waited then.
fn is_about(known: (bool, u64), confirm_usec: u64) -> bool {
    let (is_over, known_usec) = known;
    !is_over || known_usec == confirm_usec
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.count_by(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialog_follows_its_mode_until_it_is_answered_and_says_nothing_about_a_later_one() {
        assert!(is_about((false, 10), 10));
        assert!(is_about((false, 10), 20));
        assert!(is_about((true, 10), 10));
        assert!(!is_about((true, 10), 20));
    }
}
