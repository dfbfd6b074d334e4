//! Each write as SQL. What cannot be done is refused before anything is changed.

use crate::beside;
use crate::blob;
use crate::draft::Piece;
use crate::fault::Fault;
use crate::files;
use crate::mend;
use crate::prune;
use crate::queue::{Blob, Write};
use crate::row;
use crate::subtasks;
use crate::value::{Key, Location, count};
use rusqlite::{Connection, OptionalExtension, params};
use session::{BlobId, Body, Change, Error, Item, ItemId, New, Record, SessionId, Version};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A blob that nothing names is removed when it is older than this: whoever put it has had the time to name it.
const ORPHAN: Duration = Duration::from_secs(24 * 60 * 60);

/// The time since which a blob was put is renewed when it is older than this.
const RENEW: Duration = Duration::from_secs(60 * 60);

pub(crate) fn write(connection: &Connection, write: &Write, path: &Path) -> Result<(), Fault> {
    match write {
        Write::Create(new) => create(connection, new, path),
        Write::Append { session, item, heard } => {
            append(connection, *session, item, path)?;
            match heard {
                Some(waiting) => Ok(beside::forget(connection, *session, *waiting)?),
                None => Ok(()),
            }
        }
        Write::Wait { session, waiting } => beside::wait(connection, *session, waiting),
        Write::ForgetWaiting { session, waiting } => Ok(beside::forget(connection, *session, *waiting)?),
        Write::Roots { session, roots } => beside::set_roots(connection, *session, roots),
        Write::Discard { session, reply } => Ok(discard(connection, *session, *reply)?),
        Write::Rewind { session, head } => rewind(connection, *session, *head, path),
        Write::Title { session, title } => retitle(connection, *session, title),
        Write::Record { session, record } => account(connection, *session, record),
        Write::Piece(arrived) => Ok(piece(connection, arrived)?),
        Write::Mend(session) => mend::mend(connection, *session),
        Write::Delete(session) => delete(connection, *session, path),
        Write::Forget(session) => prune::forget(connection, *session, path),
        Write::Unnamed => prune::unnamed(connection),
        Write::Flush => Ok(()),
    }
}

/// Writes what has arrived of a reply.
pub(crate) fn piece(connection: &Connection, piece: &Piece) -> rusqlite::Result<()> {
    let draft = &piece.draft;
    connection
        .prepare_cached(
            "INSERT INTO drafts (session, id, parent, model, request, at, chunks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            Key(piece.session.0),
            Key(draft.id.0),
            draft.parent.map(|parent| Key(parent.0)),
            draft.model,
            Key(draft.request.0),
            now(),
            row::encode_chunks(&piece.chunks).map_err(unwritable)?,
        ])?;
    Ok(())
}

/// Keeps bytes under their name.
pub(crate) fn blob(connection: &Connection, blob: &Blob) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO blobs (id, at, bytes) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET at = excluded.at WHERE excluded.at - at > ?4",
        )?
        .execute(params![
            blob::key(&blob.id),
            now(),
            blob.bytes.as_ref(),
            count(u64::try_from(RENEW.as_millis()).unwrap_or(u64::MAX)),
        ])?;
    Ok(())
}

