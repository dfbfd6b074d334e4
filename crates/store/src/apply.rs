//! Executes writes as SQL. Invalid writes are rejected before anything is changed.

use crate::blob;
use crate::blob_files;
use crate::draft::DraftPiece;
use crate::draft_repair;
use crate::error::StoreError;
use crate::measurements;
use crate::prune;
use crate::queue::{PendingBlob, Write};
use crate::queued_prompts;
use crate::row;
use crate::sql_value::{IdValue, PathValue, to_sql};
use crate::subtasks;
use rusqlite::{Connection, OptionalExtension, params};
use session::{BlobId, Body, Change, Error, FileVersion, Item, ItemId, NewSession, RequestRecord, SessionId};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An unreferenced blob is deleted when it is older than this; a running session has referenced it by then.
const ORPHAN_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The timestamp of a blob that is stored again is renewed when it is older than this.
const RENEW_AGE: Duration = Duration::from_secs(60 * 60);

pub(crate) fn apply(connection: &Connection, write: &Write, path: &Path) -> Result<(), StoreError> {
    match write {
        Write::Create(new) => create(connection, new, path),
        Write::Append { session, item, queued } => {
            append(connection, *session, item, path)?;
            match queued {
                Some(waiting) => Ok(queued_prompts::remove(connection, *session, *waiting)?),
                None => Ok(()),
            }
        }
        Write::QueuePrompt {
            session,
            prompt: waiting,
        } => queued_prompts::insert(connection, *session, waiting),
        Write::RemoveQueued {
            session,
            prompt: waiting,
        } => Ok(queued_prompts::remove(connection, *session, *waiting)?),
        Write::Roots { session, roots } => queued_prompts::set_roots(connection, *session, roots),
        Write::Discard { session, reply } => Ok(discard(connection, *session, *reply)?),
        Write::Rewind { session, head } => rewind(connection, *session, *head, path),
        Write::Title { session, title } => set_title(connection, *session, title),
        Write::Record { session, record } => record_request(connection, *session, record),
        Write::Turn { session, record } => Ok(measurements::insert_turn(connection, *session, record)?),
        Write::Call { session, record } => Ok(measurements::insert_call(connection, *session, record)?),
        Write::Survival(record) => Ok(measurements::insert_survival(connection, record)?),
        Write::DraftPiece(arrived) => Ok(insert_draft(connection, arrived)?),
        Write::RepairDrafts(session) => draft_repair::repair(connection, *session),
        Write::Delete(session) => delete(connection, *session, path),
        Write::ForgetVersions(session, which) => prune::forget_versions(connection, *session, *which, path),
        Write::DeleteUnreferenced => prune::delete_unreferenced(connection),
        Write::Flush => Ok(()),
    }
}

/// Writes received chunks of a reply.
pub(crate) fn insert_draft(connection: &Connection, piece: &DraftPiece) -> rusqlite::Result<()> {
    let draft = &piece.draft;
    connection
        .prepare_cached(
            "INSERT INTO drafts (session, id, parent, model, request, at, chunks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            IdValue(piece.session.0),
            IdValue(draft.id.0),
            draft.parent.map(|parent| IdValue(parent.0)),
            draft.model,
            IdValue(draft.request.0),
            now(),
            row::encode_chunks(&piece.chunks).map_err(encode_error)?,
        ])?;
    Ok(())
}

/// Inserts a blob.
pub(crate) fn insert_blob(connection: &Connection, blob: &PendingBlob) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO blobs (id, at, bytes) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET at = excluded.at WHERE excluded.at - at > ?4",
        )?
        .execute(params![
            blob::key(&blob.id),
            now(),
            blob.bytes.as_ref(),
            to_sql(u64::try_from(RENEW_AGE.as_millis()).unwrap_or(u64::MAX)),
        ])?;
    Ok(())
}

/// Inserts an item as the head, without checking its parent.
pub(crate) fn insert_item(connection: &Connection, session: SessionId, item: &Item) -> Result<(), StoreError> {
    let (kind, body) = row::encode_body(&item.body).map_err(encode_error)?;
    let known = connection
        .prepare_cached(
            "UPDATE sessions SET head = ?2, updated = max(updated, ?3), items = items + 1, model = coalesce(?4, model)
             WHERE id = ?1",
        )?
        .execute(params![
            IdValue(session.0),
            IdValue(item.id.0),
            to_sql(item.at.0),
            item.model()
        ])?;
    if known == 0 {
        return Err(unknown_session(session));
    }
    connection
        .prepare_cached("INSERT INTO items (session, id, parent, at, kind, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![
            IdValue(session.0),
            IdValue(item.id.0),
            item.parent.map(|parent| IdValue(parent.0)),
            to_sql(item.at.0),
            kind,
            body,
        ])?;
    if let Body::Reply { .. } = &item.body {
        discard(connection, session, item.id)?;
    }
    Ok(())
}

