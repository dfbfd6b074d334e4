//! Restores paths to earlier versions: all of them, or none.

use super::blob_dir::{hash_bytes, hash_reader};
use super::ignore_rules::is_internal;
use crate::open;
use crate::write::{EntryHandle, StagingFolder};
use rustix::fs::{Access, AtFlags, FileType, Stat};
use rustix::io::Errno;
use session::{BlobId, FileKind, FileVersion};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// A path and its target version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreStep {
    /// The path, relative to the project or absolute.
    pub path: PathBuf,
    /// The current version.
    pub from: Option<FileVersion>,
    /// The target version.
    pub to: Option<FileVersion>,
}

/// Provides stored contents.
pub trait BlobSource {
    /// Opens a blob; `None` if it is not stored.
    fn open(&self, id: &BlobId) -> io::Result<Option<Box<dyn Read + '_>>>;

    /// A folder for files that are being written, so that a killed process leaves none of them in the project.
    fn staging(&self) -> Option<&Path> {
        None
    }
}

/// The result of a successful restore.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RestoreOutcome {
    /// Folders that should be removed but contain other files, such as ignored ones.
    pub remaining_folders: Vec<PathBuf>,
}

/// Why paths were not restored.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct RestoreError {
    /// The failing path.
    pub path: PathBuf,
    /// The error.
    #[source]
    pub source: io::Error,
    /// Paths that were changed and could not be rolled back.
    pub not_restored: Vec<PathBuf>,
}

