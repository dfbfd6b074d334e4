//! The store on SQLite.

use crate::blob;
use crate::connect;
use crate::fault::Fault;
use crate::files;
use crate::lease::Leases;
use crate::prune;
use crate::queue::{Blob, Job, Queue, Write};
use crate::read;
use crate::reader::Reader;
use crate::subtasks;
use crate::writer::Writer;
use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use model::Chunk;
use rusqlite::Connection;
use session::{
    BlobId, Draft, Error, Item, ItemId, Lease, Loaded, Meta, New, Opened, Receipt, Record, SessionId, Store, Waiting,
    WaitingId,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use workspace::checkpoint::Depot;

/// The database within its folder.
const FILE: &str = "hew.db";

/// The session last worked on, in place of an id.
const LAST: &str = "last";

/// Sessions in an SQLite database. Dropping it writes what was handed over and closes the database.
pub struct Sqlite {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    path: PathBuf,
    queue: Arc<Queue>,
    leases: Leases,
    /// `None` where the writer reads as well, because nobody else can see the database.
    reader: Option<Reader>,
}

impl Sqlite {
    /// Opens the database in this folder, and makes both where they do not exist.
    ///
    /// This touches the disk: a few milliseconds for a new database, less for one that is there.
    pub fn open(folder: &Path) -> Result<Sqlite, Error> {
        let path = folder.join(FILE);
        let connection = connect::writing(&path)?;
        Sqlite::start(
            connection,
            path.clone(),
            Leases::Files(folder.join("locks")),
            Some(Reader::new(path)),
        )
    }

    /// A database that is gone when dropped.
    pub fn in_memory() -> Result<Sqlite, Error> {
        let connection = connect::in_memory()?;
        Sqlite::start(
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

    /// Where contents of files are kept that are too many or too large for the database.
    pub fn files(&self) -> Depot {
        files::beside(&self.shared.path)
    }

    /// The items of a session, on any branch, whose ids begin or end like this.
    pub fn items_like(&self, session: SessionId, part: &str) -> BoxFuture<'static, Result<Vec<ItemId>, Error>> {
        let part = part.to_ascii_lowercase();
        self.shared
            .read(move |connection, _| read::items_like(connection, session, &part))
    }

    /// From the first item of a session to this one, along one branch.
    pub fn path_to(
        &self,
        session: SessionId,
        item: ItemId,
    ) -> BoxFuture<'static, Result<Vec<std::sync::Arc<Item>>, Error>> {
        self.shared
            .read(move |connection, path| read::path_to(connection, session, item, path))
    }

    /// Forgets versions of files until they take at most three quarters of the quota, if they take more than all of it: first
    /// those that no session names, then those of the sessions that were worked on longest ago and are not open. What is
    /// left takes so many bytes.
    pub fn prune(&self, quota: u64) -> BoxFuture<'static, Result<u64, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let used = shared.read(prune::used).await?;
            if used <= quota {
                return Ok(used);
            }
            shared.read(prune::orphans).await?;
            shared.write(Write::Unnamed).await?;
            let mut used = shared.read(prune::used).await?;
            let sessions = shared.read(|connection, _| prune::oldest(connection)).await?;
            for session in sessions {
                if used <= quota / 4 * 3 {
                    break;
                }
                // A session that is open somewhere may want its versions back.
                let Ok(_lease) = shared.leases.take(session) else {
                    continue;
                };
                shared.write(Write::Forget(session)).await?;
                used = shared.read(prune::used).await?;
            }
            Ok(used)
        })
    }

    /// Reads the whole database and checks that it is sound. This takes time in proportion to its size.
    pub fn integrity(&self) -> BoxFuture<'static, Result<(), Error>> {
        self.shared.read(read::integrity)
    }

    fn start(connection: Connection, path: PathBuf, leases: Leases, reader: Option<Reader>) -> Result<Sqlite, Error> {
        let queue = Arc::new(Queue::default());
        let writer = Writer::new(connection, Arc::clone(&queue), path.clone());
        let thread = Builder::new()
            .name("store-writer".into())
            .spawn(move || writer.run())
            .map_err(|error| Error::Unusable {
                path: path.clone(),
                detail: error.to_string(),
            })?;
        let shared = Arc::new(Shared {
            path,
            queue,
            leases,
            reader,
        });
        Ok(Sqlite {
            shared,
            writer: Some(thread),
        })
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // The writer closes last: SQLite then copies the log back and removes it.
        if let Some(reader) = &self.shared.reader {
            reader.close();
        }
        self.shared.queue.close();
        if let Some(writer) = self.writer.take() {
            writer.join().unwrap_or_default();
        }
    }
}

