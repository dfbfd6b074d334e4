//! Replacing a file's content in one step.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::{Error, Location, MAX_FILE, Snapshot};

/// What must be true of a file for it to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Whatever is there may be replaced.
    Anything,
    /// Nothing is there.
    Absent,
    /// The file holds what it held when this was taken.
    Content(Snapshot),
}

/// A finished write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// What the file held before; nothing if it is new.
    pub before: Option<Vec<u8>>,
    /// The fingerprint of what it holds now.
    pub snapshot: Snapshot,
}

impl Location {
    /// Makes `content` the whole content of this file, creating folders as needed. Readers see the old file or the new
    /// one, never half of it. Mode bits and owner stay; a new file gets the usual ones.
    ///
    /// The data is not forced to the disk: a power cut may bring the old file back, which costs far less than a
    /// `fsync` at every edit.
    pub fn write(&self, content: &[u8], expect: Expect) -> Result<Written, Error> {
        let before = self.before(expect)?;
        match &before {
            None => self.create(content, expect)?,
            Some((metadata, _)) => self.replace(content, metadata)?,
        }
        Ok(Written {
            before: before.map(|(_, bytes)| bytes),
            snapshot: Snapshot::of(content),
        })
    }

    fn before(&self, expect: Expect) -> Result<Option<(Metadata, Vec<u8>)>, Error> {
        let metadata = match fs::metadata(self.path()) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match expect {
                    Expect::Anything | Expect::Absent => Ok(None),
                    Expect::Content(_) => Err(self.error(error)),
                };
            }
            Err(error) => return Err(self.error(error)),
        };
        let bytes = self.read_bytes(MAX_FILE)?;
        let path = || self.shown().into_owned();
        match expect {
            Expect::Anything => {}
            Expect::Absent => return Err(Error::Exists { path: path() }),
            Expect::Content(snapshot) if snapshot == Snapshot::of(&bytes) => {}
            Expect::Content(_) => return Err(Error::Changed { path: path() }),
        }
        // A rename would replace a write-protected file without asking.
        match rustix::fs::access(self.path(), rustix::fs::Access::WRITE_OK) {
            Ok(()) => Ok(Some((metadata, bytes))),
            Err(errno) => Err(self.error(errno.into())),
        }
    }

    fn create(&self, content: &[u8], expect: Expect) -> Result<(), Error> {
        let folder = self.path().parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::NotADirectory {
                path: self.shown().into_owned(),
            },
            _ => self.error(error),
        })?;
        let file = temporary(folder, content, 0o666).map_err(|error| self.error(error))?;
        let moved = match expect {
            Expect::Absent => file.persist_noclobber(self.path()),
            Expect::Anything | Expect::Content(_) => file.persist(self.path()),
        };
        match moved {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(Error::Exists {
                path: self.shown().into_owned(),
            }),
            Err(error) => Err(self.error(error.error)),
        }
    }

    fn replace(&self, content: &[u8], metadata: &Metadata) -> Result<(), Error> {
        let folder = self.path().parent().unwrap_or(Path::new("/"));
        let renamed = temporary(folder, content, 0o600).and_then(|file| {
            take_after(file.as_file(), metadata)?;
            file.persist(self.path()).map_err(|error| error.error)?;
            Ok(())
        });
        match renamed {
            Ok(()) => Ok(()),
            // The file may be ours to write although the folder, or the owner we would have to give it, is not.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                fs::write(self.path(), content).map_err(|error| self.error(error))
            }
            Err(error) => Err(self.error(error)),
        }
    }
}

/// A file beside the target, so that moving it there is one step within one file system.
fn temporary(folder: &Path, content: &[u8], mode: u32) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".hew-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    file.write_all(content)?;
    Ok(file)
}

/// Gives a file the owner and the mode bits of another; the owner first, since changing it clears bits.
fn take_after(file: &File, metadata: &Metadata) -> io::Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (metadata.uid(), metadata.gid()) {
        std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()))?;
    }
    file.set_permissions(metadata.permissions())
}
