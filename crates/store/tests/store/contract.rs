//! The contract of `Store`, independent of the implementation.

use crate::bodies::every_body;
use crate::fixtures::{draft, item, new_session, prompt, record, reply, result, streamed_chunks};
use bytes::Bytes;
use model::{Chunk, Cost, Message, Stop, Usage};
use session::{
    BlobId, Body, Change, Error, FileKind, FileVersion, Item, ItemId, QueuedPrompt, QueuedPromptId, ReplyDraft,
    ReplyEnd, RequestEnd, RequestId, SessionId, Store, Totals,
};
use std::path::PathBuf;
use std::sync::Arc;
use store::SqliteStore;

/// Runs each test with a database in a file and one in memory.
macro_rules! contract_tests {
    ($($test:ident),* $(,)?) => {
        mod in_a_file {
            $(#[tokio::test]
            async fn $test() {
                let folder = tempfile::tempdir().unwrap();
                let store = super::SqliteStore::open(folder.path()).unwrap();
                super::$test(&store).await;
                store.integrity().await.unwrap();
            })*
        }
        mod in_memory {
            $(#[tokio::test]
            async fn $test() {
                let store = super::SqliteStore::in_memory().unwrap();
                super::$test(&store).await;
                store.integrity().await.unwrap();
            })*
        }
    };
}

contract_tests!(
    items_round_trip,
    prompt_blobs_are_stored_as_long_as_a_session_references_them,
    a_session_is_listed_from_its_first_item_on,
    lists_are_newest_first_and_by_project,
    a_session_is_found_by_a_prefix_of_its_id,
    subtasks_belong_to_their_session_and_count_in_its_totals,
    the_title_and_the_last_model_are_stored,
    an_append_after_a_rewind_begins_another_branch,
    the_parent_of_an_item_must_exist,
    missing_sessions_and_items_are_reported,
    every_request_is_counted_once,
    a_draft_becomes_an_interrupted_reply_when_the_session_is_opened,
    a_draft_that_was_just_enqueued_is_repaired,
    an_empty_draft_is_dropped,
    a_complete_draft_becomes_a_finished_reply,
    an_item_replaces_its_draft,
    a_discarded_draft_can_be_started_again,
    the_usage_of_an_interrupted_request_is_recorded,
    only_one_writer_can_open_a_session,
    blobs_are_stored_by_content,
    deleting_a_session_deletes_only_its_own_data,
    queued_prompts_are_stored_until_they_are_appended_or_removed,
    the_additional_folders_of_a_session_are_stored,
    reads_see_earlier_writes,
);

async fn begun(store: &dyn Store) -> (SessionId, session::Lease) {
    let new = new_session();
    let id = new.id;
    (id, store.create(new).await.unwrap())
}

async fn items(store: &dyn Store, session: SessionId) -> Vec<Item> {
    let loaded = store.load(session).await.unwrap();
    loaded.items.iter().map(|item| Item::clone(item)).collect()
}

async fn items_round_trip(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let before = store.put_blob(Bytes::from_static(b"old"));
    let after = store.put_blob(Bytes::from_static(b"new"));
    let changes = vec![
        Change {
            path: "src/ä b.rs".into(),
            before: Some(before.into()),
            after: Some(FileVersion {
                kind: FileKind::File { mode: Some(0o755) },
                ..after.clone().into()
            }),
        },
        Change {
            path: not_utf8(),
            before: Some(FileVersion::folder(0o700)),
            after: Some(after.into()),
        },
    ];
    let mut kept = Vec::new();
    let mut parent = None;
    for (body, at) in every_body(changes).into_iter().zip(5_000..) {
        let item = item(parent, at, body);
        parent = Some(item.id);
        store.append(session, Arc::clone(&item)).await.unwrap();
        kept.push(Item::clone(&item));
    }
    assert_eq!(items(store, session).await, kept);
}

#[cfg(unix)]
fn not_utf8() -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(b"bin/\xff\xfe"))
}

#[cfg(not(unix))]
fn not_utf8() -> PathBuf {
    PathBuf::from("bin/x")
}

async fn a_session_is_listed_from_its_first_item_on(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    assert_eq!(store.list(None).await.unwrap(), vec![]);
    assert!(store.load(session).await.unwrap().items.is_empty());
    store.append(session, prompt(None, "hello")).await.unwrap();
    let listed = store.list(None).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].id, listed[0].items), (session, 1));
    assert_eq!((listed[0].created.0, listed[0].updated.0), (1_000, 2_000));
}

