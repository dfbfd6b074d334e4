//! Copies, moves and removes files and folders, within limits, so that each operation can be recorded and undone.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::write::{EntryHandle, is_folder};
use crate::{Error, Location, Workspace, open};

/// The maximum size of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Number of files, links and folders.
    pub entries: usize,
    /// Total bytes of content.
    pub bytes: u64,
}

/// A file, link or folder of a tree. A folder precedes its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The path relative to the top of the tree; empty if the tree is a single file.
    pub path: PathBuf,
    /// Its content.
    pub content: TreeEntryContent,
    /// The twelve permission bits of its mode.
    pub mode: u32,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeEntryContent {
    /// A file with its content.
    File(Vec<u8>),
    /// A symbolic link with its target.
    Link(PathBuf),
    /// A folder.
    Folder,
}

/// Whether a folder was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderCreation {
    /// It was created.
    Created,
    /// It existed already.
    Existed,
}

impl Workspace {
    /// Resolves a path except for its last component, which may be a symbolic link.
    pub fn locate_entry(&self, path: impl AsRef<Path>) -> Result<Location, Error> {
        let path = &*self.in_named_folder(path.as_ref());
        let whole = self.root().join(path);
        match (whole.parent(), whole.file_name()) {
            (Some(parent), Some(name)) if !path.as_os_str().is_empty() && !path.starts_with("~") => {
                let parent = self.locate(parent)?;
                Ok(parent.with_path(&parent.path().join(name)))
            }
            _ => self.locate(path),
        }
    }
}

impl Location {
    /// The location of an entry of this folder.
    pub fn within(&self, name: &Path) -> Location {
        self.with_path(&self.path().join(name))
    }

    /// Whether the path exists, even as a dangling symbolic link.
    pub fn is_taken(&self) -> bool {
        open::kind(self.path()).is_some()
    }

    /// Whether this is a symbolic link.
    pub fn is_link(&self) -> bool {
        open::kind(self.path()) == Some(FileType::Symlink)
    }

    /// Whether this path is `other` or an ancestor of it.
    pub fn contains(&self, other: &Location) -> bool {
        other.path().starts_with(self.path())
    }

    /// Whether this path is a project folder or an ancestor of one.
    pub fn contains_project(&self) -> bool {
        self.root().starts_with(self.path()) || self.extra_roots().iter().any(|root| root.starts_with(self.path()))
    }

    /// Reads everything below this path, or the single file.
    pub fn tree_entries(&self, bounds: TreeLimits) -> Result<Vec<TreeEntry>, Error> {
        let mut reading = TreeReader {
            top: self,
            bounds,
            entries: 0,
            bytes: 0,
            leaves: Vec::new(),
        };
        reading.read()?;
        reading.leaves.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(reading.leaves)
    }

