//! The language of the person, through the C library's gettext.

use std::path::PathBuf;

use gettextrs::{LocaleCategory, bind_textdomain_codeset, bindtextdomain, setlocale, textdomain};

/// The name of the catalogues.
pub const DOMAIN: &str = "pandemonium";

/// Finds the catalogues; without them everything is in English.
pub fn start() {
    setlocale(LocaleCategory::LcAll, "");
    // None of these fails but for want of memory, and English is left then.
    let _ = bindtextdomain(DOMAIN, directory());
    let _ = bind_textdomain_codeset(DOMAIN, "UTF-8");
    let _ = textdomain(DOMAIN);
}

/// Where they are: beside an installed program, or where whoever started it says.
fn directory() -> PathBuf {
    if let Some(directory) = std::env::var_os("PANDEMONIUM_LOCALE_DIR") {
        return directory.into();
    }
    let beside = || {
        let program = std::env::current_exe().ok()?;
        Some(program.parent()?.parent()?.join("share/locale"))
    };
    beside().unwrap_or_else(|| "/usr/share/locale".into())
}

/// Puts values into a translated sentence, which names them in braces.
pub fn fill(sentence: &str, values: &[(&str, &str)]) -> String {
    let mut text = sentence.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_where_the_sentence_names_them() {
        let text = fill("{b} before {a}", &[("a", "one"), ("b", "two")]);
        assert_eq!(text, "two before one");
    }
}
