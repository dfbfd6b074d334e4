//! What happened in a session and is kept.

use crate::{Change, ItemId, RequestId, Time, Version};
use model::{CallId, Message, Outcome, Part, Stop};
use std::path::PathBuf;
use std::sync::Arc;

/// One thing that happened. Items form a tree by their parents; the log only grows.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Names it.
    pub id: ItemId,
    /// The item before it; `None` for the first.
    pub parent: Option<ItemId>,
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub body: Body,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// The person said something.
    Prompt {
        /// What was said.
        message: Arc<Message>,
    },
    /// The model replied.
    Reply {
        /// What it said, tool calls included.
        message: Arc<Message>,
        /// The model, as `provider/id`.
        model: String,
        /// The request that it answers.
        request: RequestId,
        /// How the reply ended.
        end: End,
    },
    /// A tool answered a call.
    Result {
        /// The result, as the model sees it.
        message: Arc<Message>,
        /// The call that it answers.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// What the call did, in one line for the person.
        title: String,
        /// What came of it, in one line for the person.
        summary: Option<String>,
        /// How long the tool took, in milliseconds.
        millis: u64,
        /// Files that the tool changed.
        changes: Vec<Change>,
    },
    /// Stands for everything before it when the model is asked again.
    Summary {
        /// The summary, as the model sees it.
        message: Arc<Message>,
        /// The first item before it that still stands as it is; `None` where it stands for all of them.
        kept: Option<ItemId>,
    },
    /// The turn ended in a way that the person should know of.
    Notice {
        /// What they should know.
        text: String,
    },
    /// Something happened beside the conversation, and the agent goes on because of it.
    Wake {
        /// What the model is told.
        message: Arc<Message>,
        /// What told it, such as `job 3`.
        cause: String,
    },
    /// The session went on in another mode. The model does not see it; its system prompt says so.
    Mode {
        /// The mode's name.
        name: String,
        /// The only files that may be changed in it, where they are fixed.
        files: Vec<PathBuf>,
    },
    /// The list of things to do has changed. The model knows it from the tool's result.
    Todos {
        /// The whole list.
        list: Vec<Todo>,
    },
    /// Panels were shown to the model; what came before may be shown in another form from here on.
    Panels {
        /// What the model sees of them.
        messages: Vec<Arc<Message>>,
        /// The states that they show.
        shown: Vec<Shown>,
        /// The form in which the model sees what came before; `None` where it stays as it was.
        fold: Option<Fold>,
    },
    /// The person looked at changes of files and took some as good or back. The model does not see it.
    Review {
        /// The files that were looked at.
        changes: Vec<Reviewed>,
    },
    /// The person had files put back to what they were, or forward again.
    Restored {
        /// What the model is told about it.
        message: Arc<Message>,
        /// What was asked for.
        how: Restoring,
        /// The items whose changes were taken back: the first of each turn, or earlier items of this kind.
        of: Vec<ItemId>,
        /// What that changed.
        changes: Vec<Change>,
    },
}

/// What was asked for when files were put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restoring {
    /// The changes of turns were taken back.
    Undo,
    /// What an undo had taken back was made again.
    Redo,
    /// The conversation went back and the files stayed: they differ from what the conversation knows by these changes.
    Left,
}

impl Item {
    /// What the model sees of it.
    pub fn message(&self) -> Option<&Arc<Message>> {
        match &self.body {
            Body::Prompt { message }
            | Body::Reply { message, .. }
            | Body::Result { message, .. }
            | Body::Restored { message, .. }
            | Body::Summary { message, .. }
            | Body::Wake { message, .. } => Some(message),
            Body::Notice { .. }
            | Body::Mode { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Review { .. } => None,
        }
    }

    /// Whether it is the result of a call that did not go well: the tool failed, or the command that it ran did.
    pub fn failed(&self) -> bool {
        let Body::Result { message, summary, .. } = &self.body else {
            return false;
        };
        let is_error = |part: &Part| {
            matches!(
                part,
                Part::ToolResult {
                    outcome: Outcome::Error,
                    ..
                }
            )
        };
        message.parts.iter().any(is_error) || summary.as_deref().is_some_and(ended_badly)
    }

    /// All that the model sees of it, panels included.
    pub fn messages(&self) -> &[Arc<Message>] {
        match &self.body {
            Body::Panels { messages, .. } => messages,
            _ => self.message().map_or(&[], std::slice::from_ref),
        }
    }
}

/// Whether a summary is that of a command which did not end with 0.
fn ended_badly(summary: &str) -> bool {
    match summary.strip_prefix("exit code ") {
        Some(rest) => !rest.starts_with('0'),
        None => summary.starts_with("ended by signal ") || summary.starts_with("stopped after "),
    }
}

/// A state of a panel that the model was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The panel's name.
    pub panel: String,
    /// What it says, as a number; 0 where it says nothing any more.
    pub hash: u64,
    /// Since when it says that.
    pub since: Time,
}

/// In what form the model sees what came before. What is not named here it sees as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fold {
    /// Runs of items, by their first and last, that are shown as one panel of history each, oldest first.
    pub history: Vec<(ItemId, ItemId)>,
    /// Items that are shown as one line.
    pub brief: Vec<ItemId>,
    /// Items that are not shown.
    pub gone: Vec<ItemId>,
    /// Items whose text is cut to so many bytes.
    pub cut: Vec<(ItemId, u64)>,
}

/// A thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: Status,
}

/// How far a thing to do is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// Not begun.
    #[default]
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

impl Status {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Whether something is left to do.
    pub fn is_open(self) -> bool {
        match self {
            Status::Pending | Status::InProgress => true,
            Status::Completed | Status::Cancelled => false,
        }
    }
}

/// How a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The model finished.
    Finished(Stop),
    /// The person or a crash interrupted it; what had arrived is kept.
    Interrupted,
    /// The stream broke after tools had started; what had arrived is kept.
    Cut {
        /// What happened.
        error: String,
    },
}

/// How a review left a file: what differs between the two versions still waits to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewed {
    /// The file, relative to the project where it lies inside it.
    pub path: PathBuf,
    /// What now counts as accepted; `None` for no file. Permissions are noted where they are a change of their own.
    pub base: Option<Version>,
    /// What stood there after the review; `None` where it did not exist.
    pub current: Option<Version>,
}

impl Reviewed {
    /// Whether nothing is left to look at.
    pub fn is_settled(&self) -> bool {
        crate::alike(self.base.as_ref(), self.current.as_ref())
    }
}
