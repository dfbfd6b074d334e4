//! Exports sessions with everything that they reference to a database file of their own, with masked texts.

use crate::blob;
use crate::blob_files;
use crate::connect;
use crate::error::{StoreError, io_error};
use crate::row;
use crate::sql_value::IdValue;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use session::{BlobId, Error, RequestFacts, RequestId, SessionId};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Replaces secrets in a text.
pub type TextMask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The tables with rows of sessions, and the column with the session.
const TABLES: [(&str, &str); 8] = [
    ("sessions", "id"),
    ("items", "session"),
    ("requests", "session"),
    ("changes", "session"),
    ("prompt_blobs", "session"),
    ("roots", "session"),
    ("turns", "session"),
    ("calls", "session"),
];

/// What is exported, and how texts are masked.
pub(crate) struct BundleSelection {
    pub(crate) sessions: Vec<SessionId>,
    /// Blobs that are left out.
    pub(crate) without: HashSet<BlobId>,
    pub(crate) mask: TextMask,
}

/// Copies the selection to the new file `to`.
pub(crate) fn export(
    connection: &Connection,
    database: &Path,
    selection: &BundleSelection,
    to: &Path,
) -> Result<(), StoreError> {
    let target = connect::open_writer(to).map_err(StoreError::Rejected)?;
    target.execute_batch("BEGIN")?;
    for session in &selection.sessions {
        for (table, column) in TABLES {
            copy_rows(connection, &target, (table, column), *session, &selection.mask)?;
        }
        copy_blobs(connection, database, &target, *session, selection)?;
    }
    target.execute_batch("COMMIT; PRAGMA journal_mode = DELETE; VACUUM")?;
    Ok(())
}

fn copy_rows(
    from: &Connection,
    to: &Connection,
    (table, column): (&str, &str),
    session: SessionId,
    mask: &TextMask,
) -> Result<(), StoreError> {
    let mut select = from.prepare(&format!("SELECT * FROM {table} WHERE {column} = ?1"))?;
    let names: Vec<String> = select.column_names().map(str::to_owned).collect();
    // Rows get new numbers in their order.
    let kept: Vec<usize> = (0..names.len())
        .filter(|at| !(names[*at] == "seq" && ["items", "requests", "turns", "calls"].contains(&table)))
        .collect();
    let columns: Vec<&str> = kept.iter().map(|at| names[*at].as_str()).collect();
    let places: Vec<String> = (1..=kept.len()).map(|place| format!("?{place}")).collect();
    let sql = format!(
        "INSERT INTO {table} ({}) VALUES ({})",
        columns.join(", "),
        places.join(", ")
    );
    let mut insert = to.prepare(&sql)?;
    let mut rows = select.query([IdValue(session.0)])?;
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(kept.len());
        for at in &kept {
            values.push(match row.get::<_, Value>(*at)? {
                Value::Text(text) => Value::Text(masked(&text, mask)),
                other => other,
            });
        }
        insert.execute(params_from_iter(values))?;
    }
    Ok(())
}

fn copy_blobs(
    from: &Connection,
    database: &Path,
    to: &Connection,
    session: SessionId,
    selection: &BundleSelection,
) -> Result<(), StoreError> {
    let mut select = from.prepare(
        "SELECT id FROM prompt_blobs WHERE session = ?1
         UNION SELECT before FROM changes WHERE session = ?1 AND before IS NOT NULL
         UNION SELECT after FROM changes WHERE session = ?1 AND after IS NOT NULL",
    )?;
    let mut stored = from.prepare("SELECT bytes FROM blobs WHERE id = ?1")?;
    let mut insert = to.prepare("INSERT OR IGNORE INTO blobs (id, at, bytes) VALUES (?1, 0, ?2)")?;
    let mut rows = select.query([IdValue(session.0)])?;
    while let Some(row) = rows.next()? {
        let key: Vec<u8> = row.get(0)?;
        if selection.without.contains(&blob::hex(&key)) {
            continue;
        }
        let inside: Option<Vec<u8>> = stored.query_row([&key], |row| row.get(0)).optional()?;
        let bytes = match inside {
            Some(bytes) => Some(bytes),
            None => blob_files::read(database, &blob::hex(&key))?.map(|bytes| bytes.to_vec()),
        };
        let Some(bytes) = bytes else { continue };
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => masked(&text, &selection.mask).into_bytes(),
            // A secret in other bytes cannot be recognised.
            Err(_) => continue,
        };
        insert.execute(params![key, bytes])?;
    }
    Ok(())
}

/// A text without secrets. In JSON, each string is masked by itself, so that the result does not depend on escapes.
fn masked(text: &str, mask: &TextMask) -> String {
    if text.starts_with(['{', '['])
        && let Ok(mut value) = serde_json::from_str::<serde_json::Value>(text)
    {
        return match mask_strings(&mut value, mask) {
            true => value.to_string(),
            false => text.to_owned(),
        };
    }
    mask(text)
}

/// Masks all strings in a value; returns whether one was changed.
fn mask_strings(value: &mut serde_json::Value, mask: &TextMask) -> bool {
    match value {
        serde_json::Value::String(text) => {
            let plain = masked(text, mask);
            let is_changed = plain != *text;
            *text = plain;
            is_changed
        }
        serde_json::Value::Array(values) => {
            let changed = values
                .iter_mut()
                .filter_map(|value| mask_strings(value, mask).then_some(()));
            changed.count() > 0
        }
        serde_json::Value::Object(values) => {
            let changed = values
                .values_mut()
                .filter_map(|value| mask_strings(value, mask).then_some(()));
            changed.count() > 0
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}

/// Changes the facts of requests in an exported file.
pub fn set_request_facts(file: &Path, facts: &[(SessionId, RequestId, RequestFacts)]) -> Result<(), Error> {
    let update = || -> Result<(), StoreError> {
        let connection = connect::open_writer(file).map_err(StoreError::Rejected)?;
        for (session, request, facts) in facts {
            let json = row::encode_facts(facts).unwrap_or_default();
            connection.execute(
                "UPDATE requests SET facts = ?3 WHERE session = ?1 AND id = ?2",
                params![IdValue(session.0), IdValue(request.0), json],
            )?;
        }
        connection.execute_batch("PRAGMA journal_mode = DELETE; VACUUM")?;
        Ok(())
    };
    update().map_err(|error| error.to_session_error(file))
}

/// Copies an exported file to the folder of a database.
pub fn import(file: &Path, folder: &Path) -> Result<(), Error> {
    std::fs::copy(file, folder.join(crate::sqlite::FILE))
        .map(drop)
        .map_err(|error| io_error(&error, file))
}
