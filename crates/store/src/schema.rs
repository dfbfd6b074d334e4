//! The layout of the database, and the steps that bring an older one up to date.

use crate::fault::Fault;
use rusqlite::{Connection, TransactionBehavior};
use session::Error;
use std::path::Path;

/// Every step from an empty file to today's layout. A step that was released never changes; new ones are added at the end.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

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
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = match application {
        APPLICATION => 0,
        _ => connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
    };
    if tables > 0 {
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
