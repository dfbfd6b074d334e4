//! hew as an ACP agent: sessions for an editor, over standard input and output.

mod buffers;
mod editor_session;
mod editor_view;
mod events;
mod host;
mod options;
mod partial_edits;
mod prompt_content;
mod questions;
mod replay;
mod terminals;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use acp::schema::McpServer;
use futures::future::BoxFuture;
use policy::AccessLevel;
use session::{Change, Command, Event, Item, SessionId, SessionMeta};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// A future with an [`AcpError`].
pub type AcpFuture<T> = BoxFuture<'static, Result<T, AcpError>>;

/// Opens and manages sessions for an editor.
pub trait AcpSessions: Send + Sync {
    /// Checks whether a model is configured.
    fn ready(&self) -> AcpFuture<()>;

    /// Opens a session.
    fn open(&self, opening: OpenSessionRequest) -> AcpFuture<OpenedAcpSession>;

    /// Waits for the end of a closing session, and cleans up.
    fn close(&self, session: SessionId) -> BoxFuture<'static, ()>;

    /// Lists the sessions of a project, or all, newest first.
    fn list(&self, root: Option<PathBuf>) -> AcpFuture<Vec<SessionMeta>>;

    /// Deletes a session.
    fn delete(&self, session: SessionId) -> AcpFuture<()>;

    /// Returns the texts before and after changes, if they can be shown.
    fn contents(&self, changes: Vec<Change>) -> AcpFuture<Vec<ChangeContents>>;

    /// Returns the text of a file.
    fn text(&self, path: PathBuf) -> AcpFuture<String>;

    /// Returns the slash commands of a session.
    fn commands(&self, session: SessionId) -> AcpFuture<Vec<SelectOption>>;

    /// Expands a prompt that begins with a slash command.
    fn resolve_command(&self, session: SessionId, command: Command) -> AcpFuture<Command>;

    /// The context window of a model; 0 if unknown.
    fn window(&self, session: SessionId, model: &str) -> u64;

    /// The kind of a tool, by name.
    fn tool_kind(&self, tool: &str) -> tool::ToolKind;
}

/// A request to open a session.
pub struct OpenSessionRequest {
    /// The session.
    pub target: AcpSessionTarget,
    /// The project directory.
    pub root: PathBuf,
    /// Additional project directories.
    pub additional_roots: Vec<PathBuf>,
    /// MCP servers of this session.
    pub mcp: Vec<McpServer>,
    /// The editor's buffers, if supported.
    pub buffers: Option<Arc<dyn workspace::EditorBuffers>>,
    /// The editor's terminals, if supported.
    pub terminals: Option<Arc<dyn tool::ClientTerminals>>,
}

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcpSessionTarget {
    /// A new session.
    New,
    /// An existing session, by id.
    Named(String),
}

/// An opened session.
pub struct OpenedAcpSession {
    /// Its id.
    pub id: SessionId,
    /// The canonical project directory.
    pub root: PathBuf,
    /// Receives commands.
    pub commands: mpsc::Sender<Command>,
    /// Sends events.
    pub events: mpsc::Receiver<Event>,
    /// Its items.
    pub items: Vec<Arc<Item>>,
    /// The current mode, and all modes.
    pub modes: SelectState,
    /// The current model, and the available ones.
    pub models: SelectState,
    /// The current access level, and all levels.
    pub levels: SelectState,
    /// Messages for the user.
    pub notices: Vec<String>,
    /// Who else uses it.
    pub sharing: AcpSharing,
}

/// Who uses a session besides the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpSharing {
    /// Nobody: it ends with the editor's connection.
    Exclusive,
    /// Other front ends of a server: the editor's connection is detached, and a running turn continues.
    Shared,
}

/// A setting with its options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectState {
    /// The current option.
    pub current: String,
    /// All options.
    pub all: Vec<SelectOption>,
}

/// An option.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectOption {
    /// Its name.
    pub name: String,
    /// A one-line description.
    pub description: String,
}

/// The texts before and after a change; `None` if there is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeContents {
    /// The file, relative to the project if it is inside.
    pub path: PathBuf,
    /// The text before.
    pub before: Option<String>,
    /// The text after.
    pub after: Option<String>,
}

/// An error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpError {
    /// The message.
    pub what: String,
    /// A hint for the user.
    pub hint: Option<String>,
    /// The kind of error.
    pub kind: AcpErrorKind,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpErrorKind {
    /// An API key is missing.
    Login,
    /// The session does not exist.
    Missing,
    /// Any other error.
    Other,
}

impl std::fmt::Display for AcpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.hint {
            Some(hint) => write!(f, "{}; {hint}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Serves one editor until it disconnects. Then running turns are stopped, and sessions are closed.
///
/// The connection runs on the runtime `wire`, which must be a different one: a tool may block its thread until the
/// editor responds.
pub async fn serve(
    sessions: Arc<dyn AcpSessions>,
    wire: &Handle,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) {
    let (peer, incoming, writing) = {
        let _there = wire.enter();
        acp::connect(input, output)
    };
    host::run(sessions, peer, incoming, wire.clone()).await;
    // Queued messages are still written; a disconnected editor does not read them.
    drop(writing.await);
}

/// The permission levels up to the highest one.
pub fn permission_levels(highest: AccessLevel) -> Vec<SelectOption> {
    const LEVELS: [(&str, &str); 3] = [
        ("read-only", "Read files, but change nothing and run nothing"),
        (
            "workspace",
            "Change files of the project, and run commands in the sandbox",
        ),
        ("full", "Everything, without approval and without a sandbox"),
    ];
    let allowed = match highest {
        AccessLevel::ReadOnly => 1,
        AccessLevel::Workspace => 2,
        AccessLevel::Full => 3,
    };
    let option = |(name, description): &(&str, &str)| SelectOption {
        name: (*name).into(),
        description: (*description).into(),
    };
    LEVELS.iter().take(allowed).map(option).collect()
}
