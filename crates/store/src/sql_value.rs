//! Ids, counts and paths as SQL values.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The largest stored count. Sums of thousands of such counts still fit SQLite integers.
const MAX_COUNT: u64 = 1 << 53;

/// Encodes a count or a time.
pub(crate) fn to_sql(number: u64) -> i64 {
    i64::try_from(number.min(MAX_COUNT)).unwrap_or(i64::MAX)
}

/// Decodes a count or a time.
pub(crate) fn from_sql(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// An id, as 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdValue(pub(crate) Uuid);

impl ToSql for IdValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.0.as_bytes())))
    }
}

impl FromSql for IdValue {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 16]>::column_result(value).map(|bytes| IdValue(Uuid::from_bytes(bytes)))
    }
}

/// A path: text if it is UTF-8, otherwise bytes.
pub(crate) struct PathValue(pub(crate) PathBuf);

impl PathValue {
    /// Encodes a path.
    pub(crate) fn value(path: &Path) -> Value {
        match path.to_str() {
            Some(text) => Value::Text(text.to_owned()),
            None => Value::Blob(bytes(path)),
        }
    }
}

impl FromSql for PathValue {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|error| FromSqlError::Other(Box::new(error)))?;
                Ok(PathValue(PathBuf::from(text)))
            }
            ValueRef::Blob(bytes) => Ok(PathValue(path(bytes))),
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
