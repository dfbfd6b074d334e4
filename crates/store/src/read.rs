//! Each question to the database as SQL.

use crate::apply::unknown;
use crate::beside;
use crate::blob;
use crate::fault::Fault;
use crate::files;
use crate::row::{self, UNKEPT};
use crate::subtasks;
use crate::value::{Key, Location, number};
use bytes::Bytes;
use model::{Cost, Usage};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use session::{BlobId, Change, Error, Item, ItemId, Loaded, Meta, Parent, Record, RequestId, SessionId, Time, Totals};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uuid::Uuid;

/// The fewest characters by which a session is found.
const SHORTEST: usize = 4;

/// Sessions that are named when several fit.
const NAMED: usize = 5;

/// What is known of a session, by itself.
pub(crate) const META: &str = "SELECT id, title, root, model, created, updated, items, requests, input, cache_read,
                           cache_write, cache_write_1h, output, thinking, estimated, cost, head, parent, call FROM sessions";

/// A session, from its first item to its head.
pub(crate) fn load(connection: &Connection, session: SessionId, path: &Path) -> Result<Loaded, Fault> {
    // One transaction, so that all of it is of the same moment.
    let snapshot = connection.unchecked_transaction()?;
    let found = snapshot
        .prepare_cached(&format!("{META} WHERE id = ?1"))?
        .query_row([Key(session.0)], |row| Ok((meta(row)?, row.get::<_, Option<Key>>(16)?)))
        .optional()?;
    let Some((mut meta, head)) = found else {
        return Err(unknown(session));
    };
    subtasks::add_up(&snapshot, std::slice::from_mut(&mut meta))?;
    let items = branch(&snapshot, session, head, path)?;
    Ok(Loaded {
        waiting: beside::waiting(&snapshot, session)?,
        roots: beside::roots(&snapshot, session)?,
        meta,
        items,
    })
}

/// The items of a session whose ids begin or end like this, on any branch.
pub(crate) fn items_like(connection: &Connection, session: SessionId, part: &str) -> Result<Vec<ItemId>, Fault> {
    let digits: String = part.chars().filter(|c| *c != '-').collect();
    let mut statement = connection.prepare_cached("SELECT id FROM items WHERE session = ?1 ORDER BY seq")?;
    let rows = statement.query_map([Key(session.0)], |row| Ok(ItemId(row.get::<_, Key>(0)?.0)))?;
    let ids = rows.collect::<Result<Vec<_>, _>>()?;
    let is_like = |id: &ItemId| {
        let text = id.0.as_simple().to_string();
        text.starts_with(&digits) || text.ends_with(&digits)
    };
    Ok(ids.into_iter().filter(is_like).collect())
}

/// From the first item of a session to this one.
pub(crate) fn path_to(
    connection: &Connection,
    session: SessionId,
    item: ItemId,
    path: &Path,
) -> Result<Vec<Arc<Item>>, Fault> {
    let snapshot = connection.unchecked_transaction()?;
    branch(&snapshot, session, Some(Key(item.0)), path)
}

/// The sessions of a project, or all, newest first.
pub(crate) fn list(connection: &Connection, root: Option<PathBuf>) -> Result<Vec<Meta>, Fault> {
    let root = root.map(|root| Location::value(&root));
    let mut statement = connection.prepare_cached(&format!(
        "{META} WHERE items > 0 AND (?1 IS NULL OR root = ?1) ORDER BY updated DESC, id DESC"
    ))?;
    let rows = statement.query_map([root], meta)?;
    let mut sessions: Vec<Meta> = rows.collect::<Result<_, _>>()?;
    subtasks::add_up(connection, &mut sessions)?;
    Ok(sessions)
}

