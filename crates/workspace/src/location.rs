//! A path that has been resolved, and the side of the project's border on which it lies.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::Error;
use crate::buffers::Editor;
use crate::hiding::Hiding;

/// As many symbolic links as Linux itself follows in one path.
const MAX_LINKS: usize = 40;

/// A resolved path. What it names may not exist, but no part of it is a symbolic link or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    root: Arc<Path>,
    more: Arc<[PathBuf]>,
    hiding: Hiding,
    editor: Editor,
    path: PathBuf,
}

/// Which side of the project's border a path is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The project folder itself or below it, or another folder that belongs to the project.
    Inside,
    /// Anywhere else, also when reached by a symbolic link within the project.
    Outside,
}

impl Location {
    /// The canonical absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it lies in the project.
    pub fn place(&self) -> Place {
        let is_in = |root: &PathBuf| self.path.starts_with(root);
        match self.path.starts_with(&self.root) || self.more.iter().any(is_in) {
            true => Place::Inside,
            false => Place::Outside,
        }
    }

    /// The path as it is told to people and models: relative to the project inside it (`.` for its root), absolute
    /// outside. Bytes that are not UTF-8 are replaced.
    pub fn shown(&self) -> Cow<'_, str> {
        self.show(&self.path)
    }

    /// The path from the project's root inside it, the absolute one outside.
    pub fn relative(&self) -> &Path {
        self.path.strip_prefix(&self.root).unwrap_or(&self.path)
    }

    /// Whether anything is there.
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// The permissions of what is there, as the twelve bits of a Unix mode.
    pub fn mode(&self) -> Option<u32> {
        let about = fs::symlink_metadata(&self.path).ok()?;
        Some(about.permissions().mode() & 0o7777)
    }

    /// Whether a folder is there.
    pub fn is_dir(&self) -> bool {
        self.path.is_dir()
    }

    /// Another path of the same project, from its root or absolute.
    pub fn sibling(&self, path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::resolve(&self.root, &self.more, (&self.hiding, &self.editor), path.as_ref())
    }

    /// Another path, shown in the way this one is shown.
    pub fn show_path<'a>(&self, path: &'a Path) -> Cow<'a, str> {
        self.show(path)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The further folders of the project.
    pub(crate) fn more(&self) -> &[PathBuf] {
        &self.more
    }

    /// What is hidden in the project.
    pub(crate) fn hiding(&self) -> &Hiding {
        &self.hiding
    }

    /// Who shows the project.
    pub(crate) fn buffers(&self) -> &Editor {
        &self.editor
    }

    /// Another resolved path of the same project.
    pub(crate) fn beside(&self, path: &Path) -> Self {
        Self {
            root: Arc::clone(&self.root),
            more: Arc::clone(&self.more),
            hiding: self.hiding.clone(),
            editor: self.editor.clone(),
            path: path.to_owned(),
        }
    }

    /// Shows another path in the way this one is shown.
    pub(crate) fn show<'a>(&self, path: &'a Path) -> Cow<'a, str> {
        match path.strip_prefix(&self.root) {
            Ok(relative) if relative.as_os_str().is_empty() => ".".into(),
            Ok(relative) => relative.to_string_lossy(),
            Err(_) => path.to_string_lossy(),
        }
    }

    pub(crate) fn resolve(
        root: &Arc<Path>,
        more: &Arc<[PathBuf]>,
        (hiding, editor): (&Hiding, &Editor),
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
            more: Arc::clone(more),
            hiding: hiding.clone(),
            editor: editor.clone(),
            path,
        })
    }

    /// The error for this path, with close names when nothing is there.
    pub(crate) fn error(&self, source: io::Error) -> Error {
        match Error::from_io(self.shown(), source) {
            Error::Missing { path, .. } if crate::similar::is_unnameable(self) => Error::Name { path },
            Error::Missing { path, .. } => Error::Missing {
                similar: crate::similar::to(self),
                path,
            },
            other => other,
        }
    }
}

/// Follows an absolute path component by component. Unlike `canonicalize` it goes on where nothing exists yet, and it
/// follows a dangling link to the place it points at, so a write cannot leave the project unnoticed.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut pending: Vec<Step> = Vec::new();
    push(&mut pending, path);
    let mut links = 0;
    while let Some(step) = pending.pop() {
        let name = match step {
            Step::Root => {
                real = PathBuf::from("/");
                continue;
            }
            Step::Up => {
                real.pop();
                continue;
            }
            Step::Down(name) => name,
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

enum Step {
    Root,
    Up,
    Down(OsString),
}

/// Puts the steps of `path` on the stack, the first one on top.
fn push(pending: &mut Vec<Step>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::RootDir => pending.push(Step::Root),
            Component::ParentDir => pending.push(Step::Up),
            Component::Normal(name) => pending.push(Step::Down(name.to_owned())),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
}
