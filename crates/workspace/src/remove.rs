//! Taking files away and giving them other names, so that either can be undone.

use std::fs::{self, Permissions};
use std::io;
use std::path::Path;

use rustix::fs::{Access, CWD, RenameFlags};
use rustix::io::Errno;

use crate::{Error, Expect, Location, MAX_FILE, Snapshot};

/// A file that was removed: enough to put it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// What it held.
    pub content: Vec<u8>,
    permissions: Permissions,
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
        self.writable()?;
        let permissions = fs::metadata(self.path())
            .map_err(|error| self.error(error))?
            .permissions();
        fs::remove_file(self.path()).map_err(|error| self.error(error))?;
        Ok(Removed { content, permissions })
    }

    /// Puts a removed file back where nothing stands now, with the mode bits it had.
    pub fn restore(&self, removed: &Removed) -> Result<(), Error> {
        self.write(&removed.content, Expect::Absent)?;
        fs::set_permissions(self.path(), removed.permissions.clone()).map_err(|error| self.error(error))
    }

    /// Gives this file another name, where nothing may stand yet; folders are created. Everything about it stays.
    pub fn rename(&self, to: &Location) -> Result<(), Error> {
        self.writable()?;
        let folder = to.path().parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(|error| to.error(error))?;
        match rustix::fs::renameat_with(CWD, self.path(), CWD, to.path(), RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(to.taken()),
            // Some file systems cannot do both in one step.
            Err(Errno::INVAL | Errno::NOSYS) if to.exists() => Err(to.taken()),
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(self.path(), to.path()).map_err(|error| self.error(error)),
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
        match fs::remove_dir(self.path()) {
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
    fn writable(&self) -> Result<(), Error> {
        rustix::fs::access(self.path(), Access::WRITE_OK).map_err(|errno| self.error(errno.into()))
    }
}
