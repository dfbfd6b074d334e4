//! BlobLimits an operation to files and folders.

use crate::Error;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// Files and folders to include; empty means all.
#[derive(Debug, Clone, Default)]
pub struct PathScope(Vec<ScopePath>);

/// A path given by the user.
#[derive(Debug, Clone)]
struct ScopePath {
    /// As given.
    given: PathBuf,
    /// Its possible meanings, relative to the project.
    resolved: Vec<PathBuf>,
}

impl ScopePath {
    fn contains(&self, path: &Path) -> bool {
        self.resolved.iter().any(|resolved| path.starts_with(resolved))
    }
}

impl PathScope {
    /// Resolves paths relative to the current folder, and relative to the project, as lists show them.
    pub fn new(paths: &[PathBuf], workspace: &Workspace, cwd: Option<&Path>) -> Result<Self, Error> {
        let resolve = |path: &PathBuf| {
            let candidates = cwd.iter().map(|cwd| cwd.join(path)).chain([path.clone()]);
            let resolved = candidates.map(|path| Ok(workspace.locate(&path)?.relative().to_owned()));
            Ok(ScopePath {
                given: path.clone(),
                resolved: resolved.collect::<Result<_, Error>>()?,
            })
        };
        Ok(PathScope(paths.iter().map(resolve).collect::<Result<_, Error>>()?))
    }

    /// Whether a path is included.
    pub fn contains(&self, path: &Path) -> bool {
        self.0.is_empty() || self.0.iter().any(|scope| scope.contains(path))
    }

    /// A path of the scope, as given, that includes none of these paths.
    pub(crate) fn without_match(&self, paths: &[PathBuf]) -> Option<&Path> {
        let scope = self
            .0
            .iter()
            .find(|scope| !paths.iter().any(|path| scope.contains(path)))?;
        Some(&scope.given)
    }
}
