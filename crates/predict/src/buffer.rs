//! The text of an open file with its line starts, and positions as editors count them.

use std::ops::Range;

/// A position in a buffer: a line and a column in UTF-16 code units, both counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BufferPosition {
    /// The line.
    pub line: usize,
    /// The column in UTF-16 code units.
    pub column: usize,
}

/// A replacement in a buffer, as it was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferEdit {
    /// The byte offset of the replaced text.
    pub start: usize,
    /// The text that was removed.
    pub removed: String,
    /// The text that was inserted.
    pub inserted: String,
}

/// The text of an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorBuffer {
    text: String,
    /// The byte offset of each line's start. The first is 0.
    line_starts: Vec<usize>,
}

impl EditorBuffer {
    /// Creates a buffer with this text.
    pub fn new(text: String) -> Self {
        let line_starts = line_starts(&text);
        EditorBuffer { text, line_starts }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of lines; a text that ends with a line break has an empty last line.
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// The bytes of a range of lines, with their line breaks.
    pub fn line_span(&self, lines: Range<usize>) -> Range<usize> {
        let start = self.line_starts.get(lines.start).copied().unwrap_or(self.text.len());
        let end = self.line_starts.get(lines.end).copied().unwrap_or(self.text.len());
        start..end.max(start)
    }

    /// The text of a range of lines, with their line breaks.
    pub fn lines(&self, lines: Range<usize>) -> &str {
        &self.text[self.line_span(lines)]
    }

    /// The line that contains a byte offset.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1)
    }

    /// The byte offset of a position. A column beyond the line's end means its end, before the line break; a column
    /// inside a character means the character's start.
    pub fn offset(&self, position: BufferPosition) -> usize {
        if position.line >= self.line_starts.len() {
            return self.text.len();
        }
        let span = self.line_span(position.line..position.line + 1);
        let line = self.text[span.clone()].trim_end_matches(['\n', '\r']);
        let mut left = position.column;
        for (at, letter) in line.char_indices() {
            if left < letter.len_utf16() {
                return span.start + at;
            }
            left -= letter.len_utf16();
        }
        span.start + line.len()
    }

    /// The position of a byte offset, which must be on a character boundary.
    pub fn position(&self, offset: usize) -> BufferPosition {
        let offset = floor_boundary(&self.text, offset);
        let line = self.line_of(offset);
        let start = self.line_starts.get(line).copied().unwrap_or(0);
        BufferPosition {
            line,
            column: self.text[start..offset].chars().map(char::len_utf16).sum(),
        }
    }

    /// Replaces the text between two positions.
    pub fn replace(&mut self, start: BufferPosition, end: BufferPosition, new: &str) -> BufferEdit {
        let (start, end) = (self.offset(start), self.offset(end));
        self.replace_span(start..end.max(start), new)
    }

    /// Replaces a range of bytes, which must be on character boundaries.
    pub fn replace_span(&mut self, span: Range<usize>, new: &str) -> BufferEdit {
        let start = floor_boundary(&self.text, span.start);
        let end = floor_boundary(&self.text, span.end).max(start);
        let removed = self.text[start..end].to_owned();
        self.text.replace_range(start..end, new);
        let first = self.line_starts.partition_point(|line| *line <= start);
        let last = self.line_starts.partition_point(|line| *line <= end);
        let added: Vec<usize> = line_starts(new).into_iter().skip(1).map(|line| start + line).collect();
        let next = first + added.len();
        self.line_starts.splice(first..last, added);
        for line in &mut self.line_starts[next..] {
            *line = *line - removed.len() + new.len();
        }
        BufferEdit {
            start,
            removed,
            inserted: new.to_owned(),
        }
    }

    /// Replaces the whole text and returns the difference, without the common start and end.
    pub fn replace_all(&mut self, new: &str) -> BufferEdit {
        let (prefix, suffix) = common_ends(&self.text, new);
        let end = self.text.len() - suffix;
        let inserted = new[prefix..new.len() - suffix].to_owned();
        self.replace_span(prefix..end, &inserted)
    }
}

/// The lengths in bytes of the common start and of the common end, which do not overlap.
pub(crate) fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let prefix = floor_boundary(old, floor_boundary(new, same));
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let same = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut suffix = same;
    while !(old.is_char_boundary(old.len() - suffix) && new.is_char_boundary(new.len() - suffix)) {
        suffix -= 1;
    }
    (prefix, suffix)
}

/// The nearest character boundary at or before an offset.
pub(crate) fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn line_starts(text: &str) -> Vec<usize> {
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(line: usize, column: usize) -> BufferPosition {
        BufferPosition { line, column }
    }

    #[test]
    fn positions_count_utf16_units_and_ignore_line_breaks() {
        let buffer = EditorBuffer::new("a😀b\r\nä\n".into());
        assert_eq!(buffer.line_count(), 3);
        for (position, offset) in [
            (at(0, 0), 0),
            (at(0, 1), 1),
            (at(0, 2), 1),
            (at(0, 3), 5),
            (at(0, 4), 6),
            (at(0, 99), 6),
            (at(1, 1), 10),
            (at(2, 0), 11),
            (at(9, 0), 11),
        ] {
            assert_eq!(buffer.offset(position), offset, "{position:?}");
        }
        assert_eq!(buffer.position(5), at(0, 3));
        assert_eq!(buffer.position(11), at(2, 0));
    }

    #[test]
    fn replacing_the_whole_text_reports_only_the_difference() {
        let mut buffer = EditorBuffer::new("one\ntwo\nthree\n".into());
        let edit = buffer.replace_all("one\ntvvo\nthree\n");
        assert_eq!((edit.start, &*edit.removed, &*edit.inserted), (5, "w", "vv"));
        assert_eq!(buffer.text(), "one\ntvvo\nthree\n");
    }

    proptest! {
        #[test]
        fn line_starts_stay_exact_after_any_edits(
            text in "[aä😀\r\n]{0,40}",
            edits in proptest::collection::vec((0usize..60, 0usize..60, "[xö\n]{0,5}"), 0..8),
        ) {
            let mut buffer = EditorBuffer::new(text);
            for (start, end, new) in edits {
                let before = buffer.text().to_owned();
                let edit = buffer.replace_span(start.min(end)..start.max(end), &new);
                prop_assert_eq!(&buffer, &EditorBuffer::new(buffer.text().to_owned()));
                let mut undone = buffer.text().to_owned();
                undone.replace_range(edit.start..edit.start + edit.inserted.len(), &edit.removed);
                prop_assert_eq!(undone, before);
            }
            for offset in 0..=buffer.text().len() {
                if buffer.text().is_char_boundary(offset) && !buffer.text()[..offset].ends_with('\r') {
                    prop_assert_eq!(buffer.offset(buffer.position(offset)), offset);
                }
            }
        }
    }
}
