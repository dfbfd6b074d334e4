//! The live region at the end of the terminal's own history: what is finished scrolls up and stays, the rest is drawn anew.
//!
//! Rows are reached from where the cursor is, never by their number: nobody knows what stood on the terminal before.

use super::paint::Painted;
use super::{BEGIN, END, Painter};
use crate::row::Row;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

/// What a terminal does with long rows when it becomes narrower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reflow {
    /// It breaks them, and joins them again when it becomes wider.
    #[default]
    Wraps,
    /// It cuts them off.
    Cuts,
}

/// Wipes everything from this row on. Not from the first column: a terminal that is cleared as a whole may put what stood on it
/// into its history.
const WIPE: &str = "\r\x1b[2K\x1b[C\x1b[J\r";

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
        buf: &Buffer,
        caret: Option<Position>,
        painter: &Painter,
        out: &mut String,
    ) {
        let area = buf.area;
        let rows: Vec<Painted> = (area.top()..area.bottom())
            .map(|y| painter.buffer_row(buf, y))
            .collect();
        let at = caret.map(|at| (usize::from(at.y.saturating_sub(area.y)), at.x.saturating_sub(area.x)));
        if history.is_empty() && rows == self.rows && at == self.caret.then_some((self.row, self.column)) {
            return;
        }
        let mut frame = String::new();
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

    /// The terminal has become so wide. What was drawn is wiped and drawn anew with the next frame.
    pub(crate) fn resized(&mut self, width: u16, reflow: Reflow, out: &mut String) {
        let width = width.max(1);
        let above = match reflow {
            Reflow::Cuts => self.row,
            Reflow::Wraps => {
                let heights = self
                    .rows
                    .iter()
                    .take(self.row)
                    .map(|row| usize::from(row.width.div_ceil(width).max(1)));
                heights.sum::<usize>() + usize::from(self.column / width)
            }
        };
        out.push_str(BEGIN);
        out.push('\r');
        up(above, out);
        out.push_str(WIPE);
        out.push_str(END);
        self.rows.clear();
        self.row = 0;
        self.column = 0;
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

    /// Writes everything from the beginning of the region on.
    fn rewrite(&mut self, history: &[String], rows: &[Painted], out: &mut String) {
        self.go_to_row(0, out);
        out.push_str(WIPE);
        for row in history {
            out.push_str(row);
            out.push_str("\r\n");
        }
        out.push_str("\x1b[?7l");
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                out.push_str("\r\n");
            }
            out.push_str(&row.text);
        }
        out.push_str("\x1b[?7h");
        self.row = rows.len().saturating_sub(1);
    }

    /// Puts the cursor where the caret is, or hides it.
    fn place(&mut self, at: Option<(usize, u16)>, out: &mut String) {
        match at {
            Some((row, column)) => {
                self.go_to_row(row, out);
                out.push('\r');
                if column > 0 {
                    out.push_str(&format!("\x1b[{column}C"));
                }
                if !self.caret {
                    out.push_str("\x1b[?25h");
                }
                self.column = column;
                self.caret = true;
            }
            None => {
                out.push_str("\r\x1b[?25l");
                self.column = 0;
                self.caret = false;
            }
        }
    }

    fn go_to_row(&mut self, row: usize, out: &mut String) {
        match row.checked_sub(self.row) {
            Some(0) => {}
            Some(down) => out.push_str(&format!("\x1b[{down}B")),
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
