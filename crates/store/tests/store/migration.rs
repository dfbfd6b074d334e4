//! Databases of older schemas are migrated and stay readable.

use model::{Message, Part, PartOrigin, Stop};
use session::{Body, ItemKind, LoadedSession, ReplyEnd, RequestEnd, Store, user_text};
use std::path::Path;
use store::SqliteStore;

/// Opens a copy of the database with schema 5.
fn open_schema_5() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let database = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/schema-5.db");
    std::fs::copy(database, folder.path().join("hew.db")).unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    (folder, store)
}

async fn load(store: &SqliteStore) -> LoadedSession {
    let sessions = store.list(None).await.unwrap();
    let parent = sessions.iter().find(|session| session.parent.is_none()).unwrap();
    store.load(parent.id).await.unwrap()
}

#[tokio::test]
async fn a_session_with_schema_5_is_read_completely() {
    let (_folder, store) = open_schema_5();
    let loaded = load(&store).await;
    assert_eq!(loaded.meta.title.as_deref(), Some("Fix the parser"));
    assert_eq!(loaded.roots, [Path::new("/other")]);
    assert_eq!(loaded.queued[0].message, Message::user("later"));
    assert_eq!(store.children(loaded.meta.id).await.unwrap().len(), 1);
    let count = |kind: ItemKind| loaded.items.iter().filter(|item| item.kind() == kind).count();
    let counts = [
        (ItemKind::Prompt, 3),
        (ItemKind::Reply, 8),
        (ItemKind::Result, 2),
        (ItemKind::Summary, 2),
        (ItemKind::Notice, 1),
        (ItemKind::Notification, 1),
        (ItemKind::Mode, 2),
        (ItemKind::Todos, 1),
        (ItemKind::Panels, 2),
        (ItemKind::Review, 2),
        (ItemKind::Restored, 1),
    ];
    for (kind, expected) in counts {
        assert_eq!(count(kind), expected, "{}", kind.name());
    }
    store.integrity().await.unwrap();
}

#[tokio::test]
async fn outcomes_written_as_debug_text_become_names() {
    let (_folder, store) = open_schema_5();
    let loaded = load(&store).await;
    let records = store.request_records(loaded.meta.id).await.unwrap();
    let outcomes: Vec<RequestEnd> = records.into_iter().map(|record| record.outcome).collect();
    let expected = [
        RequestEnd::Finished(Stop::End),
        RequestEnd::Finished(Stop::ToolUse),
        RequestEnd::Finished(Stop::MaxTokens),
        RequestEnd::Finished(Stop::Refusal {
            detail: Some("no".into()),
        }),
        RequestEnd::Finished(Stop::Other { word: "pause".into() }),
        RequestEnd::Interrupted,
        RequestEnd::Failed {
            error: "the connection broke".into(),
        },
        RequestEnd::Interrupted,
        // The draft of a killed process.
        RequestEnd::Interrupted,
    ];
    assert_eq!(outcomes, expected);
}

#[tokio::test]
async fn parts_without_an_origin_get_one_from_their_prefix() {
    let (_folder, store) = open_schema_5();
    let loaded = load(&store).await;
    let message = loaded.items[0].message().unwrap();
    let origins: Vec<PartOrigin> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { origin, .. } => Some(*origin),
            _ => None,
        })
        .collect();
    let expected = [
        PartOrigin::Author,
        PartOrigin::Rules,
        PartOrigin::Environment,
        PartOrigin::Mention,
        PartOrigin::Command,
        PartOrigin::Hook,
        PartOrigin::Reminder,
        PartOrigin::Shell,
    ];
    assert_eq!(origins, expected);
    assert_eq!(user_text(message), "Fix the parser");
}

#[tokio::test]
async fn a_draft_of_an_older_schema_is_repaired() {
    let (_folder, store) = open_schema_5();
    let id = load(&store).await.meta.id;
    let opened = store.open(id).await.unwrap();
    let Body::Reply { message, end, .. } = &opened.loaded.items.last().unwrap().body else {
        panic!("not a reply");
    };
    assert_eq!((message.text().as_str(), end), ("half a rep", &ReplyEnd::Interrupted));
}
