//! Draws and erases the live line of the terminal.

use super::format::width;

/// The live line on the screen.
#[derive(Debug, Default)]
pub struct StatusLine {
    drawn: Option<DrawnLine>,
}

#[derive(Debug)]
struct DrawnLine {
    /// Its width in columns.
    width: usize,
    /// The width of the terminal when it was drawn.
    columns: usize,
    row: StatusRow,
}

/// The position of the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusRow {
    /// In the cursor's row, at its beginning.
    Here,
    /// In the next row: the text in this one continues later.
    Below,
}

/// The cursor position after the status line is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorPosition {
    /// The previous position.
    Back,
    /// At the beginning of an empty row below unfinished text.
    Fresh,
}

impl StatusLine {
    /// Whether it is on the screen and no longer fits the terminal.
    pub fn is_stale(&self, columns: usize) -> bool {
        self.drawn.as_ref().is_some_and(|drawn| drawn.columns != columns)
    }

    /// The escape sequence before the text.
    pub fn draw(&mut self, text: &str, columns: usize, row: StatusRow) -> &'static str {
        let again = self.drawn.is_some();
        let drawn = DrawnLine {
            width: width(text),
            columns,
            row,
        };
        self.drawn = Some(drawn);
        match (again, row) {
            (true, _) | (false, StatusRow::Here) => "\r\u{1b}[2K",
            // Moves down and up, which scrolls if necessary, before the position is saved.
            (false, StatusRow::Below) => "\u{1b}D\u{1b}[A\u{1b}7\r\n\u{1b}[2K",
        }
    }

    /// The escape sequence that erases it, if it is visible.
    pub fn wipe(&mut self, columns: usize) -> Option<(String, CursorPosition)> {
        let drawn = self.drawn.take()?;
        // A terminal that became narrower has wrapped the line.
        let above = drawn.width.saturating_sub(1) / columns.max(1);
        let mut wipe = match above {
            0 => "\r\u{1b}[2K".to_string(),
            rows => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        };
        match drawn.row {
            StatusRow::Here => Some((wipe, CursorPosition::Back)),
            StatusRow::Below if drawn.columns == columns => {
                wipe.push_str("\u{1b}8");
                Some((wipe, CursorPosition::Back))
            }
            // The saved position is invalid in a terminal of another size.
            StatusRow::Below => Some((wipe, CursorPosition::Fresh)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_of_a_line_wrapped_by_a_narrower_window_are_erased() {
        for (columns, row, expected, cursor) in [
            (60, StatusRow::Here, "\r\u{1b}[2K", CursorPosition::Back),
            (30, StatusRow::Here, "\r\u{1b}[2K", CursorPosition::Back),
            (29, StatusRow::Here, "\r\u{1b}[1A\u{1b}[J", CursorPosition::Back),
            (10, StatusRow::Here, "\r\u{1b}[2A\u{1b}[J", CursorPosition::Back),
            (60, StatusRow::Below, "\r\u{1b}[2K\u{1b}8", CursorPosition::Back),
            (10, StatusRow::Below, "\r\u{1b}[2A\u{1b}[J", CursorPosition::Fresh),
        ] {
            let mut live = StatusLine::default();
            live.draw(&"x".repeat(30), 60, row);
            assert_eq!(live.is_stale(columns), columns != 60);
            assert_eq!(live.wipe(columns), Some((expected.into(), cursor)), "{columns} {row:?}");
            assert_eq!(live.wipe(columns), None);
        }
    }
}
