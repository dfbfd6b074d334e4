//! Removes folders that were created for a new file and are empty after the file is rejected.

use super::write::FileWrite;
use session::Time;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use workspace::Workspace;

/// Creation times of file systems may lag behind the system clock.
const TICK: Duration = Duration::from_millis(10);

/// The parent folders of removed files, relative to the project, the deepest first.
pub(super) fn parents_of_removed(steps: &[FileWrite]) -> Vec<PathBuf> {
    let removed = steps
        .iter()
        .filter(|step| step.target.is_none())
        .map(|step| step.file.relative());
    let mut folders: Vec<PathBuf> = removed
        .flat_map(|file| file.ancestors().skip(1).map(Path::to_path_buf))
        .filter(|folder| folder.is_relative() && !folder.as_os_str().is_empty())
        .collect();
    folders.sort_by(|a, b| {
        b.components()
            .count()
            .cmp(&a.components().count())
            .then_with(|| a.cmp(b))
    });
    folders.dedup();
    folders
}

/// Removes the folders that are empty and were created during the session. Keeps a folder with an unknown creation time, and
/// one that cannot be removed: an empty folder is not worth failing a decision.
pub(super) fn remove_empty(workspace: &Workspace, folders: Vec<PathBuf>, since: Time) {
    let start = SystemTime::UNIX_EPOCH + Duration::from_millis(since.0);
    for folder in folders {
        let created = std::fs::symlink_metadata(workspace.root().join(&folder)).and_then(|about| about.created());
        let is_recent = created.is_ok_and(|created| created + TICK >= start);
        if let (true, Ok(location)) = (is_recent, workspace.locate(&folder)) {
            location.remove_empty_folder().ok();
        }
    }
}
