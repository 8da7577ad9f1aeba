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

/// An open dialog.
pub struct Trial {
    inner: Rc<Inner>,
    timer: RefCell<Option<glib::SourceId>>,
}

struct Inner {
    dialog: adw::AlertDialog,
    status: RefCell<Status>,
    is_over: Cell<bool>,
}

impl Inner {
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
        inner.count_down();
        inner.dialog.present(Some(parent));
        let counting = Rc::downgrade(&inner);
        let timer = glib::timeout_add_seconds_local(1, move || match counting.upgrade() {
            Some(inner) => {
                inner.count_down();
                glib::ControlFlow::Continue
            }
            None => glib::ControlFlow::Break,
        });
        Trial {
            inner,
            timer: RefCell::new(Some(timer)),
        }
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

impl Drop for Trial {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.remove();
        }
    }
}
