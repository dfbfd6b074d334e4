//! The git index of the project, read from its files: an unchanged tracked file needs no copy.

use super::StagedFile;
use super::stamp::{FileStamp, Nanos};
use crate::open;
use bstr::{BStr, BString};
use gix_hash::ObjectId;
use gix_index::entry::stat::Time;
use gix_index::entry::{Flags, Mode};
use gix_object::{Find, FindHeader};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum size of a file that refers to a git directory.
const MAX_POINTER: u64 = 64 * 1024;
/// A larger file is copied even if git has it, because git objects are read into memory.
const MOST: u64 = 16 * 1024 * 1024;

/// The repository that contains the project: its index and its objects.
pub(super) struct GitIndex {
    /// The top folder of the working tree.
    top: PathBuf,
    /// The git directory.
    directory: PathBuf,
    /// The folder of its objects, shared by linked worktrees.
    objects: PathBuf,
    index: Option<gix_index::State>,
    stamp: Option<FileStamp>,
}

impl GitIndex {
    /// The repository that contains this folder, if it is supported.
    pub(super) fn containing(root: &Path) -> Option<Self> {
        let (top, directory) = root.ancestors().find_map(|folder| Some((folder, directory(folder)?)))?;
        let real = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        let common = match open::read(&real.join("commondir"), MAX_POINTER) {
            Ok(path) => directory.join(OsStr::from_bytes(path.trim_ascii())),
            Err(_) => directory.clone(),
        };
        let mut repository = GitIndex {
            top: top.to_owned(),
            objects: common.join("objects"),
            directory,
            index: None,
            stamp: None,
        };
        repository.refresh();
        Some(repository)
    }

    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the index again if it has changed.
    pub(super) fn refresh(&mut self) {
        let path = self.directory.join("index");
        let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
        let stamp = metadata.map(|metadata| FileStamp::of(&metadata));
        if stamp == self.stamp && stamp.is_some() {
            return;
        }
        self.stamp = stamp;
        // Without a readable index, more files are copied. Only a regular file can be opened without blocking.
        let read = stamp.and_then(|_| {
            gix_index::File::at(path, gix_hash::Kind::Sha1, true, gix_index::decode::Options::default()).ok()
        });
        self.index = read.map(gix_index::State::from);
    }

    /// The tracked files as they were staged; `None` if there are more than `most`.
    pub(super) fn files(&self, most: usize) -> Option<Vec<StagedFile>> {
        let index = self.index.as_ref().filter(|index| index.entries().len() <= most)?;
        let skipped = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE;
        let plain = |entry: &&gix_index::Entry| {
            matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK) && !entry.flags.intersects(skipped)
        };
        let files = index.entries().iter().filter(plain).map(|entry| StagedFile {
            path: self.top.join(OsStr::from_bytes(entry.path(index))),
            size: u64::from(entry.stat.size),
            modified: moment(entry.stat.mtime),
            blob: entry.id.to_string(),
        });
        Some(files.collect())
    }

    /// Whether git tracks this file.
    pub(super) fn tracks(&self, path: &Path) -> bool {
        self.entry(path).is_some()
    }

    /// Whether git tracks anything in this folder.
    pub(super) fn tracks_below(&self, folder: &Path) -> bool {
        let (Some(index), Some(mut prefix)) = (&self.index, self.name(folder)) else {
            return false;
        };
        prefix.push(b'/');
        index.prefixed_entries(prefix.as_ref()).is_some()
    }

    /// Whether a file has changed since it was staged, according to its size and time; `None` if git does not track it.
    pub(super) fn is_modified(&self, path: &Path, stamp: &FileStamp) -> Option<bool> {
        let entry = self.entry(path)?;
        // A file modified in the same clock tick as the index may have been modified again.
        let is_older = self.stamp.is_some_and(|index| stamp.modified < index.modified);
        Some(!is_older || !has_stat(entry, stamp))
    }

    /// The object with exactly this file's content, if the index is certain.
    pub(super) fn clean(&self, path: &Path, stamp: &FileStamp, objects: &GitObjects) -> Option<ObjectId> {
        let entry = self.entry(path)?;
        let is_plain = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
            && !entry
                .flags
                .intersects(Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD | Flags::STAGE_MASK);
        let changed = moment(entry.stat.ctime);
        let is_same = has_stat(entry, stamp) && changed == stamp.changed;
        // A file modified in the same clock tick as the index may have been modified again.
        let is_older = self.stamp.is_some_and(|index| changed < index.modified);
        if !(is_plain && is_same && is_older && stamp.size <= MOST) {
            return None;
        }
        // With filters and line ending conversion, the object differs from the file, also in size.
        (objects.size(&entry.id)? == stamp.size).then_some(entry.id)
    }

    /// Opens the objects for reading.
    pub(super) fn objects(&self) -> GitObjects {
        GitObjects(gix_odb::at(&self.objects, gix_hash::Kind::Sha1).ok())
    }

    fn entry(&self, path: &Path) -> Option<&gix_index::Entry> {
        self.index.as_ref()?.entry_by_path(self.name(path)?.as_ref())
    }

    /// A path relative to the working tree.
    fn name(&self, path: &Path) -> Option<BString> {
        let relative = path.strip_prefix(&self.top).ok()?;
        Some(BStr::new(relative.as_os_str().as_bytes()).to_owned())
    }
}

/// Whether an entry has the size and the modification time of a file.
fn has_stat(entry: &gix_index::Entry, stamp: &FileStamp) -> bool {
    // The index has the lower 32 bits of the size.
    let size = stamp.size & u64::from(u32::MAX);
    moment(entry.stat.mtime) == stamp.modified && u64::from(entry.stat.size) == size
}

fn moment(time: Time) -> Nanos {
    Nanos::from(time.secs) * 1_000_000_000 + Nanos::from(time.nsecs)
}

/// The top folder and the index file of the repository that contains a folder.
pub(super) fn index_file(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut folders = folder.ancestors();
    folders.find_map(|folder| Some((folder.to_owned(), directory(folder)?.join("index"))))
}

/// The objects of a repository.
pub(super) struct GitObjects(Option<gix_odb::Handle>);

impl GitObjects {
    /// No objects.
    pub(super) fn none() -> Self {
        GitObjects(None)
    }

    /// The content of a blob object.
    pub(super) fn read(&self, id: &ObjectId) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let data = self.0.as_ref()?.try_find(id, &mut bytes).ok()??;
        let is_whole = data.kind == gix_object::Kind::Blob;
        is_whole.then(|| data.data.to_vec())
    }

    fn size(&self, id: &ObjectId) -> Option<u64> {
        let header = FindHeader::try_header(self.0.as_ref()?, id).ok()??;
        (header.kind == gix_object::Kind::Blob).then_some(header.size)
    }
}

/// `.git` is a folder, or in a linked worktree or submodule a file with the path of one.
fn directory(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    let metadata = fs::metadata(&path).ok()?;
    if metadata.is_dir() {
        return path.join("HEAD").exists().then_some(path);
    }
    let content = open::read(&path, MAX_POINTER).ok()?;
    let named = content.strip_prefix(b"gitdir:")?.trim_ascii();
    Some(folder.join(OsStr::from_bytes(named)))
}

/// As [`GitIndex::is_modified`]; without a repository, git commands change nothing.
pub(super) fn is_modified(repository: Option<&GitIndex>, path: &Path, stamp: &FileStamp) -> Option<bool> {
    repository.map_or(Some(false), |repository| repository.is_modified(path, stamp))
}
