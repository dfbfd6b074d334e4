//! What a tool gives back.

use crate::{Change, Todo};
use model::Block;

/// What a tool gives back: what the model sees, what the person sees, what changed on disk.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// What the model sees. Bounded by the tool.
    pub content: Vec<Block>,
    /// One line for the person, such as `3 matches in 2 files`.
    pub summary: Option<String>,
    /// Files that the tool changed, for the file history.
    pub changes: Vec<Change>,
    /// The list of things to do, where the tool changed it.
    pub todos: Option<Vec<Todo>>,
    /// What happens next.
    pub next: Next,
}

/// What happens after a tool has answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Next {
    /// The model is asked again, with the result.
    #[default]
    GoOn,
    /// The turn is over: the model has said that its work is done.
    EndTurn,
    /// The model is asked again, in the mode of this name.
    SwitchMode(String),
}

impl Output {
    /// Plain text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Output {
            content: vec![Block::text(text)],
            ..Output::default()
        }
    }

    /// The same, with a line for the person.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// The same, with a file that was changed.
    pub fn changed(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }
}
