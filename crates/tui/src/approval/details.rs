//! Rows that show exactly what an action would do.

use crate::conversation::render_context;
use crate::diff::LineDiff;
use crate::row::{StyledRow, sanitise, wrap};
use crate::state::PendingQuestion;
use crate::view::ViewContext;
use policy::Action;
use serde_json::Value;

/// Returns rows that show exactly what the action would do.
pub(super) fn details(
    pending: &PendingQuestion,
    action: &Action,
    input: &Value,
    width: usize,
    cx: &ViewContext<'_>,
) -> Vec<StyledRow> {
    let theme = cx.theme;
    match action {
        Action::Run { command, cwd } | Action::Escalate { command, cwd } => {
            let command = sanitise(command);
            let lines = command.lines().enumerate().map(|(index, line)| {
                StyledRow::new(if index == 0 { "$ " } else { "  " }, theme.accent).push(line, theme.code)
            });
            let mut rows: Vec<StyledRow> = lines
                .flat_map(|row| wrap(&row, width, &StyledRow::new("    ", theme.text)))
                .collect();
            if *cwd != cx.state.info.root {
                rows.push(StyledRow::new(format!("in {}", cwd.display()), theme.dim).truncate(width));
            }
            rows
        }
        Action::Write { .. } => {
            if let Some(patch) = PATCH_FIELDS.iter().find_map(|field| input.get(field)?.as_str()) {
                return patch_rows(patch, width, cx);
            }
            let call = pending.question.call.as_ref();
            let card = call.and_then(|call| cx.state.conversation.find_card(call));
            match card.and_then(|card| card.planned_changes(cx)) {
                Some(changes) if changes.iter().any(|(_, diff)| !diff.is_empty()) => change_rows(changes, width, cx),
                Some(_) | None => fields(input, width, cx),
            }
        }
        Action::Mcp { .. } => fields(input, width, cx),
        Action::Read { .. } | Action::Fetch { .. } | Action::SwitchMode { .. } | Action::Subtask { .. } => Vec::new(),
    }
}

/// Fields that contain a patch, which is shown as the model wrote it: it can also remove and move files.
const PATCH_FIELDS: [&str; 5] = ["patch", "patchText", "patch_text", "diff", "input"];

fn patch_rows(patch: &str, width: usize, cx: &ViewContext<'_>) -> Vec<StyledRow> {
    let theme = cx.theme;
    let row = |line: &str| {
        let style = match line.chars().next() {
            Some('+') => theme.added,
            Some('-') => theme.removed,
            Some('@' | '*') => theme.hunk,
            Some(_) | None => theme.text,
        };
        wrap(&StyledRow::new(line, style), width, &StyledRow::new("  ", theme.text))
    };
    sanitise(patch).lines().flat_map(row).collect()
}

fn change_rows(changes: &[(String, LineDiff)], width: usize, cx: &ViewContext<'_>) -> Vec<StyledRow> {
    let mut rows = Vec::new();
    for (path, diff) in changes {
        if changes.len() > 1 {
            let mut row = StyledRow::new(format!("{}  ", sanitise(path)), cx.theme.strong);
            row.spans.extend(diff.counts(cx.theme));
            rows.push(row.truncate(width));
        }
        rows.extend(diff.rows(width, usize::MAX, render_context(cx)));
    }
    rows
}

/// The fields of an input as rows.
fn fields(input: &Value, width: usize, cx: &ViewContext<'_>) -> Vec<StyledRow> {
    let Value::Object(fields) = input else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), String::from);
        rows.push(StyledRow::new(format!("{}:", sanitise(name)), cx.theme.dim));
        for line in sanitise(&text).lines() {
            let indent = StyledRow::new("  ", cx.theme.text);
            rows.extend(wrap(&indent.clone().push(line, cx.theme.text), width, &indent));
        }
    }
    rows
}
