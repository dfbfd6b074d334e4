//! The project folder, relative to which paths are resolved.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::buffers::AttachedEditor;
use crate::hidden::HiddenPaths;
use crate::{Error, Location, open};

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
    /// path is the root. A path that begins with the name of an additional folder is relative to that folder, unless the
    /// root has an entry of this name. The name of the root is treated in the same way if there are additional folders, or
    /// if the rest of the path exists.
    pub fn locate(&self, path: impl AsRef<Path>) -> Result<Location, Error> {
        let path = self.in_named_folder(path.as_ref());
        Location::resolve(&self.root, &self.more, (&self.hiding, &self.editor), &path)
    }

    pub(crate) fn in_named_folder<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let mut parts = path.components();
        let Some(Component::Normal(name)) = parts.next() else {
            return path.into();
        };
        let mut named = self.more.iter().filter(|folder| folder.file_name() == Some(name));
        let named = (named.next(), named.next());
        if open::kind(&self.root.join(name)).is_some() {
            return path.into();
        }
        let rest = parts.as_path();
        let is_below = !rest.as_os_str().is_empty() && open::kind(&self.root.join(rest)).is_some();
        let is_root = self.root.file_name() == Some(name) && (is_below || !self.more.is_empty());
        match named {
            (Some(folder), None) => folder.join(rest).into(),
            (None, _) if is_root => rest.to_owned().into(),
            _ => path.into(),
        }
    }
}
