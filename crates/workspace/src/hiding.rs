//! Paths that nobody is to see: neither listed, found, searched nor suggested.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;

use crate::Workspace;
use crate::walk::INTERNAL;

/// Says of a canonical path whether nobody is to see it.
type Hides = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What is hidden in a project. It is the same for all locations of one, and so no part of what makes them equal.
#[derive(Clone, Default)]
pub(crate) struct Hiding(Option<Hides>);

impl Hiding {
    /// Whether nobody is to see this path.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.0.as_ref().is_some_and(|hides| hides(path))
    }
}

impl fmt::Debug for Hiding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hiding" } else { "Nothing" })
    }
}

impl PartialEq for Hiding {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Hiding {}

impl Hash for Hiding {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Workspace {
    /// The same project, with some paths hidden.
    pub fn hiding(mut self, hides: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.hiding = Hiding(Some(Arc::new(hides)));
        self
    }

    /// Whether nobody is to see this path, which is canonical.
    pub fn hides(&self, path: &Path) -> bool {
        self.hiding.hides(path)
    }

    /// What is hidden and there at the moment, as at most so many paths.
    pub fn hidden(&self, most: usize) -> Cover {
        let hiding = self.hiding.clone();
        match hiding.0.is_none() {
            true => Cover::default(),
            false => self.covering(most, move |path| hiding.hides(path)),
        }
    }

    /// What is there at the moment of certain paths, as at most so many. Nothing is looked for in a folder that is among
    /// them, nor where version control keeps its own files.
    pub fn covering(&self, most: usize, wanted: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Cover {
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
        Cover::new(found, self.root(), most)
    }
}

/// Paths that stand for all that is to be covered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cover {
    /// The paths; of a folder that is to be covered only the folder.
    pub paths: Vec<PathBuf>,
    /// Those among them that are there only because too much in them is to be covered to name it all.
    pub whole: Vec<PathBuf>,
    /// How many paths had no room: there are too many in the top folder itself, which is never covered.
    pub left: usize,
}

impl Cover {
    fn new(paths: Vec<PathBuf>, root: &Path, most: usize) -> Self {
        let mut cover = Cover {
            paths,
            ..Cover::default()
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
            cover.whole.retain(outside);
            cover.paths.extend(folders.iter().cloned());
            cover.whole.extend(folders);
        }
        cover.left = cover.paths.len().saturating_sub(most);
        cover.paths.truncate(most);
        cover
    }

    /// As few folders as it takes to have room, those that hold the most first.
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
    fn what_is_too_much_to_name_is_covered_by_its_folders_but_never_by_the_top() {
        let cases = [
            ("a b/c", 2, "a b/c", "", 0),
            // The folder that holds the most goes first.
            ("a/1 b/1 b/2 b/3", 2, "a/1 b", "b", 0),
            ("a/1/x a/2/x a/3/x z", 2, "a z", "a", 0),
            ("a/b/c/1 d/1", 1, "a", "a d", 1),
            ("1 2 3", 2, "1 2", "", 1),
        ];
        let root = Path::new("/r");
        for (found, most, paths, whole, left) in cases {
            let full = |names: &str| {
                names
                    .split_whitespace()
                    .map(|name| root.join(name))
                    .collect::<Vec<PathBuf>>()
            };
            let mut cover = Cover::new(full(found), root, most);
            cover.paths.sort();
            cover.whole.sort();
            let (paths, whole) = (full(paths), full(whole));
            assert_eq!(cover, Cover { paths, whole, left }, "{found:?}");
        }
    }
}
