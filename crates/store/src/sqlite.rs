//! The session store on SQLite.

use crate::blob;
use crate::blob_files;
use crate::bundle::{self, TextMask};
use crate::connect;
use crate::draft_repair;
use crate::error::StoreError;
use crate::lease::Leases;
use crate::measurements::{self, Measurements, TrackedEdit};
use crate::prune::{self, VersionSelection};
use crate::queue::{PendingBlob, ReadJob, Write, WriteQueue};
use crate::read;
use crate::reader::DbReader;
use crate::subtasks;
use crate::writer::DbWriter;
use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use model::Chunk;
use rusqlite::Connection;
use session::{
    BlobId, CallRecord, Error, Item, ItemId, Lease, LoadedSession, NewSession, OpenSession, QueuedPrompt,
    QueuedPromptId, Receipt, ReplyDraft, RequestRecord, SessionId, SessionMeta, Store, SurvivalRecord, Time,
    TurnRecord,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use workspace::checkpoint::BlobDir;

/// The name of the database file.
pub(crate) const FILE: &str = "hew.db";

/// Stands for the most recently updated session.
const LAST: &str = "last";

/// Sessions in an SQLite database. Dropping it completes pending writes and closes the database.
pub struct SqliteStore {
    shared: Arc<SqliteInner>,
    writer: Option<JoinHandle<()>>,
}

struct SqliteInner {
    path: PathBuf,
    queue: Arc<WriteQueue>,
    leases: Leases,
    /// `None` for a database in memory, which the writer thread also reads.
    reader: Option<DbReader>,
}

impl SqliteStore {
    /// Opens the database in this folder; creates both if missing.
    ///
    /// Blocks on disk access: a few milliseconds for a new database, less for an existing one.
    pub fn open(folder: &Path) -> Result<SqliteStore, Error> {
        let path = folder.join(FILE);
        let connection = connect::open_writer(&path)?;
        SqliteStore::start(
            connection,
            path.clone(),
            Leases::Files(folder.join("locks")),
            Some(DbReader::new(path)),
        )
    }

    /// A database in memory.
    pub fn in_memory() -> Result<SqliteStore, Error> {
        let connection = connect::in_memory()?;
        SqliteStore::start(
            connection,
            PathBuf::from(":memory:"),
            Leases::Memory(Arc::default()),
            None,
        )
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The folder for file versions that are too many or too large for the database.
    pub fn files(&self) -> BlobDir {
        blob_files::blob_dir(&self.shared.path)
    }

    /// The items of a session, on any branch, with an id that starts or ends with `part`.
    pub fn items_like(&self, session: SessionId, part: &str) -> BoxFuture<'static, Result<Vec<ItemId>, Error>> {
        let part = part.to_ascii_lowercase();
        self.shared
            .read(move |connection, _| read::items_like(connection, session, &part))
    }

    /// The items from the first of a session to this one.
    pub fn path_to(
        &self,
        session: SessionId,
        item: ItemId,
    ) -> BoxFuture<'static, Result<Vec<std::sync::Arc<Item>>, Error>> {
        self.shared
            .read(move |connection, path| read::path_to(connection, session, item, path))
    }

    /// If file versions exceed the quota, deletes versions until they take at most three quarters of it, of the least
    /// recently used sessions first: unreferenced ones, then those that only a redo needs, then the largest files, then all. The
    /// small originals of the newest session and all versions of open sessions stay. Returns the remaining bytes.
    pub fn prune(&self, quota: u64) -> BoxFuture<'static, Result<u64, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let used = shared.read(prune::used_bytes).await?;
            if used <= quota {
                return Ok(used);
            }
            shared.read(prune::delete_orphans).await?;
            shared.write(Write::DeleteUnreferenced).await?;
            let mut used = shared.read(prune::used_bytes).await?;
            let sessions = shared.read(|connection, _| prune::sessions_by_age(connection)).await?;
            let largest = VersionSelection::Largest { bytes: 0 };
            for which in [VersionSelection::Redo, largest, VersionSelection::All] {
                let is_kept = |session: &SessionId| which == VersionSelection::All && sessions.last() == Some(session);
                for session in sessions.iter().filter(|session| !is_kept(session)).copied() {
                    if used <= quota / 4 * 3 {
                        return Ok(used);
                    }
                    // An open session may still restore its versions.
                    let Ok(_lease) = shared.leases.take(session) else {
                        continue;
                    };
                    let which = match which {
                        VersionSelection::Largest { .. } => VersionSelection::Largest {
                            bytes: used - quota / 4 * 3,
                        },
                        VersionSelection::Redo | VersionSelection::All => which,
                    };
                    shared.write(Write::ForgetVersions(session, which)).await?;
                    used = shared.read(prune::used_bytes).await?;
                }
            }
            Ok(used)
        })
    }

    /// Copies sessions to a database file of their own, which must not exist, with masked texts and without some
    /// blobs.
    pub fn export(
        &self,
        sessions: Vec<SessionId>,
        without: HashSet<BlobId>,
        to: &Path,
        mask: TextMask,
    ) -> BoxFuture<'static, Result<(), Error>> {
        let to = to.to_owned();
        self.shared.read(move |connection, path| {
            let selection = bundle::BundleSelection {
                sessions,
                without,
                mask,
            };
            bundle::export(connection, path, &selection, &to)
        })
    }

    /// Everything that was measured since then.
    pub fn measurements(&self, since: Time) -> BoxFuture<'static, Result<Measurements, Error>> {
        self.shared
            .read(move |connection, _| measurements::read(connection, since))
    }

    /// The changes of regular files by calls since then.
    pub fn tracked_edits(&self, since: Time) -> BoxFuture<'static, Result<Vec<TrackedEdit>, Error>> {
        self.shared
            .read(move |connection, _| measurements::tracked_edits(connection, since))
    }

    /// Records how much of an edit remained, unless this point was measured before.
    pub fn record_survival(&self, record: SurvivalRecord) -> Receipt {
        self.shared.write(Write::Survival(record))
    }

    /// Checks the whole database, in time proportional to its size.
    pub fn integrity(&self) -> BoxFuture<'static, Result<(), Error>> {
        self.shared.read(read::integrity)
    }

    fn start(
        connection: Connection,
        path: PathBuf,
        leases: Leases,
        reader: Option<DbReader>,
    ) -> Result<SqliteStore, Error> {
        let queue = Arc::new(WriteQueue::default());
        let writer = DbWriter::new(connection, Arc::clone(&queue), path.clone());
        let thread = Builder::new()
            .name("store-writer".into())
            .spawn(move || writer.run())
            .map_err(|error| Error::Unusable {
                path: path.clone(),
                detail: error.to_string(),
            })?;
        let shared = Arc::new(SqliteInner {
            path,
            queue,
            leases,
            reader,
        });
        Ok(SqliteStore {
            shared,
            writer: Some(thread),
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The writer closes last: SQLite then checkpoints and removes the log.
        if let Some(reader) = &self.shared.reader {
            reader.close();
        }
        self.shared.queue.close();
        if let Some(writer) = self.writer.take() {
            writer.join().unwrap_or_default();
        }
    }
}

impl Store for SqliteStore {
    fn create(&self, new: NewSession) -> BoxFuture<'static, Result<Lease, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let lease = shared.leases.take(new.id)?;
            shared.write(Write::Create(new)).await?;
            Ok(lease)
        })
    }

    fn open(&self, id: SessionId) -> BoxFuture<'static, Result<OpenSession, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let lease = shared.leases.take(id)?;
            shared.write(Write::RepairDrafts(id)).await?;
            let loaded = shared.load(id).await?;
            Ok(OpenSession { loaded, lease })
        })
    }

    fn load(&self, id: SessionId) -> BoxFuture<'static, Result<LoadedSession, Error>> {
        self.shared.load(id)
    }

    fn find(&self, prefix: &str) -> BoxFuture<'static, Result<SessionId, Error>> {
        let prefix = prefix.trim().to_owned();
        self.shared.read(move |connection, _| match prefix.as_str() {
            LAST => read::last(connection),
            prefix => read::find(connection, prefix),
        })
    }

    fn list(&self, root: Option<PathBuf>) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>> {
        self.shared.read(move |connection, _| read::list(connection, root))
    }

    fn children(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>> {
        self.shared
            .read(move |connection, _| subtasks::children(connection, session))
    }

    fn append(&self, session: SessionId, item: Arc<Item>) -> Receipt {
        let queued = None;
        self.shared.write(Write::Append { session, item, queued })
    }

    fn append_queued(&self, session: SessionId, item: Arc<Item>, waiting: QueuedPromptId) -> Receipt {
        let queued = Some(waiting);
        self.shared.write(Write::Append { session, item, queued })
    }

    fn queue_prompt(&self, session: SessionId, waiting: QueuedPrompt) -> Receipt {
        self.shared.write(Write::QueuePrompt {
            session,
            prompt: waiting,
        })
    }

    fn remove_queued(&self, session: SessionId, waiting: QueuedPromptId) -> Receipt {
        self.shared.write(Write::RemoveQueued {
            session,
            prompt: waiting,
        })
    }

    fn set_roots(&self, session: SessionId, roots: Vec<PathBuf>) -> Receipt {
        self.shared.write(Write::Roots { session, roots })
    }

    fn append_draft(&self, session: SessionId, reply: ReplyDraft, chunks: Vec<Chunk>) {
        self.shared.queue.draft(session, reply, chunks);
    }

    fn discard_draft(&self, session: SessionId, reply: ItemId) {
        self.shared
            .queue
            .write_without_receipt(Write::Discard { session, reply });
    }

    fn flush(&self) -> Receipt {
        self.shared.write(Write::Flush)
    }

    fn rewind(&self, session: SessionId, head: ItemId) -> Receipt {
        self.shared.write(Write::Rewind { session, head })
    }

    fn set_title(&self, session: SessionId, title: String) -> Receipt {
        self.shared.write(Write::Title { session, title })
    }

    fn record_request(&self, session: SessionId, record: RequestRecord) -> Receipt {
        let record = Box::new(record);
        self.shared.write(Write::Record { session, record })
    }

    fn record_turn(&self, session: SessionId, record: TurnRecord) {
        self.shared.queue.write_without_receipt(Write::Turn { session, record });
    }

    fn record_call(&self, session: SessionId, record: CallRecord) {
        let record = Box::new(record);
        self.shared.queue.write_without_receipt(Write::Call { session, record });
    }

    fn request_records(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<RequestRecord>, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            // If no process has the session open, its drafts belong to requests that were in flight when one was killed.
            let lease = shared.leases.take(session).ok();
            let is_abandoned = lease.is_some();
            let records = shared.read(move |connection, _| {
                let mut records = read::records(connection, session)?;
                if is_abandoned {
                    let mut drafts = draft_repair::records(connection, session)?;
                    drafts.retain(|draft| !records.iter().any(|record| record.id == draft.id));
                    records.extend(drafts);
                }
                Ok(records)
            });
            let records = records.await;
            drop(lease);
            records
        })
    }

    fn put_blob(&self, bytes: Bytes) -> BlobId {
        let id = blob::name(&bytes);
        self.shared.queue.blob(PendingBlob { id: id.clone(), bytes });
        id
    }

    fn get_blob(&self, id: BlobId) -> BoxFuture<'static, Result<Option<Bytes>, Error>> {
        self.shared
            .read(move |connection, path| read::bytes(connection, &id, path))
    }

    fn delete(&self, session: SessionId) -> BoxFuture<'static, Result<(), Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let tree = shared
                .read(move |connection, _| Ok(subtasks::with_descendants(connection, session)?))
                .await?;
            let taken = tree.into_iter().map(|session| shared.leases.take(session));
            let _leases: Vec<Lease> = taken.collect::<Result<_, _>>()?;
            shared.write(Write::Delete(session)).await
        })
    }
}

