//! Subtask sessions: a tree; its root includes the usage of all.

use crate::error::StoreError;
use crate::read::{SELECT_META, meta, totals};
use crate::sql_value::IdValue;
use rusqlite::{Connection, params};
use session::{SessionId, SessionMeta, Totals};
use std::collections::HashSet;

/// All descendants of a session. `UNION` terminates even if a corrupt file has a cycle.
const WITH_DESCENDANTS: &str = "WITH RECURSIVE below (id) AS (
       SELECT id FROM sessions WHERE parent = ?1
       UNION SELECT s.id FROM sessions AS s JOIN below ON s.parent = below.id)";

/// The direct subtasks of a session, oldest first.
pub(crate) fn children(connection: &Connection, session: SessionId) -> Result<Vec<SessionMeta>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "{SELECT_META} WHERE items > 0 AND parent = ?1 ORDER BY created, id"
    ))?;
    let rows = statement.query_map([IdValue(session.0)], meta)?;
    let mut children: Vec<SessionMeta> = rows.collect::<Result<_, _>>()?;
    add_subtask_totals(connection, &mut children)?;
    Ok(children)
}

/// A session and all its descendants.
pub(crate) fn with_descendants(connection: &Connection, session: SessionId) -> rusqlite::Result<Vec<SessionId>> {
    let mut statement =
        connection.prepare_cached(&format!("{WITH_DESCENDANTS} SELECT id FROM below WHERE id <> ?1"))?;
    let below = statement.query_map([IdValue(session.0)], |row| Ok(SessionId(row.get::<_, IdValue>(0)?.0)))?;
    std::iter::once(Ok(session)).chain(below).collect()
}

/// Adds the totals of subtasks to each session.
pub(crate) fn add_subtask_totals(connection: &Connection, sessions: &mut [SessionMeta]) -> Result<(), StoreError> {
    let parents: HashSet<SessionId> = connection
        .prepare_cached("SELECT DISTINCT parent FROM sessions WHERE parent IS NOT NULL")?
        .query_map([], |row| Ok(SessionId(row.get::<_, IdValue>(0)?.0)))?
        .collect::<Result<_, _>>()?;
    for meta in sessions.iter_mut().filter(|meta| parents.contains(&meta.id)) {
        let below = connection
            .prepare_cached(&format!(
                "{WITH_DESCENDANTS} SELECT coalesce(sum(requests), 0), coalesce(sum(input), 0), coalesce(sum(cache_read), 0),
                   coalesce(sum(cache_write), 0), coalesce(sum(cache_write_1h), 0), coalesce(sum(output), 0),
                   coalesce(sum(thinking), 0), coalesce(max(estimated), 0), coalesce(sum(cost), 0)
                 FROM sessions WHERE id IN (SELECT id FROM below WHERE id <> ?1)"
            ))?
            .query_row(params![IdValue(meta.id.0)], |row| totals(row, 0))?;
        meta.totals = sum(meta.totals, below);
    }
    Ok(())
}

fn sum(one: Totals, other: Totals) -> Totals {
    let mut usage = one.usage;
    usage += other.usage;
    let mut cost = one.cost;
    cost += other.cost;
    Totals {
        usage,
        cost,
        requests: one.requests + other.requests,
    }
}
