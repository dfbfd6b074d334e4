//! Text layout in rows of a given width, and the position of each offset.

use super::attachments::Attachments;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Tab stops are multiples of this.
const TAB: u16 = 4;

/// Rows of text. One column after the last is reserved for the caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLayout {
    rows: Vec<Range<usize>>,
}

/// A drawn grapheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedGrapheme<'a> {
    /// Byte offset in the text.
    pub(crate) at: usize,
    /// First column.
    pub(crate) column: u16,
    /// Width in columns.
    pub(crate) width: u16,
    pub(crate) content: GraphemeContent<'a>,
}

/// What is drawn for a grapheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphemeContent<'a> {
    /// The grapheme itself.
    Text(&'a str),
    /// Blank columns of a tab.
    Blank,
    /// The label of an attachment.
    Attachment(&'a str),
}

impl TextLayout {
    /// Lays out text in rows of at most `width` columns, breaking between words where possible.
    pub(crate) fn new(text: &str, chips: &Attachments, width: u16) -> TextLayout {
        let width = width.max(2);
        let mut rows = Vec::new();
        let mut offset = 0;
        for line in text.split('\n') {
            wrap_line(line, offset, chips, width, &mut rows);
            offset += line.len() + 1;
        }
        TextLayout { rows }
    }

    /// The text range of each row.
    pub(crate) fn rows(&self) -> &[Range<usize>] {
        &self.rows
    }

    /// The row and column of an offset.
    pub(crate) fn position(&self, text: &str, chips: &Attachments, at: usize) -> (usize, u16) {
        let row = self.rows.partition_point(|row| row.start <= at).saturating_sub(1);
        let start = self.rows.get(row).map_or(0, |row| row.start);
        let column = graphemes(&text[start..at.max(start)], start, chips).last();
        (row, column.map_or(0, |piece| piece.column + piece.width))
    }

    /// The offset at a column of a row, or the nearest before it.
    pub(crate) fn offset(&self, text: &str, chips: &Attachments, row: usize, column: u16) -> usize {
        let Some(range) = self.rows.get(row) else {
            return text.len();
        };
        let mut at = range.start;
        for piece in graphemes(&text[range.clone()], range.start, chips) {
            if piece.column + piece.width > column {
                return piece.at;
            }
            at = piece.at;
        }
        // A wrapped row ends before its last character: the offset after it is the start of the next row.
        match self.rows.get(row + 1) {
            Some(next) if next.start == range.end => at,
            Some(_) | None => range.end,
        }
    }
}

/// The graphemes of a row with their columns.
pub(crate) fn graphemes<'a>(
    row: &'a str,
    start: usize,
    chips: &'a Attachments,
) -> impl Iterator<Item = PlacedGrapheme<'a>> {
    let mut column = 0u16;
    row.grapheme_indices(true).map(move |(at, grapheme)| {
        let (shown, width) = measure(grapheme, column, chips);
        let piece = PlacedGrapheme {
            at: start + at,
            column,
            width,
            content: shown,
        };
        column = column.saturating_add(width);
        piece
    })
}

fn measure<'a>(grapheme: &'a str, column: u16, chips: &'a Attachments) -> (GraphemeContent<'a>, u16) {
    if grapheme == "\t" {
        return (GraphemeContent::Blank, TAB - column % TAB);
    }
    let chip = grapheme.chars().next().and_then(|c| chips.label(c));
    let (shown, text) = match chip {
        Some(label) => (GraphemeContent::Attachment(label), label),
        None => (GraphemeContent::Text(grapheme), grapheme),
    };
    (shown, u16::try_from(text.width()).unwrap_or(u16::MAX))
}

fn wrap_line(line: &str, offset: usize, chips: &Attachments, width: u16, rows: &mut Vec<Range<usize>>) {
    let mut start = 0;
    loop {
        let end = break_at(&line[start..], chips, width);
        rows.push(offset + start..offset + start + end);
        start += end;
        if start >= line.len() {
            return;
        }
    }
}

/// The number of bytes of a line that fit in one row.
fn break_at(line: &str, chips: &Attachments, width: u16) -> usize {
    let mut after_space = None;
    for piece in graphemes(line, 0, chips) {
        let is_space = matches!(piece.content, GraphemeContent::Text(" ") | GraphemeContent::Blank);
        let end = piece.column.saturating_add(piece.width);
        // One space may use the caret's column, so that no row begins with it.
        let fits = end <= width || (is_space && piece.column <= width && end <= width + 1);
        if !fits && piece.at > 0 {
            return after_space.unwrap_or(piece.at);
        }
        if is_space {
            let next = line[piece.at..].chars().next().map_or(1, char::len_utf8);
            after_space = Some(piece.at + next);
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: u16) -> Vec<String> {
        let layout = TextLayout::new(text, &Attachments::default(), width);
        layout.rows().iter().map(|row| text[row.clone()].to_owned()).collect()
    }

    #[test]
    fn lines_break_between_words_if_possible() {
        let cases: &[(&str, u16, &[&str])] = &[
            ("", 10, &[""]),
            ("one two three", 8, &["one two ", "three"]),
            ("aaaa bbbb", 4, &["aaaa ", "bbbb"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("a\n\nb\n", 4, &["a", "", "b", ""]),
            ("漢字漢字漢", 5, &["漢字", "漢字", "漢"]),
            ("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]),
            ("a\tb", 8, &["a\tb"]),
        ];
        for (text, width, expected) in cases {
            assert_eq!(rows(text, *width), *expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn every_offset_has_a_position_within_the_width_and_maps_back() {
        let text = "fn main() {\n\tlet 漢字 = \"e\u{301}👩‍👩‍👧\"; // a rather long comment\n}\n";
        let chips = Attachments::default();
        for width in 2..40u16 {
            let layout = TextLayout::new(text, &chips, width);
            let whole: String = layout.rows().iter().map(|row| &text[row.clone()]).collect();
            assert_eq!(whole, text.replace('\n', ""), "no character is lost at {width}");
            for (at, _) in text.grapheme_indices(true) {
                let (row, column) = layout.position(text, &chips, at);
                assert!(column <= width.max(4), "{at} at {column} in {width}");
                let back = layout.offset(text, &chips, row, column);
                assert!(back <= at, "{at} leads to {back} in {width}");
            }
        }
    }

    #[test]
    fn the_caret_counts_wide_characters_twice_and_marks_not_at_all() {
        let chips = Attachments::default();
        let text = "漢e\u{301}\tx";
        let layout = TextLayout::new(text, &chips, 40);
        let columns: Vec<u16> = [0, 3, 6, 7, 8].map(|at| layout.position(text, &chips, at).1).to_vec();
        assert_eq!(columns, [0, 2, 3, 4, 5]);
    }
}
