//! Changes that a tool made on disk.

use model::CallId;
use session::{BlobId, Change, FileKind, FileVersion};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A change whose contents may not be stored yet.
pub type UnsavedChange = Change<UnsavedVersion>;

/// A file, link or folder whose content may not be stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnsavedVersion {
    /// Its content is in memory.
    Bytes {
        /// Its kind, with permissions.
        kind: FileKind,
        /// The content of a file, or the target of a link.
        bytes: Vec<u8>,
    },
    /// It has no content, or the content is stored already.
    Stored(FileVersion),
}

impl UnsavedVersion {
    /// A regular file with these bytes.
    pub fn file(bytes: Vec<u8>, mode: Option<u32>) -> Self {
        UnsavedVersion::Bytes {
            kind: FileKind::File { mode },
            bytes,
        }
    }

    /// A folder.
    pub fn folder(mode: Option<u32>) -> Self {
        UnsavedVersion::Stored(FileVersion {
            kind: FileKind::Folder { mode },
            content: None,
            is_stored: true,
        })
    }

    /// The bytes, if they are in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            UnsavedVersion::Bytes { bytes, .. } => Some(bytes),
            UnsavedVersion::Stored(_) => None,
        }
    }

    /// The version, with its content stored by `put_blob`.
    pub fn store(self, put_blob: impl FnOnce(Vec<u8>) -> BlobId) -> FileVersion {
        match self {
            UnsavedVersion::Bytes { kind, bytes } => FileVersion {
                kind,
                content: Some(put_blob(bytes)),
                is_stored: true,
            },
            UnsavedVersion::Stored(version) => version,
        }
    }
}

impl From<Vec<u8>> for UnsavedVersion {
    fn from(bytes: Vec<u8>) -> Self {
        UnsavedVersion::file(bytes, None)
    }
}

type ChangesByCall = HashMap<CallId, Vec<UnsavedChange>>;

/// Collects the changes of calls that are cancelled and cannot return them. A shared map and not a channel: a `Drop`
/// implementation cannot wait. It holds at most the changes of the cancelled calls of one turn.
#[derive(Debug, Clone, Default)]
pub struct ChangeReporter {
    reported: Option<Arc<Mutex<ChangesByCall>>>,
}

impl ChangeReporter {
    /// Collects reports.
    pub fn new() -> Self {
        ChangeReporter {
            reported: Some(Arc::default()),
        }
    }

    /// Discards reports.
    pub fn none() -> Self {
        ChangeReporter::default()
    }

    /// Reports the changes of a call.
    pub fn report(&self, call: &CallId, changes: Vec<UnsavedChange>) {
        if let Some(mut reported) = self.lock() {
            reported.entry(call.clone()).or_default().extend(changes);
        }
    }

    /// Removes and returns the changes that a call has reported.
    pub fn take(&self, call: &CallId) -> Vec<UnsavedChange> {
        let reported = self.lock().and_then(|mut reported| reported.remove(call));
        reported.unwrap_or_default()
    }

    fn lock(&self) -> Option<MutexGuard<'_, ChangesByCall>> {
        // A panic while the lock is held cannot leave an operation incomplete.
        let reported = self.reported.as_ref()?;
        Some(reported.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
