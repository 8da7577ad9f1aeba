//! What was decided at run time and outlasts the daemon, in a file of the state directory.
//!
//! Each decision is kept with what the configuration said at that time: while it still says so the
//! decision holds, and a configuration that was changed since wins, for good.

mod chosen;

use std::io;
use std::path::{Path, PathBuf};

use pandemonium_policy::Mode;
use serde::{Deserialize, Serialize};

use crate::choices::Choices;
use crate::state_file::{self, ReadError};
use chosen::Chosen;

/// The file's name in the state directory.
pub const FILE_NAME: &str = "state.toml";

/// A file larger than this is not ours.
const MAX_BYTES: usize = 64 << 10;

/// What is remembered. Keys of a later version are passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    mode: Option<Decision<String>>,
    #[serde(flatten)]
    chosen: Chosen,
}

/// What was chosen, and what it was chosen instead of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Decision<T> {
    chosen: T,
    configured: T,
}

impl<T: PartialEq> Decision<T> {
    /// Nothing, where the configuration says the same.
    fn new(chosen: T, configured: T) -> Option<Decision<T>> {
        (chosen != configured).then_some(Decision { chosen, configured })
    }

    /// What was chosen, if the configuration still says what it said then.
    fn while_configured(&self, configured: &T) -> Option<&T> {
        (self.configured == *configured).then_some(&self.chosen)
    }
}

impl Memory {
    /// The mode to start in, when the configuration says this one.
    pub fn mode(&self, configured: Mode) -> Mode {
        let decision = self.mode.as_ref();
        let chosen = decision.and_then(|it| it.while_configured(&configured.name().to_owned()));
        let chosen = chosen.and_then(|mode| mode.parse().ok());
        chosen.unwrap_or(configured)
    }

    /// The choices to start with, when the configuration says these.
    pub fn choices(&self, configured: &Choices) -> Choices {
        self.chosen.on(configured)
    }

    /// Remembers a mode that was chosen while the configuration says that one.
    pub fn with_mode(mut self, chosen: Mode, configured: Mode) -> Memory {
        self.mode = Decision::new(chosen.name().to_owned(), configured.name().to_owned());
        self
    }

    /// Remembers how choices differ from those of the configuration.
    pub fn with_choices(mut self, chosen: &Choices, configured: &Choices) -> Memory {
        self.chosen = Chosen::instead_of(chosen, configured);
        self
    }

    /// Forgets a mode that another configuration has overtaken, so that it does not come back with the
    /// configuration of before.
    pub fn with_mode_of(self, configured: Mode) -> Memory {
        let mode = self.mode(configured);
        self.with_mode(mode, configured)
    }
}

/// Where it is kept.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    directory: PathBuf,
}

impl MemoryStore {
    /// A store in this directory, which is made when first needed.
    pub fn new(directory: &Path) -> MemoryStore {
        MemoryStore {
            directory: directory.to_owned(),
        }
    }

    /// What was remembered, or nothing and one sentence on what became of the file.
    pub fn load(&self) -> (Memory, Option<String>) {
        let path = self.directory.join(FILE_NAME);
        let fault = match state_file::read(&path, MAX_BYTES) {
            Ok(bytes) => match toml::from_slice(&bytes) {
                Ok(memory) => return (memory, None),
                Err(error) => format!("is damaged: {}", error.message().replace('\n', " ")),
            },
            Err(ReadError::Missing) => return (Memory::default(), None),
            Err(error) => error.to_string(),
        };
        let fate = state_file::fate(&self.directory, FILE_NAME);
        let sentence = format!(
            "The state file {} {fault}; {fate}, and what was decided at run time is forgotten.",
            path.display()
        );
        (Memory::default(), Some(sentence))
    }

    /// Writes it so that after a power cut either the old or the new file is there.
    pub fn save(&self, memory: &Memory) -> io::Result<()> {
        let text = toml::to_string(memory).map_err(io::Error::other)?;
        state_file::replace(&self.directory, FILE_NAME, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn store() -> (tempfile::TempDir, MemoryStore) {
        let directory = tempfile::tempdir().expect("a directory");
        let store = MemoryStore::new(directory.path());
        (directory, store)
    }

    #[test]
    fn what_was_decided_last_holds() {
        let memory = Memory::default().with_mode(Mode::Bpf, Mode::Adaptive);
        assert_eq!(memory.mode(Mode::Adaptive), Mode::Bpf);
        assert_eq!(memory.mode(Mode::Off), Mode::Off, "configured since");
        let overtaken = memory.clone().with_mode_of(Mode::Off);
        assert_eq!(overtaken, Memory::default(), "for good");
        assert_eq!(memory.clone().with_mode_of(Mode::Adaptive), memory);
        assert_eq!(Memory::default().mode(Mode::Off), Mode::Off);
    }

    #[test]
    fn it_survives_the_disk() {
        let (_directory, store) = store();
        assert_eq!(store.load(), (Memory::default(), None));
        let memory = Memory::default().with_mode(Mode::Off, Mode::Bpf);
        store.save(&memory).expect("written");
        assert_eq!(store.load(), (memory, None));
    }

    #[test]
    fn a_damaged_file_is_one_warning_and_an_unknown_mode_none() {
        let (directory, store) = store();
        let path = directory.path().join(FILE_NAME);
        let write = |bytes: &[u8]| std::fs::write(&path, bytes).expect("a file");
        for bytes in [
            &b"mode = 3"[..],
            b"[compositors]\nadded = 1",
            b"[idle_selector]\nchosen = \"on\"\nconfigured = true",
            b"\xff\xfe",
            b"[mode",
            &[b'#'; MAX_BYTES + 1],
        ] {
            write(bytes);
            let (memory, warning) = store.load();
            assert_eq!(memory, Memory::default());
            assert_eq!(store.load(), (Memory::default(), None), "it was set aside");
            let warning = warning.expect("a warning");
            assert!(
                warning.contains(FILE_NAME) && !warning.contains('\n'),
                "{warning}"
            );
        }
        write(b"later = 1\n[mode]\nchosen = \"turbo\"\nconfigured = \"bpf\"\n");
        let (memory, warning) = store.load();
        assert_eq!((memory.mode(Mode::Bpf), warning), (Mode::Bpf, None));
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", &path).expect("a link");
        assert!(
            store
                .load()
                .1
                .is_some_and(|w| w.contains("not a regular file"))
        );
    }

    proptest! {
        #[test]
        fn no_content_is_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (directory, store) = store();
            std::fs::write(directory.path().join(FILE_NAME), bytes).expect("a file");
            let (memory, _) = store.load();
            prop_assert_eq!(memory.mode(Mode::Adaptive), Mode::Adaptive);
        }
    }
}
