//! Copying, moving and removing files and whole folders, within bounds, so that each can be recorded and undone.

use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FileType};
use rustix::io::Errno;

use crate::write::{Held, is_folder};
use crate::{Error, Location, Workspace};

/// How large a tree may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Files, links and folders in all.
    pub entries: usize,
    /// Bytes of content in all.
    pub bytes: u64,
}

/// A file, link or folder of a tree. A folder comes before what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Where it is, from the top of the tree; empty for a tree that is a single file.
    pub path: PathBuf,
    /// What it is.
    pub content: LeafContent,
    /// The twelve permission bits of its mode.
    pub mode: u32,
}

/// What a leaf is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafContent {
    /// A file and what it holds.
    File(Vec<u8>),
    /// A symbolic link and where it points.
    Link(PathBuf),
    /// A folder.
    Folder,
}

/// Whether a folder had to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It had.
    New,
    /// It was there.
    Before,
}

impl Workspace {
    /// Resolves all of a path but its last part: what that names is meant itself, even if it is a symbolic link.
    pub fn locate_entry(&self, path: impl AsRef<Path>) -> Result<Location, Error> {
        let path = path.as_ref();
        let whole = self.root().join(path);
        match (whole.parent(), whole.file_name()) {
            (Some(parent), Some(name)) if !path.as_os_str().is_empty() && !path.starts_with("~") => {
                let parent = self.locate(parent)?;
                Ok(parent.beside(&parent.path().join(name)))
            }
            _ => self.locate(path),
        }
    }
}

impl Location {
    /// The location of this name in this folder.
    pub fn within(&self, name: &Path) -> Location {
        self.beside(&self.path().join(name))
    }

    /// Whether anything is there, be it a symbolic link that leads nowhere.
    pub fn is_taken(&self) -> bool {
        fs::symlink_metadata(self.path()).is_ok()
    }

    /// Whether this is a symbolic link itself.
    pub fn is_link(&self) -> bool {
        fs::symlink_metadata(self.path()).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// Whether a path lies in this one or is the same.
    pub fn contains(&self, other: &Location) -> bool {
        other.path().starts_with(self.path())
    }

    /// Whether the project lies in this path or is the same.
    pub fn contains_project(&self) -> bool {
        self.root().starts_with(self.path()) || self.more().iter().any(|root| root.starts_with(self.path()))
    }

    /// Reads everything below this path, or the one file that it is.
    pub fn leaves(&self, bounds: Bounds) -> Result<Vec<Leaf>, Error> {
        let mut reading = Reading {
            top: self,
            bounds,
            entries: 0,
            bytes: 0,
            leaves: Vec::new(),
        };
        reading.add(self.path())?;
        reading.leaves.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(reading.leaves)
    }

    /// The paths of everything below this one, at most so many; none for a file.
    pub fn names_below(&self, most: usize) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            // What cannot be read is reported when it is worked on.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if found.len() >= most {
                    return found;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
                found.push(entry.path());
            }
        }
        found.sort();
        found
    }

    /// Copies this file or folder to where nothing stands yet; folders above are made. Links in a folder stay links. What
    /// was copied before an error is removed again.
    pub fn copy(&self, to: &Location, bounds: Bounds) -> Result<Vec<Leaf>, Error> {
        self.refuse_into_itself(to)?;
        let leaves = self.leaves(bounds)?;
        let target = to.make_parent()?;
        if target.is_taken() {
            return Err(to.exists_already());
        }
        match self.copy_all(to, &leaves) {
            Ok(()) => Ok(leaves),
            Err(error) => {
                // The first error is the one that tells why.
                drop(target.remove_all());
                Err(error)
            }
        }
    }

    /// Moves this file, link or folder to where nothing stands yet; folders above are made.
    pub fn shift(&self, to: &Location, bounds: Bounds) -> Result<(), Error> {
        self.refuse_into_itself(to)?;
        let held = Held::of(self.path()).map_err(|error| self.error(error))?;
        if !self.is_link() {
            held.require_writable().map_err(|error| self.error(error))?;
        }
        let target = to.make_parent()?;
        match held.rename(&target) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(to.exists_already()),
            // Another file system: what cannot be renamed is copied.
            Err(Errno::XDEV) => {
                self.copy(to, bounds)?;
                self.remove_all()
            }
            Err(errno) => Err(self.error(errno.into())),
        }
    }

    /// Removes this file, link or folder with all that is in it. What is write-protected stays.
    pub fn remove_all(&self) -> Result<(), Error> {
        let held = Held::of(self.path()).map_err(|error| self.error(error))?;
        let about = held.about().map_err(|error| self.error(error))?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => held.require_writable().map_err(|error| self.error(error))?,
            FileType::Directory => self.require_open_folders(self.path())?,
            _ => {}
        }
        held.remove_all().map_err(|error| self.error(error))
    }

    /// Makes this folder and those above it.
    pub fn create_folder(&self) -> Result<Made, Error> {
        match fs::symlink_metadata(self.path()) {
            Ok(metadata) if metadata.is_dir() => return Ok(Made::Before),
            Ok(_) => return Err(self.exists_already()),
            Err(_) => {}
        }
        let held = self.make_parent()?;
        match held.create_folder() {
            Ok(()) => Ok(Made::New),
            // Somebody else made it meanwhile.
            Err(_) if held.about().is_ok_and(|about| is_folder(&about)) => Ok(Made::Before),
            Err(error) => Err(self.error(error)),
        }
    }

    /// The first bytes of this file, at most so many.
    pub fn head(&self, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let file = self.open()?;
        file.take(most as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| self.error(error))?;
        Ok(bytes)
    }

    fn copy_all(&self, to: &Location, leaves: &[Leaf]) -> Result<(), Error> {
        for leaf in leaves {
            let target = join(to.path(), &leaf.path);
            let copied = Held::of(&target).and_then(|held| match &leaf.content {
                LeafContent::Folder => held.create_folder(),
                LeafContent::Link(points_to) => held.create_link(points_to),
                LeafContent::File(bytes) => {
                    let mut file = held.create(0o600)?;
                    file.write_all(bytes)?;
                    file.set_permissions(fs::Permissions::from_mode(leaf.mode))
                }
            });
            copied.map_err(|error| Error::from_io(self.show(&target), error))?;
        }
        // Last, since a folder that may not be written to could not have been filled.
        for leaf in leaves.iter().filter(|leaf| leaf.content == LeafContent::Folder) {
            let target = join(to.path(), &leaf.path);
            let given = Held::of(&target).and_then(|held| held.set_mode(leaf.mode));
            given.map_err(|error| Error::from_io(self.show(&target), error))?;
        }
        Ok(())
    }

    fn refuse_into_itself(&self, to: &Location) -> Result<(), Error> {
        match self.contains(to) {
            true => Err(Error::IntoItself {
                path: self.shown().into_owned(),
                to: to.shown().into_owned(),
            }),
            false => Ok(()),
        }
    }

    fn make_parent(&self) -> Result<Held, Error> {
        Held::made(self.path()).map_err(|error| self.error(error))
    }

    /// A folder that could be emptied only in part stays whole.
    fn require_open_folders(&self, folder: &Path) -> Result<(), Error> {
        let failed = |error: io::Error| Error::from_io(self.show(folder), error);
        rustix::fs::access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|errno| failed(errno.into()))?;
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.require_open_folders(&entry.path())?;
            }
        }
        Ok(())
    }

    fn exists_already(&self) -> Error {
        Error::Exists {
            path: self.shown().into_owned(),
        }
    }
}

