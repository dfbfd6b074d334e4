//! Path patterns.

use super::rule::{MatchMode, glob};
use crate::Error;
use crate::paths::{ProjectPaths, normalize};
use globset::GlobMatcher;
use std::path::{Path, PathBuf};

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
        Ok(PathPattern::Project(PathGlob::new(&anywhere)?))
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
        let pattern = match pattern.strip_suffix('/') {
            Some(folder) => format!("{{{folder},{folder}/**}}"),
            None => pattern.to_owned(),
        };
        Ok(PathGlob {
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
