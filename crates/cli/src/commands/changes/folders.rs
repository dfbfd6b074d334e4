//! Folders that were made for a new file, and are empty once the file is taken back.

use super::put_back::Step;
use session::Time;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use workspace::Workspace;

/// File systems tell time by a clock that may be a tick behind.
const TICK: Duration = Duration::from_millis(10);

/// The folders, seen from the project, of the files that go; the deepest first.
pub(super) fn of_removed(steps: &[Step]) -> Vec<PathBuf> {
    let gone = steps
        .iter()
        .filter(|step| step.wanted.is_none())
        .map(|step| step.file.relative());
    let mut folders: Vec<PathBuf> = gone
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

/// Removes those that are empty and were made in the course of the session. A folder whose age is not known stays, and so does
/// one that cannot be removed: an empty folder is no reason to call a decision failed.
pub(super) fn remove_empty(workspace: &Workspace, folders: Vec<PathBuf>, since: Time) {
    let began = SystemTime::UNIX_EPOCH + Duration::from_millis(since.0);
    for folder in folders {
        let born = std::fs::symlink_metadata(workspace.root().join(&folder)).and_then(|about| about.created());
        let is_young = born.is_ok_and(|born| born + TICK >= began);
        if let (true, Ok(location)) = (is_young, workspace.locate(&folder)) {
            location.remove_empty_folder().ok();
        }
    }
}
