//! Resolved paths, inside or outside the project.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::buffers::AttachedEditor;
use crate::hidden::HiddenPaths;
use crate::suggestions::SimilarPaths;
use crate::{Error, open};

/// The limit of Linux for symbolic links in one path.
const MAX_LINKS: usize = 40;

/// A resolved path. It may not exist, but no component is a symbolic link or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    root: Arc<Path>,
    extra_roots: Arc<[PathBuf]>,
    hidden: HiddenPaths,
    attached_editor: AttachedEditor,
    path: PathBuf,
}

/// Whether a path is inside the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationPlace {
    /// In the project folder or an additional project folder.
    Inside,
    /// Anywhere else, even if reached by a symbolic link in the project.
    Outside,
}

impl Location {
    /// The canonical absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is inside the project.
    pub fn place(&self) -> LocationPlace {
        let is_in = |root: &PathBuf| self.path.starts_with(root);
        match self.path.starts_with(&self.root) || self.extra_roots.iter().any(is_in) {
            true if !self.hidden.is_private(&self.path) => LocationPlace::Inside,
            true | false => LocationPlace::Outside,
        }
    }

    /// Whether it is inside the project.
    pub fn is_inside(&self) -> bool {
        self.place() == LocationPlace::Inside
    }

    /// The path for display: relative to the project inside it (`.` for its root), absolute outside. Invalid UTF-8 is
    /// replaced.
    pub fn shown(&self) -> Cow<'_, str> {
        self.show(&self.path)
    }

    /// The path relative to the project's root inside it, absolute outside.
    pub fn relative(&self) -> &Path {
        self.path.strip_prefix(&self.root).unwrap_or(&self.path)
    }

    /// Whether the path exists.
    pub fn exists(&self) -> bool {
        open::kind(&self.path).is_some_and(|kind| kind != FileType::Symlink)
    }

    /// The permissions, as the twelve bits of a Unix mode.
    pub fn mode(&self) -> Option<u32> {
        let stat = open::metadata(&self.path).ok()?;
        Some(stat.st_mode & 0o7777)
    }

    /// Whether it is a folder.
    pub fn is_dir(&self) -> bool {
        open::kind(&self.path) == Some(FileType::Directory)
    }

    /// Resolves another path of the same project, relative to its root or absolute.
    pub fn sibling(&self, path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::resolve(
            &self.root,
            &self.extra_roots,
            (&self.hidden, &self.attached_editor),
            path.as_ref(),
        )
    }

    /// A path that a search has found, relative to the project or absolute. It is not resolved again: if a component has
    /// become a link since, it cannot be opened.
    pub fn project_path(&self, path: &Path) -> Self {
        self.with_path(&self.root.join(path))
    }

    /// Another path, for display.
    pub fn show_path<'a>(&self, path: &'a Path) -> Cow<'a, str> {
        self.show(path)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The additional folders of the project.
    pub(crate) fn extra_roots(&self) -> &[PathBuf] {
        &self.extra_roots
    }

    /// The folders that a search of this path covers: a search of the project folder includes the additional ones.
    pub(crate) fn searched_folders(&self) -> impl Iterator<Item = &Path> {
        let more = match self.path == *self.root {
            true => &self.extra_roots[..],
            false => &[],
        };
        [self.path.as_path()]
            .into_iter()
            .chain(more.iter().map(PathBuf::as_path))
    }

    /// Orders the results of a search: the files of this folder come before those of other searched folders.
    pub(crate) fn search_order<'a>(&self, path: &'a Path) -> (bool, &'a Path) {
        (!path.starts_with(&self.path), path)
    }

    /// The searched folder that contains a path.
    pub(crate) fn searched_folder_of(&self, path: &Path) -> &Path {
        let mut folders = self.searched_folders();
        folders.find(|folder| path.starts_with(folder)).unwrap_or(&self.path)
    }

    /// The hidden paths of the project.
    pub(crate) fn hiding(&self) -> &HiddenPaths {
        &self.hidden
    }

    /// The editor attached to the project.
    pub(crate) fn attached_editor(&self) -> &AttachedEditor {
        &self.attached_editor
    }

    /// Another resolved path of the same project.
    pub(crate) fn with_path(&self, path: &Path) -> Self {
        Self {
            root: Arc::clone(&self.root),
            extra_roots: Arc::clone(&self.extra_roots),
            hidden: self.hidden.clone(),
            attached_editor: self.attached_editor.clone(),
            path: path.to_owned(),
        }
    }

    /// Another path, for display.
    pub(crate) fn show<'a>(&self, path: &'a Path) -> Cow<'a, str> {
        match path.strip_prefix(&self.root) {
            Ok(relative) if relative.as_os_str().is_empty() => ".".into(),
            Ok(relative) => relative.to_string_lossy(),
            Err(_) => path.to_string_lossy(),
        }
    }

    pub(crate) fn resolve(
        root: &Arc<Path>,
        extra_roots: &Arc<[PathBuf]>,
        (hiding, editor): (&HiddenPaths, &AttachedEditor),
        path: &Path,
    ) -> Result<Self, Error> {
        let shown = || path.to_string_lossy().into_owned();
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(Error::Nul { path: shown() });
        }
        if path.starts_with("~") {
            return Err(Error::Tilde { path: shown() });
        }
        let path = resolve(&root.join(path)).map_err(|error| Error::from_io(shown(), error))?;
        Ok(Self {
            root: Arc::clone(root),
            extra_roots: Arc::clone(extra_roots),
            hidden: hiding.clone(),
            attached_editor: editor.clone(),
            path,
        })
    }

    /// The error for this path, with similar names if it does not exist.
    pub(crate) fn error(&self, source: io::Error) -> Error {
        match Error::from_io(self.shown(), source) {
            Error::Missing { path, .. } if crate::suggestions::is_unnameable(self) => Error::Unnameable { path },
            Error::Missing { path, .. } => Error::Missing {
                similar: SimilarPaths::to(self),
                path,
            },
            other => other,
        }
    }
}

/// Resolves an absolute path component by component. Unlike `canonicalize` it also resolves paths that do not exist
/// yet, and it follows a dangling link to its target, so a write cannot leave the project unnoticed.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut pending: Vec<PathStep> = Vec::new();
    push(&mut pending, path);
    let mut links = 0;
    while let Some(step) = pending.pop() {
        let name = match step {
            PathStep::Root => {
                real = PathBuf::from("/");
                continue;
            }
            PathStep::Up => {
                real.pop();
                continue;
            }
            PathStep::Down(name) => name,
        };
        real.push(name);
        match fs::symlink_metadata(&real) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                push(&mut pending, &fs::read_link(&real)?);
                real.pop();
            }
            Ok(metadata) if !metadata.is_dir() && !pending.is_empty() => {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(real)
}

enum PathStep {
    Root,
    Up,
    Down(OsString),
}

/// Pushes the steps of `path` on the stack, the first on top.
fn push(pending: &mut Vec<PathStep>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::RootDir => pending.push(PathStep::Root),
            Component::ParentDir => pending.push(PathStep::Up),
            Component::Normal(name) => pending.push(PathStep::Down(name.to_owned())),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
}
