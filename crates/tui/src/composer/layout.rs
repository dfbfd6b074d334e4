//! Text laid out in rows of a width: where lines wrap and where each offset is drawn.

use super::chips::Chips;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Tabs reach to the next column that is a multiple of this.
const TAB: u16 = 4;

/// Rows of text. The column behind the last one is kept free, so that the caret is never outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    rows: Vec<Range<usize>>,
}

/// A piece of a row as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// Where it begins in the text.
    pub(crate) at: usize,
    /// The column in which it begins.
    pub(crate) column: u16,
    /// How many columns it takes.
    pub(crate) width: u16,
    /// What is drawn there.
    pub(crate) shown: Shown<'a>,
}

/// What is drawn for a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    /// Itself.
    Text(&'a str),
    /// Nothing but room: a tab.
    Blank,
    /// The name of an attachment.
    Chip(&'a str),
}

impl Layout {
    /// Lays text out in rows of at most `width` columns, breaking between words where it can.
    pub(crate) fn new(text: &str, chips: &Chips, width: u16) -> Layout {
        let width = width.max(2);
        let mut rows = Vec::new();
        let mut offset = 0;
        for line in text.split('\n') {
            wrap(line, offset, chips, width, &mut rows);
            offset += line.len() + 1;
        }
        Layout { rows }
    }

    /// The ranges of the text that the rows show.
    pub(crate) fn rows(&self) -> &[Range<usize>] {
        &self.rows
    }

    /// The row and the column of an offset.
    pub(crate) fn place(&self, text: &str, chips: &Chips, at: usize) -> (usize, u16) {
        let row = self.rows.partition_point(|row| row.start <= at).saturating_sub(1);
        let start = self.rows.get(row).map_or(0, |row| row.start);
        let column = pieces(&text[start..at.max(start)], start, chips).last();
        (row, column.map_or(0, |piece| piece.column + piece.width))
    }

    /// The offset that is drawn in a column of a row, or the nearest before it.
    pub(crate) fn offset(&self, text: &str, chips: &Chips, row: usize, column: u16) -> usize {
        let Some(range) = self.rows.get(row) else {
            return text.len();
        };
        let mut at = range.start;
        for piece in pieces(&text[range.clone()], range.start, chips) {
            if piece.column + piece.width > column {
                return piece.at;
            }
            at = piece.at;
        }
        // A row that goes on below ends before its last character: what is behind it is the start of the next row.
        match self.rows.get(row + 1) {
            Some(next) if next.start == range.end => at,
            Some(_) | None => range.end,
        }
    }
}

/// The pieces of a row, with the columns they are drawn in.
pub(crate) fn pieces<'a>(row: &'a str, start: usize, chips: &'a Chips) -> impl Iterator<Item = Piece<'a>> {
    let mut column = 0u16;
    row.grapheme_indices(true).map(move |(at, grapheme)| {
        let (shown, width) = measure(grapheme, column, chips);
        let piece = Piece {
            at: start + at,
            column,
            width,
            shown,
        };
        column = column.saturating_add(width);
        piece
    })
}

fn measure<'a>(grapheme: &'a str, column: u16, chips: &'a Chips) -> (Shown<'a>, u16) {
    if grapheme == "\t" {
        return (Shown::Blank, TAB - column % TAB);
    }
    let chip = grapheme.chars().next().and_then(|c| chips.label(c));
    let (shown, text) = match chip {
        Some(label) => (Shown::Chip(label), label),
        None => (Shown::Text(grapheme), grapheme),
    };
    (shown, u16::try_from(text.width()).unwrap_or(u16::MAX))
}

fn wrap(line: &str, offset: usize, chips: &Chips, width: u16, rows: &mut Vec<Range<usize>>) {
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

/// How many bytes of a line fit in one row.
fn break_at(line: &str, chips: &Chips, width: u16) -> usize {
    let mut after_space = None;
    for piece in pieces(line, 0, chips) {
        let is_space = matches!(piece.shown, Shown::Text(" ") | Shown::Blank);
        let end = piece.column.saturating_add(piece.width);
        // One space may stand in the column that is kept for the caret, so that no row begins with it.
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
        let layout = Layout::new(text, &Chips::default(), width);
        layout.rows().iter().map(|row| text[row.clone()].to_owned()).collect()
    }

    #[test]
    fn lines_break_between_words_where_they_can() {
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
    fn every_offset_has_a_place_inside_the_width_and_leads_back() {
        let text = "fn main() {\n\tlet 漢字 = \"e\u{301}👩‍👩‍👧\"; // a rather long comment\n}\n";
        let chips = Chips::default();
        for width in 2..40u16 {
            let layout = Layout::new(text, &chips, width);
            let whole: String = layout.rows().iter().map(|row| &text[row.clone()]).collect();
            assert_eq!(whole, text.replace('\n', ""), "no character is lost at {width}");
            for (at, _) in text.grapheme_indices(true) {
                let (row, column) = layout.place(text, &chips, at);
                assert!(column <= width.max(4), "{at} at {column} in {width}");
                let back = layout.offset(text, &chips, row, column);
                assert!(back <= at, "{at} leads to {back} in {width}");
            }
        }
    }

    #[test]
    fn the_caret_counts_wide_characters_twice_and_marks_not_at_all() {
        let chips = Chips::default();
        let text = "漢e\u{301}\tx";
        let layout = Layout::new(text, &chips, 40);
        let columns: Vec<u16> = [0, 3, 6, 7, 8].map(|at| layout.place(text, &chips, at).1).to_vec();
        assert_eq!(columns, [0, 2, 3, 4, 5]);
    }
}
