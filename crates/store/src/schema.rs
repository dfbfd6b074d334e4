//! The database schema and its migrations.

use crate::error::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use session::Error;
use std::path::Path;

/// All migrations from an empty file to the current schema. A released migration never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];

/// The application id in the file header: `hew1`.
const APPLICATION_ID: i64 = 0x6865_7731;

/// The current schema version.
pub(crate) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Migrates the database to the current schema; each migration is atomic.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let known = newest();
    if checked(connection, path)? == known {
        return Ok(());
    }
    for (step, number) in MIGRATIONS.iter().zip(1..) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have run this migration in the meantime.
        if checked(&transaction, path)? < number {
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", number)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// The schema version of the file; fails if the file belongs to another program or is too new.
fn checked(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    // One statement, for a consistent view.
    let (found, application, tables): (i64, i64, i64) = connection.query_row(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_user_version, pragma_application_id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(StoreError::Rejected(Error::Unusable {
            path: path.to_path_buf(),
            detail: "it belongs to another program".into(),
        }));
    }
    if found > newest() {
        return Err(StoreError::Rejected(Error::Newer {
            path: path.to_path_buf(),
            found,
            known: newest(),
        }));
    }
    Ok(found)
}
