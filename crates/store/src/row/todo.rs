//! Things to do, as rows.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(super) struct Todo<'a> {
    text: Cow<'a, str>,
    status: Status,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    InProgress,
    Completed,
    Cancelled,
    /// Also what a later version may know and this one does not.
    #[serde(other)]
    Pending,
}

impl<'a> From<&'a session::Todo> for Todo<'a> {
    fn from(todo: &'a session::Todo) -> Self {
        Todo {
            text: Cow::Borrowed(&todo.text),
            status: match todo.status {
                session::Status::Pending => Status::Pending,
                session::Status::InProgress => Status::InProgress,
                session::Status::Completed => Status::Completed,
                session::Status::Cancelled => Status::Cancelled,
            },
        }
    }
}

impl From<Todo<'_>> for session::Todo {
    fn from(row: Todo<'_>) -> Self {
        session::Todo {
            text: row.text.into_owned(),
            status: match row.status {
                Status::Pending => session::Status::Pending,
                Status::InProgress => session::Status::InProgress,
                Status::Completed => session::Status::Completed,
                Status::Cancelled => session::Status::Cancelled,
            },
        }
    }
}
