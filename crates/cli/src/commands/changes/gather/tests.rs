//! What waits for review after different stories.

use super::*;
use edit::Authors;
use model::Message;
use session::{Change, ItemId, Time};
use std::fs;
use store::Sqlite;

const PLAIN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A project and a session in which things happen.
struct Story {
    folder: tempfile::TempDir,
    store: Sqlite,
    items: Vec<Arc<Item>>,
}

/// What waits in a file: its status, and each change's texts and authors.
type Waiting = (String, Status, Vec<(String, String, Authors)>);

impl Story {
    fn new() -> Self {
        Story {
            folder: tempfile::tempdir().unwrap(),
            store: Sqlite::in_memory().unwrap(),
            items: Vec::new(),
        }
    }

    fn blob(&self, bytes: Option<&[u8]>) -> Option<BlobId> {
        bytes.map(|bytes| self.store.put_blob(Bytes::copy_from_slice(bytes)))
    }

    /// The agent changes a file. What it finds there is what the story says, whoever wrote it.
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
            millis: 0,
            changes: vec![change],
        });
        self.person(path, after)
    }

    fn edits(self, path: &str, before: &str, after: &str) -> Self {
        self.agent(path, Some(before.as_bytes()), Some(after.as_bytes()))
    }

    fn reviewed(mut self, path: &str, base: Option<&[u8]>, current: Option<&[u8]>) -> Self {
        let reviewed = Reviewed {
            path: path.into(),
            base: self.blob(base).map(Into::into),
            current: self.blob(current).map(Into::into),
        };
        self.push(Body::Review {
            changes: vec![reviewed],
        });
        self.person(path, current)
    }

    /// This is on disk now.
    fn person(self, path: &str, content: Option<&[u8]>) -> Self {
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

    async fn pending(&self) -> Pending {
        let workspace = Workspace::open(self.folder.path()).unwrap();
        gather(&self.store, &workspace, &self.items).await.unwrap()
    }

    async fn waiting(&self) -> Vec<Waiting> {
        let pending = self.pending().await;
        let file = |file: &File| {
            let hunks = file.hunks.iter().map(|hunk| hunk.text.clone());
            let hunks = hunks.map(|hunk| (hunk.before, hunk.after, hunk.authors)).collect();
            (file.path.display().to_string(), file.status, hunks)
        };
        pending.files.iter().map(file).collect()
    }
}

fn hunk(before: &str, after: &str) -> (String, String, Authors) {
    (before.into(), after.into(), Authors::Agent)
}

fn mixed(before: &str, after: &str) -> (String, String, Authors) {
    (before.into(), after.into(), Authors::Mixed)
}

fn modified(hunks: Vec<(String, String, Authors)>) -> Vec<Waiting> {
    vec![("a".into(), Status::Modified, hunks)]
}

#[tokio::test]
async fn a_persons_edits_between_and_after_the_agents_do_not_wait() {
    let first = PLAIN.replace('2', "two");
    let between = first.replace('9', "nine, says a person");
    let second = between.replace('5', "five");
    let after = format!("a person's title\n{second}");
    let story = Story::new()
        .edits("a", PLAIN, &first)
        .edits("a", &between, &second)
        .person("a", Some(after.as_bytes()));
    assert_eq!(
        story.waiting().await,
        modified(vec![hunk("2\n", "two\n"), hunk("5\n", "five\n")])
    );
    let pending = story.pending().await;
    let base = PLAIN.replace('9', "nine, says a person");
    let base = format!("a person's title\n{base}");
    assert_eq!(
        pending.log.texts(Path::new("a")),
        Some((Some(base.as_str()), Some(after.as_str())))
    );
}

#[tokio::test]
async fn a_persons_edit_in_the_agents_lines_is_part_of_the_change() {
    let agent = PLAIN.replace('2', "two");
    let story = Story::new()
        .edits("a", PLAIN, &agent)
        .person("a", Some(agent.replace("two", "TWO").as_bytes()));
    assert_eq!(story.waiting().await, modified(vec![mixed("2\n", "TWO\n")]));
}

#[tokio::test]
async fn what_was_reviewed_does_not_wait_again() {
    let agent = PLAIN.replace('2', "two").replace('5', "five").replace('8', "eight");
    // The person has written a line before; one change is taken as good and one taken back.
    let base = format!("mine\n{}", PLAIN.replace('2', "two"));
    let current = format!("mine\n{}", PLAIN.replace('2', "two").replace('8', "eight"));
    let story = Story::new()
        .edits("a", PLAIN, &agent)
        .reviewed("a", Some(base.as_bytes()), Some(current.as_bytes()));
    assert_eq!(story.waiting().await, modified(vec![hunk("8\n", "eight\n")]));
    let later = current.replace('4', "four");
    let story = story
        .edits("a", &current, &later)
        .person("a", Some(format!("{later}more of mine\n").as_bytes()));
    assert_eq!(
        story.waiting().await,
        modified(vec![hunk("4\n", "four\n"), hunk("8\n", "eight\n")])
    );
    let all = Some(later.as_bytes());
    assert_eq!(story.reviewed("a", all, all).waiting().await, []);
}

