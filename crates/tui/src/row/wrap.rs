//! Wraps styled rows between words.

use super::{StyledRow, StyledSpan, fit_width};
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Wraps a row to rows of at most `width` columns; `indent` precedes all but the first.
///
/// Breaks between words where possible; longer words are broken at the row's end.
pub(crate) fn wrap(row: &StyledRow, width: usize, indent: &StyledRow) -> Vec<StyledRow> {
    let width = width.max(1);
    if row.width() <= width {
        return vec![row.clone()];
    }
    // An indent that is too wide is dropped.
    let indent = if indent.width() * 2 > width {
        StyledRow::empty()
    } else {
        indent.clone()
    };
    let mut filling = RowWrapper {
        rows: Vec::new(),
        row: StyledRow::empty(),
        used: 0,
        has_words: false,
        indent,
        width,
    };
    let mut words = WrapSegment::default();
    for piece in &row.spans {
        for part in piece.text.split_word_bounds() {
            let breaks = part.chars().all(char::is_whitespace);
            if breaks != words.blank || breaks_anywhere(part) {
                filling.push_segment(&mut words);
            }
            words.blank = breaks;
            words.push(part, piece);
        }
    }
    filling.push_segment(&mut words);
    filling.finish()
}

/// Text between two possible breaks.
#[derive(Default)]
struct WrapSegment {
    pieces: Vec<StyledSpan>,
    width: usize,
    blank: bool,
}

impl WrapSegment {
    fn push(&mut self, part: &str, like: &StyledSpan) {
        self.width += part.width();
        match self.pieces.last_mut() {
            Some(last) if last.style == like.style && last.link == like.link => last.text.push_str(part),
            Some(_) | None => self.pieces.push(StyledSpan {
                text: part.into(),
                style: like.style,
                link: like.link.clone(),
            }),
        }
    }
}

/// Ideographs can be separated without a space.
fn breaks_anywhere(part: &str) -> bool {
    part.width() >= 2 * part.chars().count() && !part.is_empty() && !part.is_ascii()
}

struct RowWrapper {
    rows: Vec<StyledRow>,
    row: StyledRow,
    used: usize,
    has_words: bool,
    indent: StyledRow,
    width: usize,
}

impl RowWrapper {
    fn push_segment(&mut self, words: &mut WrapSegment) {
        let WrapSegment { pieces, width, blank } = std::mem::take(words);
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
        // A continued row does not begin with the space between words.
        if blank && !self.rows.is_empty() && !self.has_words {
            return;
        }
        self.has_words |= !blank;
        for piece in pieces {
            self.append_span(piece);
        }
    }

    /// Appends a span, broken at the row's end.
    fn append_span(&mut self, piece: StyledSpan) {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            let room = self.width.saturating_sub(self.used);
            let (now, width) = fit_width(rest, room);
            let now = match (now.is_empty(), self.used > self.indent_width()) {
                // Not even one character fits into an empty row; it is placed there anyway.
                (true, false) => rest.graphemes(true).next().unwrap_or(rest),
                (true, true) => {
                    self.next_row();
                    continue;
                }
                (false, _) => now,
            };
            self.used += width.max(usize::from(width == 0));
            self.push_text(now, piece.style, &piece);
            rest = rest.get(now.len()..).unwrap_or_default();
        }
    }

    fn push_text(&mut self, text: &str, style: Style, like: &StyledSpan) {
        match self.row.spans.last_mut() {
            Some(last) if last.style == style && last.link == like.link => last.text.push_str(text),
            Some(_) | None => self
                .row
                .spans
                .push(StyledSpan::new(text, style).with_link(like.link.clone())),
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

    fn finish(mut self) -> Vec<StyledRow> {
        if self.has_words || self.rows.is_empty() || self.used > self.indent_width() {
            self.next_row();
        }
        self.rows
    }
}

fn trim_end(row: &mut StyledRow) {
    while let Some(last) = row.spans.last_mut() {
        let kept = last.text.trim_end_matches(' ').len();
        last.text.truncate(kept);
        if !last.text.is_empty() {
            break;
        }
        row.spans.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Modifier;

    fn lines(text: &str, width: usize, indent: &str) -> Vec<String> {
        let rows = wrap(
            &StyledRow::new(text, Style::new()),
            width,
            &StyledRow::new(indent, Style::new()),
        );
        rows.iter().map(StyledRow::text).collect()
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
        let row = StyledRow::new("one ", Style::new()).push("two three", bold);
        let rows = wrap(&row, 8, &StyledRow::empty());
        assert_eq!(
            rows,
            [
                StyledRow::new("one ", Style::new()).push("two", bold),
                StyledRow::new("three", bold)
            ]
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
