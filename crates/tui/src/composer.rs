//! Where the person writes: it takes keys and pastes, and hands over what was written.

use crate::input::Input;
use crate::view::{Cx, Wish};
use crossterm::event::{KeyCode, KeyModifiers};
use model::Message;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::Delivery;

/// What the composer wants after it has taken a key.
pub(crate) enum Said {
    /// Nothing more; the key was used.
    Nothing,
    /// The key was not for it.
    Pass,
    /// The person says this.
    Prompt {
        /// What is said.
        message: Message,
        /// What happens when a turn is running.
        delivery: Delivery,
    },
    /// Something of the app.
    Wish(Wish),
}

/// Where the person writes.
#[derive(Default)]
pub(crate) struct Composer {
    text: String,
}

impl Composer {
    /// Takes a key or a paste.
    pub(crate) fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Said {
        let _ = cx;
        match input {
            Input::Paste(text) => {
                self.text.push_str(&text);
                Said::Nothing
            }
            Input::Key(key) => match (key.code, key.modifiers) {
                (KeyCode::Enter, KeyModifiers::NONE) if !self.text.trim().is_empty() => Said::Prompt {
                    message: Message::user(std::mem::take(&mut self.text)),
                    delivery: Delivery::Steer,
                },
                (KeyCode::Enter, _) => {
                    self.text.push('\n');
                    Said::Nothing
                }
                (KeyCode::Backspace, _) => {
                    self.text.pop();
                    Said::Nothing
                }
                (KeyCode::Char(c), KeyModifiers::NONE | KeyModifiers::SHIFT) => {
                    self.text.push(c);
                    Said::Nothing
                }
                _ => Said::Pass,
            },
            Input::Focus(_) => Said::Pass,
        }
    }

    /// How many rows it would like, completion included; at least 1.
    pub(crate) fn rows(&mut self, width: u16, cx: &Cx<'_>) -> u16 {
        let _ = (width, cx);
        u16::try_from(self.text.split('\n').count()).unwrap_or(u16::MAX)
    }

    /// Draws itself; the answer is where the caret stands.
    pub(crate) fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        for (line, y) in self.text.split('\n').zip(area.top()..area.bottom()) {
            buf.set_stringn(area.x, y, line, area.width.into(), cx.theme.text);
        }
        let last = self.text.split('\n').next_back().unwrap_or_default();
        let x = u16::try_from(unicode_width::UnicodeWidthStr::width(last)).unwrap_or(u16::MAX);
        let y = area.y
            + self
                .rows(area.width, cx)
                .saturating_sub(1)
                .min(area.height.saturating_sub(1));
        Some(Position::new(area.x + x.min(area.width.saturating_sub(1)), y))
    }

    /// What is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Puts text in place of what is there.
    pub(crate) fn set_text(&mut self, text: String) {
        self.text = text;
    }

    /// Puts text at the caret.
    pub(crate) fn insert(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A message that could not be sent comes back to be written on.
    pub(crate) fn give_back(&mut self, message: &Message) {
        self.insert(&message.text());
    }
}
