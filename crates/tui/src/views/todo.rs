//! The list of things to do, as the agent keeps it.

use super::list::{Act, Fetch, Source};
use crate::row::Row;
use crate::view::{Cx, Wish};
use session::Status;

/// The list of things to do.
pub(crate) struct Todo;

impl Source for Todo {
    type Entry = session::Todo;

    fn title(&self) -> String {
        "To do".into()
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<session::Todo> {
        Fetch::Now(cx.state.todos.clone())
    }

    fn name(&self, todo: &session::Todo) -> String {
        crate::row::tame(&todo.text).replace('\n', " ")
    }

    fn sign(&self, todo: &session::Todo, cx: &Cx<'_>) -> Option<Row> {
        Some(match todo.status {
            Status::Pending => Row::of("○ ", cx.theme.dim),
            Status::InProgress => Row::of("◐ ", cx.theme.accent),
            Status::Completed => Row::of("● ", cx.theme.good),
            Status::Cancelled => Row::of("✕ ", cx.theme.dim),
        })
    }

    fn first(&self, entries: &[session::Todo], _: &Cx<'_>) -> usize {
        entries
            .iter()
            .position(|todo| todo.status == Status::InProgress)
            .unwrap_or(0)
    }

    fn verb(&self) -> &'static str {
        "put into the line"
    }

    fn choose(&mut self, todo: &session::Todo, _: &Cx<'_>) -> Act {
        Act::CloseAnd(Wish::Insert(todo.text.clone()))
    }

    fn empty(&self) -> &'static str {
        "nothing is on the list"
    }

    fn is_live(&self) -> bool {
        true
    }
}
