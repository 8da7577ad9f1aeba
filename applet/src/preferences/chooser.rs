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
    // A list that owned its dialog would keep it for good.
    let open = dialog.downgrade();
    view.connect_activate(move |view, at| {
        let item = view.model().and_then(|model| model.item(at));
        if let Some(name) = item.and_downcast::<gtk::StringObject>() {
            if let Some(open) = open.upgrade() {
                open.close();
            }
            chosen(name.string().into());
        }
    });
    let link = asker.link().clone();
    glib::spawn_future_local(async move {
        match link.call(programs::fetch).await {
            Ok(programs) => {
                for program in programs {
                    let name = compositor(program.row.comm);
                    if let Some(name) = name.filter(|name| !known.contains(name)) {
                        names.append(&name);
                    }
                }
            }
            Err(trouble) if trouble != Trouble::NoDaemon => {
                let text = words::trouble(&trouble);
                nothing.set_description(Some(&glib::markup_escape_text(&text)));
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

/// The name of a program as that of a compositor, if it can be one. The printable name has escapes, which no program
/// is called by.
fn compositor(comm: Vec<u8>) -> Option<String> {
    let name = String::from_utf8(comm).ok()?;
    words::choices::wrong_name(&name).is_none().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_compositor_by_its_own_name_and_not_by_the_printable_one() {
        let of = |comm: &[u8]| compositor(comm.to_vec());
        assert_eq!(of(b"kwin_wayland").as_deref(), Some("kwin_wayland"));
        assert_eq!(of(b"a\\b").as_deref(), Some("a\\b"));
        assert_eq!(of("Z\u{fc}rich".as_bytes()), None);
        assert_eq!(of(b"a\xff"), None);
    }
}
