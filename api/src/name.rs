//! Names of programs as people read and type them.

/// Most bytes of a name; the kernel keeps no more.
pub const MAX_NAME_BYTES: usize = 15;

/// The bytes of a name that was escaped for display: `\\`, `\xNN` for a byte and `\u{N}` for a character.
/// The error is the end of a sentence that begins with the name.
pub fn unescape_name(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let (escaped, after) = escape_sequence(&rest[at + 1..])
            .ok_or("has a backslash that is not one of \\\\, \\xNN and \\u{N}")?;
        bytes.extend_from_slice(&escaped);
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    check_name(&bytes)?;
    Ok(bytes)
}

/// Whether these bytes can be a name; the error is the end of a sentence that begins with it.
pub fn check_name(bytes: &[u8]) -> Result<(), String> {
    if bytes.is_empty() {
        return Err("is empty".to_owned());
    }
    if bytes.contains(&0) {
        return Err("contains a zero byte".to_owned());
    }
    if bytes.len() > MAX_NAME_BYTES {
        return Err(format!(
            "is longer than {MAX_NAME_BYTES} bytes, which is all that the kernel keeps"
        ));
    }
    Ok(())
}

/// What stands after a backslash, and what stands after that.
fn escape_sequence(text: &str) -> Option<(Vec<u8>, &str)> {
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(after) = text.strip_prefix('\\') {
        return Some((vec![b'\\'], after));
    }
    if let Some(digits) = text.strip_prefix('x') {
        let (digits, after) = digits.split_at_checked(2)?;
        let byte = u8::from_str_radix(digits, 16).ok();
        return Some((vec![byte.filter(|_| is_hex(digits))?], after));
    }
    let (digits, after) = text.strip_prefix("u{")?.split_once('}')?;
    let number = u32::from_str_radix(digits, 16).ok();
    let character = char::from_u32(number.filter(|_| is_hex(digits))?)?;
    Some((character.to_string().into_bytes(), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_given_back() {
        let bytes = |text| unescape_name(text).expect(text);
        assert_eq!(bytes("kwin_wayland"), b"kwin_wayland");
        assert_eq!(bytes("Web Content"), b"Web Content");
        assert_eq!(bytes("evil\\u{1b}[2J"), b"evil\x1b[2J");
        assert_eq!(bytes("\\xff\\xfeok"), b"\xff\xfeok");
        assert_eq!(bytes("a\\\\b"), b"a\\b");
        assert_eq!(bytes("Z\u{fc}rich"), "Z\u{fc}rich".as_bytes());
    }

    #[test]
    fn what_no_program_can_be_called_is_refused() {
        for text in [
            "",
            "\\x00",
            "sixteen-letters!",
            "\\",
            "\\x4",
            "\\x+4",
            "\\q",
            "\\u{d800}",
            "\\u41",
        ] {
            assert!(unescape_name(text).is_err(), "{text}");
        }
        assert!(check_name(b"fifteen_letters").is_ok());
    }
}
