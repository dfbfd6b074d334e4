//! Puts the live line on the terminal and takes it away without a trace.

use super::words::width;

/// The live line on the screen.
#[derive(Debug, Default)]
pub(crate) struct Live {
    drawn: Option<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    /// How many columns it takes.
    width: usize,
    /// How wide the terminal was.
    columns: usize,
    row: Row,
}

/// Where the live line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    /// Where the cursor is, at the beginning of a row.
    Here,
    /// On the next row: the text in this one goes on later.
    Below,
}

/// Where the cursor is when the live line is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// Where it was before.
    Back,
    /// At the beginning of an empty row, below the text that was to go on.
    Fresh,
}

impl Live {
    /// Whether it is on the screen and fits the terminal no longer.
    pub(crate) fn is_stale(&self, columns: usize) -> bool {
        self.drawn.as_ref().is_some_and(|drawn| drawn.columns != columns)
    }

    /// What goes before the text to draw it.
    pub(crate) fn draw(&mut self, text: &str, columns: usize, row: Row) -> &'static str {
        let again = self.drawn.is_some();
        let drawn = Drawn {
            width: width(text),
            columns,
            row,
        };
        self.drawn = Some(drawn);
        match (again, row) {
            (true, _) | (false, Row::Here) => "\r\u{1b}[2K",
            // A step down and up again, which scrolls where it must, before the place is remembered.
            (false, Row::Below) => "\u{1b}D\u{1b}[A\u{1b}7\r\n\u{1b}[2K",
        }
    }

    /// What wipes it off the screen, if it is there.
    pub(crate) fn wipe(&mut self, columns: usize) -> Option<(String, Cursor)> {
        let drawn = self.drawn.take()?;
        // A terminal that became narrower has wrapped the line.
        let above = drawn.width.saturating_sub(1) / columns.max(1);
        let mut wipe = match above {
            0 => "\r\u{1b}[2K".to_string(),
            rows => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        };
        match drawn.row {
            Row::Here => Some((wipe, Cursor::Back)),
            Row::Below if drawn.columns == columns => {
                wipe.push_str("\u{1b}8");
                Some((wipe, Cursor::Back))
            }
            // The remembered place means nothing in a terminal of another size.
            Row::Below => Some((wipe, Cursor::Fresh)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_narrower_window_wrapped_is_wiped_off_all_its_rows() {
        for (columns, row, wanted, cursor) in [
            (60, Row::Here, "\r\u{1b}[2K", Cursor::Back),
            (30, Row::Here, "\r\u{1b}[2K", Cursor::Back),
            (29, Row::Here, "\r\u{1b}[1A\u{1b}[J", Cursor::Back),
            (10, Row::Here, "\r\u{1b}[2A\u{1b}[J", Cursor::Back),
            (60, Row::Below, "\r\u{1b}[2K\u{1b}8", Cursor::Back),
            (10, Row::Below, "\r\u{1b}[2A\u{1b}[J", Cursor::Fresh),
        ] {
            let mut live = Live::default();
            live.draw(&"x".repeat(30), 60, row);
            assert_eq!(live.is_stale(columns), columns != 60);
            assert_eq!(live.wipe(columns), Some((wanted.into(), cursor)), "{columns} {row:?}");
            assert_eq!(live.wipe(columns), None);
        }
    }
}