async fn queued_prompts_are_stored_until_they_are_appended_or_removed(store: &dyn Store) {
    let new = new_session();
    let session = new.id;
    drop(store.create(new).await.unwrap());
    let waiting: Vec<QueuedPrompt> = ["one", "two", "three"]
        .map(|text| QueuedPrompt {
            id: QueuedPromptId::new(),
            message: Message::user(text),
        })
        .into();
    for prompt in &waiting {
        store.queue_prompt(session, prompt.clone()).await.unwrap();
    }
    let left = async || store.load(session).await.unwrap().queued;
    assert_eq!(left().await, waiting);
    let first = prompt(None, "one");
    store
        .append_queued(session, Arc::clone(&first), waiting[0].id)
        .await
        .unwrap();
    store.remove_queued(session, waiting[1].id).await.unwrap();
    assert_eq!(left().await, waiting[2..]);
    // A prompt whose item is rejected stays queued.
    let stray = prompt(Some(session::ItemId::new()), "three");
    store.append_queued(session, stray, waiting[2].id).await.unwrap_err();
    assert_eq!(left().await, waiting[2..]);
    assert_eq!(store.load(session).await.unwrap().items, [first]);
    let other = QueuedPrompt {
        id: QueuedPromptId::new(),
        message: Message::user("four"),
    };
    assert!(store.queue_prompt(SessionId::new(), other).await.is_err());
    store.delete(session).await.unwrap();
    assert!(store.load(session).await.is_err());
}

async fn the_additional_folders_of_a_session_are_stored(store: &dyn Store) {
    let new = new_session();
    let session = new.id;
    drop(store.create(new).await.unwrap());
    assert_eq!(store.load(session).await.unwrap().roots, Vec::<PathBuf>::new());
    for roots in [vec!["/b", "/a"], vec!["/c"], vec![]] {
        let roots: Vec<PathBuf> = roots.into_iter().map(PathBuf::from).collect();
        store.set_roots(session, roots.clone()).await.unwrap();
        assert_eq!(store.load(session).await.unwrap().roots, roots);
    }
}

async fn lists_are_newest_first_and_by_project(store: &dyn Store) {
    let mut sessions = Vec::new();
    for (root, at) in [("/a", 3_000), ("/b", 1_000), ("/a", 2_000)] {
        let new = session::NewSession {
            root: root.into(),
            ..new_session()
        };
        let id = new.id;
        drop(store.create(new).await.unwrap());
        let message = Arc::new(Message::user("x"));
        let first = item(None, at, Body::Prompt { message });
        store.append(id, first).await.unwrap();
        sessions.push(id);
    }
    let listed = async |root: Option<&str>| -> Vec<SessionId> {
        let listed = store.list(root.map(PathBuf::from)).await.unwrap();
        listed.into_iter().map(|meta| meta.id).collect()
    };
    assert_eq!(listed(None).await, vec![sessions[0], sessions[2], sessions[1]]);
    assert_eq!(listed(Some("/a")).await, vec![sessions[0], sessions[2]]);
    assert_eq!(listed(Some("/nowhere")).await, vec![]);
    assert_eq!(store.find("last").await.unwrap(), sessions[0]);
}

