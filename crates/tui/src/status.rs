//! The status line: mode, model, context, cost, cache, branch, time.

use crate::row::Row;
use crate::view::Cx;

/// The status line in so many columns.
pub(crate) fn row(cx: &Cx<'_>, width: u16) -> Row {
    let facts = &cx.state.facts;
    let text = match cx.state.session {
        Some(_) => format!("{} · {}", facts.mode, facts.model),
        None => "opening …".into(),
    };
    Row::of(text, cx.theme.dim).cut(width.into())
}
