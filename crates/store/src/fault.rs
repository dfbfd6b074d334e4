//! What can go wrong inside, and how it is told outside.

use rusqlite::ErrorCode;
use session::Error;
use std::io::ErrorKind;
use std::path::Path;

/// Space below which a failed write is put down to a full disk.
const NO_SPACE: u64 = 256 * 1024;

/// Why an operation did not succeed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// What was asked cannot be done. Nothing was written, and the transaction can go on.
    Refused(Error),
    /// The database failed. The transaction is lost.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sqlite(error)
    }
}

impl Fault {
    /// As it is told outside.
    pub(crate) fn told(&self, path: &Path) -> Error {
        match self {
            Fault::Refused(error) => error.clone(),
            Fault::Sqlite(error) => told(error, path),
        }
    }
}

/// A failure of SQLite as it is told outside.
pub(crate) fn told(error: &rusqlite::Error, path: &Path) -> Error {
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
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(path) => return Error::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another program keeps it locked".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => "it cannot be written".to_owned(),
        Some(ErrorCode::CannotOpen) => "it cannot be opened or created; is the folder writable?".to_owned(),
        Some(_) | None => error.to_string(),
    };
    Error::Unusable {
        path: path.to_path_buf(),
        detail,
    }
}

/// A failure to make or lock a file as it is told outside.
pub(crate) fn unusable(error: &std::io::Error, path: &Path) -> Error {
    let detail = match error.kind() {
        ErrorKind::StorageFull => return Error::Full,
        ErrorKind::PermissionDenied => "there is no permission to write there".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the disk is read-only".to_owned(),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "a part of its path is not a folder".to_owned(),
        _ => error.to_string(),
    };
    Error::Unusable {
        path: path.to_path_buf(),
        detail,
    }
}

/// SQLite reports some writes that found no space as general input and output failures.
#[cfg(unix)]
fn is_full(path: &Path) -> bool {
    path.parent()
        .and_then(|folder| rustix::fs::statvfs(folder).ok())
        .is_some_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < NO_SPACE || disk.f_favail == 0)
}

#[cfg(not(unix))]
fn is_full(_: &Path) -> bool {
    false
}