async fn subtasks_belong_to_their_session_and_count_in_its_totals(store: &dyn Store) {
    let parent = |session: SessionId, call: &str| {
        Some(session::ParentCall {
            session,
            call: call.into(),
        })
    };
    let mut ids = Vec::new();
    for above in [None, Some((0, "a")), Some((0, "b")), Some((1, "c"))] {
        let new = session::NewSession {
            parent: above.and_then(|(index, call): (usize, &str)| parent(ids[index], call)),
            ..new_session()
        };
        let id = new.id;
        drop(store.create(new).await.unwrap());
        store.append(id, prompt(None, "x")).await.unwrap();
        store.record_request(id, record(100)).await.unwrap();
        ids.push(id);
    }
    let children = store.children(ids[0]).await.unwrap();
    let listed: Vec<_> = children.iter().map(|meta| (meta.id, meta.parent.clone())).collect();
    assert_eq!(listed, [(ids[1], parent(ids[0], "a")), (ids[2], parent(ids[0], "b"))]);
    let requests = |metas: Vec<session::SessionMeta>| -> Vec<(SessionId, u64, u64)> {
        let mut all: Vec<_> = metas
            .iter()
            .map(|meta| (meta.id, meta.totals.requests, meta.totals.usage.input))
            .collect();
        all.sort();
        all
    };
    // Each request is recorded once and counts for all ancestors.
    let one = store.load(ids[3]).await.unwrap().meta.totals.usage.input;
    let expected = vec![
        (ids[0], 4, 4 * one),
        (ids[1], 2, 2 * one),
        (ids[2], 1, one),
        (ids[3], 1, one),
    ];
    assert_eq!(requests(store.list(None).await.unwrap()), expected);
    for (id, count, _) in &expected {
        assert_eq!(store.load(*id).await.unwrap().meta.totals.requests, *count);
        assert_eq!(store.request_records(*id).await.unwrap().len() as u64, *count);
    }
    assert_eq!(
        store.find("last").await.unwrap(),
        ids[0],
        "a subtask was resumed instead of its parent"
    );
    let busy = store.open(ids[3]).await.unwrap();
    assert!(matches!(store.delete(ids[0]).await, Err(Error::Busy(id)) if id == ids[3]));
    drop(busy);
    store.delete(ids[1]).await.unwrap();
    assert_eq!(store.children(ids[0]).await.unwrap().len(), 1);
    store.delete(ids[0]).await.unwrap();
    assert!(store.list(None).await.unwrap().is_empty());
    assert!(store.request_records(ids[3]).await.unwrap().is_empty());
}

async fn a_session_is_found_by_a_prefix_of_its_id(store: &dyn Store) {
    let ids: Vec<SessionId> = [
        "0199aaaa-0000-7000-8000-000000000001",
        "0199aaab-0000-7000-8000-000000000002",
    ]
    .iter()
    .map(|id| id.parse().unwrap())
    .collect();
    for id in &ids {
        let new = session::NewSession {
            id: *id,
            ..new_session()
        };
        drop(store.create(new).await.unwrap());
        store.append(*id, prompt(None, "x")).await.unwrap();
    }
    for (prefix, expected) in [
        ("0199aaaa", Ok(ids[0])),
        (" 0199AAAB ", Ok(ids[1])),
        ("0199aaaa-0000-7", Ok(ids[0])),
        ("0199aaaa00007", Ok(ids[0])),
        ("0199aaab-0000-7000-8000-000000000002", Ok(ids[1])),
        ("019", Err("there is no session `019`")),
        ("zebra", Err("there is no session `zebra`")),
        ("", Err("there is no session ``")),
        ("0199aaac", Err("there is no session `0199aaac`")),
        (
            "0199aaab-0000-7000-8000-0000000000020",
            Err("there is no session `0199aaab-0000-7000-8000-0000000000020`"),
        ),
        (
            "0199",
            Err(
                "`0199` matches several sessions: 0199aaab-0000-7000-8000-000000000002, \
                 0199aaaa-0000-7000-8000-000000000001",
            ),
        ),
    ] {
        let found = store.find(prefix).await.map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{prefix}");
    }
}

async fn the_title_and_the_last_model_are_stored(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let first = prompt(None, "x");
    store.append(session, Arc::clone(&first)).await.unwrap();
    let answer = ReplyDraft {
        model: "maker/other".into(),
        ..draft(Some(first.id))
    };
    store.append(session, reply(&answer, "y")).await.unwrap();
    store.set_title(session, "A day's work".into()).await.unwrap();
    let meta = store.load(session).await.unwrap().meta;
    assert_eq!(meta.title.as_deref(), Some("A day's work"));
    assert_eq!(meta.model, "maker/other");
    assert_eq!(meta.root, PathBuf::from("/project"));
}

async fn an_append_after_a_rewind_begins_another_branch(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let first = prompt(None, "first");
    let left = prompt(Some(first.id), "left");
    let right = prompt(Some(first.id), "right");
    for item in [&first, &left] {
        store.append(session, Arc::clone(item)).await.unwrap();
    }
    let branch = async || -> Vec<ItemId> { items(store, session).await.iter().map(|item| item.id).collect() };
    store.rewind(session, first.id).await.unwrap();
    assert_eq!(branch().await, vec![first.id]);
    store.append(session, Arc::clone(&right)).await.unwrap();
    assert_eq!(branch().await, vec![first.id, right.id]);
    store.rewind(session, left.id).await.unwrap();
    assert_eq!(branch().await, vec![first.id, left.id]);
    assert_eq!(store.load(session).await.unwrap().meta.items, 3);
}

