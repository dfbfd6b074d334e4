//! The list of things to do, as items and tools know it.

use session::{Body, Item, Status, Todo};
use std::sync::Arc;

/// The newest list.
pub(crate) fn newest_todos(items: &[Arc<Item>]) -> Vec<Todo> {
    let lists = items.iter().rev().filter_map(|item| match &item.body {
        Body::Todos { list } => Some(list.clone()),
        Body::Prompt { .. }
        | Body::Reply { .. }
        | Body::Result { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Panels { .. }
        | Body::Mode { .. }
        | Body::Wake { .. }
        | Body::Restored { .. }
        | Body::Review { .. } => None,
    });
    lists.take(1).next().unwrap_or_default()
}

/// A thing to do that a tool told of.
pub(crate) fn todo(todo: tool::Todo) -> Todo {
    Todo {
        text: todo.text,
        status: match todo.status {
            tool::Status::Pending => Status::Pending,
            tool::Status::InProgress => Status::InProgress,
            tool::Status::Completed => Status::Completed,
            tool::Status::Cancelled => Status::Cancelled,
        },
    }
}
