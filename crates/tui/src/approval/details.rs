//! Exactly what would happen, as rows.

use crate::row::{Row, tame, wrap};
use crate::state::Asked;
use crate::view::Cx;
use policy::Action;
use serde_json::Value;

/// Exactly what would happen.
pub(super) fn details(asked: &Asked, action: &Action, input: &Value, width: usize, cx: &Cx<'_>) -> Vec<Row> {
    let theme = cx.theme;
    match action {
        Action::Run { command, cwd } | Action::Escalate { command, cwd } => {
            let command = tame(command);
            let lines = command
                .lines()
                .enumerate()
                .map(|(index, line)| Row::of(if index == 0 { "$ " } else { "  " }, theme.accent).and(line, theme.code));
            let mut rows: Vec<Row> = lines
                .flat_map(|row| wrap(&row, width, &Row::of("    ", theme.text)))
                .collect();
            if *cwd != cx.state.facts.root {
                rows.push(Row::of(format!("in {}", cwd.display()), theme.dim).cut(width));
            }
            rows
        }
        Action::Write { .. } | Action::Mcp { .. } => {
            let card = asked
                .question
                .call
                .as_ref()
                .and_then(|call| cx.state.conversation.card_of(call));
            match card.and_then(|card| card.growth(cx)).filter(|diff| !diff.is_empty()) {
                Some(diff) => diff.rows(width, usize::MAX, theme),
                None => fields(input, width, cx),
            }
        }
        Action::Read { .. } | Action::Fetch { .. } | Action::SwitchMode { .. } | Action::Subtask { .. } => Vec::new(),
    }
}

/// The fields of an input, each with its text.
fn fields(input: &Value, width: usize, cx: &Cx<'_>) -> Vec<Row> {
    let Value::Object(fields) = input else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), String::from);
        rows.push(Row::of(format!("{}:", tame(name)), cx.theme.dim));
        for line in tame(&text).lines() {
            rows.push(Row::of("  ", cx.theme.text).and(line, cx.theme.text).cut(width));
        }
    }
    rows
}
