//! Words and columns for people: colours, padding, durations, and text that came from elsewhere.

use std::io::{IsTerminal, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::error::Error;

/// Whether to colour. Decided once, from the output and the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// Colours for standard output if it is a terminal that has them and nobody asked for none
    /// (<https://no-color.org>).
    pub fn for_stdout() -> Style {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style {
            colour: std::io::stdout().is_terminal() && !refused && terminal_has_colour(),
        }
    }

    /// Bold text.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Text that is less important than its surroundings.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// All is well.
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Worth a look.
    pub fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Something is wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Whether `$TERM` names a terminal with colours: the serial and dumb ones have none.
pub fn terminal_has_colour() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    !(term.is_empty() || term == "dumb" || term.starts_with("vt"))
}

/// `text` padded with spaces to `width` columns; longer text stays as it is.
pub fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Text from somewhere else, safe to print and of bounded length. The daemon has escaped what others chose, so that
/// is shown as it came.
pub fn printable(text: &str) -> String {
    pandemonium_api::printable(text, 4096)
}

/// A value as JSON, laid out for people who look at it.
pub fn print_json(value: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Error::Failed(error.to_string()))?;
    Ok(writeln!(out, "{text}")?)
}

/// A latency for people: three significant digits and the unit that fits.
pub fn latency(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => scaled(ns, 1_000, "us"),
        1_000_000..1_000_000_000 => scaled(ns, 1_000_000, "ms"),
        _ => scaled(ns, 1_000_000_000, "s"),
    }
}

fn scaled(value: u64, unit: u64, name: &str) -> String {
    let scaled = value as f64 / unit as f64;
    match scaled {
        s if s < 9.995 => format!("{s:.2} {name}"),
        s if s < 99.95 => format!("{s:.1} {name}"),
        s => format!("{s:.0} {name}"),
    }
}

/// A count with its thousands set apart: `251 000`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `1 profile`, `2 profiles`, `2 launches`.
pub fn plural(count: u64, one: &str) -> String {
    let ending = match count {
        1 => "",
        _ if one.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {one}{ending}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_keep_three_digits_and_a_fitting_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (9_994, "9.99 us"),
            (9_999, "10.0 us"),
            (99_960, "100 us"),
            (1_540_000, "1.54 ms"),
            (12_000_000_000, "12.0 s"),
        ] {
            assert_eq!(latency(ns), text);
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(251_000), "251 000");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn one_is_not_many() {
        let words = [(0, "profile"), (1, "launch"), (2, "launch"), (1_000, "day")];
        assert_eq!(
            words.map(|(count, one)| plural(count, one)),
            ["0 profiles", "1 launch", "2 launches", "1 000 days"]
        );
    }

    #[test]
    fn padding_counts_columns_not_bytes() {
        assert_eq!(pad("né", 4), "né  ");
        assert_eq!(pad("日本", 5), "日本 ");
        assert_eq!(pad("long", 2), "long");
    }

    #[test]
    fn no_colour_means_no_escape_sequences() {
        let plain = Style::default();
        assert_eq!(plain.bad("x"), "x");
        assert_eq!(Style { colour: true }.bad("x"), "\x1b[31mx\x1b[0m");
    }
}
