//! Lists one folder.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType};

use crate::{Error, Location, open, walk};

/// The entries of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderListing {
    /// Folders first, then the rest, each in alphabetical order, at most `limit`.
    pub entries: Vec<ListEntry>,
    /// The total number.
    pub total: usize,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    /// Its name; invalid UTF-8 is replaced.
    pub name: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Whether searches include it.
    pub ignore_status: IgnoreStatus,
}

/// The kind of an entry, in listing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A folder.
    Directory,
    /// A regular file of this many bytes.
    File {
        /// Its length.
        size: u64,
    },
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Other,
}

/// Whether searches ignore an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreStatus {
    /// Searches include it.
    Yes,
    /// An ignore file matches it, or it belongs to version control.
    Ignored,
}

impl Location {
    /// Lists at most `limit` entries of this folder.
    pub fn list(&self, limit: usize) -> Result<FolderListing, Error> {
        let folder = open::folder(self.path()).map_err(|error| self.error(error))?;
        let mut entries = open::entries(folder.as_fd()).map_err(|error| self.error(error))?;
        entries.retain(|(name, _)| !self.hiding().contains(&self.path().join(name)));
        entries.sort_by(|(a, a_kind), (b, b_kind)| {
            (*a_kind != FileType::Directory, a).cmp(&(*b_kind != FileType::Directory, b))
        });
        let total = entries.len();
        entries.truncate(limit);
        let seen: HashSet<OsString> = walk::visible_names(self.path(), self.hiding()).into_iter().collect();
        let size = |name: &OsString| rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let entries = entries
            .into_iter()
            .map(|(name, kind)| ListEntry {
                kind: match kind {
                    FileType::Directory => EntryKind::Directory,
                    FileType::Symlink => EntryKind::Link,
                    FileType::RegularFile => EntryKind::File {
                        size: size(&name).map_or(0, |stat| stat.st_size as u64),
                    },
                    _ => EntryKind::Other,
                },
                ignore_status: if seen.contains(&name) {
                    IgnoreStatus::Yes
                } else {
                    IgnoreStatus::Ignored
                },
                name: name.to_string_lossy().into_owned(),
            })
            .collect();
        Ok(FolderListing { entries, total })
    }
}