/// Writes an item and makes it the head, without asking whether its parent is there.
pub(crate) fn insert(connection: &Connection, session: SessionId, item: &Item) -> Result<(), Fault> {
    let (kind, body) = row::encode_body(&item.body).map_err(unwritable)?;
    let model = match &item.body {
        Body::Reply { model, .. } => Some(model.as_str()),
        Body::Prompt { .. }
        | Body::Result { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Wake { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Mode { .. }
        | Body::Review { .. }
        | Body::Restored { .. } => None,
    };
    let known = connection
        .prepare_cached(
            "UPDATE sessions SET head = ?2, updated = max(updated, ?3), items = items + 1, model = coalesce(?4, model)
             WHERE id = ?1",
        )?
        .execute(params![Key(session.0), Key(item.id.0), count(item.at.0), model])?;
    if known == 0 {
        return Err(unknown(session));
    }
    connection
        .prepare_cached("INSERT INTO items (session, id, parent, at, kind, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![
            Key(session.0),
            Key(item.id.0),
            item.parent.map(|parent| Key(parent.0)),
            count(item.at.0),
            kind,
            body,
        ])?;
    if let Body::Reply { .. } = &item.body {
        discard(connection, session, item.id)?;
    }
    Ok(())
}

/// Accounts for a request, once.
pub(crate) fn account(connection: &Connection, session: SessionId, record: &Record) -> Result<(), Fault> {
    if is_accounted(connection, session, record)? {
        return Ok(());
    }
    let usage = &record.usage;
    let known = connection
        .prepare_cached(
            "UPDATE sessions SET requests = requests + 1, input = input + ?2, cache_read = cache_read + ?3,
                    cache_write = cache_write + ?4, cache_write_1h = cache_write_1h + ?5, output = output + ?6,
                    thinking = thinking + ?7, estimated = max(estimated, ?8), cost = cost + ?9
             WHERE id = ?1",
        )?
        .execute(params![
            Key(session.0),
            count(usage.input),
            count(usage.cache_read),
            count(usage.cache_write),
            count(usage.cache_write_1h),
            count(usage.output),
            count(usage.thinking),
            i64::from(usage.estimated),
            record.cost.map_or(0, |cost| cost.nano_usd),
        ])?;
    if known == 0 {
        return Err(unknown(session));
    }
    connection
        .prepare_cached(
            "INSERT INTO requests (session, id, item, purpose, model, attempt, at, first_chunk, total, input, cache_read,
                    cache_write, cache_write_1h, output, thinking, estimated, cost, outcome, sections, prompt)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        )?
        .execute(params![
            Key(session.0),
            Key(record.id.0),
            record.item.map(|item| Key(item.0)),
            record.purpose,
            record.model,
            record.attempt,
            count(record.at.0),
            record.first_chunk.map(count),
            count(record.total),
            count(usage.input),
            count(usage.cache_read),
            count(usage.cache_write),
            count(usage.cache_write_1h),
            count(usage.output),
            count(usage.thinking),
            i64::from(usage.estimated),
            record.cost.map(|cost| cost.nano_usd),
            record.outcome,
            row::encode_sections(&record.sections).map_err(unwritable)?,
            record.prompt.as_ref().map(row::encode_prompt).transpose().map_err(unwritable)?,
        ])?;
    for id in record.prompt.iter().flat_map(row::prompt_blobs) {
        connection
            .prepare_cached("INSERT OR IGNORE INTO prompt_blobs (session, id) VALUES (?1, ?2)")?
            .execute(params![Key(session.0), blob::key(id)])?;
    }
    Ok(())
}

/// Whether an item is there.
pub(crate) fn is_item(connection: &Connection, session: SessionId, item: ItemId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM items WHERE session = ?1 AND id = ?2")?
        .exists(params![Key(session.0), Key(item.0)])
}

/// That there is no such session.
pub(crate) fn unknown(session: SessionId) -> Fault {
    Fault::Refused(Error::Unknown(session.to_string()))
}

/// Milliseconds since 1970, as they are kept.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    count(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn create(connection: &Connection, new: &New, path: &Path) -> Result<(), Fault> {
    let made = connection
        .prepare_cached(
            "INSERT INTO sessions (id, root, model, created, updated, parent, call) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            Key(new.id.0),
            Location::value(&new.root),
            new.model,
            count(new.at.0),
            new.parent.as_ref().map(|parent| Key(parent.session.0)),
            new.parent.as_ref().map(|parent| parent.call.as_str()),
        ])?;
    match made {
        0 => Err(wrong(path, format!("session {} exists already", new.id))),
        _ => Ok(()),
    }
}

fn append(connection: &Connection, session: SessionId, item: &Item, path: &Path) -> Result<(), Fault> {
    if is_item(connection, session, item.id)? {
        return Err(wrong(path, format!("item {} exists already", item.id)));
    }
    if let Some(parent) = item.parent
        && !is_item(connection, session, parent)?
    {
        return Err(match is_session(connection, session)? {
            true => wrong(path, format!("item {} follows {parent}, which is not there", item.id)),
            false => unknown(session),
        });
    }
    let changes = row::changes_of(&item.body);
    let keys: Vec<Versions> = changes
        .iter()
        .map(|change| versions(connection, change, path))
        .collect::<Result<_, _>>()?;
    insert(connection, session, item)?;
    for ((change, (before, after)), seq) in changes.iter().zip(keys).zip(0_i64..) {
        connection
            .prepare_cached(
                "INSERT INTO changes (session, item, seq, path, before, after, before_kind, after_kind)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                Key(session.0),
                Key(item.id.0),
                seq,
                Location::value(&change.path),
                before,
                after,
                row::kind_of(change.before.as_ref()),
                row::kind_of(change.after.as_ref()),
            ])?;
    }
    Ok(())
}

type Versions = (Option<Vec<u8>>, Option<Vec<u8>>);

