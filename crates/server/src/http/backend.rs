//! The interface between the HTTP server and the program that runs sessions.

use super::types::{
    ChangedFileRow, CommandRow, FileTextsRow, FoundCode, JobInfo, ModeChoice, ModelRow, OperationReport, PanelInfo,
    PermissionRuleRow, RestoreOrder, RestoreReportRow, RulesFileInfo, SearchHit, ServerInfo, SessionSettings,
    SettingInfo, TokenSpan,
};
use futures::future::BoxFuture;
use session::{Body, Change, Command, Event, ItemId, LoadedSession, RequestRecord, SessionId, SessionMeta};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A future with a [`WebError`].
pub type WebFuture<T> = BoxFuture<'static, Result<T, WebError>>;

/// An error for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WebError {
    /// The message.
    pub message: String,
    /// A hint for the user.
    pub hint: Option<String>,
    /// The kind of error.
    pub kind: WebErrorKind,
}

/// The kind of an error, which determines the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebErrorKind {
    /// The request is invalid.
    Invalid,
    /// It is not allowed.
    Forbidden,
    /// The session, item or file does not exist.
    NotFound,
    /// Another process has the session open.
    Busy,
    /// Too many requests.
    TooMany,
    /// Anything else.
    Failed,
}

impl WebError {
    /// An error without a hint.
    pub fn new(kind: WebErrorKind, message: impl Into<String>) -> Self {
        WebError {
            message: message.into(),
            hint: None,
            kind,
        }
    }

    /// An invalid request.
    pub fn invalid(message: impl Into<String>) -> Self {
        WebError::new(WebErrorKind::Invalid, message)
    }
}

impl From<session::Error> for WebError {
    fn from(error: session::Error) -> Self {
        let kind = match &error {
            session::Error::Unknown(_) | session::Error::Ambiguous { .. } => WebErrorKind::NotFound,
            session::Error::Busy(_) => WebErrorKind::Busy,
            session::Error::Full
            | session::Error::Unusable { .. }
            | session::Error::Damaged { .. }
            | session::Error::Newer { .. } => WebErrorKind::Failed,
        };
        WebError {
            message: error.to_string(),
            hint: Some(error.hint().into()),
            kind,
        }
    }
}

/// Lists, loads, opens and changes sessions.
pub trait WebSessions: Send + Sync {
    /// The sessions of a project, or all, newest first, without subtasks.
    fn list(&self, root: Option<PathBuf>) -> WebFuture<Vec<SessionMeta>>;

    /// Finds a session by its id or a prefix of it.
    fn find(&self, prefix: String) -> WebFuture<SessionId>;

    /// Loads a session without opening it.
    fn load(&self, session: SessionId) -> WebFuture<LoadedSession>;

    /// Opens a session: a stored one, or a new one in a project.
    fn open(&self, target: WebTarget) -> WebFuture<OpenedWebSession>;

    /// Copies a session, up to an item; returns the copy.
    fn fork(&self, session: SessionId, upto: Option<ItemId>) -> WebFuture<SessionId>;

    /// Deletes a session that is not open.
    fn delete(&self, session: SessionId) -> WebFuture<()>;

    /// Sets the title of a session.
    fn rename(&self, session: SessionId, title: String) -> WebFuture<()>;

    /// A session as a document.
    fn export(&self, session: SessionId, format: WebExportFormat) -> WebFuture<String>;

    /// The requests of a session.
    fn records(&self, session: SessionId) -> WebFuture<Vec<RequestRecord>>;

    /// Searches the text of all sessions.
    fn search(&self, query: String) -> WebFuture<Vec<SearchHit>>;

    /// The texts before and after changes, as far as they are text.
    fn texts(&self, changes: Vec<Change>) -> WebFuture<Vec<FileTextsRow>>;

    /// Highlights source text; `None` if the language is unknown.
    fn highlight(&self, language: String, text: String) -> WebFuture<Option<Vec<TokenSpan>>>;

    /// The project of new sessions.
    fn default_root(&self) -> PathBuf;

    /// The Unix socket of the process that has the session open, if it is another one.
    fn holder(&self, session: SessionId) -> Option<PathBuf>;

    /// Publishes a session of this process to other processes, until the result is dropped.
    fn publish(&self, session: SessionId) -> Option<PublishedSession>;

    /// Completes text at a cursor with the model for edit predictions.
    fn complete(&self, query: CompletionQuery) -> WebFuture<TextCompletion>;

    /// The kind of a tool, by name.
    fn tool_kind(&self, tool: &str) -> tool::ToolKind;

    /// Checks whether a model is configured.
    fn ready(&self) -> WebFuture<()>;
}

/// What to complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionQuery {
    /// The text before the cursor, or a prompt with the markers of a FIM model.
    pub prompt: String,
    /// The text after the cursor.
    pub suffix: Option<String>,
    /// The maximum number of tokens of the answer.
    pub max_tokens: Option<usize>,
}

