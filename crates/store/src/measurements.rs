//! Measurements for statistics: turns, calls, and how much of each edit remained.

use crate::error::StoreError;
use crate::row::{NOT_STORED, version};
use crate::sql_value::{IdValue, PathValue, from_sql, to_sql};
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, Row, params};
use session::{
    ApprovalOutcome, BlobId, CallEnd, CallRecord, Change, EditFact, ItemId, LineCounts, SessionId, SurvivalPoint,
    SurvivalRecord, Time, TurnIntent, TurnRecord,
};
use std::path::PathBuf;

/// Everything that was measured in a period.
#[derive(Debug, Default)]
pub struct Measurements {
    /// The turns, oldest first.
    pub turns: Vec<(SessionId, TurnRecord)>,
    /// The calls, oldest first.
    pub calls: Vec<(SessionId, CallRecord)>,
    /// The survival of edits.
    pub survival: Vec<SurvivalRecord>,
}

/// A change of a file by a call, to measure how much of it remains.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackedEdit {
    /// The session.
    pub session: SessionId,
    /// The item.
    pub item: ItemId,
    /// The project.
    pub root: PathBuf,
    /// The file, relative to the project if inside it.
    pub path: PathBuf,
    /// When the call started.
    pub at: Time,
    /// The content before; `None` if there was no file.
    pub before: Option<BlobId>,
    /// The content after; `None` if there is no file.
    pub after: Option<BlobId>,
    /// The points that were already measured.
    pub measured: Vec<SurvivalPoint>,
}

pub(crate) fn insert_turn(connection: &Connection, session: SessionId, turn: &TurnRecord) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO turns (session, number, intent, at, total, mode, model, steps, ending)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            IdValue(session.0),
            turn.number,
            turn.intent.name(),
            to_sql(turn.at.0),
            to_sql(turn.total),
            turn.mode,
            turn.model,
            turn.steps,
            turn.ending,
        ])?;
    Ok(())
}

pub(crate) fn insert_call(connection: &Connection, session: SessionId, call: &CallRecord) -> rusqlite::Result<()> {
    let edits: Vec<String> = call
        .edits
        .iter()
        .map(|edit| format!("{}:{}", edit.format, edit.method))
        .collect();
    connection
        .prepare_cached(
            "INSERT INTO calls (session, item, call, tool, server, at, millis, waited, model, mode, turn, ending, approval,
                    output, edits, files, added, removed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            IdValue(session.0),
            IdValue(call.item.0),
            call.call.as_str(),
            call.tool,
            call.server,
            to_sql(call.at.0),
            to_sql(call.millis),
            to_sql(call.waited),
            call.model,
            call.mode,
            call.turn,
            call.end.name(),
            call.approval.name(),
            to_sql(call.output),
            edits.join(" "),
            to_sql(call.files),
            to_sql(call.lines.added),
            to_sql(call.lines.removed),
        ])?;
    Ok(())
}

pub(crate) fn insert_survival(connection: &Connection, record: &SurvivalRecord) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO survival (session, item, path, point, at, share) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            IdValue(record.session.0),
            IdValue(record.item.0),
            PathValue::value(&record.path),
            record.point.name(),
            to_sql(record.at.0),
            record.share,
        ])?;
    Ok(())
}

/// Everything that was measured since then.
pub(crate) fn read(connection: &Connection, since: Time) -> Result<Measurements, StoreError> {
    let snapshot = connection.unchecked_transaction()?;
    let since = to_sql(since.0);
    let turns = snapshot
        .prepare_cached(
            "SELECT session, number, intent, at, total, mode, model, steps, ending FROM turns WHERE at >= ?1 ORDER BY seq",
        )?
        .query_map([since], turn)?
        .collect::<Result<_, _>>()?;
    let calls = snapshot
        .prepare_cached(
            "SELECT session, item, call, tool, server, at, millis, waited, model, mode, turn, ending, approval, output,
                    edits, files, added, removed
             FROM calls WHERE at >= ?1 ORDER BY seq",
        )?
        .query_map([since], call)?
        .collect::<Result<_, _>>()?;
    let survival = snapshot
        .prepare_cached("SELECT session, item, path, point, at, share FROM survival WHERE at >= ?1 ORDER BY at")?
        .query_map([since], survival)?
        .collect::<Result<_, _>>()?;
    Ok(Measurements { turns, calls, survival })
}

