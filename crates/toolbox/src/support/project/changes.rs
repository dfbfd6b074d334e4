//! Changes of files, for the file history.

use tool::{UnsavedChange, UnsavedVersion};
use workspace::Location;

/// A change of a file, for the file history.
pub(crate) fn change(file: &Location, before: Option<Vec<u8>>, after: Vec<u8>) -> UnsavedChange {
    UnsavedChange {
        path: file.relative().to_owned(),
        before: before.map(UnsavedVersion::from),
        after: Some(after.into()),
    }
}

/// The directories created for a file, for the file history.
pub(crate) fn folders(missing: &[Location]) -> impl Iterator<Item = UnsavedChange> {
    missing.iter().rev().map(|folder| UnsavedChange {
        path: folder.relative().to_owned(),
        before: None,
        after: Some(UnsavedVersion::folder(None)),
    })
}
