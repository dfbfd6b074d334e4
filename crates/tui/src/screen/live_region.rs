//! The live region below the terminal's scrollback: finished rows scroll up and stay, the region is redrawn.
//!
//! Rows are addressed relative to the cursor, because earlier terminal contents are unknown. A terminal may be resized
//! and rewrap rows between any two writes, long before the program is notified, and it only keeps the cursor in place.
//! Therefore the cursor rests at the start of the region while frames are drawn without a key press: wherever the rows
//! are, they begin there. If the cursor is at the caret, the terminal's width is queried before drawing without a key
//! press; after a resize the cursor is moved back, and nothing is erased before the terminal has reported its width at
//! the time of the move. Saved cursor positions (DECSC) are not used, because terminals do not adjust them.

mod cursor_search;

use super::ansi::EncodedRow;
use super::{AnsiEncoder, BEGIN_UPDATE, END_UPDATE};
use crate::row::StyledRow;
pub(crate) use cursor_search::{CursorSearch, CursorSearchResult, DrawTiming};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::Modifier;

/// How a terminal treats long rows when it becomes narrower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reflow {
    /// Wraps them, and joins them again when it becomes wider.
    #[default]
    Wraps,
    /// Truncates them.
    Cuts,
}

/// Where the cursor rests between two frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorRest {
    /// At the start of the region; the caret is drawn.
    Top,
    /// At the caret.
    Caret,
}

/// Erases from this row on. Starts at the second column, because some terminals move a completely cleared screen into
/// the scrollback.
const ERASE_BELOW: &str = "\r\x1b[2K\x1b[C\x1b[J\r";
/// Queries the terminal's size.
pub(crate) const QUERY_SIZE: &str = "\x1b[18t";

/// The live region as drawn.
#[derive(Debug, Default)]
pub(crate) struct LiveRegion {
    rows: Vec<EncodedRow>,
    /// The cursor's row within the region.
    row: usize,
    /// The cursor's column.
    column: u16,
    /// Whether the cursor is visible.
    caret: bool,
}

impl LiveRegion {
    /// Writes finished rows above the region, and the changed rows of the region. Writes nothing if nothing changed.
    pub(crate) fn frame(
        &mut self,
        history: &[String],
        buf: &mut Buffer,
        caret: Option<Position>,
        rest: CursorRest,
        painter: &AnsiEncoder,
        out: &mut String,
    ) {
        if let (CursorRest::Top, Some(cell)) = (rest, caret.and_then(|at| buf.cell_mut(at))) {
            cell.modifier.toggle(Modifier::REVERSED);
        }
        let area = buf.area;
        let rows: Vec<EncodedRow> = (area.top()..area.bottom())
            .map(|y| painter.encode_buffer_row(buf, y))
            .collect();
        let at = caret
            .filter(|_| rest == CursorRest::Caret)
            .map(|at| (usize::from(at.y.saturating_sub(area.y)), at.x.saturating_sub(area.x)));
        let is_there = match at {
            Some(at) => self.caret && at == (self.row, self.column),
            None => !self.caret && (self.row, self.column) == (0, 0),
        };
        if history.is_empty() && rows == self.rows && is_there {
            return;
        }
        let mut frame = String::new();
        if self.caret && at.is_none() {
            frame.push_str("\x1b[?25l");
            self.caret = false;
        }
        if history.is_empty() && rows.len() == self.rows.len() {
            self.update(&rows, &mut frame);
        } else {
            self.rewrite(history, &rows, &mut frame);
        }
        self.rows = rows;
        self.place_cursor(at, &mut frame);
        out.push_str(BEGIN_UPDATE);
        out.push_str(&frame);
        out.push_str(END_UPDATE);
    }

    /// Erases the region and leaves the cursor at its start.
    pub(crate) fn clear(&mut self, out: &mut String) {
        self.go_to_row(0, out);
        out.push_str(ERASE_BELOW);
        out.push_str("\x1b[?25h");
        *self = LiveRegion::default();
    }

