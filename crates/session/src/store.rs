//! Where sessions are kept.

use crate::{BlobId, Item, ItemId, Record, SessionId, Time, Totals, WaitingId};
use bytes::Bytes;
use futures::future::BoxFuture;
use model::{CallId, Chunk, Message};
use std::path::PathBuf;
use std::sync::Arc;

/// Ends when what was handed over is durable. The write is under way already, whether anybody waits or not.
pub type Receipt = BoxFuture<'static, Result<(), Error>>;

/// The right to write to a session, held by one process at a time and given back when dropped.
pub type Lease = Box<dyn Send + Sync>;

/// Why a session could not be kept or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No such session.
    #[error("there is no session `{0}`")]
    Unknown(String),
    /// A shortened id that fits several sessions.
    #[error("`{prefix}` fits several sessions: {}", matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some that fit.
        matches: Vec<String>,
    },
    /// Another process writes to it.
    #[error("session {0} is open in another hew")]
    Busy(SessionId),
    /// The disk is full.
    #[error("the disk is full; nothing that was saved is lost")]
    Full,
    /// The database cannot be opened or written.
    #[error("cannot use the session database {}: {detail}", path.display())]
    Unusable {
        /// The database.
        path: PathBuf,
        /// What happened.
        detail: String,
    },
    /// The database is damaged.
    #[error("the session database {} is damaged: {detail}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The database was made by a later version of hew.
    #[error("the session database {} was made by a newer hew (format {found}; this one knows {known})", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest that this hew knows.
        known: i64,
    },
}

impl Error {
    /// What the person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Unknown(_) | Error::Ambiguous { .. } => "`hew sessions list` shows them",
            Error::Busy(_) => "end it there first, or start a new session",
            Error::Full => "free some space and run `hew resume`",
            Error::Unusable { .. } => "check the folder's permissions, or set HEW_DATA_DIR to another folder",
            Error::Damaged { .. } => "move the file away to start afresh; `hew doctor` says more",
            Error::Newer { .. } => "update hew, or set HEW_DATA_DIR to another folder",
        }
    }
}

/// What a session begins with.
#[derive(Debug, Clone)]
pub struct New {
    /// Names it.
    pub id: SessionId,
    /// The project.
    pub root: PathBuf,
    /// The model, as `provider/id`.
    pub model: String,
    /// When it began.
    pub at: Time,
    /// Where it comes from, when it is a subtask.
    pub parent: Option<Parent>,
}

/// Where a subtask comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The session that handed the work over.
    pub session: SessionId,
    /// The call with which it did.
    pub call: CallId,
}

/// What is known of a session without reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct Meta {
    /// Names it.
    pub id: SessionId,
    /// A few words on what it is about.
    pub title: Option<String>,
    /// The project.
    pub root: PathBuf,
    /// The model last used, as `provider/id`.
    pub model: String,
    /// When it began.
    pub created: Time,
    /// When something last happened.
    pub updated: Time,
    /// Tokens, money and requests so far, those of its subtasks included.
    pub totals: Totals,
    /// How many items it has, all branches together.
    pub items: u64,
    /// Where it comes from, when it is a subtask.
    pub parent: Option<Parent>,
}

/// A session as it stands.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What is known of it.
    pub meta: Meta,
    /// From the first item to the head, along one branch.
    pub items: Vec<Arc<Item>>,
    /// Prompts that had not had their turn, oldest first.
    pub waiting: Vec<Waiting>,
    /// The folders of the project besides its main one.
    pub roots: Vec<PathBuf>,
}

/// A prompt that waits for its turn: it is not part of the conversation yet, and survives a crash all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Names it.
    pub id: WaitingId,
    /// What was said.
    pub message: Message,
}

/// A session with the right to write to it.
pub struct Opened {
    /// The session as it stands, after a crash was mended.
    pub loaded: Loaded,
    /// The right to write.
    pub lease: Lease,
}

/// Keeps sessions. Calls that return a [`Receipt`] hand the write over at once and in order; the receipt says when it is durable.
pub trait Store: Send + Sync {
    /// Begins a session and takes the right to write to it. It is first visible in lists with its first item.
    fn create(&self, new: New) -> BoxFuture<'static, Result<Lease, Error>>;

    /// Opens a session to go on with it. What a crash left half-written is mended first: a reply that was still streaming
    /// becomes an item that ended [`crate::End::Interrupted`].
    fn open(&self, id: SessionId) -> BoxFuture<'static, Result<Opened, Error>>;

    /// Reads a session without the right to write.
    fn load(&self, id: SessionId) -> BoxFuture<'static, Result<Loaded, Error>>;

    /// The subtasks of a session, oldest first; not theirs.
    fn children(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<Meta>, Error>>;

    /// Finds a session by its id or the beginning of it.
    fn find(&self, prefix: &str) -> BoxFuture<'static, Result<SessionId, Error>>;

    /// The sessions of a project, or all, newest first.
    fn list(&self, root: Option<PathBuf>) -> BoxFuture<'static, Result<Vec<Meta>, Error>>;

    /// Adds an item; it becomes the head. A draft of the same id is thereby settled.
    fn append(&self, session: SessionId, item: Arc<Item>) -> Receipt;

    /// Adds the item that a waiting prompt has become, which waits no longer: both or neither.
    fn append_heard(&self, session: SessionId, item: Arc<Item>, waiting: WaitingId) -> Receipt;

    /// Keeps a prompt that waits for its turn.
    fn wait(&self, session: SessionId, waiting: Waiting) -> Receipt;

    /// Forgets a waiting prompt, because it was given back or refused.
    fn forget_waiting(&self, session: SessionId, waiting: WaitingId) -> Receipt;

    /// Says which folders the project has besides its main one.
    fn set_roots(&self, session: SessionId, roots: Vec<PathBuf>) -> Receipt;

    /// Adds what has arrived of a reply that still streams. Durable at most 100 ms later; at once where the receipt is awaited
    /// through [`Store::flush`].
    fn draft(&self, session: SessionId, reply: Draft, chunks: Vec<Chunk>);

    /// Forgets a draft, because its request is sent again.
    fn discard(&self, session: SessionId, reply: ItemId);

    /// Everything handed over so far, drafts included.
    fn flush(&self) -> Receipt;

    /// Moves the head to an earlier item, or an item of another branch.
    fn rewind(&self, session: SessionId, head: ItemId) -> Receipt;

    /// Gives the session a title.
    fn title(&self, session: SessionId, title: String) -> Receipt;

    /// Accounts for a request.
    fn record(&self, session: SessionId, record: Record) -> Receipt;

    /// The requests of the session and its subtasks, oldest first.
    fn records(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<Record>, Error>>;

    /// Keeps bytes under the name of their content.
    fn put_blob(&self, bytes: Bytes) -> BlobId;

    /// Reads bytes that were kept.
    fn get_blob(&self, id: BlobId) -> BoxFuture<'static, Result<Option<Bytes>, Error>>;

    /// Removes a session and its subtasks, their items, records and the blobs that nothing else needs.
    fn delete(&self, session: SessionId) -> BoxFuture<'static, Result<(), Error>>;
}

/// A reply that still streams.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The item that it will become.
    pub id: ItemId,
    /// The item before it.
    pub parent: Option<ItemId>,
    /// The model, as `provider/id`.
    pub model: String,
    /// The request that it answers.
    pub request: crate::RequestId,
}
