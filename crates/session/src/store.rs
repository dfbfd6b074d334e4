//! The session store.

use crate::{BlobId, CallRecord, Item, ItemId, QueuedPromptId, RequestRecord, SessionId, Time, Totals, TurnRecord};
use bytes::Bytes;
use futures::future::BoxFuture;
use model::{CallId, Chunk, Message};
use std::path::PathBuf;
use std::sync::Arc;

/// Resolves when the write is durable. The write proceeds even if the receipt is not awaited.
pub type Receipt = BoxFuture<'static, Result<(), Error>>;

/// The exclusive right to write to a session, released on drop.
pub type Lease = Box<dyn Send + Sync>;

/// Why a session could not be stored or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No such session.
    #[error("there is no session `{0}`")]
    Unknown(String),
    /// An abbreviated id matches several sessions.
    #[error("`{prefix}` matches several sessions: {}", matches.join(", "))]
    Ambiguous {
        /// The abbreviated id.
        prefix: String,
        /// Some of the matches.
        matches: Vec<String>,
    },
    /// Another process has the session open.
    #[error("session {0} is open in another hew process")]
    Busy(SessionId),
    /// The disk is full.
    #[error("the disk is full; saved data is intact")]
    Full,
    /// The database cannot be opened or written.
    #[error("cannot use the session database {}: {detail}", path.display())]
    Unusable {
        /// The database.
        path: PathBuf,
        /// The cause.
        detail: String,
    },
    /// The database is corrupt.
    #[error("the session database {} is damaged: {detail}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The finding.
        detail: String,
    },
    /// The database was created by a newer version of hew.
    #[error("the session database {} was created by a newer version of hew (schema {found}; this version supports {known})", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest schema version that this hew supports.
        known: i64,
    },
}

impl Error {
    /// A hint for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Unknown(_) | Error::Ambiguous { .. } => "`hew sessions list` shows them",
            Error::Busy(_) => "close it there first, or start a new session",
            Error::Full => "free some space and run `hew resume`",
            Error::Unusable { .. } => "check the folder's permissions, or set HEW_DATA_DIR to another folder",
            Error::Damaged { .. } => "move the file away to start with an empty database; run `hew doctor` for details",
            Error::Newer { .. } => "update hew, or set HEW_DATA_DIR to another folder",
        }
    }
}

/// Parameters for creating a session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The id.
    pub id: SessionId,
    /// The project.
    pub root: PathBuf,
    /// The model, as `provider/id`.
    pub model: String,
    /// When it was created.
    pub at: Time,
    /// The parent, if it is a subtask.
    pub parent: Option<ParentCall>,
}

/// The call that started a subtask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentCall {
    /// The parent session.
    pub session: SessionId,
    /// The call in the parent session.
    pub call: CallId,
}

/// Session metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionMeta {
    /// The id.
    pub id: SessionId,
    /// The title.
    pub title: Option<String>,
    /// The project.
    pub root: PathBuf,
    /// The model last used, as `provider/id`.
    pub model: String,
    /// When it was created.
    pub created: Time,
    /// When the newest item was appended.
    pub updated: Time,
    /// Tokens, cost and requests, including subtasks.
    pub totals: Totals,
    /// The number of items on all branches.
    pub items: u64,
    /// The parent, if it is a subtask.
    pub parent: Option<ParentCall>,
}

/// A loaded session.
#[derive(Debug, Clone)]
pub struct LoadedSession {
    /// The metadata.
    pub meta: SessionMeta,
    /// The items from the first to the head.
    pub items: Vec<Arc<Item>>,
    /// Queued prompts, oldest first.
    pub queued: Vec<QueuedPrompt>,
    /// Additional project folders.
    pub roots: Vec<PathBuf>,
}

/// A queued prompt: not part of the conversation yet, but stored, so that a crash does not lose it.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedPrompt {
    /// The id.
    pub id: QueuedPromptId,
    /// The prompt.
    pub message: Message,
}

