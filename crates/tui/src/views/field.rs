//! One line to write in: a search, a title, a key.

use crate::composer::{Done, Editor};
use crate::keys::{Context, Key, Keys};
use crate::row::Row;
use crate::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// One line to write in.
#[derive(Default)]
pub(crate) struct Field {
    editor: Editor,
    hidden: bool,
}

impl Field {
    /// A line with text in it.
    pub(crate) fn new(text: &str) -> Self {
        let mut field = Field::default();
        field.paste(text);
        field
    }

    /// A line of which only the length is shown.
    pub(crate) fn hidden() -> Self {
        Field {
            hidden: true,
            ..Field::default()
        }
    }

    /// What is written.
    pub(crate) fn text(&self) -> &str {
        self.editor.as_str()
    }

    /// Takes a key; whether the text changed.
    pub(crate) fn press(&mut self, key: Key, keys: &Keys) -> bool {
        if let Some(c) = key.types() {
            self.editor.type_char(c);
            return true;
        }
        match keys.deed(Context::Composer, key) {
            Some(crate::keys::Deed::Newline) | None => false,
            Some(deed) => self.editor.act(deed) == Done::Changed,
        }
    }

    /// Takes a paste, as one line.
    pub(crate) fn paste(&mut self, text: &str) {
        let line: Vec<&str> = text.split_whitespace().collect();
        self.editor.insert(&line.join(" "));
    }

    /// Draws it; the answer is where the caret stands.
    pub(crate) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, hint: &str) -> Option<Position> {
        if area.width == 0 || area.height == 0 {
            return None;
        }
        if self.text().is_empty() {
            Row::of(hint, theme.dim)
                .cut(area.width.into())
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
        // The end that is being written is what must be seen.
        let mut skipped = 0;
        let mut start = 0;
        for (at, grapheme) in shown.grapheme_indices(true) {
            if before.saturating_sub(skipped) <= room {
                break;
            }
            skipped += grapheme.width();
            start = at + grapheme.len();
        }
        Row::of(&shown[start..], theme.text).draw(area.x, area.y, area.width, buf);
        let column = u16::try_from(before.saturating_sub(skipped)).unwrap_or(0);
        Some(Position::new((area.x + column).min(area.right() - 1), area.y))
    }
}
