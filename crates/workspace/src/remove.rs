//! Removes and renames files, reversibly.

use std::io;

use rustix::io::Errno;

use crate::write::EntryHandle;
use crate::{Error, ExpectedContent, Fingerprint, Location, MAX_FILE, open};

/// A removed file, with the data to restore it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedFile {
    /// Its content.
    pub content: Vec<u8>,
    mode: u32,
}

impl Location {
    /// Removes this file, which must match the fingerprint and must not be write-protected.
    pub fn remove(&self, snapshot: Fingerprint) -> Result<RemovedFile, Error> {
        let content = self.read_bytes(MAX_FILE)?;
        if Fingerprint::of(&content) != snapshot {
            return Err(Error::Changed {
                path: self.shown().into_owned(),
            });
        }
        let handle = self.writable_handle()?;
        let mode = handle.metadata().map_err(|error| self.error(error))?.st_mode & 0o7777;
        handle.remove_file().map_err(|error| self.error(error))?;
        Ok(RemovedFile { content, mode })
    }

    /// Restores a removed file with its mode bits; the path must not exist.
    pub fn restore(&self, removed: &RemovedFile) -> Result<(), Error> {
        self.write(&removed.content, ExpectedContent::Absent)?;
        let given = EntryHandle::open_parent(self.path()).and_then(|handle| handle.set_mode(removed.mode));
        given.map_err(|error| self.error(error))
    }

    /// Renames this file; the target must not exist, and missing folders are created.
    pub fn rename(&self, to: &Location) -> Result<(), Error> {
        let handle = self.writable_handle()?;
        let target = EntryHandle::create_parents(to.path()).map_err(|error| to.error(error))?;
        match handle.rename(&target) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(to.exists_error()),
            Err(errno) => Err(self.error(errno.into())),
        }
    }

    /// The missing folders above this path, innermost first.
    pub fn missing_folders(&self) -> Vec<Location> {
        self.path()
            .ancestors()
            .skip(1)
            .take_while(|folder| open::kind(folder).is_none())
            .map(|folder| self.with_path(folder))
            .collect()
    }

    /// Removes this folder if it exists and is empty.
    pub fn remove_empty_folder(&self) -> Result<(), Error> {
        match EntryHandle::open_parent(self.path()).and_then(|handle| handle.remove_folder()) {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Removing or renaming a write-protected file would bypass its protection.
    fn writable_handle(&self) -> Result<EntryHandle, Error> {
        let handle =
            EntryHandle::open_parent(self.path()).and_then(|handle| handle.require_writable().map(|()| handle));
        handle.map_err(|error| self.error(error))
    }
}