/// A session opened for writing.
pub struct OpenSession {
    /// The session, after crash repair.
    pub loaded: LoadedSession,
    /// The lease.
    pub lease: Lease,
}

/// Stores sessions. Methods that return a [`Receipt`] enqueue the write in order; the receipt resolves when it is
/// durable.
pub trait Store: Send + Sync {
    /// Creates a session and takes its lease. Lists include it from its first item on.
    fn create(&self, new: NewSession) -> BoxFuture<'static, Result<Lease, Error>>;

    /// Opens a session for writing. Crash repair runs first: a reply that was still streaming becomes an item that
    /// ended with [`crate::ReplyEnd::Interrupted`].
    fn open(&self, id: SessionId) -> BoxFuture<'static, Result<OpenSession, Error>>;

    /// Loads a session for reading.
    fn load(&self, id: SessionId) -> BoxFuture<'static, Result<LoadedSession, Error>>;

    /// The direct subtasks of a session, oldest first.
    fn children(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>>;

    /// Finds a session by its id or a prefix of it.
    fn find(&self, prefix: &str) -> BoxFuture<'static, Result<SessionId, Error>>;

    /// The sessions of a project, or all, newest first.
    fn list(&self, root: Option<PathBuf>) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>>;

    /// Appends an item, which becomes the head and replaces a draft with the same id.
    fn append(&self, session: SessionId, item: Arc<Item>) -> Receipt;

    /// Appends the item of a queued prompt and removes the prompt from the queue, atomically.
    fn append_queued(&self, session: SessionId, item: Arc<Item>, waiting: QueuedPromptId) -> Receipt;

    /// Stores a queued prompt.
    fn queue_prompt(&self, session: SessionId, waiting: QueuedPrompt) -> Receipt;

    /// Removes a queued prompt that was returned or refused.
    fn remove_queued(&self, session: SessionId, waiting: QueuedPromptId) -> Receipt;

    /// Sets the additional project folders.
    fn set_roots(&self, session: SessionId, roots: Vec<PathBuf>) -> Receipt;

    /// Adds received chunks of a streaming reply. Durable after at most 100 ms, or when [`Store::flush`] resolves.
    fn append_draft(&self, session: SessionId, reply: ReplyDraft, chunks: Vec<Chunk>);

    /// Deletes a draft because its request is retried.
    fn discard_draft(&self, session: SessionId, reply: ItemId);

    /// Resolves when all earlier writes are durable, including drafts.
    fn flush(&self) -> Receipt;

    /// Moves the head to another item, on any branch.
    fn rewind(&self, session: SessionId, head: ItemId) -> Receipt;

    /// Sets the title.
    fn set_title(&self, session: SessionId, title: String) -> Receipt;

    /// Records a request in the ledger.
    fn record_request(&self, session: SessionId, record: RequestRecord) -> Receipt;

    /// Records a finished turn for statistics. A store without statistics ignores it.
    fn record_turn(&self, _session: SessionId, _record: TurnRecord) {}

    /// Records a finished call for statistics. A store without statistics ignores it.
    fn record_call(&self, _session: SessionId, _record: CallRecord) {}

    /// The requests of a session and its subtasks, oldest first.
    fn request_records(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<RequestRecord>, Error>>;

    /// Stores bytes under their hash.
    fn put_blob(&self, bytes: Bytes) -> BlobId;

    /// Reads a blob.
    fn get_blob(&self, id: BlobId) -> BoxFuture<'static, Result<Option<Bytes>, Error>>;

    /// Deletes a session and its subtasks with their items, records and unshared blobs.
    fn delete(&self, session: SessionId) -> BoxFuture<'static, Result<(), Error>>;
}

/// A streaming reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyDraft {
    /// The id of the future item.
    pub id: ItemId,
    /// The preceding item.
    pub parent: Option<ItemId>,
    /// The model, as `provider/id`.
    pub model: String,
    /// The request that produces it.
    pub request: crate::RequestId,
}
