//! The project folder, relative to which paths are resolved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::buffers::AttachedEditor;
use crate::hidden::HiddenPaths;
use crate::{Error, Location};

/// A project folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: Arc<Path>,
    /// Additional folders of the project.
    more: Arc<[PathBuf]>,
    pub(crate) hiding: HiddenPaths,
    pub(crate) editor: AttachedEditor,
}

impl Workspace {
    /// Opens the project at `root`, which must be an existing folder; it is stored in canonical form.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let shown = root.to_string_lossy();
        let canonical = root
            .canonicalize()
            .map_err(|error| Error::from_io(shown.as_ref(), error))?;
        match canonical.is_dir() {
            true => Ok(Self {
                root: canonical.into(),
                more: Arc::default(),
                hiding: HiddenPaths::default(),
                editor: AttachedEditor::default(),
            }),
            false => Err(Error::NotADirectory {
                path: shown.into_owned(),
            }),
        }
    }

    /// The same project with additional folders. Each must be an existing folder and is stored in canonical form;
    /// folders inside the project are skipped.
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

    /// The additional folders of the project.
    pub fn more(&self) -> &[PathBuf] {
        &self.more
    }

    /// The canonical path of the project folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path relative to the root, including `..` and symbolic links. The target need not exist. An empty
    /// path is the root.
    pub fn locate(&self, path: impl AsRef<Path>) -> Result<Location, Error> {
        Location::resolve(&self.root, &self.more, (&self.hiding, &self.editor), path.as_ref())
    }
}
