//! Suggestions for a path that does not exist.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::{Location, open, walk};

const SUGGESTIONS: usize = 3;
/// Minimum similarity of a suggestion.
const MIN_SIMILARITY: f64 = 0.7;
/// Maximum number of entries examined.
const MAX_SEEN: usize = 5_000;

/// The existing paths that are similar to a missing one. They are searched on demand, since most errors are not displayed
/// and the search may read the whole project.
#[derive(Debug, Default)]
pub struct SimilarPaths(Option<Box<Location>>);

impl SimilarPaths {
    pub(crate) fn to(missing: &Location) -> Self {
        SimilarPaths(Some(Box::new(missing.clone())))
    }

    /// Finds the paths, at most three.
    pub fn find(&self) -> Vec<String> {
        self.0.as_deref().map(suggestions_for).unwrap_or_default()
    }
}

/// Up to three suggestions: siblings with a similar name, otherwise files with the same name elsewhere in the project.
fn suggestions_for(missing: &Location) -> Vec<String> {
    let Some(name) = missing.path().file_name() else {
        return Vec::new();
    };
    let mut paths = neighbours(missing.path(), name);
    paths.retain(|path| !missing.hiding().contains(path));
    if paths.is_empty() {
        paths = namesakes(missing, name);
    }
    paths.iter().map(|path| missing.show(path).into_owned()).collect()
}

/// Whether an entry with a name that is not UTF-8 is displayed like this one, with replacement characters.
pub(crate) fn is_unnameable(missing: &Location) -> bool {
    let (Some(folder), Some(name)) = (missing.path().parent(), missing.path().file_name()) else {
        return false;
    };
    let shown = name.to_string_lossy();
    if !shown.contains(['\u{FFFD}', '?']) {
        return false;
    }
    let plain = |name: &str| name.replace('\u{FFFD}', "?");
    let mut names = names_in(folder).into_iter();
    names.any(|other| other.to_str().is_none() && plain(&other.to_string_lossy()) == plain(&shown))
}

fn neighbours(path: &Path, name: &OsStr) -> Vec<PathBuf> {
    let Some(folder) = path.parent() else {
        return Vec::new();
    };
    let wanted = name.to_string_lossy().to_lowercase();
    let mut scored: Vec<(f64, PathBuf)> = names_in(folder)
        .iter()
        // A name that is not UTF-8 cannot be requested.
        .filter_map(|name| name.to_str())
        .map(|name| (likeness(&wanted, &name.to_lowercase()), folder.join(name)))
        .filter(|(score, _)| *score >= MIN_SIMILARITY)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().take(SUGGESTIONS).map(|(_, path)| path).collect()
}

/// The names in a folder; none if it cannot be read.
fn names_in(folder: &Path) -> Vec<OsString> {
    let entries = open::folder(folder).and_then(|folder| open::entries(folder.as_fd()));
    let names = entries.into_iter().flatten().take(MAX_SEEN).map(|(name, _)| name);
    names.collect()
}

fn namesakes(missing: &Location, name: &OsStr) -> Vec<PathBuf> {
    let roots = [missing.root()]
        .into_iter()
        .chain(missing.extra_roots().iter().map(PathBuf::as_path));
    let mut paths: Vec<PathBuf> = roots
        .flat_map(|root| walk::paths_below(root, missing.hiding(), MAX_SEEN))
        .collect();
    paths.retain(|path| path.file_name() == Some(name));
    paths.sort();
    paths.truncate(SUGGESTIONS);
    paths
}

/// Similarity from 0 to 1. A name that contains the other (`user.rs`, `users.rs.bak`) is always suggested.
fn likeness(a: &str, b: &str) -> f64 {
    let holds = a.len().min(b.len()) >= 3 && (a.contains(b) || b.contains(a));
    strsim::normalized_damerau_levenshtein(a, b).max(if holds { MIN_SIMILARITY } else { 0.0 })
}
