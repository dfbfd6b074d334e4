//! What is kept of a session beside its log: prompts that wait for their turn, and further folders.

use crate::apply::{is_session, unknown, unwritable};
use crate::fault::Fault;
use crate::read::unreadable;
use crate::row;
use crate::value::{Key, Location};
use rusqlite::{Connection, params};
use session::{Body, SessionId, Waiting, WaitingId};
use std::path::PathBuf;
use std::sync::Arc;

/// Keeps a prompt that waits.
pub(crate) fn wait(connection: &Connection, session: SessionId, waiting: &Waiting) -> Result<(), Fault> {
    if !is_session(connection, session)? {
        return Err(unknown(session));
    }
    let body = Body::Prompt {
        message: Arc::new(waiting.message.clone()),
    };
    let (_, json) = row::encode_body(&body).map_err(unwritable)?;
    connection
        .prepare_cached("INSERT INTO waiting (session, id, body) VALUES (?1, ?2, ?3)")?
        .execute(params![Key(session.0), Key(waiting.id.0), json])?;
    Ok(())
}

/// Forgets a prompt that waited.
pub(crate) fn forget(connection: &Connection, session: SessionId, waiting: WaitingId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM waiting WHERE session = ?1 AND id = ?2")?
        .execute(params![Key(session.0), Key(waiting.0)])?;
    Ok(())
}

/// The prompts that wait, oldest first.
pub(crate) fn waiting(connection: &Connection, session: SessionId) -> Result<Vec<Waiting>, Fault> {
    let mut found = Vec::new();
    let mut statement = connection.prepare_cached("SELECT id, body FROM waiting WHERE session = ?1 ORDER BY seq")?;
    let mut rows = statement.query([Key(session.0)])?;
    while let Some(row) = rows.next()? {
        let json = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let body = row::decode_body("prompt", json, Vec::new()).map_err(|error| unreadable(1, error))?;
        if let Some(Body::Prompt { message }) = body {
            found.push(Waiting {
                id: WaitingId(row.get::<_, Key>(0)?.0),
                message: Arc::unwrap_or_clone(message),
            });
        }
    }
    Ok(found)
}

/// Keeps which further folders there are.
pub(crate) fn set_roots(connection: &Connection, session: SessionId, roots: &[PathBuf]) -> Result<(), Fault> {
    if !is_session(connection, session)? {
        return Err(unknown(session));
    }
    connection
        .prepare_cached("DELETE FROM roots WHERE session = ?1")?
        .execute([Key(session.0)])?;
    for (root, seq) in roots.iter().zip(0_i64..) {
        connection
            .prepare_cached("INSERT INTO roots (session, seq, path) VALUES (?1, ?2, ?3)")?
            .execute(params![Key(session.0), seq, Location::value(root)])?;
    }
    Ok(())
}

/// The further folders.
pub(crate) fn roots(connection: &Connection, session: SessionId) -> Result<Vec<PathBuf>, Fault> {
    let mut statement = connection.prepare_cached("SELECT path FROM roots WHERE session = ?1 ORDER BY seq")?;
    let rows = statement.query_map([Key(session.0)], |row| Ok(row.get::<_, Location>(0)?.0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
