//! What tools have changed on disk, on its way into the log.

use bytes::Bytes;
use model::CallId;
use session::{BlobId, Change, Kind, Store, Version};
use std::collections::HashMap;
use tokio::sync::mpsc;
use tool::{Changes, Content};

/// Changes of calls that were stopped before they could give them back.
pub(crate) struct Reported {
    sender: mpsc::UnboundedSender<(CallId, Vec<tool::Change>)>,
    receiver: mpsc::UnboundedReceiver<(CallId, Vec<tool::Change>)>,
    waiting: HashMap<CallId, Vec<tool::Change>>,
}

impl Default for Reported {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Reported {
            sender,
            receiver,
            waiting: HashMap::new(),
        }
    }
}

impl Reported {
    /// Where a tool reports them.
    pub(crate) fn sink(&self) -> Changes {
        Changes::new(self.sender.clone())
    }

    /// What a call has reported.
    pub(crate) fn take(&mut self, call: &CallId) -> Vec<tool::Change> {
        while let Ok((call, changes)) = self.receiver.try_recv() {
            self.waiting.entry(call).or_default().extend(changes);
        }
        self.waiting.remove(call).unwrap_or_default()
    }
}

/// Keeps both versions of what a tool changed.
pub(crate) fn keep(store: &dyn Store, change: tool::Change) -> Change {
    let version = |version: tool::Version| -> Version {
        let (content, kept) = match version.content {
            Content::Bytes(bytes) => (Some(store.put_blob(Bytes::from(bytes))), true),
            Content::Kept(name) => (Some(BlobId(name)), true),
            Content::Lost(name) => (Some(BlobId(name)), false),
            Content::None => (None, true),
        };
        let kind = match version.kind {
            tool::Kind::File { mode } => Kind::File { mode },
            tool::Kind::Link => Kind::Link,
            tool::Kind::Folder { mode } => Kind::Folder { mode },
        };
        Version { kind, content, kept }
    };
    Change {
        path: change.path,
        before: change.before.map(version),
        after: change.after.map(version),
    }
}
