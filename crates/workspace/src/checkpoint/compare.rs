//! Compares two snapshots.

use super::scan::{DirSnapshot, FileNode, SnapshotNode};
use std::path::{Path, PathBuf};

/// A path where two snapshots differ or may differ.
pub(super) struct NodeDifference<'a> {
    pub(super) path: PathBuf,
    pub(super) before: Option<&'a SnapshotNode>,
    pub(super) after: Option<&'a SnapshotNode>,
}

/// The differences between two snapshots of a folder, folders before their entries.
pub(super) fn compare<'a>(before: &'a DirSnapshot, after: &'a DirSnapshot) -> Vec<NodeDifference<'a>> {
    let mut all = Vec::new();
    compare_folders(Path::new(""), before, after, &mut all);
    all
}

fn compare_folders<'a>(
    path: &Path,
    before: &'a DirSnapshot,
    after: &'a DirSnapshot,
    all: &mut Vec<NodeDifference<'a>>,
) {
    for (name, old) in &before.entries {
        compare_nodes(path.join(name), Some(old), after.entries.get(name), all);
    }
    for (name, new) in &after.entries {
        if !before.entries.contains_key(name) {
            compare_nodes(path.join(name), None, Some(new), all);
        }
    }
}

fn compare_nodes<'a>(
    path: PathBuf,
    before: Option<&'a SnapshotNode>,
    after: Option<&'a SnapshotNode>,
    all: &mut Vec<NodeDifference<'a>>,
) {
    let (before, after) = (visible(before), visible(after));
    if differ(before, after) {
        all.push(NodeDifference {
            path: path.clone(),
            before,
            after,
        });
    }
    match (before, after) {
        (Some(SnapshotNode::Folder(before)), Some(SnapshotNode::Folder(after))) => {
            compare_folders(&path, before, after, all)
        }
        (before, after) => {
            if let Some(SnapshotNode::Folder(folder)) = before {
                for (name, old) in &folder.entries {
                    compare_nodes(path.join(name), Some(old), None, all);
                }
            }
            if let Some(SnapshotNode::Folder(folder)) = after {
                for (name, new) in &folder.entries {
                    compare_nodes(path.join(name), None, Some(new), all);
                }
            }
        }
    }
}

/// Ignored entries count as missing.
fn visible(node: Option<&SnapshotNode>) -> Option<&SnapshotNode> {
    node.filter(|node| !matches!(node, SnapshotNode::Ignored | SnapshotNode::Other))
}

fn differ(before: Option<&SnapshotNode>, after: Option<&SnapshotNode>) -> bool {
    match (before, after) {
        (None, None) => false,
        (Some(SnapshotNode::File(before)), Some(SnapshotNode::File(after))) => !is_same(before, after),
        (Some(SnapshotNode::Link(before)), Some(SnapshotNode::Link(after))) => before != after,
        (Some(SnapshotNode::Folder(before)), Some(SnapshotNode::Folder(after))) => {
            before.stamp.mode != after.stamp.mode
        }
        (_, _) => true,
    }
}

/// Whether a file is certainly unchanged: its known content was carried over.
fn is_same(before: &FileNode, after: &FileNode) -> bool {
    before.stamp == after.stamp && after.known.is_some()
}
