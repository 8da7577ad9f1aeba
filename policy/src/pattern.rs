//! Task names of compositors, or how they begin.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Bytes of a task name that the kernel shows (`TASK_COMM_LEN` without its final zero).
const SHOWN_BYTES: usize = 15;
/// Longest name that is accepted and cut.
const NAME_BYTES: usize = 64;
/// A shorter prefix would match half of the system.
const PREFIX_BYTES: usize = 2;

/// Compositors, window managers and X servers. The names that start with a dot are those of the
/// wrappers some distributions put around the program.
const DEFAULTS: [&str; 32] = [
    "kwin_wayland*",
    "kwin_x11",
    "kwin",
    "gnome-shell*",
    "mutter*",
    "sway",
    "Hyprland*",
    "picom",
    "weston",
    "labwc",
    "wayfire",
    "niri",
    "cosmic-comp",
    "Xorg",
    "Xwayland",
    "gamescope*",
    "river",
    "cage",
    "xfwm4",
    "muffin",
    "cinnamon*",
    "budgie-wm",
    "marco",
    "openbox",
    "i3",
    "gala",
    "dwl",
    "qtile",
    "compiz",
    ".gnome-shell*",
    ".kwin_wayland*",
    ".Hyprland*",
];

/// A task name, or the beginning of one. Ordered by text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    /// Padded with zero bytes, so that it compares by its text.
    text: [u8; 16],
    len: u8,
    is_prefix: bool,
}

/// Why a text is not a name pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// It is empty.
    #[error("a compositor's name may not be empty")]
    Empty,
    /// It is far longer than any name.
    #[error("a compositor's name has at most {NAME_BYTES} bytes, not {0}")]
    TooLong(usize),
    /// It has a character no task name should have.
    #[error("a compositor's name is printable ASCII without '/', not {0:?}")]
    Character(char),
    /// It has a `*` that is not the last character.
    #[error("'*' may only be the last character of a compositor's name")]
    Wildcard,
    /// It would match nearly everything.
    #[error("a prefix needs at least {PREFIX_BYTES} characters before its '*'")]
    ShortPrefix,
}

impl Pattern {
    /// Most patterns that can be in force at the same time.
    pub const MAX: usize = 64;

    /// The name or its beginning without the `*`, 1..=15 bytes.
    pub fn text(&self) -> &[u8] {
        &self.text[..usize::from(self.len)]
    }

    /// Whether names only have to begin with the text.
    pub fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Whether a task name fits. It ends at its first zero byte, or where the kernel would cut it.
    pub fn matches(&self, comm: &[u8]) -> bool {
        let shown = &comm[..comm.len().min(SHOWN_BYTES)];
        let name = shown.split(|byte| *byte == 0).next().unwrap_or(shown);
        if self.is_prefix {
            name.starts_with(self.text())
        } else {
            name == self.text()
        }
    }

    /// The compositors everybody gets, sorted.
    pub fn defaults() -> Vec<Pattern> {
        let mut patterns: Vec<_> = DEFAULTS
            .iter()
            .flat_map(|name| name.parse::<Pattern>())
            .collect();
        patterns.sort_unstable();
        patterns
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    /// Reads a name, or the beginning of one with a final `*`.
    ///
    /// The kernel cuts a long name to its first 15 bytes, and so does this; what was cut is compared
    /// as a whole, even with a `*`, because no byte is left that could differ.
    fn from_str(name: &str) -> Result<Pattern, PatternError> {
        let (text, is_prefix) = match name.strip_suffix('*') {
            Some(text) => (text, true),
            None => (name, false),
        };
        if name.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > NAME_BYTES {
            return Err(PatternError::TooLong(text.len()));
        }
        match text.chars().find(|c| !is_allowed(*c)) {
            Some('*') => return Err(PatternError::Wildcard),
            Some(c) => return Err(PatternError::Character(c)),
            None => {}
        }
        if is_prefix && text.len() < PREFIX_BYTES {
            return Err(PatternError::ShortPrefix);
        }
        let shown = &text.as_bytes()[..text.len().min(SHOWN_BYTES)];
        Ok(Pattern {
            text: std::array::from_fn(|i| shown.get(i).copied().unwrap_or(0)),
            len: shown.len() as u8,
            is_prefix: is_prefix && text.len() <= SHOWN_BYTES,
        })
    }
}

fn is_allowed(c: char) -> bool {
    (c == ' ' || c.is_ascii_graphic()) && !matches!(c, '/' | '*')
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.text() {
            write!(f, "{}", char::from(*byte))?;
        }
        f.write_str(if self.is_prefix { "*" } else { "" })
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({self})")
    }
}
