//! A one-line text input.

use crate::composer::{EditOutcome, TextEditor};
use crate::keys::{KeyChord, KeyContext, KeyMap};
use crate::row::StyledRow;
use crate::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A one-line text input.
#[derive(Default)]
pub(crate) struct InputField {
    editor: TextEditor,
    hidden: bool,
}

impl InputField {
    /// An input with text.
    pub(crate) fn new(text: &str) -> Self {
        let mut field = InputField::default();
        field.paste(text);
        field
    }

    /// An input that hides its text.
    pub(crate) fn hidden() -> Self {
        InputField {
            hidden: true,
            ..InputField::default()
        }
    }

    pub(crate) fn text(&self) -> &str {
        self.editor.as_str()
    }

    /// Handles a key; returns whether the text changed.
    pub(crate) fn handle_key(&mut self, key: KeyChord, keys: &KeyMap) -> bool {
        if let Some(c) = key.types() {
            self.editor.type_char(c);
            return true;
        }
        match keys.action(KeyContext::Composer, key) {
            Some(crate::keys::KeyAction::Newline) | None => false,
            Some(action) => self.editor.perform(action) == EditOutcome::Changed,
        }
    }

    /// Inserts a paste as one line.
    pub(crate) fn paste(&mut self, text: &str) {
        let line: Vec<&str> = text.split_whitespace().collect();
        self.editor.insert(&line.join(" "));
    }

    /// Draws the input; returns the caret position.
    pub(crate) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, hint: &str) -> Option<Position> {
        if area.width == 0 || area.height == 0 {
            return None;
        }
        if self.text().is_empty() {
            StyledRow::new(hint, theme.dim)
                .truncate(area.width.into())
                .draw(area.x, area.y, area.width, buf);
            return Some(area.as_position());
        }
        let shown = match self.hidden {
            true => "•".repeat(self.text().graphemes(true).count()),
            false => self.text().to_owned(),
        };
        let before = match self.hidden {
            true => self.text()[..self.editor.text().caret()].graphemes(true).count(),
            false => self.text()[..self.editor.text().caret()].width(),
        };
        let room = usize::from(area.width).saturating_sub(1);
        // Scroll so that the caret is visible.
        let mut skipped = 0;
        let mut start = 0;
        for (at, grapheme) in shown.grapheme_indices(true) {
            if before.saturating_sub(skipped) <= room {
                break;
            }
            skipped += grapheme.width();
            start = at + grapheme.len();
        }
        StyledRow::new(&shown[start..], theme.text).draw(area.x, area.y, area.width, buf);
        let column = u16::try_from(before.saturating_sub(skipped)).unwrap_or(0);
        Some(Position::new((area.x + column).min(area.right() - 1), area.y))
    }
}
