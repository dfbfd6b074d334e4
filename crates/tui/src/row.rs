//! A row of styled text, and how text is broken into rows.

mod wrap;

pub(crate) use wrap::wrap;

use model::Media;
use ratatui::buffer::Buffer;
use ratatui::style::Style;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A row of styled text. It has no line breaks, tabs or control characters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    /// Its pieces, from left to right.
    pub(crate) pieces: Vec<Piece>,
    /// The image below it, for terminals that can show one.
    pub(crate) picture: Option<Media>,
}

/// Text in one style.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Piece {
    /// The text.
    pub(crate) text: String,
    /// How it looks.
    pub(crate) style: Style,
    /// Where it leads.
    pub(crate) link: Option<Arc<str>>,
}

impl Piece {
    /// Text in a style.
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        Piece {
            text: text.into(),
            style,
            link: None,
        }
    }

    /// The same text that leads somewhere.
    pub(crate) fn leading(mut self, link: Option<Arc<str>>) -> Self {
        self.link = link;
        self
    }
}

impl Row {
    /// An empty row.
    pub(crate) fn empty() -> Self {
        Row::default()
    }

    /// A row of one piece.
    pub(crate) fn of(text: impl Into<String>, style: Style) -> Self {
        Row::from(vec![Piece::new(text, style)])
    }

    /// The same row with more behind it.
    pub(crate) fn and(mut self, text: impl Into<String>, style: Style) -> Self {
        self.pieces.push(Piece::new(text, style));
        self
    }

    /// The same row with something before it.
    pub(crate) fn after(mut self, text: impl Into<String>, style: Style) -> Self {
        self.pieces.insert(0, Piece::new(text, style));
        self
    }

    /// How many columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|piece| piece.text.width()).sum()
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// Whether nothing can be seen of it.
    pub(crate) fn is_blank(&self) -> bool {
        self.pieces.iter().all(|piece| piece.text.trim().is_empty())
    }

    /// The same row in at most so many columns; an ellipsis says that something is missing.
    pub(crate) fn cut(self, width: usize) -> Row {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut pieces: Vec<Piece> = Vec::new();
        for piece in self.pieces {
            let (kept, used) = fitting(&piece.text, left);
            left -= used;
            let whole = kept.len() == piece.text.len();
            let (style, link) = (piece.style, piece.link.clone());
            pieces.push(if whole {
                piece
            } else {
                Piece::new(kept, style).leading(link)
            });
            if !whole {
                pieces.push(Piece::new("…", style));
                break;
            }
        }
        Row {
            pieces,
            picture: self.picture,
        }
    }

    /// The same row with an image below it.
    pub(crate) fn showing(mut self, media: &Media) -> Row {
        self.picture = Some(media.clone());
        self
    }

    /// Draws it; what does not fit is left out.
    pub(crate) fn draw(&self, x: u16, y: u16, width: u16, buf: &mut Buffer) {
        if y >= buf.area.bottom() || y < buf.area.top() {
            return;
        }
        let mut at = x;
        let end = x.saturating_add(width).min(buf.area.right());
        for piece in &self.pieces {
            if at >= end {
                break;
            }
            let (next, _) = buf.set_stringn(at, y, &piece.text, usize::from(end - at), piece.style);
            at = next;
        }
    }
}

impl From<Vec<Piece>> for Row {
    fn from(pieces: Vec<Piece>) -> Self {
        Row { pieces, picture: None }
    }
}

/// The beginning of a text that fits into so many columns, and how many it takes.
pub(crate) fn fitting(text: &str, width: usize) -> (&str, usize) {
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        let next = used + cluster.width();
        if next > width {
            return (text.get(..at).unwrap_or_default(), used);
        }
        used = next;
    }
    (text, used)
}

/// Text without what could take over a terminal: tabs become spaces, control characters are shown or left out.
pub(crate) fn tame(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len());
    let mut column = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => {
                tamed.push('\n');
                column = 0;
            }
            '\t' => {
                let spaces = 4 - column % 4;
                tamed.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\x1b' => skip_sequence(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            // A program that paints a line over: the newest state of the line counts.
            '\r' => {
                let start = tamed.rfind('\n').map_or(0, |at| at + 1);
                tamed.truncate(start);
                column = 0;
            }
            c if c.is_control() || is_invisible(c) => {}
            c => {
                tamed.push(c);
                column += 1;
            }
        }
    }
    tamed
}

/// Characters that turn the direction of text around, and others that can hide what is written.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{200e}' | '\u{200f}')
}

fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            for c in chars.by_ref() {
                if ('\x40'..='\x7e').contains(&c) {
                    return;
                }
            }
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            chars.next();
            while let Some(c) = chars.next() {
                if c == '\x07' {
                    return;
                }
                if c == '\x1b' {
                    if chars.peek() == Some(&'\\') {
                        chars.next();
                    }
                    return;
                }
            }
        }
        Some(_) => {
            chars.next();
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_cut_between_what_people_see_as_characters() {
        let cut = |text: &str, width| Row::of(text, Style::new()).cut(width).text();
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("漢字漢字", 4), "漢…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn text_of_others_cannot_take_over_the_terminal() {
        let cases = [
            ("a\tb", "a   b"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]52;c;AAAA\x1b\\x", "x"),
            ("10 %\r20 %\r\nnext", "20 %\nnext"),
            ("a\u{7}\u{8}b\u{202e}c", "abc"),
            ("\x1b", ""),
        ];
        for (wild, tamed) in cases {
            assert_eq!(tame(wild), tamed, "{wild:?}");
        }
    }
}
