//! The question before something that cannot be taken back.

use adw::prelude::*;
use gettextrs::gettext;

const YES: &str = "yes";

/// Asks, and calls `done` if the answer is the one of the button with this label.
pub fn ask(
    parent: &impl IsA<gtk::Widget>,
    heading: &str,
    body: &str,
    label: &str,
    done: impl Fn() + 'static,
) {
    let dialog = adw::AlertDialog::builder()
        .heading(heading)
        .body(body)
        .close_response("no")
        .default_response("no")
        .build();
    dialog.add_response("no", &gettext("_Cancel"));
    dialog.add_response(YES, label);
    dialog.set_response_appearance(YES, adw::ResponseAppearance::Destructive);
    dialog.connect_response(Some(YES), move |_, _| done());
    dialog.present(Some(parent));
}
