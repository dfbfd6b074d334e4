//! Positions in a text as the protocol counts them, and edits.

use std::path::{Path, PathBuf};

use lsp_types::{Position, Range, TextEdit, Uri};

/// The unit of character offsets in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PositionEncoding {
    Utf8,
    Utf16,
    Utf32,
}

impl PositionEncoding {
    /// Parses the server's encoding; UTF-16 by default.
    pub(crate) fn from_name(name: Option<&str>) -> Self {
        match name {
            Some("utf-8") => PositionEncoding::Utf8,
            Some("utf-32") => PositionEncoding::Utf32,
            Some(_) | None => PositionEncoding::Utf16,
        }
    }

    fn width(self, letter: char) -> usize {
        match self {
            PositionEncoding::Utf8 => letter.len_utf8(),
            PositionEncoding::Utf16 => letter.len_utf16(),
            PositionEncoding::Utf32 => 1,
        }
    }

    /// The byte offset in a line, or its end.
    fn byte(self, line: &str, units: u32) -> usize {
        let mut left = units as usize;
        for (at, letter) in line.char_indices() {
            let width = self.width(letter);
            if left < width {
                return at;
            }
            left -= width;
        }
        line.len()
    }

    /// The number of units in a text.
    pub(crate) fn count(self, before: &str) -> u32 {
        before.chars().map(|letter| self.width(letter)).sum::<usize>() as u32
    }
}

/// The start and end of a line, without its terminator.
fn line_bounds(text: &str, number: u32) -> Option<(usize, usize)> {
    let mut start = 0;
    for _ in 0..number {
        start += text[start..].find('\n')? + 1;
    }
    let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let end = if text[start..end].ends_with('\r') { end - 1 } else { end };
    Some((start, end))
}

/// The byte offset of a position, or the end of the text.
pub(crate) fn offset(text: &str, position: Position, units: PositionEncoding) -> usize {
    match line_bounds(text, position.line) {
        Some((start, end)) => start + units.byte(&text[start..end], position.character),
        None => text.len(),
    }
}

/// Finds a name as a word: in this line (starting at 1), otherwise in the nearest one.
pub(crate) fn find_symbol(text: &str, name: &str, near: Option<usize>, units: PositionEncoding) -> Option<Position> {
    let near = near.unwrap_or(1).saturating_sub(1);
    let found = text
        .lines()
        .enumerate()
        .filter_map(|(number, line)| Some((number, line, find_word(line, name)?)));
    let (number, line, at) = found.min_by_key(|(number, ..)| number.abs_diff(near))?;
    Some(Position::new(number as u32, units.count(&line[..at])))
}

/// Finds a name in a line, not as part of a longer one.
fn find_word(line: &str, name: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(name)
        .map(|(at, _)| at)
        .find(|at| !line[..*at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part))
}

/// Applies edits, which all refer to the original text. `None` if edits overlap.
pub(crate) fn apply(text: &str, mut edits: Vec<TextEdit>, units: PositionEncoding) -> Option<String> {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut changed = String::with_capacity(text.len());
    let mut done = 0;
    for TextEdit { range, new_text } in edits {
        let (from, to) = (offset(text, range.start, units), offset(text, range.end, units));
        if from < done || to < from {
            return None;
        }
        changed.push_str(&text[done..from]);
        changed.push_str(&new_text);
        done = to;
    }
    changed.push_str(&text[done..]);
    Some(changed)
}

/// The range of a line, starting at 1.
pub(crate) fn whole_line(text: &str, number: usize, units: PositionEncoding) -> Option<Range> {
    let number = u32::try_from(number.checked_sub(1)?).ok()?;
    let (start, end) = line_bounds(text, number)?;
    Some(Range::new(
        Position::new(number, 0),
        Position::new(number, units.count(&text[start..end])),
    ))
}

/// The URI of a file.
pub(crate) fn uri(path: &Path) -> Option<Uri> {
    url::Url::from_file_path(path).ok()?.as_str().parse().ok()
}

/// The path of a file URI.
pub(crate) fn path(uri: &Uri) -> Option<PathBuf> {
    url::Url::parse(uri.as_str()).ok()?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "let naïve = \"𝄞x\";\r\nsecond\n\nlast";

    #[test]
    fn positions_are_converted_in_every_encoding() {
        let x = TEXT.find('x').unwrap();
        for (units, character) in [
            (PositionEncoding::Utf8, 18),
            (PositionEncoding::Utf16, 15),
            (PositionEncoding::Utf32, 14),
        ] {
            assert_eq!(offset(TEXT, Position::new(0, character), units), x, "{units:?}");
            assert_eq!(find_symbol(TEXT, "x", None, units), Some(Position::new(0, character)));
        }
        // Inside a character, after the line, after the text.
        assert_eq!(
            offset(TEXT, Position::new(0, 14), PositionEncoding::Utf16),
            TEXT.find('𝄞').unwrap()
        );
        assert_eq!(
            offset(TEXT, Position::new(1, 99), PositionEncoding::Utf16),
            TEXT.find("\n\nlast").unwrap()
        );
        assert_eq!(offset(TEXT, Position::new(9, 0), PositionEncoding::Utf16), TEXT.len());
    }

    #[test]
    fn a_name_is_found_as_a_word_and_near_the_line() {
        let text = "next_one\nnext\nx\nx\nnext(next_one)";
        assert_eq!(
            find_symbol(text, "next", Some(1), PositionEncoding::Utf8),
            Some(Position::new(1, 0))
        );
        assert_eq!(
            find_symbol(text, "next", Some(5), PositionEncoding::Utf8),
            Some(Position::new(4, 0))
        );
        assert_eq!(find_symbol(text, "ne", None, PositionEncoding::Utf8), None);
    }

    #[test]
    fn edits_refer_to_the_original_text() {
        let edit = |line, from, to, text: &str| TextEdit {
            range: Range::new(Position::new(line, from), Position::new(line, to)),
            new_text: text.into(),
        };
        let edits = vec![edit(1, 0, 6, "2nd"), edit(0, 4, 9, "n"), edit(3, 4, 4, "!")];
        assert_eq!(
            apply(TEXT, edits, PositionEncoding::Utf16).unwrap(),
            "let n = \"𝄞x\";\r\n2nd\n\nlast!"
        );
        assert_eq!(
            apply(
                TEXT,
                vec![edit(1, 0, 4, ""), edit(1, 2, 5, "")],
                PositionEncoding::Utf16
            ),
            None
        );
    }

    #[test]
    fn a_path_survives_the_conversion_to_a_uri() {
        let path = Path::new("/a b/ü#?.rs");
        assert_eq!(super::path(&uri(path).unwrap()).unwrap(), path);
    }
}
