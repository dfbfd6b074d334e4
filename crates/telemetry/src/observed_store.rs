//! A store that reports what is stored to telemetry.

use crate::exporter::{SessionSignal, Telemetry};
use bytes::Bytes;
use futures::future::BoxFuture;
use model::Chunk;
use session::{
    BlobId, CallRecord, Error, Item, ItemId, Lease, LoadedSession, NewSession, OpenSession, QueuedPrompt,
    QueuedPromptId, Receipt, ReplyDraft, RequestRecord, SessionId, SessionMeta, Store, TurnRecord,
};
use std::path::PathBuf;
use std::sync::Arc;

/// Forwards everything to another store and reports records and items to telemetry.
pub struct ObservedStore<S> {
    inner: Arc<S>,
    telemetry: Arc<Telemetry>,
}

impl<S: Store> ObservedStore<S> {
    /// Observes a store.
    pub fn new(inner: Arc<S>, telemetry: Arc<Telemetry>) -> Self {
        ObservedStore { inner, telemetry }
    }

    fn report(&self, session: SessionId, signal: SessionSignal) {
        self.telemetry.report(session, signal);
    }
}

impl<S: Store> Store for ObservedStore<S> {
    fn create(&self, new: NewSession) -> BoxFuture<'static, Result<Lease, Error>> {
        self.report(new.id, SessionSignal::Started(new.parent.clone()));
        self.inner.create(new)
    }

    fn open(&self, id: SessionId) -> BoxFuture<'static, Result<OpenSession, Error>> {
        self.inner.open(id)
    }

    fn load(&self, id: SessionId) -> BoxFuture<'static, Result<LoadedSession, Error>> {
        self.inner.load(id)
    }

    fn children(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>> {
        self.inner.children(session)
    }

    fn find(&self, prefix: &str) -> BoxFuture<'static, Result<SessionId, Error>> {
        self.inner.find(prefix)
    }

    fn list(&self, root: Option<PathBuf>) -> BoxFuture<'static, Result<Vec<SessionMeta>, Error>> {
        self.inner.list(root)
    }

    fn append(&self, session: SessionId, item: Arc<Item>) -> Receipt {
        self.report(session, SessionSignal::Item(Arc::clone(&item)));
        self.inner.append(session, item)
    }

    fn append_queued(&self, session: SessionId, item: Arc<Item>, waiting: QueuedPromptId) -> Receipt {
        self.report(session, SessionSignal::Item(Arc::clone(&item)));
        self.inner.append_queued(session, item, waiting)
    }

    fn queue_prompt(&self, session: SessionId, waiting: QueuedPrompt) -> Receipt {
        self.inner.queue_prompt(session, waiting)
    }

    fn remove_queued(&self, session: SessionId, waiting: QueuedPromptId) -> Receipt {
        self.inner.remove_queued(session, waiting)
    }

    fn set_roots(&self, session: SessionId, roots: Vec<PathBuf>) -> Receipt {
        self.inner.set_roots(session, roots)
    }

    fn append_draft(&self, session: SessionId, reply: ReplyDraft, chunks: Vec<Chunk>) {
        self.inner.append_draft(session, reply, chunks);
    }

    fn discard_draft(&self, session: SessionId, reply: ItemId) {
        self.inner.discard_draft(session, reply);
    }

    fn flush(&self) -> Receipt {
        self.inner.flush()
    }

    fn rewind(&self, session: SessionId, head: ItemId) -> Receipt {
        self.inner.rewind(session, head)
    }

    fn set_title(&self, session: SessionId, title: String) -> Receipt {
        self.inner.set_title(session, title)
    }

    fn record_request(&self, session: SessionId, record: RequestRecord) -> Receipt {
        self.report(session, SessionSignal::Request(Box::new(record.clone())));
        self.inner.record_request(session, record)
    }

    fn record_turn(&self, session: SessionId, record: TurnRecord) {
        self.report(session, SessionSignal::Turn(record.clone()));
        self.inner.record_turn(session, record);
    }

    fn record_call(&self, session: SessionId, record: CallRecord) {
        self.report(session, SessionSignal::Call(Box::new(record.clone())));
        self.inner.record_call(session, record);
    }

    fn request_records(&self, session: SessionId) -> BoxFuture<'static, Result<Vec<RequestRecord>, Error>> {
        self.inner.request_records(session)
    }

    fn put_blob(&self, bytes: Bytes) -> BlobId {
        self.inner.put_blob(bytes)
    }

    fn get_blob(&self, id: BlobId) -> BoxFuture<'static, Result<Option<Bytes>, Error>> {
        self.inner.get_blob(id)
    }

    fn delete(&self, session: SessionId) -> BoxFuture<'static, Result<(), Error>> {
        self.inner.delete(session)
    }
}
