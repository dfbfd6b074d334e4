//! Finding files and folders by glob.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::glob::Glob;
use crate::{Ended, Error, Location, Page, Stop, walk};

/// More paths than this are counted, not kept.
const MAX_KEPT: usize = 200_000;

/// A search by glob.
#[derive(Debug, Clone)]
pub struct Find<'a> {
    /// `*.rs` for any such name, `src/**/*.rs` for paths below the searched folder.
    pub pattern: &'a str,
    /// Which part of the answer is wanted.
    pub page: Page,
}

/// What a search by glob found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// One page of paths in alphabetical order, as [`Location::shown`] writes them; folders end in `/`.
    pub paths: Vec<String>,
    /// How many matched in all.
    pub total: usize,
    /// Whether everything was seen.
    pub ended: Ended,
    /// How many folders could not be read.
    pub unreadable: usize,
}

impl Location {
    /// Finds files and folders below this folder.
    pub fn find(&self, find: &Find<'_>, stop: &Stop) -> Result<Found, Error> {
        self.require_folder()?;
        let glob = Glob::parse(find.pattern, self)?;
        let matched: Mutex<(Vec<(PathBuf, bool)>, usize)> = Mutex::default();
        let walked = walk::each(self, None, stop, || {
            |entry: ignore::DirEntry| {
                if glob.matches(entry.path(), self.path()) {
                    let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
                    let mut matched = matched.lock().unwrap_or_else(PoisonError::into_inner);
                    matched.1 += 1;
                    if matched.0.len() < MAX_KEPT {
                        matched.0.push((entry.into_path(), is_dir));
                    }
                }
            }
        })?;
        let (mut paths, total) = matched.into_inner().unwrap_or_else(PoisonError::into_inner);
        paths.sort_unstable();
        let page = paths.iter().skip(find.page.offset).take(find.page.limit);
        let paths = page
            .map(|(path, is_dir)| format!("{}{}", self.show(path), if *is_dir { "/" } else { "" }))
            .collect();
        Ok(Found {
            paths,
            total,
            ended: walked.ended,
            unreadable: walked.unreadable,
        })
    }
}
