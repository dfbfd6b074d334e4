//! Data types of the backend interface.

use futures::future::BoxFuture;
use model::{Effort, Media};
use session::{Body, Command, Event, Item, ItemId, SessionId, Totals};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The result of a slow operation. The front end never waits for it while drawing.
pub type BackendFuture<T> = BoxFuture<'static, Result<T, UserError>>;

/// An error for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UserError {
    /// The message.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// How the front end can recover.
    pub recovery: ErrorRecovery,
}

/// How the front end can recover from an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorRecovery {
    /// Not at all.
    #[default]
    Unknown,
    /// Through setup: choose a provider and enter its key.
    Setup,
}

impl UserError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        UserError {
            message: message.into(),
            hint: None,
            recovery: ErrorRecovery::Unknown,
        }
    }

    /// The message and the hint in one line.
    pub(crate) fn with_hint(&self) -> String {
        match &self.hint {
            Some(_) if self.recovery == ErrorRecovery::Setup => format!("{}; /setup stores one", self.message),
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionTarget {
    /// A new session.
    New,
    /// The newest session of the project.
    Newest,
    /// The session with this id or id prefix.
    Named(String),
    /// A copy of a session.
    Fork {
        /// The session to copy.
        session: SessionId,
        /// The last item to copy; all items if `None`.
        upto: Option<ItemId>,
    },
}

/// An open session.
pub struct OpenedSession {
    /// The session's id.
    pub id: SessionId,
    /// Sends commands to the session.
    pub commands: mpsc::Sender<Command>,
    /// Receives events from the session.
    pub events: mpsc::Receiver<Event>,
    /// Earlier items.
    pub items: Vec<Arc<Item>>,
    /// Data for display.
    pub info: SessionInfo,
    /// Notices to show first.
    pub notices: Vec<String>,
}

/// Display data of the open session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionInfo {
    /// The model as `provider/id`.
    pub model: String,
    /// The model's context window in tokens; 0 if unknown.
    pub context_window: u64,
    /// The mode.
    pub mode: String,
    /// The permission level.
    pub permission: String,
    /// Whether the user approves changes to files.
    pub edit_approval: Option<policy::ApprovalMode>,
    /// The reasoning effort; empty for the provider's default.
    pub effort: String,
    /// The effort that hew requests from this model unless the user chooses another one.
    pub default_effort: Option<Effort>,
    /// The rules files in the system prompt.
    pub rules: Vec<String>,
    /// A short description of the sandbox.
    pub sandbox: String,
    /// The project's root.
    pub root: PathBuf,
    /// The root for display, such as `~/project`.
    pub display_path: String,
    /// The session's title.
    pub title: Option<String>,
    /// Usage and cost so far.
    pub totals: Totals,
    /// The command that resumes the session.
    pub resume_command: String,
    /// Whether the last turn is unfinished.
    pub has_unfinished_turn: bool,
}

/// A model that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsableModel {
    /// The name as `provider/id`.
    pub name: String,
    /// The context window in tokens; 0 if unknown.
    pub context_window: u64,
    /// The effort that hew requests unless the user chooses another one.
    pub default_effort: Option<Effort>,
}

/// The contents of a file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersions {
    /// The file.
    pub path: PathBuf,
    /// The text before; `None` if there was none.
    pub before: Option<String>,
    /// The text after; `None` if there is none.
    pub after: Option<String>,
}

/// A model, mode or command to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PickerItem {
    /// The name.
    pub name: String,
    /// A short description.
    pub description: String,
    /// Why it cannot be chosen; `None` if it can.
    pub unavailable_reason: Option<String>,
    /// For a model in the list of models.
    pub model: Option<PickerModel>,
}

/// How a model is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PickerModel {
    /// Whether it is listed before the user searches.
    pub is_suggested: bool,
    /// Whether it has a reasoning effort.
    pub has_effort: bool,
    /// The effort that hew requests unless the user chooses another one.
    pub default_effort: Option<Effort>,
}

/// The contents of the clipboard.
#[derive(Debug, Clone, PartialEq)]
pub enum ClipboardContent {
    /// An image.
    Image(Media),
    /// Text.
    Text(String),
}

/// The kind of a piece of source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyntaxToken {
    /// A comment.
    Comment,
    /// A keyword.
    Keyword,
    /// A string or a character.
    String,
    /// A number, a boolean or another literal.
    Number,
    /// The name of a type.
    Type,
    /// The name of a function.
    Function,
    /// A constant.
    Constant,
    /// A field, a key or an attribute.
    Property,
    /// A variable or a parameter.
    Variable,
    /// An operator.
    Operator,
    /// Brackets, commas and other punctuation.
    Punctuation,
    /// A tag of a markup language.
    Tag,
}

/// The result of an operation that the session records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationResult {
    /// A confirmation for the user; empty if none is needed.
    pub message: String,
    /// The log entry to record.
    pub log_entry: Option<Body>,
}

/// Which files of the open session to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreRequest {
    /// Undo the changes of the last turn.
    Undo,
    /// Redo the changes that were undone last.
    Redo,
    /// Rewind to before a prompt.
    Rewind {
        /// The prompt's item.
        prompt: ItemId,
        /// Its text, which returns to the composer.
        text: String,
        /// What is rewound.
        scope: RewindScope,
    },
}

/// What a rewind changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindScope {
    /// The conversation and the files.
    Both,
    /// The conversation.
    Conversation,
    /// The files.
    Files,
}

