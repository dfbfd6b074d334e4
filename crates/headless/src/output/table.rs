//! Plain tables.

use super::format::width;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnAlign {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table of text; the last column is never padded.
pub fn render(columns: &[(&str, ColumnAlign)], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, (title, _))| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell));
            cells.chain([width(title)]).max().unwrap_or(0)
        })
        .collect();
    let titles: Vec<String> = columns.iter().map(|(title, _)| (*title).to_string()).collect();
    let mut out = String::new();
    for row in [&titles].into_iter().chain(rows) {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths.get(at).map_or(0, |wide| wide.saturating_sub(width(cell))));
            match columns.get(at).map(|(_, align)| align) {
                Some(ColumnAlign::Right) => line.push_str(&format!("{space}{cell}  ")),
                Some(ColumnAlign::Left) | None => line.push_str(&format!("{cell}{space}  ")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_their_visible_width() {
        let rows = [
            vec!["名".into(), "5".into(), "x".into()],
            vec!["abc".into(), "10".into(), "y".into()],
        ];
        let table = render(
            &[
                ("A", ColumnAlign::Left),
                ("B", ColumnAlign::Right),
                ("C", ColumnAlign::Left),
            ],
            &rows,
        );
        assert_eq!(table, "A     B  C\n名    5  x\nabc  10  y\n");
    }
}
