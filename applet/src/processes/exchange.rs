//! Profiles to a file and from one. The daemon gets an open file, never a path.

use std::fs::File;
use std::os::fd::OwnedFd;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::{gio, glib};
use zbus::Fd;

use crate::asker::Asker;
use crate::translation::fill;
use crate::words::programs as words;

/// Asks for a file and writes all profiles to it.
pub fn export(parent: &impl IsA<gtk::Widget>, asker: &Asker) {
    let dialog = gtk::FileDialog::builder()
        .title(gettext("Export Profiles"))
        .initial_name("pandemonium-profiles.toml")
        .build();
    let asker = asker.clone();
    let window = window_of(parent);
    glib::spawn_future_local(async move {
        // An error is a person who changed their mind.
        let Ok(chosen) = dialog.save_future(window.as_ref()).await else {
            return;
        };
        let Some(file) = open(&asker, &chosen, |path| File::create(path)) else {
            return;
        };
        let teller = asker.clone();
        asker.ask_then(
            move |daemon| async move { daemon.processes.export(Fd::Owned(file)).await },
            move |()| teller.say(&gettext("Profiles exported")),
        );
    });
}

/// Asks for a file, takes the profiles over that are in it, and calls `done`.
pub fn import(parent: &impl IsA<gtk::Widget>, asker: &Asker, done: impl FnOnce() + 'static) {
    let dialog = gtk::FileDialog::builder()
        .title(gettext("Import Profiles"))
        .build();
    let asker = asker.clone();
    let window = window_of(parent);
    glib::spawn_future_local(async move {
        let Ok(chosen) = dialog.open_future(window.as_ref()).await else {
            return;
        };
        let Some(file) = open(&asker, &chosen, |path| File::open(path)) else {
            return;
        };
        let teller = asker.clone();
        asker.ask_then(
            move |daemon| async move {
                let options = std::collections::HashMap::new();
                daemon.processes.import(Fd::Owned(file), options).await
            },
            move |count| {
                teller.say(&words::imported(count));
                done();
            },
        );
    });
}

fn window_of(widget: &impl IsA<gtk::Widget>) -> Option<gtk::Window> {
    widget.root().and_downcast()
}

/// Opens what was chosen, or says why not.
fn open(
    asker: &Asker,
    chosen: &gio::File,
    how: impl FnOnce(&std::path::Path) -> std::io::Result<File>,
) -> Option<OwnedFd> {
    let Some(path) = chosen.path() else {
        asker.say(&gettext("Only files of this computer can be used"));
        return None;
    };
    match how(&path) {
        Ok(file) => Some(file.into()),
        Err(error) => {
            let sentence = gettext("The file cannot be opened: {reason}");
            asker.say(&fill(&sentence, &[("reason", &error.to_string())]));
            None
        }
    }
}
