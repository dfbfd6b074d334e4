//! Replacing a file's content in one step.

mod held;

pub(crate) use held::{Held, is_folder};

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;

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
    /// one, never half of it. Mode bits and owner stay; a new file gets the usual ones. A link that has come into the path
    /// since it was resolved is not followed: nothing is written then.
    ///
    /// The data is not forced to the disk: a power cut may bring the old file back, which costs far less than a
    /// `fsync` at every edit.
    pub fn write(&self, content: &[u8], expect: Expect) -> Result<Written, Error> {
        let before = self.before(expect)?;
        let by_editor = self.write_in_editor(content);
        match &before {
            _ if by_editor => {}
            None => self.create(content, expect)?,
            Some((held, about, _)) => self.replace(held, content, about)?,
        }
        let snapshot = match by_editor {
            // It may have formatted what it saved.
            true => self.snapshot()?,
            false => Snapshot::of(content),
        };
        Ok(Written {
            before: before.map(|(_, _, bytes)| bytes),
            snapshot,
        })
    }

    fn before(&self, expect: Expect) -> Result<Option<(Held, Stat, Vec<u8>)>, Error> {
        let found = Held::of(self.path()).and_then(|held| Ok((held.about()?, held)));
        let (about, held) = match found {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match expect {
                    Expect::Anything | Expect::Absent => Ok(None),
                    Expect::Content(_) => Err(self.error(error)),
                };
            }
            Err(error) => return Err(self.error(error)),
        };
        // It was none when the path was resolved.
        if FileType::from_raw_mode(about.st_mode) == FileType::Symlink {
            return Err(self.error(Errno::LOOP.into()));
        }
        let bytes = self.read_bytes(MAX_FILE)?;
        let path = || self.shown().into_owned();
        match expect {
            Expect::Anything => {}
            Expect::Absent => return Err(Error::Exists { path: path() }),
            Expect::Content(snapshot) if snapshot == Snapshot::of(&bytes) => {}
            Expect::Content(_) => return Err(Error::Changed { path: path() }),
        }
        // A rename would replace a write-protected file without asking.
        held.require_writable().map_err(|error| self.error(error))?;
        Ok(Some((held, about, bytes)))
    }

    fn create(&self, content: &[u8], expect: Expect) -> Result<(), Error> {
        let made = Held::made(self.path()).and_then(|held| {
            let mut beside = held.beside(0o666)?;
            beside.file.write_all(content)?;
            match expect {
                Expect::Absent => beside.take_free(),
                Expect::Anything | Expect::Content(_) => beside.replace(),
            }
        });
        match made {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::Exists {
                path: self.shown().into_owned(),
            }),
            Err(error) => Err(self.error(error)),
        }
    }

    fn replace(&self, held: &Held, content: &[u8], about: &Stat) -> Result<(), Error> {
        let renamed = held.beside(0o600).and_then(|mut beside| {
            beside.file.write_all(content)?;
            take_after(&beside.file, about)?;
            beside.replace()
        });
        match renamed {
            Ok(()) => Ok(()),
            // The file may be ours to write although the folder, or the owner we would have to give it, is not.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                held.overwrite(content).map_err(|error| self.error(error))
            }
            Err(error) => Err(self.error(error)),
        }
    }
}

/// Gives a file the owner and the mode bits of another; the owner first, since changing it clears bits.
fn take_after(file: &File, about: &Stat) -> io::Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (about.st_uid, about.st_gid) {
        std::os::unix::fs::fchown(file, Some(about.st_uid), Some(about.st_gid))?;
    }
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(about.st_mode))?)
}
