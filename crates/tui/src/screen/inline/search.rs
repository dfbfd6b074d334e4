//! The way back to the beginning of the region after a resize that found the cursor at the caret.
//!
//! How many rows lie between depends on how wide the terminal is when the cursor moves, which nobody but the terminal knows: it is
//! asked in the same breath. Only when its answer fits is anything wiped.

use super::{HOW_WIDE, Inline, Reflow, up};

/// How the rows stand on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// They were drawn well before the resize.
    Before,
    /// They may have been drawn when the terminal was narrower already, and cut.
    Perhaps,
}

/// The cursor is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Search {
    /// The row of the region and the column where it set out.
    from: (usize, u16),
    /// So many rows it moved up.
    moved: usize,
    /// So wide the terminal was believed to be.
    width: u16,
    /// How far above the beginning it had come, where it is on its way down again.
    above: Option<usize>,
    reflow: Reflow,
}

/// What an answer of the terminal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The cursor is at the beginning.
    There,
    /// It has to go on.
    Further(Search),
    /// Nobody knows where it is: the region begins anew below everything.
    Lost,
}

impl Inline {
    /// Leads the cursor to the beginning of the region; `None` where it is there.
    pub(crate) fn seek(&mut self, width: u16, reflow: Reflow, drawn: Drawn, out: &mut String) -> Option<Search> {
        if !self.is_away() {
            return None;
        }
        let reflow = match drawn {
            Drawn::Before => reflow,
            // Too few rows leave something behind; too many would take what was said before.
            Drawn::Perhaps => Reflow::Cuts,
        };
        if std::mem::take(&mut self.caret) {
            out.push_str("\x1b[?25l");
        }
        Some(self.climb((self.row, self.column), width, reflow, out))
    }

    /// The terminal says how wide it was when the cursor had moved.
    pub(crate) fn answer(&self, search: Search, width: u16, out: &mut String) -> Found {
        let width = width.max(1);
        if let Some(above) = search.above {
            if width == search.width || above == 0 {
                return Found::There;
            }
            out.push_str("\x1b[999B\r\n");
            return Found::Lost;
        }
        let distance = self.distance(search.from, width, search.reflow);
        match distance.checked_sub(search.moved) {
            Some(0) => Found::There,
            Some(left) => Found::Further(self.climb(self.cell(left, width), width, search.reflow, out)),
            None => {
                let above = search.moved - distance;
                out.push_str(&format!("\x1b[{above}B{HOW_WIDE}"));
                Found::Further(Search {
                    above: Some(above),
                    width,
                    ..search
                })
            }
        }
    }

    fn climb(&self, from: (usize, u16), width: u16, reflow: Reflow, out: &mut String) -> Search {
        let width = width.max(1);
        let moved = self.distance(from, width, reflow);
        out.push('\r');
        up(moved, out);
        out.push_str(HOW_WIDE);
        Search {
            from,
            moved,
            width,
            above: None,
            reflow,
        }
    }

    /// How many rows of the terminal lie between the beginning and a place in the region.
    fn distance(&self, (row, column): (usize, u16), width: u16, reflow: Reflow) -> usize {
        match reflow {
            Reflow::Cuts => row,
            Reflow::Wraps => {
                let heights = self.rows.iter().take(row).map(|row| height(row.width, width));
                heights.sum::<usize>() + usize::from(column / width)
            }
        }
    }

    /// The place in the region that is so many rows of the terminal below its beginning.
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

/// How many rows of the terminal a row takes.
fn height(columns: u16, width: u16) -> usize {
    usize::from(columns.div_ceil(width).max(1))
}
