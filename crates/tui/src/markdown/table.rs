//! Tables: columns as wide as they need to be, and no wider than there is room.

use crate::row::{Piece, Row, wrap};
use crate::theme::Theme;
use pulldown_cmark::Alignment;
use ratatui::style::Style;

/// A table as it is gathered.
pub(super) struct Table {
    columns: Vec<Alignment>,
    rows: Vec<Vec<Row>>,
    row: Vec<Row>,
}

/// Between two columns.
const GAP: &str = " │ ";
/// No column is narrower.
const NARROWEST: usize = 3;

impl Table {
    pub(super) fn new(columns: Vec<Alignment>) -> Self {
        Table {
            columns,
            rows: Vec::new(),
            row: Vec::new(),
        }
    }

    pub(super) fn cell(&mut self, cell: Row) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The table in so many columns; one that cannot fit is written as a list.
    pub(super) fn rows(&self, width: usize, theme: &Theme) -> Vec<Row> {
        let count = self.columns.len();
        let gaps = GAP.chars().count() * count.saturating_sub(1);
        if count == 0 || width < gaps + NARROWEST * count {
            return self.as_list(width, theme);
        }
        let widths = self.widths(width - gaps);
        let mut out = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            out.extend(self.row(row, &widths, theme));
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push(Row::of(rule.join("─┼─"), theme.border));
            }
        }
        out
    }

    /// Widths by what the cells need; the widest give way first.
    fn widths(&self, room: usize) -> Vec<usize> {
        let need = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(Row::width);
            cells.max().unwrap_or(0).max(NARROWEST)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(need).collect();
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max() else {
                break;
            };
            if *widest <= NARROWEST {
                break;
            }
            *widest -= 1;
        }
        widths
    }

    fn row(&self, cells: &[Row], widths: &[usize], theme: &Theme) -> Vec<Row> {
        let empty = Row::empty();
        let broken: Vec<Vec<Row>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrap(cells.get(column).unwrap_or(&empty), *width, &Row::empty()))
            .collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(1);
        let line = |index: usize| {
            let mut pieces = Vec::new();
            for (column, (rows, width)) in broken.iter().zip(widths).enumerate() {
                if column > 0 {
                    pieces.push(Piece::new(GAP, theme.border));
                }
                let cell = rows.get(index).cloned().unwrap_or_default();
                let (left, right) = self.padding(column, width.saturating_sub(cell.width()));
                pieces.push(Piece::new(" ".repeat(left), Style::new()));
                pieces.extend(cell.pieces);
                pieces.push(Piece::new(" ".repeat(right), Style::new()));
            }
            pieces.retain(|piece| !piece.text.is_empty());
            Row::from(pieces)
        };
        (0..height).map(line).collect()
    }

    fn padding(&self, column: usize, room: usize) -> (usize, usize) {
        match self.columns.get(column) {
            Some(Alignment::Right) => (room, 0),
            Some(Alignment::Center) => (room / 2, room - room / 2),
            Some(Alignment::Left | Alignment::None) | None => (0, room),
        }
    }

    fn as_list(&self, width: usize, theme: &Theme) -> Vec<Row> {
        let rows = self.rows.iter().flat_map(|row| row.iter().enumerate());
        rows.flat_map(|(column, cell)| {
            let mark = if column == 0 { "• " } else { "  " };
            wrap(
                &cell.clone().after(mark, theme.accent),
                width,
                &Row::of("  ", theme.text),
            )
        })
        .collect()
    }
}
