//! The alternate screen, with absolute row positions.

use super::ansi::EncodedRow;
use super::{AnsiEncoder, BEGIN_UPDATE, END_UPDATE};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

/// The screen as drawn.
#[derive(Debug, Default)]
pub(crate) struct FullScreen {
    rows: Vec<EncodedRow>,
    caret: Option<Position>,
}

/// Enters the alternate screen. The wheel sends arrow keys there, so that text selection stays with the terminal.
pub(crate) const ENTER_FULL_SCREEN: &str = "\x1b[?1049h\x1b[?1007h\x1b[?25l\x1b[2J";
/// Leaves the alternate screen.
pub(crate) const LEAVE_FULL_SCREEN: &str = "\x1b[?1007l\x1b[?1049l\x1b[?25h";

impl FullScreen {
    /// Writes the rows that changed.
    pub(crate) fn frame(&mut self, buf: &Buffer, caret: Option<Position>, painter: &AnsiEncoder, out: &mut String) {
        let area = buf.area;
        let rows: Vec<EncodedRow> = (area.top()..area.bottom())
            .map(|y| painter.encode_buffer_row(buf, y))
            .collect();
        let mut frame = String::new();
        if rows.len() != self.rows.len() {
            frame.push_str("\x1b[2J");
            self.rows = vec![EncodedRow::default(); rows.len()];
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
        out.push_str(BEGIN_UPDATE);
        out.push_str(&frame);
        out.push_str(END_UPDATE);
    }

    /// Makes the next frame redraw everything.
    pub(crate) fn invalidate(&mut self) {
        self.rows.clear();
    }
}
