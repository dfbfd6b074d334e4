//! Opens the database and classifies failures.

use crate::error::{StoreError, io_error};
use crate::schema;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use session::Error;
use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for another process that locks the database. Its transactions take milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Page size of a new database. A commit writes whole pages and usually changes a few hundred bytes in five or six of
/// them, so small pages write a third of the bytes that the default of 4096 would.
const PAGE_SIZE: i64 = 1024;

/// Settings of the writing connection. The writer checkpoints the write-ahead log when it is idle;
/// `wal_autocheckpoint` covers a writer that is never idle.
const WRITER_PRAGMAS: &str = "
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 8388608;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA cache_size = -400;
    PRAGMA temp_store = MEMORY;
";

/// Opens the database for writing and creates it if missing.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, Error> {
    create_file(path).map_err(|error| io_error(&error, path))?;
    open(path).map_err(|fault| fault.to_session_error(path))
}

/// Opens a database in memory.
pub(crate) fn in_memory() -> Result<Connection, Error> {
    let path = Path::new(":memory:");
    let open = || -> Result<Connection, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        schema::prepare(&mut connection, path)?;
        Ok(connection)
    };
    open().map_err(|fault| fault.to_session_error(path))
}

/// Opens the database for reading.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let open = || -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch("PRAGMA cache_size = -1000; PRAGMA temp_store = MEMORY;")?;
        Ok(connection)
    };
    open().map_err(|fault| fault.to_session_error(path))
}

/// Creates the folder and the empty file, accessible only to their owner. SQLite gives its other files the same
/// permissions.
fn create_file(path: &Path) -> std::io::Result<()> {
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

fn open(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if connection.is_readonly("main")? {
        return Err(StoreError::Rejected(Error::Unusable {
            path: path.to_path_buf(),
            detail: "the file is read-only".into(),
        }));
    }
    if is_new(path) {
        // A new database has nothing to lose, so nothing waits for the disk; the first checkpoint syncs it.
        connection.execute_batch("PRAGMA synchronous = OFF")?;
        connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    }
    enable_wal(&connection)?;
    schema::prepare(&mut connection, path)?;
    connection.execute_batch(WRITER_PRAGMAS)?;
    Ok(connection)
}

fn is_new(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() == 0)
}

/// Switches to the write-ahead log. Processes that open a new database at the same moment can conflict here, and
/// SQLite does not wait.
fn enable_wal(connection: &Connection) -> Result<(), StoreError> {
    let start = Instant::now();
    loop {
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Ok(_) => return Ok(()),
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
