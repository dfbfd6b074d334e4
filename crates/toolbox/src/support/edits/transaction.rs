//! Atomic changes to several files.

use tool::Error;
use workspace::{ExpectedContent, Fingerprint, Location, RemovedFile};

use crate::support::project::tool_error;

/// An operation on a file.
#[derive(Debug)]
pub(crate) enum FileOperation {
    /// Creates a file; the path must not exist.
    Create { file: Location, bytes: Vec<u8> },
    /// Replaces the content of a file that has not changed.
    Write {
        file: Location,
        bytes: Vec<u8>,
        expect: Fingerprint,
    },
    /// Removes a file that has not changed.
    Remove { file: Location, expect: Fingerprint },
    /// Renames a file; the new path must not exist.
    Rename { from: Location, to: Location },
}

impl FileOperation {
    /// The files that it affects.
    pub(crate) fn files(&self) -> Vec<&Location> {
        match self {
            Self::Create { file, .. } | Self::Write { file, .. } | Self::Remove { file, .. } => vec![file],
            Self::Rename { from, to } => vec![from, to],
        }
    }
}

/// The inverse of an operation.
enum FileUndo {
    Create {
        file: Location,
        now: Fingerprint,
    },
    Write {
        file: Location,
        before: Vec<u8>,
        now: Fingerprint,
    },
    Remove {
        file: Location,
        removed: RemovedFile,
    },
    Rename {
        from: Location,
        to: Location,
    },
    Folder(Location),
}

/// Applies all operations in order. If one fails, the others are undone, and the error lists those that could not be.
pub(crate) fn apply_all(steps: Vec<FileOperation>) -> Result<(), Error> {
    let mut undos = Vec::new();
    for step in steps {
        if let Err(error) = apply(step, &mut undos) {
            return Err(undo(undos, tool_error(error)));
        }
    }
    Ok(())
}

fn apply(step: FileOperation, undos: &mut Vec<FileUndo>) -> Result<(), workspace::Error> {
    match step {
        FileOperation::Create { file, bytes } => {
            undos.extend(file.missing_folders().into_iter().rev().map(FileUndo::Folder));
            let now = file.write(&bytes, ExpectedContent::Absent)?.snapshot;
            undos.push(FileUndo::Create { file, now });
        }
        FileOperation::Write { file, bytes, expect } => {
            let written = file.write(&bytes, ExpectedContent::Content(expect))?;
            undos.push(FileUndo::Write {
                file,
                before: written.before.unwrap_or_default(),
                now: written.snapshot,
            });
        }
        FileOperation::Remove { file, expect } => {
            let removed = file.remove(expect)?;
            undos.push(FileUndo::Remove { file, removed });
        }
        FileOperation::Rename { from, to } => {
            undos.extend(to.missing_folders().into_iter().rev().map(FileUndo::Folder));
            from.rename(&to)?;
            undos.push(FileUndo::Rename { from, to });
        }
    }
    Ok(())
}

/// Undoes the operations in reverse order and reports those that remain.
fn undo(undos: Vec<FileUndo>, error: Error) -> Error {
    let left: Vec<String> = undos
        .into_iter()
        .rev()
        .filter_map(|undo| Some(undo.run().err()?.to_string()))
        .collect();
    match left.is_empty() {
        true => Error::Failed(format!("{error}. Nothing was changed.")),
        false => Error::Failed(format!(
            "{error}. These changes were made and could not be undone: {}.",
            left.join("; ")
        )),
    }
}

/// A change that could not be undone.
#[derive(Debug, thiserror::Error)]
#[error("{what} {file} ({error})")]
struct RemainingChange {
    what: &'static str,
    file: String,
    #[source]
    error: workspace::Error,
}

impl FileUndo {
    /// Undoes one operation.
    fn run(self) -> Result<(), RemainingChange> {
        let remains = |what: &'static str, file: &Location, error: workspace::Error| RemainingChange {
            what,
            file: file.shown().to_string(),
            error,
        };
        match self {
            Self::Create { file, now } => match file.remove(now) {
                Ok(_) => Ok(()),
                Err(error) => Err(remains("created", &file, error)),
            },
            Self::Write { file, before, now } => match file.write(&before, ExpectedContent::Content(now)) {
                Ok(_) => Ok(()),
                Err(error) => Err(remains("edited", &file, error)),
            },
            Self::Remove { file, removed } => file.restore(&removed).map_err(|error| remains("removed", &file, error)),
            Self::Rename { from, to } => to.rename(&from).map_err(|error| remains("renamed", &from, error)),
            Self::Folder(folder) => folder
                .remove_empty_folder()
                .map_err(|error| remains("created", &folder, error)),
        }
    }
}
