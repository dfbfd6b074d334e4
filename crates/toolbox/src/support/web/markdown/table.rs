//! Collects the cells of a table.

/// Maximum length of a cell; a table with longer ones is layout, and its cells become paragraphs.
const MAX_CELL_BYTES: usize = 400;

#[derive(Debug)]
pub(super) struct HtmlTable {
    rows: Vec<Vec<String>>,
    /// Start of the open cell's text.
    pub(super) cell: Option<usize>,
    /// Number of open nested tables.
    pub(super) inner: usize,
}

impl HtmlTable {
    pub(super) fn begin() -> Self {
        Self {
            rows: Vec::new(),
            cell: None,
            inner: 0,
        }
    }

    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn add(&mut self, cell: String) {
        match self.rows.last_mut() {
            Some(row) => row.push(cell),
            None => self.rows.push(vec![cell]),
        }
    }

    /// The lines of the table, or paragraphs if it is layout.
    pub(super) fn lines(mut self) -> Vec<String> {
        self.rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let is_layout = |cell: &String| cell.len() > MAX_CELL_BYTES || cell.contains("\n\n") || cell.contains("```");
        if columns < 2 || self.rows.iter().flatten().any(is_layout) {
            let cells = self.rows.into_iter().flatten().filter(|cell| !cell.is_empty());
            return cells.flat_map(|cell| [cell, String::new()]).collect();
        }
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let mut cells: Vec<String> = row.iter().map(|cell| flat(cell)).collect();
            cells.resize(columns, String::new());
            lines.push(format!("| {} |", cells.join(" | ")));
            if index == 0 {
                lines.push(format!("|{}", "---|".repeat(columns)));
            }
        }
        lines
    }
}

fn flat(cell: &str) -> String {
    cell.replace('|', "\\|")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
