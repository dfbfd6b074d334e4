//! Identifiers near the cursor, nearest first: the names to look up definitions of.

use std::collections::HashSet;

use crate::EditorBuffer;

/// Lines above and below the cursor that are read.
const LINES: usize = 3;
/// The maximum number of identifiers.
const MAX_IDENTIFIERS: usize = 32;
/// Shorter names are rarely worth a lookup.
const MIN_LENGTH: usize = 3;

/// The distinct identifiers within three lines of a byte offset, nearest first.
pub fn near_cursor(buffer: &EditorBuffer, cursor: usize) -> Vec<String> {
    let line = buffer.line_of(cursor);
    let span = buffer.line_span(line.saturating_sub(LINES)..line + LINES + 1);
    let text = &buffer.text()[span.clone()];
    let mut found: Vec<(usize, &str)> = words(text)
        .filter(|(_, word)| word.len() >= MIN_LENGTH && !word.starts_with(|first: char| first.is_ascii_digit()))
        .map(|(at, word)| ((span.start + at).abs_diff(cursor), word))
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    let mut seen = HashSet::new();
    found
        .into_iter()
        .filter(|(_, word)| seen.insert(*word))
        .map(|(_, word)| word.to_owned())
        .take(MAX_IDENTIFIERS)
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first_once_each() {
        let text = "far_away()\n\n\n\nlet total = price_of(item);\nprint(total, 12345)\n";
        let buffer = EditorBuffer::new(text.into());
        let cursor = text.find("item").unwrap();
        assert_eq!(
            near_cursor(&buffer, cursor),
            ["item", "print", "price_of", "total", "let"]
        );
    }
}
