//! A tool's output as rows after a bar.

use crate::format::hidden_lines;
use crate::markdown::RenderContext;
use crate::row::{StyledRow, sanitise_output, wrap};

/// The end of a text as rows after a bar; `before` lines precede the text.
pub(super) fn tail(text: &str, most: usize, before: usize, width: usize, context: RenderContext<'_>) -> Vec<StyledRow> {
    let text = sanitise_output(text.trim_end());
    let lines: Vec<&str> = text.lines().collect();
    let missing = match before {
        0 => hidden_count(lines.len(), most),
        _ => lines.len().saturating_sub(most),
    };
    let mut rows = hidden_row(missing + before, width, context);
    rows.extend(lines.iter().skip(missing).map(|line| output_row(line, width, context)));
    rows
}

/// The start of a text as rows after a bar.
pub(super) fn first_lines(text: &str, most: usize, width: usize, context: RenderContext<'_>) -> Vec<StyledRow> {
    let text = sanitise_output(text.trim_end());
    let lines: Vec<&str> = text.lines().collect();
    let missing = hidden_count(lines.len(), most);
    let shown = lines.iter().take(lines.len() - missing);
    let mut rows: Vec<StyledRow> = shown.map(|line| output_row(line, width, context)).collect();
    rows.extend(hidden_row(missing, width, context));
    rows
}

/// All of a text as rows after a bar.
pub(super) fn wrapped(text: &str, width: usize, context: RenderContext<'_>) -> Vec<StyledRow> {
    let bar = StyledRow::new("  │ ", context.theme.border);
    let text = sanitise_output(text.trim_end());
    let rows = text
        .lines()
        .flat_map(|line| wrap(&bar.clone().push(line, context.theme.dim), width, &bar));
    rows.collect()
}

/// How many of `count` lines are hidden if `most` are shown. One line is not hidden, because the row that counts it is as high.
pub(super) fn hidden_count(count: usize, most: usize) -> usize {
    match count.saturating_sub(most) {
        1 => 0,
        hidden => hidden,
    }
}

fn output_row(line: &str, width: usize, context: RenderContext<'_>) -> StyledRow {
    let row = StyledRow::new("  │ ", context.theme.border).push(line, context.theme.dim);
    let hint = format!(" ({})", context.details_key());
    if row.width() <= width || width < 4 * hint.len() {
        return row.truncate(width);
    }
    row.truncate(width - hint.len()).push(hint, context.theme.dim)
}

/// A row that counts lines that are not shown; none if all are.
fn hidden_row(count: usize, width: usize, context: RenderContext<'_>) -> Vec<StyledRow> {
    let row = |count| {
        let text = hidden_lines(count, &context.details_key());
        let row = StyledRow::new("  │ ", context.theme.border).push(text, context.theme.dim);
        row.truncate(width)
    };
    (count > 0).then(|| row(count)).into_iter().collect()
}
