//! Listing the files below a folder.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{Ended, Error, Location, Stop, walk};

/// The files below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The files in alphabetical order, at most as many as asked for.
    pub files: Vec<Location>,
    /// How many there are.
    pub total: usize,
    /// Whether everything was seen.
    pub ended: Ended,
    /// How many folders could not be read.
    pub unreadable: usize,
}

impl Location {
    /// Lists the files below this folder that are wanted and not ignored. No link is followed.
    pub fn files(&self, wanted: &(dyn Fn(&Path) -> bool + Sync), limit: usize, stop: &Stop) -> Result<Files, Error> {
        self.require_folder()?;
        let found: Mutex<Vec<PathBuf>> = Mutex::default();
        let walked = walk::each(self, None, stop, || {
            |entry: ignore::DirEntry| {
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && wanted(entry.path()) {
                    found
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(entry.into_path());
                }
            }
        })?;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable();
        let total = found.len();
        found.truncate(limit);
        Ok(Files {
            files: found.iter().map(|path| self.beside(path)).collect(),
            total,
            ended: walked.ended,
            unreadable: walked.unreadable,
        })
    }
}
