//! Finds files and folders by glob.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::glob::FileGlob;
use crate::{CaseSensitivity, Error, IgnoredFiles, Location, ResultPage, SearchEnd, StopSignal, walk};

/// More paths than this are counted but not returned.
const MAX_PATHS: usize = 200_000;

/// A search by glob.
#[derive(Debug, Clone)]
pub struct FindQuery<'a> {
    /// `*.rs` for any such name, `src/**/*.rs` for paths below the searched folder.
    pub pattern: &'a str,
    /// Case sensitivity.
    pub case: CaseSensitivity,
    /// Whether ignored files are found.
    pub ignored: IgnoredFiles,
    /// The requested page.
    pub page: ResultPage,
}

impl<'a> FindQuery<'a> {
    /// A case-sensitive search that skips ignored files.
    pub fn new(pattern: &'a str, page: ResultPage) -> Self {
        FindQuery {
            pattern,
            case: CaseSensitivity::Sensitive,
            ignored: IgnoredFiles::Skip,
            page,
        }
    }
}

/// The result of a search by glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindMatches {
    /// One page of paths by searched folder and in alphabetical order, as [`Location::shown`] writes them; folders end in `/`.
    pub paths: Vec<String>,
    /// The total number of matches.
    pub total: usize,
    /// Whether the search is complete.
    pub ended: SearchEnd,
    /// The number of unreadable folders.
    pub unreadable: usize,
}

impl Location {
    /// Finds files and folders below this folder; for the project folder, also below its additional folders.
    pub fn find(&self, find: &FindQuery<'_>, stop: &StopSignal) -> Result<FindMatches, Error> {
        self.require_folder()?;
        let glob = FileGlob::parse(find.pattern, find.case, self)?;
        let matched: Mutex<(Vec<(PathBuf, bool)>, usize)> = Mutex::default();
        let walked = walk::visit_entries(self, (None, find.ignored), stop, || {
            |entry: walk::WalkEntry<'_>| {
                if glob.matches(&entry.path, self.searched_folder_of(&entry.path)) {
                    let is_dir = entry.is_folder();
                    let mut matched = matched.lock().unwrap_or_else(PoisonError::into_inner);
                    matched.1 += 1;
                    if matched.0.len() < MAX_PATHS {
                        matched.0.push((entry.path, is_dir));
                    }
                }
            }
        })?;
        let (mut paths, total) = matched.into_inner().unwrap_or_else(PoisonError::into_inner);
        paths.sort_unstable_by(|(a, _), (b, _)| self.search_order(a).cmp(&self.search_order(b)));
        let page = paths.iter().skip(find.page.offset).take(find.page.limit);
        let paths = page
            .map(|(path, is_dir)| format!("{}{}", self.show(path), if *is_dir { "/" } else { "" }))
            .collect();
        Ok(FindMatches {
            paths,
            total,
            ended: walked.ended,
            unreadable: walked.unreadable,
        })
    }
}