async fn the_parent_of_an_item_must_exist(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let first = prompt(None, "first");
    let missing = prompt(Some(ItemId::new()), "child of a missing item");
    let after = prompt(Some(missing.id), "and its child");
    store.append(session, Arc::clone(&first)).await.unwrap();
    // All are enqueued before the first receipt resolves.
    let receipts = [missing, Arc::clone(&after)].map(|item| store.append(session, item));
    for receipt in receipts {
        assert!(matches!(receipt.await, Err(Error::Unusable { .. })));
    }
    assert!(store.append(session, Arc::clone(&first)).await.is_err(), "kept twice");
    assert!(store.rewind(session, after.id).await.is_err());
    assert_eq!(items(store, session).await, vec![Item::clone(&first)]);
    let unsaved = Change {
        path: "a".into(),
        before: Some(BlobId("no-such".into()).into()),
        after: None,
    };
    assert!(store.append(session, result(first.id, vec![unsaved])).await.is_err());
    assert_eq!(items(store, session).await, vec![Item::clone(&first)]);
}

async fn missing_sessions_and_items_are_reported(store: &dyn Store) {
    let missing_session = SessionId::new();
    let unknown = |outcome: Result<(), Error>| assert!(matches!(outcome, Err(Error::Unknown(_))), "{outcome:?}");
    unknown(store.open(missing_session).await.map(|_| ()));
    unknown(store.load(missing_session).await.map(|_| ()));
    unknown(store.append(missing_session, prompt(None, "x")).await);
    unknown(store.append(missing_session, prompt(Some(ItemId::new()), "x")).await);
    unknown(store.rewind(missing_session, ItemId::new()).await);
    unknown(store.set_title(missing_session, "x".into()).await);
    unknown(store.record_request(missing_session, record(1)).await);
    unknown(store.delete(missing_session).await);
    unknown(store.find("last").await.map(|_| ()));
    assert_eq!(store.request_records(missing_session).await.unwrap(), vec![]);
    assert_eq!(store.get_blob(BlobId("x".into())).await.unwrap(), None);
}

async fn prompt_blobs_are_stored_as_long_as_a_session_references_them(store: &dyn Store) {
    let (one, first) = begun(store).await;
    let (other, second) = begun(store).await;
    let frame = store.put_blob(Bytes::from_static(b"the frame"));
    let (own, shared) = (
        store.put_blob(Bytes::from_static(b"its own section")),
        store.put_blob(Bytes::from_static(b"the tools of both")),
    );
    let framed = |parts: Vec<BlobId>| {
        let mut framed = record(1);
        if let Some(prompt) = &mut framed.prompt {
            (prompt.frame, prompt.frame_parts) = (Some(frame.clone()), parts);
        }
        framed
    };
    let kept = framed(vec![own.clone(), shared.clone()]);
    store.record_request(one, kept.clone()).await.unwrap();
    store.record_request(other, framed(vec![shared.clone()])).await.unwrap();
    assert_eq!(store.request_records(one).await.unwrap(), vec![kept]);
    drop((first, second));
    store.delete(one).await.unwrap();
    assert_eq!(store.get_blob(own).await.unwrap(), None);
    assert!(store.get_blob(shared.clone()).await.unwrap().is_some());
    assert!(store.get_blob(frame.clone()).await.unwrap().is_some());
    store.delete(other).await.unwrap();
    assert_eq!(store.get_blob(shared).await.unwrap(), None);
    assert_eq!(store.get_blob(frame).await.unwrap(), None);
}

async fn every_request_is_counted_once(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let later = record(20);
    let unpriced = session::RequestRecord {
        cost: None,
        first_chunk: None,
        item: Some(ItemId::new()),
        sections: Vec::new(),
        prompt: None,
        usage: Usage {
            estimated: true,
            ..record(10).usage
        },
        ..record(10)
    };
    for record in [&later, &unpriced, &later] {
        store.record_request(session, record.clone()).await.unwrap();
    }
    let expected = Totals {
        usage: later.usage + unpriced.usage,
        cost: Cost { nano_usd: 1_234 },
        requests: 2,
    };
    assert_eq!(store.load(session).await.unwrap().meta.totals, expected);
    assert_eq!(store.request_records(session).await.unwrap(), vec![unpriced, later]);
}

