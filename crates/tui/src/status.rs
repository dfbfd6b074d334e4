//! The status line: activity on the left; mode, model, context, cost, cache and branch on the right.

use crate::conversation::elapsed;
use crate::format::{dollars, tokens, window_percent};
use crate::row::{StyledRow, StyledSpan, wrap};
use crate::state::{LiveActivity, TurnActivity};
use crate::view::ViewContext;
use policy::ApprovalMode;
use std::time::Instant;
use unicode_width::UnicodeWidthStr as _;

/// The status line in `width` columns; the least important parts are dropped first.
pub(crate) fn row(cx: &ViewContext<'_>, badge: Option<&str>, width: u16) -> StyledRow {
    let theme = cx.theme;
    let width = usize::from(width);
    let left = activity(cx, width);
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

/// A message that is too long for the status line, in rows above it.
pub(crate) fn long_message(cx: &ViewContext<'_>, width: u16) -> Vec<StyledRow> {
    let message = cx.state.flash.as_ref().filter(|text| text.width() > width.into());
    let row = message.map(|text| StyledRow::new(text.clone(), cx.theme.warn));
    row.map(|row| wrap(&row, width.into(), &StyledRow::empty()))
        .unwrap_or_default()
}

/// A part of the line and its importance.
struct StatusPart {
    piece: StyledSpan,
    weight: u8,
}

fn activity(cx: &ViewContext<'_>, width: usize) -> StyledRow {
    let (theme, state) = (cx.theme, cx.state);
    if let Some(flash) = state.flash.as_ref().filter(|text| text.width() <= width) {
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
        return StyledRow::new(format!("↻ attempt {attempt} in {}", elapsed(left)), theme.warn)
            .push(" · esc to interrupt", theme.dim);
    }
    if let Some(silent) = turn.stalled() {
        return StyledRow::new(format!("! no data from the model for {}", elapsed(silent)), theme.warn)
            .push(" · esc to interrupt", theme.dim);
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
    let mode = match (info.mode.as_str(), info.edit_approval) {
        _ if info.permission == "read-only" => "read-only",
        ("code", Some(ApprovalMode::Ask)) => "ask",
        ("code", Some(ApprovalMode::Allow) | None) => "accept edits",
        // Not the approval of changes with the same name.
        ("ask", _) => "ask mode",
        (mode, _) => mode,
    };
    let mut parts = vec![part(mode.into(), theme.accent, 9)];
    if !info.permission.is_empty() && !matches!(info.permission.as_str(), "workspace" | "read-only") {
        parts.push(part(info.permission.clone(), theme.warn, 8));
    }
    if let Some(goal) = &state.goal {
        parts.insert(0, part(goal.status(), theme.accent, 8));
    }
    let others = |activity| state.others.iter().filter(|other| other.activity == activity).count();
    let sessions = |count: usize| match count {
        1 => "1 other session".to_owned(),
        count => format!("{count} other sessions"),
    };
    match (others(LiveActivity::WaitsForUser), others(LiveActivity::Works)) {
        (0, 0) => {}
        (0, working) => {
            let text = format!("{} working · /sessions", sessions(working));
            parts.insert(0, part(text, theme.accent, 8));
        }
        (waiting, _) => {
            let verb = if waiting == 1 { "needs" } else { "need" };
            let text = format!("{} {verb} an answer · /sessions", sessions(waiting));
            parts.insert(0, part(text, theme.warn, 11));
        }
    }
    if state.running_jobs > 0 {
        let jobs = match state.running_jobs {
            1 => "1 job".to_owned(),
            count => format!("{count} jobs"),
        };
        parts.insert(0, part(format!("{jobs} running · /jobs"), theme.accent, 10));
    }
    let model = info.model.rsplit('/').next().unwrap_or_default();
    let model = match info.effort.as_str() {
        "" => model.to_owned(),
        effort => format!("{model} ({effort})"),
    };
    parts.push(part(model, theme.dim, 7));
    let used = state.usage.prompt_tokens() + state.usage.output;
    if used > 0 {
        let (text, style) = match (used * 100).checked_div(info.context_window) {
            Some(percent) => {
                let style = if percent >= 80 { theme.warn } else { theme.dim };
                let percent = window_percent(used, info.context_window);
                (format!("{percent} of {}", tokens(info.context_window)), style)
            }
            None => (tokens(used), theme.dim),
        };
        parts.push(part(text, style, 6));
    }
    if let Some(hits) = (state.totals.usage.cache_read * 100).checked_div(state.totals.usage.prompt_tokens()) {
        parts.push(part(format!("{hits}% cached"), theme.dim, 3));
    }
    if state.totals.cost.nano_usd > 0 {
        parts.push(part(dollars(state.totals.cost), theme.dim, 5));
    }
    if let Some(branch) = &state.branch {
        parts.push(part(format!("⎇ {branch}"), theme.dim, 4));
    }
    parts
}
