//! Deletes old file versions to stay within the quota.

use crate::apply::{now, unknown_session};
use crate::blob;
use crate::blob_files;
use crate::error::StoreError;
use crate::row::NOT_STORED;
use crate::sql_value::{IdValue, from_sql, to_sql};
use rusqlite::{Connection, OptionalExtension as _, params};
use session::{BlobId, SessionId};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// An unreferenced blob is deleted when it is older than this; a running session has referenced it by then.
const ORPHAN_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of all file versions, in the database and in the blob folder.
pub(crate) fn used_bytes(connection: &Connection, path: &Path) -> Result<u64, StoreError> {
    let inside: i64 = connection.query_row("SELECT coalesce(sum(length(bytes)), 0) FROM blobs", [], |row| {
        row.get(0)
    })?;
    Ok(from_sql(inside).saturating_add(blob_files::blob_dir(path).used()))
}

/// Sessions with file versions, least recently used first.
pub(crate) fn sessions_by_age(connection: &Connection) -> Result<Vec<SessionId>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT id FROM sessions WHERE id IN (SELECT session FROM changes) ORDER BY updated, id")?;
    let rows = statement.query_map([], |row| Ok(SessionId(row.get::<_, IdValue>(0)?.0)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes old unreferenced blobs in the blob folder.
pub(crate) fn delete_orphans(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let blobs = blob_files::blob_dir(path);
    blobs.sweep();
    let mut named: HashSet<BlobId> = HashSet::new();
    let mut statement = connection.prepare("SELECT before FROM changes UNION SELECT after FROM changes")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        named.extend(row.get::<_, Option<Vec<u8>>>(0)?.map(|key| blob::hex(&key)));
    }
    let recent = SystemTime::now().checked_sub(ORPHAN_AGE);
    for blob in blobs.contents() {
        if recent.is_some_and(|recent| blob.at < recent) && !named.contains(&blob.id) {
            // A failed removal is retried next time.
            blobs.remove(&blob.id).ok();
        }
    }
    Ok(())
}

/// A larger file version is deleted before smaller ones.
const LARGE: u64 = 1 << 20;

/// Which versions of a session are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionSelection {
    /// Versions that only a redo needs.
    Redo,
    /// The largest files until this many bytes are free.
    Largest { bytes: u64 },
    /// All.
    All,
}

/// Deletes blobs that only this session references. The list of its changes stays.
pub(crate) fn forget_versions(
    connection: &Connection,
    session: SessionId,
    which: VersionSelection,
    path: &Path,
) -> Result<(), StoreError> {
    let mut own = exclusive_blobs(connection, session)?;
    if own.is_empty()
        && !connection
            .prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?
            .exists([IdValue(session.0)])?
    {
        return Err(unknown_session(session));
    }
    let blobs = blob_files::blob_dir(path);
    match which {
        VersionSelection::Redo => {
            let mut is_original = connection.prepare_cached("SELECT 1 FROM changes WHERE before = ?1")?;
            let mut redo = Vec::new();
            for id in own {
                if !is_original.exists([blob::key(&id)])? {
                    redo.push(id);
                }
            }
            own = redo;
        }
        VersionSelection::Largest { bytes } => {
            let mut stored = connection.prepare_cached("SELECT length(bytes) FROM blobs WHERE id = ?1")?;
            let mut sized = Vec::new();
            for id in own {
                let size = match blobs.size(&id) {
                    Some(size) => Some(size),
                    None => stored
                        .query_row([blob::key(&id)], |row| row.get(0))
                        .optional()?
                        .map(from_sql),
                };
                sized.extend(size.filter(|size| *size > LARGE).map(|size| (size, id)));
            }
            sized.sort_by_key(|one| std::cmp::Reverse(one.0));
            let mut free = 0;
            own = Vec::new();
            for (size, id) in sized {
                if free >= bytes {
                    break;
                }
                free += size;
                own.push(id);
            }
        }
        VersionSelection::All => {}
    }
    for (column, kind) in [("before", "before_kind"), ("after", "after_kind")] {
        // Rows without a kind are files with unknown permissions.
        let mut mark = connection.prepare_cached(&format!(
            "UPDATE changes SET {kind} = coalesce({kind}, {}) | {NOT_STORED} WHERE session = ?1 AND {column} = ?2",
            crate::row::PLAIN_FILE
        ))?;
        for id in &own {
            mark.execute(params![IdValue(session.0), blob::key(id)])?;
        }
    }
    let mut statement = connection.prepare_cached("DELETE FROM blobs WHERE id = ?1")?;
    for id in &own {
        statement.execute([blob::key(id)])?;
    }
    remove_files(path, &own);
    Ok(())
}

/// The blobs that only this session references.
pub(crate) fn exclusive_blobs(connection: &Connection, session: SessionId) -> Result<Vec<BlobId>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT before FROM changes WHERE session = ?1 AND before IS NOT NULL
         UNION SELECT after FROM changes WHERE session = ?1 AND after IS NOT NULL
         EXCEPT SELECT before FROM changes WHERE session <> ?1
         EXCEPT SELECT after FROM changes WHERE session <> ?1
         EXCEPT SELECT id FROM prompt_blobs",
    )?;
    let rows = statement.query_map([IdValue(session.0)], |row| Ok(blob::hex(&row.get::<_, Vec<u8>>(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Removes blobs from the blob folder; one that cannot be removed is deleted later as an orphan.
pub(crate) fn remove_files(path: &Path, ids: &[BlobId]) {
    let blobs = blob_files::blob_dir(path);
    for id in ids {
        blobs.remove(id).ok();
    }
}

/// Deletes old unreferenced blobs in the database.
pub(crate) fn delete_unreferenced(connection: &Connection) -> Result<(), StoreError> {
    let before = now() - to_sql(u64::try_from(ORPHAN_AGE.as_millis()).unwrap_or(u64::MAX));
    connection.execute(
        "DELETE FROM blobs WHERE at < ?1 AND id NOT IN (SELECT before FROM changes WHERE before IS NOT NULL
                                                        UNION ALL SELECT after FROM changes WHERE after IS NOT NULL
                                                        UNION ALL SELECT id FROM prompt_blobs)",
        params![before],
    )?;
    Ok(())
}
