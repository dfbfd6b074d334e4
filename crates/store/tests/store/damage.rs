//! Unusable databases and folders: each has a clear error, and nothing is overwritten.

use crate::fixtures::{new_session, prompt};
use rusqlite::Connection;
use session::{Error, Store};
use std::path::Path;
use store::SqliteStore;

/// Opens an unusable folder and returns the error.
fn refusal(folder: &Path) -> Error {
    match SqliteStore::open(folder) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

#[test]
fn a_file_that_is_not_a_database_is_reported_and_left_unchanged() {
    let half = {
        let folder = tempfile::tempdir().unwrap();
        drop(SqliteStore::open(folder.path()).unwrap());
        let whole = std::fs::read(folder.path().join("hew.db")).unwrap();
        whole[..whole.len() / 2].to_vec()
    };
    let mut scrambled = half.clone();
    scrambled[100..].fill(0xa5);
    for (what, bytes) in [
        ("text", b"this is not a database, it is a note to myself\n".repeat(100)),
        ("half a database", half),
        ("pages of rubbish", scrambled),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hew.db");
        std::fs::write(&path, &bytes).unwrap();
        let error = refusal(folder.path());
        assert!(matches!(error, Error::Damaged { .. }), "{what}: {error}");
        assert!(error.to_string().contains("hew.db is damaged: "), "{what}: {error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{what} was changed");
    }
}

#[test]
fn an_empty_file_becomes_a_database() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hew.db"), b"").unwrap();
    drop(SqliteStore::open(folder.path()).unwrap());
}

#[test]
fn a_database_of_a_newer_version_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(folder.path()).unwrap());
    let path = folder.path().join("hew.db");
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 1_000).unwrap();
    drop(other);
    let error = refusal(folder.path());
    assert!(
        matches!(
            error,
            Error::Newer {
                found: 1_000,
                known: 7,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_database_of_another_program_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let other = Connection::open(folder.path().join("hew.db")).unwrap();
    other
        .execute_batch("CREATE TABLE sessions (name TEXT); INSERT INTO sessions VALUES ('x')")
        .unwrap();
    let error = refusal(folder.path());
    assert!(error.to_string().ends_with("it belongs to another program"), "{error}");
    let names: i64 = other
        .query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))
        .unwrap();
    assert_eq!(names, 1);
}

#[test]
fn a_folder_that_cannot_be_created_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    for path in [file.clone(), file.join("data"), file.join("deep/er")] {
        let error = refusal(&path);
        assert!(matches!(error, Error::Unusable { .. }), "{error}");
        assert!(
            error.to_string().ends_with("a component of its path is not a folder"),
            "{error}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_is_reported() {
    // Not even root can create files there.
    let error = refusal(Path::new("/proc/self/hew"));
    assert!(matches!(error, Error::Unusable { .. }), "{error}");
    let error = refusal(Path::new("/proc/self"));
    assert!(matches!(error, Error::Unusable { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_read_only_database_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(folder.path()).unwrap());
    let path = folder.path().join("hew.db");
    let set = |mode| {
        for path in [path.as_path(), folder.path()] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o500);
    let is_denied = std::fs::OpenOptions::new().write(true).open(&path).is_err();
    if is_denied {
        let error = refusal(folder.path());
        assert!(matches!(error, Error::Unusable { .. }), "{error}");
    }
    set(0o700);
    drop(SqliteStore::open(folder.path()).unwrap());
}

#[cfg(unix)]
#[tokio::test]
async fn the_database_is_accessible_only_to_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("share/hew");
    let store = SqliteStore::open(&data).unwrap();
    let new = new_session();
    let session = new.id;
    let _lease = store.create(new).await.unwrap();
    store.append(session, prompt(None, "x")).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for name in ["hew.db", "hew.db-wal", "hew.db-shm"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    drop(store);
    assert!(!data.join("hew.db-wal").exists(), "the log is copied back at the end");
}

#[tokio::test]
async fn corruption_found_while_reading_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let new = new_session();
    let session = new.id;
    let store = SqliteStore::open(folder.path()).unwrap();
    drop(store.create(new).await.unwrap());
    store.append(session, prompt(None, &"x".repeat(100_000))).await.unwrap();
    drop(store);
    let other = Connection::open(folder.path().join("hew.db")).unwrap();
    other.execute("UPDATE items SET body = '{\"message\":'", []).unwrap();
    drop(other);
    let store = SqliteStore::open(folder.path()).unwrap();
    assert!(matches!(store.load(session).await, Err(Error::Damaged { .. })));
    store.integrity().await.unwrap();
    drop(store);
    let other = Connection::open(folder.path().join("hew.db")).unwrap();
    other.execute("DELETE FROM items", []).unwrap();
    drop(other);
    let store = SqliteStore::open(folder.path()).unwrap();
    assert!(matches!(store.load(session).await, Err(Error::Damaged { .. })));
    assert!(matches!(store.integrity().await, Err(Error::Damaged { .. })));
}
