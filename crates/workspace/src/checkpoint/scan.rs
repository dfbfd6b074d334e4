//! Snapshots of the project: every name with its file stamp; a rescan is fast if little has changed.

use super::endangered::EndangeredPaths;
use super::git_index::GitIndex;
use super::ignore_rules::{self, CheckpointIgnore, is_internal};
use super::stamp::{FileStamp, Nanos, now};
use crate::hidden::HiddenPaths;
use crate::open;
use gix_hash::ObjectId;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use session::BlobId;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// All folders of a project by their relative paths. They are not nested, because commands decide how deep a tree is.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) folders: BTreeMap<PathBuf, DirSnapshot>,
}

/// A folder with its entries.
#[derive(Debug, Clone)]
pub(super) struct DirSnapshot {
    pub(super) stamp: FileStamp,
    pub(super) entries: BTreeMap<OsString, SnapshotNode>,
    pub(super) rules: CheckpointIgnore,
    /// When the names were read.
    pub(super) read: Nanos,
    pub(super) scope: ScanScope,
}

/// An entry of a folder.
#[derive(Debug, Clone)]
pub(super) enum SnapshotNode {
    File(FileNode),
    Link(PathBuf),
    Folder(FileStamp),
    /// Excluded by ignore rules.
    Ignored,
    /// A device, a pipe, or inaccessible.
    Other,
}

/// A file.
#[derive(Debug, Clone)]
pub(super) struct FileNode {
    pub(super) stamp: FileStamp,
    /// Its content, if known.
    pub(super) known: Option<KnownContent>,
}

/// The content of a file at one moment.
#[derive(Debug, Clone)]
pub(super) struct KnownContent {
    pub(super) source: ContentSource,
    /// When it was read.
    pub(super) at: Nanos,
}

/// Where the content of a file can be restored from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentSource {
    /// The blob folder.
    BlobDir(BlobId),
    /// A git object.
    Git(ObjectId),
    /// Nowhere; only its hash is known.
    HashOnly(BlobId),
    /// Not copied yet; copied before a later command. With its hash, if known.
    NotCopied(Option<BlobId>),
    /// The file was not read.
    Unreadable,
}

/// How a new snapshot treats entries of an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanMode {
    /// Applies the current rules: for a snapshot before a command.
    Fresh,
    /// Keeps the decisions of the older snapshot, whatever the rules are now: for a snapshot that is compared with it.
    Comparable,
}

/// The project has too many names for checkpoints.
#[derive(Debug)]
pub(super) struct TooManyNames;

/// Takes snapshots.
pub(super) struct Scanner<'a> {
    pub(super) view: ScanMode,
    pub(super) repository: Option<&'a GitIndex>,
    /// Folders that are excluded although they are in the project, such as hew's own.
    pub(super) excluded: &'a [PathBuf],
    /// Hidden paths, which must not be copied.
    pub(super) hiding: &'a HiddenPaths,
    /// The number of names that may still be scanned.
    pub(super) names_left: usize,
    /// What the command is known to change.
    pub(super) endangered: &'a EndangeredPaths,
    /// How much of ignored folders may still be covered.
    pub(super) ignored_left: IgnoredBudget,
}

/// Whether a folder is ignored or in an ignored one. New files in it are not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanScope {
    Project,
    Ignored,
}

/// Limits for files in ignored folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IgnoredBudget {
    files: usize,
    bytes: u64,
}

impl IgnoredBudget {
    /// For any command: enough for configuration and small outputs, little enough not to delay a command.
    pub(super) const ANY_COMMAND: Self = IgnoredBudget {
        files: 5_000,
        bytes: 64 << 20,
    };
    /// For a command that deletes ignored files.
    pub(super) const DELETION: Self = IgnoredBudget {
        files: 20_000,
        bytes: 256 << 20,
    };

    fn take(&mut self, size: u64) -> bool {
        let is_left = self.files > 0 && self.bytes >= size;
        if is_left {
            self.files -= 1;
            self.bytes -= size;
        }
        is_left
    }
}

/// An ignored file outside ignored folders is covered up to this size.
const MAX_IGNORED_FILE: u64 = 8 << 20;

/// A folder that is still to be scanned.
struct PendingFolder {
    path: PathBuf,
    rules: CheckpointIgnore,
    scope: ScanScope,
    /// Whether the older snapshot has it, so that its scope stays.
    is_known: bool,
}

/// What an entry is compared with and decided by.
struct EntryContext<'a> {
    folder: BorrowedFd<'a>,
    rules: &'a CheckpointIgnore,
    before: Option<&'a SnapshotNode>,
    is_trusted: bool,
    scope: ScanScope,
}

