//! Changed files: their versions before and after.

use crate::BlobId;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<V = FileVersion> {
    /// The path, relative to the project if inside it.
    pub path: PathBuf,
    /// The version before; `None` if nothing existed.
    pub before: Option<V>,
    /// The version after; `None` if nothing exists.
    pub after: Option<V>,
}

impl<V> Change<V> {
    /// Converts both versions.
    pub fn map<W>(self, mut convert: impl FnMut(V) -> W) -> Change<W> {
        Change {
            path: self.path,
            before: self.before.map(&mut convert),
            after: self.after.map(convert),
        }
    }
}

/// A file, link or folder at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Its kind, with permissions.
    pub kind: FileKind,
    /// Content of a file, or target of a link; `None` for a folder.
    pub content: Option<BlobId>,
    /// Whether the content is stored, or only its hash is known.
    pub is_stored: bool,
}

/// The kind of a version. Permissions are the twelve bits of a Unix mode; `None` if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File {
        /// Its permissions.
        mode: Option<u32>,
    },
    /// A symbolic link.
    Link,
    /// A folder.
    Folder {
        /// Its permissions.
        mode: Option<u32>,
    },
}

impl Change {
    /// The contents before and after, if both are a regular file or nothing; `None` for links and folders.
    pub fn contents(&self) -> Option<(Option<&BlobId>, Option<&BlobId>)> {
        let is_plain = |version: &Option<FileVersion>| match version.as_ref().map(|version| version.kind) {
            Some(FileKind::File { .. }) | None => true,
            Some(FileKind::Link | FileKind::Folder { .. }) => false,
        };
        if !is_plain(&self.before) || !is_plain(&self.after) {
            return None;
        }
        Some((content(&self.before), content(&self.after)))
    }
}

/// The number of changed files and folders. A link counts as a file, a path at which only folders existed as a folder.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ChangeCount {
    /// Files and links.
    pub files: usize,
    /// Folders.
    pub folders: usize,
}

impl ChangeCount {
    /// Counts a path by its versions before and after.
    pub fn count(&mut self, before: Option<&FileVersion>, after: Option<&FileVersion>) {
        let is_folder = |version: &FileVersion| matches!(version.kind, FileKind::Folder { .. });
        match before.into_iter().chain(after).all(is_folder) {
            true => self.folders += 1,
            false => self.files += 1,
        }
    }

    /// Counts the net changes.
    pub fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut count = ChangeCount::default();
        for (before, after) in net_changes(changes).into_values() {
            count.count(before, after);
        }
        count
    }

    /// Whether nothing was counted.
    pub fn is_empty(self) -> bool {
        self == ChangeCount::default()
    }
}

impl std::iter::Sum for ChangeCount {
    fn sum<I: Iterator<Item = ChangeCount>>(all: I) -> Self {
        all.fold(ChangeCount::default(), |sum, one| ChangeCount {
            files: sum.files + one.files,
            folders: sum.folders + one.folders,
        })
    }
}

impl fmt::Display for ChangeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{count} {noun}s"),
        };
        let (files, folders) = (counted(self.files, "file"), counted(self.folders, "folder"));
        match (self.files, self.folders) {
            (_, 0) => f.write_str(&files),
            (0, _) => f.write_str(&folders),
            (_, _) => write!(f, "{files} and {folders}"),
        }
    }
}

/// Summarises restored paths by their versions before and after: `6 files removed, 1 file restored`. Folders count only if
/// there are no files.
pub fn describe_restored<'a>(
    paths: impl IntoIterator<Item = (Option<&'a FileVersion>, Option<&'a FileVersion>)>,
) -> String {
    let mut counts = [ChangeCount::default(); 3];
    for (before, after) in paths {
        let [removed, restored, recreated] = &mut counts;
        let count = match (before, after) {
            (_, None) => removed,
            (Some(_), Some(_)) => restored,
            (None, Some(_)) => recreated,
        };
        count.count(before, after);
    }
    let has_files = counts.iter().any(|count| count.files > 0);
    let parts = counts.iter().zip(["removed", "restored", "recreated"]);
    let parts = parts.filter_map(|(count, verb)| {
        let count = ChangeCount {
            folders: if has_files { 0 } else { count.folders },
            ..*count
        };
        (!count.is_empty()).then(|| format!("{count} {verb}"))
    });
    let parts: Vec<String> = parts.collect();
    match parts.is_empty() {
        true => "no file changed".into(),
        false => parts.join(", "),
    }
}

