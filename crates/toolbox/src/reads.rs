//! What the model has seen of each file, so that it never overwrites what it has not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tool::Error;
use workspace::{Location, Snapshot};

/// What each file held when the model last read or wrote it. Clones share one memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    seen: Arc<Mutex<HashMap<PathBuf, Snapshot>>>,
    caller: Caller,
}

/// Who calls the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Caller {
    /// A model, which must have read what it changes.
    #[default]
    Model,
    /// A person, by hand, who knows their files.
    Person,
}

/// What the model knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// It has seen the file as it is.
    Fresh,
    /// It has seen the file, which has changed since.
    Stale,
    /// It has not seen the file.
    None,
}

impl Reads {
    /// What this caller has seen: nothing yet.
    pub(crate) fn of(caller: Caller) -> Self {
        Reads {
            caller,
            ..Reads::default()
        }
    }

    /// The model now knows this file.
    pub(crate) fn remember(&self, file: &Location, snapshot: Snapshot) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(file.path().to_owned(), snapshot);
    }

    /// The file is gone.
    pub(crate) fn forget(&self, file: &Location) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(file.path());
    }

    /// What stood there, and below it, is gone.
    pub(crate) fn gone(&self, path: &Path) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|file, _| !file.starts_with(path));
    }

    /// What stood there, and below it, stands elsewhere now.
    pub(crate) fn moved(&self, from: &Path, to: &Path) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let moved: Vec<(PathBuf, Snapshot)> = seen
            .iter()
            .filter_map(|(file, snapshot)| {
                let rest = file.strip_prefix(from).ok()?;
                let file = if rest.as_os_str().is_empty() {
                    to.to_owned()
                } else {
                    to.join(rest)
                };
                Some((file, *snapshot))
            })
            .collect();
        seen.retain(|file, _| !file.starts_with(from));
        seen.extend(moved);
    }

    /// Refuses a change to a file that the model does not know as it is now.
    pub(crate) fn check(&self, file: &Location, now: Snapshot) -> Result<(), Error> {
        match self.knowledge(file, now) {
            Knowledge::Fresh => Ok(()),
            Knowledge::Stale => {
                let error = workspace::Error::Changed {
                    path: file.shown().into_owned(),
                };
                Err(crate::project::explain(error))
            }
            Knowledge::None => Err(Error::Failed(format!(
                "{} has not been read yet; read it before changing it",
                file.shown()
            ))),
        }
    }

    /// What the model knows of a file that holds this now.
    pub(crate) fn knowledge(&self, file: &Location, now: Snapshot) -> Knowledge {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(file.path()) {
            None if self.caller == Caller::Person => Knowledge::Fresh,
            Some(seen) if *seen == now => Knowledge::Fresh,
            Some(_) => Knowledge::Stale,
            None => Knowledge::None,
        }
    }
}