/// The session whose id begins like this.
pub(crate) fn find(connection: &Connection, prefix: &str) -> Result<SessionId, Fault> {
    let digits: String = prefix.chars().filter(|c| *c != '-').collect();
    let is_id = digits.chars().all(|c| c.is_ascii_hexdigit()) && (SHORTEST..=32).contains(&digits.len());
    let nobody = || Fault::Refused(Error::Unknown(prefix.to_owned()));
    if !is_id {
        return Err(nobody());
    }
    let bound = |fill: &str| Uuid::try_parse(&format!("{digits}{}", fill.repeat(32 - digits.len())));
    let (Ok(first), Ok(last)) = (bound("0"), bound("f")) else {
        return Err(nobody());
    };
    // A whole id also finds a session in which nothing has happened yet.
    let fewest = i64::from(first != last);
    let mut statement = connection.prepare_cached(
        "SELECT id FROM sessions WHERE id BETWEEN ?1 AND ?2 AND items >= ?3 ORDER BY id DESC LIMIT ?4",
    )?;
    let found: Vec<SessionId> = statement
        .query_map(params![Key(first), Key(last), fewest, NAMED as i64], |row| {
            Ok(SessionId(row.get::<_, Key>(0)?.0))
        })?
        .collect::<Result<_, _>>()?;
    match found.as_slice() {
        [] => Err(nobody()),
        [only] => Ok(*only),
        several => Err(Fault::Refused(Error::Ambiguous {
            prefix: prefix.to_owned(),
            matches: several.iter().map(SessionId::to_string).collect(),
        })),
    }
}

/// The session that was last worked on; a subtask is worked on by its parent.
pub(crate) fn last(connection: &Connection) -> Result<SessionId, Fault> {
    let newest: Option<Key> = connection
        .prepare_cached(
            "SELECT id FROM sessions WHERE items > 0 AND parent IS NULL ORDER BY updated DESC, id DESC LIMIT 1",
        )?
        .query_row([], |row| row.get(0))
        .optional()?;
    match newest {
        Some(key) => Ok(SessionId(key.0)),
        None => Err(Fault::Refused(Error::Unknown("last".into()))),
    }
}

/// The requests of a session and its subtasks, oldest first.
pub(crate) fn records(connection: &Connection, session: SessionId) -> Result<Vec<Record>, Fault> {
    let mut records = Vec::new();
    for session in subtasks::tree(connection, session)? {
        records.append(&mut own_records(connection, session)?);
    }
    records.sort_by_key(|record| (record.at, record.id));
    Ok(records)
}

fn own_records(connection: &Connection, session: SessionId) -> Result<Vec<Record>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT id, item, purpose, model, attempt, at, first_chunk, total, input, cache_read, cache_write, cache_write_1h,
                output, thinking, estimated, cost, outcome, sections, prompt
         FROM requests WHERE session = ?1 ORDER BY at, id",
    )?;
    let rows = statement.query_map([Key(session.0)], record)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Bytes that were kept.
pub(crate) fn bytes(connection: &Connection, id: &BlobId, path: &Path) -> Result<Option<Bytes>, Fault> {
    let Some(key) = blob::key(id) else {
        return Ok(None);
    };
    let bytes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM blobs WHERE id = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    match bytes {
        Some(bytes) => Ok(Some(bytes.into())),
        None => files::read(path, id),
    }
}

/// Checks every page, and that nothing names what is not there.
pub(crate) fn integrity(connection: &Connection, path: &Path) -> Result<(), Fault> {
    let damaged = |detail: String| {
        Fault::Refused(Error::Damaged {
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
            "items follow items that are not there",
        ),
        (
            "SELECT count(*) FROM sessions AS s WHERE head IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM items WHERE session = s.id AND id = s.head)",
            "sessions end with items that are not there",
        ),
        (
            "SELECT count(*) FROM sessions AS s WHERE items <> (SELECT count(*) FROM items WHERE session = s.id)",
            "sessions count their items wrongly",
        ),
    ] {
        let wrong: i64 = connection.query_row(question, [], |row| row.get(0))?;
        if wrong > 0 {
            return Err(damaged(format!("{wrong} {finding}")));
        }
    }
    match missing(connection, path)? {
        0 => Ok(()),
        wrong => Err(damaged(format!("{wrong} file versions are not there"))),
    }
}

/// How many versions of files should be there and are not.
fn missing(connection: &Connection, path: &Path) -> Result<usize, Fault> {
    let depot = files::beside(path);
    let mut statement = connection.prepare(&format!(
        "SELECT id FROM (SELECT before AS id FROM changes WHERE coalesce(before_kind, 0) & {UNKEPT} = 0
                         UNION SELECT after FROM changes WHERE coalesce(after_kind, 0) & {UNKEPT} = 0)
         WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM blobs)"
    ))?;
    let ids = statement.query_map([], |row| Ok(blob::hex(&row.get::<_, Vec<u8>>(0)?)))?;
    let ids = ids.collect::<Result<Vec<BlobId>, _>>()?;
    Ok(ids.iter().filter(|id| !depot.has(id)).count())
}

/// That a column holds JSON that cannot be read.
pub(crate) fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

