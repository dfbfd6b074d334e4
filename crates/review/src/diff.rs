//! The combined file changes of a session as patches.

mod git_binary;
mod patch;

pub use patch::{GitPatch, PatchTarget, PathDiff};

use crate::{Error, PathScope, SessionHistory, VersionContents};
use patch::DirectoryNote;
use session::{Change, FileKind, FileVersion, ItemId, same_version};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use workspace::checkpoint::current_version;

/// The net change of a path in a session.
#[derive(Debug, Clone)]
pub struct NetChange {
    /// The version before the session.
    pub before: Option<FileVersion>,
    /// The last version in the session.
    pub after: Option<FileVersion>,
    /// Whether the current file differs from the last version in the session.
    pub changed_since: bool,
}

/// A changed path with its diff.
pub struct ChangedPath {
    /// The path.
    pub path: PathBuf,
    /// The change.
    pub change: NetChange,
    /// The change as a diff.
    pub diff: PathDiff,
}

/// The net changes of a session after an item, by path.
pub async fn session_diff(
    history: &SessionHistory,
    since: Option<ItemId>,
    scope: &PathScope,
    target: PatchTarget,
) -> Result<Vec<ChangedPath>, Error> {
    let start = match since {
        None => 0,
        Some(id) => {
            let at = history.items.iter().position(|item| item.id == id);
            at.ok_or(Error::OtherBranch)? + 1
        }
    };
    let changes = net_changes(history, start, scope);
    let versions = changes
        .values()
        .flat_map(|change| change.before.iter().chain(&change.after));
    let contents = history.contents(&versions.collect::<Vec<_>>()).await?;
    let diff = |(path, change): (&PathBuf, &NetChange)| {
        let versions = (&change.before, &change.after);
        let note = directory_note(path, change, &changes);
        ChangedPath {
            path: path.clone(),
            change: change.clone(),
            diff: PathDiff::new(path, versions, &contents, target, note),
        }
    };
    Ok(changes.iter().map(diff).collect())
}

/// A single change as a diff for display.
pub fn change_diff(change: &Change, contents: &VersionContents) -> PathDiff {
    let versions = (&change.before, &change.after);
    PathDiff::new(
        &change.path,
        versions,
        contents,
        PatchTarget::Display,
        DirectoryNote::Show,
    )
}

/// The first and last version of each path, where they differ.
fn net_changes(history: &SessionHistory, start: usize, scope: &PathScope) -> BTreeMap<PathBuf, NetChange> {
    let mut all: BTreeMap<PathBuf, NetChange> = BTreeMap::new();
    let changes = history.items[start..].iter().flat_map(|item| item.changes());
    for change in changes.filter(|change| scope.contains(&change.path)) {
        let net = all.entry(change.path.clone()).or_insert_with(|| NetChange {
            before: change.before.clone(),
            after: None,
            changed_since: false,
        });
        net.after.clone_from(&change.after);
    }
    all.retain(|_, net| !same_version(net.before.as_ref(), net.after.as_ref()));
    for (path, net) in &mut all {
        let current = current_version(&history.root, path).ok().flatten();
        net.changed_since = !same_version(current.as_ref(), net.after.as_ref());
    }
    all
}

/// Omits the note for a folder that is created or removed together with a file in it.
fn directory_note(path: &Path, change: &NetChange, all: &BTreeMap<PathBuf, NetChange>) -> DirectoryNote {
    let is_file = |version: &Option<FileVersion>| {
        let version = version.as_ref();
        version.is_some_and(|version| !matches!(version.kind, FileKind::Folder { .. }))
    };
    let mut below = all
        .range::<Path, _>((Bound::Excluded(path), Bound::Unbounded))
        .take_while(|(other, _)| other.starts_with(path));
    let is_implied = match (&change.before, &change.after) {
        (None, Some(_)) => below.any(|(_, net)| is_file(&net.after)),
        (Some(_), None) => below.any(|(_, net)| is_file(&net.before)),
        (_, _) => false,
    };
    match is_implied {
        true => DirectoryNote::Omit,
        false => DirectoryNote::Show,
    }
}
