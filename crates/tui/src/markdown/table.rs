//! Tables with columns as wide as needed and available.

use crate::row::{StyledRow, StyledSpan, wrap};
use crate::theme::Theme;
use pulldown_cmark::Alignment;
use ratatui::style::Style;

/// The collected cells of a table.
pub(super) struct MarkdownTable {
    columns: Vec<Alignment>,
    rows: Vec<Vec<StyledRow>>,
    row: Vec<StyledRow>,
}

/// Column separator.
const SEPARATOR: &str = " │ ";
/// Minimum column width.
const MIN_WIDTH: usize = 3;

impl MarkdownTable {
    pub(super) fn new(columns: Vec<Alignment>) -> Self {
        MarkdownTable {
            columns,
            rows: Vec::new(),
            row: Vec::new(),
        }
    }

    pub(super) fn cell(&mut self, cell: StyledRow) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Renders the table in `width` columns, or as a list if it does not fit.
    pub(super) fn rows(&self, width: usize, theme: &Theme) -> Vec<StyledRow> {
        let count = self.columns.len();
        let gaps = SEPARATOR.chars().count() * count.saturating_sub(1);
        if count == 0 || width < gaps + MIN_WIDTH * count {
            return self.as_list(width, theme);
        }
        let widths = self.widths(width - gaps);
        let mut out = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            out.extend(self.row(row, &widths, theme));
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push(StyledRow::new(rule.join("─┼─"), theme.border));
            }
        }
        out
    }

    /// Column widths by content; the widest columns shrink first.
    fn widths(&self, room: usize) -> Vec<usize> {
        let need = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(StyledRow::width);
            cells.max().unwrap_or(0).max(MIN_WIDTH)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(need).collect();
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max() else {
                break;
            };
            if *widest <= MIN_WIDTH {
                break;
            }
            *widest -= 1;
        }
        widths
    }

    fn row(&self, cells: &[StyledRow], widths: &[usize], theme: &Theme) -> Vec<StyledRow> {
        let empty = StyledRow::empty();
        let broken: Vec<Vec<StyledRow>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrap(cells.get(column).unwrap_or(&empty), *width, &StyledRow::empty()))
            .collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(1);
        let line = |index: usize| {
            let mut pieces = Vec::new();
            for (column, (rows, width)) in broken.iter().zip(widths).enumerate() {
                if column > 0 {
                    pieces.push(StyledSpan::new(SEPARATOR, theme.border));
                }
                let cell = rows.get(index).cloned().unwrap_or_default();
                let (left, right) = self.padding(column, width.saturating_sub(cell.width()));
                pieces.push(StyledSpan::new(" ".repeat(left), Style::new()));
                pieces.extend(cell.spans);
                pieces.push(StyledSpan::new(" ".repeat(right), Style::new()));
            }
            pieces.retain(|piece| !piece.text.is_empty());
            StyledRow::from(pieces)
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

    fn as_list(&self, width: usize, theme: &Theme) -> Vec<StyledRow> {
        let rows = self.rows.iter().flat_map(|row| row.iter().enumerate());
        rows.flat_map(|(column, cell)| {
            let mark = if column == 0 { "• " } else { "  " };
            wrap(
                &cell.clone().prefix(mark, theme.accent),
                width,
                &StyledRow::new("  ", theme.text),
            )
        })
        .collect()
    }
}
