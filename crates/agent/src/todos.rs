//! The current todo list.

use session::{Item, Todo};
use std::sync::Arc;

/// The todo list of the newest `Todos` item.
pub(crate) fn newest_todos(items: &[Arc<Item>]) -> Vec<Todo> {
    let newest = items.iter().rev().find_map(|item| item.todos());
    newest.unwrap_or_default().to_vec()
}
