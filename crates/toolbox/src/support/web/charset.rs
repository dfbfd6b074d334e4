//! Detects and decodes the character encoding of responses.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How far to search for a `<meta>` charset, as browsers do.
const META: usize = 1024;

/// Decodes a response. Priority: byte order mark, Content-Type header, `<meta>` element, UTF-8 if valid, Windows-1252.
pub(crate) fn decode(bytes: &[u8], charset: Option<&str>, html: bool) -> String {
    let named = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let own = || html.then(|| meta(&bytes[..bytes.len().min(META)])).flatten();
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None => named.or_else(own).unwrap_or_else(|| guess(bytes)),
    };
    let (text, ..) = encoding.decode(bytes);
    text.into_owned()
}

/// The `charset` of a content type.
pub(crate) fn of_type(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']))
    })
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        // A truncated response may end inside a character, after other valid non-ASCII ones.
        Err(error) if error.error_len().is_none() && !bytes[..error.valid_up_to()].is_ascii() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// The charset of a `<meta>` element, as `<meta charset=x>` or `<meta http-equiv=… content="…; charset=x">`.
fn meta(start: &[u8]) -> Option<&'static Encoding> {
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("<meta") {
        rest = &rest[at + 5..];
        let tag = &rest[..rest.find('>').unwrap_or(rest.len())];
        let Some((_, value)) = tag.split_once("charset") else {
            continue;
        };
        let value = value.trim_start().strip_prefix('=').unwrap_or_default().trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        let end = value.find(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':')));
        let found = Encoding::for_label(&value.as_bytes()[..end.unwrap_or(value.len())]);
        // A page with readable ASCII cannot be UTF-16.
        return found.map(|encoding| {
            if encoding.is_ascii_compatible() {
                encoding
            } else {
                UTF_8
            }
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_is_detected_by_mark_header_page_and_guess() {
        for (bytes, charset, text) in [
            (&b"caf\xC3\xA9"[..], None, "café"),
            (b"caf\xE9", None, "café"),
            (b"caf\xE9", Some("iso-8859-1"), "café"),
            (b"\xEF\xBB\xBFcaf\xC3\xA9", Some("iso-8859-1"), "café"),
            (b"\xFF\xFEh\0i\0", None, "hi"),
            (b"\x93\xFA\x96{", Some("Shift_JIS"), "日本"),
            (b"\xC3\xA9t\xC3", None, "ét\u{fffd}"),
            (b"caf\xC3\xA9", Some("no-such-thing"), "café"),
        ] {
            assert_eq!(decode(bytes, charset, false), text, "{bytes:?} {charset:?}");
        }
        let page = |meta: &str| decode(&[meta.as_bytes(), b"\xCF\xF0\xE8"].concat(), None, true);
        assert!(page("<meta charset=windows-1251>").ends_with("При"));
        assert!(
            page("<META http-equiv='Content-Type' content='text/html; charset=\"windows-1251\"'>").ends_with("При")
        );
        assert!(decode(b"<meta charset=utf-16>caf\xC3\xA9", None, true).ends_with("café"));
        assert_eq!(of_type("text/html; charset=\"UTF-8\""), Some("UTF-8"));
        assert_eq!(of_type("text/html;boundary=x; Charset=latin1"), Some("latin1"));
        assert_eq!(of_type("text/html"), None);
    }
}
