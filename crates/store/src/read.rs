//! Queries as SQL.

use crate::apply::unknown_session;
use crate::blob;
use crate::blob_files;
use crate::error::StoreError;
use crate::queued_prompts;
use crate::row::{self, NOT_STORED};
use crate::sql_value::{IdValue, PathValue, from_sql};
use crate::subtasks;
use bytes::Bytes;
use model::{Cost, Usage};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use session::{
    BlobId, Change, Error, Item, ItemId, LoadedSession, ParentCall, RequestEnd, RequestFacts, RequestId, RequestRecord,
    SessionId, SessionMeta, Time, Totals,
};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uuid::Uuid;

/// The minimum length of an abbreviated id.
const MIN_PREFIX: usize = 4;

/// Maximum number of matches in an error.
const MAX_MATCHES: usize = 5;

/// The columns of a session's metadata, without its subtasks.
pub(crate) const SELECT_META: &str = "SELECT id, title, root, model, created, updated, items, requests, input, cache_read,
                           cache_write, cache_write_1h, output, thinking, estimated, cost, head, parent, call FROM sessions";

/// Loads a session, from its first item to its head.
pub(crate) fn load(connection: &Connection, session: SessionId, path: &Path) -> Result<LoadedSession, StoreError> {
    // One transaction, for a consistent view.
    let snapshot = connection.unchecked_transaction()?;
    let found = snapshot
        .prepare_cached(&format!("{SELECT_META} WHERE id = ?1"))?
        .query_row([IdValue(session.0)], |row| {
            Ok((meta(row)?, row.get::<_, Option<IdValue>>(16)?))
        })
        .optional()?;
    let Some((mut meta, head)) = found else {
        return Err(unknown_session(session));
    };
    subtasks::add_subtask_totals(&snapshot, std::slice::from_mut(&mut meta))?;
    let items = branch(&snapshot, session, head, path)?;
    Ok(LoadedSession {
        queued: queued_prompts::load(&snapshot, session)?,
        roots: queued_prompts::roots(&snapshot, session)?,
        meta,
        items,
    })
}

/// The items of a session with an id that starts or ends with `part`, on any branch.
pub(crate) fn items_like(connection: &Connection, session: SessionId, part: &str) -> Result<Vec<ItemId>, StoreError> {
    let digits: String = part.chars().filter(|c| *c != '-').collect();
    let mut statement = connection.prepare_cached("SELECT id FROM items WHERE session = ?1 ORDER BY seq")?;
    let rows = statement.query_map([IdValue(session.0)], |row| Ok(ItemId(row.get::<_, IdValue>(0)?.0)))?;
    let ids = rows.collect::<Result<Vec<_>, _>>()?;
    let is_like = |id: &ItemId| {
        let text = id.0.as_simple().to_string();
        text.starts_with(&digits) || text.ends_with(&digits)
    };
    Ok(ids.into_iter().filter(is_like).collect())
}

/// The items from the first of a session to this one.
pub(crate) fn path_to(
    connection: &Connection,
    session: SessionId,
    item: ItemId,
    path: &Path,
) -> Result<Vec<Arc<Item>>, StoreError> {
    let snapshot = connection.unchecked_transaction()?;
    branch(&snapshot, session, Some(IdValue(item.0)), path)
}

/// The sessions of a project, or all, newest first.
pub(crate) fn list(connection: &Connection, root: Option<PathBuf>) -> Result<Vec<SessionMeta>, StoreError> {
    let root = root.map(|root| PathValue::value(&root));
    let mut statement = connection.prepare_cached(&format!(
        "{SELECT_META} WHERE items > 0 AND (?1 IS NULL OR root = ?1) ORDER BY updated DESC, id DESC"
    ))?;
    let rows = statement.query_map([root], meta)?;
    let mut sessions: Vec<SessionMeta> = rows.collect::<Result<_, _>>()?;
    subtasks::add_subtask_totals(connection, &mut sessions)?;
    Ok(sessions)
}

/// Finds the session with an id that starts with `prefix`.
pub(crate) fn find(connection: &Connection, prefix: &str) -> Result<SessionId, StoreError> {
    let digits: String = prefix.chars().filter(|c| *c != '-').collect();
    let is_id = digits.chars().all(|c| c.is_ascii_hexdigit()) && (MIN_PREFIX..=32).contains(&digits.len());
    let unknown = || StoreError::Rejected(Error::Unknown(prefix.to_owned()));
    if !is_id {
        return Err(unknown());
    }
    let bound = |fill: &str| Uuid::try_parse(&format!("{digits}{}", fill.repeat(32 - digits.len())));
    let (Ok(first), Ok(last)) = (bound("0"), bound("f")) else {
        return Err(unknown());
    };
    // A complete id also finds an empty session.
    let fewest = i64::from(first != last);
    let mut statement = connection.prepare_cached(
        "SELECT id FROM sessions WHERE id BETWEEN ?1 AND ?2 AND items >= ?3 ORDER BY id DESC LIMIT ?4",
    )?;
    let found: Vec<SessionId> = statement
        .query_map(
            params![IdValue(first), IdValue(last), fewest, MAX_MATCHES as i64],
            |row| Ok(SessionId(row.get::<_, IdValue>(0)?.0)),
        )?
        .collect::<Result<_, _>>()?;
    match found.as_slice() {
        [] => Err(unknown()),
        [only] => Ok(*only),
        several => Err(StoreError::Rejected(Error::Ambiguous {
            prefix: prefix.to_owned(),
            matches: several.iter().map(SessionId::to_string).collect(),
        })),
    }
}

