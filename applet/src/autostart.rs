//! Whether the tray item comes with the session: a file in the person's own autostart directory, which is there only
//! because the person wanted it.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gtk::glib;

const FILE: &str = "org.pandemonium.Applet.desktop";

/// Whether the item comes with the next session.
pub fn is_enabled() -> bool {
    is_enabled_in(&directory())
}

/// Makes it come with the next session, or not. Fails as writing and removing files does.
pub fn set_enabled(is_enabled: bool) -> io::Result<()> {
    match is_enabled {
        true => enable_in(&directory(), &program()?),
        false => disable_in(&directory()),
    }
}

/// Where this program is, or the one that an upgrade put into its place.
pub fn program() -> io::Result<PathBuf> {
    env::current_exe().map(|path| in_place_of(&path))
}

/// The kernel says of a program whose file is gone that it was deleted, in the name itself.
fn in_place_of(path: &Path) -> PathBuf {
    let name = path.as_os_str().as_bytes();
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    OsStr::from_bytes(name).into()
}

fn directory() -> PathBuf {
    glib::user_config_dir().join("autostart")
}

fn is_enabled_in(directory: &Path) -> bool {
    let text = fs::read_to_string(directory.join(FILE));
    text.is_ok_and(|text| is_in_force(&text))
}

fn enable_in(directory: &Path, program: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    // A full disk leaves what is there.
    glib::file_set_contents(directory.join(FILE), entry(program).as_bytes())
        .map_err(io::Error::other)
}

fn disable_in(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Desktops let people switch an entry off without removing it, each in its own way.
fn is_in_force(text: &str) -> bool {
    let mut values = text.lines().filter_map(|line| line.split_once('='));
    !values.any(|(key, value)| {
        matches!(
            (key.trim(), value.trim()),
            ("Hidden", "true") | ("X-GNOME-Autostart-enabled", "false")
        )
    })
}

/// A program that is gone is not started.
fn entry(program: &Path) -> String {
    let program = program.to_string_lossy();
    format!(
        "[Desktop Entry]\nType=Application\nName=PANDEMONIUM\nIcon=org.pandemonium.Applet\n\
         Exec={} --hidden\nTryExec={}\nTerminal=false\n",
        quoted(&program),
        program.replace('\\', "\\\\"),
    )
}

/// An argument of `Exec`: quoted as a shell has it, in a string that has escapes of its own, and with the one sign
/// that stands for files.
fn quoted(argument: &str) -> String {
    let mut text = String::from("\"");
    for sign in argument.chars() {
        match sign {
            '\\' => text.push_str("\\\\\\\\"),
            '"' | '`' | '$' => {
                text.push_str("\\\\");
                text.push(sign);
            }
            '%' => text.push_str("%%"),
            _ => text.push(sign),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_once_it_was_switched_on_and_until_it_is_switched_off() {
        let home = tempfile::tempdir().expect("a directory");
        let directory = home.path().join("config/autostart");
        assert!(!is_enabled_in(&directory));
        disable_in(&directory).expect("nothing is there to remove");
        enable_in(&directory, Path::new("/usr/bin/pandemonium-applet")).expect("is written");
        assert!(is_enabled_in(&directory));
        let text = fs::read_to_string(directory.join(FILE)).expect("is there");
        assert!(
            text.contains("\nExec=\"/usr/bin/pandemonium-applet\" --hidden\n"),
            "{text}"
        );
        disable_in(&directory).expect("is removed");
        assert!(!is_enabled_in(&directory));
        assert_eq!(fs::read_dir(&directory).expect("stays").count(), 0);
    }

    #[test]
    fn after_an_upgrade_the_program_is_the_new_one_in_its_place() {
        let found = |path| in_place_of(Path::new(path));
        assert_eq!(found("/usr/bin/a (deleted)"), Path::new("/usr/bin/a"));
        assert_eq!(found("/usr/bin/a"), Path::new("/usr/bin/a"));
    }

    #[test]
    fn what_a_desktop_switched_off_is_off() {
        let with = |line: &str| format!("{}{line}\n", entry(Path::new("/x")));
        assert!(is_in_force(&with("X-GNOME-Autostart-enabled=true")));
        assert!(!is_in_force(&with("X-GNOME-Autostart-enabled=false")));
        assert!(!is_in_force(&with("Hidden = true")));
    }

    #[test]
    fn a_program_in_an_odd_place_is_found() {
        assert_eq!(quoted("/a b/100%"), "\"/a b/100%%\"");
        assert_eq!(quoted("/a$b\\c\"d"), r#""/a\\$b\\\\c\\"d""#);
    }
}