fn gathered(chunks: Vec<Chunk>) -> Message {
    let mut reply = model::Reply::default();
    chunks.into_iter().for_each(|chunk| reply.push(chunk));
    reply.into_message()
}

async fn a_draft_becomes_an_interrupted_reply_when_the_session_is_opened(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let first = prompt(None, "x");
    store.append(session, Arc::clone(&first)).await.unwrap();
    let answer = draft(Some(first.id));
    // Some chunks in their own commits, some together.
    for (chunk, index) in streamed_chunks().into_iter().zip(0..) {
        store.append_draft(session, answer.clone(), vec![chunk]);
        if index % 3 > 0 {
            store.flush().await.unwrap();
        }
    }
    store.flush().await.unwrap();
    assert_eq!(
        items(store, session).await,
        vec![Item::clone(&first)],
        "a draft is not an item"
    );
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.meta.items, 2);
    let last = opened.loaded.items.last().unwrap();
    let expected = Body::Reply {
        message: Arc::new(gathered(streamed_chunks())),
        model: answer.model.clone(),
        request: answer.request,
        end: ReplyEnd::Interrupted,
    };
    assert_eq!(
        (last.id, last.parent, &last.body),
        (answer.id, Some(first.id), &expected)
    );
    drop(opened.lease);
    let again = store.open(session).await.unwrap();
    assert_eq!(again.loaded.items, opened.loaded.items);
    store
        .append(session, prompt(Some(answer.id), "continue"))
        .await
        .unwrap();
}

async fn a_draft_that_was_just_enqueued_is_repaired(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    store.append_draft(session, draft(None), vec![Chunk::Text("just ".into())]);
    store.flush().await.unwrap();
    let late = draft(None);
    store.append_draft(session, late.clone(), vec![Chunk::Text("in time".into())]);
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.meta.items, 2);
    assert_eq!(opened.loaded.items.last().unwrap().id, late.id);
}

async fn an_empty_draft_is_dropped(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let first = prompt(None, "x");
    store.append(session, Arc::clone(&first)).await.unwrap();
    let begin = Chunk::ToolStart {
        id: "c".into(),
        name: "grep".into(),
    };
    for chunks in [vec![], vec![Chunk::Text(String::new())], vec![begin]] {
        store.append_draft(session, draft(Some(first.id)), chunks);
    }
    store.flush().await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.items, vec![first]);
}

async fn a_complete_draft_becomes_a_finished_reply(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let answer = draft(None);
    let chunks = vec![Chunk::Text("All done.".into()), Chunk::Stop(Stop::MaxTokens)];
    store.append_draft(session, answer, chunks);
    store.flush().await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    let Body::Reply { end, .. } = &opened.loaded.items[0].body else {
        panic!("not a reply");
    };
    assert_eq!(*end, ReplyEnd::Finished(Stop::MaxTokens));
}

async fn an_item_replaces_its_draft(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let mut expected = Vec::new();
    for is_written_first in [false, true] {
        let answer = draft(expected.last().map(|item: &Arc<Item>| item.id));
        store.append_draft(session, answer.clone(), vec![Chunk::Text("half a rep".into())]);
        if is_written_first {
            store.flush().await.unwrap();
        }
        let whole = reply(&answer, "half a reply");
        store.append(session, Arc::clone(&whole)).await.unwrap();
        expected.push(whole);
    }
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.items, expected);
}

async fn a_discarded_draft_can_be_started_again(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let answer = draft(None);
    for (text, is_written) in [("one", false), ("two", true), ("three", false)] {
        store.append_draft(session, answer.clone(), vec![Chunk::Text(text.into())]);
        if is_written {
            store.flush().await.unwrap();
        }
        store.discard_draft(session, answer.id);
    }
    store.append_draft(session, answer.clone(), vec![Chunk::Text("again".into())]);
    store.flush().await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.items[0].message().unwrap().text(), "again");
    drop(opened.lease);
    store.append_draft(session, draft(Some(answer.id)), vec![Chunk::Text("other".into())]);
    store.flush().await.unwrap();
    let other = draft(Some(answer.id));
    store.append_draft(session, other.clone(), vec![Chunk::Text("gone".into())]);
    store.discard_draft(session, other.id);
    let opened = store.open(session).await.unwrap();
    let texts: Vec<String> = opened
        .loaded
        .items
        .iter()
        .map(|item| item.message().unwrap().text())
        .collect();
    assert_eq!(texts, vec!["again", "other"]);
}

