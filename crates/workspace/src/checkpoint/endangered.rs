//! The paths that a command is about to delete, move or overwrite.

use crate::walk::INTERNAL;
use globset::{GlobBuilder, GlobMatcher};
use std::collections::BTreeSet;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// Maximum number of paths that patterns are expanded to.
const MAX_MATCHES: usize = 20_000;

/// The paths that a command is about to delete, move or overwrite, as far as they are known before it runs. They are
/// preserved even if git ignores them, without the limits on the number of copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndangeredPaths {
    paths: BTreeSet<PathBuf>,
    /// Folders whose ignored files are deleted too.
    ignored_below: Vec<PathBuf>,
    /// Whether folders are deleted with everything in them.
    deletes_folders: bool,
    /// Whether files are deleted that git neither tracks nor ignores.
    untracked: bool,
    /// Whether changes of tracked files are overwritten that are not committed.
    uncommitted: bool,
}

impl EndangeredPaths {
    /// Adds an absolute path with everything below it.
    pub fn add(&mut self, path: PathBuf) {
        self.paths.insert(path);
    }

    /// Adds the existing paths that match a pattern relative to a folder.
    pub fn add_matches(&mut self, folder: &Path, pattern: &str) {
        let mut found = vec![folder.to_owned()];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            if !policy::is_bounded_pattern(part) {
                return;
            }
            let glob = GlobBuilder::new(part).literal_separator(true).build();
            let Ok(glob) = glob.map(|glob| glob.compile_matcher()) else {
                return;
            };
            found = found.iter().flat_map(|folder| matches(folder, part, &glob)).collect();
            found.truncate(MAX_MATCHES);
        }
        self.paths.extend(found);
    }

    /// Adds the ignored files below a folder.
    pub fn add_ignored_below(&mut self, folder: PathBuf) {
        self.ignored_below.push(folder);
    }

    /// Marks that folders are deleted with everything in them, including version control.
    pub fn delete_folders(&mut self) {
        self.deletes_folders = true;
    }

    /// Marks that files are deleted that git neither tracks nor ignores.
    pub fn add_untracked(&mut self) {
        self.untracked = true;
    }

    /// Marks that changes of tracked files are overwritten that are not committed.
    pub fn add_uncommitted(&mut self) {
        self.uncommitted = true;
    }

    /// Whether nothing is known to be endangered.
    pub fn is_empty(&self) -> bool {
        *self == EndangeredPaths::default()
    }

    /// Whether a file is one of these, below one, untracked while untracked files are endangered, or modified while
    /// uncommitted changes are. `is_modified` is `None` if git does not track the file.
    pub(super) fn includes_file(&self, path: &Path, is_modified: impl FnOnce() -> Option<bool>) -> bool {
        let by_git = || match is_modified() {
            Some(true) => self.uncommitted,
            Some(false) => false,
            None => self.untracked,
        };
        self.includes(path) || ((self.untracked || self.uncommitted) && by_git())
    }

    /// Whether a path is one of these or below one.
    pub(super) fn includes(&self, path: &Path) -> bool {
        !self.paths.is_empty() && path.ancestors().any(|above| self.paths.contains(above))
    }

    /// Whether one of these is below a folder.
    pub(super) fn is_below(&self, folder: &Path) -> bool {
        let next = self
            .paths
            .range::<Path, _>((Bound::Excluded(folder), Bound::Unbounded))
            .next();
        next.is_some_and(|path| path.starts_with(folder))
    }

    /// Whether ignored files in this place are deleted.
    pub(super) fn includes_ignored(&self, path: &Path) -> bool {
        self.includes(path) || self.ignored_below.iter().any(|folder| path.starts_with(folder))
    }

    /// Whether this folder is deleted with everything in it.
    pub(super) fn deletes_folder(&self, path: &Path) -> bool {
        self.deletes_folders && self.includes(path)
    }

    /// Whether all ignored files of a folder are deleted.
    pub(super) fn has_ignored(&self) -> bool {
        !self.ignored_below.is_empty()
    }
}

/// The entries of a folder that match a pattern without separators. Like a shell, `*` does not match hidden names.
fn matches(folder: &Path, pattern: &str, glob: &GlobMatcher) -> Vec<PathBuf> {
    if !pattern.contains(['*', '?', '[']) {
        return vec![folder.join(pattern)];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name()).filter(|name| {
        let is_hidden = name.as_encoded_bytes().first() == Some(&b'.') && !pattern.starts_with('.');
        !is_hidden && !INTERNAL.iter().any(|internal| name == internal) && glob.is_match(name)
    });
    names.map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_paths_include_what_is_below_them_and_patterns_are_expanded() {
        let temp = tempfile::tempdir().unwrap();
        for path in ["a/x.log", "a/y.txt", "b/x.log", ".hidden.log", "top.log"] {
            let path = temp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let at = |path: &str| temp.path().join(path);
        let mut endangered = EndangeredPaths::default();
        assert!(endangered.is_empty());
        endangered.add(at("data"));
        endangered.add_matches(temp.path(), "*/*.log");
        endangered.add_matches(temp.path(), "*.log");
        for (path, is_included) in [
            ("data", true),
            ("data/deep/file", true),
            ("database", false),
            ("a/x.log", true),
            ("b/x.log", true),
            ("a/y.txt", false),
            ("top.log", true),
            (".hidden.log", false),
        ] {
            assert_eq!(endangered.includes(&at(path)), is_included, "{path}");
        }
        assert!(endangered.is_below(temp.path()) && endangered.is_below(&at("a")) && !endangered.is_below(&at("c")));
    }
}
