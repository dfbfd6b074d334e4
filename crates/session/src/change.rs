//! What stood at a path before and after something changed it.

use crate::BlobId;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A path before and after a tool changed what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, relative to the project where it lies inside it.
    pub path: PathBuf,
    /// What stood there before; `None` where nothing did.
    pub before: Option<Version>,
    /// What stood there after; `None` where nothing did.
    pub after: Option<Version>,
}

/// What stood at a path at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// What kind of thing it was, with its permissions.
    pub kind: Kind,
    /// Names the bytes of a file, or those of the path that a link led to; `None` for a folder.
    pub content: Option<BlobId>,
    /// Whether the bytes can be had back, or are only known by their name.
    pub kept: bool,
}

/// What kind of thing stood at a path. Permissions are the twelve bits of a Unix mode; `None` where nobody noted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
    /// The names of the bytes on both sides, where there was a regular file or nothing; `None` for links and folders.
    pub fn contents(&self) -> Option<(Option<&BlobId>, Option<&BlobId>)> {
        let is_plain = |version: &Option<Version>| match version.as_ref().map(|version| version.kind) {
            Some(Kind::File { .. }) | None => true,
            Some(Kind::Link | Kind::Folder { .. }) => false,
        };
        if !is_plain(&self.before) || !is_plain(&self.after) {
            return None;
        }
        Some((content(&self.before), content(&self.after)))
    }
}

/// How many files and folders changes concern, counted alike wherever a number is told. A link counts as a file, a path at which
/// only folders stood as a folder.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Files and links.
    pub files: usize,
    /// Folders.
    pub folders: usize,
}

impl Tally {
    /// Counts a path by what stood there before and after.
    pub fn count(&mut self, before: Option<&Version>, after: Option<&Version>) {
        let is_folder = |version: &Version| matches!(version.kind, Kind::Folder { .. });
        match before.into_iter().chain(after).all(is_folder) {
            true => self.folders += 1,
            false => self.files += 1,
        }
    }

    /// What changes come to in the end, counted.
    pub fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut tally = Tally::default();
        for (before, after) in net(changes).into_values() {
            tally.count(before, after);
        }
        tally
    }

    /// Whether there was nothing to count.
    pub fn is_empty(self) -> bool {
        self == Tally::default()
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(all: I) -> Self {
        all.fold(Tally::default(), |sum, one| Tally {
            files: sum.files + one.files,
            folders: sum.folders + one.folders,
        })
    }
}

impl fmt::Display for Tally {
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

/// What stood at each path before all of these changes and after them, where that differs.
pub fn net<'a>(
    changes: impl IntoIterator<Item = &'a Change>,
) -> BTreeMap<&'a Path, (Option<&'a Version>, Option<&'a Version>)> {
    let mut all = BTreeMap::new();
    for change in changes {
        let sides = all
            .entry(change.path.as_path())
            .or_insert((change.before.as_ref(), None));
        sides.1 = change.after.as_ref();
    }
    all.retain(|_, (before, after)| !alike(*before, *after));
    all
}

/// Whether the same stood at a path at both times, as far as that is known; nothing is like nothing.
pub fn alike(one: Option<&Version>, two: Option<&Version>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => one.is_like(two),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

impl Version {
    /// A folder.
    pub fn folder(mode: u32) -> Self {
        Version {
            kind: Kind::Folder { mode: Some(mode) },
            content: None,
            kept: true,
        }
    }

    /// Whether both are the same, as far as both are known.
    pub fn is_like(&self, other: &Version) -> bool {
        let modes = |one: Option<u32>, two: Option<u32>| one.is_none() || two.is_none() || one == two;
        let kinds = match (self.kind, other.kind) {
            (Kind::File { mode: one }, Kind::File { mode: two })
            | (Kind::Folder { mode: one }, Kind::Folder { mode: two }) => modes(one, two),
            (Kind::Link, Kind::Link) => true,
            (Kind::File { .. } | Kind::Link | Kind::Folder { .. }, _) => false,
        };
        let contents = match self.kind {
            // Bytes that nobody could name may be any.
            Kind::File { .. } | Kind::Link => self.content.is_some() && self.content == other.content,
            Kind::Folder { .. } => true,
        };
        kinds && contents
    }
}

fn content(version: &Option<Version>) -> Option<&BlobId> {
    version.as_ref().and_then(|version| version.content.as_ref())
}

/// A regular file of which only the bytes are known.
impl From<BlobId> for Version {
    fn from(content: BlobId) -> Self {
        Version {
            kind: Kind::File { mode: None },
            content: Some(content),
            kept: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str, mode: Option<u32>) -> Option<Version> {
        Some(Version {
            kind: Kind::File { mode },
            ..BlobId(content.into()).into()
        })
    }

    #[test]
    fn what_is_as_it_was_does_not_count_and_folders_are_not_files() {
        let link = Some(Version {
            kind: Kind::Link,
            ..BlobId("to".into()).into()
        });
        let folder = Some(Version::folder(0o755));
        let change = |path: &str, before: &Option<Version>, after: &Option<Version>| Change {
            path: path.into(),
            before: before.clone(),
            after: after.clone(),
        };
        let plain = file("x", Some(0o644));
        let executable = file("x", Some(0o755));
        let check = |changes: &[Change], files: usize, folders: usize, words: &str| {
            let tally = Tally::of(changes);
            assert_eq!((tally, tally.to_string().as_str()), (Tally { files, folders }, words));
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