/// A tree that is being read.
struct Reading<'a> {
    top: &'a Location,
    bounds: Bounds,
    entries: usize,
    bytes: u64,
    leaves: Vec<Leaf>,
}

impl Reading<'_> {
    fn add(&mut self, path: &Path) -> Result<(), Error> {
        let failed = |error: io::Error| match path == self.top.path() {
            true => self.top.error(error),
            false => Error::from_io(self.top.show(path), error),
        };
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        self.count(path, &metadata)?;
        let content = if metadata.is_symlink() {
            LeafContent::Link(Held::of(path).and_then(|held| held.link()).map_err(failed)?.into())
        } else if metadata.is_dir() {
            for entry in fs::read_dir(path).map_err(failed)? {
                let entry = entry.map_err(|error| Error::from_io(self.top.show(path), error))?;
                self.add(&entry.path())?;
            }
            LeafContent::Folder
        } else {
            LeafContent::File(Held::of(path).and_then(|held| read(&held)).map_err(failed)?)
        };
        let path = path.strip_prefix(self.top.path()).unwrap_or(path).to_owned();
        let mode = metadata.permissions().mode() & 0o7777;
        self.leaves.push(Leaf { path, content, mode });
        Ok(())
    }

    fn count(&mut self, path: &Path, metadata: &Metadata) -> Result<(), Error> {
        let kind = metadata.file_type();
        if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
            return Err(Error::NotAFile {
                path: self.top.show(path).into_owned(),
            });
        }
        self.entries += 1;
        if metadata.is_file() {
            self.bytes += metadata.len();
        }
        if self.entries > self.bounds.entries {
            return Err(Error::TooMany {
                path: self.top.shown().into_owned(),
                limit: self.bounds.entries,
            });
        }
        if self.bytes > self.bounds.bytes {
            return Err(Error::TooLarge {
                path: self.top.shown().into_owned(),
                size: self.bytes,
                limit: self.bounds.bytes,
            });
        }
        Ok(())
    }
}

/// `join` with an empty path would add a slash.
fn join(top: &Path, rest: &Path) -> PathBuf {
    match rest.as_os_str().is_empty() {
        true => top.to_owned(),
        false => top.join(rest),
    }
}

fn read(held: &Held) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    held.open()?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
