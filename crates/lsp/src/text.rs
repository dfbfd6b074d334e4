//! Places in a text as the protocol counts them, and changes to it.

use std::path::{Path, PathBuf};

use lsp_types::{Position, Range, TextEdit, Uri};

/// In which units a server counts the characters of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    Utf8,
    Utf16,
    Utf32,
}

impl Units {
    /// By the name the server gave; the protocol's default where it gave none.
    pub(crate) fn named(name: Option<&str>) -> Self {
        match name {
            Some("utf-8") => Units::Utf8,
            Some("utf-32") => Units::Utf32,
            Some(_) | None => Units::Utf16,
        }
    }

    fn width(self, letter: char) -> usize {
        match self {
            Units::Utf8 => letter.len_utf8(),
            Units::Utf16 => letter.len_utf16(),
            Units::Utf32 => 1,
        }
    }

    /// The byte of a line at so many units; its end where the line is shorter.
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

    /// So many units are before a byte of a line.
    pub(crate) fn count(self, before: &str) -> u32 {
        before.chars().map(|letter| self.width(letter)).sum::<usize>() as u32
    }
}

/// Where a line starts and ends, without its ending.
fn line(text: &str, number: u32) -> Option<(usize, usize)> {
    let mut start = 0;
    for _ in 0..number {
        start += text[start..].find('\n')? + 1;
    }
    let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let end = if text[start..end].ends_with('\r') { end - 1 } else { end };
    Some((start, end))
}

/// The byte at a position; the end where the text is shorter.
pub(crate) fn offset(text: &str, position: Position, units: Units) -> usize {
    match line(text, position.line) {
        Some((start, end)) => start + units.byte(&text[start..end], position.character),
        None => text.len(),
    }
}

/// Where a name stands as a word: in this line (from 1), else in the nearest one below or above it.
pub(crate) fn find(text: &str, name: &str, near: Option<usize>, units: Units) -> Option<Position> {
    let near = near.unwrap_or(1).saturating_sub(1);
    let found = text
        .lines()
        .enumerate()
        .filter_map(|(number, line)| Some((number, line, word(line, name)?)));
    let (number, line, at) = found.min_by_key(|(number, ..)| number.abs_diff(near))?;
    Some(Position::new(number as u32, units.count(&line[..at])))
}

/// Where a name stands in a line, not as a part of a longer one.
fn word(line: &str, name: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(name)
        .map(|(at, _)| at)
        .find(|at| !line[..*at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part))
}

/// The text with the changes made, which all speak of the text as it was. Changes that overlap are refused.
pub(crate) fn apply(text: &str, mut edits: Vec<TextEdit>, units: Units) -> Option<String> {
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

/// The whole of a line, from 1.
pub(crate) fn whole_line(text: &str, number: usize, units: Units) -> Option<Range> {
    let number = u32::try_from(number.checked_sub(1)?).ok()?;
    let (start, end) = line(text, number)?;
    Some(Range::new(
        Position::new(number, 0),
        Position::new(number, units.count(&text[start..end])),
    ))
}

/// A file as the protocol names it.
pub(crate) fn uri(path: &Path) -> Option<Uri> {
    url::Url::from_file_path(path).ok()?.as_str().parse().ok()
}

/// The file that is named.
pub(crate) fn path(uri: &Uri) -> Option<PathBuf> {
    url::Url::parse(uri.as_str()).ok()?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "let naïve = \"𝄞x\";\r\nsecond\n\nlast";

    #[test]
    fn positions_are_found_in_every_unit() {
        let x = TEXT.find('x').unwrap();
        for (units, character) in [(Units::Utf8, 18), (Units::Utf16, 15), (Units::Utf32, 14)] {
            assert_eq!(offset(TEXT, Position::new(0, character), units), x, "{units:?}");
            assert_eq!(find(TEXT, "x", None, units), Some(Position::new(0, character)));
        }
        // Inside of a letter, behind the line, behind the text.
        assert_eq!(
            offset(TEXT, Position::new(0, 14), Units::Utf16),
            TEXT.find('𝄞').unwrap()
        );
        assert_eq!(
            offset(TEXT, Position::new(1, 99), Units::Utf16),
            TEXT.find("\n\nlast").unwrap()
        );
        assert_eq!(offset(TEXT, Position::new(9, 0), Units::Utf16), TEXT.len());
    }

    #[test]
    fn a_name_is_found_as_a_word_and_near_the_line() {
        let text = "next_one\nnext\nx\nx\nnext(next_one)";
        assert_eq!(find(text, "next", Some(1), Units::Utf8), Some(Position::new(1, 0)));
        assert_eq!(find(text, "next", Some(5), Units::Utf8), Some(Position::new(4, 0)));
        assert_eq!(find(text, "ne", None, Units::Utf8), None);
    }

    #[test]
    fn changes_speak_of_the_text_as_it_was() {
        let edit = |line, from, to, text: &str| TextEdit {
            range: Range::new(Position::new(line, from), Position::new(line, to)),
            new_text: text.into(),
        };
        let edits = vec![edit(1, 0, 6, "2nd"), edit(0, 4, 9, "n"), edit(3, 4, 4, "!")];
        assert_eq!(
            apply(TEXT, edits, Units::Utf16).unwrap(),
            "let n = \"𝄞x\";\r\n2nd\n\nlast!"
        );
        assert_eq!(
            apply(TEXT, vec![edit(1, 0, 4, ""), edit(1, 2, 5, "")], Units::Utf16),
            None
        );
    }

    #[test]
    fn a_path_comes_back_from_its_name() {
        let path = Path::new("/a b/ü#?.rs");
        assert_eq!(super::path(&uri(path).unwrap()).unwrap(), path);
    }
}
