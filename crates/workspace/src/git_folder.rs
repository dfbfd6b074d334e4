//! Small files in git directories that commands can write: they are read and replaced through descriptors, so that a link
//! or a pipe in their place has no effect elsewhere.

use crate::checkpoint::git_index_file;
use crate::open;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// A larger index or exclude file is not changed.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A git directory without links in its path.
#[derive(Debug)]
pub(crate) struct GitFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl GitFolder {
    /// The top folder of the repository that contains this folder, and its git directory if that is in a root.
    pub(crate) fn containing(folder: &Path, roots: &[PathBuf]) -> Option<(PathBuf, Self)> {
        let (top, index) = git_index_file(folder)?;
        Some((top, Self::open(index.parent()?, roots)?))
    }

    /// Opens a directory if it is in a root.
    fn open(folder: &Path, roots: &[PathBuf]) -> Option<Self> {
        let path = folder.canonicalize().ok()?;
        let mut roots = roots.iter().filter_map(|root| root.canonicalize().ok());
        let is_within = roots.any(|root| path.starts_with(root));
        let folder = is_within.then(|| open::folder(&path))?.ok()?;
        Some(Self { folder, path })
    }

    /// The directory that linked worktrees share; this one if there is no other.
    pub(crate) fn common(self, roots: &[PathBuf]) -> Option<Self> {
        match self.read("commondir") {
            Ok((text, _)) => Self::open(&self.path.join(String::from_utf8(text).ok()?.trim()), roots),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(self),
            Err(_) => None,
        }
    }

    /// A folder in it, which is created if it does not exist.
    pub(crate) fn subfolder(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.folder, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self {
            folder: rustix::fs::openat(&self.folder, name, flags, Mode::empty())?,
            path: self.path.join(name),
        })
    }

    /// The content and the mode of a regular file.
    pub(crate) fn read(&self, name: &str) -> io::Result<(Vec<u8>, Permissions)> {
        let file = open::regular_file_in(self.folder.as_fd(), OsStr::new(name))?;
        let mode = file.metadata()?.permissions();
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok((bytes, mode))
    }

    /// Replaces a file by renaming a temporary one, which must not exist.
    pub(crate) fn replace(
        &self,
        name: &str,
        temporary: &str,
        bytes: &[u8],
        mode: Option<Permissions>,
    ) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, temporary, flags, Mode::from_bits_truncate(0o666))?;
        let mut file = File::from(file);
        let written = file
            .write_all(bytes)
            .and_then(|()| mode.map_or(Ok(()), |mode| file.set_permissions(mode)))
            .and_then(|()| Ok(rustix::fs::renameat(&self.folder, temporary, &self.folder, name)?));
        if written.is_err() {
            rustix::fs::unlinkat(&self.folder, temporary, AtFlags::empty()).ok();
        }
        written
    }
}
