//! The folder of a path, held open: nobody can put a link or another folder in its place while something is done in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

/// Only a way to what is in it; a folder need not be readable for that.
#[cfg(any(target_os = "linux", target_os = "android"))]
const WAY: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const WAY: OFlags = OFlags::RDONLY;

/// The folder of a path, and the name of the path in it. No part of the way there was a symbolic link; what has the name
/// may be one, and is never followed.
pub(crate) struct Held {
    folder: OwnedFd,
    name: OsString,
}

impl Held {
    /// Opens the folder of an absolute path that has been resolved.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Self::reach(path, |_, _| Err(Errno::NOENT))
    }

    /// Opens the folder of an absolute path that has been resolved; what is missing on the way is made.
    pub(crate) fn made(path: &Path) -> io::Result<Self> {
        Self::reach(path, |above, name| {
            match rustix::fs::mkdirat(above, name, Mode::from_raw_mode(0o777)) {
                // Somebody else may make the same folder.
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(errno),
            }
        })
    }

    fn reach(path: &Path, missing: impl Fn(BorrowedFd<'_>, &OsStr) -> Result<(), Errno>) -> io::Result<Self> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = open_folder(CWD, OsStr::new("/"), WAY)?;
        for component in above.components() {
            let name = match component {
                Component::Normal(name) => name,
                Component::RootDir | Component::CurDir => continue,
                Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
            };
            folder = match open_folder(folder.as_fd(), name, WAY) {
                Err(Errno::NOENT) => {
                    missing(folder.as_fd(), name)?;
                    open_folder(folder.as_fd(), name, WAY)?
                }
                opened => opened?,
            };
        }
        Ok(Held {
            folder,
            name: name.to_owned(),
        })
    }

    /// What has the name.
    pub(crate) fn about(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Whether anything has the name.
    pub(crate) fn is_taken(&self) -> bool {
        self.about().is_ok()
    }

    /// Refuses what is write-protected.
    pub(crate) fn require_writable(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(
            &self.folder,
            &self.name,
            Access::WRITE_OK,
            AtFlags::empty(),
        )?)
    }

    /// Opens the file to read it.
    pub(crate) fn open(&self) -> io::Result<File> {
        self.open_with(OFlags::RDONLY | OFlags::NONBLOCK)
    }

    /// Where the link of this name leads.
    pub(crate) fn link(&self) -> io::Result<OsString> {
        let target = rustix::fs::readlinkat(&self.folder, &self.name, Vec::new())?;
        Ok(OsStr::from_bytes(target.as_bytes()).to_owned())
    }

    /// Puts this content into the file that is there, in place.
    pub(crate) fn overwrite(&self, content: &[u8]) -> io::Result<()> {
        self.open_with(OFlags::WRONLY | OFlags::TRUNC)?.write_all(content)
    }

    /// Makes a new file of this name.
    pub(crate) fn create(&self, mode: u32) -> io::Result<File> {
        self.create_named(&self.name, mode)
    }

    /// Makes a new folder of this name.
    pub(crate) fn create_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(
            &self.folder,
            &self.name,
            Mode::from_raw_mode(0o777),
        )?)
    }

    /// Makes a new link of this name.
    pub(crate) fn create_link(&self, target: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.folder, &self.name)?)
    }

    /// Gives the file or folder other permissions.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let opened = self.open()?;
        Ok(rustix::fs::fchmod(&opened, bits(mode))?)
    }

    /// Gives the file other permissions, be it one that cannot be opened.
    pub(crate) fn change_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::chmodat(
            &self.folder,
            &self.name,
            bits(mode),
            AtFlags::empty(),
        )?)
    }

    /// Makes a file beside the name, so that moving it there is one step within one file system.
    pub(crate) fn beside(&self, mode: u32) -> io::Result<Beside<'_>> {
        loop {
            let name = fresh_name();
            match self.create_named(&name, mode) {
                Ok(file) => {
                    let held = Some(self);
                    return Ok(Beside { held, name, file });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts a link in the place of whatever has the name.
    pub(crate) fn replace_with_link(&self, target: &OsStr) -> io::Result<()> {
        loop {
            let name = fresh_name();
            match rustix::fs::symlinkat(target, &self.folder, &name) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let renamed = rustix::fs::renameat(&self.folder, &name, &self.folder, &self.name);
            return renamed.map_err(|errno| {
                rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty()).ok();
                errno.into()
            });
        }
    }

    /// Gives what has this name another, where nothing may stand.
    pub(crate) fn rename(&self, to: &Held) -> Result<(), Errno> {
        rename_new(self.folder.as_fd(), &self.name, to)
    }

    /// Removes the file or link.
    pub(crate) fn remove_file(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }

    /// Removes the folder, which must be empty.
    pub(crate) fn remove_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR)?)
    }

    /// Removes the file, the link, or the folder with all that is in it.
    pub(crate) fn remove_all(&self) -> io::Result<()> {
        Ok(remove_tree(self.folder.as_fd(), &self.name)?)
    }

    fn open_with(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?.into())
    }

    fn create_named(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, name, flags, bits(mode))?.into())
    }
}

/// A file beside a name, which is gone unless it gets that name.
pub(crate) struct Beside<'a> {
    held: Option<&'a Held>,
    name: OsString,
    /// The file itself.
    pub(crate) file: File,
}

impl Beside<'_> {
    /// Gets the name; whatever had it is replaced.
    pub(crate) fn replace(mut self) -> io::Result<()> {
        if let Some(held) = self.held {
            rustix::fs::renameat(&held.folder, &self.name, &held.folder, &held.name)?;
            self.held = None;
        }
        Ok(())
    }

    /// Gets the name if nothing has it.
    pub(crate) fn take_free(mut self) -> io::Result<()> {
        if let Some(held) = self.held {
            rename_new(held.folder.as_fd(), &self.name, held)?;
            self.held = None;
        }
        Ok(())
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if let Some(held) = self.held {
            // What kept it from its place is told already.
            rustix::fs::unlinkat(&held.folder, &self.name, AtFlags::empty()).ok();
        }
    }
}

/// Whether this tells of a folder.
pub(crate) fn is_folder(about: &Stat) -> bool {
    FileType::from_raw_mode(about.st_mode) == FileType::Directory
}

/// A name that nothing has, as far as this process knows.
fn fresh_name() -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".hew-{}-{count}.tmp", std::process::id()).into()
}

fn bits(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as rustix::fs::RawMode)
}

fn open_folder(above: BorrowedFd<'_>, name: &OsStr, how: OFlags) -> Result<OwnedFd, Errno> {
    let flags = how | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

fn rename_new(folder: BorrowedFd<'_>, name: &OsStr, to: &Held) -> Result<(), Errno> {
    match rustix::fs::renameat_with(folder, name, &to.folder, &to.name, RenameFlags::NOREPLACE) {
        // Some file systems cannot do both in one step.
        Err(Errno::INVAL | Errno::NOSYS) if to.is_taken() => Err(Errno::EXIST),
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(folder, name, &to.folder, &to.name),
        renamed => renamed,
    }
}

fn remove_tree(folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    if !is_folder(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        return rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
    let inner = open_folder(folder, name, OFlags::RDONLY)?;
    let entries = Dir::read_from(&inner)?.collect::<Result<Vec<_>, _>>()?;
    for entry in entries {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            remove_tree(inner.as_fd(), name)?;
        }
    }
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}
