//! The configuration files, checked.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pandemonium_policy::{Mode, Pattern};
use rustix::fs::OFlags;
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use crate::choices::{Choices, MAX_SLICE_LAG_US};

/// Files larger than this are refused: nobody wrote them by hand.
const MAX_BYTES: u64 = 1 << 20;

const VENDOR: &str = "/usr/lib/pandemonium/config.toml";
const ADMINISTRATOR: &str = "/etc/pandemonium/config.toml";
const DROP_INS: &str = "/etc/pandemonium/config.d";

/// What can be configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The mode after start.
    pub mode: Mode,
    /// Compositors, CPUs to prefer, and the rest that the kernel half follows.
    pub choices: Choices,
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
    compositors: Option<Spanned<Vec<Spanned<String>>>>,
    default_compositors: Option<bool>,
    primary_domain: Option<Spanned<String>>,
    idle_selector: Option<bool>,
    local_kthreads: Option<bool>,
    slice_lag_us: Option<Spanned<i64>>,
}

/// The names of compositors as far as the files have been read.
#[derive(Debug)]
struct Names {
    own: Vec<Pattern>,
    has_built_in: bool,
}

/// A file's text, to say where in it something is wrong.
struct Place<'a> {
    path: &'a Path,
    text: &'a str,
}

/// Reads and merges the files. A missing system file is fine; anything else wrong is an error.
pub fn load(source: &Source) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    let mut names = Names {
        own: Vec::new(),
        has_built_in: true,
    };
    for path in files(source)? {
        let text = match read(&path) {
            Ok(text) => text,
            Err(ConfigError::Unreadable { error, .. })
                if error.kind() == io::ErrorKind::NotFound && matches!(source, Source::System) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        let place = Place {
            path: &path,
            text: &text,
        };
        let layer = place.parse()?;
        names.lay(&layer, &place)?;
        config.lay(&layer, &names, &place)?;
    }
    Ok(config)
}

