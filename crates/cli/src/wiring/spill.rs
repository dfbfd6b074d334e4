//! Where a session keeps the answers of tools that are too long for the model.

use crate::environment::Environment;
use crate::failure::Result;
use crate::places;
use session::SessionId;
use std::path::PathBuf;
use std::time::Duration;
use workspace::Scratch;

/// Its name in the data folder.
const NAME: &str = "long-answers";
/// A session that has not gone on for so long gets its answers anew.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The folder of a session. Those of sessions that are long over are removed.
pub(super) fn folder(env: &Environment, session: SessionId) -> Result<PathBuf> {
    let all = places::data(env)?.join(NAME);
    Scratch::sweep(&all, KEPT);
    Ok(all.join(session.to_string()))
}

/// Removes what a session has kept; what cannot be removed is swept away later.
pub(crate) fn forget(env: &Environment, session: SessionId) {
    if let Ok(data) = places::data(env) {
        drop(std::fs::remove_dir_all(data.join(NAME).join(session.to_string())));
    }
}