/// The changes of regular files by calls since then, with the points that were measured.
pub(crate) fn tracked_edits(connection: &Connection, since: Time) -> Result<Vec<TrackedEdit>, StoreError> {
    let snapshot = connection.unchecked_transaction()?;
    let mut points =
        snapshot.prepare_cached("SELECT point FROM survival WHERE session = ?1 AND item = ?2 AND path = ?3")?;
    let mut statement = snapshot.prepare_cached(&format!(
        "SELECT c.session, c.item, s.root, e.path, c.at, e.before, e.after, e.before_kind, e.after_kind
         FROM calls AS c JOIN changes AS e ON e.session = c.session AND e.item = c.item
                         JOIN sessions AS s ON s.id = c.session
         WHERE c.at >= ?1 AND c.files > 0 AND coalesce(e.before_kind, 0) & {NOT_STORED} = 0
           AND coalesce(e.after_kind, 0) & {NOT_STORED} = 0
         ORDER BY c.seq, e.seq"
    ))?;
    let mut rows = statement.query([to_sql(since.0)])?;
    let mut edits = Vec::new();
    while let Some(row) = rows.next()? {
        let change = Change {
            path: row.get::<_, PathValue>(3)?.0,
            before: version(row.get(5)?, row.get(7)?),
            after: version(row.get(6)?, row.get(8)?),
        };
        let Some((before, after)) = change.contents() else {
            continue;
        };
        let (session, item) = (row.get::<_, IdValue>(0)?, row.get::<_, IdValue>(1)?);
        let measured = points
            .query_map(params![session, item, PathValue::value(&change.path)], |row| {
                named(row, 0, SurvivalPoint::ALL, SurvivalPoint::name)
            })?
            .collect::<Result<_, _>>()?;
        edits.push(TrackedEdit {
            session: SessionId(session.0),
            item: ItemId(item.0),
            root: row.get::<_, PathValue>(2)?.0,
            at: Time(from_sql(row.get(4)?)),
            before: before.cloned(),
            after: after.cloned(),
            path: change.path,
            measured,
        });
    }
    Ok(edits)
}

fn turn(row: &Row<'_>) -> rusqlite::Result<(SessionId, TurnRecord)> {
    let record = TurnRecord {
        number: row.get(1)?,
        intent: named(row, 2, TurnIntent::ALL, TurnIntent::name)?,
        at: Time(from_sql(row.get(3)?)),
        total: from_sql(row.get(4)?),
        mode: row.get(5)?,
        model: row.get(6)?,
        steps: row.get(7)?,
        ending: row.get(8)?,
    };
    Ok((SessionId(row.get::<_, IdValue>(0)?.0), record))
}

fn call(row: &Row<'_>) -> rusqlite::Result<(SessionId, CallRecord)> {
    let edits = row.get_ref(14)?.as_str()?.split_whitespace();
    let record = CallRecord {
        item: ItemId(row.get::<_, IdValue>(1)?.0),
        call: row.get::<_, String>(2)?.into(),
        tool: row.get(3)?,
        server: row.get(4)?,
        at: Time(from_sql(row.get(5)?)),
        millis: from_sql(row.get(6)?),
        waited: from_sql(row.get(7)?),
        model: row.get(8)?,
        mode: row.get(9)?,
        turn: row.get(10)?,
        end: named(row, 11, CallEnd::ALL, CallEnd::name)?,
        approval: named(row, 12, ApprovalOutcome::ALL, ApprovalOutcome::name)?,
        output: from_sql(row.get(13)?),
        edits: edits
            .filter_map(|edit| edit.split_once(':'))
            .map(|(format, method)| EditFact {
                format: format.into(),
                method: method.into(),
            })
            .collect(),
        files: from_sql(row.get(15)?),
        lines: LineCounts {
            added: from_sql(row.get(16)?),
            removed: from_sql(row.get(17)?),
        },
    };
    Ok((SessionId(row.get::<_, IdValue>(0)?.0), record))
}

fn survival(row: &Row<'_>) -> rusqlite::Result<SurvivalRecord> {
    Ok(SurvivalRecord {
        session: SessionId(row.get::<_, IdValue>(0)?.0),
        item: ItemId(row.get::<_, IdValue>(1)?.0),
        path: row.get::<_, PathValue>(2)?.0,
        point: named(row, 3, SurvivalPoint::ALL, SurvivalPoint::name)?,
        at: Time(from_sql(row.get(4)?)),
        share: row.get(5)?,
    })
}

/// The value with the name in a column.
fn named<T: Copy, const N: usize>(
    row: &Row<'_>,
    column: usize,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    all.into_iter().find(|value| name(*value) == text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(FromSqlError::InvalidType))
    })
}
