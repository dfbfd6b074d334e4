//! Old file versions are deleted when they exceed the quota.

use crate::fixtures::{item, new_session, prompt, result};
use bytes::Bytes;
use rusqlite::Connection;
use session::{BlobId, Body, Change, FileKind, FileVersion, Item, SessionId, Store};
use std::sync::Arc;
use store::SqliteStore;

/// A session updated at this time, with one changed file.
async fn session(store: &SqliteStore, at: u64, content: &BlobId) -> SessionId {
    session_of(store, at, std::slice::from_ref(content)).await
}

/// A session updated at this time, with these originals of changed files.
async fn session_of(store: &SqliteStore, at: u64, originals: &[BlobId]) -> SessionId {
    let new = new_session();
    let id = new.id;
    let lease = store.create(new).await.unwrap();
    let first = prompt(None, "x");
    store.append(id, Arc::clone(&first)).await.unwrap();
    let change = |content: &BlobId| Change {
        path: "a".into(),
        before: Some(FileVersion {
            kind: FileKind::File { mode: Some(0o640) },
            ..content.clone().into()
        }),
        after: None,
    };
    let made = result(first.id, originals.iter().map(change).collect());
    let text = "later".into();
    let last = item(Some(made.id), at, Body::Notice { text });
    store.append(id, made).await.unwrap();
    store.append(id, last).await.unwrap();
    drop(lease);
    id
}

async fn is_kept(store: &SqliteStore, session: SessionId) -> bool {
    let loaded = store.load(session).await.unwrap();
    let version = loaded.items.iter().find_map(|item: &Arc<Item>| match &item.body {
        Body::Result { changes, .. } => changes[0].before.clone(),
        _ => None,
    });
    let version = version.unwrap();
    assert_eq!(version.kind, FileKind::File { mode: Some(0o640) });
    let there = store.get_blob(version.content.unwrap()).await.unwrap().is_some();
    assert_eq!(there, version.is_stored, "a version marked as stored exists");
    there
}

#[tokio::test]
async fn the_oldest_sessions_lose_their_versions_first_and_open_ones_never() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let big = |byte: u8| vec![byte; 1000];
    let mut sessions = Vec::new();
    for number in 0..4_u8 {
        // Two are in the database, two in the blob folder.
        let content = match number % 2 {
            0 => store.put_blob(Bytes::from(big(number))),
            _ => store.files().put(&big(number)).unwrap().id,
        };
        sessions.push(session(&store, 10_000 + u64::from(number), &content).await);
    }
    assert_eq!(store.prune(4_000).await.unwrap(), 4_000, "there is room");
    let oldest = store.open(sessions[0]).await.unwrap();
    assert_eq!(store.prune(3_000).await.unwrap(), 2_000);
    let mut kept = Vec::new();
    for id in &sessions {
        kept.push(is_kept(&store, *id).await);
    }
    assert_eq!(kept, [true, false, false, true]);
    store.integrity().await.unwrap();
    drop(oldest);
    store.delete(sessions[3]).await.unwrap();
    assert_eq!(store.files().contents(), []);
}

#[tokio::test]
async fn the_largest_originals_of_the_newest_session_are_deleted_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let megabytes = [2, 4, 3, 0];
    let contents = megabytes.map(|megabytes| vec![megabytes as u8; (megabytes << 20) + 10]);
    let originals = contents.map(|content| store.files().put(&content).unwrap().id);
    session_of(&store, 10_000, &originals).await;
    store.prune(8 << 20).await.unwrap();
    let kept = originals.each_ref().map(|id| store.files().has(id));
    assert_eq!(kept, [true, false, true, true]);
    store.prune(0).await.unwrap();
    let kept = originals.each_ref().map(|id| store.files().has(id));
    assert_eq!(kept, [false, false, false, true]);
}

#[tokio::test]
async fn blobs_outside_the_database_are_deleted_with_their_session() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let shared = store.files().put(b"shared").unwrap().id;
    let one = session(&store, 1, &shared).await;
    let two = session(&store, 2, &shared).await;
    assert_eq!(
        store.get_blob(shared.clone()).await.unwrap(),
        Some(Bytes::from_static(b"shared"))
    );
    store.delete(one).await.unwrap();
    assert!(is_kept(&store, two).await);
    store.delete(two).await.unwrap();
    assert!(!store.files().has(&shared));
}

#[tokio::test]
async fn a_database_without_version_kinds_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let old = Connection::open(folder.path().join("hew.db")).unwrap();
    old.execute_batch(include_str!("../../src/schema/1.sql")).unwrap();
    old.execute_batch(
        r#"PRAGMA application_id = 0x68657731; PRAGMA user_version = 1;
           INSERT INTO sessions (id, root, model, head, created, updated, items)
             VALUES (zeroblob(16), '/p', 'm', zeroblob(16), 1, 1, 1);
           INSERT INTO items (session, id, at, kind, body) VALUES (zeroblob(16), zeroblob(16), 1, 'result',
             '{"message":{"role":"user","parts":[]},"call":"c","tool":"t","title":""}');
           INSERT INTO changes (session, item, seq, path, after) VALUES (zeroblob(16), zeroblob(16), 0, 'a', zeroblob(32));
           INSERT INTO blobs (id, at, bytes) VALUES (zeroblob(32), 1, x'78');"#,
    )
    .unwrap();
    drop(old);
    let store = SqliteStore::open(folder.path()).unwrap();
    let loaded = store.load(SessionId(uuid::Uuid::nil())).await.unwrap();
    let Body::Result { changes, .. } = &loaded.items[0].body else {
        panic!("it is a result");
    };
    let content = BlobId("0".repeat(64).into());
    assert_eq!(
        (&changes[0].before, &changes[0].after),
        (&None, &Some(content.clone().into()))
    );
    assert_eq!(store.get_blob(content).await.unwrap(), Some(Bytes::from_static(b"x")));
    store.integrity().await.unwrap();
}
