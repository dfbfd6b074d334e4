//! A store in memory that records the order of operations.

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use model::Chunk;
use session::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// New sessions and their items.
type Subtasks = HashMap<SessionId, (NewSession, Vec<Arc<Item>>)>;

#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) items: Mutex<Vec<Arc<Item>>>,
    /// The sessions created by subtasks: their parameters, items and leases.
    pub(crate) subtasks: Mutex<Subtasks>,
    pub(crate) taken: Arc<Mutex<Vec<SessionId>>>,
    pub(crate) records: Mutex<Vec<RequestRecord>>,
    pub(crate) titles: Mutex<Vec<String>>,
    pub(crate) drafts: Mutex<Vec<(ItemId, Vec<Chunk>)>>,
    pub(crate) blobs: Mutex<Vec<Bytes>>,
    pub(crate) waiting: Mutex<Vec<QueuedPrompt>>,
    /// The operations, such as `append Reply`, `flush`, `tool write`.
    pub(crate) log: Mutex<Vec<String>>,
    /// From this append on, counted from 1, all fail.
    pub(crate) full_from: Mutex<Option<usize>>,
    /// Delays the durability of results.
    held: Mutex<Option<Arc<Semaphore>>>,
}

impl Memory {
    pub(crate) fn note(&self, text: impl Into<String>) {
        self.log.lock().unwrap().push(text.into());
    }

    /// Delays the durability of results until the gate opens.
    pub(crate) fn hold_results(&self, gate: Arc<Semaphore>) {
        *self.held.lock().unwrap() = Some(gate);
    }
}

struct Held(SessionId, Arc<Mutex<Vec<SessionId>>>);

impl Drop for Held {
    fn drop(&mut self) {
        self.1.lock().unwrap().retain(|id| *id != self.0);
    }
}

impl Memory {
    fn lease(&self, id: SessionId) -> Result<Lease, Error> {
        let mut taken = self.taken.lock().unwrap();
        if taken.contains(&id) {
            return Err(Error::Busy(id));
        }
        taken.push(id);
        Ok(Box::new(Held(id, Arc::clone(&self.taken))))
    }
}

fn meta(new: &NewSession, items: &[Arc<Item>]) -> SessionMeta {
    SessionMeta {
        id: new.id,
        title: None,
        root: new.root.clone(),
        model: new.model.clone(),
        created: new.at,
        updated: new.at,
        totals: Totals::default(),
        items: items.len() as u64,
        parent: new.parent.clone(),
    }
}

fn done() -> Receipt {
    async { Ok(()) }.boxed()
}

