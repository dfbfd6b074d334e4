//! Text with a caret that is always between two graphemes.

use std::ops::Range;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

/// Text with a caret. Offsets are bytes; the caret is never inside a grapheme.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CaretText {
    text: String,
    caret: usize,
}

/// Character classes for word motions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CharClass {
    /// Between words.
    Space,
    /// Letters, digits and underscores.
    Word,
    /// Everything else.
    Punctuation,
}

impl CaretText {
    /// Text with the caret at its end.
    #[cfg(test)]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let caret = text.len();
        CaretText { text, caret }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The byte offset of the caret.
    pub(crate) fn caret(&self) -> usize {
        self.caret
    }

    /// Moves the caret here, or to the end of the grapheme that contains this offset.
    pub(crate) fn set_caret(&mut self, at: usize) {
        self.caret = self.snap(at.min(self.text.len()));
    }

    /// Replaces a range and moves the caret after the replacement.
    pub(crate) fn replace(&mut self, range: Range<usize>, with: &str) {
        let start = range.start;
        self.text.replace_range(range, with);
        // Adjacent characters may combine into one grapheme, such as a letter before a combining mark.
        self.set_caret(start + with.len());
    }

    /// Inserts text at the caret.
    #[cfg(test)]
    pub(crate) fn insert(&mut self, text: &str) {
        self.replace(self.caret..self.caret, text);
    }

    /// The offset one grapheme to the left.
    pub(crate) fn left(&self, at: usize) -> usize {
        let mut cursor = GraphemeCursor::new(at, self.text.len(), true);
        cursor.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    /// The offset one grapheme to the right.
    pub(crate) fn right(&self, at: usize) -> usize {
        let mut cursor = GraphemeCursor::new(at, self.text.len(), true);
        cursor
            .next_boundary(&self.text, 0)
            .ok()
            .flatten()
            .unwrap_or(self.text.len())
    }

    /// The start of the line that contains an offset.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The end of the line that contains an offset, before its newline.
    pub(crate) fn line_end(&self, at: usize) -> usize {
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |newline| at + newline)
    }

    /// The start of the word left of an offset.
    pub(crate) fn word_left(&self, at: usize) -> usize {
        let mut seen_word = false;
        for (start, grapheme) in self.text[..at].grapheme_indices(true).rev() {
            let is_word = class(grapheme) == CharClass::Word;
            if seen_word && !is_word {
                return start + grapheme.len();
            }
            seen_word |= is_word;
        }
        0
    }

    /// The end of the word right of an offset.
    pub(crate) fn word_right(&self, at: usize) -> usize {
        let mut seen_word = false;
        for (start, grapheme) in self.text[at..].grapheme_indices(true) {
            let is_word = class(grapheme) == CharClass::Word;
            if seen_word && !is_word {
                return at + start;
            }
            seen_word |= is_word;
        }
        self.text.len()
    }

    /// The grapheme at an offset; empty at the end.
    pub(crate) fn at(&self, at: usize) -> &str {
        &self.text[at..self.right(at)]
    }

    fn snap(&self, at: usize) -> usize {
        if !self.text.is_char_boundary(at) {
            return self.snap(at + 1);
        }
        let mut cursor = GraphemeCursor::new(at, self.text.len(), true);
        match cursor.is_boundary(&self.text, 0) {
            Ok(true) | Err(_) => at,
            Ok(false) => self.right(at),
        }
    }
}

/// The class of a grapheme for word motions.
pub(crate) fn class(grapheme: &str) -> CharClass {
    match grapheme.chars().next() {
        None => CharClass::Space,
        Some(c) if c.is_whitespace() => CharClass::Space,
        Some(c) if c.is_alphanumeric() || c == '_' => CharClass::Word,
        Some(_) => CharClass::Punctuation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_moves_by_graphemes() {
        let text = CaretText::new("e\u{301}漢👩‍👩‍👧🇩🇪x");
        let mut stops = vec![0];
        while stops[stops.len() - 1] < text.as_str().len() {
            stops.push(text.right(stops[stops.len() - 1]));
        }
        assert_eq!(stops, [0, 3, 6, 24, 32, 33]);
        let mut back = vec![33];
        while back[back.len() - 1] > 0 {
            back.push(text.left(back[back.len() - 1]));
        }
        back.reverse();
        assert_eq!(back, stops);
    }

    #[test]
    fn a_letter_typed_before_a_combining_mark_becomes_one_character_with_it() {
        let mut text = CaretText::new("\u{301}");
        text.set_caret(0);
        text.insert("e");
        assert_eq!((text.as_str(), text.caret()), ("e\u{301}", 3));
    }

    #[test]
    fn words_end_at_expected_positions() {
        let text = CaretText::new("let foo_bar = naïve(漢字);");
        let mut at = 0;
        let mut right = Vec::new();
        while at < text.as_str().len() {
            let next = text.word_right(at);
            right.push(&text.as_str()[at..next]);
            at = next;
        }
        assert_eq!(right, ["let", " foo_bar", " = naïve", "(漢字", ");"]);
        assert_eq!(text.word_left(text.as_str().len()), text.as_str().find('漢').unwrap());
    }
}
