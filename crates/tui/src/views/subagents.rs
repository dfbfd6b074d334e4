//! Subtasks: progress, steering and stopping.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::format::{dollars, first_line, tokens};
use crate::keys::KeyAction;
use crate::row::{StyledRow, wrap};
use crate::state::SubtaskState;
use crate::view::{ViewContext, ViewPlacement};
use model::Message;
use session::{Command, Delivery};

/// Subtasks of the session.
pub(crate) struct SubagentPicker;

impl ListSource for SubagentPicker {
    type Item = SubtaskState;

    fn title(&self) -> String {
        "Subtasks".into()
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<SubtaskState> {
        ListItems::Ready(cx.state.subtasks.clone())
    }

    fn name(&self, subtask: &SubtaskState) -> String {
        match subtask.title.is_empty() {
            true => format!("subtask {}", &subtask.session.to_string()[..8]),
            false => first_line(&subtask.title),
        }
    }

    fn columns(&self, subtask: &SubtaskState, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let right = match subtask.working {
            true => StyledRow::new("working", cx.theme.accent),
            false => StyledRow::new("done", cx.theme.dim),
        };
        (StyledRow::empty(), right)
    }

    fn detail(&self, subtask: &SubtaskState, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let used = subtask.totals.usage;
        let cost = format!(
            "{} tokens · {}",
            tokens(used.prompt_tokens() + used.output),
            dollars(subtask.totals.cost)
        );
        let mut rows = vec![StyledRow::new(cost, theme.dim), StyledRow::empty()];
        for line in &subtask.lines {
            let row = StyledRow::new(crate::row::sanitise(line).replace('\n', " "), theme.text);
            rows.extend(wrap(&row, width.into(), &StyledRow::new("  ", theme.text)));
        }
        rows
    }

    fn choose(&mut self, subtask: &SubtaskState, _: &ViewContext<'_>) -> ListResponse {
        ask_message(subtask)
    }

    fn perform(&mut self, action: KeyAction, subtask: &SubtaskState, _: &ViewContext<'_>) -> Option<ListResponse> {
        match action {
            KeyAction::Steer => Some(ask_message(subtask)),
            KeyAction::Stop if subtask.working => Some(ListResponse::Act(AppAction::Send(Command::Subtask {
                session: subtask.session,
                command: Box::new(Command::Interrupt),
            }))),
            _ => None,
        }
    }

    fn submit_text(&mut self, _: KeyAction, text: String, subtask: &SubtaskState, _: &ViewContext<'_>) -> ListResponse {
        if text.trim().is_empty() {
            return ListResponse::Stay;
        }
        ListResponse::Act(AppAction::Send(Command::Subtask {
            session: subtask.session,
            command: Box::new(Command::Prompt {
                message: Message::user(text),
                delivery: Delivery::Steer,
            }),
        }))
    }

    fn key_hints(&self) -> &'static [KeyAction] {
        &[KeyAction::Close, KeyAction::Steer, KeyAction::Stop]
    }

    fn empty_text(&self) -> &'static str {
        "no subtasks"
    }

    fn is_live(&self) -> bool {
        true
    }
}

fn ask_message(subtask: &SubtaskState) -> ListResponse {
    match subtask.working {
        true => ListResponse::Ask(KeyAction::Steer, "message:".into(), String::new()),
        false => ListResponse::Stay,
    }
}
