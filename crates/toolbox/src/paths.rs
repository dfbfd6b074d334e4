//! What the tools share that copy, move and remove whole trees.

use tool::{Change, Content, Error, Kind, Version};
use workspace::{Leaf, LeafContent, Location};

use crate::project::Project;
use crate::text::count;

/// Whether a tree came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    In,
    Out,
}

/// The place that a copy or a move goes to: into a folder that stands there, under the name it has.
pub(crate) fn destination(project: &Project, from: &str, to: &str) -> Result<Location, Error> {
    let place = project.locate(to)?;
    if !place.is_dir() {
        return project.locate_entry(to);
    }
    let from = project.locate_entry(from)?;
    match from.path().file_name() {
        Some(name) => Ok(place.within(name.as_ref())),
        None => Err(Error::Failed(format!("{} has no name", from.shown()))),
    }
}

/// Refuses to take the project away from under itself.
pub(crate) fn refuse_project(path: &Location, what: &str) -> Result<(), Error> {
    match path.contains_project() {
        true => Err(Error::Failed(format!(
            "{} is the project itself or holds it; it cannot be {what}",
            path.shown()
        ))),
        false => Ok(()),
    }
}

/// How many files a tree has, in words.
pub(crate) fn count_files(leaves: &[Leaf]) -> String {
    let folders = leaves.iter().filter(|leaf| leaf.content == LeafContent::Folder).count();
    match leaves.len() - folders {
        0 => "no files".to_owned(),
        files => count(files, "file"),
    }
}

/// A tree that came or went, piece by piece, for the file history.
pub(crate) fn changes(top: &Location, leaves: Vec<Leaf>, came: Came) -> Vec<Change> {
    let pieces = leaves.into_iter().map(|leaf| {
        let path = match leaf.path.as_os_str().is_empty() {
            true => top.relative().to_owned(),
            false => top.relative().join(&leaf.path),
        };
        let mode = Some(leaf.mode);
        let version = match leaf.content {
            LeafContent::File(bytes) => Version::file(bytes, mode),
            LeafContent::Folder => Version::folder(mode),
            LeafContent::Link(to) => Version {
                kind: Kind::Link,
                content: Content::Bytes(to.into_os_string().into_encoded_bytes()),
            },
        };
        let (before, after) = match came {
            Came::In => (None, Some(version)),
            Came::Out => (Some(version), None),
        };
        Change { path, before, after }
    });
    pieces.collect()
}
