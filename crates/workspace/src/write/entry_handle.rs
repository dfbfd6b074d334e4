//! A path with its parent folder held open, so that the folder cannot be replaced during an operation.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::open::{TRAVERSE, entries, open, regular_file_in};
use rustix::fs::{Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

/// An open parent folder and the name of an entry in it. No ancestor was a symbolic link; the entry may be one and is
/// never followed.
pub(crate) struct EntryHandle {
    folder: OwnedFd,
    name: OsString,
}

impl EntryHandle {
    /// Opens the parent folder of a resolved absolute path.
    pub(crate) fn open_parent(path: &Path) -> io::Result<Self> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(EntryHandle {
            folder: open(above, TRAVERSE)?,
            name: name.to_owned(),
        })
    }

    /// Opens the parent folder of a resolved absolute path; missing folders are created.
    pub(crate) fn create_parents(path: &Path) -> io::Result<Self> {
        match Self::open_parent(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = open_folder(CWD, OsStr::new("/"), TRAVERSE)?;
        for component in above.components() {
            let name = match component {
                Component::Normal(name) => name,
                Component::RootDir | Component::CurDir => continue,
                Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
            };
            folder = match open_folder(folder.as_fd(), name, TRAVERSE) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        // Another process may create the same folder.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                    open_folder(folder.as_fd(), name, TRAVERSE)?
                }
                opened => opened?,
            };
        }
        Ok(EntryHandle {
            folder,
            name: name.to_owned(),
        })
    }

    /// The metadata of the entry.
    pub(crate) fn metadata(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Whether the entry exists.
    pub(crate) fn is_taken(&self) -> bool {
        self.metadata().is_ok()
    }

    /// Fails if the entry is write-protected.
    pub(crate) fn require_writable(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(
            &self.folder,
            &self.name,
            Access::WRITE_OK,
            AtFlags::empty(),
        )?)
    }

    /// Opens the regular file for reading.
    pub(crate) fn open_file(&self) -> io::Result<File> {
        regular_file_in(self.folder.as_fd(), &self.name)
    }

    /// The names in the folder with their types.
    pub(crate) fn entries(&self) -> io::Result<Vec<(OsString, FileType)>> {
        let folder = open_folder(self.folder.as_fd(), &self.name, OFlags::RDONLY)?;
        entries(folder.as_fd())
    }

    /// The target of the link.
    pub(crate) fn link(&self) -> io::Result<OsString> {
        let target = rustix::fs::readlinkat(&self.folder, &self.name, Vec::new())?;
        Ok(OsStr::from_bytes(target.as_bytes()).to_owned())
    }

    /// Overwrites the file in place.
    pub(crate) fn overwrite(&self, content: &[u8]) -> io::Result<()> {
        self.open_with(OFlags::WRONLY | OFlags::TRUNC | OFlags::NONBLOCK)?
            .write_all(content)
    }

    /// Creates the file.
    pub(crate) fn create(&self, mode: u32) -> io::Result<File> {
        create_named(self.folder.as_fd(), &self.name, mode)
    }

    /// Creates the folder.
    pub(crate) fn create_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(
            &self.folder,
            &self.name,
            Mode::from_raw_mode(0o777),
        )?)
    }

    /// Creates the link.
    pub(crate) fn create_link(&self, target: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.folder, &self.name)?)
    }

    /// Sets the permissions of the file or folder.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let opened = self.open_with(OFlags::RDONLY | OFlags::NONBLOCK)?;
        Ok(rustix::fs::fchmod(&opened, bits(mode))?)
    }

    /// Sets the permissions of the folder, even if it cannot be read.
    pub(crate) fn set_folder_mode(&self, mode: u32) -> io::Result<()> {
        match open_folder(self.folder.as_fd(), &self.name, OFlags::RDONLY) {
            Ok(folder) => Ok(rustix::fs::fchmod(&folder, bits(mode))?),
            Err(Errno::ACCESS) if is_folder(&self.metadata()?) => self.change_mode(mode),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sets the permissions of a file, even if it cannot be opened.
    pub(crate) fn change_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::chmodat(
            &self.folder,
            &self.name,
            bits(mode),
            AtFlags::empty(),
        )?)
    }

    /// Creates a temporary file in the same folder, so that it can replace the entry atomically.
    pub(crate) fn create_replacement(&self, mode: u32) -> io::Result<ReplacementFile<'_>> {
        self.create_replacement_in(None, mode)
    }

    /// Creates a temporary file in this folder if it is on the same file system, otherwise next to the entry. A process
    /// that is killed leaves no temporary files among the user's then.
    pub(crate) fn create_replacement_in(
        &self,
        staging: Option<&StagingFolder>,
        mode: u32,
    ) -> io::Result<ReplacementFile<'_>> {
        let staging = staging.filter(|staging| staging.is_on_same_device(self));
        let staging = staging.map(|staging| staging.0.try_clone()).transpose()?;
        loop {
            let name = fresh_name();
            let folder = staging.as_ref().map_or(self.folder.as_fd(), |staging| staging.as_fd());
            match create_named(folder, &name, mode) {
                Ok(file) => {
                    let handle = Some(self);
                    return Ok(ReplacementFile {
                        handle,
                        staging,
                        name,
                        file,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Replaces the entry by a link.
    pub(crate) fn replace_with_link(&self, target: &OsStr, staging: Option<&StagingFolder>) -> io::Result<()> {
        let staging = staging.filter(|staging| staging.is_on_same_device(self));
        let folder = staging.map_or(&self.folder, |staging| &staging.0);
        loop {
            let name = fresh_name();
            match rustix::fs::symlinkat(target, folder, &name) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let renamed = rustix::fs::renameat(folder, &name, &self.folder, &self.name);
            let removed = |_| rustix::fs::unlinkat(folder, &name, AtFlags::empty()).ok();
            return match renamed {
                Err(Errno::XDEV) if staging.is_some() => {
                    removed(());
                    self.replace_with_link(target, None)
                }
                renamed => renamed.map_err(|errno| {
                    removed(());
                    errno.into()
                }),
            };
        }
    }

    /// Renames the entry; the target must not exist.
    pub(crate) fn rename(&self, to: &EntryHandle) -> Result<(), Errno> {
        rename_new(self.folder.as_fd(), &self.name, to)
    }

    /// Another entry of the same folder.
    pub(crate) fn neighbour(&self, name: OsString) -> io::Result<EntryHandle> {
        let folder = self.folder.try_clone()?;
        Ok(EntryHandle { folder, name })
    }

    /// Gives the user all permissions for the folder of the entry.
    pub(crate) fn open_up_folder(&self) -> io::Result<()> {
        let mode =
            Mode::from_raw_mode(rustix::fs::fstat(&self.folder)?.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        // A descriptor for traversal cannot be used directly.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let changed = rustix::fs::chmod(format!("/proc/self/fd/{}", self.folder.as_raw_fd()), mode | Mode::RWXU);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let changed = rustix::fs::fchmod(&self.folder, mode | Mode::RWXU);
        Ok(changed?)
    }

    /// Removes the file or link.
    pub(crate) fn remove_file(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }

    /// Removes the folder, which must be empty.
    pub(crate) fn remove_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR)?)
    }

    /// Removes the file, link, or folder with its content.
    pub(crate) fn remove_all(&self) -> io::Result<()> {
        Ok(remove_tree(self.folder.as_fd(), &self.name)?)
    }

    fn open_with(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?.into())
    }
}

fn create_named(folder: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, bits(mode))?.into())
}

