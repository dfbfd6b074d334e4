//! The versions of files before the model's edits: line numbers and anchors that it has seen refer to them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use edit::{LineNumberBasis, SeenVersions};
use workspace::Location;

/// Maximum number of versions per file.
const MAX_VERSIONS: usize = 8;
/// Maximum size of a file; line numbers of larger ones are not translated.
const MAX_BYTES: usize = 512 * 1024;
/// Above this number of files, all are dropped.
const MAX_FILES: usize = 64;

/// The edits of each file since it was read. Clones share state.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineLog {
    files: Arc<Mutex<HashMap<PathBuf, EditedFile>>>,
}

#[derive(Debug, Default)]
struct EditedFile {
    /// The versions before each edit, oldest first.
    versions: Vec<Arc<str>>,
    /// The number of edits since the file was read.
    since_read: usize,
    /// Whether a version is missing, so that older line numbers cannot be translated.
    is_incomplete: bool,
}

impl LineLog {
    /// Records that the model has read the current version.
    pub(crate) fn read(&self, file: &Location) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(edited) = files.get_mut(file.path()) {
            edited.since_read = 0;
            edited.is_incomplete = false;
        }
    }

    /// Records an edit of a file with this content.
    pub(crate) fn edited(&self, file: &Location, before: &str) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() >= MAX_FILES && !files.contains_key(file.path()) {
            files.clear();
        }
        let edited = files.entry(file.path().to_owned()).or_default();
        edited.since_read += 1;
        if before.len() > MAX_BYTES {
            edited.is_incomplete = true;
            return;
        }
        edited.versions.push(before.into());
        if edited.versions.len() > MAX_VERSIONS {
            edited.versions.remove(0);
            edited.is_incomplete |= edited.since_read >= MAX_VERSIONS;
        }
    }

    /// The versions of a file that the model has seen; it must have read the file.
    pub(crate) fn seen(&self, file: &Location) -> SeenVersions {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(edited) = files.get(file.path()) else {
            return SeenVersions {
                numbers: LineNumberBasis::Current,
                earlier: Vec::new(),
            };
        };
        let numbers = match (edited.since_read, edited.versions.len()) {
            (0, _) => LineNumberBasis::Current,
            (edits, stored) if edits <= stored && !edited.is_incomplete => LineNumberBasis::Earlier(stored - edits),
            _ => LineNumberBasis::Unknown,
        };
        SeenVersions {
            numbers,
            earlier: edited.versions.clone(),
        }
    }
}
