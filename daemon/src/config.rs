//! The configuration files, checked.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pandemonium_policy::Mode;
use rustix::fs::OFlags;
use serde::Deserialize;
use thiserror::Error;

/// Files larger than this are refused: nobody wrote them by hand.
const MAX_BYTES: u64 = 1 << 20;

const VENDOR: &str = "/usr/lib/pandemonium/config.toml";
const ADMINISTRATOR: &str = "/etc/pandemonium/config.toml";
const DROP_INS: &str = "/etc/pandemonium/config.d";

/// What can be configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The mode after start.
    pub mode: Mode,
}

/// Which files to read, the later ones on top.
#[derive(Clone, Debug)]
pub enum Source {
    /// The system's: vendor, administrator, drop-ins in the order of their names.
    System,
    /// One file that has to exist.
    File(PathBuf),
}

/// What is wrong with which file.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It cannot be opened or read.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is a directory, a FIFO or a device.
    #[error("{}: is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// It is too large.
    #[error("{}: is larger than 1 MiB", .0.display())]
    TooLarge(PathBuf),
    /// It is not text.
    #[error("{}: is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// A key or value is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
}

/// One file as written; every key may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    mode: Option<Mode>,
}

/// Reads and merges the files. A missing system file is fine; anything else wrong is an error.
pub fn load(source: &Source) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    for path in files(source)? {
        let layer = match read(&path) {
            Ok(text) => parse(&path, &text)?,
            Err(ConfigError::Unreadable { error, .. })
                if error.kind() == io::ErrorKind::NotFound && matches!(source, Source::System) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(mode) = layer.mode {
            config.mode = mode;
        }
    }
    Ok(config)
}

fn files(source: &Source) -> Result<Vec<PathBuf>, ConfigError> {
    let Source::System = source else {
        return Ok(match source {
            Source::File(path) => vec![path.clone()],
            Source::System => Vec::new(),
        });
    };
    let mut files = vec![PathBuf::from(VENDOR), PathBuf::from(ADMINISTRATOR)];
    files.extend(drop_ins(Path::new(DROP_INS))?);
    Ok(files)
}

fn drop_ins(directory: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable {
        path: directory.to_owned(),
        error,
    };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a text file without being held up by a FIFO or filled up by a huge file.
fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable {
        path: path.to_owned(),
        error,
    };
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(ConfigError::NotAFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ConfigError::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| ConfigError::NotText(path.to_owned()))
}

fn parse(path: &Path, text: &str) -> Result<Layer, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        ConfigError::Invalid {
            path: path.to_owned(),
            line: 1 + text.as_bytes()[..start]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count(),
            message: error.message().replace('\n', " "),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(bytes: &[u8]) -> Result<Config, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("config.toml");
        fs::write(&path, bytes).expect("a file");
        load(&Source::File(path)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_shipped_file_is_the_default() {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/config.toml");
        let config = load(&Source::File(shipped.into())).expect("the shipped file is valid");
        assert_eq!(config, Config::default());
    }

    #[test]
    fn a_value_is_taken() {
        assert_eq!(load_text(b"mode = \"bpf\"").map(|c| c.mode), Ok(Mode::Bpf));
        assert_eq!(load_text(b"").map(|c| c.mode), Ok(Mode::Adaptive));
    }

    #[test]
    fn an_error_names_file_line_and_key() {
        let unknown = load_text(b"# comment\nmdoe = \"bpf\"\n").expect_err("unknown key");
        assert!(
            unknown.contains("config.toml:2:") && unknown.contains("mdoe"),
            "{unknown}"
        );
        let value = load_text(b"\n\nmode = \"fast\"\n").expect_err("bad value");
        assert!(
            value.contains("config.toml:3:") && value.contains("adaptive"),
            "{value}"
        );
        let syntax = load_text(b"mode = \"bpf\n").expect_err("bad syntax");
        assert!(syntax.contains("config.toml:1:"), "{syntax}");
    }

    #[test]
    fn odd_files_are_refused_and_do_not_hang() {
        assert!(load_text(b"\xff\xfe").is_err_and(|m| m.contains("UTF-8")));
        let huge = vec![b'#'; MAX_BYTES as usize + 1];
        assert!(load_text(&huge).is_err_and(|m| m.contains("1 MiB")));
        let dir = tempfile::tempdir().expect("a directory");
        let refused = |path: PathBuf| load(&Source::File(path)).expect_err("refused").to_string();
        assert!(refused(dir.path().to_owned()).contains("not a regular file"));
        let fifo = dir.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).expect("a fifo");
        assert!(refused(fifo).contains("not a regular file"));
        assert!(refused(dir.path().join("none")).contains("cannot be read"));
    }

    #[test]
    fn drop_ins_are_sorted_and_only_toml() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["20-b.toml", "10-a.toml", "README"] {
            fs::write(dir.path().join(name), "").expect("a file");
        }
        let names: Vec<_> = drop_ins(dir.path())
            .expect("readable")
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        assert_eq!(names, ["10-a.toml", "20-b.toml"]);
        assert!(drop_ins(&dir.path().join("none")).is_ok_and(|files| files.is_empty()));
    }
}
