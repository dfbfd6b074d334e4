//! The directory for tool results that are too long for the model.

use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::paths;
use session::SessionId;
use std::path::PathBuf;
use std::time::Duration;
use workspace::ScratchFolder;

/// Its name in the data directory.
pub(crate) const DIR_NAME: &str = "long-answers";
/// How long the results of an inactive session are kept.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The directory of a session. Expired directories of other sessions are removed.
pub(crate) fn session_dir(env: &ProcessEnv, session: SessionId) -> Result<PathBuf> {
    let all = paths::data_dir(env)?.join(DIR_NAME);
    ScratchFolder::sweep(&all, RETENTION);
    Ok(all.join(session.to_string()))
}

/// Removes the directory of a session. If that fails, it is removed when it expires.
pub fn remove(env: &ProcessEnv, session: SessionId) {
    if let Ok(data) = paths::data_dir(env) {
        drop(std::fs::remove_dir_all(data.join(DIR_NAME).join(session.to_string())));
    }
}