impl SqliteInner {
    fn write(&self, write: Write) -> Receipt {
        let outcome = self.queue.write(write);
        let queue = Arc::clone(&self.queue);
        let path = self.path.clone();
        Box::pin(async move {
            queue.expedite();
            outcome.await.unwrap_or_else(|_| Err(closed_error(path)))
        })
    }

    fn load(self: &Arc<Self>, id: SessionId) -> BoxFuture<'static, Result<LoadedSession, Error>> {
        self.read(move |connection, path| read::load(connection, id, path))
    }

    /// Reads after all earlier writes.
    fn read<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Connection, &Path) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let shared = Arc::clone(self);
        Box::pin(async move {
            if !shared.queue.is_idle() {
                // Write errors are returned to their callers; existing data can still be read.
                shared.write(Write::Flush).await.unwrap_or_default();
            }
            let (answer, receiver) = oneshot::channel();
            let path = shared.path.clone();
            let job: ReadJob = Box::new(move |connection| {
                let outcome = connection
                    .and_then(|connection| question(connection, &path).map_err(|f| f.to_session_error(&path)));
                // The caller may have stopped waiting.
                answer.send(outcome).ok();
            });
            match &shared.reader {
                Some(reader) => reader.read(job),
                None => shared.queue.read(job),
            }
            receiver
                .await
                .unwrap_or_else(|_| Err(closed_error(shared.path.clone())))
        })
    }
}

fn closed_error(path: PathBuf) -> Error {
    Error::Unusable {
        path,
        detail: "it was closed".into(),
    }
}
