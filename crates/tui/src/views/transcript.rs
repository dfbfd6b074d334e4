//! The whole conversation on a screen of its own, to look back.

use crate::input::Input;
use crate::row::Row;
use crate::view::{Cx, Outcome, Place, View};
use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// The whole conversation.
#[derive(Default)]
pub(crate) struct Transcript {}

impl View for Transcript {
    fn place(&self) -> Place {
        Place::Full
    }

    fn handle(&mut self, input: Input, _: &Cx<'_>) -> Outcome {
        match input {
            Input::Key(key) if matches!(key.code, KeyCode::Esc | KeyCode::Char('q')) => Outcome::Close,
            Input::Key(_) | Input::Paste(_) | Input::Focus(_) => Outcome::Stay,
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        Row::of("transcript", cx.theme.heading).draw(area.x, area.y, area.width, buf);
        None
    }
}
