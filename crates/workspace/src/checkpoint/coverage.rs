//! What undo cannot restore, determined before a command runs.

use super::endangered::EndangeredPaths;
use super::ignore_rules::{INTERNAL, is_generated};
use super::scan::{ContentSource, Snapshot, SnapshotNode};
use super::stamp::FileStamp;
use crate::open;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of entries in a list.
const MAX_LISTED: usize = 50;

/// Paths that cannot be restored if a command changes them, relative to the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UncoveredPaths {
    /// Files that the command is known to change, and version control folders that it is known to delete.
    pub endangered: Vec<PathBuf>,
    /// Ignored files and folders that the command is known to change.
    pub ignored: Vec<PathBuf>,
    /// Other files, and ignored files and folders that exceed the limits; each is reported once. Folders with
    /// generated files are not listed.
    pub others: Vec<PathBuf>,
}

impl UncoveredPaths {
    /// Adds the paths of another folder as absolute ones.
    pub(super) fn extend(&mut self, folder: &Path, other: &UncoveredPaths) {
        let absolute = |paths: &[PathBuf]| paths.iter().map(|path| folder.join(path)).collect::<Vec<_>>();
        self.endangered.extend(absolute(&other.endangered));
        self.ignored.extend(absolute(&other.ignored));
        self.others.extend(absolute(&other.others));
    }

    /// Whether undo covers everything.
    pub fn is_empty(&self) -> bool {
        self.endangered.is_empty() && self.ignored.is_empty() && self.others.is_empty()
    }
}

/// Lists paths in one line; many paths in a folder are counted.
pub fn list_paths(paths: &[PathBuf]) -> String {
    let names: Vec<String> = match paths.len() <= MAX_LISTED {
        true => paths.iter().map(|path| path.display().to_string()).collect(),
        false => {
            let mut folders: BTreeMap<&Path, usize> = BTreeMap::new();
            for path in paths {
                *folders.entry(path.parent().unwrap_or(Path::new(""))).or_default() += 1;
            }
            let name = |(folder, count): (&Path, usize)| match folder.as_os_str().is_empty() {
                true => format!("{count} files in the top folder"),
                false => format!("{}/ ({count} files)", folder.display()),
            };
            folders.into_iter().map(name).collect()
        }
    };
    match names.len() <= MAX_LISTED {
        true => names.join(", "),
        false => format!(
            "{} and {} more",
            names[..MAX_LISTED].join(", "),
            names.len() - MAX_LISTED
        ),
    }
}

/// The uncovered paths of a snapshot, without those that commands cannot access.
pub(super) fn uncovered_paths(
    snapshot: &Snapshot,
    root: &Path,
    endangered: &EndangeredPaths,
    is_inaccessible: impl Fn(&Path) -> bool,
    is_modified: impl Fn(&Path, &FileStamp) -> Option<bool>,
) -> UncoveredPaths {
    let mut all = UncoveredPaths::default();
    let mut visit = |path: &Path, node: &SnapshotNode| {
        let is_uncovered = match node {
            SnapshotNode::File(leaf) => match leaf.known.as_ref().map(|known| &known.source) {
                Some(ContentSource::BlobDir(_) | ContentSource::Git(_)) => false,
                Some(ContentSource::HashOnly(_) | ContentSource::NotCopied(_) | ContentSource::Unreadable) | None => {
                    true
                }
            },
            SnapshotNode::Ignored => !is_inaccessible(path),
            SnapshotNode::Link(_) | SnapshotNode::Folder(_) | SnapshotNode::Other => false,
        };
        if !is_uncovered {
            return;
        }
        let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
        match node {
            SnapshotNode::Ignored if endangered.includes_ignored(path) => all.ignored.push(relative),
            SnapshotNode::Ignored if is_generated(path) => {}
            SnapshotNode::File(leaf) if endangered.includes_file(path, || is_modified(path, &leaf.stamp)) => {
                all.endangered.push(relative);
            }
            _ if endangered.includes(path) => all.endangered.push(relative),
            _ => all.others.push(relative),
        }
    };
    for (path, folder) in &snapshot.folders {
        for (name, node) in &folder.entries {
            visit(&root.join(path).join(name), node);
        }
    }
    let deleted = snapshot.folders.keys();
    let deleted = deleted.filter(|path| endangered.deletes_folder(&root.join(path)));
    let internal = deleted.flat_map(|path| INTERNAL.iter().map(|name| path.join(name)));
    let is_folder = |path: &PathBuf| open::kind(&root.join(path)) == Some(FileType::Directory);
    all.endangered.extend(internal.filter(is_folder));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_paths_are_counted_by_folder() {
        let few: Vec<PathBuf> = ["a", "b/c"].map(PathBuf::from).to_vec();
        assert_eq!(list_paths(&few), "a, b/c");
        let many: Vec<PathBuf> = (0..60).map(|n| PathBuf::from(format!("data/{n}"))).collect();
        assert_eq!(
            list_paths(&[many, few].concat()),
            "1 files in the top folder, b/ (1 files), data/ (60 files)"
        );
    }
}
