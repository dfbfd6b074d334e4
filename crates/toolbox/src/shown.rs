//! What has been shown to the model and is still in its view, so that nothing is shown twice for nothing.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tool::Context;
use workspace::{Location, Snapshot};

/// More than this is forgotten, the whole of it; then files are shown again.
const MOST: usize = 4_096;
/// Below this, the text itself is as short as a note about it.
const SHORT: usize = 600;

/// What has been shown. Clones share one memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    parts: Arc<Mutex<HashMap<Part, Sight>>>,
}

/// A part of a file, as one conversation asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Part {
    session: Arc<str>,
    file: PathBuf,
    first: usize,
    last: usize,
}

/// What was shown of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sight {
    snapshot: Snapshot,
    /// What the model has in view has only grown since then while this number is the same.
    view: u64,
}

/// Whether a part of a file has to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// It has.
    Needed,
    /// It stands in the model's view as it is.
    Again,
}

impl Shown {
    /// Takes note that a part is shown, unless it stands in the model's view as it is.
    ///
    /// After it was told so, a model that asks once more gets to see it: it may have reasons.
    pub(crate) fn show(&self, context: &Context, file: &Location, lines: (usize, usize), now: Now) -> Showing {
        let part = Part {
            session: Arc::clone(&context.session),
            file: file.path().to_owned(),
            first: lines.0,
            last: lines.1,
        };
        let sight = Sight {
            snapshot: now.snapshot,
            view: context.view,
        };
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if now.bytes >= SHORT && parts.get(&part) == Some(&sight) {
            parts.remove(&part);
            return Showing::Again;
        }
        if parts.len() >= MOST {
            parts.clear();
        }
        parts.insert(part, sight);
        Showing::Needed
    }
}

/// What would be shown now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    /// What the file holds.
    pub(crate) snapshot: Snapshot,
    /// How long the answer is.
    pub(crate) bytes: usize,
}
