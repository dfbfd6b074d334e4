//! Breaks styled text into rows between words.

use super::{Piece, Row, fitting};
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Breaks a row into rows of at most `width` columns; `indent` stands before all but the first.
///
/// A row is broken between words where that is possible; a word that is too long is broken where the row ends.
pub(crate) fn wrap(row: &Row, width: usize, indent: &Row) -> Vec<Row> {
    let width = width.max(1);
    if row.width() <= width {
        return vec![row.clone()];
    }
    // An indent that leaves no room is none.
    let indent = if indent.width() * 2 > width {
        Row::empty()
    } else {
        indent.clone()
    };
    let mut filling = Filling {
        rows: Vec::new(),
        row: Row::empty(),
        used: 0,
        has_words: false,
        indent,
        width,
    };
    let mut words = Words::default();
    for piece in &row.pieces {
        for part in piece.text.split_word_bounds() {
            let breaks = part.chars().all(char::is_whitespace);
            if breaks != words.blank || breaks_anywhere(part) {
                filling.put(&mut words);
            }
            words.blank = breaks;
            words.push(part, piece);
        }
    }
    filling.put(&mut words);
    filling.finish()
}

/// Text between two places where a row may be broken.
#[derive(Default)]
struct Words {
    pieces: Vec<Piece>,
    width: usize,
    blank: bool,
}

impl Words {
    fn push(&mut self, part: &str, like: &Piece) {
        self.width += part.width();
        match self.pieces.last_mut() {
            Some(last) if last.style == like.style && last.link == like.link => last.text.push_str(part),
            Some(_) | None => self.pieces.push(Piece {
                text: part.into(),
                style: like.style,
                link: like.link.clone(),
            }),
        }
    }
}

/// Between ideographs a row may be broken without a space.
fn breaks_anywhere(part: &str) -> bool {
    part.width() >= 2 * part.chars().count() && !part.is_empty() && !part.is_ascii()
}

struct Filling {
    rows: Vec<Row>,
    row: Row,
    used: usize,
    has_words: bool,
    indent: Row,
    width: usize,
}

impl Filling {
    fn put(&mut self, words: &mut Words) {
        let Words { pieces, width, blank } = std::mem::take(words);
        if pieces.is_empty() {
            return;
        }
        if self.used + width > self.width {
            if blank {
                // The row ends here anyway.
                if self.has_words {
                    self.next_row();
                }
                return;
            }
            if self.has_words {
                self.next_row();
            }
        }
        // Space at the beginning of a continued row is what was between the words.
        if blank && !self.rows.is_empty() && !self.has_words {
            return;
        }
        self.has_words |= !blank;
        for piece in pieces {
            self.append(piece);
        }
    }

    /// Adds a piece, broken wherever the row ends.
    fn append(&mut self, piece: Piece) {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            let room = self.width.saturating_sub(self.used);
            let (now, width) = fitting(rest, room);
            let now = match (now.is_empty(), self.used > self.indent_width()) {
                // Not even one character fits into an empty row: it goes there all the same.
                (true, false) => rest.graphemes(true).next().unwrap_or(rest),
                (true, true) => {
                    self.next_row();
                    continue;
                }
                (false, _) => now,
            };
            self.used += width.max(usize::from(width == 0));
            self.push(now, piece.style, &piece);
            rest = rest.get(now.len()..).unwrap_or_default();
        }
    }

    fn push(&mut self, text: &str, style: Style, like: &Piece) {
        match self.row.pieces.last_mut() {
            Some(last) if last.style == style && last.link == like.link => last.text.push_str(text),
            Some(_) | None => self.row.pieces.push(Piece::new(text, style).leading(like.link.clone())),
        }
    }

    fn indent_width(&self) -> usize {
        if self.rows.is_empty() { 0 } else { self.indent.width() }
    }

    fn next_row(&mut self) {
        let mut row = std::mem::replace(&mut self.row, self.indent.clone());
        trim_end(&mut row);
        self.rows.push(row);
        self.used = self.indent.width();
        self.has_words = false;
    }

    fn finish(mut self) -> Vec<Row> {
        if self.has_words || self.rows.is_empty() || self.used > self.indent_width() {
            self.next_row();
        }
        self.rows
    }
}

fn trim_end(row: &mut Row) {
    while let Some(last) = row.pieces.last_mut() {
        let kept = last.text.trim_end_matches(' ').len();
        last.text.truncate(kept);
        if !last.text.is_empty() {
            break;
        }
        row.pieces.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Modifier;

    fn lines(text: &str, width: usize, indent: &str) -> Vec<String> {
        let rows = wrap(&Row::of(text, Style::new()), width, &Row::of(indent, Style::new()));
        rows.iter().map(Row::text).collect()
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(lines("one two three", 7, ""), ["one two", "three"]);
        assert_eq!(lines("one two three", 8, ""), ["one two", "three"]);
        assert_eq!(lines("one two three", 13, ""), ["one two three"]);
        assert_eq!(lines("one  two", 5, ""), ["one", "two"]);
        assert_eq!(lines("  one two", 6, ""), ["  one", "two"]);
        assert_eq!(lines("", 5, ""), [""]);
    }

    #[test]
    fn continued_rows_are_indented_unless_there_is_no_room() {
        assert_eq!(lines("- one two three", 9, "  "), ["- one two", "  three"]);
        assert_eq!(lines("- one two", 3, "  "), ["-", "one", "two"]);
    }

    #[test]
    fn a_word_that_is_too_long_is_broken() {
        assert_eq!(lines("abcdefgh", 3, ""), ["abc", "def", "gh"]);
        assert_eq!(lines("x abcdefgh", 4, ""), ["x", "abcd", "efgh"]);
        assert_eq!(lines("漢字漢字漢", 5, ""), ["漢字", "漢字", "漢"]);
        assert_eq!(lines("漢字", 1, ""), ["漢", "字"]);
    }

    #[test]
    fn styles_stay_with_their_words() {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let row = Row::of("one ", Style::new()).and("two three", bold);
        let rows = wrap(&row, 8, &Row::empty());
        assert_eq!(
            rows,
            [Row::of("one ", Style::new()).and("two", bold), Row::of("three", bold)]
        );
    }

    #[test]
    fn nothing_but_spaces_is_lost_at_any_width() {
        let text = "The quick (brown) fox — über 漢字 jumps: a_very_long_identifier_here, ok?";
        for width in 1..90 {
            let rows = lines(text, width, "");
            let joined: String = rows.concat().split(' ').collect();
            assert_eq!(joined, text.split(' ').collect::<String>(), "width {width}");
            let widest = rows.iter().map(|row| row.width()).max().unwrap_or(0);
            assert!(widest <= width.max(2), "width {width}: {widest}");
        }
    }
}
