//! Sessions that come from other sessions: a tree, whose root answers for all of it.

use crate::fault::Fault;
use crate::read::{META, meta, totals};
use crate::value::Key;
use rusqlite::{Connection, params};
use session::{Meta, SessionId, Totals};
use std::collections::HashSet;

/// The sessions below a session, at any depth. `UNION` ends even where a damaged file has a circle.
const BELOW: &str = "WITH RECURSIVE below (id) AS (
       SELECT id FROM sessions WHERE parent = ?1
       UNION SELECT s.id FROM sessions AS s JOIN below ON s.parent = below.id)";

/// The subtasks of a session, oldest first.
pub(crate) fn children(connection: &Connection, session: SessionId) -> Result<Vec<Meta>, Fault> {
    let mut statement =
        connection.prepare_cached(&format!("{META} WHERE items > 0 AND parent = ?1 ORDER BY created, id"))?;
    let rows = statement.query_map([Key(session.0)], meta)?;
    let mut children: Vec<Meta> = rows.collect::<Result<_, _>>()?;
    add_up(connection, &mut children)?;
    Ok(children)
}

/// A session and all below it.
pub(crate) fn tree(connection: &Connection, session: SessionId) -> rusqlite::Result<Vec<SessionId>> {
    let mut statement = connection.prepare_cached(&format!("{BELOW} SELECT id FROM below WHERE id <> ?1"))?;
    let below = statement.query_map([Key(session.0)], |row| Ok(SessionId(row.get::<_, Key>(0)?.0)))?;
    std::iter::once(Ok(session)).chain(below).collect()
}

/// Adds to each session what its subtasks took.
pub(crate) fn add_up(connection: &Connection, sessions: &mut [Meta]) -> Result<(), Fault> {
    let parents: HashSet<SessionId> = connection
        .prepare_cached("SELECT DISTINCT parent FROM sessions WHERE parent IS NOT NULL")?
        .query_map([], |row| Ok(SessionId(row.get::<_, Key>(0)?.0)))?
        .collect::<Result<_, _>>()?;
    for meta in sessions.iter_mut().filter(|meta| parents.contains(&meta.id)) {
        let below = connection
            .prepare_cached(&format!(
                "{BELOW} SELECT coalesce(sum(requests), 0), coalesce(sum(input), 0), coalesce(sum(cache_read), 0),
                   coalesce(sum(cache_write), 0), coalesce(sum(cache_write_1h), 0), coalesce(sum(output), 0),
                   coalesce(sum(thinking), 0), coalesce(max(estimated), 0), coalesce(sum(cost), 0)
                 FROM sessions WHERE id IN (SELECT id FROM below WHERE id <> ?1)"
            ))?
            .query_row(params![Key(meta.id.0)], |row| totals(row, 0))?;
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
