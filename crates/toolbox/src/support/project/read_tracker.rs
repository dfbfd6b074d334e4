//! Tracks the version of each file that the model has read, so that it does not overwrite unseen content.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tool::Error;
use workspace::{Fingerprint, Location, Workspace};

/// Maximum number of versions per file.
const MAX_VERSIONS: usize = 8;

/// The versions of each file that the model has read or written, the newest last; none if they are unknown. An earlier
/// version is current again after the user rejects or undoes a change. Clones share state.
#[derive(Debug, Clone, Default)]
pub struct ReadTracker {
    seen: Arc<Mutex<HashMap<PathBuf, Vec<Fingerprint>>>>,
    caller: ToolCaller,
}

/// Who calls the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolCaller {
    /// A model, which must read a file before changing it.
    #[default]
    Model,
    /// The user.
    User,
}

/// What the model knows about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKnowledge {
    /// It has read the current version.
    Fresh,
    /// The file has changed since it was read.
    Stale,
    /// It has not read the file.
    Unread,
}

impl ReadTracker {
    /// The tracker of this caller.
    pub(crate) fn of(self, caller: ToolCaller) -> Self {
        ReadTracker { caller, ..self }
    }

    /// Records that the model was informed about the current versions of those files that it has read.
    pub fn remember_current<'a>(&self, workspace: &Workspace, paths: impl IntoIterator<Item = &'a Path>) {
        for path in paths {
            let Ok(file) = workspace.locate(path) else { continue };
            if let (true, Ok(version)) = (self.is_read(&file), file.fingerprint()) {
                self.remember(&file, version);
            }
        }
    }

    fn is_read(&self, file: &Location) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.contains_key(file.path())
    }

    /// Records the version that the model has read.
    pub(crate) fn remember(&self, file: &Location, snapshot: Fingerprint) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = seen.entry(file.path().to_owned()).or_default();
        versions.retain(|version| *version != snapshot);
        versions.push(snapshot);
        if versions.len() > MAX_VERSIONS {
            versions.remove(0);
        }
    }

    /// Records that the model has read an unknown version.
    pub(crate) fn remember_outdated(&self, file: &Location) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(file.path().to_owned()).or_default();
    }

    /// Forgets a file.
    pub(crate) fn forget(&self, file: &Location) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(file.path());
    }

    /// Forgets a path and everything below it.
    pub(crate) fn forget_tree(&self, path: &Path) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|file, _| !file.starts_with(path));
    }

    /// Records that a path and everything below it was moved.
    pub(crate) fn moved(&self, from: &Path, to: &Path) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let moved: Vec<(PathBuf, Vec<Fingerprint>)> = seen
            .iter()
            .filter_map(|(file, versions)| {
                let rest = file.strip_prefix(from).ok()?;
                let file = if rest.as_os_str().is_empty() {
                    to.to_owned()
                } else {
                    to.join(rest)
                };
                Some((file, versions.clone()))
            })
            .collect();
        seen.retain(|file, _| !file.starts_with(from));
        seen.extend(moved);
    }

    /// Fails if the model has not read the current version of the file.
    pub(crate) fn check(&self, file: &Location, now: Fingerprint) -> Result<(), Error> {
        match self.knowledge(file, now) {
            FileKnowledge::Fresh => Ok(()),
            FileKnowledge::Stale => {
                let error = workspace::Error::Changed {
                    path: file.shown().into_owned(),
                };
                Err(crate::support::project::tool_error(error))
            }
            FileKnowledge::Unread => Err(Error::Failed(format!(
                "{} has not been read yet; read it before changing it",
                file.shown()
            ))),
        }
    }

    /// What the model knows about a file with this current version.
    pub(crate) fn knowledge(&self, file: &Location, now: Fingerprint) -> FileKnowledge {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(file.path()) {
            None if self.caller == ToolCaller::User => FileKnowledge::Fresh,
            Some(versions) if versions.contains(&now) => FileKnowledge::Fresh,
            Some(_) => FileKnowledge::Stale,
            None => FileKnowledge::Unread,
        }
    }
}
