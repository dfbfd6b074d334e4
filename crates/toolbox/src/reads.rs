//! What the model has seen of each file, so that it never overwrites what it has not.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tool::Error;
use workspace::{Location, Snapshot};

/// What each file held when the model last read or wrote it. Clones share one memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    seen: Arc<Mutex<HashMap<PathBuf, Snapshot>>>,
}

impl Reads {
    /// The model now knows this file.
    pub(crate) fn remember(&self, file: &Location, snapshot: Snapshot) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(file.path().to_owned(), snapshot);
    }

    /// Refuses a change to a file that the model does not know as it is now.
    pub(crate) fn check(&self, file: &Location, now: Snapshot) -> Result<(), Error> {
        let seen = self
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(file.path())
            .copied();
        match seen {
            Some(seen) if seen == now => Ok(()),
            Some(_) => {
                let error = workspace::Error::Changed {
                    path: file.shown().into_owned(),
                };
                Err(crate::project::explain(error))
            }
            None => Err(Error::Failed(format!(
                "{} has not been read yet; read it before changing it",
                file.shown()
            ))),
        }
    }
}