impl Names {
    /// The list of a later file replaces that of an earlier one.
    fn lay(&mut self, layer: &Layer, place: &Place<'_>) -> Result<(), ConfigError> {
        self.has_built_in = layer.default_compositors.unwrap_or(self.has_built_in);
        if let Some(list) = &layer.compositors {
            let parsed = list.get_ref().iter().map(|name| {
                let wrong = |error| place.wrong(name.span().start, "compositors", error);
                name.get_ref().parse::<Pattern>().map_err(wrong)
            });
            self.own = parsed.collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = Pattern> {
        let built_in = self.has_built_in.then(Pattern::defaults);
        let built_in = built_in.into_iter().flatten();
        built_in.chain(self.own.iter().copied())
    }
}

impl Config {
    fn lay(&mut self, layer: &Layer, names: &Names, place: &Place<'_>) -> Result<(), ConfigError> {
        self.mode = layer.mode.unwrap_or(self.mode);
        let choices = &mut self.choices;
        choices.compositors = names.all().collect();
        choices.check().map_err(|sentence| {
            let list = layer.compositors.as_ref();
            let start = list.map_or(0, |list| list.span().start);
            place.wrong(start, "compositors", sentence)
        })?;
        if let Some(domain) = &layer.primary_domain {
            let wrong = |error| place.wrong(domain.span().start, "primary_domain", error);
            choices.domain = domain.get_ref().parse().map_err(wrong)?;
        }
        choices.idle_selector = layer.idle_selector.unwrap_or(choices.idle_selector);
        choices.local_kthreads = layer.local_kthreads.unwrap_or(choices.local_kthreads);
        if let Some(lag) = &layer.slice_lag_us {
            let (start, us) = (lag.span().start, *lag.get_ref());
            let range = -MAX_SLICE_LAG_US..=MAX_SLICE_LAG_US;
            if !range.contains(&us) {
                let sentence = format!(
                    "{us} is not in the range {} to {}",
                    range.start(),
                    range.end()
                );
                return Err(place.wrong(start, "slice_lag_us", sentence));
            }
            choices.slice_lag_us = us;
        }
        Ok(())
    }
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

impl Place<'_> {
    fn parse(&self) -> Result<Layer, ConfigError> {
        toml::from_str(self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.invalid(start, error.message())
        })
    }

    /// The value of this key, which starts there, is wrong.
    fn wrong(&self, start: usize, key: &str, sentence: impl Display) -> ConfigError {
        self.invalid(start, &format!("{key}: {sentence}"))
    }

    fn invalid(&self, start: usize, message: &str) -> ConfigError {
        let before = &self.text.as_bytes()[..start.min(self.text.len())];
        ConfigError::Invalid {
            path: self.path.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            // The line it is printed in brings its own full stop.
            message: message.replace('\n', " ").trim_end_matches('.').to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pandemonium_policy::PrimaryDomain;

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
    fn choices_are_taken() {
        let text = b"compositors = [\"mywm\", \"other*\"]\ndefault_compositors = false\n\
            primary_domain = \"performance\"\nidle_selector = false\nlocal_kthreads = true\n\
            slice_lag_us = -20000\n";
        let choices = load_text(text).expect("valid").choices;
        let names: Vec<_> = choices.compositors.iter().map(Pattern::to_string).collect();
        assert_eq!(names, ["mywm", "other*"]);
        assert_eq!(choices.domain, PrimaryDomain::Performance);
        assert!(!choices.idle_selector && choices.local_kthreads);
        assert_eq!(choices.slice_lag_us, -20_000);
    }

    #[test]
    fn names_are_added_to_the_built_in_ones() {
        let added = load_text(b"compositors = [\"mywm\", \"sway\"]").expect("valid");
        let built_in = Choices::default().compositors;
        assert_eq!(added.choices.compositors.len(), built_in.len() + 1);
        assert!(added.choices.compositors.is_superset(&built_in));
    }

    #[test]
    fn a_choice_out_of_range_names_file_line_and_key() {
        let many: Vec<_> = (0..65).map(|n| format!("\"wm-{n}\"")).collect();
        for (text, line, words) in [
            (
                "\nslice_lag_us = 20001\n".to_owned(),
                2,
                ["slice_lag_us", "-20000 to 20000"],
            ),
            (
                "slice_lag_us = -20001".to_owned(),
                1,
                ["slice_lag_us", "-20001"],
            ),
            ("slice_lag_us = 1.5".to_owned(), 1, ["float", "1.5"]),
            (
                "\n\nprimary_domain = \"fast\"".to_owned(),
                3,
                ["primary_domain", ""],
            ),
            (
                "primary_domain = \"0x0\"".to_owned(),
                1,
                ["primary_domain", ""],
            ),
            (
                "compositors = [\n  \"good\",\n  \"b/ad\",\n]".to_owned(),
                3,
                ["compositors", ""],
            ),
            ("compositors = [\"*\"]".to_owned(), 1, ["compositors", ""]),
            (
                format!("\ncompositors = [{}]", many.join(",")),
                2,
                ["compositors", "64"],
            ),
            (
                "default_compositors = 1".to_owned(),
                1,
                ["integer", "boolean"],
            ),
        ] {
            let said = load_text(text.as_bytes()).expect_err(&text);
            let place = format!("config.toml:{line}: ");
            assert!(said.contains(&place) && !said.ends_with('.'), "{said}");
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
    }

    #[test]
    fn a_later_file_replaces_the_list_and_keeps_the_rest() {
        let mut names = Names {
            own: Vec::new(),
            has_built_in: true,
        };
        let mut config = Config::default();
        for text in [
            "compositors = [\"early\"]\ndefault_compositors = false\nslice_lag_us = 5",
            "compositors = [\"late\"]\nmode = \"bpf\"",
        ] {
            let place = Place {
                path: Path::new("a.toml"),
                text,
            };
            let layer = place.parse().expect("valid");
            names.lay(&layer, &place).expect("valid");
            config.lay(&layer, &names, &place).expect("valid");
        }
        let names: Vec<_> = config
            .choices
            .compositors
            .iter()
            .map(Pattern::to_string)
            .collect();
        assert_eq!(names, ["late"]);
        assert_eq!((config.mode, config.choices.slice_lag_us), (Mode::Bpf, 5));
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
