//! Lists the files below a folder.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{Error, Location, SearchEnd, StopSignal, walk};

/// The files below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    /// The files by searched folder and in alphabetical order, at most `limit`.
    pub files: Vec<Location>,
    /// The total number.
    pub total: usize,
    /// Whether the search is complete.
    pub ended: SearchEnd,
    /// The number of unreadable folders.
    pub unreadable: usize,
}

impl Location {
    /// Lists the files below this folder that match `wanted` and are not ignored; for the project folder, also below its
    /// additional folders. Links are not followed.
    pub fn files(
        &self,
        wanted: &(dyn Fn(&Path) -> bool + Sync),
        limit: usize,
        stop: &StopSignal,
    ) -> Result<FileList, Error> {
        self.require_folder()?;
        let found: Mutex<Vec<PathBuf>> = Mutex::default();
        let walked = walk::visit_entries(self, (None, walk::IgnoredFiles::Skip), stop, || {
            |entry: walk::WalkEntry<'_>| {
                if entry.is_file() && wanted(&entry.path) {
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(entry.path);
                }
            }
        })?;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by(|a, b| self.search_order(a).cmp(&self.search_order(b)));
        let total = found.len();
        found.truncate(limit);
        Ok(FileList {
            files: found.iter().map(|path| self.with_path(path)).collect(),
            total,
            ended: walked.ended,
            unreadable: walked.unreadable,
        })
    }
}
