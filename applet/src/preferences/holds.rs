//! The programs that hold a mode.

use std::cell::RefCell;

use adw::prelude::*;
use gtk::glib;
use pandemonium_api::HoldRow;

use crate::overview::object;
use crate::words::choices as words;

/// The rows.
pub struct Holds {
    group: adw::PreferencesGroup,
    none: adw::ActionRow,
    rows: RefCell<Vec<adw::ActionRow>>,
}

impl Holds {
    /// None is known yet.
    pub fn new(builder: &gtk::Builder) -> Holds {
        Holds {
            group: object(builder, "holding"),
            none: object(builder, "no_holds"),
            rows: RefCell::default(),
        }
    }

    /// Shows these, the one in effect first.
    pub fn show(&self, holds: &[HoldRow]) {
        for row in self.rows.take() {
            self.group.remove(&row);
        }
        self.none.set_visible(holds.is_empty());
        for hold in holds.iter().rev() {
            let (title, subtitle) = words::hold(hold, &moment(hold.usec));
            let row = adw::ActionRow::builder().use_markup(false).build();
            row.set_title(&title);
            row.set_subtitle(&subtitle);
            self.group.add(&row);
            self.rows.borrow_mut().push(row);
        }
    }
}

/// A moment of CLOCK_REALTIME microseconds as the person's language writes it.
fn moment(usec: u64) -> String {
    let seconds = i64::try_from(usec / 1_000_000).unwrap_or(0);
    let time = glib::DateTime::from_unix_local(seconds);
    let text = time.and_then(|time| time.format("%x %H:%M"));
    text.map_or_else(|_| String::new(), Into::into)
}
