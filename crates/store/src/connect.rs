//! Opening the database, and telling apart what may be wrong with it.

use crate::fault::{Fault, unusable};
use crate::schema;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use session::Error;
use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long another process may hold the database before we give up. Its transactions take milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes in a page of a new database. A commit writes whole pages, and most change a few hundred bytes in each of five or
/// six: small pages make that a third of what the usual 4096 would.
const PAGE: i64 = 1024;

/// Settings of the writing connection. The writer copies the log back by itself when it pauses; `wal_autocheckpoint` is
/// for a writer that never does.
const WRITING: &str = "
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 8388608;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA cache_size = -400;
    PRAGMA temp_store = MEMORY;
";

/// Opens the database for writing, and makes it where there is none.
pub(crate) fn writing(path: &Path) -> Result<Connection, Error> {
    make(path).map_err(|error| unusable(&error, path))?;
    open(path).map_err(|fault| fault.told(path))
}

/// Opens a database that lives as long as the connection.
pub(crate) fn in_memory() -> Result<Connection, Error> {
    let path = Path::new(":memory:");
    let open = || -> Result<Connection, Fault> {
        let mut connection = Connection::open_in_memory()?;
        schema::prepare(&mut connection, path)?;
        Ok(connection)
    };
    open().map_err(|fault| fault.told(path))
}

/// Opens the database for reading beside a connection that writes.
pub(crate) fn reading(path: &Path) -> Result<Connection, Error> {
    let open = || -> Result<Connection, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch("PRAGMA cache_size = -1000; PRAGMA temp_store = MEMORY;")?;
        Ok(connection)
    };
    open().map_err(|fault| fault.told(path))
}

/// Makes the folder and the empty file, for nobody but their owner. SQLite gives its side files the same permissions.
fn make(path: &Path) -> std::io::Result<()> {
    if path.try_exists().unwrap_or(false) {
        return Ok(());
    }
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    let mut file = OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folder.mode(0o700);
        file.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        folder.create(parent)?;
    }
    match file.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn open(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    if connection.is_readonly("main")? {
        return Err(Fault::Refused(Error::Unusable {
            path: path.to_path_buf(),
            detail: "the file is read-only".into(),
        }));
    }
    if is_new(path) {
        // There is nothing to lose yet, so the disk is not waited for: the first pause syncs it all.
        connection.execute_batch("PRAGMA synchronous = OFF")?;
        connection.pragma_update(None, "page_size", PAGE)?;
    }
    log_ahead(&connection)?;
    schema::prepare(&mut connection, path)?;
    connection.execute_batch(WRITING)?;
    Ok(connection)
}

fn is_new(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() == 0)
}

/// Switches to the write-ahead log. Processes that open a new database at the same moment can get in each other's way
/// here, and SQLite does not wait by itself.
fn log_ahead(connection: &Connection) -> Result<(), Fault> {
    let start = Instant::now();
    loop {
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Ok(_) => return Ok(()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