/// Records a request unless it is already recorded.
pub(crate) fn record_request(
    connection: &Connection,
    session: SessionId,
    record: &RequestRecord,
) -> Result<(), StoreError> {
    if is_recorded(connection, session, record)? {
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
            IdValue(session.0),
            to_sql(usage.input),
            to_sql(usage.cache_read),
            to_sql(usage.cache_write),
            to_sql(usage.cache_write_1h),
            to_sql(usage.output),
            to_sql(usage.thinking),
            i64::from(usage.estimated),
            record.cost.map_or(0, |cost| cost.nano_usd),
        ])?;
    if known == 0 {
        return Err(unknown_session(session));
    }
    connection
        .prepare_cached(
            "INSERT INTO requests (session, id, item, purpose, model, attempt, at, first_chunk, total, input, cache_read,
                    cache_write, cache_write_1h, output, thinking, estimated, cost, outcome, detail,
                    sections, prompt, facts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
        )?
        .execute(params![
            IdValue(session.0),
            IdValue(record.id.0),
            record.item.map(|item| IdValue(item.0)),
            record.purpose,
            record.model,
            record.attempt,
            to_sql(record.at.0),
            record.first_chunk.map(to_sql),
            to_sql(record.total),
            to_sql(usage.input),
            to_sql(usage.cache_read),
            to_sql(usage.cache_write),
            to_sql(usage.cache_write_1h),
            to_sql(usage.output),
            to_sql(usage.thinking),
            i64::from(usage.estimated),
            record.cost.map(|cost| cost.nano_usd),
            record.outcome.name(),
            record.outcome.detail(),
            row::encode_sections(&record.sections).map_err(encode_error)?,
            record.prompt.as_ref().map(row::encode_prompt).transpose().map_err(encode_error)?,
            row::encode_facts(&record.facts).map_err(encode_error)?,
        ])?;
    let blobs = record.prompt.iter().flat_map(row::prompt_blobs);
    for id in blobs.chain(row::fact_blobs(&record.facts)) {
        connection
            .prepare_cached("INSERT OR IGNORE INTO prompt_blobs (session, id) VALUES (?1, ?2)")?
            .execute(params![IdValue(session.0), blob::key(id)])?;
    }
    Ok(())
}

/// Whether an item exists.
pub(crate) fn is_item(connection: &Connection, session: SessionId, item: ItemId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM items WHERE session = ?1 AND id = ?2")?
        .exists(params![IdValue(session.0), IdValue(item.0)])
}

/// The error for a missing session.
pub(crate) fn unknown_session(session: SessionId) -> StoreError {
    StoreError::Rejected(Error::Unknown(session.to_string()))
}

/// Milliseconds since 1970, as stored.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    to_sql(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn create(connection: &Connection, new: &NewSession, path: &Path) -> Result<(), StoreError> {
    let made = connection
        .prepare_cached(
            "INSERT INTO sessions (id, root, model, created, updated, parent, call) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            IdValue(new.id.0),
            PathValue::value(&new.root),
            new.model,
            to_sql(new.at.0),
            new.parent.as_ref().map(|parent| IdValue(parent.session.0)),
            new.parent.as_ref().map(|parent| parent.call.as_str()),
        ])?;
    match made {
        0 => Err(rejected(path, format!("session {} exists already", new.id))),
        _ => Ok(()),
    }
}

fn append(connection: &Connection, session: SessionId, item: &Item, path: &Path) -> Result<(), StoreError> {
    if is_item(connection, session, item.id)? {
        return Err(rejected(path, format!("item {} exists already", item.id)));
    }
    if let Some(parent) = item.parent
        && !is_item(connection, session, parent)?
    {
        return Err(match is_session(connection, session)? {
            true => rejected(path, format!("item {} follows {parent}, which is missing", item.id)),
            false => unknown_session(session),
        });
    }
    let changes = row::changes_of(&item.body);
    let keys: Vec<VersionKeys> = changes
        .iter()
        .map(|change| versions(connection, change, path))
        .collect::<Result<_, _>>()?;
    insert_item(connection, session, item)?;
    for ((change, (before, after)), seq) in changes.iter().zip(keys).zip(0_i64..) {
        connection
            .prepare_cached(
                "INSERT INTO changes (session, item, seq, path, before, after, before_kind, after_kind)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                IdValue(session.0),
                IdValue(item.id.0),
                seq,
                PathValue::value(&change.path),
                before,
                after,
                row::kind_of(change.before.as_ref()),
                row::kind_of(change.after.as_ref()),
            ])?;
    }
    Ok(())
}

