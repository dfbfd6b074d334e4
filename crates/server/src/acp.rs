//! hew as an ACP agent: sessions for an editor, over its standard input and output.

mod ask;
mod buffers;
mod growing;
mod host;
mod live;
mod offer;
mod replay;
mod say;
mod show;
mod terminals;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use acp::schema::McpServer;
use futures::future::BoxFuture;
use session::{Change, Command, Event, Item, Meta, SessionId};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// What is found out in time.
pub type Later<T> = BoxFuture<'static, Result<T, Trouble>>;

/// What stands behind the sessions: opens them and knows what is around them.
pub trait House: Send + Sync {
    /// Whether a model can be talked to; the error says what is missing.
    fn ready(&self) -> Later<()>;

    /// Starts a session.
    fn open(&self, opening: Opening) -> Later<Opened>;

    /// Waits for the end of a session that has been told to close, and cleans up after it.
    fn close(&self, session: SessionId) -> BoxFuture<'static, ()>;

    /// The sessions of a project, or all, newest first.
    fn list(&self, root: Option<PathBuf>) -> Later<Vec<Meta>>;

    /// Forgets a session.
    fn delete(&self, session: SessionId) -> Later<()>;

    /// The bytes on both sides of changes, where they are text that can be shown.
    fn contents(&self, changes: Vec<Change>) -> Later<Vec<Contents>>;

    /// The text of a file.
    fn text(&self, path: PathBuf) -> Later<String>;

    /// Slash commands of a session.
    fn commands(&self, session: SessionId) -> Later<Vec<Choice>>;

    /// What a person means by a prompt that begins with a slash.
    fn meant(&self, session: SessionId, command: Command) -> Later<Command>;

    /// How many tokens a model sees at once; 0 where nobody knows.
    fn window(&self, session: SessionId, model: &str) -> u64;
}

/// A session is wanted.
pub struct Opening {
    /// Which.
    pub which: Which,
    /// The project's folder.
    pub root: PathBuf,
    /// Further folders that belong to it.
    pub more: Vec<PathBuf>,
    /// MCP servers for this session.
    pub mcp: Vec<McpServer>,
    /// The editor's buffers, where it shows them.
    pub buffers: Option<Arc<dyn workspace::Buffers>>,
    /// The editor's terminals, where it offers them.
    pub terminals: Option<Arc<dyn tool::Terminals>>,
}

/// Which session is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// A new one.
    New,
    /// One that exists, by its id.
    Named(String),
}

/// A session that was opened.
pub struct Opened {
    /// Names it.
    pub id: SessionId,
    /// The project's folder, where it really is.
    pub root: PathBuf,
    /// Takes commands.
    pub commands: mpsc::Sender<Command>,
    /// Tells events.
    pub events: mpsc::Receiver<Event>,
    /// What has happened in it.
    pub items: Vec<Arc<Item>>,
    /// The mode it works in, and all there are.
    pub modes: Chosen,
    /// The model, and those that could be used now.
    pub models: Chosen,
    /// What is allowed without asking, and what could be.
    pub levels: Chosen,
    /// What the person should know.
    pub told: Vec<String>,
}

/// One of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The one that counts now.
    pub current: String,
    /// All there are.
    pub all: Vec<Choice>,
}

/// Something to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// What it is called.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
}

/// The texts on both sides of a change; `None` where there is no text to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The file, relative to the project where it lies inside it.
    pub path: PathBuf,
    /// Before.
    pub before: Option<String>,
    /// After.
    pub after: Option<String>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What happened.
    pub what: String,
    /// What the person can do about it.
    pub hint: Option<String>,
    /// What kind of trouble it is.
    pub kind: Kind,
}

/// What kind of trouble something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A key for the model is missing.
    Login,
    /// There is no such session.
    Missing,
    /// Anything else.
    Other,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.hint {
            Some(hint) => write!(f, "{}; {hint}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Serves one editor until it goes. Turns that run are stopped then, and sessions closed in good order.
///
/// The connection is carried by the runtime `wire`, which must not be the one this runs on: a tool may block its thread until
/// the editor has answered.
pub async fn serve(
    house: Arc<dyn House>,
    wire: &Handle,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) {
    let (peer, incoming, writing) = {
        let _there = wire.enter();
        acp::connect(input, output)
    };
    host::run(house, peer, incoming, wire.clone()).await;
    // What was said last still goes out; an editor that is gone does not read it.
    drop(writing.await);
}
