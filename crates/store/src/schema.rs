//! The layout of the database, and the steps that bring an older one up to date.

use crate::fault::Fault;
use rusqlite::{Connection, TransactionBehavior};
use session::Error;
use std::path::Path;

/// Every step from an empty file to today's layout. A step that was released never changes; new ones are added at the end.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];

/// Marks the file as ours in the header, as the SQLite format provides for: `hew1`.
const APPLICATION: i64 = 0x6865_7731;

/// The newest layout that this version knows.
pub(crate) fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the database to today's layout; each step happens wholly or not at all.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Fault> {
    let known = newest();
    if checked(connection, path)? == known {
        return Ok(());
    }
    for (step, number) in STEPS.iter().zip(1..) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have taken the step in the meantime.
        if checked(&transaction, path)? < number {
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", number)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// The layout that the file has, once it is clear that the file is ours and not too new.
fn checked(connection: &Connection, path: &Path) -> Result<i64, Fault> {
    // One statement, so that all of it is of the same moment.
    let (found, application, tables): (i64, i64, i64) = connection.query_row(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_user_version, pragma_application_id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if application != APPLICATION && tables > 0 {
        return Err(Fault::Refused(Error::Unusable {
            path: path.to_path_buf(),
            detail: "it belongs to another program".into(),
        }));
    }
    if found > newest() {
        return Err(Fault::Refused(Error::Newer {
            path: path.to_path_buf(),
            found,
            known: newest(),
        }));
    }
    Ok(found)
}
