//! How an entry shows that what is in it cannot be.

use adw::prelude::*;

/// Marks the entry as right or wrong, to the eye and to assistive technology.
pub fn mark(row: &adw::EntryRow, is_right: bool) {
    let widget: &gtk::Widget = row.upcast_ref();
    if is_right {
        widget.remove_css_class("error");
        widget.reset_state(gtk::AccessibleState::Invalid);
    } else {
        widget.add_css_class("error");
        let invalid = gtk::accessible::State::Invalid(gtk::AccessibleInvalidState::True);
        widget.update_state(&[invalid]);
    }
}
