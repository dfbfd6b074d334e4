//! Several processes on one database.

use crate::fixtures::{draft, new_session, prompt, record, reply};
use model::Chunk;
use session::{Error, Store};
use std::path::Path;
use std::sync::{Arc, Barrier};
use store::SqliteStore;

/// Writes its own session.
async fn work(store: &SqliteStore, steps: usize) -> session::SessionId {
    let new = new_session();
    let session = new.id;
    let _lease = store.create(new).await.unwrap();
    let mut parent = None;
    for step in 0..steps {
        let prompt_item = prompt(parent, &format!("step {step}"));
        store.append(session, Arc::clone(&prompt_item)).await.unwrap();
        let answer = draft(Some(prompt_item.id));
        store.append_draft(session, answer.clone(), vec![Chunk::Text("all ".into())]);
        if step % 3 == 0 {
            store.flush().await.unwrap();
        }
        drop(store.record_request(session, record(1)));
        store.append(session, reply(&answer, "all right")).await.unwrap();
        parent = Some(answer.id);
    }
    session
}

fn in_threads(count: usize, folder: &Path, run: impl Fn(SqliteStore) + Sync) {
    let start = Barrier::new(count);
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                start.wait();
                run(SqliteStore::open(folder).unwrap());
            });
        }
    });
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn several_processes_can_create_the_database_concurrently() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        in_threads(6, folder.path(), |store| {
            block_on(work(&store, 2));
        });
        let store = SqliteStore::open(folder.path()).unwrap();
        block_on(store.integrity()).unwrap();
        assert_eq!(block_on(store.list(None)).unwrap().len(), 6);
    }
}

#[test]
fn several_processes_write_their_sessions_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    in_threads(4, folder.path(), |store| {
        let session = block_on(work(&store, 50));
        assert_eq!(block_on(store.load(session)).unwrap().items.len(), 100);
    });
    let store = SqliteStore::open(folder.path()).unwrap();
    block_on(store.integrity()).unwrap();
    let all = block_on(store.list(None)).unwrap();
    let counts: Vec<(u64, u64)> = all.iter().map(|meta| (meta.items, meta.totals.requests)).collect();
    assert_eq!(counts, vec![(100, 50); 4]);
}

#[tokio::test]
async fn a_session_can_be_open_in_one_process_only() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (
        SqliteStore::open(folder.path()).unwrap(),
        SqliteStore::open(folder.path()).unwrap(),
    );
    let new = new_session();
    let session = new.id;
    let lease = one.create(new).await.unwrap();
    one.append(session, prompt(None, "x")).await.unwrap();
    assert!(matches!(other.open(session).await, Err(Error::Busy(id)) if id == session));
    assert!(matches!(other.delete(session).await, Err(Error::Busy(_))));
    assert_eq!(other.load(session).await.unwrap().items.len(), 1);
    drop(lease);
    let opened = other.open(session).await.unwrap();
    assert!(matches!(one.open(session).await, Err(Error::Busy(_))));
    drop(opened);
    let locks: Vec<_> = std::fs::read_dir(folder.path().join("locks")).unwrap().collect();
    assert!(locks.is_empty(), "{locks:?}");
}

#[test]
fn a_lease_is_never_held_by_two_processes() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let session = block_on(work(&store, 1));
    let holder = std::sync::Mutex::new(());
    in_threads(4, folder.path(), |store| {
        let mut turns = 0;
        while turns < 50 {
            match block_on(store.open(session)) {
                Ok(opened) => {
                    let lock = holder.try_lock();
                    assert!(lock.is_ok(), "two hold the same session");
                    turns += 1;
                    drop(lock);
                    drop(opened);
                }
                Err(Error::Busy(_)) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
    });
}

#[tokio::test]
async fn operations_on_a_closed_store_fail() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let (load, flush) = (store.list(None), store.flush());
    let new = store.create(new_session());
    drop(store);
    flush.await.unwrap();
    for outcome in [load.await.map(|_| ()), new.await.map(|_| ())] {
        assert!(matches!(outcome, Err(Error::Unusable { .. })), "{outcome:?}");
    }
}
