//! Forgetting old versions of files, so that what is kept stays within its quota.

use crate::apply::{now, unknown};
use crate::blob;
use crate::fault::Fault;
use crate::files;
use crate::row::UNKEPT;
use crate::value::{Key, count, number};
use rusqlite::{Connection, params};
use session::{BlobId, SessionId};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A content that nothing names is forgotten when it is older than this: a session that runs has had the time to name it.
const ORPHAN: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of all versions of files, in the database and beside it.
pub(crate) fn used(connection: &Connection, path: &Path) -> Result<u64, Fault> {
    let inside: i64 = connection.query_row("SELECT coalesce(sum(length(bytes)), 0) FROM blobs", [], |row| {
        row.get(0)
    })?;
    Ok(number(inside).saturating_add(files::beside(path).used()))
}

/// Sessions that name versions of files, the one that was worked on longest ago first.
pub(crate) fn oldest(connection: &Connection) -> Result<Vec<SessionId>, Fault> {
    let mut statement = connection
        .prepare_cached("SELECT id FROM sessions WHERE id IN (SELECT session FROM changes) ORDER BY updated, id")?;
    let rows = statement.query_map([], |row| Ok(SessionId(row.get::<_, Key>(0)?.0)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Forgets contents beside the database that no session names, and that none can still be about to name.
pub(crate) fn orphans(connection: &Connection, path: &Path) -> Result<(), Fault> {
    let depot = files::beside(path);
    depot.sweep();
    let mut named: HashSet<BlobId> = HashSet::new();
    let mut statement = connection.prepare("SELECT before FROM changes UNION SELECT after FROM changes")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        named.extend(row.get::<_, Option<Vec<u8>>>(0)?.map(|key| blob::hex(&key)));
    }
    let recent = SystemTime::now().checked_sub(ORPHAN);
    for held in depot.contents() {
        if recent.is_some_and(|recent| held.at < recent) && !named.contains(&held.id) {
            // One that cannot be removed is tried again next time.
            depot.remove(&held.id).ok();
        }
    }
    Ok(())
}

/// Forgets the bytes of the versions that only this session names. What it changed stays known.
pub(crate) fn forget(connection: &Connection, session: SessionId, path: &Path) -> Result<(), Fault> {
    let own = own_contents(connection, session)?;
    if own.is_empty()
        && !connection
            .prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?
            .exists([Key(session.0)])?
    {
        return Err(unknown(session));
    }
    for (column, kind) in [("before", "before_kind"), ("after", "after_kind")] {
        // Files of which only the bytes were known have no kind yet: a file without noted permissions.
        connection.execute(
            &format!(
                "UPDATE changes SET {kind} = coalesce({kind}, {}) | {UNKEPT} WHERE session = ?1 AND {column} IS NOT NULL
                 AND {column} NOT IN (SELECT before FROM changes WHERE session <> ?1 AND before IS NOT NULL
                                      UNION ALL SELECT after FROM changes WHERE session <> ?1 AND after IS NOT NULL)",
                crate::row::PLAIN
            ),
            [Key(session.0)],
        )?;
    }
    let mut statement = connection.prepare_cached("DELETE FROM blobs WHERE id = ?1")?;
    for id in &own {
        statement.execute([blob::key(id)])?;
    }
    drop_files(path, &own);
    Ok(())
}

/// The contents that only this session names.
pub(crate) fn own_contents(connection: &Connection, session: SessionId) -> Result<Vec<BlobId>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT before FROM changes WHERE session = ?1 AND before IS NOT NULL
         UNION SELECT after FROM changes WHERE session = ?1 AND after IS NOT NULL
         EXCEPT SELECT before FROM changes WHERE session <> ?1
         EXCEPT SELECT after FROM changes WHERE session <> ?1
         EXCEPT SELECT id FROM prompt_blobs",
    )?;
    let rows = statement.query_map([Key(session.0)], |row| Ok(blob::hex(&row.get::<_, Vec<u8>>(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Removes contents beside the database; one that cannot be removed is an orphan, which is looked for later.
pub(crate) fn drop_files(path: &Path, ids: &[BlobId]) {
    let depot = files::beside(path);
    for id in ids {
        depot.remove(id).ok();
    }
}

/// Bytes in the database that nothing names and nobody can still be about to name.
pub(crate) fn unnamed(connection: &Connection) -> Result<(), Fault> {
    let before = now() - count(u64::try_from(ORPHAN.as_millis()).unwrap_or(u64::MAX));
    connection.execute(
        "DELETE FROM blobs WHERE at < ?1 AND id NOT IN (SELECT before FROM changes WHERE before IS NOT NULL
                                                        UNION ALL SELECT after FROM changes WHERE after IS NOT NULL
                                                        UNION ALL SELECT id FROM prompt_blobs)",
        params![before],
    )?;
    Ok(())
}
