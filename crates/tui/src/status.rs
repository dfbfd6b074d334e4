//! The status line: activity on the left; mode, model, context, cost, cache and branch on the right.

use crate::conversation::elapsed;
use crate::row::{StyledRow, StyledSpan};
use crate::state::TurnActivity;
use crate::view::ViewContext;
use std::time::Instant;
use unicode_width::UnicodeWidthStr as _;

/// The status line in `width` columns; the least important parts are dropped first.
pub(crate) fn row(cx: &ViewContext<'_>, badge: Option<&str>, width: u16) -> StyledRow {
    let theme = cx.theme;
    let width = usize::from(width);
    let left = activity(cx);
    let mut parts = details(cx);
    // The Vim mode.
    if let Some(badge) = badge {
        let piece = StyledSpan::new(badge.to_owned(), theme.accent);
        parts.insert(0, StatusPart { piece, weight: 10 });
    }
    let room = width.saturating_sub(left.width() + 2);
    let total = |parts: &[StatusPart]| parts.iter().map(|part| part.piece.text.width() + 3).sum::<usize>();
    while total(&parts) > room + 3 {
        let least = parts
            .iter()
            .enumerate()
            .min_by_key(|(_, part)| part.weight)
            .map(|(at, _)| at);
        match least {
            Some(at) => drop(parts.remove(at)),
            None => break,
        }
    }
    let mut row = left;
    let used = row.width() + total(&parts).saturating_sub(3);
    row = row.push(" ".repeat(width.saturating_sub(used)), theme.dim);
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            row = row.push(" · ", theme.border);
        }
        row.spans.push(part.piece);
    }
    row.truncate(width)
}

/// A part of the line and its importance.
struct StatusPart {
    piece: StyledSpan,
    weight: u8,
}

fn activity(cx: &ViewContext<'_>) -> StyledRow {
    let (theme, state) = (cx.theme, cx.state);
    if let Some(flash) = &state.flash {
        return StyledRow::new(flash.clone(), theme.warn);
    }
    if !state.questions.is_empty() {
        return StyledRow::new("? waiting for your answer", theme.warn);
    }
    let Some(turn) = &state.turn else {
        return match state.session {
            Some(_) => StyledRow::new("? help", theme.dim),
            None => StyledRow::new("opening …", theme.dim),
        };
    };
    if let Some((_, attempt, when)) = &turn.retrying {
        let left = when.saturating_duration_since(Instant::now());
        return StyledRow::new(format!("↻ attempt {attempt} in {}", elapsed(left)), theme.warn);
    }
    let word = match turn.activity {
        TurnActivity::Waiting => "waiting",
        TurnActivity::Thinking => "thinking",
        TurnActivity::Writing => "writing",
        TurnActivity::Calling => "calling",
        TurnActivity::Working => "working",
    };
    let life = usize::try_from(turn.elapsed().as_millis() / 200).unwrap_or(0) % SPINNER.len();
    StyledRow::new(SPINNER.get(life).copied().unwrap_or_default(), theme.accent)
        .push(format!(" {word} {}", elapsed(turn.elapsed())), theme.text)
        .push(" · esc to interrupt", theme.dim)
}

const SPINNER: [&str; 6] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"];

fn details(cx: &ViewContext<'_>) -> Vec<StatusPart> {
    let (theme, state, info) = (cx.theme, cx.state, &cx.state.info);
    if state.session.is_none() {
        return Vec::new();
    }
    let part = |text: String, style, weight| StatusPart {
        piece: StyledSpan::new(text, style),
        weight,
    };
    let mut parts = vec![part(info.mode.clone(), theme.accent, 9)];
    if !info.permission.is_empty() && info.permission != "workspace" {
        parts.push(part(info.permission.clone(), theme.warn, 8));
    }
    let model = info.model.rsplit('/').next().unwrap_or_default();
    parts.push(part(model.into(), theme.dim, 7));
    let used = state.usage.prompt_tokens() + state.usage.output;
    if used > 0 {
        let (text, style) = match (used * 100).checked_div(info.context_window) {
            Some(percent) => {
                let style = if percent >= 80 { theme.warn } else { theme.dim };
                let percent = match percent {
                    0..10 => format!("{:.1}", used as f64 * 100.0 / info.context_window as f64),
                    _ => percent.to_string(),
                };
                (format!("{percent}% of {}", short_count(info.context_window)), style)
            }
            None => (short_count(used), theme.dim),
        };
        parts.push(part(text, style, 6));
    }
    if let Some(hits) = (state.totals.usage.cache_read * 100).checked_div(state.totals.usage.prompt_tokens()) {
        parts.push(part(format!("{hits}% cached"), theme.dim, 3));
    }
    if state.totals.cost.nano_usd > 0 {
        parts.push(part(format_usd(state.totals.cost.usd()), theme.dim, 5));
    }
    if let Some(branch) = &state.branch {
        parts.push(part(format!("⎇ {branch}"), theme.dim, 4));
    }
    parts
}

/// `$0.0042`, `$0.31`, `$12.40`
pub(crate) fn format_usd(usd: f64) -> String {
    if usd < 0.01 {
        format!("${usd:.4}")
    } else {
        format!("${usd:.2}")
    }
}

/// `812`, `12.4k`, `200k`, `1.0M`
pub(crate) fn short_count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..100_000 => format!("{:.1}k", tokens as f64 / 1e3),
        100_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [812, 12_400, 200_000, 1_000_000].map(short_count),
            ["812", "12.4k", "200k", "1.0M"]
        );
        assert_eq!([0.0042, 0.314, 12.4].map(format_usd), ["$0.0042", "$0.31", "$12.40"]);
    }
}
