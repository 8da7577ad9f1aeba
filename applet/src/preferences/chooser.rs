//! The dialog that chooses among programs that were seen.

use adw::prelude::*;
use gtk::glib;

use crate::asker::Asker;
use crate::link::Trouble;
use crate::overview::object;
use crate::programs;
use crate::words;

/// Opens the dialog without the names that are `known`. `chosen` is called with the name.
pub fn open(
    parent: &impl IsA<gtk::Widget>,
    asker: &Asker,
    known: Vec<String>,
    chosen: impl Fn(String) + 'static,
) {
    let builder = gtk::Builder::from_resource("/org/pandemonium/Applet/chooser.ui");
    let dialog: adw::Dialog = object(&builder, "dialog");
    let names: gtk::StringList = object(&builder, "names");
    let stack: gtk::Stack = object(&builder, "stack");
    let nothing: adw::StatusPage = object(&builder, "nothing");
    let view: gtk::ListView = object(&builder, "view");
    let open = dialog.clone();
    view.connect_activate(move |view, at| {
        let item = view.model().and_then(|model| model.item(at));
        if let Some(name) = item.and_downcast::<gtk::StringObject>() {
            open.close();
            chosen(name.string().into());
        }
    });
    let link = asker.link().clone();
    glib::spawn_future_local(async move {
        match link.call(programs::fetch).await {
            Ok(programs) => {
                for program in programs {
                    let name = program.row.name;
                    if !known.contains(&name) && words::choices::wrong_name(&name).is_none() {
                        names.append(&name);
                    }
                }
            }
            Err(trouble) if trouble != Trouble::NoDaemon => {
                nothing.set_description(Some(&words::trouble(&trouble)));
            }
            Err(_) => {}
        }
        let page = if names.n_items() == 0 {
            "nothing"
        } else {
            "list"
        };
        stack.set_visible_child_name(page);
    });
    dialog.present(Some(parent));
}
