//! A store in memory that also writes down in which order things were asked of it.

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use model::Chunk;
use session::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) items: Mutex<Vec<Arc<Item>>>,
    pub(crate) records: Mutex<Vec<Record>>,
    pub(crate) titles: Mutex<Vec<String>>,
    pub(crate) drafts: Mutex<Vec<(ItemId, Vec<Chunk>)>>,
    pub(crate) blobs: Mutex<Vec<Bytes>>,
    /// What was asked, such as `append Reply`, `flush`, `tool write`.
    pub(crate) log: Mutex<Vec<String>>,
    /// The append of this number, counted from 1, and all after it fail.
    pub(crate) full_from: Mutex<Option<usize>>,
}

impl Memory {
    pub(crate) fn note(&self, text: impl Into<String>) {
        self.log.lock().unwrap().push(text.into());
    }
}

fn done() -> Receipt {
    async { Ok(()) }.boxed()
}

impl Store for Memory {
    fn create(&self, _: New) -> BoxFuture<'static, Result<Lease, Error>> {
        async { Ok(Box::new(()) as Lease) }.boxed()
    }

    fn open(&self, id: SessionId) -> BoxFuture<'static, Result<Opened, Error>> {
        async move { Err(Error::Unknown(id.to_string())) }.boxed()
    }

    fn load(&self, id: SessionId) -> BoxFuture<'static, Result<Loaded, Error>> {
        async move { Err(Error::Unknown(id.to_string())) }.boxed()
    }

    fn find(&self, prefix: &str) -> BoxFuture<'static, Result<SessionId, Error>> {
        let prefix = prefix.to_string();
        async move { Err(Error::Unknown(prefix)) }.boxed()
    }

    fn list(&self, _: Option<PathBuf>) -> BoxFuture<'static, Result<Vec<Meta>, Error>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn append(&self, _: SessionId, item: Arc<Item>) -> Receipt {
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
            Body::Review { .. } => "review",
            Body::Restored { .. } => "restored",
        };
        self.note(format!("append {kind}"));
        assert_eq!(item.parent, items.last().map(|last| last.id), "the log is one chain");
        items.push(item);
        // Durable a moment later, so that an interruption can fall in between.
        async {
            tokio::task::yield_now().await;
            Ok(())
        }
        .boxed()
    }

    fn draft(&self, _: SessionId, reply: Draft, chunks: Vec<Chunk>) {
        self.drafts.lock().unwrap().push((reply.id, chunks));
    }

    fn discard(&self, _: SessionId, reply: ItemId) {
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

    fn title(&self, _: SessionId, title: String) -> Receipt {
        self.titles.lock().unwrap().push(title);
        done()
    }

    fn record(&self, _: SessionId, record: Record) -> Receipt {
        self.records.lock().unwrap().push(record);
        done()
    }

    fn records(&self, _: SessionId) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
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