async fn the_usage_of_an_interrupted_request_is_recorded(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let first = draft(None);
    let second = draft(Some(first.id));
    let usage = |output| Usage {
        output,
        ..Usage::default()
    };
    let chunks = |output| vec![Chunk::Text("x".into()), Chunk::Usage(usage(output))];
    store.append_draft(session, first.clone(), chunks(3));
    store.append_draft(session, second.clone(), chunks(5));
    // The second one was recorded before its process died.
    let record = session::RequestRecord {
        id: second.request,
        usage: usage(7),
        ..record(1)
    };
    store.record_request(session, record).await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.meta.totals.usage, usage(10));
    let outcomes: Vec<(RequestId, RequestEnd)> = store
        .request_records(session)
        .await
        .unwrap()
        .into_iter()
        .map(|record| (record.id, record.outcome))
        .collect();
    assert_eq!(
        outcomes,
        vec![
            (second.request, RequestEnd::Finished(Stop::End)),
            (first.request, RequestEnd::Interrupted)
        ]
    );
}

async fn only_one_writer_can_open_a_session(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    store.append(session, prompt(None, "x")).await.unwrap();
    let busy = |outcome: Result<(), Error>| assert!(matches!(outcome, Err(Error::Busy(id)) if id == session));
    busy(store.open(session).await.map(|_| ()));
    busy(store.delete(session).await);
    assert_eq!(store.load(session).await.unwrap().items.len(), 1, "reading is free");
    drop(lease);
    let opened = store.open(session).await.unwrap();
    busy(store.open(session).await.map(|_| ()));
    drop(opened.lease);
    store.delete(session).await.unwrap();
}

async fn blobs_are_stored_by_content(store: &dyn Store) {
    let large: Bytes = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect::<Vec<u8>>().into();
    for bytes in [Bytes::new(), Bytes::from_static(b"a\0b"), large] {
        let id = store.put_blob(bytes.clone());
        assert_eq!(store.put_blob(bytes.clone()), id, "the same bytes have the same name");
        assert_eq!(store.get_blob(id).await.unwrap(), Some(bytes));
    }
}

async fn deleting_a_session_deletes_only_its_own_data(store: &dyn Store) {
    let own = store.put_blob(Bytes::from_static(b"own"));
    let shared = store.put_blob(Bytes::from_static(b"shared"));
    let change = |before: &BlobId, after: &BlobId| Change {
        path: "a".into(),
        before: Some(before.clone().into()),
        after: Some(after.clone().into()),
    };
    let mut sessions = Vec::new();
    for changes in [vec![change(&own, &shared)], vec![change(&shared, &shared)]] {
        let (session, lease) = begun(store).await;
        let first = prompt(None, "x");
        store.append(session, Arc::clone(&first)).await.unwrap();
        store.append(session, result(first.id, changes)).await.unwrap();
        store.record_request(session, record(1)).await.unwrap();
        store.append_draft(session, draft(None), vec![Chunk::Text("x".into())]);
        drop(lease);
        sessions.push(session);
    }
    store.delete(sessions[0]).await.unwrap();
    assert!(matches!(store.load(sessions[0]).await, Err(Error::Unknown(_))));
    assert_eq!(store.request_records(sessions[0]).await.unwrap(), vec![]);
    assert_eq!(store.get_blob(own).await.unwrap(), None);
    assert_eq!(
        store.get_blob(shared.clone()).await.unwrap(),
        Some(Bytes::from_static(b"shared"))
    );
    assert_eq!(items(store, sessions[1]).await.len(), 2);
    assert_eq!(store.request_records(sessions[1]).await.unwrap().len(), 1);
    store.delete(sessions[1]).await.unwrap();
    assert_eq!(store.get_blob(shared).await.unwrap(), None);
}

async fn reads_see_earlier_writes(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let mut parent = None;
    for count in 1..50 {
        let next = prompt(parent, "x");
        parent = Some(next.id);
        // The receipt is not awaited.
        drop(store.append(session, next));
        assert_eq!(store.load(session).await.unwrap().items.len(), count);
    }
}
