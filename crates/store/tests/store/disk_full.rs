//! A disk that fills up while sessions are written, on a small tmpfs.

use crate::fixtures::{draft, new_session, prompt, record, reply, result};
use bytes::Bytes;
use model::Chunk;
use session::{Change, Error, Item, Store};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use store::SqliteStore;

/// A disk of a few megabytes, if mounting is permitted.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn new(size: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        #[allow(clippy::disallowed_methods, reason = "a small disk has to be mounted")]
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            eprintln!("skipped: no permission to mount a small disk");
        }
        mounted.then_some(Disk { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills the disk.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("ballast");
        let mut size = 1 << 20;
        let mut file = std::fs::File::create(&path).unwrap();
        while size > 0 {
            if std::io::Write::write_all(&mut file, &vec![1; size]).is_err() {
                size /= 2;
            }
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        #[allow(clippy::disallowed_methods, reason = "the disk must be unmounted")]
        let status = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

#[tokio::test]
async fn a_full_disk_is_reported_and_saved_data_is_kept() {
    let Some(disk) = Disk::new("4m") else {
        return;
    };
    let store = SqliteStore::open(disk.path()).unwrap();
    let new = new_session();
    let session = new.id;
    let lease = store.create(new).await.unwrap();
    let mut kept: Vec<Arc<Item>> = Vec::new();
    let ballast = disk.fill();
    // The database has few free pages.
    let mut failed = Vec::new();
    for round in 0..200 {
        let large = prompt(kept.last().map(|item| item.id), &"word ".repeat(20_000));
        match store.append(session, Arc::clone(&large)).await {
            Ok(()) => kept.push(large),
            Err(error) => {
                assert!(matches!(error, Error::Full), "round {round}: {error}");
                failed.push(large);
                break;
            }
        }
    }
    let rejected = failed.pop().expect("no write failed on a full disk");
    // Descendants of a failed item fail with the same error.
    let child = prompt(Some(rejected.id), "small");
    let outcomes = [
        store.append(session, child).await,
        store.append(session, Arc::clone(&rejected)).await,
        store.rewind(session, rejected.id).await,
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(Error::Full)), "{outcome:?}");
    }
    // A file version and a draft arrive while the disk is full.
    let blob = store.put_blob(Bytes::from(vec![7; 300_000]));
    let change = Change {
        path: "a".into(),
        before: None,
        after: Some(blob.clone().into()),
    };
    let answer = draft(kept.last().map(|item| item.id));
    store.append_draft(session, answer.clone(), vec![Chunk::Text("word ".repeat(40_000))]);
    assert!(matches!(store.flush().await, Err(Error::Full)));
    let parent = kept.last().map(|item| item.id);
    if let Some(parent) = parent {
        let edited = result(parent, vec![change.clone()]);
        assert!(matches!(store.append(session, edited).await, Err(Error::Full)));
    }
    assert_eq!(store.load(session).await.unwrap().items, kept);
    store.integrity().await.unwrap();
    // There is space again.
    std::fs::remove_file(ballast).unwrap();
    store.flush().await.unwrap();
    store.append(session, Arc::clone(&rejected)).await.unwrap();
    kept.push(rejected);
    let edited = result(kept[kept.len() - 1].id, vec![change]);
    store.append(session, Arc::clone(&edited)).await.unwrap();
    kept.push(edited);
    let whole = reply(&answer, "word");
    store.record_request(session, record(1)).await.unwrap();
    assert_eq!(
        store.get_blob(blob).await.unwrap().map(|bytes| bytes.len()),
        Some(300_000)
    );
    assert_eq!(store.load(session).await.unwrap().items, kept);
    store.append(session, whole).await.unwrap();
    store.integrity().await.unwrap();
    drop(lease);
    drop(store);
    let store = SqliteStore::open(disk.path()).unwrap();
    store.integrity().await.unwrap();
    assert!(store.open(session).await.is_ok());
}

#[test]
fn a_new_database_on_a_full_disk_is_an_error() {
    let Some(disk) = Disk::new("64k") else {
        return;
    };
    let ballast = disk.fill();
    let outcome = SqliteStore::open(&disk.path().join("data"));
    assert!(matches!(outcome, Err(Error::Full)), "{:?}", outcome.err());
    std::fs::remove_file(ballast).unwrap();
}
