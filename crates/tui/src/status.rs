//! The status line: what it does and for how long on the left; mode, model, context, cost, cache, branch on the right.

use crate::conversation::took;
use crate::row::{Piece, Row};
use crate::state::Doing;
use crate::view::Cx;
use std::time::Instant;
use unicode_width::UnicodeWidthStr as _;

/// The status line in so many columns: what does not fit is left out, the least important first.
pub(crate) fn row(cx: &Cx<'_>, badge: Option<&str>, width: u16) -> Row {
    let theme = cx.theme;
    let width = usize::from(width);
    let left = left(cx);
    let mut parts = right(cx);
    // The mode of vim's keys, where they are on.
    if let Some(badge) = badge {
        let piece = Piece::new(badge.to_owned(), theme.accent);
        parts.insert(0, Part { piece, weight: 10 });
    }
    let room = width.saturating_sub(left.width() + 2);
    let total = |parts: &[Part]| parts.iter().map(|part| part.piece.text.width() + 3).sum::<usize>();
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
    row = row.and(" ".repeat(width.saturating_sub(used)), theme.dim);
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            row = row.and(" · ", theme.border);
        }
        row.pieces.push(part.piece);
    }
    row.cut(width)
}

/// A part of the line and how much it matters.
struct Part {
    piece: Piece,
    weight: u8,
}

fn left(cx: &Cx<'_>) -> Row {
    let (theme, state) = (cx.theme, cx.state);
    if let Some(flash) = &state.flash {
        return Row::of(flash.clone(), theme.warn);
    }
    if !state.asked.is_empty() {
        return Row::of("? waiting for you", theme.warn);
    }
    let Some(turn) = &state.turn else {
        return match state.session {
            Some(_) => Row::of("? help", theme.dim),
            None => Row::of("opening …", theme.dim),
        };
    };
    if let Some((_, attempt, when)) = &turn.retrying {
        let left = when.saturating_duration_since(Instant::now());
        return Row::of(format!("↻ attempt {attempt} in {}", took(left)), theme.warn);
    }
    let word = match turn.doing {
        Doing::Waiting => "waiting",
        Doing::Thinking => "thinking",
        Doing::Writing => "writing",
        Doing::Calling => "calling",
        Doing::Working => "working",
    };
    let life = usize::try_from(turn.elapsed().as_millis() / 200).unwrap_or(0) % LIFE.len();
    Row::of(LIFE.get(life).copied().unwrap_or_default(), theme.accent)
        .and(format!(" {word} {}", took(turn.elapsed())), theme.text)
        .and(" · esc stops", theme.dim)
}

const LIFE: [&str; 6] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"];

fn right(cx: &Cx<'_>) -> Vec<Part> {
    let (theme, state, facts) = (cx.theme, cx.state, &cx.state.facts);
    if state.session.is_none() {
        return Vec::new();
    }
    let part = |text: String, style, weight| Part {
        piece: Piece::new(text, style),
        weight,
    };
    let mut parts = vec![part(facts.mode.clone(), theme.accent, 9)];
    if !facts.permission.is_empty() && facts.permission != "workspace" {
        parts.push(part(facts.permission.clone(), theme.warn, 8));
    }
    let model = facts.model.rsplit('/').next().unwrap_or_default();
    parts.push(part(model.into(), theme.dim, 7));
    let used = state.usage.prompt() + state.usage.output;
    if used > 0 {
        let (text, style) = match (used * 100).checked_div(facts.window) {
            Some(percent) => {
                let style = if percent >= 80 { theme.warn } else { theme.dim };
                let percent = match percent {
                    0..10 => format!("{:.1}", used as f64 * 100.0 / facts.window as f64),
                    _ => percent.to_string(),
                };
                (format!("{percent}% of {}", thousands(facts.window)), style)
            }
            None => (thousands(used), theme.dim),
        };
        parts.push(part(text, style, 6));
    }
    if let Some(hits) = (state.totals.usage.cache_read * 100).checked_div(state.totals.usage.prompt()) {
        parts.push(part(format!("{hits}% cached"), theme.dim, 3));
    }
    if state.totals.cost.nano_usd > 0 {
        parts.push(part(money(state.totals.cost.usd()), theme.dim, 5));
    }
    if let Some(branch) = &state.branch {
        parts.push(part(format!("⎇ {branch}"), theme.dim, 4));
    }
    parts
}

/// `$0.0042`, `$0.31`, `$12.40`
pub(crate) fn money(usd: f64) -> String {
    if usd < 0.01 {
        format!("${usd:.4}")
    } else {
        format!("${usd:.2}")
    }
}

/// `812`, `12.4k`, `200k`, `1.0M`
pub(crate) fn thousands(tokens: u64) -> String {
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
    fn figures_are_short() {
        assert_eq!(
            [812, 12_400, 200_000, 1_000_000].map(thousands),
            ["812", "12.4k", "200k", "1.0M"]
        );
        assert_eq!([0.0042, 0.314, 12.4].map(money), ["$0.0042", "$0.31", "$12.40"]);
    }
}