/// The versions of each path before and after all of these changes, for paths with a net difference.
pub fn net_changes<'a>(
    changes: impl IntoIterator<Item = &'a Change>,
) -> BTreeMap<&'a Path, (Option<&'a FileVersion>, Option<&'a FileVersion>)> {
    let mut all = BTreeMap::new();
    for change in changes {
        let sides = all
            .entry(change.path.as_path())
            .or_insert((change.before.as_ref(), None));
        sides.1 = change.after.as_ref();
    }
    all.retain(|_, (before, after)| !same_version(*before, *after));
    all
}

/// Whether both versions are the same as far as known; two missing versions are the same.
pub fn same_version(one: Option<&FileVersion>, two: Option<&FileVersion>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => one.matches(two),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

impl FileVersion {
    /// A folder.
    pub fn folder(mode: u32) -> Self {
        FileVersion {
            kind: FileKind::Folder { mode: Some(mode) },
            content: None,
            is_stored: true,
        }
    }

    /// Whether both are the same, as far as known.
    pub fn matches(&self, other: &FileVersion) -> bool {
        let modes = |one: Option<u32>, two: Option<u32>| one.is_none() || two.is_none() || one == two;
        let kinds = match (self.kind, other.kind) {
            (FileKind::File { mode: one }, FileKind::File { mode: two })
            | (FileKind::Folder { mode: one }, FileKind::Folder { mode: two }) => modes(one, two),
            (FileKind::Link, FileKind::Link) => true,
            (FileKind::File { .. } | FileKind::Link | FileKind::Folder { .. }, _) => false,
        };
        let contents = match self.kind {
            // Unknown contents are never the same.
            FileKind::File { .. } | FileKind::Link => self.content.is_some() && self.content == other.content,
            FileKind::Folder { .. } => true,
        };
        kinds && contents
    }
}

fn content(version: &Option<FileVersion>) -> Option<&BlobId> {
    version.as_ref().and_then(|version| version.content.as_ref())
}

/// A regular file with unknown permissions.
impl From<BlobId> for FileVersion {
    fn from(content: BlobId) -> Self {
        FileVersion {
            kind: FileKind::File { mode: None },
            content: Some(content),
            is_stored: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str, mode: Option<u32>) -> Option<FileVersion> {
        Some(FileVersion {
            kind: FileKind::File { mode },
            ..BlobId(content.into()).into()
        })
    }

    #[test]
    fn only_net_changes_count_and_folders_are_counted_separately() {
        let link = Some(FileVersion {
            kind: FileKind::Link,
            ..BlobId("to".into()).into()
        });
        let folder = Some(FileVersion::folder(0o755));
        let change = |path: &str, before: &Option<FileVersion>, after: &Option<FileVersion>| Change {
            path: path.into(),
            before: before.clone(),
            after: after.clone(),
        };
        let plain = file("x", Some(0o644));
        let executable = file("x", Some(0o755));
        let check = |changes: &[Change], files: usize, folders: usize, words: &str| {
            let count = ChangeCount::of(changes);
            assert_eq!(
                (count, count.to_string().as_str()),
                (ChangeCount { files, folders }, words)
            );
        };
        check(&[], 0, 0, "0 files");
        check(&[change("a", &plain, &executable)], 1, 0, "1 file");
        check(&[change("l", &None, &link)], 1, 0, "1 file");
        check(&[change("d", &None, &folder)], 0, 1, "1 folder");
        check(
            &[change("d", &folder, &plain), change("e", &None, &folder)],
            1,
            1,
            "1 file and 1 folder",
        );
        let there_and_back = [change("a", &plain, &executable), change("a", &executable, &plain)];
        check(&there_and_back, 0, 0, "0 files");
        check(
            &[change("a", &None, &plain), change("a", &plain, &None)],
            0,
            0,
            "0 files",
        );
    }
}
