//! Internal errors and their conversion to [`session::Error`].

use rusqlite::ErrorCode;
use session::Error;
use std::io::ErrorKind;
use std::path::Path;

/// A failed write with less free space than this is reported as a full disk.
const NO_SPACE: u64 = 256 * 1024;

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum StoreError {
    /// The operation is invalid. Nothing was written, and the transaction can continue.
    Rejected(Error),
    /// The database failed, and the transaction with it.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Sqlite(error)
    }
}

impl StoreError {
    /// The error for callers.
    pub(crate) fn to_session_error(&self, path: &Path) -> Error {
        match self {
            StoreError::Rejected(error) => error.clone(),
            StoreError::Sqlite(error) => sqlite_error(error, path),
        }
    }
}

/// Converts an error of SQLite.
pub(crate) fn sqlite_error(error: &rusqlite::Error, path: &Path) -> Error {
    if let rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) = error {
        return Error::Damaged {
            path: path.to_path_buf(),
            detail: error.to_string(),
        };
    }
    let code = error.sqlite_error_code();
    let detail = match code {
        Some(ErrorCode::DiskFull) => return Error::Full,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            return Error::Damaged {
                path: path.to_path_buf(),
                detail: error.to_string(),
            };
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_disk_full(path) => return Error::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "it is locked by another program".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => "it cannot be written".to_owned(),
        Some(ErrorCode::CannotOpen) => "it cannot be opened or created; check that the folder is writable".to_owned(),
        Some(_) | None => error.to_string(),
    };
    Error::Unusable {
        path: path.to_path_buf(),
        detail,
    }
}

/// Converts a failure to create or lock a file.
pub(crate) fn io_error(error: &std::io::Error, path: &Path) -> Error {
    let detail = match error.kind() {
        ErrorKind::StorageFull => return Error::Full,
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the disk is read-only".to_owned(),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "a component of its path is not a folder".to_owned(),
        _ => error.to_string(),
    };
    Error::Unusable {
        path: path.to_path_buf(),
        detail,
    }
}

/// SQLite reports some writes without space as general I/O errors.
#[cfg(unix)]
fn is_disk_full(path: &Path) -> bool {
    path.parent()
        .and_then(|folder| rustix::fs::statvfs(folder).ok())
        .is_some_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < NO_SPACE || disk.f_favail == 0)
}

#[cfg(not(unix))]
fn is_disk_full(_: &Path) -> bool {
    false
}
