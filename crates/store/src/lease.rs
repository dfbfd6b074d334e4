//! Leases: the exclusive right to write to a session, as a lock that the operating system releases when its holder
//! dies.

use crate::error::io_error;
use session::{Error, Lease, SessionId};
use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The leases in use.
#[derive(Debug, Clone)]
pub(crate) enum Leases {
    /// A locked file for each session in use, in this folder.
    Files(PathBuf),
    /// The sessions in use, for a database in memory.
    Memory(Arc<Mutex<HashSet<SessionId>>>),
}

impl Leases {
    /// Takes the lease of a session, or fails if it is taken.
    pub(crate) fn take(&self, session: SessionId) -> Result<Lease, Error> {
        match self {
            Leases::Files(folder) => {
                let path = folder.join(session.to_string());
                let file = lock(folder, &path, session)?;
                Ok(Box::new(FileLease { path, _file: file }))
            }
            Leases::Memory(taken) => {
                if !taken.lock().unwrap_or_else(PoisonError::into_inner).insert(session) {
                    return Err(Error::Busy(session));
                }
                Ok(Box::new(MemoryLease {
                    session,
                    taken: Arc::clone(taken),
                }))
            }
        }
    }
}

struct FileLease {
    path: PathBuf,
    _file: File,
}

impl Drop for FileLease {
    fn drop(&mut self) {
        // Removed while still locked, so that another process's file is not removed. A file that stays is unlocked and
        // harmless.
        std::fs::remove_file(&self.path).unwrap_or_default();
    }
}

struct MemoryLease {
    session: SessionId,
    taken: Arc<Mutex<HashSet<SessionId>>>,
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        self.taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.session);
    }
}

fn lock(folder: &Path, path: &Path, session: SessionId) -> Result<File, Error> {
    loop {
        let file = create(folder, path).map_err(|error| io_error(&error, path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy(session)),
            Err(TryLockError::Error(error)) => return Err(io_error(&error, path)),
        }
        // The previous holder may have removed the file between opening and locking.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

fn create(folder: &Path, path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            options.open(path)
        }
        opened => opened,
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(theirs)) => ours.dev() == theirs.dev() && ours.ino() == theirs.ino(),
        (_, _) => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