type VersionKeys = (Option<Vec<u8>>, Option<Vec<u8>>);

fn versions(connection: &Connection, change: &Change, path: &Path) -> Result<VersionKeys, StoreError> {
    let version =
        |version: &Option<FileVersion>| match version.as_ref().map(|version| (&version.content, version.is_stored)) {
            Some((Some(id), true)) => stored_blob_key(connection, id, path).map(Some),
            Some((Some(id), false)) => Ok(blob::key(id)),
            Some((None, _)) | None => Ok(None),
        };
    Ok((version(&change.before)?, version(&change.after)?))
}

/// The key of a blob that is stored.
fn stored_blob_key(connection: &Connection, id: &BlobId, path: &Path) -> Result<Vec<u8>, StoreError> {
    let is_kept = |key: &Vec<u8>| {
        connection
            .prepare_cached("SELECT 1 FROM blobs WHERE id = ?1")?
            .exists([key])
    };
    match blob::key(id) {
        Some(key) if is_kept(&key)? || blob_files::blob_dir(path).has(id) => Ok(key),
        Some(_) | None => Err(rejected(path, format!("the file version {id} was not saved"))),
    }
}

fn discard(connection: &Connection, session: SessionId, reply: ItemId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM drafts WHERE session = ?1 AND id = ?2")?
        .execute(params![IdValue(session.0), IdValue(reply.0)])?;
    Ok(())
}

fn rewind(connection: &Connection, session: SessionId, head: ItemId, path: &Path) -> Result<(), StoreError> {
    if !is_item(connection, session, head)? {
        return Err(match is_session(connection, session)? {
            true => rejected(path, format!("session {session} has no item {head}")),
            false => unknown_session(session),
        });
    }
    connection
        .prepare_cached("UPDATE sessions SET head = ?2 WHERE id = ?1")?
        .execute(params![IdValue(session.0), IdValue(head.0)])?;
    Ok(())
}

fn set_title(connection: &Connection, session: SessionId, title: &str) -> Result<(), StoreError> {
    let known = connection
        .prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?
        .execute(params![IdValue(session.0), title])?;
    match known {
        0 => Err(unknown_session(session)),
        _ => Ok(()),
    }
}

fn is_recorded(connection: &Connection, session: SessionId, record: &RequestRecord) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM requests WHERE session = ?1 AND id = ?2")?
        .exists(params![IdValue(session.0), IdValue(record.id.0)])
}

/// Whether a session exists.
pub(crate) fn is_session(connection: &Connection, session: SessionId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?
        .query_row([IdValue(session.0)], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Deletes a session with its subtasks and unshared data, and overwrites the data in the file.
fn delete(connection: &Connection, session: SessionId, path: &Path) -> Result<(), StoreError> {
    if !is_session(connection, session)? {
        return Err(unknown_session(session));
    }
    let mut contents = Vec::new();
    connection.execute_batch("PRAGMA secure_delete = ON")?;
    let outcome = subtasks::with_descendants(connection, session)
        .map_err(StoreError::from)
        .and_then(|tree| {
            for session in tree {
                contents.extend(prune::exclusive_blobs(connection, session)?);
                remove(connection, session)?;
            }
            Ok(())
        });
    connection.execute_batch("PRAGMA secure_delete = OFF")?;
    outcome?;
    prune::remove_files(path, &contents);
    Ok(())
}

fn remove(connection: &Connection, session: SessionId) -> rusqlite::Result<()> {
    let key = IdValue(session.0);
    let orphans = now() - to_sql(u64::try_from(ORPHAN_AGE.as_millis()).unwrap_or(u64::MAX));
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
        "DELETE FROM turns WHERE session = ?1",
        "DELETE FROM calls WHERE session = ?1",
        "DELETE FROM survival WHERE session = ?1",
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

fn rejected(path: &Path, detail: String) -> StoreError {
    StoreError::Rejected(Error::Unusable {
        path: path.to_path_buf(),
        detail,
    })
}

/// A value cannot be serialised.
pub(crate) fn encode_error(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
