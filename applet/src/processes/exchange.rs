//! Profiles to a file and from one. The daemon gets an open file, never a path.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use adw::prelude::*;
use gettextrs::gettext;
use gtk::{gio, glib};
use tempfile::NamedTempFile;
use zbus::Fd;

use crate::asker::Asker;
use crate::link::Trouble;
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
        let Some(path) = path_of(&chosen, &asker) else {
            return;
        };
        let (beside, file) = match beside(&path) {
            Ok(made) => made,
            Err(error) => return cannot_open(&error, &asker),
        };
        let teller = asker.clone();
        asker.ask_then(
            move |daemon| async move { daemon.processes.export(Fd::Owned(file)).await },
            move |()| match beside.persist(&path) {
                Ok(_) => teller.say(&gettext("Profiles exported")),
                Err(error) => cannot_open(&error.error, &teller),
            },
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
        let Some(path) = path_of(&chosen, &asker) else {
            return;
        };
        let file = match File::open(path) {
            Ok(file) => OwnedFd::from(file),
            Err(error) => return cannot_open(&error, &asker),
        };
        let imported = asker.link().call(move |daemon| async move {
            let options = std::collections::HashMap::new();
            daemon.processes.import(Fd::Owned(file), options).await
        });
        match imported.await {
            Ok(count) => {
                asker.say(&words::imported(count));
                done();
            }
            Err(Trouble::Failed(reason)) => asker.say(&words::not_imported(&reason)),
            Err(trouble) => asker.tell(&trouble),
        }
    });
}

fn window_of(widget: &impl IsA<gtk::Widget>) -> Option<gtk::Window> {
    widget.root().and_downcast()
}

/// A new file that takes the place of this one once it is written: until then, whatever is there stays.
fn beside(path: &Path) -> io::Result<(NamedTempFile, OwnedFd)> {
    let file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new("/")))?;
    let written = file.reopen()?;
    Ok((file, written.into()))
}

/// Where it is, or says why it cannot be used.
fn path_of(chosen: &gio::File, asker: &Asker) -> Option<PathBuf> {
    let path = chosen.path();
    if path.is_none() {
        asker.say(&gettext("Only files of this computer can be used"));
    }
    path
}

fn cannot_open(error: &io::Error, asker: &Asker) {
    let sentence = gettext("The file cannot be opened: {reason}");
    asker.say(&fill(&sentence, &[("reason", &error.to_string())]));
}
