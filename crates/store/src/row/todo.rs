//! Todo entries as rows.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(super) struct TodoRow<'a> {
    text: Cow<'a, str>,
    status: TodoStatusRow,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TodoStatusRow {
    InProgress,
    Completed,
    Cancelled,
    /// Also any unknown status.
    #[serde(other)]
    Pending,
}

impl<'a> From<&'a session::Todo> for TodoRow<'a> {
    fn from(todo: &'a session::Todo) -> Self {
        TodoRow {
            text: Cow::Borrowed(&todo.text),
            status: match todo.status {
                session::TodoStatus::Pending => TodoStatusRow::Pending,
                session::TodoStatus::InProgress => TodoStatusRow::InProgress,
                session::TodoStatus::Completed => TodoStatusRow::Completed,
                session::TodoStatus::Cancelled => TodoStatusRow::Cancelled,
            },
        }
    }
}

impl From<TodoRow<'_>> for session::Todo {
    fn from(row: TodoRow<'_>) -> Self {
        session::Todo {
            text: row.text.into_owned(),
            status: match row.status {
                TodoStatusRow::Pending => session::TodoStatus::Pending,
                TodoStatusRow::InProgress => session::TodoStatus::InProgress,
                TodoStatusRow::Completed => session::TodoStatus::Completed,
                TodoStatusRow::Cancelled => session::TodoStatus::Cancelled,
            },
        }
    }
}
