//! The result of a tool call.

use crate::UnsavedChange;
use model::Block;
use session::{CommandExit, EditFact, Todo};

/// The result of a tool call: content for the model, a summary for the user, changed files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// Content for the model. The tool limits its size.
    pub content: Vec<Block>,
    /// A one-line summary for the user, such as `3 matches in 2 files`.
    pub summary: Option<String>,
    /// How the command of the call ended, if it ran one.
    pub exit: Option<CommandExit>,
    /// Files that the call changed, for the file history.
    pub changes: Vec<UnsavedChange>,
    /// The edits that the call applied, for statistics.
    pub edits: Vec<EditFact>,
    /// The todo list, if the call changed it.
    pub todos: Option<Vec<Todo>>,
    /// How the turn continues.
    pub next: NextStep,
}

/// How the turn continues after a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NextStep {
    /// The result is sent to the model.
    #[default]
    Continue,
    /// The turn ends: the model declared its work complete.
    EndTurn,
    /// The result is sent to the model, in the mode with this name.
    SwitchMode(String),
}

impl Output {
    /// Text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Output {
            content: vec![Block::text(text)],
            ..Output::default()
        }
    }

    /// Adds a summary for the user.
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Adds how the command of the call ended.
    pub fn with_exit(mut self, exit: CommandExit) -> Self {
        self.exit = Some(exit);
        self
    }

    /// Adds the edits that the call applied.
    pub fn with_edits(mut self, edits: Vec<EditFact>) -> Self {
        self.edits.extend(edits);
        self
    }

    /// Adds a changed file.
    pub fn with_change(mut self, change: UnsavedChange) -> Self {
        self.changes.push(change);
        self
    }
}