impl Scanner<'_> {
    /// Scans the folder at this path.
    pub(super) fn scan(
        &mut self,
        root: &Path,
        rules: &CheckpointIgnore,
        old: Option<&Snapshot>,
    ) -> io::Result<Result<Snapshot, TooManyNames>> {
        // An unreadable project is an error, an unreadable folder in it is not.
        drop(open::folder(root)?);
        let mut snapshot = Snapshot {
            folders: BTreeMap::new(),
        };
        let mut pending = vec![PendingFolder {
            path: PathBuf::new(),
            rules: rules.clone(),
            scope: ScanScope::Project,
            is_known: false,
        }];
        while let Some(mut next) = pending.pop() {
            let old_folder = old.and_then(|old| old.folders.get(&next.path));
            if let (true, Some(old)) = (next.is_known, old_folder) {
                next.scope = old.scope;
            }
            match self.folder(root, &next, old_folder, &mut pending) {
                Ok(Some(folder)) => {
                    snapshot.folders.insert(next.path, folder);
                }
                // An unreadable folder counts as unchanged.
                Ok(None) => snapshot
                    .folders
                    .extend(old.into_iter().flat_map(|old| old.below(&next.path))),
                Err(TooManyNames) => return Ok(Err(TooManyNames)),
            }
        }
        Ok(Ok(snapshot))
    }

    /// Scans one folder; `None` if it cannot be read. Folders in it are added to `pending`.
    fn folder(
        &mut self,
        root: &Path,
        next: &PendingFolder,
        old: Option<&DirSnapshot>,
        pending: &mut Vec<PendingFolder>,
    ) -> Result<Option<DirSnapshot>, TooManyNames> {
        let path = match next.path.as_os_str().is_empty() {
            true => root.to_owned(),
            false => root.join(&next.path),
        };
        let Ok(folder) = open::open(&path, open::TRAVERSE) else {
            return Ok(None);
        };
        let Ok(stat) = rustix::fs::fstat(&folder) else {
            return Ok(None);
        };
        let stamp = FileStamp::from(&stat);
        let (names, read) = names(&path, &stamp, old);
        let has_rules = names.iter().any(|name| name == ignore_rules::FILE);
        let rules = match has_rules {
            true => next.rules.for_folder(&path, old.map(|old| &old.rules)),
            false => next.rules.clone(),
        };
        let trusted = old.filter(|old| self.view == ScanMode::Comparable || old.rules.is_same(&rules));
        let mut entries = BTreeMap::new();
        for name in names {
            self.names_left = self.names_left.checked_sub(1).ok_or(TooManyNames)?;
            let before = old.and_then(|old| old.entries.get(&name));
            let context = EntryContext {
                folder: folder.as_fd(),
                rules: &rules,
                before,
                is_trusted: trusted.is_some(),
                scope: next.scope,
            };
            let node = match before {
                Some(SnapshotNode::Ignored) if trusted.is_some() && !self.is_reconsidered(&path.join(&name)) => {
                    SnapshotNode::Ignored
                }
                _ => self.node(&path.join(&name), &name, &context, |scope, is_known| {
                    pending.push(PendingFolder {
                        path: next.path.join(&name),
                        rules: rules.clone(),
                        scope,
                        is_known,
                    });
                }),
            };
            entries.insert(name, node);
        }
        entries.retain(|_, node| !matches!(node, SnapshotNode::Other));
        // Decisions of older rules are revised in the next fresh snapshot.
        let rules = trusted.map_or(rules, |old| old.rules.clone());
        Ok(Some(DirSnapshot {
            stamp,
            entries,
            rules,
            read,
            scope: next.scope,
        }))
    }

    /// Whether an ignored path is covered for this command.
    fn is_reconsidered(&self, path: &Path) -> bool {
        let is_named = || self.endangered.includes_ignored(path) || self.endangered.is_below(path);
        self.view == ScanMode::Fresh && is_named()
    }

    /// Scans an entry. `enter` is called for a folder that must be scanned.
    fn node(
        &mut self,
        path: &Path,
        name: &OsStr,
        context: &EntryContext<'_>,
        enter: impl FnOnce(ScanScope, bool),
    ) -> SnapshotNode {
        let before = context.before;
        let stat = match rustix::fs::statat(context.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // An inaccessible entry counts as unchanged.
            Err(Errno::ACCESS | Errno::PERM) => {
                let unchanged = before.cloned().unwrap_or(SnapshotNode::Other);
                if matches!(unchanged, SnapshotNode::Folder(_)) {
                    enter(context.scope, true);
                }
                return unchanged;
            }
            Err(_) => return SnapshotNode::Other,
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_folder = kind == FileType::Directory;
        let is_known = context.is_trusted
            && matches!(
                before,
                Some(SnapshotNode::File(_) | SnapshotNode::Link(_) | SnapshotNode::Folder(_))
            );
        let is_out =
            !is_known && (context.scope == ScanScope::Ignored || context.rules.is_ignored(path, name, is_folder));
        if self.excluded.iter().any(|apart| apart == path) || (!is_known && self.hiding.contains(path)) {
            return SnapshotNode::Ignored;
        }
        let stamp = FileStamp::from(&stat);
        if is_folder {
            if is_known && matches!(before, Some(SnapshotNode::Folder(_))) {
                enter(context.scope, true);
                return SnapshotNode::Folder(stamp);
            }
            let is_generated = ignore_rules::is_generated(path);
            let scope = match is_out || is_generated {
                true => ScanScope::Ignored,
                false => context.scope,
            };
            let is_tracked = || self.repository.is_some_and(|repository| repository.tracks_below(path));
            // A folder in the place of a covered file is a change.
            if scope == ScanScope::Ignored
                && !is_known
                && !self.covers_ignored_folder(path, is_generated)
                && !is_tracked()
            {
                return SnapshotNode::Ignored;
            }
            enter(scope, false);
            return SnapshotNode::Folder(stamp);
        }
        let is_covered = self.covers_ignored_file(path, stamp.size, context.scope);
        if is_out && !is_covered && !self.repository.is_some_and(|repository| repository.tracks(path)) {
            return SnapshotNode::Ignored;
        }
        match kind {
            FileType::Symlink => match rustix::fs::readlinkat(context.folder, name, Vec::new()) {
                Ok(target) => SnapshotNode::Link(OsStr::from_bytes(target.as_bytes()).into()),
                Err(_) => SnapshotNode::Other,
            },
            FileType::RegularFile => {
                let known = match before {
                    Some(SnapshotNode::File(leaf)) if leaf.stamp == stamp => leaf.known.clone(),
                    Some(_) | None => None,
                };
                let known = known.filter(|known| stamp.is_settled(known.at));
                SnapshotNode::File(FileNode { stamp, known })
            }
            _ => SnapshotNode::Other,
        }
    }
}

