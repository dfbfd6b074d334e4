//! Moves the cursor back to the start of the region after a resize that found it at the caret.
//!
//! The distance depends on the terminal's width at the time of the move, so the width is queried together with the
//! move. Nothing is erased until the reply confirms it.

use super::{LiveRegion, QUERY_SIZE, Reflow, move_up};

/// When the rows were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrawTiming {
    /// Well before the resize.
    BeforeResize,
    /// Possibly when the terminal was already narrower, so that rows may be truncated.
    MaybeAfterResize,
}

/// A cursor move that waits for confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CursorSearch {
    /// Start of the move: row of the region and column.
    from: (usize, u16),
    /// Rows moved up.
    moved: usize,
    /// Assumed width of the terminal.
    width: u16,
    /// Rows above the start, if the cursor is moving down again.
    above: Option<usize>,
    reflow: Reflow,
}

/// The result of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorSearchResult {
    /// The cursor is at the start.
    AtStart,
    /// The cursor must move further.
    Moving(CursorSearch),
    /// The position is unknown: the region is redrawn below everything.
    Lost,
}

impl LiveRegion {
    /// Moves the cursor to the start of the region. Returns `None` if it is there.
    pub(crate) fn move_to_start_after_resize(
        &mut self,
        width: u16,
        reflow: Reflow,
        drawn: DrawTiming,
        out: &mut String,
    ) -> Option<CursorSearch> {
        if !self.is_cursor_away() {
            return None;
        }
        let reflow = match drawn {
            DrawTiming::BeforeResize => reflow,
            // Too few rows leave remains; too many would erase earlier output.
            DrawTiming::MaybeAfterResize => Reflow::Cuts,
        };
        if std::mem::take(&mut self.caret) {
            out.push_str("\x1b[?25l");
        }
        Some(self.move_up_by((self.row, self.column), width, reflow, out))
    }

    /// Handles the reported width at the time of the move.
    pub(crate) fn handle_width(&self, search: CursorSearch, width: u16, out: &mut String) -> CursorSearchResult {
        let width = width.max(1);
        if let Some(above) = search.above {
            if width == search.width || above == 0 {
                return CursorSearchResult::AtStart;
            }
            out.push_str("\x1b[999B\r\n");
            return CursorSearchResult::Lost;
        }
        let distance = self.distance(search.from, width, search.reflow);
        match distance.checked_sub(search.moved) {
            Some(0) => CursorSearchResult::AtStart,
            Some(left) => {
                CursorSearchResult::Moving(self.move_up_by(self.cell(left, width), width, search.reflow, out))
            }
            None => {
                let above = search.moved - distance;
                out.push_str(&format!("\x1b[{above}B{QUERY_SIZE}"));
                CursorSearchResult::Moving(CursorSearch {
                    above: Some(above),
                    width,
                    ..search
                })
            }
        }
    }

    fn move_up_by(&self, from: (usize, u16), width: u16, reflow: Reflow, out: &mut String) -> CursorSearch {
        let width = width.max(1);
        let moved = self.distance(from, width, reflow);
        out.push('\r');
        move_up(moved, out);
        out.push_str(QUERY_SIZE);
        CursorSearch {
            from,
            moved,
            width,
            above: None,
            reflow,
        }
    }

    /// Terminal rows between the start and a position in the region.
    fn distance(&self, (row, column): (usize, u16), width: u16, reflow: Reflow) -> usize {
        match reflow {
            Reflow::Cuts => row,
            Reflow::Wraps => {
                let heights = self.rows.iter().take(row).map(|row| height(row.width, width));
                heights.sum::<usize>() + usize::from(column / width)
            }
        }
    }

    /// The position this number of terminal rows below the start.
    fn cell(&self, mut below: usize, width: u16) -> (usize, u16) {
        for (index, row) in self.rows.iter().enumerate() {
            let height = height(row.width, width);
            if below < height {
                return (index, u16::try_from(below).unwrap_or(u16::MAX).saturating_mul(width));
            }
            below -= height;
        }
        (self.rows.len(), 0)
    }
}

/// Terminal rows that a row takes.
fn height(columns: u16, width: u16) -> usize {
    usize::from(columns.div_ceil(width).max(1))
}
