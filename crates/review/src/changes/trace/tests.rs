//! Pending changes after different sequences of events.

use super::*;
use edit::HunkAuthors;
use model::Message;
use session::{Change, ItemId, Time};
use std::fs;
use store::SqliteStore;

const PLAIN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A project and the items of a session.
struct Fixture {
    folder: tempfile::TempDir,
    store: SqliteStore,
    items: Vec<Arc<Item>>,
}

/// A pending file: its path and status, and the texts and authors of its changes.
type PendingSummary = (String, FileStatus, Vec<(String, String, HunkAuthors)>);

impl Fixture {
    fn new() -> Self {
        Fixture {
            folder: tempfile::tempdir().unwrap(),
            store: SqliteStore::in_memory().unwrap(),
            items: Vec::new(),
        }
    }

    fn blob(&self, bytes: Option<&[u8]>) -> Option<BlobId> {
        bytes.map(|bytes| self.store.put_blob(Bytes::copy_from_slice(bytes)))
    }

    /// The agent changes a file.
    fn agent(mut self, path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Self {
        let change = Change {
            path: path.into(),
            before: self.blob(before).map(Into::into),
            after: self.blob(after).map(Into::into),
        };
        self.push(Body::Result {
            message: Arc::new(Message::user("")),
            call: "c".into(),
            tool: "edit_file".into(),
            title: String::new(),
            summary: None,
            exit: None,
            millis: 0,
            changes: vec![change],
        });
        self.user(path, after)
    }

    fn edits(self, path: &str, before: &str, after: &str) -> Self {
        self.agent(path, Some(before.as_bytes()), Some(after.as_bytes()))
    }

    fn reviewed(mut self, path: &str, base: Option<&[u8]>, current: Option<&[u8]>) -> Self {
        let reviewed = ReviewedFile {
            path: path.into(),
            base: self.blob(base).map(Into::into),
            current: self.blob(current).map(Into::into),
        };
        self.push(Body::Review {
            message: None,
            changes: vec![reviewed],
        });
        self.user(path, current)
    }

    /// The user writes or removes a file.
    fn user(self, path: &str, content: Option<&[u8]>) -> Self {
        let path = self.folder.path().join(path);
        match content {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::remove_file(path).unwrap_or_default(),
        }
        self
    }

    fn push(&mut self, body: Body) {
        let item = Item {
            id: ItemId::new(),
            parent: self.items.last().map(|item| item.id),
            at: Time(0),
            body,
        };
        self.items.push(Arc::new(item));
    }

    async fn pending(&self) -> PendingChanges {
        let workspace = Workspace::open(self.folder.path()).unwrap();
        pending_changes(&self.store, &workspace, &self.items).await.unwrap()
    }

    async fn summary(&self) -> Vec<PendingSummary> {
        let pending = self.pending().await;
        let file = |file: &PendingFile| {
            let hunks = file.hunks.iter().map(|hunk| hunk.text.clone());
            let hunks = hunks.map(|hunk| (hunk.before, hunk.after, hunk.authors)).collect();
            (file.path.display().to_string(), file.status, hunks)
        };
        pending.files.iter().map(file).collect()
    }
}

fn hunk(before: &str, after: &str) -> (String, String, HunkAuthors) {
    (before.into(), after.into(), HunkAuthors::Agent)
}

fn mixed(before: &str, after: &str) -> (String, String, HunkAuthors) {
    (before.into(), after.into(), HunkAuthors::Mixed)
}

fn modified(hunks: Vec<(String, String, HunkAuthors)>) -> Vec<PendingSummary> {
    vec![("a".into(), FileStatus::Modified, hunks)]
}

#[tokio::test]
async fn the_users_edits_between_and_after_the_agents_are_not_pending() {
    let first = PLAIN.replace('2', "two");
    let between = first.replace('9', "nine, by the user");
    let second = between.replace('5', "five");
    let after = format!("the user's title\n{second}");
    let fixture = Fixture::new()
        .edits("a", PLAIN, &first)
        .edits("a", &between, &second)
        .user("a", Some(after.as_bytes()));
    assert_eq!(
        fixture.summary().await,
        modified(vec![hunk("2\n", "two\n"), hunk("5\n", "five\n")])
    );
    let pending = fixture.pending().await;
    let base = PLAIN.replace('9', "nine, by the user");
    let base = format!("the user's title\n{base}");
    assert_eq!(
        pending.log.texts(Path::new("a")),
        Some((Some(base.as_str()), Some(after.as_str())))
    );
}

#[tokio::test]
async fn the_users_edit_of_the_agents_lines_is_part_of_the_change() {
    let agent = PLAIN.replace('2', "two");
    let fixture = Fixture::new()
        .edits("a", PLAIN, &agent)
        .user("a", Some(agent.replace("two", "TWO").as_bytes()));
    assert_eq!(fixture.summary().await, modified(vec![mixed("2\n", "TWO\n")]));
}

#[tokio::test]
async fn reviewed_changes_are_not_pending() {
    let agent = PLAIN.replace('2', "two").replace('5', "five").replace('8', "eight");
    // The user has inserted a line, accepted one change and rejected another.
    let base = format!("mine\n{}", PLAIN.replace('2', "two"));
    let current = format!("mine\n{}", PLAIN.replace('2', "two").replace('8', "eight"));
    let fixture =
        Fixture::new()
            .edits("a", PLAIN, &agent)
            .reviewed("a", Some(base.as_bytes()), Some(current.as_bytes()));
    assert_eq!(fixture.summary().await, modified(vec![hunk("8\n", "eight\n")]));
    let later = current.replace('4', "four");
    let fixture = fixture
        .edits("a", &current, &later)
        .user("a", Some(format!("{later}more of mine\n").as_bytes()));
    assert_eq!(
        fixture.summary().await,
        modified(vec![hunk("4\n", "four\n"), hunk("8\n", "eight\n")])
    );
    let all = Some(later.as_bytes());
    assert_eq!(fixture.reviewed("a", all, all).summary().await, []);
}

#[tokio::test]
async fn created_and_deleted_files_are_pending_unless_the_user_has_settled_them() {
    let new: Option<&[u8]> = Some(b"new\n");
    let created = |hunk| vec![("a".to_owned(), FileStatus::Created, vec![hunk])];
    let fixture = Fixture::new().agent("a", None, new);
    assert_eq!(fixture.summary().await, created(hunk("", "new\n")));
    let fixture = fixture.user("a", Some(b"new\nand mine\n"));
    assert_eq!(fixture.summary().await, created(mixed("", "new\nand mine\n")));
    assert_eq!(fixture.user("a", None).summary().await, []);

    let fixture = Fixture::new().agent("a", new, None);
    assert_eq!(
        fixture.summary().await,
        [("a".to_owned(), FileStatus::Deleted, vec![hunk("new\n", "")])]
    );
    assert_eq!(fixture.user("a", Some(b"mine\n")).summary().await, []);

    assert_eq!(
        Fixture::new()
            .agent("a", None, new)
            .agent("a", new, None)
            .summary()
            .await,
        []
    );
    let emptied = Fixture::new().agent("a", None, Some(b""));
    assert_eq!(emptied.summary().await, created(hunk("", "")));
}

#[tokio::test]
async fn binary_files_are_pending_as_a_whole() {
    let check = async |fixture: Fixture, authors: Option<HunkAuthors>| {
        let pending = fixture.pending().await;
        let found = pending.files.iter().map(|file| match &file.content {
            PendingContent::Binary(whole) => whole.authors,
            PendingContent::Text
            | PendingContent::ModeOnly
            | PendingContent::Link(_)
            | PendingContent::Unreadable(_) => {
                panic!("{} is not reviewed as a whole", file.path.display())
            }
        });
        assert_eq!(found.collect::<Vec<_>>(), authors.into_iter().collect::<Vec<_>>());
        assert!(pending.files.iter().all(|file| file.hunks.len() == 1));
        pending
    };
    let binary = |fixture: Fixture| fixture.agent("a", Some(b"\xff1"), Some(b"\xff2"));
    let agent = check(binary(Fixture::new()), Some(HunkAuthors::Agent)).await;
    let other = binary(Fixture::new()).user("a", Some(b"\xff3"));
    let other = check(other, Some(HunkAuthors::Mixed)).await;
    assert_ne!(agent.files[0].hunks[0].id, other.files[0].hunks[0].id);
    check(binary(Fixture::new()).user("a", Some(b"\xff1")), None).await;
    check(binary(Fixture::new()).user("a", None), None).await;
    check(
        binary(Fixture::new()).agent("a", Some(b"\xff9"), Some(b"\xff10")),
        Some(HunkAuthors::Mixed),
    )
    .await;
    check(Fixture::new().agent("a", Some(b"x\0y"), None), Some(HunkAuthors::Agent)).await;
    check(
        Fixture::new().agent("a", Some(b"x\0y"), None).user("a", Some(b"\0")),
        None,
    )
    .await;
    // A text file into which the user wrote bytes that are not UTF-8.
    let latin = Fixture::new().edits("a", "1\n", "2\n").user("a", Some(b"2\n\xe9\n"));
    check(latin, Some(HunkAuthors::Mixed)).await;
    let settled: Option<&[u8]> = Some(b"\xff2");
    check(binary(Fixture::new()).reviewed("a", settled, settled), None).await;
}

#[tokio::test]
async fn files_that_cannot_be_reviewed_have_a_reason() {
    let check = async |fixture: Fixture, expected: &str| {
        let pending = fixture.pending().await;
        let reasons = pending.files.iter().map(|file| match &file.content {
            PendingContent::Unreadable(reason) => reason.to_string(),
            PendingContent::Text | PendingContent::ModeOnly | PendingContent::Link(_) | PendingContent::Binary(_) => {
                "nothing".into()
            }
        });
        let reasons: Vec<String> = reasons.collect();
        assert!(
            reasons.len() == 1 && reasons[0].contains(expected),
            "{expected}: {reasons:?}"
        );
        assert!(pending.files[0].hunks.is_empty());
    };
    let fixture = Fixture::new().edits("a", "1\n", "2\n").user("a", None);
    fs::create_dir(fixture.folder.path().join("a")).unwrap();
    check(fixture, "a is a directory").await;
    let fixture = Fixture::new().edits("a", "1\n", "2\n").user("a", None);
    std::os::unix::fs::symlink("b", fixture.folder.path().join("a")).unwrap();
    check(fixture.user("b", Some(b"2\n")), "behind a symbolic link").await;
    for known in [b"1\n", b"1\xff"] {
        let mut fixture = Fixture::new().agent("a", Some(known), Some(b"2\n"));
        let lost = Change {
            path: "a".into(),
            before: fixture.blob(Some(b"2\n")).map(Into::into),
            after: Some(BlobId("0".repeat(64).into()).into()),
        };
        let Body::Result { changes, .. } = &mut Arc::make_mut(&mut fixture.items[0]).body else {
            panic!("not a result");
        };
        changes.push(lost);
        check(fixture, "was not stored").await;
    }
}
