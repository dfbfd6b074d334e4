//! Items: the entries of a session's log.

use crate::{Change, FileVersion, ItemId, RequestId, Time};
use model::{CallId, Message, Stop};
use std::path::PathBuf;
use std::sync::Arc;

/// One entry of the log. Items form a tree by their parents; the log is append-only.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The item's id.
    pub id: ItemId,
    /// The preceding item; `None` for the first.
    pub parent: Option<ItemId>,
    /// When the item was created.
    pub at: Time,
    /// The item's content.
    pub body: Body,
}

/// The item's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A prompt of the user.
    Prompt {
        /// The prompt, including the context that hew adds.
        message: Arc<Message>,
    },
    /// A reply of the model.
    Reply {
        /// The reply, including tool calls.
        message: Arc<Message>,
        /// The model, as `provider/id`.
        model: String,
        /// The request that produced the reply.
        request: RequestId,
        /// How the reply ended.
        end: ReplyEnd,
    },
    /// The result of a tool call.
    Result {
        /// The result, as the model sees it.
        message: Arc<Message>,
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// One line for the user: what the call does.
        title: String,
        /// One line for the user: the result.
        summary: Option<String>,
        /// How the command of the call ended, if it ran one.
        exit: Option<CommandExit>,
        /// Duration in milliseconds.
        millis: u64,
        /// The files that the call changed.
        changes: Vec<Change>,
    },
    /// Replaces the preceding items in later requests.
    Summary {
        /// The summary, as the model sees it.
        message: Arc<Message>,
        /// The first preceding item that is not replaced; `None` if all are.
        first_kept: Option<ItemId>,
    },
    /// A message for the user about how the turn ended. The model does not see it.
    Notice {
        /// The message.
        text: String,
    },
    /// Something outside the conversation finished, and the agent continues because of it.
    Notification {
        /// The message to the model.
        message: Arc<Message>,
        /// What sent it, such as `job 3`.
        source: String,
    },
    /// The mode changed. The model sees the mode in its system prompt, not this item.
    Mode {
        /// The mode's name.
        name: String,
        /// The only files that may be changed in this mode; empty if the mode does not fix them.
        files: Vec<PathBuf>,
        /// Whether the user approves changes, if the user chose that in this session.
        edit_approval: Option<policy::ApprovalMode>,
    },
    /// The todo list changed. The model knows it from the tool's result.
    Todos {
        /// The whole list.
        list: Vec<Todo>,
    },
    /// Panels were sent to the model, and the form of the preceding items may have changed.
    Panels {
        /// The panels as messages.
        messages: Vec<Arc<Message>>,
        /// The state of each panel.
        states: Vec<ShownPanel>,
        /// How the preceding items are shortened from here on; `None` if unchanged.
        elision: Option<HistoryElision>,
    },
    /// The user accepted or rejected changes.
    Review {
        /// The message to the model about rejected changes; `None` if changes were only accepted.
        message: Option<Arc<Message>>,
        /// The reviewed files.
        changes: Vec<ReviewedFile>,
    },
    /// The user reverted files to an earlier state, or undid that.
    Restored {
        /// The message to the model.
        message: Arc<Message>,
        /// The operation.
        kind: RestoreKind,
        /// The reverted items: the first of each turn, or earlier items of this kind.
        items: Vec<ItemId>,
        /// The resulting changes.
        changes: Vec<Change>,
    },
}

/// The operation that restored files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreKind {
    /// The changes of turns were reverted.
    Undo,
    /// An undo was reverted.
    Redo,
    /// The conversation was rewound without the files: they differ from the conversation by these changes.
    FilesKept,
}

impl RestoreKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RestoreKind::Undo => "undo",
            RestoreKind::Redo => "redo",
            RestoreKind::FilesKept => "left",
        }
    }
}

/// The state of a panel as sent to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPanel {
    /// The panel's name.
    pub panel: String,
    /// Hash of its text; 0 if the panel is empty.
    pub hash: u64,
    /// Since when it has this text.
    pub since: Time,
}

/// How preceding items are shortened in requests. Items that are not listed are sent unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryElision {
    /// Ranges of items (first, last), each replaced by one history panel, oldest first.
    pub history: Vec<(ItemId, ItemId)>,
    /// Items reduced to one line.
    pub brief: Vec<ItemId>,
    /// Items left out.
    pub hidden: Vec<ItemId>,
    /// Items with their text truncated to this many bytes.
    pub truncated: Vec<(ItemId, u64)>,
}

/// An entry of the todo list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// The task.
    pub text: String,
    /// Its status.
    pub status: TodoStatus,
}

/// The status of a todo entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TodoStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
    /// Cancelled.
    Cancelled,
}

impl TodoStatus {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Completed => "completed",
            TodoStatus::Cancelled => "cancelled",
        }
    }

    /// Whether the entry is not done yet.
    pub fn is_open(self) -> bool {
        match self {
            TodoStatus::Pending | TodoStatus::InProgress => true,
            TodoStatus::Completed | TodoStatus::Cancelled => false,
        }
    }
}

/// How a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyEnd {
    /// The model finished.
    Finished(Stop),
    /// The user or a crash interrupted it; the part that was received is stored.
    Interrupted,
    /// The stream failed after tools had started; the part that was received is stored.
    Cut {
        /// The item's content.
        error: String,
    },
}

/// A file after a review: the difference between the two versions is still unreviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFile {
    /// The path, relative to the project if inside it.
    pub path: PathBuf,
    /// The accepted version; `None` for no file. Permissions are set only if they are a change of their own.
    pub base: Option<FileVersion>,
    /// The version on disk after the review; `None` if the file did not exist.
    pub current: Option<FileVersion>,
}

impl ReviewedFile {
    /// Whether nothing is left to review.
    pub fn is_resolved(&self) -> bool {
        crate::same_version(self.base.as_ref(), self.current.as_ref())
    }
}

/// How the command of a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandExit {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal,
    /// It was stopped after its timeout.
    TimedOut,
    /// Unknown.
    Unknown,
}

impl CommandExit {
    /// Whether the command failed.
    pub fn is_failure(self) -> bool {
        match self {
            CommandExit::Code(code) => code != 0,
            CommandExit::Signal | CommandExit::TimedOut => true,
            CommandExit::Unknown => false,
        }
    }
}
