//! Opens resolved paths without following a symbolic link in any component.
//!
//! A command may replace a folder by a link at any time. A path is resolved and approved once; afterwards it is only
//! opened through these functions, which fail if a component has become a link. Files are opened only if they are
//! regular, and without blocking on a pipe.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Traversal only; the folder need not be readable.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const TRAVERSE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const TRAVERSE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Opens the folder at a resolved absolute path for reading.
pub(crate) fn folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::RDONLY | OFlags::DIRECTORY)?)
}

/// Opens the regular file at a resolved absolute path for reading.
pub(crate) fn regular_file(path: &Path) -> io::Result<File> {
    require_regular(open(path, OFlags::RDONLY | OFlags::NONBLOCK)?)
}

/// Opens a regular file in an open folder for reading.
pub(crate) fn regular_file_in(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    require_regular(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

/// The names in an open folder with their types.
pub(crate) fn entries(folder: BorrowedFd<'_>) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not report it.
            FileType::Unknown => match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            known => known,
        };
        entries.push((name.to_owned(), kind));
    }
    Ok(entries)
}

/// The content of a regular file, at most `limit` bytes of it.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular_file(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content of a regular file, at most `limit` bytes of it. Links are followed; a pipe or a device is an error.
pub fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = require_regular(rustix::fs::open(path, flags, Mode::empty())?)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The metadata of a resolved absolute path. A link as the last component is not followed.
pub(crate) fn metadata(path: &Path) -> io::Result<Stat> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(rustix::fs::fstat(open(path, TRAVERSE)?)?);
    };
    let above = open(above, TRAVERSE)?;
    Ok(rustix::fs::statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The size and the modification time in nanoseconds since the epoch.
pub(crate) fn size_and_time(stat: &Stat) -> (u64, i64) {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let modified = stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    (u64::try_from(stat.st_size).unwrap_or(0), modified)
}

/// The type of the file at a resolved absolute path, if it exists.
pub(crate) fn kind(path: &Path) -> Option<FileType> {
    metadata(path).ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

/// Opens a resolved absolute path.
#[cfg(target_os = "linux")]
pub(crate) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{CWD, ResolveFlags};
    let how = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, how, Mode::empty(), links) {
        // An old kernel, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => by_component(path, flags),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    by_component(path, flags)
}

fn by_component(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::CWD;
    use std::path::Component;
    let mut opened = rustix::fs::openat(CWD, "/", TRAVERSE | OFlags::CLOEXEC, Mode::empty())?;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::RootDir | Component::CurDir => continue,
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::INVAL),
        };
        let last = components.peek().is_none();
        let how = if last { flags } else { TRAVERSE } | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        opened = rustix::fs::openat(opened.as_fd(), name, how, Mode::empty())?;
    }
    Ok(opened)
}

fn require_regular(file: OwnedFd) -> io::Result<File> {
    let file = File::from(file);
    match file.metadata()?.file_type() {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}
