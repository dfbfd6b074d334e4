//! The error type of this crate.

use session::ChangeCount;
use std::io;
use std::path::PathBuf;

/// Why changes cannot be reviewed or restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] session::Error),
    /// The project or a path in it cannot be opened.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A path in which the session never changed anything.
    #[error("the session changed nothing in {}", path.display())]
    UnchangedPath {
        /// The path as given.
        path: PathBuf,
        /// The files with pending changes.
        pending: Vec<PathBuf>,
    },
    /// A change is both accepted and rejected.
    #[error("{0} is both accepted and rejected")]
    ContradictoryDecision(String),
    /// A change that existed earlier.
    #[error("{id} is no longer pending: {} has changed since it was listed, or the change was already decided", path.display())]
    StaleChange {
        /// The requested id.
        id: String,
        /// The file of the change.
        path: PathBuf,
    },
    /// A list number in place of an id.
    #[error("{number} is a list number, not an id")]
    ListNumber {
        /// The requested number.
        number: String,
        /// The id of the change with this number.
        id: String,
    },
    /// No change has this id.
    #[error("no pending change {0}")]
    UnknownChange(String),
    /// Rejecting would lose changes of a binary file made outside the session.
    #[error("{} is binary and was also changed outside the session; the changes cannot be separated", .0.display())]
    MixedBinaryFile(PathBuf),
    /// Rejecting would delete a new file with edits of the user.
    #[error("{} is new and contains your edits", .0.display())]
    MixedNewFile(PathBuf),
    /// Rejecting everything would revert edits of the user.
    #[error("your own edits are part of {}", .0.join(", "))]
    MixedChanges(Vec<String>),
    /// Files could not be written.
    #[error("{message}{}", not_reverted_text(.not_reverted))]
    Write {
        /// The message.
        message: String,
        /// Files that could not be reverted, with the reasons.
        not_reverted: Vec<String>,
    },
    /// The session has no prompt with this number.
    #[error("this session has no prompt {0}")]
    UnknownPromptNumber(usize),
    /// The session has no such item.
    #[error("this session has no item `{0}`")]
    UnknownItem(String),
    /// Several items match.
    #[error("`{name}` matches {count} items")]
    AmbiguousItem {
        /// The requested part of an id.
        name: String,
        /// The number of matching items.
        count: usize,
    },
    /// The item is not on the current branch.
    #[error("this item is on another branch of the session")]
    OtherBranch,
    /// The session is already at the item to rewind to.
    #[error("the session is already at this item")]
    AlreadyAtItem,
    /// A version that would be overwritten cannot be stored.
    #[error("cannot store the current version of {}; nothing was changed", .0.display())]
    VersionNotStored(PathBuf),
    /// A file cannot be restored.
    #[error("cannot change {}: {source}", path.display())]
    Restore {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
        /// Files that could not be reverted.
        not_reverted: Vec<PathBuf>,
    },
    /// Earlier versions were not stored.
    #[error("cannot restore {0}: an earlier version was not stored; nothing was changed")]
    MissingVersions(ChangeCount),
    /// Files cannot be restored.
    #[error("cannot restore {0}; nothing was changed")]
    NotRestorable(ChangeCount),
    /// Files were changed outside the session.
    #[error("restoring {0} would overwrite changes made outside the session; nothing was changed")]
    Conflicts(ChangeCount),
    /// No file can be restored.
    #[error("nothing was restored: {0} cannot be restored")]
    NothingRestorable(ChangeCount),
    /// All files were changed outside the session.
    #[error("nothing was restored: {0} changed outside the session")]
    OnlyConflicts(ChangeCount),
}

impl Error {
    /// A hint for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Session(error) => error.hint(),
            Error::UnchangedPath { pending, .. } => return Some(pending_hint(pending)),
            Error::StaleChange { .. } | Error::UnknownChange(_) => {
                "`hew changes` lists the pending changes; nothing was changed"
            }
            Error::ListNumber { id, .. } => return Some(format!("use its id: {id}")),
            Error::MixedBinaryFile(_) | Error::MixedNewFile(_) => "accept it, or delete the file; nothing was changed",
            Error::MixedChanges(ids) => {
                let them = if ids.len() == 1 { "it" } else { "them" };
                return Some(format!(
                    "accept {them}, or reject {them} by id, then use --reject-all again; nothing was changed"
                ));
            }
            Error::Write { not_reverted, .. } if not_reverted.is_empty() => {
                "nothing was changed; `hew changes` lists the pending changes"
            }
            Error::UnknownPromptNumber(_) | Error::UnknownItem(_) => "`hew rewind SESSION` lists the prompts",
            Error::AmbiguousItem { .. } => "use more of the id",
            Error::VersionNotStored(_) => {
                "--keep skips such files; checkpoints.quota and checkpoints.max_file limit what is stored"
            }
            Error::Restore { not_reverted, .. } if not_reverted.is_empty() => "nothing was changed",
            Error::Restore { not_reverted, .. } => {
                let files: Vec<String> = not_reverted.iter().map(|path| path.display().to_string()).collect();
                return Some(format!("these files could not be reverted: {}", files.join(", ")));
            }
            Error::MissingVersions(_) | Error::NotRestorable(_) => "--keep restores the others",
            Error::Conflicts(_) => "--keep skips these files and restores the others, --force overwrites them",
            Error::OnlyConflicts(_) => "--force overwrites them",
            Error::Workspace(_)
            | Error::Read { .. }
            | Error::ContradictoryDecision(_)
            | Error::Write { .. }
            | Error::OtherBranch
            | Error::AlreadyAtItem
            | Error::NothingRestorable(_) => return None,
        };
        Some(hint.into())
    }

    /// Whether the request itself is invalid, regardless of the state of the files.
    pub fn is_invalid_request(&self) -> bool {
        match self {
            Error::Workspace(_)
            | Error::UnchangedPath { .. }
            | Error::ContradictoryDecision(_)
            | Error::ListNumber { .. }
            | Error::UnknownChange(_)
            | Error::UnknownPromptNumber(_)
            | Error::UnknownItem(_)
            | Error::AmbiguousItem { .. }
            | Error::OtherBranch => true,
            Error::Session(_)
            | Error::Read { .. }
            | Error::StaleChange { .. }
            | Error::MixedBinaryFile(_)
            | Error::MixedNewFile(_)
            | Error::MixedChanges(_)
            | Error::Write { .. }
            | Error::AlreadyAtItem
            | Error::VersionNotStored(_)
            | Error::Restore { .. }
            | Error::MissingVersions(_)
            | Error::NotRestorable(_)
            | Error::Conflicts(_)
            | Error::NothingRestorable(_)
            | Error::OnlyConflicts(_) => false,
        }
    }
}

fn not_reverted_text(files: &[String]) -> String {
    match files {
        [] => String::new(),
        files => format!("; these files could not be reverted: {}", files.join(", ")),
    }
}

/// Number of files named in a hint.
const MAX_NAMED_FILES: usize = 8;

fn pending_hint(pending: &[PathBuf]) -> String {
    if pending.is_empty() {
        return "the session has no pending changes".into();
    }
    let named = pending.iter().take(MAX_NAMED_FILES);
    let names: Vec<String> = named.map(|path| path.display().to_string()).collect();
    let more = match pending.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("pending changes are in {}{more}", names.join(", "))
}
