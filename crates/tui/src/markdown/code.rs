//! Highlighted source text.

use super::RenderContext;
use crate::row::{StyledRow, StyledSpan, fit_width, sanitise};
use ratatui::style::Style;

/// Larger texts are not highlighted.
const MAX_BYTES: usize = 256 << 10;

/// Source text as rows. `before` is the preceding code, which is only used as highlighting context. Long lines are
/// wrapped.
pub(crate) fn code_rows(
    language: &str,
    before: &str,
    text: &str,
    width: usize,
    context: RenderContext<'_>,
) -> Vec<StyledRow> {
    let text = sanitise(text);
    let lines = highlighted_lines(language, before, &text, context);
    lines
        .into_iter()
        .flat_map(|line| wrap_line(line, width.max(1)))
        .collect()
}

/// The highlighted lines of a text.
pub(crate) fn highlighted_lines(
    language: &str,
    before: &str,
    text: &str,
    context: RenderContext<'_>,
) -> Vec<StyledRow> {
    let plain = context.theme.text;
    let whole = format!("{before}{text}");
    let spans = match whole.len() <= MAX_BYTES && !language.is_empty() {
        true => context.backend.highlight(language, &whole),
        false => None,
    };
    let Some(spans) = spans else {
        let style = if language.is_empty() { context.theme.code } else { plain };
        return text.split('\n').map(|line| StyledRow::new(line, style)).collect();
    };
    let mut rows = vec![StyledRow::empty()];
    let mut at = before.len();
    for (range, token) in spans.into_iter().filter(|(range, _)| range.end > before.len()) {
        let start = range.start.max(at);
        push_text(&mut rows, whole.get(at..start), plain);
        push_text(
            &mut rows,
            whole.get(start..range.end.max(start)),
            context.theme.token_style(token),
        );
        at = range.end.max(start);
    }
    push_text(&mut rows, whole.get(at..), plain);
    rows
}

fn push_text(rows: &mut Vec<StyledRow>, text: Option<&str>, style: Style) {
    for (index, line) in text.unwrap_or_default().split('\n').enumerate() {
        if index > 0 {
            rows.push(StyledRow::empty());
        }
        if let Some(row) = rows.last_mut().filter(|_| !line.is_empty()) {
            row.spans.push(StyledSpan::new(line, style));
        }
    }
}

/// Wraps a line at the row's end, keeping every column.
fn wrap_line(line: StyledRow, width: usize) -> Vec<StyledRow> {
    if line.width() <= width {
        return vec![line];
    }
    let mut rows = vec![StyledRow::empty()];
    let mut used = 0;
    for piece in line.spans {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            let (now, columns) = fit_width(rest, width - used);
            if now.is_empty() && used > 0 {
                rows.push(StyledRow::empty());
                used = 0;
                continue;
            }
            let now = if now.is_empty() { rest } else { now };
            if let Some(row) = rows.last_mut() {
                row.spans.push(StyledSpan::new(now, piece.style));
            }
            used = (used + columns).min(width);
            rest = rest.get(now.len()..).unwrap_or_default();
        }
    }
    rows
}
