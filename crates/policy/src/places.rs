//! The folders that paths are judged by. Paths are compared by their text; following links is the caller's work.

use crate::Place;
use std::path::{Component, Path, PathBuf};

/// The folders that paths are judged by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// The project.
    pub root: PathBuf,
    /// Other folders that belong to it: rules hold in each of them as in the project.
    pub more: Vec<PathBuf>,
    /// The person's home folder, when it is known.
    pub home: Option<PathBuf>,
    /// Folders for temporary files, in which commands may write.
    pub temporary: Vec<PathBuf>,
}

impl Places {
    /// Where an absolute path lies.
    pub fn place(&self, path: &Path) -> Place {
        let path = normalise(path);
        if self.roots().any(|root| path.starts_with(root)) {
            Place::Inside
        } else {
            Place::Outside
        }
    }

    /// The folders of the project.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        let main = [&self.root].into_iter().filter(|root| !root.as_os_str().is_empty());
        main.chain(&self.more)
    }

    /// Whether a path lies in a folder for temporary files.
    pub fn is_temporary(&self, path: &Path) -> bool {
        let path = normalise(path);
        self.temporary
            .iter()
            .any(|folder| path.starts_with(folder) && path != *folder)
    }

    /// The path relative to the folder of the project in which it lies, when it lies in one.
    pub fn relative(&self, path: &Path) -> Option<PathBuf> {
        if path.is_relative() {
            let path = normalise(path);
            return (!path.starts_with("..")).then_some(path);
        }
        let path = normalise(path);
        let relative = self.roots().find_map(|root| path.strip_prefix(root).ok());
        relative.map(Path::to_path_buf)
    }
}

/// Resolves `.` and `..` by text.
pub(crate) fn normalise(path: &Path) -> PathBuf {
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