/// The most recently updated session, except subtasks.
pub(crate) fn last(connection: &Connection) -> Result<SessionId, StoreError> {
    let newest: Option<IdValue> = connection
        .prepare_cached(
            "SELECT id FROM sessions WHERE items > 0 AND parent IS NULL ORDER BY updated DESC, id DESC LIMIT 1",
        )?
        .query_row([], |row| row.get(0))
        .optional()?;
    match newest {
        Some(key) => Ok(SessionId(key.0)),
        None => Err(StoreError::Rejected(Error::Unknown("last".into()))),
    }
}

/// The requests of a session and its subtasks, oldest first.
pub(crate) fn records(connection: &Connection, session: SessionId) -> Result<Vec<RequestRecord>, StoreError> {
    let mut records = Vec::new();
    for session in subtasks::with_descendants(connection, session)? {
        records.append(&mut own_records(connection, session)?);
    }
    records.sort_by_key(|record| (record.at, record.id));
    Ok(records)
}

fn own_records(connection: &Connection, session: SessionId) -> Result<Vec<RequestRecord>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, item, purpose, model, attempt, at, first_chunk, total, input, cache_read, cache_write, cache_write_1h,
                output, thinking, estimated, cost, outcome, detail, sections, prompt, facts
         FROM requests WHERE session = ?1 ORDER BY at, id",
    )?;
    let rows = statement.query_map([IdValue(session.0)], record)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Reads a blob.
pub(crate) fn bytes(connection: &Connection, id: &BlobId, path: &Path) -> Result<Option<Bytes>, StoreError> {
    let Some(key) = blob::key(id) else {
        return Ok(None);
    };
    let bytes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM blobs WHERE id = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    match bytes {
        Some(bytes) => Ok(Some(bytes.into())),
        None => blob_files::read(path, id),
    }
}

/// Checks every page and all references.
pub(crate) fn integrity(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let damaged = |detail: String| {
        StoreError::Rejected(Error::Damaged {
            path: path.to_path_buf(),
            detail,
        })
    };
    let mut statement = connection.prepare("PRAGMA integrity_check(5)")?;
    let findings: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if findings != ["ok"] {
        return Err(damaged(findings.join("; ")));
    }
    for (question, finding) in [
        (
            "SELECT count(*) FROM items AS item WHERE parent IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM items WHERE session = item.session AND id = item.parent)",
            "items have a missing parent",
        ),
        (
            "SELECT count(*) FROM sessions AS s WHERE head IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM items WHERE session = s.id AND id = s.head)",
            "sessions have a missing head item",
        ),
        (
            "SELECT count(*) FROM sessions AS s WHERE items <> (SELECT count(*) FROM items WHERE session = s.id)",
            "sessions have a wrong item count",
        ),
    ] {
        let wrong: i64 = connection.query_row(question, [], |row| row.get(0))?;
        if wrong > 0 {
            return Err(damaged(format!("{wrong} {finding}")));
        }
    }
    match missing_versions(connection, path)? {
        0 => Ok(()),
        wrong => Err(damaged(format!("{wrong} file versions are missing"))),
    }
}

/// The number of referenced but missing file versions.
fn missing_versions(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let blobs = blob_files::blob_dir(path);
    let mut statement = connection.prepare(&format!(
        "SELECT id FROM (SELECT before AS id FROM changes WHERE coalesce(before_kind, 0) & {NOT_STORED} = 0
                         UNION SELECT after FROM changes WHERE coalesce(after_kind, 0) & {NOT_STORED} = 0)
         WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM blobs)"
    ))?;
    let ids = statement.query_map([], |row| Ok(blob::hex(&row.get::<_, Vec<u8>>(0)?)))?;
    let ids = ids.collect::<Result<Vec<BlobId>, _>>()?;
    Ok(ids.iter().filter(|id| !blobs.has(id)).count())
}