impl Store for Sqlite {
    fn create(&self, new: New) -> BoxFuture<'static, Result<Lease, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let lease = shared.leases.take(new.id)?;
            shared.write(Write::Create(new)).await?;
            Ok(lease)
        })
    }

    fn open(&self, id: SessionId) -> BoxFuture<'static, Result<Opened, Error>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let lease = shared.leases.take(id)?;
            shared.write(Write::Mend(id)).await?;
            let loaded = shared.load(id).await?;
            Ok(Opened { loaded, lease })
        })
    }

    fn load(&self, id: SessionId) -> BoxFuture<'static, Result<Loaded, Error>> {
        self.shared.load(id)
    }

    fn find(&self, prefix: &str) -> BoxFuture<'static, Result<SessionId, Error>> {
        let prefix = prefix.trim().to_owned();
        self.shared.read(move |connection, _| match prefix.as_str() {
            LAST => read::last(connection),
            prefix => read::find(connection, prefix),
        })
    }

    fn list(&self, root: Option<PathBuf>) -> BoxFuture<'static, Result<Vec<Meta>, Error>> {
        self.shared.read(move |connection, _| read::list(connection, root))
    }

    fn children(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<Meta>, Error>> {
        self.shared
            .read(move |connection, _| subtasks::children(connection, session))
    }

    fn append(&self, session: SessionId, item: Arc<Item>) -> Receipt {
        let heard = None;
        self.shared.write(Write::Append { session, item, heard })
    }

    fn append_heard(&self, session: SessionId, item: Arc<Item>, waiting: WaitingId) -> Receipt {
        let heard = Some(waiting);
        self.shared.write(Write::Append { session, item, heard })
    }

    fn wait(&self, session: SessionId, waiting: Waiting) -> Receipt {
        self.shared.write(Write::Wait { session, waiting })
    }

    fn forget_waiting(&self, session: SessionId, waiting: WaitingId) -> Receipt {
        self.shared.write(Write::ForgetWaiting { session, waiting })
    }

    fn set_roots(&self, session: SessionId, roots: Vec<PathBuf>) -> Receipt {
        self.shared.write(Write::Roots { session, roots })
    }

    fn draft(&self, session: SessionId, reply: Draft, chunks: Vec<Chunk>) {
        self.shared.queue.draft(session, reply, chunks);
    }

    fn discard(&self, session: SessionId, reply: ItemId) {
        self.shared.queue.write_unheard(Write::Discard { session, reply });
    }

    fn flush(&self) -> Receipt {
        self.shared.write(Write::Flush)
    }

    fn rewind(&self, session: SessionId, head: ItemId) -> Receipt {
        self.shared.write(Write::Rewind { session, head })
    }

    fn title(&self, session: SessionId, title: String) -> Receipt {
        self.shared.write(Write::Title { session, title })
    }

    fn record(&self, session: SessionId, record: Record) -> Receipt {
        let record = Box::new(record);
        self.shared.write(Write::Record { session, record })
    }

    fn records(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.shared
            .read(move |connection, _| read::records(connection, session))
    }

    fn put_blob(&self, bytes: Bytes) -> BlobId {
        let id = blob::name(&bytes);
        self.shared.queue.blob(Blob { id: id.clone(), bytes });
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
                .read(move |connection, _| Ok(subtasks::tree(connection, session)?))
                .await?;
            let taken = tree.into_iter().map(|session| shared.leases.take(session));
            let _leases: Vec<Lease> = taken.collect::<Result<_, _>>()?;
            shared.write(Write::Delete(session)).await
        })
    }
}

impl Shared {
    fn write(&self, write: Write) -> Receipt {
        let outcome = self.queue.write(write);
        let queue = Arc::clone(&self.queue);
        let path = self.path.clone();
        Box::pin(async move {
            queue.hurry();
            outcome.await.unwrap_or_else(|_| Err(stopped(path)))
        })
    }

    fn load(self: &Arc<Self>, id: SessionId) -> BoxFuture<'static, Result<Loaded, Error>> {
        self.read(move |connection, path| read::load(connection, id, path))
    }

    /// Reads after all that was handed over before.
    fn read<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Connection, &Path) -> Result<T, Fault> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let shared = Arc::clone(self);
        Box::pin(async move {
            if !shared.queue.is_settled() {
                // What cannot be written is told to whoever wrote it; what is there can be read all the same.
                shared.write(Write::Flush).await.unwrap_or_default();
            }
            let (answer, told) = oneshot::channel();
            let path = shared.path.clone();
            let job: Job = Box::new(move |connection| {
                let outcome = connection.and_then(|connection| question(connection, &path).map_err(|f| f.told(&path)));
                // Whoever asked may have gone.
                answer.send(outcome).ok();
            });
            match &shared.reader {
                Some(reader) => reader.read(job),
                None => shared.queue.read(job),
            }
            told.await.unwrap_or_else(|_| Err(stopped(shared.path.clone())))
        })
    }
}

fn stopped(path: PathBuf) -> Error {
    Error::Unusable {
        path,
        detail: "it was closed".into(),
    }
}
