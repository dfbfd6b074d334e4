//! Helpers for tools that copy, move and delete directory trees.

use session::FileKind;
use tool::{Error, UnsavedChange, UnsavedVersion};
use workspace::{Location, TreeEntry, TreeEntryContent};

use crate::support::project::{Project, tool_error};
use crate::support::text::count;

/// Whether a tree was added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeChange {
    Added,
    Removed,
}

/// The destination of a copy or move. If it is a directory, the source is placed inside it. If the source begins with the
/// name of the project's folder, the destination may do so as well.
pub(crate) fn destination(project: &Project, from: &str, to: &str) -> Result<Location, Error> {
    let to = match (from.split_once('/'), to.split_once('/')) {
        (Some((name, _)), Some((same, rest))) if name == same && project.folder(name).is_empty() => rest,
        _ => to,
    };
    let place = project.workspace.locate(to).map_err(tool_error)?;
    if !place.is_dir() {
        return project.locate_entry(to);
    }
    let from = project.locate_entry(from)?;
    match from.path().file_name() {
        Some(name) => project.require_approved(place.within(name.as_ref())),
        None => Err(Error::Failed(format!("{} has no name", from.shown()))),
    }
}

/// Refuses to move or delete the project root or a directory that contains it.
pub(crate) fn refuse_project(path: &Location, what: &str) -> Result<(), Error> {
    match path.contains_project() {
        true => Err(Error::Failed(format!(
            "{} is or contains the project root; it cannot be {what}",
            path.shown()
        ))),
        false => Ok(()),
    }
}

/// The number of files in a tree, as text.
pub(crate) fn count_files(leaves: &[TreeEntry]) -> String {
    let folders = leaves
        .iter()
        .filter(|leaf| leaf.content == TreeEntryContent::Folder)
        .count();
    match leaves.len() - folders {
        0 => "no files".to_owned(),
        files => count(files, "file"),
    }
}

/// The changes of an added or removed tree, for the file history.
pub(crate) fn changes(top: &Location, leaves: Vec<TreeEntry>, change: TreeChange) -> Vec<UnsavedChange> {
    let pieces = leaves.into_iter().map(|leaf| {
        let path = match leaf.path.as_os_str().is_empty() {
            true => top.relative().to_owned(),
            false => top.relative().join(&leaf.path),
        };
        let mode = Some(leaf.mode);
        let version = match leaf.content {
            TreeEntryContent::File(bytes) => UnsavedVersion::file(bytes, mode),
            TreeEntryContent::Folder => UnsavedVersion::folder(mode),
            TreeEntryContent::Link(to) => UnsavedVersion::Bytes {
                kind: FileKind::Link,
                bytes: to.into_os_string().into_encoded_bytes(),
            },
        };
        let (before, after) = match change {
            TreeChange::Added => (None, Some(version)),
            TreeChange::Removed => (Some(version), None),
        };
        UnsavedChange { path, before, after }
    });
    pieces.collect()
}
