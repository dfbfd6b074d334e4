//! Hidden paths: never listed, found, searched or suggested.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;

use crate::Workspace;
use crate::walk::INTERNAL;

/// Whether a canonical path is hidden.
type HidePredicate = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// The hidden paths of a project. They are the same for all locations, so they are ignored by comparison.
#[derive(Clone, Default)]
pub(crate) struct HiddenPaths {
    hides: Option<HidePredicate>,
    /// Paths that are never part of the project.
    private: Arc<[PathBuf]>,
    /// Exceptions among the private paths, which are not hidden.
    shared: Arc<[PathBuf]>,
}

impl HiddenPaths {
    /// Whether this path is hidden.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let is_shared = || self.shared.iter().any(|shared| path.starts_with(shared));
        self.hides.as_ref().is_some_and(|hides| hides(path)) || (self.is_private(path) && !is_shared())
    }

    /// Whether this path is never part of the project.
    pub(crate) fn is_private(&self, path: &Path) -> bool {
        self.private.iter().any(|private| path.starts_with(private))
    }
}

impl fmt::Debug for HiddenPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.hides.is_some() { "Hiding" } else { "Nothing" })
    }
}

impl PartialEq for HiddenPaths {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for HiddenPaths {}

impl Hash for HiddenPaths {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Workspace {
    /// The same project, with some paths hidden.
    pub fn hiding_paths(mut self, hides: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.hiding.hides = Some(Arc::new(hides));
        self
    }

    /// The same project without these paths: they count as outside of it, wherever they are, and are hidden, except
    /// those in `shared`.
    pub fn excluding(mut self, private: &[PathBuf], shared: &[PathBuf]) -> Self {
        self.hiding.private = private.into();
        self.hiding.shared = shared.into();
        self
    }

    /// Whether this canonical path is hidden.
    pub fn is_hidden(&self, path: &Path) -> bool {
        self.hiding.contains(path)
    }

    /// The hidden paths that currently exist, as at most `most` paths.
    pub fn hidden(&self, most: usize) -> PathCover {
        let hiding = self.hiding.clone();
        match hiding.hides.is_none() {
            true => PathCover::default(),
            false => self.cover(most, move |path| hiding.contains(path)),
        }
    }

    /// The currently existing paths that match `wanted`, as at most `most` paths. Matching folders and the folders of
    /// version control are not searched.
    pub fn cover(&self, most: usize, wanted: impl Fn(&Path) -> bool + Send + Sync + 'static) -> PathCover {
        let found = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&found);
        let walk = WalkBuilder::new(self.root())
            .standard_filters(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                if entry.depth() > 0 && wanted(entry.path()) {
                    let mut found = sink.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push(entry.path().to_owned());
                    return false;
                }
                entry.depth() == 0 || !INTERNAL.iter().any(|name| entry.file_name() == *name)
            })
            .build();
        walk.for_each(drop);
        let found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        PathCover::new(found, self.root(), most)
    }
}

/// A bounded list of paths that includes all matching paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathCover {
    /// The paths; for a matching folder only the folder.
    pub paths: Vec<PathBuf>,
    /// Folders in `paths` that do not match themselves but contain too many matching paths.
    pub whole_folders: Vec<PathBuf>,
    /// The number of paths left out because the top folder, which is never listed itself, contains too many.
    pub omitted: usize,
}

impl PathCover {
    /// At most `most` paths that include all of these. The root itself is never one of them.
    pub fn new(paths: Vec<PathBuf>, root: &Path, most: usize) -> Self {
        let mut cover = PathCover {
            paths,
            ..PathCover::default()
        };
        while cover.paths.len() > most {
            let folders = match cover.crowded(root, most) {
                folders if folders.is_empty() => cover.deepest(root),
                folders => folders,
            };
            if folders.is_empty() {
                break;
            }
            let outside = |path: &PathBuf| !path.ancestors().any(|above| folders.contains(above));
            cover.paths.retain(outside);
            cover.whole_folders.retain(outside);
            cover.paths.extend(folders.iter().cloned());
            cover.whole_folders.extend(folders);
        }
        cover.omitted = cover.paths.len().saturating_sub(most);
        cover.paths.truncate(most);
        cover
    }

    /// The fewest folders that reduce the list enough, fullest first.
    fn crowded(&self, root: &Path, most: usize) -> BTreeSet<PathBuf> {
        let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
        for folder in self.paths.iter().filter_map(|path| path.parent()) {
            *counts.entry(folder).or_default() += 1;
        }
        let mut counts: Vec<(&Path, usize)> = counts.into_iter().collect();
        counts.retain(|(folder, count)| *folder != root && *count > 1);
        counts.sort_by_key(|(_, count)| Reverse(*count));
        let mut excess = self.paths.len().saturating_sub(most);
        let needed = counts.into_iter().take_while(|(_, count)| {
            let is_needed = excess > 0;
            excess = excess.saturating_sub(count - 1);
            is_needed
        });
        needed.map(|(folder, _)| folder.to_owned()).collect()
    }

    /// The folders of the deepest paths.
    fn deepest(&self, root: &Path) -> BTreeSet<PathBuf> {
        let folders = || self.paths.iter().filter_map(|path| path.parent());
        let depth = folders().map(|folder| folder.iter().count()).max().unwrap_or_default();
        let deepest = folders().filter(|folder| *folder != root && folder.iter().count() == depth);
        deepest.map(Path::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_paths_are_covered_by_their_folders_but_never_by_the_root() {
        let cases = [
            ("a b/c", 2, "a b/c", "", 0),
            // The fullest folder is replaced first.
            ("a/1 b/1 b/2 b/3", 2, "a/1 b", "b", 0),
            ("a/1/x a/2/x a/3/x z", 2, "a z", "a", 0),
            ("a/b/c/1 d/1", 1, "a", "a d", 1),
            ("1 2 3", 2, "1 2", "", 1),
        ];
        let root = Path::new("/r");
        for (found, most, paths, whole_folders, omitted) in cases {
            let full = |names: &str| {
                names
                    .split_whitespace()
                    .map(|name| root.join(name))
                    .collect::<Vec<PathBuf>>()
            };
            let mut cover = PathCover::new(full(found), root, most);
            cover.paths.sort();
            cover.whole_folders.sort();
            let (paths, whole_folders) = (full(paths), full(whole_folders));
            assert_eq!(
                cover,
                PathCover {
                    paths,
                    whole_folders,
                    omitted
                },
                "{found:?}"
            );
        }
    }
}