fn branch(
    connection: &Connection,
    session: SessionId,
    head: Option<Key>,
    path: &Path,
) -> Result<Vec<Arc<Item>>, Fault> {
    let mut changes = changes(connection, session)?;
    let mut statement =
        connection.prepare_cached("SELECT parent, at, kind, body FROM items WHERE session = ?1 AND id = ?2")?;
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    let mut next = head;
    while let Some(id) = next {
        let broken = |how: &str| {
            Fault::Refused(Error::Damaged {
                path: path.to_path_buf(),
                detail: format!("session {session} names the item {}, {how}", id.0),
            })
        };
        if !seen.insert(id.0) {
            return Err(broken("which follows itself"));
        }
        let mut rows = statement.query(params![Key(session.0), id])?;
        let Some(row) = rows.next()? else {
            return Err(broken("which is not there"));
        };
        next = row.get(0)?;
        let parent = next.map(|key| ItemId(key.0));
        let id = ItemId(id.0);
        let kind = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        let json = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
        let changes = changes.remove(&id).unwrap_or_default();
        let body = row::decode_body(kind, json, changes).map_err(|error| unreadable(3, error))?;
        let at = Time(number(row.get(1)?));
        items.extend(body.map(|body| Arc::new(Item { id, parent, at, body })));
    }
    items.reverse();
    Ok(items)
}

fn changes(connection: &Connection, session: SessionId) -> Result<HashMap<ItemId, Vec<Change>>, Fault> {
    let mut all: HashMap<ItemId, Vec<Change>> = HashMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT item, path, before, after, before_kind, after_kind FROM changes WHERE session = ?1 ORDER BY item, seq",
    )?;
    let mut rows = statement.query([Key(session.0)])?;
    while let Some(row) = rows.next()? {
        let version =
            |column: usize| -> rusqlite::Result<_> { Ok(row::version(row.get(column)?, row.get(column + 2)?)) };
        let change = Change {
            path: row.get::<_, Location>(1)?.0,
            before: version(2)?,
            after: version(3)?,
        };
        all.entry(ItemId(row.get::<_, Key>(0)?.0)).or_default().push(change);
    }
    Ok(all)
}

/// A session by itself, from a row of [`META`].
pub(crate) fn meta(row: &Row<'_>) -> rusqlite::Result<Meta> {
    let parent = row.get::<_, Option<Key>>(17)?.map(|key| SessionId(key.0));
    let call = row.get::<_, Option<String>>(18)?.unwrap_or_default();
    Ok(Meta {
        id: SessionId(row.get::<_, Key>(0)?.0),
        title: row.get(1)?,
        root: row.get::<_, Location>(2)?.0,
        model: row.get(3)?,
        created: Time(number(row.get(4)?)),
        updated: Time(number(row.get(5)?)),
        items: number(row.get(6)?),
        totals: totals(row, 7)?,
        parent: parent.map(|session| Parent {
            session,
            call: call.into(),
        }),
    })
}

/// Requests, tokens and money, in the nine columns from this one on.
pub(crate) fn totals(row: &Row<'_>, first: usize) -> rusqlite::Result<Totals> {
    Ok(Totals {
        requests: number(row.get(first)?),
        usage: usage(row, first + 1)?,
        cost: Cost {
            nano_usd: row.get(first + 8)?,
        },
    })
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let sections = row.get_ref(17)?.as_str()?;
    let prompt = row.get_ref(18)?.as_str_or_null()?;
    Ok(Record {
        id: RequestId(row.get::<_, Key>(0)?.0),
        item: row.get::<_, Option<Key>>(1)?.map(|key| ItemId(key.0)),
        purpose: row.get(2)?,
        model: row.get(3)?,
        attempt: row.get(4)?,
        at: Time(number(row.get(5)?)),
        first_chunk: row.get::<_, Option<i64>>(6)?.map(number),
        total: number(row.get(7)?),
        usage: usage(row, 8)?,
        cost: row.get::<_, Option<i64>>(15)?.map(|nano_usd| Cost { nano_usd }),
        outcome: row.get(16)?,
        sections: row::decode_sections(sections).map_err(|error| unreadable(17, error))?,
        prompt: prompt
            .map(row::decode_prompt)
            .transpose()
            .map_err(|error| unreadable(18, error))?,
    })
}

/// The tokens in the seven columns from this one on.
fn usage(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    let tokens = |column: usize| Ok::<u64, rusqlite::Error>(number(row.get(first + column)?));
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
