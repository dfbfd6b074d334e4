//! Patterns for paths.

use super::{Reading, glob};
use crate::Error;
use crate::places::{Places, normalise};
use globset::GlobMatcher;
use std::path::{Path, PathBuf};

/// A pattern for paths: relative to the project, absolute, or below the home folder.
#[derive(Debug, Clone)]
pub(super) enum PathPattern {
    /// Exactly this path.
    Exact(PathBuf),
    /// Paths inside the project; a pattern without a slash fits at any depth.
    Project(Wildcard),
    /// Paths anywhere.
    Absolute(Wildcard),
    /// Paths below the home folder.
    Home(Wildcard),
}

/// A pattern as it is written, and as it is read where letters do not count as upper or lower case.
#[derive(Debug, Clone)]
pub(super) struct Wildcard {
    narrow: GlobMatcher,
    wide: GlobMatcher,
}

impl PathPattern {
    pub(super) fn new(pattern: &str) -> Result<Self, Error> {
        if let Some(exact) = pattern.strip_prefix('=') {
            return Ok(PathPattern::Exact(normalise(Path::new(exact.trim()))));
        }
        if let Some(rest) = pattern.strip_prefix("~/") {
            return Ok(PathPattern::Home(Wildcard::new(rest)?));
        }
        if pattern.starts_with('/') {
            return Ok(PathPattern::Absolute(Wildcard::new(pattern)?));
        }
        let pattern = pattern.trim_start_matches("./");
        let anywhere = if pattern.trim_end_matches('/').contains('/') {
            pattern.to_owned()
        } else {
            format!("**/{pattern}")
        };
        Ok(PathPattern::Project(Wildcard::new(&anywhere)?))
    }

    pub(super) fn matches(&self, path: &Path, places: &Places, reading: Reading) -> bool {
        let whole = normalise(path);
        match self {
            PathPattern::Exact(exact) => {
                whole == *exact || (exact.is_relative() && places.relative(path).is_some_and(|path| path == *exact))
            }
            PathPattern::Absolute(pattern) => pattern.matches(&whole, reading),
            PathPattern::Home(pattern) => places
                .home
                .as_ref()
                .and_then(|home| whole.strip_prefix(home).ok())
                .is_some_and(|path| pattern.matches(path, reading)),
            PathPattern::Project(pattern) => match places.relative(path) {
                Some(path) => pattern.matches(&path, reading),
                // What is denied by name is denied outside the project too.
                None => reading == Reading::Wide && pattern.matches(whole.strip_prefix("/").unwrap_or(&whole), reading),
            },
        }
    }
}

impl Wildcard {
    /// A pattern that ends in `/` means the folder and all that is in it.
    fn new(pattern: &str) -> Result<Self, Error> {
        let pattern = match pattern.strip_suffix('/') {
            Some(folder) => format!("{{{folder},{folder}/**}}"),
            None => pattern.to_owned(),
        };
        Ok(Wildcard {
            narrow: glob(&pattern, Reading::Narrow)?,
            wide: glob(&pattern, Reading::Wide)?,
        })
    }

    fn matches(&self, path: &Path, reading: Reading) -> bool {
        match reading {
            Reading::Narrow => self.narrow.is_match(path),
            // To deny a folder is to deny what is in it.
            Reading::Wide => path.ancestors().any(|path| self.wide.is_match(path)),
        }
    }
}