/// The text to insert at a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCompletion {
    /// The model.
    pub model: String,
    /// The text.
    pub text: String,
    /// Whether the token limit ended it.
    pub is_truncated: bool,
}

/// The listening socket of a session, and the value that removes it.
pub struct PublishedSession {
    /// Accepts connections.
    pub listener: std::os::unix::net::UnixListener,
    /// Removes the socket when dropped.
    pub cleanup: Box<dyn Send + Sync>,
}

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebTarget {
    /// A new session in a project.
    New {
        /// The project; the default one if `None`.
        root: Option<PathBuf>,
    },
    /// A stored session.
    Stored(SessionId),
}

/// The format of an exported session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebExportFormat {
    /// Markdown.
    Markdown,
    /// JSON.
    Json,
}

/// An opened session.
pub struct OpenedWebSession {
    /// Its id.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// Receives commands.
    pub commands: mpsc::Sender<Command>,
    /// Sends events.
    pub events: mpsc::Receiver<Event>,
    /// The newest item.
    pub head: Option<ItemId>,
    /// The model, the mode and so on.
    pub settings: SessionSettings,
    /// The highest permission level that clients may select.
    pub max_level: policy::AccessLevel,
    /// Whether the last turn is unfinished.
    pub has_unfinished_turn: bool,
    /// Messages for the user.
    pub notices: Vec<String>,
    /// Data about the session and its project.
    pub services: Arc<dyn SessionServices>,
}

/// Data about an open session and its project, and operations that are no commands.
pub trait SessionServices: Send + Sync {
    /// Paths of the project's files.
    fn files(&self) -> WebFuture<Arc<Vec<String>>>;

    /// Names that the project's code defines.
    fn symbols(&self) -> WebFuture<Arc<Vec<String>>>;

    /// The code that is about these words, best first.
    fn search_code(&self, words: String) -> WebFuture<Vec<FoundCode>>;

    /// The rules files that new sessions read, and those that can be created.
    fn rules_files(&self) -> WebFuture<Vec<RulesFileInfo>>;

    /// The text of a file of the project.
    fn read_file(&self, path: PathBuf) -> WebFuture<String>;

    /// The available models.
    fn models(&self) -> WebFuture<Vec<ModelRow>>;

    /// The context window of a model; fails if it cannot be used.
    fn context_window(&self, model: String) -> WebFuture<u64>;

    /// The modes.
    fn modes(&self) -> WebFuture<Vec<ModeChoice>>;

    /// The slash commands: custom ones, prompts of MCP servers, and the built-in ones of the terminal.
    fn commands(&self) -> WebFuture<Vec<CommandRow>>;

    /// Expands a prompt with a slash command of an MCP server.
    fn expand(&self, command: Command) -> WebFuture<Command>;

    /// The unreviewed changes.
    fn changes(&self) -> WebFuture<Vec<ChangedFileRow>>;

    /// Accepts and rejects hunks by id; returns a message, and the item to record.
    fn review(&self, accept: Vec<String>, reject: Vec<String>) -> WebFuture<(String, Option<Body>)>;

    /// Restores files.
    fn restore(&self, order: RestoreOrder) -> WebFuture<RestoredFiles>;

    /// Background jobs.
    fn jobs(&self) -> WebFuture<Vec<JobInfo>>;

    /// Stops a job.
    fn stop_job(&self, id: u32) -> WebFuture<OperationReport>;

    /// Moves the running command to the background; returns whether there was one.
    fn move_to_background(&self) -> bool;

    /// The panels.
    fn panels(&self) -> WebFuture<Vec<PanelInfo>>;

    /// Opens or closes a panel.
    fn set_panel(&self, panel: PanelInfo) -> WebFuture<OperationReport>;

    /// MCP and language servers.
    fn servers(&self) -> WebFuture<Vec<ServerInfo>>;

    /// Permission rules.
    fn permissions(&self) -> WebFuture<Vec<PermissionRuleRow>>;

    /// Removes a stored rule.
    fn revoke(&self, rule: String) -> WebFuture<OperationReport>;

    /// The configuration.
    fn settings(&self) -> WebFuture<Vec<SettingInfo>>;

    /// Checks the configuration and the providers.
    fn doctor(&self) -> WebFuture<OperationReport>;

    /// Releases the session. Its commands channel is closed before.
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// The result of restoring files.
#[derive(Debug, Clone, PartialEq)]
pub enum RestoredFiles {
    /// Nothing was restored, because of conflicts.
    Conflicts(RestoreReportRow),
    /// Files were restored.
    Done {
        /// A confirmation.
        message: String,
        /// The item to rewind the conversation to.
        head: Option<ItemId>,
        /// The item to record after that.
        log_entry: Option<Body>,
    },
}