/// A column holds invalid JSON.
pub(crate) fn decode_error(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

fn branch(
    connection: &Connection,
    session: SessionId,
    head: Option<IdValue>,
    path: &Path,
) -> Result<Vec<Arc<Item>>, StoreError> {
    let mut changes = changes(connection, session)?;
    let mut statement =
        connection.prepare_cached("SELECT parent, at, kind, body FROM items WHERE session = ?1 AND id = ?2")?;
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    let mut next = head;
    while let Some(id) = next {
        let broken = |how: &str| {
            StoreError::Rejected(Error::Damaged {
                path: path.to_path_buf(),
                detail: format!("session {session} names the item {}, {how}", id.0),
            })
        };
        if !seen.insert(id.0) {
            return Err(broken("which is its own ancestor"));
        }
        let mut rows = statement.query(params![IdValue(session.0), id])?;
        let Some(row) = rows.next()? else {
            return Err(broken("which is missing"));
        };
        next = row.get(0)?;
        let parent = next.map(|key| ItemId(key.0));
        let id = ItemId(id.0);
        let kind = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        let json = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
        let changes = changes.remove(&id).unwrap_or_default();
        let body = row::decode_body(kind, json, changes).map_err(|error| decode_error(3, error))?;
        let at = Time(from_sql(row.get(1)?));
        items.extend(body.map(|body| Arc::new(Item { id, parent, at, body })));
    }
    items.reverse();
    Ok(items)
}

fn changes(connection: &Connection, session: SessionId) -> Result<HashMap<ItemId, Vec<Change>>, StoreError> {
    let mut all: HashMap<ItemId, Vec<Change>> = HashMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT item, path, before, after, before_kind, after_kind FROM changes WHERE session = ?1 ORDER BY item, seq",
    )?;
    let mut rows = statement.query([IdValue(session.0)])?;
    while let Some(row) = rows.next()? {
        let version =
            |column: usize| -> rusqlite::Result<_> { Ok(row::version(row.get(column)?, row.get(column + 2)?)) };
        let change = Change {
            path: row.get::<_, PathValue>(1)?.0,
            before: version(2)?,
            after: version(3)?,
        };
        all.entry(ItemId(row.get::<_, IdValue>(0)?.0)).or_default().push(change);
    }
    Ok(all)
}

/// The metadata in a row of [`SELECT_META`], without subtasks.
pub(crate) fn meta(row: &Row<'_>) -> rusqlite::Result<SessionMeta> {
    let parent = row.get::<_, Option<IdValue>>(17)?.map(|key| SessionId(key.0));
    let call = row.get::<_, Option<String>>(18)?.unwrap_or_default();
    Ok(SessionMeta {
        id: SessionId(row.get::<_, IdValue>(0)?.0),
        title: row.get(1)?,
        root: row.get::<_, PathValue>(2)?.0,
        model: row.get(3)?,
        created: Time(from_sql(row.get(4)?)),
        updated: Time(from_sql(row.get(5)?)),
        items: from_sql(row.get(6)?),
        totals: totals(row, 7)?,
        parent: parent.map(|session| ParentCall {
            session,
            call: call.into(),
        }),
    })
}

/// Requests, tokens and cost, in nine columns from `first`.
pub(crate) fn totals(row: &Row<'_>, first: usize) -> rusqlite::Result<Totals> {
    Ok(Totals {
        requests: from_sql(row.get(first)?),
        usage: usage(row, first + 1)?,
        cost: Cost {
            nano_usd: row.get(first + 8)?,
        },
    })
}

fn record(row: &Row<'_>) -> rusqlite::Result<RequestRecord> {
    let sections = row.get_ref(18)?.as_str()?;
    let prompt = row.get_ref(19)?.as_str_or_null()?;
    let facts = row.get_ref(20)?.as_str_or_null()?;
    Ok(RequestRecord {
        id: RequestId(row.get::<_, IdValue>(0)?.0),
        item: row.get::<_, Option<IdValue>>(1)?.map(|key| ItemId(key.0)),
        purpose: row.get(2)?,
        model: row.get(3)?,
        attempt: row.get(4)?,
        at: Time(from_sql(row.get(5)?)),
        first_chunk: row.get::<_, Option<i64>>(6)?.map(from_sql),
        total: from_sql(row.get(7)?),
        usage: usage(row, 8)?,
        cost: row.get::<_, Option<i64>>(15)?.map(|nano_usd| Cost { nano_usd }),
        outcome: RequestEnd::from_name(row.get_ref(16)?.as_str()?, row.get(17)?),
        sections: row::decode_sections(sections).map_err(|error| decode_error(18, error))?,
        prompt: prompt
            .map(row::decode_prompt)
            .transpose()
            .map_err(|error| decode_error(19, error))?,
        facts: facts
            .map_or(Ok(RequestFacts::default()), row::decode_facts)
            .map_err(|error| decode_error(20, error))?,
    })
}

/// Tokens, in seven columns from `first`.
fn usage(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    let tokens = |column: usize| Ok::<u64, rusqlite::Error>(from_sql(row.get(first + column)?));
    Ok(Usage {
        input: tokens(0)?,
        cache_read: tokens(1)?,
        cache_write: tokens(2)?,
        cache_write_1h: tokens(3)?,
        output: tokens(4)?,
        thinking: tokens(5)?,
        estimated: tokens(6)? != 0,
    })
}
