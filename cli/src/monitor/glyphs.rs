//! What a terminal can show: which characters, and whether in colour.

use ratatui::style::{Color, Style};
use ratatui::symbols::bar;

/// The characters and colours to draw with.
#[derive(Clone, Debug)]
pub struct Glyphs {
    /// Bars of a sparkline.
    pub bars: bar::Set<'static>,
    /// A horizontal rule.
    pub rule: &'static str,
    /// Whether colours may be used.
    pub has_colour: bool,
}

/// Bars for terminals with nothing but ASCII.
const ASCII_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "+",
    five_eighths: "+",
    half: "-",
    three_eighths: "-",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

impl Glyphs {
    /// What suits this process's terminal and locale.
    pub fn detect() -> Glyphs {
        let var = |name| std::env::var(name).unwrap_or_default();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .map(var)
            .find(|value| !value.is_empty())
            .unwrap_or_default();
        let refused = !var("NO_COLOR").is_empty();
        Glyphs::suiting(&var("TERM"), &locale, refused)
    }

    fn suiting(term: &str, locale: &str, no_colour: bool) -> Glyphs {
        let locale = locale.to_lowercase();
        let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
        let is_serial = term.starts_with("vt") || term == "dumb";
        let (bars, rule) = match term {
            _ if is_serial || !is_utf8 => (ASCII_BARS, "-"),
            // The console's font has full and half blocks, not the eighths.
            "linux" => (bar::THREE_LEVELS, "\u{2500}"),
            _ => (bar::NINE_LEVELS, "\u{2500}"),
        };
        Glyphs {
            bars,
            rule,
            has_colour: !no_colour && !is_serial,
        }
    }

    /// The style for a colour, or none.
    pub fn colour(&self, colour: Color) -> Style {
        if self.has_colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_terminals_get_ascii_without_colour() {
        let glyphs = Glyphs::suiting("vt220", "C.UTF-8", false);
        assert_eq!((glyphs.rule, glyphs.has_colour), ("-", false));
        assert!(glyphs.bars.full.is_ascii());
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii() {
        assert!(
            Glyphs::suiting("xterm-256color", "POSIX", false)
                .bars
                .full
                .is_ascii()
        );
        assert!(
            !Glyphs::suiting("xterm-256color", "en_GB.UTF-8", false)
                .bars
                .full
                .is_ascii()
        );
        assert!(
            !Glyphs::suiting("linux", "de_DE.utf8", false)
                .bars
                .full
                .is_ascii()
        );
    }

    #[test]
    fn nobody_gets_colours_who_asked_for_none() {
        assert!(!Glyphs::suiting("xterm", "C.UTF-8", true).has_colour);
    }
}
