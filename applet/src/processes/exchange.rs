//! Profiles to a file and from one. The daemon gets an open file, never a path.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
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
        let path = behind_links(path);
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

/// The file that is written if the person chose a link to it; the link stays.
fn behind_links(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}

/// A new file that takes the place of this one once it is written: until then, whatever is there stays. It may be read by
/// whoever may read what is there, or any new file of this person.
fn beside(path: &Path) -> io::Result<(NamedTempFile, OwnedFd)> {
    let permissions = match fs::metadata(path) {
        Ok(there) => there.permissions(),
        Err(_) => Permissions::from_mode(0o666),
    };
    let file = tempfile::Builder::new()
        .permissions(permissions)
        .tempfile_in(path.parent().unwrap_or(Path::new("/")))?;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).expect("is there").permissions().mode()
    }

    fn write_to(path: &Path) {
        let path = behind_links(path.into());
        let (file, _) = beside(&path).expect("can be made");
        file.persist(&path).expect("takes the place");
    }

    #[test]
    fn an_exported_file_is_as_readable_as_any_new_one() {
        let home = tempfile::tempdir().expect("a directory");
        let (usual, exported) = (home.path().join("usual"), home.path().join("exported"));
        File::create(&usual).expect("is made");
        write_to(&exported);
        assert_eq!(mode_of(&exported), mode_of(&usual));
    }

    #[test]
    fn what_is_written_over_is_as_readable_as_before() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("private");
        File::create(&path).expect("is made");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("is ours");
        write_to(&path);
        assert_eq!(mode_of(&path) & 0o777, 0o600);
    }

    #[test]
    fn a_link_stays_and_what_it_names_is_written() {
        let home = tempfile::tempdir().expect("a directory");
        let (file, link) = (home.path().join("file"), home.path().join("link"));
        fs::write(&file, "old").expect("is made");
        symlink(&file, &link).expect("is made");
        write_to(&link);
        assert!(fs::symlink_metadata(&link).expect("stays").is_symlink());
        assert_eq!(fs::read(&file).expect("is there"), b"");
    }
}
