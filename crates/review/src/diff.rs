//! The combined file changes of a session as patches.

mod git_binary;
mod patch;

pub use patch::{GitPatch, PatchTarget, PathDiff};

use crate::{Error, PathScope, SessionHistory, VersionContents};
use patch::DirectoryNote;
use session::{Change, FileKind, FileVersion, ItemId, same_version};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
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
    let folders = FileFolders::new(&changes);
    let diff = |(path, change): (&PathBuf, &NetChange)| {
        let versions = (&change.before, &change.after);
        let note = folders.note(path, change);
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

/// The folders that contain a created or a removed file. Commands decide how deep they are, so the parents of a known
/// folder are not visited again.
#[derive(Default)]
struct FileFolders<'a> {
    created: HashSet<&'a OsStr>,
    removed: HashSet<&'a OsStr>,
}

impl<'a> FileFolders<'a> {
    fn new(all: &'a BTreeMap<PathBuf, NetChange>) -> Self {
        let is_file = |version: &Option<FileVersion>| {
            let version = version.as_ref();
            version.is_some_and(|version| !matches!(version.kind, FileKind::Folder { .. }))
        };
        let mut folders = FileFolders::default();
        for (path, net) in all {
            let sides = [(&net.after, &mut folders.created), (&net.before, &mut folders.removed)];
            for (_, known) in sides.into_iter().filter(|(version, _)| is_file(version)) {
                let mut parents = path.ancestors().skip(1);
                while let Some(folder) = parents.next()
                    && known.insert(folder.as_os_str())
                {}
            }
        }
        folders
    }

    /// Omits the note for a folder that is created or removed together with a file in it.
    fn note(&self, path: &Path, change: &NetChange) -> DirectoryNote {
        let is_implied = match (&change.before, &change.after) {
            (None, Some(_)) => self.created.contains(path.as_os_str()),
            (Some(_), None) => self.removed.contains(path.as_os_str()),
            (_, _) => false,
        };
        match is_implied {
            true => DirectoryNote::Omit,
            false => DirectoryNote::Show,
        }
    }
}
