//! Listing one folder.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;

use crate::{Error, Location, walk};

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Folders first, then the rest, each in alphabetical order, at most as many as asked for.
    pub entries: Vec<Entry>,
    /// How many there are.
    pub total: usize,
}

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Whether searches see it.
    pub tracked: Tracked,
}

/// What an entry is. The order is the one in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
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

/// Whether an entry is hidden from searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracked {
    /// Searches see it.
    Yes,
    /// An ignore file names it, or version control owns it.
    Ignored,
}

impl Location {
    /// Lists this folder, at most `limit` entries of it.
    pub fn list(&self, limit: usize) -> Result<Listing, Error> {
        let folder = fs::read_dir(self.path()).map_err(|error| self.error(error))?;
        let mut entries: Vec<(bool, OsString, fs::DirEntry)> = folder
            .flatten()
            .filter(|entry| !self.hiding().hides(&entry.path()))
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
        let seen = self.seen();
        let entries = entries
            .into_iter()
            .map(|(_, name, entry)| Entry {
                kind: kind(&entry),
                tracked: if seen.contains(&name) {
                    Tracked::Yes
                } else {
                    Tracked::Ignored
                },
                name: name.to_string_lossy().into_owned(),
            })
            .collect();
        Ok(Listing { entries, total })
    }

    /// The names in this folder that no ignore file hides.
    fn seen(&self) -> HashSet<OsString> {
        let walk = walk::builder(self.path(), self.hiding()).max_depth(Some(1)).build();
        walk.flatten()
            .filter(|entry| entry.depth() == 1)
            .map(|entry| entry.file_name().to_owned())
            .collect()
    }
}

fn kind(entry: &fs::DirEntry) -> Kind {
    // `DirEntry::metadata` does not follow links.
    match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => Kind::Directory,
        Ok(metadata) if metadata.is_symlink() => Kind::Link,
        Ok(metadata) if metadata.is_file() => Kind::File { size: metadata.len() },
        Ok(_) | Err(_) => Kind::Other,
    }
}
