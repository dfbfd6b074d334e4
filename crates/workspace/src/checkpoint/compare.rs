//! What differs between two pictures.

use super::picture::{Folder, Leaf, Node};
use std::path::{Path, PathBuf};

/// A path where two pictures differ, or may differ.
pub(super) struct Difference<'a> {
    pub(super) path: PathBuf,
    pub(super) before: Option<&'a Node>,
    pub(super) after: Option<&'a Node>,
}

/// Where two pictures of a folder differ, folders before what is in them.
pub(super) fn compare<'a>(before: &'a Folder, after: &'a Folder) -> Vec<Difference<'a>> {
    let mut all = Vec::new();
    inside(Path::new(""), before, after, &mut all);
    all
}

fn inside<'a>(path: &Path, before: &'a Folder, after: &'a Folder, all: &mut Vec<Difference<'a>>) {
    for (name, old) in &before.entries {
        node(path.join(name), Some(old), after.entries.get(name), all);
    }
    for (name, new) in &after.entries {
        if !before.entries.contains_key(name) {
            node(path.join(name), None, Some(new), all);
        }
    }
}

fn node<'a>(path: PathBuf, before: Option<&'a Node>, after: Option<&'a Node>, all: &mut Vec<Difference<'a>>) {
    let (before, after) = (seen(before), seen(after));
    if differ(before, after) {
        all.push(Difference {
            path: path.clone(),
            before,
            after,
        });
    }
    match (before, after) {
        (Some(Node::Folder(before)), Some(Node::Folder(after))) => inside(&path, before, after, all),
        (before, after) => {
            if let Some(Node::Folder(folder)) = before {
                for (name, old) in &folder.entries {
                    node(path.join(name), Some(old), None, all);
                }
            }
            if let Some(Node::Folder(folder)) = after {
                for (name, new) in &folder.entries {
                    node(path.join(name), None, Some(new), all);
                }
            }
        }
    }
}

/// What is left out is as if it were not there.
fn seen(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !matches!(node, Node::LeftOut | Node::Other))
}

fn differ(before: Option<&Node>, after: Option<&Node>) -> bool {
    match (before, after) {
        (None, None) => false,
        (Some(Node::File(before)), Some(Node::File(after))) => !is_same(before, after),
        (Some(Node::Link(before)), Some(Node::Link(after))) => before != after,
        (Some(Node::Folder(before)), Some(Node::Folder(after))) => before.stamp.mode != after.stamp.mode,
        (_, _) => true,
    }
}

/// Whether a file is sure to be the same: what is known of the older one was carried over.
fn is_same(before: &Leaf, after: &Leaf) -> bool {
    before.stamp == after.stamp && after.known.is_some()
}
