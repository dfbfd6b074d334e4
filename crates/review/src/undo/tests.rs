//! Conflicts between an undo and other changes of the files.

use super::*;
use bytes::Bytes;
use session::{Change, FileKind, FileVersion, NewSession, SessionId, Store};
use std::fs;
use std::path::PathBuf;
use store::SqliteStore;
use workspace::checkpoint::BlobLimits;

const LIMITS: BlobLimits = BlobLimits {
    quota: 1 << 20,
    max_file: 1 << 20,
};

/// A project and an empty session.
struct Fixture {
    temp: tempfile::TempDir,
    root: PathBuf,
    id: SessionId,
}

impl Fixture {
    async fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let id = SessionId::new();
        let session = NewSession {
            id,
            root: root.clone(),
            model: "p/m".into(),
            at: Time(1),
            parent: None,
        };
        let fixture = Fixture { temp, root, id };
        drop(fixture.store().create(session).await.unwrap());
        fixture
    }

    fn store(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(&self.temp.path().join("data")).unwrap())
    }

    async fn history(&self, limits: BlobLimits) -> SessionHistory {
        let root = self.root.clone();
        let history = SessionHistory::open(self.store(), self.id, root, limits, crate::SessionAccess::Write).await;
        history.unwrap()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }
}

/// Records a turn that changed these files from `a` to `b`.
async fn record_turn(history: &mut SessionHistory, paths: &[&str]) {
    let version = |text: &'static str| {
        Some(FileVersion {
            kind: FileKind::File { mode: None },
            content: Some(history.store.put_blob(Bytes::from(text))),
            is_stored: true,
        })
    };
    let changes = paths.iter().map(|path| Change {
        path: path.into(),
        before: version("a\n"),
        after: version("b\n"),
    });
    let changes = changes.collect();
    let message = Arc::new(Message::user("go"));
    history.append(Body::Prompt { message }, Time(1)).await.unwrap();
    let result = Body::Result {
        message: Arc::new(Message::user("")),
        call: "c".into(),
        tool: "terminal".into(),
        title: String::new(),
        summary: None,
        exit: None,
        millis: 0,
        changes,
    };
    history.append(result, Time(1)).await.unwrap();
}

#[tokio::test]
async fn a_version_that_cannot_be_stored_is_not_overwritten() {
    let fixture = Fixture::new().await;
    let others = "by others\n".repeat(200);
    for (quota, is_done) in [(1 << 10, false), (1 << 20, true)] {
        let mut history = fixture.history(BlobLimits { quota, ..LIMITS }).await;
        record_turn(&mut history, &["a.txt"]).await;
        fs::write(fixture.root.join("a.txt"), &others).unwrap();

        let operation = UndoOperation::undo(&history, 1).unwrap();
        let (plan, contents) = operation.plan(&history, ConflictPolicy::Overwrite).await.unwrap();
        plan.check(ConflictPolicy::Overwrite).unwrap();
        let done = operation.apply_and_record(&mut history, plan, &contents, Time(1)).await;

        assert_eq!(done.is_ok(), is_done, "{quota}");
        let expected = if is_done { "a\n" } else { &others };
        assert_eq!(fixture.read("a.txt"), expected, "{quota}");
    }
}

#[tokio::test]
async fn a_path_of_version_control_is_skipped_when_others_are_restored() {
    let fixture = Fixture::new().await;
    let paths = [".git/config", "a.txt"];
    fs::create_dir(fixture.root.join(".git")).unwrap();
    for path in paths {
        fs::write(fixture.root.join(path), "b\n").unwrap();
    }
    let mut history = fixture.history(LIMITS).await;
    record_turn(&mut history, &paths).await;

    let operation = UndoOperation::undo(&history, 1).unwrap();
    for policy in [ConflictPolicy::Abort, ConflictPolicy::Overwrite] {
        let (plan, _) = operation.plan(&history, policy).await.unwrap();
        plan.check(policy).unwrap_err();
    }
    let (plan, contents) = operation.plan(&history, ConflictPolicy::Keep).await.unwrap();
    plan.check(ConflictPolicy::Keep).unwrap();
    assert_eq!(plan.summary(), "1 file restored; 1 file cannot be restored");
    operation
        .apply_and_record(&mut history, plan, &contents, Time(1))
        .await
        .unwrap();

    assert_eq!(
        (fixture.read("a.txt"), fixture.read(".git/config")),
        ("a\n".into(), "b\n".into())
    );
}
