//! The dialog that pins a program by its name, known or not.

use std::rc::Rc;

use adw::prelude::*;
use pandemonium_api::unescape_name;

use crate::overview::object;
use crate::validity;
use crate::words::programs::TIERS;

/// Opens the dialog. `pin` is called with the name's bytes and the tier.
pub fn open(parent: &impl IsA<gtk::Widget>, pin: impl Fn(Vec<u8>, &'static str) + 'static) {
    let builder = gtk::Builder::from_resource("/org/pandemonium/Applet/pin.ui");
    let dialog: adw::AlertDialog = object(&builder, "dialog");
    let name: adw::EntryRow = object(&builder, "name");
    let tier: adw::ComboRow = object(&builder, "tier");
    let checked = Rc::new({
        // A row that owned its dialog would keep it for good.
        let dialog = dialog.downgrade();
        move |name: &adw::EntryRow| {
            let Some(dialog) = dialog.upgrade() else {
                return;
            };
            let is_good = unescape_name(&name.text()).is_ok();
            dialog.set_response_enabled("pin", is_good);
            validity::mark(name, is_good || name.text().is_empty());
        }
    });
    checked(&name);
    name.connect_changed(move |name| checked(name));
    let (named, chosen) = (name.clone(), tier.clone());
    dialog.connect_response(Some("pin"), move |_, _| {
        let tier = TIERS.iter().rev().nth(chosen.selected() as usize);
        if let (Ok(comm), Some(tier)) = (unescape_name(&named.text()), tier) {
            pin(comm, tier);
        }
    });
    dialog.present(Some(parent));
    name.grab_focus();
}