/// How to restore files that were changed outside the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictChoice {
    /// Restore nothing and report them.
    Ask,
    /// Leave them unchanged.
    Keep,
    /// Overwrite them.
    Overwrite,
}

/// The result of restoring files.
#[derive(Debug, Clone, PartialEq)]
pub enum FileRestoreResult {
    /// Files were restored.
    Done {
        /// A confirmation for the user.
        message: String,
        /// The item to rewind the conversation to.
        head: Option<ItemId>,
        /// The log entry to record after that.
        log_entry: Option<Body>,
    },
    /// Nothing was restored, because these files were changed outside the session.
    Conflicts(Vec<String>),
}

/// A changed file with hunks that were not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReviewableFile {
    /// The path, relative to the project if the file is inside.
    pub path: PathBuf,
    /// `created`, `modified` or `deleted`.
    pub status: String,
    /// Why the changes cannot be shown as a diff; `None` if they can.
    pub no_diff_reason: Option<String>,
    /// The hunks from top to bottom.
    pub hunks: Vec<ReviewableHunk>,
}

/// A hunk to accept or revert.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReviewableHunk {
    /// The hunk's id.
    pub id: String,
    /// The first line in the current file, counted from 1.
    pub line: usize,
    /// The lines before.
    pub before: String,
    /// The lines now.
    pub after: String,
    /// Whether it includes edits of the user.
    pub has_user_edits: bool,
    /// Whether it can be reverted.
    pub rejectable: bool,
}

/// The decision about a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HunkDecision {
    /// Accept the change.
    Accept,
    /// Revert the change.
    Reject,
}

/// Code that was found by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeMatch {
    /// Its file, relative to the project.
    pub path: String,
    /// Its lines, such as `10-40`.
    pub lines: String,
    /// The definition that it shows; may be empty.
    pub symbol: String,
    /// Why it was found.
    pub reasons: String,
    /// Its text.
    pub text: String,
}

/// A background job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobRow {
    /// The job's number.
    pub id: u32,
    /// The command.
    pub command: String,
    /// A short description of its state.
    pub state: String,
    /// Whether it is running.
    pub running: bool,
    /// The end of its output.
    pub output: String,
}

/// A panel, which keeps live context in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PanelRow {
    /// The name.
    pub name: String,
    /// Whether it is open.
    pub is_open: bool,
}

/// The result of a command that checks a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalCheck {
    /// Whether the command succeeded.
    pub passed: bool,
    /// Its output.
    pub output: String,
}

/// An MCP or language server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerRow {
    /// `MCP` or `LSP`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// A short description of its state.
    pub state: String,
    /// Its health.
    pub health: ServerHealth,
    /// Its tools, or error messages, one per line.
    pub details: Vec<String>,
}

/// The health of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerHealth {
    /// Running.
    Good,
    /// Not needed, or not started yet.
    #[default]
    Idle,
    /// Failed.
    Bad,
}

/// A permission rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionRow {
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// The rule.
    pub rule: String,
    /// The source of the rule.
    pub origin: String,
    /// Whether and how it can be removed here.
    pub revocation: Revocation,
}

/// How a permission rule can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Revocation {
    /// It cannot be removed here.
    #[default]
    None,
    /// It is stored; the back end removes it.
    Stored,
    /// It is a grant of the running session, which revokes it.
    Session,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingRow {
    /// The key, such as `limits.steps`.
    pub key: String,
    /// The value as written; empty if it is not set.
    pub value: String,
    /// The source of the value.
    pub origin: String,
    /// The description of the setting.
    pub description: String,
    /// The possible values, if there are few.
    pub choices: Vec<String>,
}

/// A rules file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RulesFileRow {
    /// The path; relative to the project's root, or absolute.
    pub path: PathBuf,
    /// The path for display.
    pub name: String,
    /// Where it applies, and whether it is new.
    pub description: String,
}

/// A model provider, for setup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderRow {
    /// The name in the configuration.
    pub name: String,
    /// The name for display.
    pub title: String,
    /// How it can be used.
    pub access: ProviderAccess,
    /// Its models, the recommended one first.
    pub models: Vec<PickerItem>,
    /// The page where it issues keys; empty if unknown.
    pub key_page: String,
    /// An example of its address, if the address depends on the account and is not configured.
    pub address_example: Option<String>,
}

/// Where a provider's key is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStorage {
    /// The system's keyring.
    Keyring,
    /// A file that only its owner can read.
    File,
    /// Memory, until the program exits.
    Memory,
}

/// A started sign-in.
pub struct SignInPrompt {
    /// The page on which the user enters the code.
    pub page: String,
    /// The code.
    pub code: String,
    /// Completes when the user has entered the code and the tokens are stored; returns a confirmation.
    pub finished: BackendFuture<String>,
}

/// How a provider can be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProviderAccess {
    /// With a key that was found in this place.
    Key(String),
    /// With the credentials of another program, described by this text, or with a key.
    Credentials(String),
    /// Through a server on this machine.
    Local,
    /// A key is required.
    #[default]
    NeedsKey,
    /// The user must sign in, under these terms.
    SignIn(String),
    /// Not usable, with the reason.
    Absent(String),
}

impl ProviderAccess {
    /// Whether a key can be entered.
    pub(crate) fn accepts_key(&self) -> bool {
        match self {
            ProviderAccess::Key(_) | ProviderAccess::Credentials(_) | ProviderAccess::NeedsKey => true,
            ProviderAccess::Local | ProviderAccess::SignIn(_) | ProviderAccess::Absent(_) => false,
        }
    }
}
