//! Write volume, measured by the size of the write-ahead log.

use crate::fixtures::{draft, new_session, prompt, record, reply};
use model::Chunk;
use rusqlite::Connection;
use session::{SessionId, Store};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::SqliteStore;

/// The log only grows until the writer is idle for a second, which does not happen in these tests.
fn log(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("hew.db-wal")).map_or(0, |log| log.len())
}

async fn begun(folder: &Path) -> (SqliteStore, SessionId) {
    let store = SqliteStore::open(folder).unwrap();
    let new = new_session();
    let session = new.id;
    drop(store.create(new).await.unwrap());
    (store, session)
}

#[tokio::test]
async fn a_reply_in_tiny_deltas_is_written_a_few_times_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = begun(folder.path()).await;
    let answer = draft(None);
    let before = log(folder.path());
    let text = "word".repeat(50_000);
    for _ in 0..50_000 {
        store.append_draft(session, answer.clone(), vec![Chunk::Text("word".into())]);
    }
    store.append(session, reply(&answer, &text)).await.unwrap();
    let written = log(folder.path()) - before;
    assert!(written < 3 * 200_000, "{written} bytes");
}

#[tokio::test]
async fn each_piece_of_a_slow_reply_costs_about_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = begun(folder.path()).await;
    let answer = draft(None);
    let before = log(folder.path());
    for _ in 0..100 {
        store.append_draft(
            session,
            answer.clone(),
            vec![Chunk::Text("forty characters of text that is streamed".into())],
        );
        store.flush().await.unwrap();
    }
    let each = (log(folder.path()) - before) / 100;
    assert!(each < 4_000, "{each} bytes");
}

#[tokio::test]
async fn a_step_costs_a_few_times_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = begun(folder.path()).await;
    let mut parent = None;
    let before = log(folder.path());
    for _ in 0..100 {
        let answer = draft(parent);
        drop(store.record_request(session, record(1)));
        store
            .append(session, reply(&answer, &"word ".repeat(80)))
            .await
            .unwrap();
        let prompt_item = prompt(Some(answer.id), &"word ".repeat(400));
        store.append(session, Arc::clone(&prompt_item)).await.unwrap();
        parent = Some(prompt_item.id);
    }
    let each = (log(folder.path()) - before) / 100;
    assert!(each < 20_000, "{each} bytes");
}

#[tokio::test]
async fn the_log_size_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = begun(folder.path()).await;
    let mut parent = None;
    for _ in 0..400 {
        let prompt_item = prompt(parent, &"word ".repeat(20_000));
        store.append(session, Arc::clone(&prompt_item)).await.unwrap();
        parent = Some(prompt_item.id);
    }
    let size = log(folder.path());
    assert!(size < 20_000_000, "{size} bytes after 40 MB");
}

/// Waits for a condition.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn writes_without_a_waiter_are_written_after_a_delay() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = begun(folder.path()).await;
    let other = Connection::open(folder.path().join("hew.db")).unwrap();
    let count = |table: &str| -> i64 {
        let question = format!("SELECT count(*) FROM {table}");
        other.query_row(&question, [], |row| row.get(0)).unwrap()
    };
    store.append_draft(session, draft(None), vec![Chunk::Text("x".into())]);
    wait_until("the draft", || count("drafts") == 1);
    drop(store.record_request(session, record(1)));
    wait_until("the record", || count("requests") == 1);
}

#[tokio::test]
async fn the_log_is_checkpointed_when_the_writer_is_idle() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = begun(folder.path()).await;
    store
        .append(session, prompt(None, &"word ".repeat(10_000)))
        .await
        .unwrap();
    let size = || std::fs::metadata(folder.path().join("hew.db")).unwrap().len();
    wait_until("the copy", || size() > 50_000);
    assert_eq!(store.load(session).await.unwrap().items.len(), 1);
}
