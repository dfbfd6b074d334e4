//! Files that are or were binary: one change, accepted or rejected as a whole.

use super::trace::FileEvent;
use crate::Error;
use bytes::Bytes;
use edit::{FileStatus, HunkAuthors};
use session::{BlobId, Store};

/// The accepted and the current content. `None` means that the file does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryChange {
    /// The accepted content.
    pub base: Option<Bytes>,
    /// The current content.
    pub current: Option<Bytes>,
    /// Who made the difference. Changes by others cannot be separated from those of the agent.
    pub authors: HunkAuthors,
}

/// The result of replaying the events of a binary file.
pub(super) enum BinaryTrace {
    /// Nothing is pending.
    Settled,
    /// A change is pending.
    Pending(BinaryChange),
    /// A required version was not stored.
    Missing,
}

/// The blob ids of two versions, and who made the difference.
struct BlobChange {
    base: Option<BlobId>,
    current: Option<BlobId>,
    authors: HunkAuthors,
}

/// Computes the pending change of a binary file from its events and its current content.
pub(super) async fn trace_binary(
    store: &dyn Store,
    events: &[FileEvent<'_>],
    disk: Option<&Bytes>,
) -> Result<BinaryTrace, Error> {
    let mut pending: Option<BlobChange> = None;
    for event in events {
        let (first, second) = event.contents();
        pending = match event {
            // Only the permissions changed.
            FileEvent::Changed(_) if first == second => pending,
            FileEvent::Changed(_) => {
                let before_id = first.cloned();
                let before = pending.and_then(|change| change.user_wrote(&before_id));
                let (base, authors) = match before {
                    Some(change) => (change.base, change.authors),
                    None => (before_id, HunkAuthors::Agent),
                };
                BlobChange::new(base, second.cloned(), authors)
            }
            FileEvent::Reviewed(_) => {
                let authors = pending.map_or(HunkAuthors::Agent, |change| change.authors);
                BlobChange::new(first.cloned(), second.cloned(), authors)
            }
        };
    }
    let Some(change) = pending else {
        return Ok(BinaryTrace::Settled);
    };
    let versions = (read(store, change.base).await?, read(store, change.current).await?);
    let (Some(base), Some(then)) = versions else {
        return Ok(BinaryTrace::Missing);
    };
    let authors = match (&then, disk) {
        (then, disk) if then.as_ref() == disk => change.authors,
        // Removing the file, or recreating one that the agent removed, settles the change.
        (None, _) | (_, None) => return Ok(BinaryTrace::Settled),
        (Some(_), Some(_)) => HunkAuthors::Mixed,
    };
    let current = disk.cloned();
    if base == current {
        return Ok(BinaryTrace::Settled);
    }
    Ok(BinaryTrace::Pending(BinaryChange { base, current, authors }))
}

impl BinaryChange {
    /// Whether the file was created, modified or deleted.
    pub(super) fn status(&self) -> FileStatus {
        match (&self.base, &self.current) {
            (None, _) => FileStatus::Created,
            (Some(_), None) => FileStatus::Deleted,
            (Some(_), Some(_)) => FileStatus::Modified,
        }
    }
}

impl BlobChange {
    fn new(base: Option<BlobId>, current: Option<BlobId>, authors: HunkAuthors) -> Option<Self> {
        (base != current).then_some(BlobChange { base, current, authors })
    }

    fn user_wrote(self, now: &Option<BlobId>) -> Option<Self> {
        match (&self.current, now) {
            (then, now) if then == now => Some(self),
            (None, _) | (_, None) => None,
            (Some(_), Some(_)) => BlobChange::new(self.base, now.clone(), HunkAuthors::Mixed),
        }
    }
}

/// Reads a version of a file: `Some(None)` if the file did not exist, `None` if the version was not stored.
async fn read(store: &dyn Store, id: Option<BlobId>) -> Result<Option<Option<Bytes>>, Error> {
    match id {
        Some(id) => Ok(store.get_blob(id).await?.map(Some)),
        None => Ok(Some(None)),
    }
}
