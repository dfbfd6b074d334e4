//! The right to write to a session: a lock that the operating system takes back when its holder dies.

use crate::fault::unusable;
use session::{Error, Lease, SessionId};
use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where leases are given out.
#[derive(Debug, Clone)]
pub(crate) enum Leases {
    /// A locked file for each session in use, in this folder.
    Files(PathBuf),
    /// The sessions in use, when nobody else can see them.
    Memory(Arc<Mutex<HashSet<SessionId>>>),
}

impl Leases {
    /// Takes the right to write to a session, or says that somebody else has it.
    pub(crate) fn take(&self, session: SessionId) -> Result<Lease, Error> {
        match self {
            Leases::Files(folder) => {
                let path = folder.join(session.to_string());
                let file = lock(folder, &path, session)?;
                Ok(Box::new(Locked { path, _file: file }))
            }
            Leases::Memory(taken) => {
                if !taken.lock().unwrap_or_else(PoisonError::into_inner).insert(session) {
                    return Err(Error::Busy(session));
                }
                Ok(Box::new(Noted {
                    session,
                    taken: Arc::clone(taken),
                }))
            }
        }
    }
}

struct Locked {
    path: PathBuf,
    _file: File,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Removed while still locked, so that nobody else's file is. What stays behind is unlocked and does no harm.
        std::fs::remove_file(&self.path).unwrap_or_default();
    }
}

struct Noted {
    session: SessionId,
    taken: Arc<Mutex<HashSet<SessionId>>>,
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.session);
    }
}

fn lock(folder: &Path, path: &Path, session: SessionId) -> Result<File, Error> {
    loop {
        let file = create(folder, path).map_err(|error| unusable(&error, path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy(session)),
            Err(TryLockError::Error(error)) => return Err(unusable(&error, path)),
        }
        // The holder before us may have removed the file between our opening and locking it.
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
