//! Tracks which parts of files are in the model's context, so that they are not sent twice.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tool::CallContext;
use workspace::{Fingerprint, Location};

/// Above this number of entries, all are dropped and files are sent again.
const MAX_ENTRIES: usize = 4_096;
/// Below this size, the text is as short as a note about it.
const MIN_BYTES: usize = 600;

/// The parts of files in the model's context. Clones share state.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShownFiles {
    parts: Arc<Mutex<HashMap<ShownRange, ShownVersion>>>,
}

/// A part of a file, as requested in one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ShownRange {
    session: Arc<str>,
    file: PathBuf,
    first: usize,
    last: usize,
}

/// The version that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShownVersion {
    snapshot: Fingerprint,
    /// As long as this number is unchanged, nothing has left the model's context.
    view: u64,
}

/// Whether a part of a file must be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShowDecision {
    /// It must be sent.
    Show,
    /// The current version is in the model's context.
    Unchanged,
}

impl ShownFiles {
    /// Records that a part is sent, unless its current version is in the model's context. A model that asks again after
    /// that answer gets the text: it may have a reason.
    pub(crate) fn show(
        &self,
        context: &CallContext,
        file: &Location,
        lines: (usize, usize),
        now: CurrentView,
    ) -> ShowDecision {
        let part = ShownRange {
            session: Arc::clone(&context.session),
            file: file.path().to_owned(),
            first: lines.0,
            last: lines.1,
        };
        let version = ShownVersion {
            snapshot: now.snapshot,
            view: context.view,
        };
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if now.bytes >= MIN_BYTES && parts.get(&part) == Some(&version) {
            parts.remove(&part);
            return ShowDecision::Unchanged;
        }
        if parts.len() >= MAX_ENTRIES {
            parts.clear();
        }
        parts.insert(part, version);
        ShowDecision::Show
    }
}

/// The version to send now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CurrentView {
    /// The file's snapshot.
    pub(crate) snapshot: Fingerprint,
    /// The length of the text.
    pub(crate) bytes: usize,
}
