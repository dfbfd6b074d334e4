//! Which sessions are analysed.

use crate::failure::Result;
use host::sessions;
use session::{SessionMeta, Time};
use std::path::{Path, PathBuf};
use store::SqliteStore;

/// The sessions and the time that are analysed.
#[derive(Debug, Clone, Copy)]
pub struct SessionSelection<'a> {
    /// The id of a session, a prefix of it, or `last`; without one, all sessions of the project.
    pub session: Option<&'a str>,
    /// Whether the sessions of other projects are included.
    pub all_projects: bool,
    /// The project.
    pub project: &'a Path,
    /// Only what happened since then.
    pub since: Time,
}

impl SessionSelection<'_> {
    /// The named session, or the newest one of the project.
    pub(crate) async fn find(&self, store: &SqliteStore) -> Result<SessionMeta> {
        let name = self.session.filter(|name| !name.is_empty() && *name != "last");
        sessions::find(store, name, self.project).await
    }

    /// The project, unless all are included.
    pub(crate) fn project_filter(&self) -> Option<PathBuf> {
        (!self.all_projects).then(|| self.project.to_owned())
    }
}