/// The current version of a path; `None` behind a link. Special files have no content.
pub fn current_version(root: &Path, path: &Path) -> io::Result<Option<FileVersion>> {
    let full_path = root.canonicalize()?.join(path);
    let found = EntryHandle::open_parent(&full_path).and_then(|handle| Ok((handle.metadata()?, handle)));
    let (stat, handle) = match found {
        Ok(found) => found,
        Err(error) if is_elsewhere(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mode = Some(stat.st_mode & 0o7777);
    let file_type = FileType::from_raw_mode(stat.st_mode);
    let (kind, content) = if file_type == FileType::Symlink {
        (FileKind::Link, Some(hash_bytes(handle.link()?.as_bytes())))
    } else if file_type == FileType::Directory {
        (FileKind::Folder { mode }, None)
    } else if file_type == FileType::RegularFile {
        let content = match handle.open_file().and_then(|mut file| hash_reader(&mut file)) {
            Ok(name) => Some(name),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) => return Err(error),
        };
        (FileKind::File { mode }, content)
    } else {
        (FileKind::File { mode }, None)
    };
    Ok(Some(FileVersion {
        kind,
        content,
        is_stored: false,
    }))
}

/// Whether a path is never restored: files of version control, and paths with `..`.
pub fn is_protected(path: &Path) -> bool {
    path.components().any(|component| match component {
        Component::Normal(name) => is_internal(name),
        Component::ParentDir => true,
        Component::CurDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

/// Restores all paths. If one fails, the others are rolled back.
pub fn restore(root: &Path, steps: &[RestoreStep], contents: &dyn BlobSource) -> Result<RestoreOutcome, RestoreError> {
    // Below the root, no link is followed.
    let real = root.canonicalize();
    let root = real.as_deref().unwrap_or(root);
    let mut work = RestoreRun {
        root,
        contents,
        staging: contents.staging().and_then(|folder| StagingFolder::open(folder).ok()),
        opened: BTreeMap::new(),
        remaining_folders: Vec::new(),
    };
    // Nothing has been changed yet, so nothing is rolled back.
    if let Err((path, source)) = work.check(steps) {
        let left = Vec::new();
        return Err(RestoreError {
            path,
            source,
            not_restored: left,
        });
    }
    let tried = work.apply(steps);
    work.reset_folder_modes(steps);
    let Err((path, source)) = tried else {
        return Ok(RestoreOutcome {
            remaining_folders: work.remaining_folders,
        });
    };
    let back: Vec<RestoreStep> = steps.iter().rev().map(RestoreStep::reversed).collect();
    let mut work = RestoreRun {
        remaining_folders: Vec::new(),
        opened: BTreeMap::new(),
        ..work
    };
    // One failing rollback must not prevent the others.
    let undone = work.apply(&back);
    work.reset_folder_modes(&back);
    let is_back = |step: &&RestoreStep| {
        let now = current_version(root, &step.path).ok().flatten();
        match (&now, &step.from) {
            (Some(now), Some(from)) => now.matches(from),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    };
    let left = match undone {
        Ok(()) => Vec::new(),
        Err(_) => steps
            .iter()
            .filter(|step| !is_back(step))
            .map(|step| step.path.clone())
            .collect(),
    };
    Err(RestoreError {
        path,
        source,
        not_restored: left,
    })
}

impl RestoreStep {
    fn reversed(&self) -> RestoreStep {
        RestoreStep {
            path: self.path.clone(),
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }

    /// Whether the current version must be removed first.
    fn is_removed_first(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => is_folder(from) != is_folder(to),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

type RestoreResult<T> = Result<T, (PathBuf, io::Error)>;

struct RestoreRun<'a> {
    root: &'a Path,
    contents: &'a dyn BlobSource,
    staging: Option<StagingFolder>,
    /// Folders made writable, with their original permissions.
    opened: BTreeMap<PathBuf, u32>,
    remaining_folders: Vec<PathBuf>,
}

impl RestoreRun<'_> {
    /// Fails before anything is changed if a step cannot succeed.
    fn check(&self, steps: &[RestoreStep]) -> RestoreResult<()> {
        for step in steps {
            let fail = |error: io::Error| (step.path.clone(), error);
            if is_protected(&step.path) {
                let why = "this path is protected";
                return Err(fail(io::Error::new(io::ErrorKind::PermissionDenied, why)));
            }
            let Some(to) = &step.to else { continue };
            let is_there = match &to.content {
                Some(id) => self.contents.open(id).map_err(fail)?.is_some(),
                None => is_folder(to),
            };
            let is_same = step
                .from
                .as_ref()
                .is_some_and(|from| from.content == to.content && from.content.is_some());
            if !is_there && !is_same {
                let why = "this version is not stored";
                return Err(fail(io::Error::new(io::ErrorKind::NotFound, why)));
            }
        }
        Ok(())
    }

    fn apply(&mut self, steps: &[RestoreStep]) -> RestoreResult<()> {
        let depth = |step: &&RestoreStep| step.path.components().count();
        let mut leaving: Vec<&RestoreStep> = steps.iter().filter(|step| step.is_removed_first()).collect();
        leaving.sort_by_key(|step| Reverse(depth(step)));
        for step in leaving {
            self.remove(step).map_err(|error| (step.path.clone(), error))?;
        }
        let mut coming: Vec<&RestoreStep> = steps.iter().filter(|step| step.to.is_some()).collect();
        coming.sort_by_key(depth);
        for step in &coming {
            self.make(step).map_err(|error| (step.path.clone(), error))?;
        }
        Ok(())
    }

    fn remove(&mut self, step: &RestoreStep) -> io::Result<()> {
        let full_path = self.root.join(&step.path);
        // Nothing is removed behind a link.
        let Ok(stat) = open::metadata(&full_path) else {
            return Ok(());
        };
        self.open_parent(&full_path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return EntryHandle::open_parent(&full_path)?.remove_file();
        }
        match EntryHandle::open_parent(&full_path)?.remove_folder() {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && step.to.is_none() => {
                self.remaining_folders.push(step.path.clone());
                Ok(())
            }
            removed => removed,
        }
    }

    fn make(&mut self, step: &RestoreStep) -> io::Result<()> {
        let Some(to) = &step.to else { return Ok(()) };
        let full_path = self.root.join(&step.path);
        // A parent may have been deleted since.
        EntryHandle::create_parents(&full_path).map_err(|error| match is_elsewhere(&error) {
            true => io::Error::new(io::ErrorKind::NotADirectory, "a parent is not a folder"),
            false => error,
        })?;
        let now = open::metadata(&full_path).ok();
        let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        match to.kind {
            FileKind::Folder { .. } => {
                if !now.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
                    self.open_parent(&full_path)?;
                    EntryHandle::open_parent(&full_path)?.create_folder()?;
                }
                // Its permissions are set last, because they may be read-only.
                Ok(())
            }
            FileKind::Link => {
                let target = self.bytes(to)?;
                self.open_parent(&full_path)?;
                EntryHandle::open_parent(&full_path)?
                    .replace_with_link(OsStr::from_bytes(&target), self.staging.as_ref())
            }
            FileKind::File { mode } => {
                let is_content_same = match (&now, &step.from) {
                    (Some(stat), Some(from)) => is_file(stat) && from.content == to.content,
                    (None, _) | (_, None) => false,
                };
                if is_content_same {
                    return mode.map_or(Ok(()), |mode| EntryHandle::open_parent(&full_path)?.change_mode(mode));
                }
                self.open_parent(&full_path)?;
                self.write(&full_path, to, mode, now.as_ref().filter(|stat| is_file(stat)))
            }
        }
    }

    /// Replaces a file atomically, with its permissions and owner.
    fn write(&self, full_path: &Path, to: &FileVersion, mode: Option<u32>, now: Option<&Stat>) -> io::Result<()> {
        let usual = if mode.is_none() && now.is_none() { 0o666 } else { 0o600 };
        let handle = EntryHandle::open_parent(full_path)?;
        let mut replacement = handle.create_replacement_in(self.staging.as_ref(), usual)?;
        let mut bytes = self.open(to)?;
        io::copy(&mut bytes, &mut replacement.file)?;
        if let Some(stat) = now {
            let ours = replacement.file.metadata()?;
            if (ours.uid(), ours.gid()) != (stat.st_uid, stat.st_gid) {
                // Changing the owner may not be permitted; the content matters more.
                std::os::unix::fs::fchown(&replacement.file, Some(stat.st_uid), Some(stat.st_gid)).ok();
            }
        }
        if let Some(mode) = mode.or(now.map(|stat| stat.st_mode & 0o7777)) {
            replacement.file.set_permissions(Permissions::from_mode(mode))?;
        }
        replacement.persist()
    }

    fn open(&self, version: &FileVersion) -> io::Result<Box<dyn Read + '_>> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "this version is not stored");
        let id = version.content.as_ref().ok_or_else(missing)?;
        self.contents.open(id)?.ok_or_else(missing)
    }

    fn bytes(&self, version: &FileVersion) -> io::Result<Vec<u8>> {
        /// Longer than any path.
        const MOST: u64 = 64 * 1024;
        let mut bytes = Vec::new();
        self.open(version)?.take(MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes the parent folder writable if only its permissions prevent changes.
    fn open_parent(&mut self, full_path: &Path) -> io::Result<()> {
        let Some(folder) = full_path.parent() else {
            return Ok(());
        };
        let opened = open::open(folder, open::TRAVERSE)?;
        if rustix::fs::accessat(&opened, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty()).is_ok() {
            return Ok(());
        }
        let mode = rustix::fs::fstat(&opened)?.st_mode & 0o7777;
        EntryHandle::open_parent(folder)?.set_folder_mode(mode | 0o700)?;
        self.opened.entry(folder.to_owned()).or_insert(mode);
        Ok(())
    }

    /// Sets the final permissions of folders, deepest first.
    fn reset_folder_modes(&mut self, steps: &[RestoreStep]) {
        for step in steps {
            let full_path = self.root.join(&step.path);
            if let Some(FileKind::Folder { mode: Some(mode) }) = step.to.as_ref().map(|to| to.kind) {
                self.opened.insert(full_path, mode);
            }
        }
        for (folder, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            let handle = EntryHandle::open_parent(&folder);
            // The folder is ours, or it could not have been made writable; it may have been deleted meanwhile.
            handle.and_then(|handle| handle.set_folder_mode(mode)).ok();
        }
    }
}

fn is_folder(version: &FileVersion) -> bool {
    matches!(version.kind, FileKind::Folder { .. })
}

/// Whether a path does not exist or is behind a link.
fn is_elsewhere(error: &io::Error) -> bool {
    let code = Errno::from_io_error(error);
    matches!(
        code,
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG)
    )
}