    /// All paths below this one, at most `most`; none for a file.
    pub fn names_below(&self, most: usize) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = open::folder(&folder).and_then(|opened| open::entries(opened.as_fd()));
            // Unreadable folders are reported by the operation itself.
            for (name, kind) in entries.into_iter().flatten() {
                if found.len() >= most {
                    return found;
                }
                if kind == FileType::Directory {
                    folders.push(folder.join(&name));
                }
                found.push(folder.join(&name));
            }
        }
        found.sort();
        found
    }

    /// Copies this file or folder to a path that must not exist; missing folders are created. Links in a folder stay
    /// links. A partial copy is removed after an error.
    pub fn copy(&self, to: &Location, bounds: TreeLimits) -> Result<Vec<TreeEntry>, Error> {
        self.reject_move_into_itself(to)?;
        let leaves = self.tree_entries(bounds)?;
        let target = to.make_parent()?;
        if target.is_taken() {
            return Err(to.exists_error());
        }
        match self.copy_all(to, &leaves) {
            Ok(()) => Ok(leaves),
            Err(error) => {
                // The first error is the cause.
                drop(target.remove_all());
                Err(error)
            }
        }
    }

    /// Moves this file, link or folder to a path that must not exist; missing folders are created.
    pub fn move_to(&self, to: &Location, bounds: TreeLimits) -> Result<(), Error> {
        self.reject_move_into_itself(to)?;
        let handle = EntryHandle::open_parent(self.path()).map_err(|error| self.error(error))?;
        if !self.is_link() {
            handle.require_writable().map_err(|error| self.error(error))?;
        }
        let target = to.make_parent()?;
        match handle.rename(&target) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(to.exists_error()),
            // Another file system: copy instead of rename.
            Err(Errno::XDEV) => {
                self.copy(to, bounds)?;
                self.remove_all()
            }
            Err(errno) => Err(self.error(errno.into())),
        }
    }

    /// Removes this file, link or folder with its content, unless it is write-protected.
    pub fn remove_all(&self) -> Result<(), Error> {
        let handle = EntryHandle::open_parent(self.path()).map_err(|error| self.error(error))?;
        let stat = handle.metadata().map_err(|error| self.error(error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => handle.require_writable().map_err(|error| self.error(error))?,
            FileType::Directory => self.require_open_folders()?,
            _ => {}
        }
        handle.remove_all().map_err(|error| self.error(error))
    }

    /// Creates this folder and its parents.
    pub fn create_folder(&self) -> Result<FolderCreation, Error> {
        match open::kind(self.path()) {
            Some(FileType::Directory) => return Ok(FolderCreation::Existed),
            Some(_) => return Err(self.exists_error()),
            None => {}
        }
        let handle = self.make_parent()?;
        match handle.create_folder() {
            Ok(()) => Ok(FolderCreation::Created),
            // Another process created it meanwhile.
            Err(_) if handle.metadata().is_ok_and(|stat| is_folder(&stat)) => Ok(FolderCreation::Existed),
            Err(error) => Err(self.error(error)),
        }
    }

    /// At most the first `most` bytes of this file.
    pub fn first_bytes(&self, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let file = self.open()?;
        file.take(most as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| self.error(error))?;
        Ok(bytes)
    }

    fn copy_all(&self, to: &Location, leaves: &[TreeEntry]) -> Result<(), Error> {
        for leaf in leaves {
            let target = join(to.path(), &leaf.path);
            let copied = EntryHandle::open_parent(&target).and_then(|handle| match &leaf.content {
                TreeEntryContent::Folder => handle.create_folder(),
                TreeEntryContent::Link(points_to) => handle.create_link(points_to),
                TreeEntryContent::File(bytes) => {
                    let mut file = handle.create(0o600)?;
                    file.write_all(bytes)?;
                    file.set_permissions(fs::Permissions::from_mode(leaf.mode))
                }
            });
            copied.map_err(|error| Error::from_io(self.show(&target), error))?;
        }
        // Last, because a read-only folder could not have been filled.
        for leaf in leaves.iter().filter(|leaf| leaf.content == TreeEntryContent::Folder) {
            let target = join(to.path(), &leaf.path);
            let given = EntryHandle::open_parent(&target).and_then(|handle| handle.set_mode(leaf.mode));
            given.map_err(|error| Error::from_io(self.show(&target), error))?;
        }
        Ok(())
    }

    fn reject_move_into_itself(&self, to: &Location) -> Result<(), Error> {
        match self.contains(to) {
            true => Err(Error::IntoItself {
                path: self.shown().into_owned(),
                to: to.shown().into_owned(),
            }),
            false => Ok(()),
        }
    }

    fn make_parent(&self) -> Result<EntryHandle, Error> {
        EntryHandle::create_parents(self.path()).map_err(|error| self.error(error))
    }

    /// Fails before removing anything if a folder below cannot be emptied.
    fn require_open_folders(&self) -> Result<(), Error> {
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            let failed = |error: io::Error| Error::from_io(self.show(&folder), error);
            let opened = open::folder(&folder).map_err(failed)?;
            let needed = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
            rustix::fs::accessat(&opened, ".", needed, AtFlags::empty()).map_err(|errno| failed(errno.into()))?;
            for (name, kind) in open::entries(opened.as_fd()).map_err(failed)? {
                if kind == FileType::Directory {
                    folders.push(folder.join(name));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn exists_error(&self) -> Error {
        Error::Exists {
            path: self.shown().into_owned(),
        }
    }
}

/// Reads a tree.
struct TreeReader<'a> {
    top: &'a Location,
    bounds: TreeLimits,
    entries: usize,
    bytes: u64,
    leaves: Vec<TreeEntry>,
}

impl TreeReader<'_> {
    /// Reads all entries. The depth of a tree is not limited, so this does not recurse.
    fn read(&mut self) -> Result<(), Error> {
        let mut pending = vec![self.top.path().to_owned()];
        while let Some(path) = pending.pop() {
            let failed = |error: io::Error| match path == self.top.path() {
                true => self.top.error(error),
                false => Error::from_io(self.top.show(&path), error),
            };
            let handle = EntryHandle::open_parent(&path).map_err(failed)?;
            let stat = handle.metadata().map_err(failed)?;
            self.count(&path, &stat)?;
            let content = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => TreeEntryContent::Link(handle.link().map_err(failed)?.into()),
                FileType::Directory => {
                    let entries = handle.entries().map_err(failed)?;
                    pending.extend(entries.into_iter().map(|(name, _)| path.join(name)));
                    TreeEntryContent::Folder
                }
                _ => TreeEntryContent::File(read(&handle).map_err(failed)?),
            };
            self.leaves.push(TreeEntry {
                path: path.strip_prefix(self.top.path()).unwrap_or(&path).to_owned(),
                content,
                mode: stat.st_mode & 0o7777,
            });
        }
        Ok(())
    }

    fn count(&mut self, path: &Path, stat: &Stat) -> Result<(), Error> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink) {
            return Err(Error::NotAFile {
                path: self.top.show(path).into_owned(),
            });
        }
        self.entries += 1;
        if kind == FileType::RegularFile {
            self.bytes += stat.st_size as u64;
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

fn read(handle: &EntryHandle) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    handle.open_file()?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
