//! Replaces a file's content atomically.

mod entry_handle;

pub(crate) use entry_handle::{EntryHandle, StagingFolder, is_folder};

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;

use crate::{Error, Fingerprint, Location, MAX_FILE};

/// The precondition for replacing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedContent {
    /// Any content may be replaced.
    Anything,
    /// The file must not exist.
    Absent,
    /// The file must match this fingerprint.
    Content(Fingerprint),
}

/// A finished write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// The previous content; `None` for a new file.
    pub before: Option<Vec<u8>>,
    /// The fingerprint of the new content.
    pub snapshot: Fingerprint,
}

impl Location {
    /// Replaces the whole content of this file, creating folders as needed. Readers see either the old or the new
    /// file. Mode bits and owner are kept; a new file gets the default ones. If a component of the path has become a
    /// link since it was resolved, nothing is written.
    ///
    /// The data is not synced: a power cut may restore the old file, which is cheaper than an `fsync` per edit.
    pub fn write(&self, content: &[u8], expect: ExpectedContent) -> Result<WriteOutcome, Error> {
        let before = self.check_expected(expect)?;
        let by_editor = self.write_in_editor(content);
        match &before {
            _ if by_editor => {}
            None => self.create(content, expect)?,
            Some((handle, stat, _)) => self.replace(handle, content, stat)?,
        }
        let snapshot = match by_editor {
            // The editor may have formatted the file.
            true => self.fingerprint()?,
            false => Fingerprint::of(content),
        };
        Ok(WriteOutcome {
            before: before.map(|(_, _, bytes)| bytes),
            snapshot,
        })
    }

    fn check_expected(&self, expect: ExpectedContent) -> Result<Option<(EntryHandle, Stat, Vec<u8>)>, Error> {
        let found = EntryHandle::open_parent(self.path()).and_then(|handle| Ok((handle.metadata()?, handle)));
        let (stat, handle) = match found {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match expect {
                    ExpectedContent::Anything | ExpectedContent::Absent => Ok(None),
                    ExpectedContent::Content(_) => Err(self.error(error)),
                };
            }
            Err(error) => return Err(self.error(error)),
        };
        // It was not a link when the path was resolved.
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(self.error(Errno::LOOP.into()));
        }
        let bytes = self.read_bytes(MAX_FILE)?;
        let path = || self.shown().into_owned();
        match expect {
            ExpectedContent::Anything => {}
            ExpectedContent::Absent => return Err(Error::Exists { path: path() }),
            ExpectedContent::Content(snapshot) if snapshot == Fingerprint::of(&bytes) => {}
            ExpectedContent::Content(_) => return Err(Error::Changed { path: path() }),
        }
        // A rename would replace a write-protected file.
        handle.require_writable().map_err(|error| self.error(error))?;
        Ok(Some((handle, stat, bytes)))
    }

    fn create(&self, content: &[u8], expect: ExpectedContent) -> Result<(), Error> {
        let made = EntryHandle::create_parents(self.path()).and_then(|handle| {
            let mut replacement = handle.create_replacement(0o666)?;
            replacement.file.write_all(content)?;
            match expect {
                ExpectedContent::Absent => replacement.persist_new(),
                ExpectedContent::Anything | ExpectedContent::Content(_) => replacement.persist(),
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

    fn replace(&self, handle: &EntryHandle, content: &[u8], stat: &Stat) -> Result<(), Error> {
        let renamed = handle.create_replacement(0o600).and_then(|mut replacement| {
            replacement.file.write_all(content)?;
            copy_owner_and_mode(&replacement.file, stat)?;
            replacement.persist()
        });
        match renamed {
            Ok(()) => Ok(()),
            // The file may be writable although the folder is not, or its owner cannot be set.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                handle.overwrite(content).map_err(|error| self.error(error))
            }
            Err(error) => Err(self.error(error)),
        }
    }
}

/// Copies owner and mode bits; the owner first, because changing it clears bits.
fn copy_owner_and_mode(file: &File, stat: &Stat) -> io::Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (stat.st_uid, stat.st_gid) {
        std::os::unix::fs::fchown(file, Some(stat.st_uid), Some(stat.st_gid))?;
    }
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(stat.st_mode))?)
}
