//! A screen of its own beside the terminal's history: rows are reached by their number.

use super::paint::Painted;
use super::{BEGIN, END, Painter};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

/// The screen as it stands on the terminal.
#[derive(Debug, Default)]
pub(crate) struct Full {
    rows: Vec<Painted>,
    caret: Option<Position>,
}

/// Goes over to the screen; the wheel sends arrow keys there, so that marking text stays the terminal's own business.
pub(crate) const ENTER: &str = "\x1b[?1049h\x1b[?1007h\x1b[?25l\x1b[2J";
/// Goes back to the terminal's history.
pub(crate) const LEAVE: &str = "\x1b[?1007l\x1b[?1049l\x1b[?25h";

impl Full {
    /// Writes the rows that differ from what stands there.
    pub(crate) fn frame(&mut self, buf: &Buffer, caret: Option<Position>, painter: &Painter, out: &mut String) {
        let area = buf.area;
        let rows: Vec<Painted> = (area.top()..area.bottom())
            .map(|y| painter.buffer_row(buf, y))
            .collect();
        let mut frame = String::new();
        if rows.len() != self.rows.len() {
            frame.push_str("\x1b[2J");
            self.rows = vec![Painted::default(); rows.len()];
        }
        for (index, (new, old)) in rows.iter().zip(&self.rows).enumerate() {
            if new != old {
                frame.push_str(&format!("\x1b[{};1H{}", index + 1, new.text));
                if new.width < old.width {
                    frame.push_str("\x1b[K");
                }
            }
        }
        let moved = caret != self.caret;
        if frame.is_empty() && !moved {
            return;
        }
        match caret {
            Some(at) => frame.push_str(&format!("\x1b[{};{}H\x1b[?25h", at.y + 1, at.x + 1)),
            None if moved => frame.push_str("\x1b[?25l"),
            None => {}
        }
        self.rows = rows;
        self.caret = caret;
        out.push_str(BEGIN);
        out.push_str(&frame);
        out.push_str(END);
    }

    /// Everything is drawn anew with the next frame.
    pub(crate) fn forget(&mut self) {
        self.rows.clear();
    }
}
