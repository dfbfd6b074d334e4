//! Snapshots of the project: every name with its file stamp; a rescan is fast if little has changed.

use super::git_index::GitIndex;
use super::ignore_rules::{self, CheckpointIgnore, is_internal};
use super::stamp::{FileStamp, Nanos, now};
use crate::hidden::HiddenPaths;
use gix_hash::ObjectId;
use session::BlobId;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// A folder with its entries.
#[derive(Debug, Clone)]
pub(super) struct DirSnapshot {
    pub(super) stamp: FileStamp,
    pub(super) entries: BTreeMap<OsString, SnapshotNode>,
    rules: CheckpointIgnore,
    /// When the names were read.
    read: Nanos,
}

/// An entry of a folder.
#[derive(Debug, Clone)]
pub(super) enum SnapshotNode {
    File(FileNode),
    Link(PathBuf),
    Folder(DirSnapshot),
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
}

/// Whether a folder is in an ignored one and only scanned because git tracks files in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanScope {
    Project,
    Ignored,
}

impl Scanner<'_> {
    /// Scans the folder at this path.
    pub(super) fn scan(
        &mut self,
        root: &Path,
        rules: &CheckpointIgnore,
        old: Option<&DirSnapshot>,
    ) -> io::Result<Result<DirSnapshot, TooManyNames>> {
        let metadata = fs::symlink_metadata(root)?;
        Ok(self.folder(root, &metadata, rules, old, ScanScope::Project))
    }

    fn folder(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        above: &CheckpointIgnore,
        old: Option<&DirSnapshot>,
        inside: ScanScope,
    ) -> Result<DirSnapshot, TooManyNames> {
        let stamp = FileStamp::of(metadata);
        let (names, read) = self.names(path, &stamp, old);
        let has_rules = names.iter().any(|name| name == ignore_rules::FILE);
        let rules = match has_rules {
            true => above.for_folder(path, old.map(|old| &old.rules)),
            false => above.clone(),
        };
        let trusted = old.filter(|old| self.view == ScanMode::Comparable || old.rules.is_same(&rules));
        let mut entries = BTreeMap::new();
        for name in names {
            self.names_left = self.names_left.checked_sub(1).ok_or(TooManyNames)?;
            let entry_path = path.join(&name);
            let before = old.and_then(|old| old.entries.get(&name));
            let node = match before {
                Some(SnapshotNode::Ignored) if trusted.is_some() => SnapshotNode::Ignored,
                before => self.node(&entry_path, &name, &rules, before, trusted.is_some(), inside)?,
            };
            entries.insert(name, node);
        }
        entries.retain(|_, node| !matches!(node, SnapshotNode::Other));
        // Decisions of older rules are revised in the next fresh snapshot.
        let rules = trusted.map_or(rules, |old| old.rules.clone());
        Ok(DirSnapshot {
            stamp,
            entries,
            rules,
            read,
        })
    }

    /// The names in a folder. They are not read again while the folder's stamp is unchanged.
    fn names(&self, path: &Path, stamp: &FileStamp, old: Option<&DirSnapshot>) -> (Vec<OsString>, Nanos) {
        let known = |old: &DirSnapshot| old.entries.keys().cloned().collect();
        if let Some(old) = old
            && old.stamp == *stamp
            && stamp.is_settled(old.read)
        {
            return (known(old), old.read);
        }
        let read = now();
        let names = fs::read_dir(path).and_then(|entries| {
            let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
            names.collect::<io::Result<Vec<OsString>>>()
        });
        match names {
            Ok(mut names) => {
                names.retain(|name| !is_internal(name));
                (names, read)
            }
            // An unreadable folder counts as unchanged.
            Err(_) => (old.map(known).unwrap_or_default(), read),
        }
    }

    fn node(
        &mut self,
        path: &Path,
        name: &OsStr,
        rules: &CheckpointIgnore,
        before: Option<&SnapshotNode>,
        is_trusted: bool,
        inside: ScanScope,
    ) -> Result<SnapshotNode, TooManyNames> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            // An inaccessible entry counts as unchanged.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(before.cloned().unwrap_or(SnapshotNode::Other));
            }
            Err(_) => return Ok(SnapshotNode::Other),
        };
        let is_known = is_trusted
            && matches!(
                before,
                Some(SnapshotNode::File(_) | SnapshotNode::Link(_) | SnapshotNode::Folder(_))
            );
        let is_out = !is_known && (inside == ScanScope::Ignored || rules.is_ignored(path, name, metadata.is_dir()));
        if self.excluded.iter().any(|apart| apart == path) || (!is_known && self.hiding.contains(path)) {
            return Ok(SnapshotNode::Ignored);
        }
        if metadata.is_dir() {
            return self.scan_folder_entry(path, &metadata, rules, before, is_out, inside);
        }
        if is_out && !self.repository.is_some_and(|repository| repository.tracks(path)) {
            return Ok(SnapshotNode::Ignored);
        }
        if metadata.is_symlink() {
            let target = fs::read_link(path);
            return Ok(target.map_or(SnapshotNode::Other, SnapshotNode::Link));
        }
        if !metadata.is_file() {
            return Ok(SnapshotNode::Other);
        }
        let stamp = FileStamp::of(&metadata);
        let known = match before {
            Some(SnapshotNode::File(leaf)) if leaf.stamp == stamp => leaf.known.clone(),
            Some(_) | None => None,
        };
        let known = known.filter(|known| stamp.is_settled(known.at));
        Ok(SnapshotNode::File(FileNode { stamp, known }))
    }

    fn scan_folder_entry(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        rules: &CheckpointIgnore,
        before: Option<&SnapshotNode>,
        is_out: bool,
        inside: ScanScope,
    ) -> Result<SnapshotNode, TooManyNames> {
        let old = match before {
            Some(SnapshotNode::Folder(folder)) => Some(folder),
            Some(SnapshotNode::File(_) | SnapshotNode::Link(_) | SnapshotNode::Ignored | SnapshotNode::Other)
            | None => None,
        };
        let is_made_again = || old.is_none() && path.join(ignore_rules::CACHE_TAG).is_file();
        let inside = match is_out || is_made_again() {
            true => ScanScope::Ignored,
            false => inside,
        };
        if inside == ScanScope::Ignored && !self.repository.is_some_and(|repository| repository.tracks_below(path)) {
            return Ok(SnapshotNode::Ignored);
        }
        self.folder(path, metadata, rules, old, inside)
            .map(SnapshotNode::Folder)
    }
}

impl DirSnapshot {
    /// Visits every file with its path.
    pub(super) fn each_file(&mut self, path: &Path, visit: &mut impl FnMut(&Path, &mut FileNode)) {
        for (name, node) in &mut self.entries {
            match node {
                SnapshotNode::File(leaf) => visit(&path.join(name), leaf),
                SnapshotNode::Folder(folder) => folder.each_file(&path.join(name), visit),
                SnapshotNode::Link(_) | SnapshotNode::Ignored | SnapshotNode::Other => {}
            }
        }
    }
}
