//! Quotes texts of projects and users: bounded, with a note about cuts.

use super::RulesFile;

/// Maximum bytes of a rules file in the system prompt. A cut is noted.
pub const MAX_RULES_FILE_BYTES: usize = 32 * 1024;
/// Maximum bytes of a mode's text. A cut is noted.
const MODE_BYTES: usize = 16 * 1024;

/// Quotes rules files, each in tags with its path.
pub(crate) fn quote_rules(rules: &[RulesFile]) -> String {
    let mut text = String::new();
    for file in rules {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let (kept, cut) = truncate_lines(&file.text, MAX_RULES_FILE_BYTES);
        text.push_str(&format!(
            "<rules path=\"{}\">\n{}\n</rules>",
            file.path.display(),
            kept.trim()
        ));
        if cut > 0 {
            text.push_str(&format!(
                "\n(The last {cut} bytes of this file are omitted; read the file for the rest.)"
            ));
        }
    }
    text
}

/// Returns a mode's text, bounded.
pub(super) fn bounded_mode_text(text: &str) -> String {
    let (kept, cut) = truncate_lines(text.trim(), MODE_BYTES);
    match cut {
        0 => kept.into(),
        cut => format!("{kept}\n({cut} bytes omitted)"),
    }
}

/// The beginning of a text, cut at a line end if possible, and the number of omitted bytes.
pub(crate) fn truncate_lines(text: &str, bytes: usize) -> (&str, usize) {
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
