//! Rows of a newer version: unknown parts are skipped when read and stay stored.

use crate::fixtures::{draft, new_session, prompt, reply};
use rusqlite::Connection;
use session::Store;
use std::sync::Arc;
use store::SqliteStore;

#[tokio::test]
async fn unknown_items_and_parts_are_skipped_and_stay_stored() {
    let folder = tempfile::tempdir().unwrap();
    let new = new_session();
    let session = new.id;
    let first = prompt(None, "first");
    let second = reply(&draft(Some(first.id)), "second");
    let third = prompt(Some(second.id), "third");
    let fourth = prompt(Some(third.id), "fourth");
    let store = SqliteStore::open(folder.path()).unwrap();
    drop(store.create(new).await.unwrap());
    for item in [&first, &second, &third, &fourth] {
        store.append(session, Arc::clone(item)).await.unwrap();
    }
    drop(store);
    let other = Connection::open(folder.path().join("hew.db")).unwrap();
    let change = |item: &session::Item, column: &str, value: &str| {
        let changed = other
            .execute(
                &format!("UPDATE items SET {column} = ?1 WHERE id = ?2"),
                (value, item.id.0.as_bytes()),
            )
            .unwrap();
        assert_eq!(changed, 1);
    };
    let unknown = r#"{"type":"hologram","depth":3}"#;
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}","font":"serif"}}"#);
    let request = session::RequestId::new();
    change(
        &first,
        "body",
        &format!(
            r#"{{"mood":"good","message":{{"role":"user","to":"all","parts":[{unknown},{},{unknown}]}}}}"#,
            text("first")
        ),
    );
    change(
        &second,
        "body",
        &format!(
            r#"{{"message":{{"role":"assistant","parts":[{}]}},"model":"m/n","request":"{request}",
                "end":{{"type":"finished","stop":{{"reason":"dreaming","depth":2}}}}}}"#,
            text("second")
        ),
    );
    change(&third, "kind", "dream");
    change(
        &fourth,
        "body",
        &format!(r#"{{"message":{{"role":"user","parts":[{unknown}]}}}}"#),
    );
    let rows = || -> Vec<(String, String)> {
        let mut statement = other.prepare("SELECT kind, body FROM items ORDER BY seq").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let before = rows();
    let store = SqliteStore::open(folder.path()).unwrap();
    let opened = store.open(session).await.unwrap();
    let seen: Vec<(session::ItemId, String)> = opened
        .loaded
        .items
        .iter()
        .map(|item| (item.id, item.message().unwrap().text()))
        .collect();
    assert_eq!(seen, vec![(first.id, "first".into()), (second.id, "second".into())]);
    let session::Body::Reply { end, .. } = &opened.loaded.items[1].body else {
        panic!("not a reply");
    };
    let word = "unknown".into();
    assert_eq!(*end, session::ReplyEnd::Finished(model::Stop::Other { word }));
    // The session continues after unknown items.
    let next = prompt(Some(fourth.id), "fifth");
    store.append(session, next).await.unwrap();
    assert_eq!(store.load(session).await.unwrap().items.len(), 3);
    assert_eq!(rows()[..4], before);
}

#[tokio::test]
async fn unknown_chunks_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let new = new_session();
    let session = new.id;
    let store = SqliteStore::open(folder.path()).unwrap();
    let lease = store.create(new).await.unwrap();
    store.append_draft(session, draft(None), vec![model::Chunk::Text("one".into())]);
    store.flush().await.unwrap();
    drop(lease);
    let other = Connection::open(folder.path().join("hew.db")).unwrap();
    let chunks = r#"[{"type":"text","text":"on","hue":1},{"type":"smell","of":"toast"},{"type":"text","text":"ward"},
        {"type":"replay","of":{"type":"smell"},"replay":{"wire":"w","data":1}},{"type":"usage","output":4,"joules":2}]"#;
    assert_eq!(other.execute("UPDATE drafts SET chunks = ?1", [chunks]).unwrap(), 1);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.items[0].message().unwrap().text(), "onward");
    assert_eq!(opened.loaded.meta.totals.usage.output, 4);
}
