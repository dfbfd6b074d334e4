//! The agent's todo list.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::row::StyledRow;
use crate::view::ViewContext;
use session::TodoStatus;

/// The agent's todo list.
pub(crate) struct TodoPicker;

impl ListSource for TodoPicker {
    type Item = session::Todo;

    fn title(&self) -> String {
        "Todo".into()
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<session::Todo> {
        ListItems::Ready(cx.state.todos.clone())
    }

    fn name(&self, todo: &session::Todo) -> String {
        crate::row::sanitise(&todo.text).replace('\n', " ")
    }

    fn marker(&self, todo: &session::Todo, cx: &ViewContext<'_>) -> Option<StyledRow> {
        Some(match todo.status {
            TodoStatus::Pending => StyledRow::new("○ ", cx.theme.dim),
            TodoStatus::InProgress => StyledRow::new("◐ ", cx.theme.accent),
            TodoStatus::Completed => StyledRow::new("● ", cx.theme.good),
            TodoStatus::Cancelled => StyledRow::new("✕ ", cx.theme.dim),
        })
    }

    fn initial_row(&self, entries: &[session::Todo], _: &ViewContext<'_>) -> usize {
        entries
            .iter()
            .position(|todo| todo.status == TodoStatus::InProgress)
            .unwrap_or(0)
    }

    fn choose_label(&self) -> &'static str {
        "insert"
    }

    fn choose(&mut self, todo: &session::Todo, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::close_and(AppAction::InsertInput(todo.text.clone()))
    }

    fn empty_text(&self) -> &'static str {
        "the list is empty"
    }

    fn is_live(&self) -> bool {
        true
    }
}