impl Scanner<'_> {
    /// Whether an ignored folder is scanned: a generated one only where the command names something in it.
    fn covers_ignored_folder(&self, path: &Path, is_generated: bool) -> bool {
        let is_included = || self.endangered.includes_ignored(path) || self.ignored_left.files > 0;
        match self.view {
            ScanMode::Comparable => false,
            ScanMode::Fresh => self.endangered.is_below(path) || (!is_generated && is_included()),
        }
    }

    /// Whether an ignored file is covered. New ignored files are not recorded, because most of them are build outputs.
    fn covers_ignored_file(&mut self, path: &Path, size: u64, scope: ScanScope) -> bool {
        match (self.view, scope) {
            (ScanMode::Comparable, _) => false,
            (ScanMode::Fresh, _) if self.endangered.includes(path) => true,
            (ScanMode::Fresh, ScanScope::Project) => size <= MAX_IGNORED_FILE,
            (ScanMode::Fresh, ScanScope::Ignored) => self.ignored_left.take(size),
        }
    }
}

/// The names in a folder. They are not read again while the folder's stamp is unchanged.
fn names(path: &Path, stamp: &FileStamp, old: Option<&DirSnapshot>) -> (Vec<OsString>, Nanos) {
    let known = |old: &DirSnapshot| old.entries.keys().cloned().collect();
    if let Some(old) = old
        && old.stamp == *stamp
        && stamp.is_settled(old.read)
    {
        return (known(old), old.read);
    }
    let read = now();
    let entries = open::folder(path).and_then(|folder| open::entries(folder.as_fd()));
    match entries {
        Ok(entries) => {
            let names = entries.into_iter().map(|(name, _)| name);
            (names.filter(|name| !is_internal(name)).collect(), read)
        }
        // An unreadable folder counts as unchanged.
        Err(_) => (old.map(known).unwrap_or_default(), read),
    }
}

impl Snapshot {
    /// Visits every file with its path.
    pub(super) fn each_file(&mut self, root: &Path, visit: &mut impl FnMut(&Path, &mut FileNode)) {
        for (path, folder) in &mut self.folders {
            for (name, node) in &mut folder.entries {
                if let SnapshotNode::File(leaf) = node {
                    visit(&root.join(path).join(name), leaf);
                }
            }
        }
    }

    /// A folder and all folders below it.
    fn below(&self, path: &Path) -> impl Iterator<Item = (PathBuf, DirSnapshot)> {
        let folders = self.folders.range(path.to_owned()..);
        let below = folders.take_while(move |(folder, _)| folder.starts_with(path));
        below.map(|(folder, snapshot)| (folder.clone(), snapshot.clone()))
    }
}
