//! Reference directories for paths. Paths are compared textually; the caller resolves links.

mod ignore;
pub mod project_files;
mod protected;

pub use ignore::IgnoreRules;
pub use project_files::IGNORE_FILES;
pub use protected::{ProtectedPaths, protected_names};

use crate::PathArea;
use std::path::{Component, Path, PathBuf};

/// Reference directories for paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectPaths {
    /// The project directory.
    pub root: PathBuf,
    /// Additional project directories, with the same rules.
    pub more: Vec<PathBuf>,
    /// The user's home directory, if known.
    pub home: Option<PathBuf>,
    /// Directories for temporary files, in which commands may write.
    pub temporary: Vec<PathBuf>,
    /// Files and directories of hew itself, which are never inside the project.
    pub private: Vec<PathBuf>,
}

impl ProjectPaths {
    /// Returns whether an absolute path is inside the project.
    pub fn area_of(&self, path: &Path) -> PathArea {
        let path = normalize(path);
        if self.roots().any(|root| path.starts_with(root)) && !self.is_private(&path) {
            PathArea::Inside
        } else {
            PathArea::Outside
        }
    }

    /// Whether a path is inside the project only because the project is the whole disk.
    pub(crate) fn is_on_whole_disk(&self, path: &Path) -> bool {
        let is_disk = self.root.has_root() && self.root.parent().is_none();
        is_disk && !self.more.iter().any(|other| path.starts_with(other))
    }

    fn is_private(&self, path: &Path) -> bool {
        self.private.iter().any(|private| path.starts_with(private))
    }

    /// All project directories.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        let main = [&self.root].into_iter().filter(|root| !root.as_os_str().is_empty());
        main.chain(&self.more)
    }

    /// Whether a path is in a directory for temporary files.
    pub fn is_temporary(&self, path: &Path) -> bool {
        let path = normalize(path);
        self.temporary
            .iter()
            .any(|folder| path.starts_with(folder) && path != *folder)
    }

    /// Returns the path relative to its project directory, if it is inside one.
    pub fn relative(&self, path: &Path) -> Option<PathBuf> {
        if path.is_relative() {
            let path = normalize(path);
            let is_inside = !path.starts_with("..") && !self.is_private(&self.root.join(&path));
            return is_inside.then_some(path);
        }
        let path = normalize(path);
        if self.is_private(&path) {
            return None;
        }
        let relative = self.roots().find_map(|root| path.strip_prefix(root).ok());
        relative.map(Path::to_path_buf)
    }
}

/// Resolves `.` and `..` textually.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match result.components().next_back() {
                Some(Component::Normal(_)) => {
                    result.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                Some(Component::ParentDir | Component::CurDir) | None => result.push(".."),
            },
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => result.push(component),
        }
    }
    result
}