/// A folder for temporary files that become entries of other folders.
pub(crate) struct StagingFolder(OwnedFd);

impl StagingFolder {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(StagingFolder(open_folder(CWD, folder.as_os_str(), OFlags::RDONLY)?))
    }

    fn is_on_same_device(&self, entry: &EntryHandle) -> bool {
        let device = |folder: &OwnedFd| rustix::fs::fstat(folder).map(|stat| stat.st_dev);
        device(&self.0).is_ok_and(|own| device(&entry.folder) == Ok(own))
    }
}

/// A temporary file that is removed unless it is persisted.
pub(crate) struct ReplacementFile<'a> {
    handle: Option<&'a EntryHandle>,
    /// The folder that contains it, if it is not the folder of the entry.
    staging: Option<OwnedFd>,
    name: OsString,
    /// The file.
    pub(crate) file: File,
}

impl ReplacementFile<'_> {
    /// Replaces the entry.
    pub(crate) fn persist(mut self) -> io::Result<()> {
        if let Some(handle) = self.handle {
            let folder = self.staging.as_ref().unwrap_or(&handle.folder);
            match rustix::fs::renameat(folder, &self.name, &handle.folder, &handle.name) {
                // Two mounts of one file system.
                Err(Errno::XDEV) if self.staging.is_some() => return self.persist_copy(handle),
                renamed => renamed?,
            }
            self.handle = None;
        }
        Ok(())
    }

    /// Replaces the entry by a copy in the same folder.
    fn persist_copy(&mut self, handle: &EntryHandle) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        let mut copy = handle.create_replacement(0o600)?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut copy.file)?;
        // Changing the owner may not be permitted; the content matters more.
        std::os::unix::fs::fchown(&copy.file, Some(metadata.uid()), Some(metadata.gid())).ok();
        copy.file.set_permissions(metadata.permissions())?;
        copy.persist()
    }

    /// Takes the name if the entry does not exist.
    pub(crate) fn persist_new(mut self) -> io::Result<()> {
        if let Some(handle) = self.handle {
            let folder = self.staging.as_ref().unwrap_or(&handle.folder);
            rename_new(folder.as_fd(), &self.name, handle)?;
            self.handle = None;
        }
        Ok(())
    }
}

