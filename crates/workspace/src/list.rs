//! Lists one folder.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;

use crate::{Error, Location, walk};

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
        let folder = fs::read_dir(self.path()).map_err(|error| self.error(error))?;
        let mut entries: Vec<(bool, OsString, fs::DirEntry)> = folder
            .flatten()
            .filter(|entry| !self.hiding().contains(&entry.path()))
            .map(|entry| {
                (
                    !entry.file_type().is_ok_and(|kind| kind.is_dir()),
                    entry.file_name(),
                    entry,
                )
            })
            .collect();
        entries.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let total = entries.len();
        entries.truncate(limit);
        let seen = self.unignored_names();
        let entries = entries
            .into_iter()
            .map(|(_, name, entry)| ListEntry {
                kind: kind(&entry),
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

    /// The names in this folder that are not ignored.
    fn unignored_names(&self) -> HashSet<OsString> {
        let walk = walk::builder(self.path(), self.hiding()).max_depth(Some(1)).build();
        walk.flatten()
            .filter(|entry| entry.depth() == 1)
            .map(|entry| entry.file_name().to_owned())
            .collect()
    }
}

fn kind(entry: &fs::DirEntry) -> EntryKind {
    // `DirEntry::metadata` does not follow links.
    match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => EntryKind::Directory,
        Ok(metadata) if metadata.is_symlink() => EntryKind::Link,
        Ok(metadata) if metadata.is_file() => EntryKind::File { size: metadata.len() },
        Ok(_) | Err(_) => EntryKind::Other,
    }
}
