//! Path patterns.

use super::rule::{MatchMode, glob};
use crate::Error;
use crate::paths::{ProjectPaths, normalize};
use globset::GlobMatcher;
use std::path::{Component, Path, PathBuf};

/// A path pattern: relative to the project, absolute, or below the home directory.
#[derive(Debug, Clone)]
pub(super) enum PathPattern {
    /// Exactly this path.
    Exact(PathBuf),
    /// Paths inside the project; a pattern without a slash matches at any depth.
    Project(PathGlob),
    /// Paths anywhere.
    Absolute(PathGlob),
    /// Paths below the home directory.
    Home(PathGlob),
}

/// A glob, case-sensitive and case-insensitive.
#[derive(Debug, Clone)]
pub(super) struct PathGlob {
    /// The components before the first one with a wildcard.
    base: PathBuf,
    /// Whether the pattern has no wildcard, or matches everything below its base.
    is_whole: bool,
    narrow: GlobMatcher,
    wide: GlobMatcher,
}

impl PathPattern {
    pub(super) fn new(pattern: &str) -> Result<Self, Error> {
        if let Some(exact) = pattern.strip_prefix('=') {
            return Ok(PathPattern::Exact(normalize(Path::new(exact.trim()))));
        }
        if let Some(rest) = pattern.strip_prefix("~/") {
            return Ok(PathPattern::Home(PathGlob::new(rest)?));
        }
        if pattern.starts_with('/') {
            return Ok(PathPattern::Absolute(PathGlob::new(pattern)?));
        }
        let pattern = pattern.trim_start_matches("./");
        let anywhere = if pattern.trim_end_matches('/').contains('/') {
            pattern.to_owned()
        } else {
            format!("**/{pattern}")
        };
        let (base, is_whole) = literal_base(pattern.strip_prefix("**/").unwrap_or(pattern));
        Ok(PathPattern::Project(PathGlob {
            base,
            is_whole,
            ..PathGlob::new(&anywhere)?
        }))
    }

    /// For a pattern outside the project: the path that it matches completely, or the folder that contains all of its
    /// matches. `None` for a pattern relative to the project, or without such a folder.
    pub(super) fn base_outside(&self, project: &ProjectPaths) -> Option<PathBuf> {
        let base = match self {
            PathPattern::Exact(path) => path.is_absolute().then(|| path.clone())?,
            PathPattern::Project(_) => return None,
            PathPattern::Absolute(glob) => glob.base.clone(),
            PathPattern::Home(glob) => project.home.as_ref()?.join(&glob.base),
        };
        Some(base)
    }

    /// The path that the pattern names, with its content; `None` if it has wildcards. A name without a slash is that of an
    /// entry of the project directory.
    pub(super) fn literal(&self, project: &ProjectPaths) -> Option<PathBuf> {
        match self {
            PathPattern::Exact(path) => Some(project.root.join(path)),
            PathPattern::Project(glob) => glob.is_whole.then(|| project.root.join(&glob.base)),
            PathPattern::Absolute(glob) => glob.is_whole.then(|| glob.base.clone()),
            PathPattern::Home(glob) => glob.is_whole.then(|| Some(project.home.as_ref()?.join(&glob.base)))?,
        }
    }

    pub(super) fn matches(&self, path: &Path, project: &ProjectPaths, mode: MatchMode) -> bool {
        let whole = normalize(path);
        match self {
            PathPattern::Exact(exact) => {
                whole == *exact || (exact.is_relative() && project.relative(path).is_some_and(|path| path == *exact))
            }
            PathPattern::Absolute(pattern) => pattern.matches(&whole, mode),
            PathPattern::Home(pattern) => project
                .home
                .as_ref()
                .and_then(|home| whole.strip_prefix(home).ok())
                .is_some_and(|path| pattern.matches(path, mode)),
            PathPattern::Project(pattern) => match project.relative(path) {
                Some(path) => pattern.matches(&path, mode),
                // A path denied by name is denied outside the project too.
                None => mode == MatchMode::Wide && pattern.matches(whole.strip_prefix("/").unwrap_or(&whole), mode),
            },
        }
    }
}

impl PathGlob {
    /// A pattern that ends in `/` matches the directory and its content.
    fn new(pattern: &str) -> Result<Self, Error> {
        let (base, is_whole) = literal_base(pattern);
        let pattern = match pattern.strip_suffix('/') {
            Some(folder) => format!("{{{folder},{folder}/**}}"),
            None => pattern.to_owned(),
        };
        Ok(PathGlob {
            base,
            is_whole,
            narrow: glob(&pattern, MatchMode::Narrow)?,
            wide: glob(&pattern, MatchMode::Wide)?,
        })
    }

    fn matches(&self, path: &Path, mode: MatchMode) -> bool {
        match mode {
            MatchMode::Narrow => self.narrow.is_match(path),
            // Denying a directory denies its content.
            MatchMode::Wide => path.ancestors().any(|path| self.wide.is_match(path)),
        }
    }
}

/// The components of a pattern before the first one with a wildcard, and whether they are the whole pattern, which may
/// end in `/` or `/**`.
fn literal_base(pattern: &str) -> (PathBuf, bool) {
    let text = pattern.trim_end_matches('/');
    let text = text.strip_suffix("/**").unwrap_or(text);
    let is_literal = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\']);
    let base: PathBuf = Path::new(text).components().take_while(is_literal).collect();
    let is_whole = base == Path::new(text);
    (base, is_whole)
}
