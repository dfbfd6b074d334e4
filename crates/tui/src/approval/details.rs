//! Rows that show exactly what an action would do.

use crate::conversation::render_context;
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
        Action::Write { .. } | Action::Mcp { .. } => {
            let card = pending
                .question
                .call
                .as_ref()
                .and_then(|call| cx.state.conversation.find_card(call));
            match card
                .and_then(|card| card.streaming_diff(cx))
                .filter(|diff| !diff.is_empty())
            {
                Some(diff) => diff.rows(width, usize::MAX, render_context(cx)),
                None => fields(input, width, cx),
            }
        }
        Action::Read { .. } | Action::Fetch { .. } | Action::SwitchMode { .. } | Action::Subtask { .. } => Vec::new(),
    }
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
            rows.push(
                StyledRow::new("  ", cx.theme.text)
                    .push(line, cx.theme.text)
                    .truncate(width),
            );
        }
    }
    rows
}