#[tokio::test]
async fn files_that_come_and_go_wait_unless_a_person_has_decided() {
    let new: Option<&[u8]> = Some(b"new\n");
    let created = |waiting| vec![("a".to_owned(), Status::Created, vec![waiting])];
    let story = Story::new().agent("a", None, new);
    assert_eq!(story.waiting().await, created(hunk("", "new\n")));
    let story = story.person("a", Some(b"new\nand mine\n"));
    assert_eq!(story.waiting().await, created(mixed("", "new\nand mine\n")));
    assert_eq!(story.person("a", None).waiting().await, []);

    let story = Story::new().agent("a", new, None);
    assert_eq!(
        story.waiting().await,
        [("a".to_owned(), Status::Deleted, vec![hunk("new\n", "")])]
    );
    assert_eq!(story.person("a", Some(b"mine\n")).waiting().await, []);

    assert_eq!(
        Story::new().agent("a", None, new).agent("a", new, None).waiting().await,
        []
    );
    let emptied = Story::new().agent("a", None, Some(b""));
    assert_eq!(emptied.waiting().await, created(hunk("", "")));
}

#[tokio::test]
async fn what_is_not_text_waits_as_a_whole() {
    let check = async |story: Story, authors: Option<Authors>| {
        let pending = story.pending().await;
        let found = pending.files.iter().map(|file| match &file.content {
            Content::Whole(whole) => whole.authors,
            Content::Text | Content::Same | Content::Link(_) | Content::Unreadable(_) => {
                panic!("{} is not looked at as a whole", file.path.display())
            }
        });
        assert_eq!(found.collect::<Vec<_>>(), authors.into_iter().collect::<Vec<_>>());
        assert!(pending.files.iter().all(|file| file.hunks.len() == 1));
        pending
    };
    let binary = |story: Story| story.agent("a", Some(b"\xff1"), Some(b"\xff2"));
    let agent = check(binary(Story::new()), Some(Authors::Agent)).await;
    let other = binary(Story::new()).person("a", Some(b"\xff3"));
    let other = check(other, Some(Authors::Mixed)).await;
    assert_ne!(agent.files[0].hunks[0].id, other.files[0].hunks[0].id);
    check(binary(Story::new()).person("a", Some(b"\xff1")), None).await;
    check(binary(Story::new()).person("a", None), None).await;
    check(
        binary(Story::new()).agent("a", Some(b"\xff9"), Some(b"\xff10")),
        Some(Authors::Mixed),
    )
    .await;
    check(Story::new().agent("a", Some(b"x\0y"), None), Some(Authors::Agent)).await;
    check(
        Story::new().agent("a", Some(b"x\0y"), None).person("a", Some(b"\0")),
        None,
    )
    .await;
    // A file that was text until a person wrote bytes that are none.
    let latin = Story::new().edits("a", "1\n", "2\n").person("a", Some(b"2\n\xe9\n"));
    check(latin, Some(Authors::Mixed)).await;
    let settled: Option<&[u8]> = Some(b"\xff2");
    check(binary(Story::new()).reviewed("a", settled, settled), None).await;
}

#[tokio::test]
async fn what_cannot_be_looked_at_is_said() {
    let check = async |story: Story, wanted: &str| {
        let pending = story.pending().await;
        let whys = pending.files.iter().map(|file| match &file.content {
            Content::Unreadable(why) => why.clone(),
            Content::Text | Content::Same | Content::Link(_) | Content::Whole(_) => "nothing".into(),
        });
        let whys: Vec<String> = whys.collect();
        assert!(whys.len() == 1 && whys[0].contains(wanted), "{wanted}: {whys:?}");
        assert!(pending.files[0].hunks.is_empty());
    };
    let story = Story::new().edits("a", "1\n", "2\n").person("a", None);
    fs::create_dir(story.folder.path().join("a")).unwrap();
    check(story, "a is a directory").await;
    let story = Story::new().edits("a", "1\n", "2\n").person("a", None);
    std::os::unix::fs::symlink("b", story.folder.path().join("a")).unwrap();
    check(story.person("b", Some(b"2\n")), "reached through a link").await;
    for known in [b"1\n", b"1\xff"] {
        let mut story = Story::new().agent("a", Some(known), Some(b"2\n"));
        let lost = Change {
            path: "a".into(),
            before: story.blob(Some(b"2\n")).map(Into::into),
            after: Some(BlobId("0".repeat(64).into()).into()),
        };
        let Body::Result { changes, .. } = &mut Arc::make_mut(&mut story.items[0]).body else {
            panic!("not a result");
        };
        changes.push(lost);
        check(story, "was not kept").await;
    }
}