    /// Whether the cursor is not at the start.
    pub(crate) fn is_cursor_away(&self) -> bool {
        (self.row, self.column) != (0, 0)
    }

    /// Moves the cursor to the start, where it finds the region after any resize.
    pub(crate) fn move_to_start(&mut self, out: &mut String) {
        self.place_cursor(None, out);
    }

    /// Erases the region, with the cursor at its start; the next frame redraws it.
    pub(crate) fn wipe(&mut self, out: &mut String) {
        out.push_str(BEGIN_UPDATE);
        out.push_str(ERASE_BELOW);
        out.push_str(END_UPDATE);
        self.rows.clear();
        (self.row, self.column) = (0, 0);
    }

    /// Makes the next frame write every row.
    pub(crate) fn invalidate(&mut self) {
        self.rows.clear();
    }

    /// Writes the changed rows.
    fn update(&mut self, rows: &[EncodedRow], out: &mut String) {
        let changed: Vec<usize> = (0..rows.len())
            .filter(|row| rows.get(*row) != self.rows.get(*row))
            .collect();
        if changed.is_empty() {
            return;
        }
        out.push_str("\x1b[?7l");
        for index in changed {
            let (Some(new), Some(old)) = (rows.get(index), self.rows.get(index).map(|row| row.width)) else {
                continue;
            };
            self.go_to_row(index, out);
            out.push('\r');
            // Erased cells at the end would count as text when the terminal becomes narrower, so the whole row is
            // erased.
            if new.width < old {
                out.push_str("\x1b[2K");
            }
            out.push_str(&new.text);
            // Whatever happens at the last column, the cursor is in this row.
            self.row = index;
        }
        out.push_str("\x1b[?7h");
    }

    /// Writes everything from the start of the region: finished rows from the top, the region from its last row
    /// upwards. So only blank rows, which are never wrapped, are between the finished rows and the cursor. After a
    /// resize in between, the cursor arrives at the start or, at worst, below a blank row.
    fn rewrite(&mut self, history: &[String], rows: &[EncodedRow], out: &mut String) {
        self.go_to_row(0, out);
        out.push_str(ERASE_BELOW);
        for row in history {
            out.push_str(row);
            out.push_str("\r\n");
        }
        self.go_to_row(rows.len().saturating_sub(1), out);
        out.push_str("\x1b[?7l");
        for (index, row) in rows.iter().enumerate().rev() {
            self.go_to_row(index, out);
            out.push_str(&row.text);
            out.push('\r');
        }
        out.push_str("\x1b[?7h");
    }

    /// Moves the cursor to the caret, or hides it at the start.
    fn place_cursor(&mut self, at: Option<(usize, u16)>, out: &mut String) {
        let (row, column) = at.unwrap_or_default();
        self.go_to_row(row, out);
        out.push('\r');
        if column > 0 {
            out.push_str(&format!("\x1b[{column}C"));
        }
        match (at, self.caret) {
            (Some(_), false) => out.push_str("\x1b[?25h"),
            (None, true) => out.push_str("\x1b[?25l"),
            (Some(_), true) | (None, false) => {}
        }
        self.column = column;
        self.caret = at.is_some();
    }

    fn go_to_row(&mut self, row: usize, out: &mut String) {
        match row.checked_sub(self.row) {
            Some(0) => {}
            // In a terminal that has become lower, moving down would stop at the last row and moving back would go too
            // far up. A line feed scrolls instead.
            Some(down) => out.push_str(&"\n".repeat(down)),
            None => move_up(self.row - row, out),
        }
        self.row = row;
    }
}

fn move_up(rows: usize, out: &mut String) {
    if rows > 0 {
        out.push_str(&format!("\x1b[{rows}A"));
    }
}

/// Encodes finished rows.
pub(crate) fn encode_rows(rows: &[StyledRow], painter: &AnsiEncoder) -> Vec<String> {
    rows.iter().map(|row| painter.encode_row(row)).collect()
}
