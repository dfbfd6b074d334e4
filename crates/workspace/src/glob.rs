//! Globs: `*.rs` matches any such file name, `src/**/*.rs` is relative to the searched folder.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::{CaseSensitivity, Error, Location, open};

/// A compiled glob.
pub(crate) struct FileGlob {
    matcher: GlobMatcher,
    subject: GlobTarget,
    /// The searched folder that an absolute glob names; it matches nothing elsewhere.
    only: Option<PathBuf>,
}

/// What a glob is matched against.
enum GlobTarget {
    Name,
    Path,
}

impl FileGlob {
    /// Parses a glob. One without `/` is matched against names, any other against paths relative to `folder`; one that
    /// begins with the path or the name of a searched folder is made relative to it first.
    pub(crate) fn parse(pattern: &str, case: CaseSensitivity, folder: &Location) -> Result<Self, Error> {
        let is_entry = |name: &str| {
            folder
                .searched_folders()
                .any(|folder| open::kind(&folder.join(name)).is_some())
        };
        let below = folder.searched_folders().find_map(|folder| {
            let by_name = || {
                let name = folder.file_name()?.to_str()?;
                pattern.strip_prefix(name).filter(|_| !is_entry(name))
            };
            let rest = pattern.strip_prefix(folder.to_str()?).or_else(by_name)?;
            rest.starts_with('/').then(|| (folder, rest.trim_start_matches('/')))
        });
        let relative = below.map_or(pattern.trim_start_matches("./"), |(_, rest)| rest);
        let subject = match relative.contains('/') {
            true => GlobTarget::Path,
            false => GlobTarget::Name,
        };
        // A pattern that is nested too deeply to be parsed is reported like one with an unclosed group.
        let parsed = match policy::is_bounded_pattern(relative) {
            true => relative.trim_end_matches('/'),
            false => "{",
        };
        let glob = GlobBuilder::new(parsed)
            .literal_separator(true)
            .case_insensitive(case == CaseSensitivity::Insensitive)
            .build();
        let matcher = glob
            .map_err(|source| Error::Glob {
                pattern: pattern.to_owned(),
                source,
            })?
            .compile_matcher();
        let only = below.map(|(folder, _)| folder.to_owned());
        Ok(Self { matcher, subject, only })
    }

    /// Whether `path`, below `folder`, matches.
    pub(crate) fn matches(&self, path: &Path, folder: &Path) -> bool {
        if self.only.as_ref().is_some_and(|only| only != folder) {
            return false;
        }
        match self.subject {
            GlobTarget::Name => path.file_name().is_some_and(|name| self.matcher.is_match(name)),
            GlobTarget::Path => self.matcher.is_match(path.strip_prefix(folder).unwrap_or(path)),
        }
    }
}
