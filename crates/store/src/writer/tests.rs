//! Writing to a database that must not grow.

use super::*;
use crate::blob;
use crate::connect;
use bytes::Bytes;
use model::{Chunk, Message};
use session::{Body, Change, NewSession, ReplyDraft, RequestId, SessionId, Time};

fn prompt(parent: Option<&Arc<Item>>, size: usize) -> Arc<Item> {
    item(
        parent,
        Body::Prompt {
            message: Arc::new(Message::user("x".repeat(size))),
        },
    )
}

fn item(parent: Option<&Arc<Item>>, body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: parent.map(|parent| parent.id),
        at: Time(1),
        body,
    })
}

/// A writer with a database limited to 100 KB, and a session in it.
fn cramped() -> (DbWriter, SessionId) {
    let connection = connect::in_memory().unwrap();
    let size: i64 = connection
        .pragma_query_value(None, "page_size", |row| row.get(0))
        .unwrap();
    connection
        .pragma_update(None, "max_page_count", 100_000 / size)
        .unwrap();
    let mut writer = DbWriter::new(connection, Arc::default(), PathBuf::from(":memory:"));
    let new = NewSession {
        id: SessionId::new(),
        root: "/".into(),
        model: "a/b".into(),
        at: Time(1),
        parent: None,
    };
    let session = new.id;
    assert_eq!(describe(&written(&mut writer, vec![Write::Create(new)])), ["ok"]);
    (writer, session)
}

/// Writes everything in one batch and returns the results.
fn written(writer: &mut DbWriter, writes: Vec<Write>) -> Vec<Result<(), Error>> {
    let waiting: Vec<PendingWrite> = writes
        .into_iter()
        .map(|write| PendingWrite { write, receipt: None })
        .collect();
    writer.write(&waiting, Vec::new())
}

fn describe(outcomes: &[Result<(), Error>]) -> Vec<&'static str> {
    let word = |outcome: &Result<(), Error>| match outcome {
        Ok(()) => "ok",
        Err(Error::Full) => "full",
        Err(_) => "other",
    };
    outcomes.iter().map(word).collect()
}

#[test]
fn a_failed_write_fails_only_its_descendants() {
    let (mut writer, session) = cramped();
    let first = prompt(None, 10);
    let large = prompt(Some(&first), 200_000);
    let child = prompt(Some(&large), 10);
    let sibling = prompt(Some(&first), 10);
    let append = |item: &Arc<Item>| Write::Append {
        session,
        item: Arc::clone(item),
        queued: None,
    };
    let title = Write::Title {
        session,
        title: "t".into(),
    };
    let rewind = Write::Rewind {
        session,
        head: child.id,
    };
    let all = vec![
        append(&first),
        append(&large),
        append(&child),
        rewind,
        title,
        append(&sibling),
        Write::Flush,
    ];
    let outcomes = written(&mut writer, all);
    assert_eq!(describe(&outcomes), ["ok", "full", "full", "full", "ok", "ok", "ok"]);
    writer
        .connection
        .pragma_update(None, "max_page_count", 100_000)
        .unwrap();
    let outcomes = written(&mut writer, vec![append(&large), append(&child)]);
    assert_eq!(describe(&outcomes), ["ok", "ok"]);
}

#[test]
fn file_versions_and_drafts_that_do_not_fit_are_retried() {
    let (mut writer, session) = cramped();
    let bytes = Bytes::from(vec![7; 200_000]);
    let id = blob::name(&bytes);
    writer.blobs.push(PendingBlob { id: id.clone(), bytes });
    let change = Change {
        path: "a".into(),
        before: None,
        after: Some(id.into()),
    };
    let edited = item(
        None,
        Body::Result {
            message: Arc::new(Message::user("done")),
            call: "c".into(),
            tool: "t".into(),
            title: "t".into(),
            summary: None,
            exit: None,
            millis: 1,
            changes: vec![change],
        },
    );
    let append = || Write::Append {
        session,
        item: Arc::clone(&edited),
        queued: None,
    };
    assert_eq!(
        describe(&written(&mut writer, vec![append(), Write::Flush])),
        ["full", "full"]
    );
    let draft = ReplyDraft {
        id: ItemId::new(),
        parent: None,
        model: "a/b".into(),
        request: RequestId::new(),
    };
    let piece = DraftPiece {
        session,
        draft,
        chunks: vec![Chunk::Text("x".repeat(200_000))],
    };
    assert!(writer.write(&[], vec![piece]).is_empty());
    writer
        .connection
        .pragma_update(None, "max_page_count", 100_000)
        .unwrap();
    assert_eq!(
        describe(&written(&mut writer, vec![append(), Write::Flush])),
        ["ok", "ok"]
    );
    assert!(!writer.queue.is_idle(), "the draft waits to be tried again");
    writer.queue.close();
    let WriterStep::Work(batch) = writer.queue.next(None) else {
        panic!("the draft was given up");
    };
    assert!(writer.write(&batch.writes, batch.pieces).is_empty());
    assert!(matches!(writer.queue.next(None), WriterStep::Close));
}
