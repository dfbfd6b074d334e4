//! Lists the files of a project with their sizes and modification times, for caches of their contents.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::{Error, Location, SearchEnd, StopSignal, walk};

/// A file with the metadata that changes when its content does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileStat {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub modified: i64,
}

/// The files below a folder with their metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStats {
    /// The files, by path.
    pub files: Vec<FileStat>,
    /// Whether the walk is complete.
    pub ended: SearchEnd,
}

impl Location {
    /// The metadata of all files below this folder that are not ignored; for the project folder, also below its additional
    /// folders. At most `limit` files; links are not followed.
    pub fn file_stats(&self, limit: usize, stop: &StopSignal) -> Result<FileStats, Error> {
        self.require_folder()?;
        let found: Mutex<Vec<FileStat>> = Mutex::default();
        let walked = walk::visit_entries(self, (None, walk::IgnoredFiles::Skip), stop, || {
            |entry: walk::WalkEntry<'_>| {
                if !entry.is_file() {
                    return;
                }
                // A file that disappears meanwhile is not listed.
                if let Ok((size, modified)) = entry.stat() {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    if found.len() < limit {
                        found.push(FileStat {
                            path: entry.path,
                            size,
                            modified,
                        });
                    }
                }
            }
        })?;
        let mut files = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Comparing bytes is many times faster than comparing the components of paths.
        files.sort_unstable_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        Ok(FileStats {
            files,
            ended: walked.ended,
        })
    }

    /// The size and the modification time of a file, in nanoseconds since the epoch. A link is not followed.
    pub fn stat(&self) -> Option<(u64, i64)> {
        let stat = crate::open::metadata(self.path()).ok()?;
        Some(crate::open::size_and_time(&stat))
    }
}
