//! Globs: `*.rs` matches any such file name, `src/**/*.rs` is relative to the searched folder.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::{Error, Location};

/// A compiled glob.
pub(crate) struct FileGlob {
    matcher: GlobMatcher,
    subject: GlobTarget,
}

/// What a glob is matched against.
enum GlobTarget {
    Name,
    Path,
}

impl FileGlob {
    /// Parses a glob. One without `/` is matched against names, any other against paths relative to `folder`; an
    /// absolute glob below `folder` is made relative first.
    pub(crate) fn parse(pattern: &str, folder: &Location) -> Result<Self, Error> {
        let below = folder.path().to_str().and_then(|folder| pattern.strip_prefix(folder));
        let relative = match below {
            Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
            _ => pattern.trim_start_matches("./"),
        };
        let subject = match relative.contains('/') {
            true => GlobTarget::Path,
            false => GlobTarget::Name,
        };
        let glob = GlobBuilder::new(relative.trim_end_matches('/'))
            .literal_separator(true)
            .build();
        let matcher = glob
            .map_err(|source| Error::Glob {
                pattern: pattern.to_owned(),
                source,
            })?
            .compile_matcher();
        Ok(Self { matcher, subject })
    }

    /// Whether `path`, below `folder`, matches.
    pub(crate) fn matches(&self, path: &Path, folder: &Path) -> bool {
        match self.subject {
            GlobTarget::Name => path.file_name().is_some_and(|name| self.matcher.is_match(name)),
            GlobTarget::Path => self.matcher.is_match(path.strip_prefix(folder).unwrap_or(path)),
        }
    }
}
