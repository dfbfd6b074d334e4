//! Compares two snapshots.

use super::scan::{FileNode, Snapshot, SnapshotNode};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

/// A path where two snapshots differ or may differ.
pub(super) struct NodeDifference<'a> {
    pub(super) path: PathBuf,
    pub(super) before: Option<&'a SnapshotNode>,
    pub(super) after: Option<&'a SnapshotNode>,
}

/// The differences between two snapshots, folders before their entries.
pub(super) fn compare<'a>(before: &'a Snapshot, after: &'a Snapshot) -> Vec<NodeDifference<'a>> {
    let mut all = Vec::new();
    let folders: BTreeSet<&PathBuf> = before.folders.keys().chain(after.folders.keys()).collect();
    for folder in folders {
        let entries = |snapshot: &'a Snapshot| snapshot.folders.get(folder).map(|folder| &folder.entries);
        let (old, new) = (entries(before), entries(after));
        let names: BTreeSet<&OsString> = old.into_iter().chain(new).flat_map(|entries| entries.keys()).collect();
        for name in names {
            let before = visible(old.and_then(|entries| entries.get(name)));
            let after = visible(new.and_then(|entries| entries.get(name)));
            if differ(before, after) {
                let path = folder.join(name);
                all.push(NodeDifference { path, before, after });
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
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
        (Some(SnapshotNode::Folder(before)), Some(SnapshotNode::Folder(after))) => before.mode != after.mode,
        (_, _) => true,
    }
}

/// Whether a file is certainly unchanged: its known content was carried over.
fn is_same(before: &FileNode, after: &FileNode) -> bool {
    before.stamp == after.stamp && after.known.is_some()
}
