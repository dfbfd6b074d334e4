//! The project on disk: read, write, ignore, search.
//!
//! A [`Workspace`] resolves a path to a [`Location`], which records whether it is inside the project. All operations
//! start from a `Location`, so no unresolved path is ever opened. All functions block; asynchronous callers run them
//! on a blocking thread and cancel searches by dropping a [`StopGuard`].

mod buffers;
pub mod checkpoint;
mod committed;
mod encoding;
mod error;
mod file_stats;
mod files;
mod find;
mod fingerprint;
mod git;
mod git_folder;
mod glob;
mod grep;
mod hidden;
mod hidden_excludes;
mod index_marks;
mod list;
mod location;
mod open;
mod overview;
mod read;
mod remove;
mod scratch_folder;
mod set_aside;
mod stop_signal;
mod suggestions;
mod tree;
mod tree_scan;
mod walk;
mod workspace;
mod write;

pub use buffers::EditorBuffers;
pub use committed::HeadCommit;
pub use encoding::Encoding;
pub use error::Error;
pub use file_stats::{FileStat, FileStats};
pub use files::FileList;
pub use find::{FindMatches, FindQuery};
pub use fingerprint::Fingerprint;
pub use git::{GitHead, GitRepository, blob_name, repository_of};
pub use grep::{CaseSensitivity, FileMatches, GrepLine, GrepLineKind, GrepMatches, GrepQuery};
pub use hidden::PathCover;
pub use hidden_excludes::HiddenExcludes;
pub use index_marks::IndexMarks;
pub use list::{EntryKind, FolderListing, IgnoreStatus, ListEntry};
pub use location::{Location, LocationPlace};
pub use open::read_regular_file;
pub use read::{Excerpt, LineWindow, MAX_FILE, TextFile, TextLine};
pub use remove::RemovedFile;
pub use scratch_folder::{ScratchFile, ScratchFolder};
pub use set_aside::{open_up, remove_link, replace_file, set_aside};
pub use stop_signal::{SearchEnd, StopGuard, StopSignal};
pub use suggestions::SimilarPaths;
pub use tree::{FolderCreation, TreeEntry, TreeEntryContent, TreeLimits};
pub use tree_scan::{ScanStep, TreeScan};
pub use walk::{IgnoredFiles, ResultPage, is_ignored};
pub use workspace::Workspace;
pub use write::{ExpectedContent, WriteOutcome};
