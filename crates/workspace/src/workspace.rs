//! A project folder, the root from which paths are resolved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::buffers::Editor;
use crate::hiding::Hiding;
use crate::{Error, Location};

/// A project folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: Arc<Path>,
    /// Other folders that belong to the project.
    more: Arc<[PathBuf]>,
    pub(crate) hiding: Hiding,
    pub(crate) editor: Editor,
}

impl Workspace {
    /// Opens the project at `root`, which must be an existing directory; it is kept in canonical form.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let shown = root.to_string_lossy();
        let canonical = root
            .canonicalize()
            .map_err(|error| Error::from_io(shown.as_ref(), error))?;
        match canonical.is_dir() {
            true => Ok(Self {
                root: canonical.into(),
                more: Arc::default(),
                hiding: Hiding::default(),
                editor: Editor::default(),
            }),
            false => Err(Error::NotADirectory {
                path: shown.into_owned(),
            }),
        }
    }

    /// The same project, with further folders that belong to it. Each must be an existing directory, and is kept in canonical
    /// form; what lies in the project already adds nothing.
    pub fn with(mut self, folders: &[PathBuf]) -> Result<Self, Error> {
        let mut more: Vec<PathBuf> = Vec::new();
        for folder in folders {
            let root = Workspace::open(folder)?.root;
            if !root.starts_with(&self.root) && !more.iter().any(|known| root.starts_with(known)) {
                more.push(root.to_path_buf());
            }
        }
        self.more = more.into();
        Ok(self)
    }

    /// The further folders that belong to the project.
    pub fn more(&self) -> &[PathBuf] {
        &self.more
    }

    /// The canonical path of the project folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path: relative ones start at the root, `..` and symbolic links are followed to where they lead. The
    /// target need not exist. An empty path is the root.
    pub fn locate(&self, path: impl AsRef<Path>) -> Result<Location, Error> {
        Location::resolve(&self.root, &self.more, (&self.hiding, &self.editor), path.as_ref())
    }
}
