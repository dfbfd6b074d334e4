//! What every store promises, whatever it is built on. A new engine runs the same stories.

use crate::bodies::every_body;
use crate::story::{draft, item, new_session, prompt, record, reply, result};
use bytes::Bytes;
use model::{Chunk, ChunkPart, Cost, Message, Replay, Stop, Usage};
use serde_json::json;
use session::{
    BlobId, Body, Change, Draft, End, Error, Item, ItemId, Kind, RequestId, SessionId, Store, Totals, Version, Waiting,
    WaitingId,
};
use std::path::PathBuf;
use std::sync::Arc;
use store::Sqlite;

/// Runs each story on a database in a file and on one in memory.
macro_rules! stories {
    ($($story:ident),* $(,)?) => {
        mod in_a_file {
            $(#[tokio::test]
            async fn $story() {
                let folder = tempfile::tempdir().unwrap();
                let store = super::Sqlite::open(folder.path()).unwrap();
                super::$story(&store).await;
                store.integrity().await.unwrap();
            })*
        }
        mod in_memory {
            $(#[tokio::test]
            async fn $story() {
                let store = super::Sqlite::in_memory().unwrap();
                super::$story(&store).await;
                store.integrity().await.unwrap();
            })*
        }
    };
}

stories!(
    items_come_back_as_they_were_kept,
    what_prompts_are_made_of_is_kept_as_long_as_a_session_names_it,
    a_session_is_listed_from_its_first_item_on,
    lists_are_newest_first_and_by_project,
    a_session_is_found_by_the_beginning_of_its_id,
    subtasks_belong_to_their_session_which_answers_for_them,
    a_title_and_the_model_last_used_are_kept,
    an_append_after_a_rewind_begins_another_branch,
    an_item_must_follow_one_that_is_there,
    what_is_not_there_is_unknown,
    every_request_is_counted_once,
    a_draft_becomes_an_interrupted_reply_when_the_session_is_opened,
    a_draft_that_was_just_handed_over_is_mended_too,
    a_draft_with_nothing_in_it_is_dropped,
    a_draft_that_had_arrived_whole_becomes_a_finished_reply,
    a_draft_is_settled_by_its_item,
    a_discarded_draft_is_forgotten_and_may_begin_again,
    tokens_of_a_request_that_died_are_accounted_for,
    only_one_may_write_to_a_session,
    bytes_are_kept_by_their_content,
    a_deleted_session_takes_with_it_only_what_is_its_own,
    prompts_that_wait_are_kept_until_they_are_items_or_given_back,
    a_session_remembers_its_further_folders,
    writes_are_seen_by_reads_that_come_after_them,
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

async fn items_come_back_as_they_were_kept(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let before = store.put_blob(Bytes::from_static(b"old"));
    let after = store.put_blob(Bytes::from_static(b"new"));
    let changes = vec![
        Change {
            path: "src/ä b.rs".into(),
            before: Some(before.into()),
            after: Some(Version {
                kind: Kind::File { mode: Some(0o755) },
                ..after.clone().into()
            }),
        },
        Change {
            path: not_utf8(),
            before: Some(Version::folder(0o700)),
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

async fn prompts_that_wait_are_kept_until_they_are_items_or_given_back(store: &dyn Store) {
    let new = new_session();
    let session = new.id;
    drop(store.create(new).await.unwrap());
    let waiting: Vec<Waiting> = ["one", "two", "three"]
        .map(|text| Waiting {
            id: WaitingId::new(),
            message: Message::user(text),
        })
        .into();
    for prompt in &waiting {
        store.wait(session, prompt.clone()).await.unwrap();
    }
    let left = async || store.load(session).await.unwrap().waiting;
    assert_eq!(left().await, waiting);
    let first = prompt(None, "one");
    store
        .append_heard(session, Arc::clone(&first), waiting[0].id)
        .await
        .unwrap();
    store.forget_waiting(session, waiting[1].id).await.unwrap();
    assert_eq!(left().await, waiting[2..]);
    // What cannot become an item waits on.
    let stray = prompt(Some(session::ItemId::new()), "three");
    store.append_heard(session, stray, waiting[2].id).await.unwrap_err();
    assert_eq!(left().await, waiting[2..]);
    assert_eq!(store.load(session).await.unwrap().items, [first]);
    let other = Waiting {
        id: WaitingId::new(),
        message: Message::user("four"),
    };
    assert!(store.wait(SessionId::new(), other).await.is_err());
    store.delete(session).await.unwrap();
    assert!(store.load(session).await.is_err());
}

async fn a_session_remembers_its_further_folders(store: &dyn Store) {
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
        let new = session::New {
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

async fn subtasks_belong_to_their_session_which_answers_for_them(store: &dyn Store) {
    let parent = |session: SessionId, call: &str| {
        Some(session::Parent {
            session,
            call: call.into(),
        })
    };
    let mut ids = Vec::new();
    for above in [None, Some((0, "a")), Some((0, "b")), Some((1, "c"))] {
        let new = session::New {
            parent: above.and_then(|(index, call): (usize, &str)| parent(ids[index], call)),
            ..new_session()
        };
        let id = new.id;
        drop(store.create(new).await.unwrap());
        store.append(id, prompt(None, "x")).await.unwrap();
        store.record(id, record(100)).await.unwrap();
        ids.push(id);
    }
    let children = store.children(ids[0]).await.unwrap();
    let told: Vec<_> = children.iter().map(|meta| (meta.id, meta.parent.clone())).collect();
    assert_eq!(told, [(ids[1], parent(ids[0], "a")), (ids[2], parent(ids[0], "b"))]);
    let requests = |metas: Vec<session::Meta>| -> Vec<(SessionId, u64, u64)> {
        let mut all: Vec<_> = metas
            .iter()
            .map(|meta| (meta.id, meta.totals.requests, meta.totals.usage.input))
            .collect();
        all.sort();
        all
    };
    // Each request is kept once, and counts for all above it.
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
        assert_eq!(store.records(*id).await.unwrap().len() as u64, *count);
    }
    assert_eq!(
        store.find("last").await.unwrap(),
        ids[0],
        "subtasks are not gone on with by chance"
    );
    let busy = store.open(ids[3]).await.unwrap();
    assert!(matches!(store.delete(ids[0]).await, Err(Error::Busy(id)) if id == ids[3]));
    drop(busy);
    store.delete(ids[1]).await.unwrap();
    assert_eq!(store.children(ids[0]).await.unwrap().len(), 1);
    store.delete(ids[0]).await.unwrap();
    assert!(store.list(None).await.unwrap().is_empty());
    assert!(store.records(ids[3]).await.unwrap().is_empty());
}

async fn a_session_is_found_by_the_beginning_of_its_id(store: &dyn Store) {
    let ids: Vec<SessionId> = [
        "0199aaaa-0000-7000-8000-000000000001",
        "0199aaab-0000-7000-8000-000000000002",
    ]
    .iter()
    .map(|id| id.parse().unwrap())
    .collect();
    for id in &ids {
        let new = session::New {
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
            Err("`0199` fits several sessions: 0199aaab-0000-7000-8000-000000000002, \
                 0199aaaa-0000-7000-8000-000000000001"),
        ),
    ] {
        let found = store.find(prefix).await.map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{prefix}");
    }
}

async fn a_title_and_the_model_last_used_are_kept(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let first = prompt(None, "x");
    store.append(session, Arc::clone(&first)).await.unwrap();
    let answer = Draft {
        model: "maker/other".into(),
        ..draft(Some(first.id))
    };
    store.append(session, reply(&answer, "y")).await.unwrap();
    store.title(session, "A day's work".into()).await.unwrap();
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

async fn an_item_must_follow_one_that_is_there(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let first = prompt(None, "first");
    let missing = prompt(Some(ItemId::new()), "child of nobody");
    let after = prompt(Some(missing.id), "and its child");
    store.append(session, Arc::clone(&first)).await.unwrap();
    // All are handed over before the first is answered.
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

async fn what_is_not_there_is_unknown(store: &dyn Store) {
    let nobody = SessionId::new();
    let unknown = |outcome: Result<(), Error>| assert!(matches!(outcome, Err(Error::Unknown(_))), "{outcome:?}");
    unknown(store.open(nobody).await.map(|_| ()));
    unknown(store.load(nobody).await.map(|_| ()));
    unknown(store.append(nobody, prompt(None, "x")).await);
    unknown(store.append(nobody, prompt(Some(ItemId::new()), "x")).await);
    unknown(store.rewind(nobody, ItemId::new()).await);
    unknown(store.title(nobody, "x".into()).await);
    unknown(store.record(nobody, record(1)).await);
    unknown(store.delete(nobody).await);
    unknown(store.find("last").await.map(|_| ()));
    assert_eq!(store.records(nobody).await.unwrap(), vec![]);
    assert_eq!(store.get_blob(BlobId("x".into())).await.unwrap(), None);
}

async fn what_prompts_are_made_of_is_kept_as_long_as_a_session_names_it(store: &dyn Store) {
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
    store.record(one, kept.clone()).await.unwrap();
    store.record(other, framed(vec![shared.clone()])).await.unwrap();
    assert_eq!(store.records(one).await.unwrap(), vec![kept]);
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
    let unpriced = session::Record {
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
        store.record(session, record.clone()).await.unwrap();
    }
    let expected = Totals {
        usage: later.usage + unpriced.usage,
        cost: Cost { nano_usd: 1_234 },
        requests: 2,
    };
    assert_eq!(store.load(session).await.unwrap().meta.totals, expected);
    assert_eq!(store.records(session).await.unwrap(), vec![unpriced, later]);
}

/// Chunks of a reply with thinking, text and two calls, of which the second is unfinished.
fn arrived() -> Vec<Chunk> {
    vec![
        Chunk::Thinking("let me ".into()),
        Chunk::Thinking("see".into()),
        Chunk::Replay {
            of: ChunkPart::Thinking,
            replay: Replay {
                wire: "w".into(),
                data: json!("sig"),
            },
        },
        Chunk::Text("I ".into()),
        Chunk::Text("look.".into()),
        Chunk::ToolStart {
            id: "c1".into(),
            name: "grep".into(),
        },
        Chunk::ToolInput {
            id: "c1".into(),
            delta: "{\"a\"".into(),
        },
        Chunk::ToolInput {
            id: "c1".into(),
            delta: ":1}".into(),
        },
        Chunk::Replay {
            of: ChunkPart::Call("c1".into()),
            replay: Replay {
                wire: "w".into(),
                data: json!(7),
            },
        },
        Chunk::ToolEnd { id: "c1".into() },
        Chunk::ToolStart {
            id: "c2".into(),
            name: "grep".into(),
        },
        Chunk::ToolInput {
            id: "c2".into(),
            delta: "{".into(),
        },
        Chunk::Notice("by the way".into()),
        Chunk::Cost(Cost { nano_usd: 9 }),
    ]
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
    // Each chunk in a commit of its own, and some together.
    for (chunk, index) in arrived().into_iter().zip(0..) {
        store.draft(session, answer.clone(), vec![chunk]);
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
        message: Arc::new(gathered(arrived())),
        model: answer.model.clone(),
        request: answer.request,
        end: End::Interrupted,
    };
    assert_eq!(
        (last.id, last.parent, &last.body),
        (answer.id, Some(first.id), &expected)
    );
    drop(opened.lease);
    let again = store.open(session).await.unwrap();
    assert_eq!(again.loaded.items, opened.loaded.items);
    store.append(session, prompt(Some(answer.id), "go on")).await.unwrap();
}

async fn a_draft_that_was_just_handed_over_is_mended_too(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    store.draft(session, draft(None), vec![Chunk::Text("just ".into())]);
    store.flush().await.unwrap();
    let late = draft(None);
    store.draft(session, late.clone(), vec![Chunk::Text("in time".into())]);
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.meta.items, 2);
    assert_eq!(opened.loaded.items.last().unwrap().id, late.id);
}

async fn a_draft_with_nothing_in_it_is_dropped(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let first = prompt(None, "x");
    store.append(session, Arc::clone(&first)).await.unwrap();
    let begin = Chunk::ToolStart {
        id: "c".into(),
        name: "grep".into(),
    };
    for chunks in [vec![], vec![Chunk::Text(String::new())], vec![begin]] {
        store.draft(session, draft(Some(first.id)), chunks);
    }
    store.flush().await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.items, vec![first]);
}

async fn a_draft_that_had_arrived_whole_becomes_a_finished_reply(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let answer = draft(None);
    let chunks = vec![Chunk::Text("All done.".into()), Chunk::Stop(Stop::MaxTokens)];
    store.draft(session, answer, chunks);
    store.flush().await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    let Body::Reply { end, .. } = &opened.loaded.items[0].body else {
        panic!("not a reply");
    };
    assert_eq!(*end, End::Finished(Stop::MaxTokens));
}

async fn a_draft_is_settled_by_its_item(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let mut expected = Vec::new();
    for is_written_first in [false, true] {
        let answer = draft(expected.last().map(|item: &Arc<Item>| item.id));
        store.draft(session, answer.clone(), vec![Chunk::Text("half a rep".into())]);
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

async fn a_discarded_draft_is_forgotten_and_may_begin_again(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let answer = draft(None);
    for (text, is_written) in [("one", false), ("two", true), ("three", false)] {
        store.draft(session, answer.clone(), vec![Chunk::Text(text.into())]);
        if is_written {
            store.flush().await.unwrap();
        }
        store.discard(session, answer.id);
    }
    store.draft(session, answer.clone(), vec![Chunk::Text("again".into())]);
    store.flush().await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.items[0].message().unwrap().text(), "again");
    drop(opened.lease);
    store.draft(session, draft(Some(answer.id)), vec![Chunk::Text("other".into())]);
    store.flush().await.unwrap();
    let other = draft(Some(answer.id));
    store.draft(session, other.clone(), vec![Chunk::Text("gone".into())]);
    store.discard(session, other.id);
    let opened = store.open(session).await.unwrap();
    let texts: Vec<String> = opened
        .loaded
        .items
        .iter()
        .map(|item| item.message().unwrap().text())
        .collect();
    assert_eq!(texts, vec!["again", "other"]);
}

async fn tokens_of_a_request_that_died_are_accounted_for(store: &dyn Store) {
    let (session, lease) = begun(store).await;
    let first = draft(None);
    let second = draft(Some(first.id));
    let usage = |output| Usage {
        output,
        ..Usage::default()
    };
    let chunks = |output| vec![Chunk::Text("x".into()), Chunk::Usage(usage(output))];
    store.draft(session, first.clone(), chunks(3));
    store.draft(session, second.clone(), chunks(5));
    // The second one was accounted for before its process died.
    let record = session::Record {
        id: second.request,
        usage: usage(7),
        ..record(1)
    };
    store.record(session, record).await.unwrap();
    drop(lease);
    let opened = store.open(session).await.unwrap();
    assert_eq!(opened.loaded.meta.totals.usage, usage(10));
    let outcomes: Vec<(RequestId, String)> = store
        .records(session)
        .await
        .unwrap()
        .into_iter()
        .map(|record| (record.id, record.outcome))
        .collect();
    assert_eq!(
        outcomes,
        vec![(second.request, "end".into()), (first.request, "interrupted".into())]
    );
}

async fn only_one_may_write_to_a_session(store: &dyn Store) {
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

async fn bytes_are_kept_by_their_content(store: &dyn Store) {
    let large: Bytes = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect::<Vec<u8>>().into();
    for bytes in [Bytes::new(), Bytes::from_static(b"a\0b"), large] {
        let id = store.put_blob(bytes.clone());
        assert_eq!(store.put_blob(bytes.clone()), id, "the same bytes have the same name");
        assert_eq!(store.get_blob(id).await.unwrap(), Some(bytes));
    }
}

async fn a_deleted_session_takes_with_it_only_what_is_its_own(store: &dyn Store) {
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
        store.record(session, record(1)).await.unwrap();
        store.draft(session, draft(None), vec![Chunk::Text("x".into())]);
        drop(lease);
        sessions.push(session);
    }
    store.delete(sessions[0]).await.unwrap();
    assert!(matches!(store.load(sessions[0]).await, Err(Error::Unknown(_))));
    assert_eq!(store.records(sessions[0]).await.unwrap(), vec![]);
    assert_eq!(store.get_blob(own).await.unwrap(), None);
    assert_eq!(
        store.get_blob(shared.clone()).await.unwrap(),
        Some(Bytes::from_static(b"shared"))
    );
    assert_eq!(items(store, sessions[1]).await.len(), 2);
    assert_eq!(store.records(sessions[1]).await.unwrap().len(), 1);
    store.delete(sessions[1]).await.unwrap();
    assert_eq!(store.get_blob(shared).await.unwrap(), None);
}

async fn writes_are_seen_by_reads_that_come_after_them(store: &dyn Store) {
    let (session, _lease) = begun(store).await;
    let mut parent = None;
    for count in 1..50 {
        let next = prompt(parent, "x");
        parent = Some(next.id);
        // The receipt is not waited for.
        drop(store.append(session, next));
        assert_eq!(store.load(session).await.unwrap().items.len(), count);
    }
}
