//! Taking files away and giving them other names, so that either can be undone.

use std::io;

use rustix::io::Errno;

use crate::write::Held;
use crate::{Error, Expect, Location, MAX_FILE, Snapshot};

/// A file that was removed: enough to put it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// What it held.
    pub content: Vec<u8>,
    mode: u32,
}

impl Location {
    /// Removes this file, which must hold what it held when `snapshot` was taken and must not be write-protected.
    pub fn remove(&self, snapshot: Snapshot) -> Result<Removed, Error> {
        let content = self.read_bytes(MAX_FILE)?;
        if Snapshot::of(&content) != snapshot {
            return Err(Error::Changed {
                path: self.shown().into_owned(),
            });
        }
        let held = self.writable()?;
        let mode = held.about().map_err(|error| self.error(error))?.st_mode & 0o7777;
        held.remove_file().map_err(|error| self.error(error))?;
        Ok(Removed { content, mode })
    }

    /// Puts a removed file back where nothing stands now, with the mode bits it had.
    pub fn restore(&self, removed: &Removed) -> Result<(), Error> {
        self.write(&removed.content, Expect::Absent)?;
        let given = Held::of(self.path()).and_then(|held| held.set_mode(removed.mode));
        given.map_err(|error| self.error(error))
    }

    /// Gives this file another name, where nothing may stand yet; folders are created. Everything about it stays.
    pub fn rename(&self, to: &Location) -> Result<(), Error> {
        let held = self.writable()?;
        let target = Held::made(to.path()).map_err(|error| to.error(error))?;
        match held.rename(&target) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(to.taken()),
            Err(errno) => Err(self.error(errno.into())),
        }
    }

    /// The folders above this path that do not exist yet, the innermost first.
    pub fn missing_folders(&self) -> Vec<Location> {
        self.path()
            .ancestors()
            .skip(1)
            .take_while(|folder| !folder.exists())
            .map(|folder| self.beside(folder))
            .collect()
    }

    /// Removes this folder if it is empty; one that is not, or is not there, stays as it is.
    pub fn remove_empty_folder(&self) -> Result<(), Error> {
        match Held::of(self.path()).and_then(|held| held.remove_folder()) {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    fn taken(&self) -> Error {
        Error::Exists {
            path: self.shown().into_owned(),
        }
    }

    /// Taking away or renaming a write-protected file would get around its protection.
    fn writable(&self) -> Result<Held, Error> {
        let held = Held::of(self.path()).and_then(|held| held.require_writable().map(|()| held));
        held.map_err(|error| self.error(error))
    }
}