impl Store for Memory {
    fn create(&self, new: NewSession) -> BoxFuture<'static, Result<Lease, Error>> {
        let lease = self.lease(new.id).unwrap();
        self.subtasks.lock().unwrap().insert(new.id, (new, Vec::new()));
        async { Ok(lease) }.boxed()
    }

    fn open(&self, id: SessionId) -> BoxFuture<'static, Result<OpenSession, Error>> {
        let opened = match self.subtasks.lock().unwrap().get(&id) {
            Some((new, items)) => self.lease(id).map(|lease| OpenSession {
                loaded: LoadedSession {
                    meta: meta(new, items),
                    items: items.clone(),
                    queued: Vec::new(),
                    roots: Vec::new(),
                },
                lease,
            }),
            None => Err(Error::Unknown(id.to_string())),
        };
        async move { opened }.boxed()
    }

    fn children(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>> {
        let subtasks = self.subtasks.lock().unwrap();
        let mut children: Vec<SessionMeta> = subtasks
            .values()
            .filter(|(new, items)| !items.is_empty() && new.parent.as_ref().is_some_and(|it| it.session == session))
            .map(|(new, items)| meta(new, items))
            .collect();
        children.sort_by_key(|meta| meta.id);
        async { Ok(children) }.boxed()
    }

    fn load(&self, id: SessionId) -> BoxFuture<'static, Result<LoadedSession, Error>> {
        async move { Err(Error::Unknown(id.to_string())) }.boxed()
    }

    fn find(&self, prefix: &str) -> BoxFuture<'static, Result<SessionId, Error>> {
        let subtasks = self.subtasks.lock().unwrap();
        let found = subtasks.keys().find(|id| id.to_string().starts_with(prefix)).copied();
        let found = found.ok_or(Error::Unknown(prefix.to_string()));
        async move { found }.boxed()
    }

    fn list(&self, _: Option<PathBuf>) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn append_queued(&self, session: SessionId, item: Arc<Item>, waiting: QueuedPromptId) -> Receipt {
        self.waiting.lock().unwrap().retain(|other| other.id != waiting);
        self.append(session, item)
    }

    fn queue_prompt(&self, _: SessionId, waiting: QueuedPrompt) -> Receipt {
        self.waiting.lock().unwrap().push(waiting);
        done()
    }

    fn remove_queued(&self, _: SessionId, waiting: QueuedPromptId) -> Receipt {
        self.waiting.lock().unwrap().retain(|other| other.id != waiting);
        done()
    }

    fn set_roots(&self, _: SessionId, _: Vec<PathBuf>) -> Receipt {
        done()
    }

    fn append(&self, session: SessionId, item: Arc<Item>) -> Receipt {
        if let Some((_, items)) = self.subtasks.lock().unwrap().get_mut(&session) {
            assert_eq!(item.parent, items.last().map(|last| last.id), "the log is one chain");
            items.push(item);
            return done();
        }
        let mut items = self.items.lock().unwrap();
        if self
            .full_from
            .lock()
            .unwrap()
            .is_some_and(|from| items.len() + 1 >= from)
        {
            return async { Err(Error::Full) }.boxed();
        }
        let kind = match &item.body {
            Body::Prompt { .. } => "prompt",
            Body::Reply { .. } => "reply",
            Body::Result { .. } => "result",
            Body::Summary { .. } => "summary",
            Body::Notice { .. } => "notice",
            Body::Notification { .. } => "notification",
            Body::Todos { .. } => "todos",
            Body::Panels { .. } => "panels",
            Body::Review { .. } => "review",
            Body::Restored { .. } => "restored",
            Body::Mode { .. } => "mode",
        };
        self.note(format!("append {kind}"));
        assert_eq!(item.parent, items.last().map(|last| last.id), "the log is one chain");
        items.push(item);
        let held = self.held.lock().unwrap().clone().filter(|_| kind == "result");
        // Durable a moment later, so that an interruption can happen in between.
        async move {
            if let Some(gate) = held {
                gate.acquire().await.unwrap().forget();
            }
            tokio::task::yield_now().await;
            Ok(())
        }
        .boxed()
    }

    fn append_draft(&self, _: SessionId, reply: ReplyDraft, chunks: Vec<Chunk>) {
        self.drafts.lock().unwrap().push((reply.id, chunks));
    }

    fn discard_draft(&self, _: SessionId, reply: ItemId) {
        self.drafts.lock().unwrap().retain(|(id, _)| *id != reply);
    }

    fn flush(&self) -> Receipt {
        self.note("flush");
        done()
    }

    fn rewind(&self, _: SessionId, head: ItemId) -> Receipt {
        let mut items = self.items.lock().unwrap();
        let place = items.iter().position(|item| item.id == head).unwrap();
        items.truncate(place + 1);
        done()
    }

    fn set_title(&self, _: SessionId, title: String) -> Receipt {
        self.titles.lock().unwrap().push(title);
        done()
    }

    fn record_request(&self, _: SessionId, record: RequestRecord) -> Receipt {
        self.records.lock().unwrap().push(record);
        done()
    }

    fn request_records(&self, _: SessionId) -> BoxFuture<'static, Result<Vec<RequestRecord>, Error>> {
        let records = self.records.lock().unwrap().clone();
        async move { Ok(records) }.boxed()
    }

    fn put_blob(&self, bytes: Bytes) -> BlobId {
        let mut blobs = self.blobs.lock().unwrap();
        blobs.push(bytes);
        BlobId(format!("blob{}", blobs.len()).into())
    }

    fn get_blob(&self, _: BlobId) -> BoxFuture<'static, Result<Option<Bytes>, Error>> {
        async { Ok(None) }.boxed()
    }

    fn delete(&self, _: SessionId) -> BoxFuture<'static, Result<(), Error>> {
        async { Ok(()) }.boxed()
    }
}
