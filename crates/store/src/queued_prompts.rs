//! Session state outside the log: queued prompts and additional project folders.

use crate::apply::{encode_error, is_session, unknown_session};
use crate::error::StoreError;
use crate::read::decode_error;
use crate::row;
use crate::sql_value::{IdValue, PathValue};
use rusqlite::{Connection, params};
use session::{Body, QueuedPrompt, QueuedPromptId, SessionId};
use std::path::PathBuf;
use std::sync::Arc;

/// Stores a queued prompt.
pub(crate) fn insert(connection: &Connection, session: SessionId, waiting: &QueuedPrompt) -> Result<(), StoreError> {
    if !is_session(connection, session)? {
        return Err(unknown_session(session));
    }
    let body = Body::Prompt {
        message: Arc::new(waiting.message.clone()),
    };
    let (_, json) = row::encode_body(&body).map_err(encode_error)?;
    connection
        .prepare_cached("INSERT INTO waiting (session, id, body) VALUES (?1, ?2, ?3)")?
        .execute(params![IdValue(session.0), IdValue(waiting.id.0), json])?;
    Ok(())
}

/// Removes a queued prompt.
pub(crate) fn remove(connection: &Connection, session: SessionId, waiting: QueuedPromptId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM waiting WHERE session = ?1 AND id = ?2")?
        .execute(params![IdValue(session.0), IdValue(waiting.0)])?;
    Ok(())
}

/// The queued prompts, oldest first.
pub(crate) fn load(connection: &Connection, session: SessionId) -> Result<Vec<QueuedPrompt>, StoreError> {
    let mut found = Vec::new();
    let mut statement = connection.prepare_cached("SELECT id, body FROM waiting WHERE session = ?1 ORDER BY seq")?;
    let mut rows = statement.query([IdValue(session.0)])?;
    while let Some(row) = rows.next()? {
        let json = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let body = row::decode_body("prompt", json, Vec::new()).map_err(|error| decode_error(1, error))?;
        if let Some(Body::Prompt { message }) = body {
            found.push(QueuedPrompt {
                id: QueuedPromptId(row.get::<_, IdValue>(0)?.0),
                message: Arc::unwrap_or_clone(message),
            });
        }
    }
    Ok(found)
}

/// Stores the additional folders.
pub(crate) fn set_roots(connection: &Connection, session: SessionId, roots: &[PathBuf]) -> Result<(), StoreError> {
    if !is_session(connection, session)? {
        return Err(unknown_session(session));
    }
    connection
        .prepare_cached("DELETE FROM roots WHERE session = ?1")?
        .execute([IdValue(session.0)])?;
    for (root, seq) in roots.iter().zip(0_i64..) {
        connection
            .prepare_cached("INSERT INTO roots (session, seq, path) VALUES (?1, ?2, ?3)")?
            .execute(params![IdValue(session.0), seq, PathValue::value(root)])?;
    }
    Ok(())
}

/// The additional folders.
pub(crate) fn roots(connection: &Connection, session: SessionId) -> Result<Vec<PathBuf>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT path FROM roots WHERE session = ?1 ORDER BY seq")?;
    let rows = statement.query_map([IdValue(session.0)], |row| Ok(row.get::<_, PathValue>(0)?.0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
