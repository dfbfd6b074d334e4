//! Quotes texts of projects and users: bounded, with a note about cuts.

use super::RulesFile;

/// Maximum bytes of a rules file in the system prompt. A cut is noted.
pub const MAX_RULES_FILE_BYTES: usize = 32 * 1024;
/// Maximum bytes of a mode's text. A cut is noted.
const MODE_BYTES: usize = 16 * 1024;

/// The maximum bytes of each rules file: together they take at most a quarter of the window, with about four bytes per
/// token. Short files leave their share to the others.
pub(super) fn rules_file_limit<'r>(rules: impl Iterator<Item = &'r RulesFile>, window: u64) -> usize {
    let mut sizes: Vec<usize> = rules.map(|file| file.text.len()).collect();
    sizes.sort_unstable();
    let mut left = usize::try_from(window).unwrap_or(usize::MAX);
    for (at, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - at);
        if window > 0 && *size > share {
            return share.min(MAX_RULES_FILE_BYTES);
        }
        left = left.saturating_sub(*size);
    }
    MAX_RULES_FILE_BYTES
}

/// Quotes rules files, each in tags with its path.
pub(crate) fn quote_rules(rules: &[RulesFile], limit: usize) -> String {
    let mut text = String::new();
    for file in rules {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let (kept, cut) = truncate_lines(&file.text, limit);
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
