//! Texts of projects and persons as they stand in the prompt: bounded, and saying how they were cut.

use super::Rules;

/// A longer rules file is cut, and says so.
pub(super) const RULES_BYTES: usize = 32 * 1024;
/// A longer text of a mode is cut, and says so.
const MODE_BYTES: usize = 16 * 1024;

/// Rules files, each between tags that name it.
pub(super) fn quote(rules: &[Rules]) -> String {
    let mut text = String::new();
    for file in rules {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let (kept, cut) = bound(&file.text, RULES_BYTES);
        text.push_str(&format!(
            "<rules path=\"{}\">\n{}\n</rules>",
            file.path.display(),
            kept.trim()
        ));
        if cut > 0 {
            text.push_str(&format!(
                "\n(The last {cut} bytes of this file are left out; read the file for the rest.)"
            ));
        }
    }
    text
}

/// What a mode says.
pub(super) fn of_mode(said: &str) -> String {
    let (kept, cut) = bound(said.trim(), MODE_BYTES);
    match cut {
        0 => kept.into(),
        cut => format!("{kept}\n({cut} bytes left out)"),
    }
}

/// The beginning of a text, whole lines where possible, and how many bytes were left out.
pub(crate) fn bound(text: &str, bytes: usize) -> (&str, usize) {
    if text.len() <= bytes {
        return (text, 0);
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').unwrap_or(end);
    (&text[..end], text.len() - end)
}