fn versions(connection: &Connection, change: &Change, path: &Path) -> Result<Versions, Fault> {
    let version = |version: &Option<Version>| match version.as_ref().map(|version| (&version.content, version.kept)) {
        Some((Some(id), true)) => kept(connection, id, path).map(Some),
        Some((Some(id), false)) => Ok(blob::key(id)),
        Some((None, _)) | None => Ok(None),
    };
    Ok((version(&change.before)?, version(&change.after)?))
}

/// The key of bytes that are there.
fn kept(connection: &Connection, id: &BlobId, path: &Path) -> Result<Vec<u8>, Fault> {
    let is_kept = |key: &Vec<u8>| {
        connection
            .prepare_cached("SELECT 1 FROM blobs WHERE id = ?1")?
            .exists([key])
    };
    match blob::key(id) {
        Some(key) if is_kept(&key)? || files::beside(path).has(id) => Ok(key),
        Some(_) | None => Err(wrong(path, format!("the file version {id} was not saved"))),
    }
}

fn discard(connection: &Connection, session: SessionId, reply: ItemId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM drafts WHERE session = ?1 AND id = ?2")?
        .execute(params![Key(session.0), Key(reply.0)])?;
    Ok(())
}

fn rewind(connection: &Connection, session: SessionId, head: ItemId, path: &Path) -> Result<(), Fault> {
    if !is_item(connection, session, head)? {
        return Err(match is_session(connection, session)? {
            true => wrong(path, format!("session {session} has no item {head}")),
            false => unknown(session),
        });
    }
    connection
        .prepare_cached("UPDATE sessions SET head = ?2 WHERE id = ?1")?
        .execute(params![Key(session.0), Key(head.0)])?;
    Ok(())
}

fn retitle(connection: &Connection, session: SessionId, title: &str) -> Result<(), Fault> {
    let known = connection
        .prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?
        .execute(params![Key(session.0), title])?;
    match known {
        0 => Err(unknown(session)),
        _ => Ok(()),
    }
}

fn is_accounted(connection: &Connection, session: SessionId, record: &Record) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM requests WHERE session = ?1 AND id = ?2")?
        .exists(params![Key(session.0), Key(record.id.0)])
}

/// Whether a session is there.
pub(crate) fn is_session(connection: &Connection, session: SessionId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?
        .query_row([Key(session.0)], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Removes a session with its subtasks and all that is their own, and overwrites it in the file.
fn delete(connection: &Connection, session: SessionId, path: &Path) -> Result<(), Fault> {
    if !is_session(connection, session)? {
        return Err(unknown(session));
    }
    let mut contents = Vec::new();
    connection.execute_batch("PRAGMA secure_delete = ON")?;
    let outcome = subtasks::tree(connection, session)
        .map_err(Fault::from)
        .and_then(|tree| {
            for session in tree {
                contents.extend(prune::own_contents(connection, session)?);
                remove(connection, session)?;
            }
            Ok(())
        });
    connection.execute_batch("PRAGMA secure_delete = OFF")?;
    outcome?;
    prune::drop_files(path, &contents);
    Ok(())
}

fn remove(connection: &Connection, session: SessionId) -> rusqlite::Result<()> {
    let key = Key(session.0);
    let orphans = now() - count(u64::try_from(ORPHAN.as_millis()).unwrap_or(u64::MAX));
    connection.execute(
        "DELETE FROM blobs
         WHERE (at < ?2 OR id IN (SELECT before FROM changes WHERE session = ?1
                                  UNION ALL SELECT after FROM changes WHERE session = ?1
                                  UNION ALL SELECT id FROM prompt_blobs WHERE session = ?1))
           AND id NOT IN (SELECT before FROM changes WHERE session <> ?1 AND before IS NOT NULL
                          UNION ALL SELECT after FROM changes WHERE session <> ?1 AND after IS NOT NULL
                          UNION ALL SELECT id FROM prompt_blobs WHERE session <> ?1)",
        params![key, orphans],
    )?;
    for statement in [
        "DELETE FROM changes WHERE session = ?1",
        "DELETE FROM prompt_blobs WHERE session = ?1",
        "DELETE FROM requests WHERE session = ?1",
        "DELETE FROM drafts WHERE session = ?1",
        "DELETE FROM waiting WHERE session = ?1",
        "DELETE FROM roots WHERE session = ?1",
        "DELETE FROM items WHERE session = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ] {
        connection.execute(statement, [key])?;
    }
    Ok(())
}

fn wrong(path: &Path, detail: String) -> Fault {
    Fault::Refused(Error::Unusable {
        path: path.to_path_buf(),
        detail,
    })
}

/// That something cannot be written as JSON.
pub(crate) fn unwritable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
