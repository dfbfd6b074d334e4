//! The sanitiser of everything that is printed: names, titles and texts of models, servers, files and repositories.
//!
//! Styles are written as marks, so that every escape sequence in a text is foreign and can be removed.

use super::format::sanitise;
use tui::format::is_active;

/// Begins a style mark; both are characters that no text contains.
const MARK_START: char = '\u{fdd0}';
const MARK_END: char = '\u{fdd1}';

/// Marks a text with a style, given as the number of an SGR sequence.
pub(super) fn styled(code: &str, text: &str) -> String {
    format!("{MARK_START}{code}{MARK_END}{text}{MARK_START}0{MARK_END}")
}

/// The text without escape sequences and control characters, with the style marks as escape sequences.
pub fn printable(text: &str) -> String {
    style_marks(&sanitise(text))
}

/// Replaces the style marks by escape sequences.
fn style_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(MARK_START) {
        out.push_str(&rest[..start]);
        let mark = &rest[start + MARK_START.len_utf8()..];
        let code = mark.split(MARK_END).next().unwrap_or_default();
        let is_code = !code.is_empty() && code.len() <= 2 && code.bytes().all(|byte| byte.is_ascii_digit());
        rest = match (is_code, mark[code.len()..].strip_prefix(MARK_END)) {
            (true, Some(after)) => {
                out.push_str(&format!("\u{1b}[{code}m"));
                after
            }
            (true, None) | (false, _) => mark,
        };
    }
    out.push_str(rest);
    out
}

/// Escapes what JSON permits in strings but terminals interpret.
pub fn escape_json(json: String) -> String {
    // Other control characters are line breaks between values.
    let needs_escape = |c: char| c >= '\u{7f}' && is_active(c);
    if !json.contains(needs_escape) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match needs_escape(c) {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hews_own_style_sequences_are_kept() {
        for (text, expected) in [
            (styled("31", "x"), "\u{1b}[31mx\u{1b}[0m"),
            ("a\u{1b}[31mb".into(), "ab"),
            ("a\u{1b}]52;c;AAAA\u{7}b".into(), "ab"),
            ("a\u{9b}31mb\u{8}\u{7f}".into(), "a31mb"),
            ("\u{fdd0}2J\u{fdd1}x\u{fdd0}".into(), "2J\u{fdd1}x"),
            ("a\tb\nc".into(), "a\tb\nc"),
        ] {
            assert_eq!(printable(&text), expected);
        }
    }

    #[test]
    fn control_characters_in_json_are_escaped_without_changing_its_value() {
        let text = "\"a\u{9b}31m\u{7f}\u{202e}é\\u001b\"";
        let escaped = escape_json(text.to_owned());
        assert_eq!(escaped, "\"a\\u009b31m\\u007f\\u202eé\\u001b\"");
        let parsed: [String; 2] = [text, &escaped].map(|json| serde_json::from_str(json).unwrap());
        assert_eq!(parsed[0], parsed[1]);
    }
}