impl Drop for ReplacementFile<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            let folder = self.staging.as_ref().unwrap_or(&handle.folder);
            // The original error is already reported.
            rustix::fs::unlinkat(folder, &self.name, AtFlags::empty()).ok();
        }
    }
}

/// Whether this is a folder.
pub(crate) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// A name that is unique in this process.
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

fn rename_new(folder: BorrowedFd<'_>, name: &OsStr, to: &EntryHandle) -> Result<(), Errno> {
    match rustix::fs::renameat_with(folder, name, &to.folder, &to.name, RenameFlags::NOREPLACE) {
        // Some file systems do not support `NOREPLACE`.
        Err(Errno::INVAL | Errno::NOSYS) if to.is_taken() => Err(Errno::EXIST),
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(folder, name, &to.folder, &to.name),
        renamed => renamed,
    }
}

/// Removes an entry with its content. The depth of a tree is not limited, so the folders above the current one are not
/// held open: they are reached through `..`, and it is checked that it is the same folder.
fn remove_tree(folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    if !is_folder(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        return rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
    let mut current = open_folder(folder, name, OFlags::RDONLY)?;
    let mut frames = vec![RemovedFolder::enter(name, current.as_fd())?];
    while let Some(frame) = frames.last_mut() {
        if let Some(inner) = frame.folders.pop() {
            current = open_folder(current.as_fd(), &inner, OFlags::RDONLY)?;
            frames.push(RemovedFolder::enter(&inner, current.as_fd())?);
            continue;
        }
        let Some(emptied) = frames.pop() else { break };
        let Some(outer) = frames.last() else { break };
        current = open_folder(current.as_fd(), OsStr::new(".."), OFlags::RDONLY)?;
        // The folder has been moved meanwhile.
        if identity(current.as_fd())? != outer.identity {
            return Err(Errno::BUSY);
        }
        rustix::fs::unlinkat(&current, &emptied.name, AtFlags::REMOVEDIR)?;
    }
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}

/// A folder that is being removed; its files are removed already.
struct RemovedFolder {
    name: OsString,
    /// The folders in it.
    folders: Vec<OsString>,
    identity: (u64, u64),
}

impl RemovedFolder {
    fn enter(name: &OsStr, folder: BorrowedFd<'_>) -> Result<Self, Errno> {
        let mut folders = Vec::new();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            match is_folder(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?) {
                true => folders.push(name.to_owned()),
                false => rustix::fs::unlinkat(folder, name, AtFlags::empty())?,
            }
        }
        Ok(RemovedFolder {
            name: name.to_owned(),
            folders,
            identity: identity(folder)?,
        })
    }
}

fn identity(folder: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::fstat(folder)?;
    Ok((stat.st_dev as u64, stat.st_ino as u64))
}
