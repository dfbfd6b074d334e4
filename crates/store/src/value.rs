//! Identifiers, counts and paths as SQLite keeps them.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The largest count that is kept. Sums of such counts stay integers in SQLite for thousands of rows to come.
const MOST: u64 = 1 << 53;

/// A count or a time as SQLite keeps it.
pub(crate) fn count(number: u64) -> i64 {
    i64::try_from(number.min(MOST)).unwrap_or(i64::MAX)
}

/// A count or a time as it was kept.
pub(crate) fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// An identifier, as 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) Uuid);

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.0.as_bytes())))
    }
}

impl FromSql for Key {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 16]>::column_result(value).map(|bytes| Key(Uuid::from_bytes(bytes)))
    }
}

/// A path: text where it is UTF-8, else its bytes.
pub(crate) struct Location(pub(crate) PathBuf);

impl Location {
    /// How a path is written.
    pub(crate) fn value(path: &Path) -> Value {
        match path.to_str() {
            Some(text) => Value::Text(text.to_owned()),
            None => Value::Blob(bytes(path)),
        }
    }
}

impl FromSql for Location {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|error| FromSqlError::Other(Box::new(error)))?;
                Ok(Location(PathBuf::from(text)))
            }
            ValueRef::Blob(bytes) => Ok(Location(path(bytes))),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Err(FromSqlError::InvalidType),
        }
    }
}

#[cfg(unix)]
fn bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
