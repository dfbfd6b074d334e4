//! Source text in colours.

use super::Look;
use crate::row::{Piece, Row, fitting, tame};
use ratatui::style::Style;

/// More than this is not coloured: nobody waits for colours.
const MOST: usize = 256 << 10;

/// Source text as rows; `before` is what stands before it and is only read for its meaning. A line that is too long goes on
/// in the next row.
pub(crate) fn code_rows(language: &str, before: &str, text: &str, width: usize, look: Look<'_>) -> Vec<Row> {
    let text = tame(text);
    let lines = coloured(language, before, &text, look);
    lines.into_iter().flat_map(|line| broken(line, width.max(1))).collect()
}

/// The lines of a text in colours.
pub(crate) fn coloured(language: &str, before: &str, text: &str, look: Look<'_>) -> Vec<Row> {
    let plain = look.theme.text;
    let whole = format!("{before}{text}");
    let spans = match whole.len() <= MOST && !language.is_empty() {
        true => look.house.highlight(language, &whole),
        false => None,
    };
    let Some(spans) = spans else {
        let style = if language.is_empty() { look.theme.code } else { plain };
        return text.split('\n').map(|line| Row::of(line, style)).collect();
    };
    let mut rows = vec![Row::empty()];
    let mut at = before.len();
    for (range, token) in spans.into_iter().filter(|(range, _)| range.end > before.len()) {
        let start = range.start.max(at);
        put(&mut rows, whole.get(at..start), plain);
        put(
            &mut rows,
            whole.get(start..range.end.max(start)),
            look.theme.token(token),
        );
        at = range.end.max(start);
    }
    put(&mut rows, whole.get(at..), plain);
    rows
}

fn put(rows: &mut Vec<Row>, text: Option<&str>, style: Style) {
    for (index, line) in text.unwrap_or_default().split('\n').enumerate() {
        if index > 0 {
            rows.push(Row::empty());
        }
        if let Some(row) = rows.last_mut().filter(|_| !line.is_empty()) {
            row.pieces.push(Piece::new(line, style));
        }
    }
}

/// A line broken wherever the row ends, so that every column of it is kept.
fn broken(line: Row, width: usize) -> Vec<Row> {
    if line.width() <= width {
        return vec![line];
    }
    let mut rows = vec![Row::empty()];
    let mut used = 0;
    for piece in line.pieces {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            let (now, columns) = fitting(rest, width - used);
            if now.is_empty() && used > 0 {
                rows.push(Row::empty());
                used = 0;
                continue;
            }
            let now = if now.is_empty() { rest } else { now };
            if let Some(row) = rows.last_mut() {
                row.pieces.push(Piece::new(now, piece.style));
            }
            used = (used + columns).min(width);
            rest = rest.get(now.len()..).unwrap_or_default();
        }
    }
    rows
}
