//! The live region at the end of the terminal's own history: what is finished scrolls up and stays, the rest is drawn anew.
//!
//! Rows are reached from where the cursor is, never by their number: nobody knows what stood on the terminal before. A terminal
//! may become another size between any two writes, long before the program hears of it, and breaks rows anew. The cursor is the
//! only thing that it carries along. So the cursor rests at the beginning of the region while much is drawn without a key:
//! wherever the rows are by then, they begin there. Where the cursor is at the caret the terminal is asked how wide it is before
//! anything is drawn without a key; after a resize the cursor is led back, and nothing is wiped before the terminal has said how
//! wide it was when the cursor moved. Nothing is ever reached by a place that was kept (DECSC): terminals do not carry it along.

mod search;

use super::paint::Painted;
use super::{BEGIN, END, Painter};
use crate::row::Row;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::Modifier;
pub(crate) use search::{Drawn, Found, Search};

/// What a terminal does with long rows when it becomes narrower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reflow {
    /// It breaks them, and joins them again when it becomes wider.
    #[default]
    Wraps,
    /// It cuts them off.
    Cuts,
}

/// Where the cursor waits between two frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// At the beginning of the region; the caret is drawn.
    Top,
    /// At the caret.
    Caret,
}

/// Wipes everything from this row on. Not from the first column: a terminal that is cleared as a whole may put what stood on it
/// into its history.
const WIPE: &str = "\r\x1b[2K\x1b[C\x1b[J\r";
/// How wide is the terminal?
pub(crate) const HOW_WIDE: &str = "\x1b[18t";

/// The live region as it stands on the terminal.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    rows: Vec<Painted>,
    /// The row that the cursor is in, counted from the first of the region.
    row: usize,
    /// The column that the cursor is in.
    column: u16,
    /// Whether the cursor can be seen.
    caret: bool,
}

impl Inline {
    /// Writes finished rows above the region, and the region where it differs from what stands there. Nothing is written
    /// where nothing changes.
    pub(crate) fn frame(
        &mut self,
        history: &[String],
        buf: &mut Buffer,
        caret: Option<Position>,
        rest: Rest,
        painter: &Painter,
        out: &mut String,
    ) {
        if let (Rest::Top, Some(cell)) = (rest, caret.and_then(|at| buf.cell_mut(at))) {
            cell.modifier.toggle(Modifier::REVERSED);
        }
        let area = buf.area;
        let rows: Vec<Painted> = (area.top()..area.bottom())
            .map(|y| painter.buffer_row(buf, y))
            .collect();
        let at = caret
            .filter(|_| rest == Rest::Caret)
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
        self.place(at, &mut frame);
        out.push_str(BEGIN);
        out.push_str(&frame);
        out.push_str(END);
    }

    /// Takes the region off the terminal; the cursor is left where it began.
    pub(crate) fn clear(&mut self, out: &mut String) {
        self.go_to_row(0, out);
        out.push_str(WIPE);
        out.push_str("\x1b[?25h");
        *self = Inline::default();
    }

    /// Whether the cursor is anywhere but at the beginning.
    pub(crate) fn is_away(&self) -> bool {
        (self.row, self.column) != (0, 0)
    }

    /// Brings the cursor to the beginning, where it finds the region again whatever becomes of the terminal meanwhile.
    pub(crate) fn park(&mut self, out: &mut String) {
        self.place(None, out);
    }

    /// The cursor is at the beginning: what was drawn is wiped and drawn anew with the next frame.
    pub(crate) fn wipe(&mut self, out: &mut String) {
        out.push_str(BEGIN);
        out.push_str(WIPE);
        out.push_str(END);
        self.rows.clear();
        (self.row, self.column) = (0, 0);
    }

    /// Every row is written with the next frame, where one is drawn at all.
    pub(crate) fn forget(&mut self) {
        self.rows.clear();
    }

    /// Writes the rows that differ.
    fn update(&mut self, rows: &[Painted], out: &mut String) {
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
            // Erased cells at the end would count as text when the terminal is made narrower, so the whole row goes.
            if new.width < old {
                out.push_str("\x1b[2K");
            }
            out.push_str(&new.text);
            // Whatever happens at the last column, the cursor is in this row.
            self.row = index;
        }
        out.push_str("\x1b[?7h");
    }

    /// Writes everything from the beginning of the region on: what is finished from the top, the region from its last row
    /// upwards. So there are only blank rows between what was said and the cursor, which no terminal breaks, and wherever in
    /// between it becomes another size, the cursor arrives at the beginning or, at worst, below a row that stays blank.
    fn rewrite(&mut self, history: &[String], rows: &[Painted], out: &mut String) {
        self.go_to_row(0, out);
        out.push_str(WIPE);
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

    /// Puts the cursor where the caret is, or hides it at the beginning.
    fn place(&mut self, at: Option<(usize, u16)>, out: &mut String) {
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
            // A terminal that has become lower would stop a cursor that moves down at its last row, and the way back would lead
            // too far up. A line feed makes room.
            Some(down) => out.push_str(&"\n".repeat(down)),
            None => up(self.row - row, out),
        }
        self.row = row;
    }
}

fn up(rows: usize, out: &mut String) {
    if rows > 0 {
        out.push_str(&format!("\x1b[{rows}A"));
    }
}

/// Finished rows as they are written.
pub(crate) fn painted(rows: &[Row], painter: &Painter) -> Vec<String> {
    rows.iter().map(|row| painter.row(row)).collect()
}
