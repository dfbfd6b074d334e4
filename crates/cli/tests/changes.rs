//! `hew changes` end to end: lists, accepts and rejects the agent's changes, and preserves the user's edits.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use serde_json::{Value, json};
use session::{Body, Change, Item, ItemId, Store, Time};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::SqliteStore;
use testkit::{Hew, JsonSchemaValidator, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const PLAIN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A path with its content before and after.
type FileChange<'a> = (&'a str, Option<&'a [u8]>, Option<&'a [u8]>);

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// A project and hew with a scripted model.
struct Fixture {
    project: Project,
    hew: Hew,
    server: Server,
}

impl Fixture {
    async fn new(files: &[(&str, &str)], script: Script) -> Self {
        let server = Server::start(script).await.unwrap();
        let project = Project::new(files).unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
        Fixture {
            hew: hew.with_server(&server).current_dir(project.root()),
            project,
            server,
        }
    }

    /// Runs a turn.
    async fn run(&self, arguments: &[&str]) {
        let output = self.hew.clone().args(["run", "-m", MODEL]).args(arguments).run().await;
        let output = output.unwrap();
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    }

    async fn changes(&self, arguments: &[&str]) -> Output {
        self.hew.clone().arg("changes").args(arguments).run().await.unwrap()
    }

    /// Runs a successful `hew changes --json` and returns its output.
    async fn decide(&self, arguments: &[&str]) -> Value {
        let output = self.changes(&[&["--json"], arguments].concat()).await;
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    }

    async fn list(&self) -> Value {
        self.decide(&[]).await
    }

    /// Runs `hew changes` with arguments that must fail with this code and message, and change neither files nor the list.
    async fn check_refused(&self, arguments: &[&str], code: i32, message: &str) {
        let before = (self.project.files().unwrap(), self.list().await);
        let output = self.changes(arguments).await;
        assert_eq!(
            output.code(),
            Some(code),
            "{arguments:?}: {}{}",
            output.stdout,
            output.stderr
        );
        assert!(output.stderr.contains(message), "{message}: {}", output.stderr);
        assert_eq!((self.project.files().unwrap(), self.list().await), before);
    }

    /// Adds changes to the session, as if a tool had made them.
    async fn with_changes(&self, changes: &[FileChange<'_>]) {
        let store = SqliteStore::open(&self.data()).unwrap();
        let id = store.list(None).await.unwrap()[0].id;
        let opened = store.open(id).await.unwrap();
        let blob = |bytes: &Option<&[u8]>| bytes.map(|bytes| store.put_blob(Bytes::copy_from_slice(bytes)));
        let changes = changes.iter().map(|(path, before, after)| Change {
            path: path.into(),
            before: blob(before).map(Into::into),
            after: blob(after).map(Into::into),
        });
        let item = Item {
            id: ItemId::new(),
            parent: opened.loaded.items.last().map(|item| item.id),
            at: Time(1),
            body: Body::Result {
                message: Arc::new(model::Message::user("")),
                call: "call".into(),
                tool: "terminal".into(),
                title: String::new(),
                summary: None,
                exit: None,
                millis: 0,
                changes: changes.collect(),
            },
        };
        store.append(id, Arc::new(item)).await.unwrap();
    }

    fn data(&self) -> PathBuf {
        self.hew.home().join(".local/share/hew")
    }
}

/// The changes as `path: before -> after`, with their ids.
fn hunks(listing: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for file in listing["files"].as_array().unwrap() {
        for hunk in file["hunks"].as_array().unwrap() {
            let text = |key: &str| hunk[key].as_str().unwrap().trim_end().replace('\n', "|");
            let path = file["path"].as_str().unwrap();
            let summary = format!("{path}: {} -> {}", text("before"), text("after"));
            all.push((summary, hunk["id"].as_str().unwrap().to_owned()));
        }
    }
    all
}

fn summaries(listing: &Value) -> Vec<String> {
    hunks(listing).into_iter().map(|(summary, _)| summary).collect()
}

fn id_of(listing: &Value, summary: &str) -> String {
    let found = hunks(listing).into_iter().find(|(found, _)| found == summary);
    found.unwrap_or_else(|| panic!("no {summary} in {listing}")).1
}

#[tokio::test]
async fn changes_are_accepted_and_rejected_while_agent_and_user_keep_editing() {
    let read = || Turn::calls("read_file", json!({"path": "a.txt"}));
    let script = Script::new()
        .turn(read())
        .turn(Turn::calls("edit_file", edit("a.txt", "2\n", "two\n")))
        .turn(Turn::text("One."))
        .turn(read())
        .turn(Turn::calls("edit_file", edit("a.txt", "6\n", "six\nsix and a half\n")))
        .turn(Turn::text("Two."))
        .turn(read())
        .turn(Turn::calls("edit_file", edit("a.txt", "4\n", "four\n")))
        .turn(Turn::text("Three."));
    let fixture = Fixture::new(&[("a.txt", PLAIN)], script).await;
    let user_edit = |from: &str, to: &str| {
        let text = fixture.project.read("a.txt").unwrap();
        fixture.project.write("a.txt", text.replacen(from, to, 1)).unwrap();
    };
    fixture.run(&["first"]).await;
    user_edit("9\n", "nine, by the user\n");
    fixture.run(&["--continue", "second"]).await;
    user_edit("1\n", "the user's title\n1\n");

    let list = fixture.list().await;
    assert_eq!(summaries(&list), ["a.txt: 2 -> two", "a.txt: 6 -> six|six and a half"]);
    let plain = fixture.changes(&[]).await;
    assert_eq!(plain.code(), Some(0));
    let two = id_of(&list, "a.txt: 2 -> two");
    let six = id_of(&list, "a.txt: 6 -> six|six and a half");
    let expected = format!(
        "a.txt modified +3 -2\n--- a/a.txt\n+++ b/a.txt\n@@ -1,6 +1,6 @@ #1 {two}\n the user's title\n 1\n-2\n+two\n 3\n 4\n 5\n\
         @@ -7,4 +7,5 @@ #2 {six}\n-6\n+six\n+six and a half\n 7\n 8\n nine, by the user\n"
    );
    assert_eq!(plain.stdout, expected);
    assert!(plain.stderr.starts_with("2 changes in 1 file;"), "{}", plain.stderr);

    let result = fixture.decide(&["--accept", &two]).await;
    assert_eq!(result["accepted"], json!([two]));
    assert_eq!(summaries(&result), ["a.txt: 6 -> six|six and a half"]);
    let result = fixture.decide(&["--reject", &six]).await;
    assert_eq!(result["rejected"], json!([six]));
    assert_eq!(result["files"], json!([]));
    let reviewed = "the user's title\n1\ntwo\n3\n4\n5\n6\n7\n8\nnine, by the user\n";
    assert_eq!(fixture.project.read("a.txt").unwrap(), reviewed);
    let nothing = fixture.changes(&[]).await;
    assert!(nothing.stdout.is_empty() && nothing.stderr.starts_with("no changes to review"));
    fixture
        .check_refused(
            &["--accept", &two],
            1,
            "has changed since it was listed, or the change was already decided",
        )
        .await;

    fixture.run(&["--continue", "third"]).await;
    user_edit("7\n", "seven, by the user\n");
    let list = fixture.list().await;
    assert_eq!(summaries(&list), ["a.txt: 4 -> four"]);
    fixture.decide(&["--reject-all"]).await;
    assert_eq!(
        fixture.project.read("a.txt").unwrap(),
        reviewed.replace('7', "seven, by the user")
    );

    // The export contains the reviews, and the session is still complete.
    let exported = fixture
        .hew
        .clone()
        .args(["sessions", "export", "-f", "json"])
        .run()
        .await
        .unwrap();
    let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
    let items = exported["items"].as_array().unwrap();
    let reviews: Vec<&Value> = items.iter().filter(|item| item["kind"] == "review").collect();
    let files: Vec<&Value> = reviews.iter().map(|item| &item["files"]).collect();
    let reviewed = |settled: bool| json!([{"path": "a.txt", "settled": settled}]);
    assert_eq!(files, [&reviewed(false), &reviewed(true), &reviewed(true)]);
    let shown = fixture
        .hew
        .clone()
        .args(["sessions", "show"])
        .run()
        .await
        .unwrap()
        .stdout;
    assert!(shown.contains("*You reviewed the changes of:*\n- `a.txt`\n"), "{shown}");
    let resumed = fixture.hew.clone().arg("resume").run().await.unwrap();
    assert!(resumed.stderr.contains("is finished"), "{}", resumed.stderr);
}

#[tokio::test]
async fn rejecting_removes_a_created_file_and_restores_a_deleted_one() {
    let script = Script::new()
        .turn(Turn::calls(
            "write_file",
            json!({"path": "new/made.txt", "content": "made\n"}),
        ))
        .turn(Turn::calls(
            "write_file",
            json!({"path": "kept.txt", "content": "made\n"}),
        ))
        .turn(Turn::calls(
            "write_file",
            json!({"path": "shared.txt", "content": "made\n"}),
        ))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[], script).await;
    fixture.run(&["make files"]).await;
    fixture
        .with_changes(&[("gone.txt", Some(b"it was\r\nthere"), None)])
        .await;
    let list = fixture.list().await;
    let statuses: Vec<&Value> = list["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["status"])
        .collect();
    assert_eq!(statuses, ["deleted", "created", "created", "created"]);
    fixture.project.write("shared.txt", "made\nand mine\n").unwrap();
    let list = fixture.list().await;
    let shared = id_of(&list, "shared.txt:  -> made|and mine");
    fixture
        .check_refused(&["--reject", &shared], 1, "shared.txt is new and contains your edits")
        .await;
    fixture
        .check_refused(&["--reject-all"], 1, "shared.txt is new and contains your edits")
        .await;
    let made = id_of(&list, "new/made.txt:  -> made");
    let deleted = id_of(&list, "gone.txt: it was\r|there -> ");
    let kept = id_of(&list, "kept.txt:  -> made");
    let result = fixture
        .decide(&["--reject", &made, &deleted, "--accept", &format!("{kept},{shared}")])
        .await;
    assert_eq!(result["files"], json!([]));
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        fixture.project.files().unwrap(),
        [
            file("gone.txt", "it was\r\nthere"),
            file("kept.txt", "made\n"),
            file("shared.txt", "made\nand mine\n")
        ]
    );
}

#[tokio::test]
async fn one_invalid_id_refuses_the_whole_decision() {
    let script = Script::new()
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(
            Turn::calls("edit_file", edit("a.txt", "2\n", "two\n")).call("edit_file", edit("a.txt", "8\n", "eight\n")),
        )
        .turn(Turn::calls("write_file", json!({"path": "b.txt", "content": "b\n"})))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[("a.txt", PLAIN)], script).await;
    fixture.run(&["change"]).await;
    let list = fixture.list().await;
    let (two, eight) = (id_of(&list, "a.txt: 2 -> two"), id_of(&list, "a.txt: 8 -> eight"));
    fixture
        .check_refused(&["--accept", &two, "nonsense"], 2, "no pending change nonsense")
        .await;
    fixture
        .check_refused(
            &["--accept", &two, "--reject", &two],
            2,
            "is both accepted and rejected",
        )
        .await;
    fixture
        .check_refused(&["--reject", "2"], 2, &format!("use its id: {eight}"))
        .await;
    fixture
        .check_refused(
            &["--file", "b.txt", "--reject", &two],
            2,
            &format!("no pending change {two}"),
        )
        .await;
    fixture
        .check_refused(&["--accept-all", "--reject", &two], 2, "cannot be used with")
        .await;

    // The user edits one of the changes: its id becomes invalid, the other one stays valid.
    let text = fixture.project.read("a.txt").unwrap();
    fixture
        .project
        .write("a.txt", text.replace("two", "two, by the user"))
        .unwrap();
    let stale = "a.txt has changed since it was listed";
    fixture.check_refused(&["--reject", &eight, &two], 1, stale).await;
    let now = fixture.list().await;
    let mixed = id_of(&now, "a.txt: 2 -> two, by the user");
    assert_eq!(id_of(&now, "a.txt: 8 -> eight"), eight);
    fixture
        .check_refused(&["--reject-all"], 1, &format!("your own edits are part of {mixed}"))
        .await;
    let failed = fixture.changes(&["--json", "--reject", &two]).await;
    let error: Value = serde_json::from_str(failed.stdout.trim()).unwrap();
    assert_eq!((&error["type"], &error["exit_code"]), (&json!("error"), &json!(1)));

    // A failed write leaves the other files unchanged.
    let made = id_of(&now, "b.txt:  -> b");
    let path = fixture.project.path("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(&path).is_err() {
        fixture
            .check_refused(&["--reject", &made, &eight], 1, "permission denied: a.txt")
            .await;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    fixture.decide(&["--file", "a.txt", "--reject", &eight]).await;
    assert_eq!(
        fixture.project.read("a.txt").unwrap(),
        PLAIN.replace('2', "two, by the user")
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    let result = fixture.decide(&["--file", "b.txt", "--accept-all"]).await;
    assert_eq!(result["files"], json!([]));
    assert_eq!(summaries(&fixture.list().await), ["a.txt: 2 -> two, by the user"]);
    fixture.decide(&["--reject", &mixed]).await;
    assert_eq!(fixture.project.read("a.txt").unwrap(), PLAIN);
}

#[tokio::test]
async fn binary_files_are_restored_byte_for_byte() {
    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "a.txt", "content": "made\n"})))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[], script).await;
    fixture.run(&["make a file"]).await;
    let bytes = |name: &str| fs::read(fixture.project.path(name)).unwrap();
    let (old, new): (&[u8], &[u8]) = (b"\xff\x00old\n", b"\xff\x00new\n");
    fixture.project.write("b.bin", new).unwrap();
    fixture.project.write("c.bin", new).unwrap();
    fixture
        .with_changes(&[("b.bin", Some(old), Some(new)), ("c.bin", Some(old), Some(new))])
        .await;
    // The user writes bytes that are not UTF-8 into a file that the agent created, and into one it changed.
    fixture.project.write("a.txt", b"made\ncaf\xe9\n").unwrap();
    fixture.project.write("c.bin", b"\xff\x00mine\n").unwrap();
    let list = fixture.list().await;
    let files = list["files"].as_array().unwrap();
    assert!(files.iter().all(|file| file["content"] == "whole"), "{list}");
    let id = |at: usize| files[at]["hunks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(files[0]["hunks"][0]["rejectable"], false);
    let shown = fixture.changes(&["--file", "b.bin"]).await.stdout;
    assert_eq!(
        shown,
        format!("b.bin modified binary: 6 bytes -> 6 bytes\n#2 {}\n", id(1))
    );
    for at in [0, 2] {
        fixture
            .check_refused(
                &["--reject", &id(at)],
                1,
                "is binary and was also changed outside the session",
            )
            .await;
    }
    fixture.decide(&["--reject", &id(1), "--accept", &id(0), &id(2)]).await;
    assert_eq!(
        (bytes("b.bin"), bytes("a.txt")),
        (old.to_vec(), b"made\ncaf\xe9\n".to_vec())
    );
    assert_eq!(bytes("c.bin"), b"\xff\x00mine\n");
    assert_eq!(fixture.list().await["files"], json!([]));
}

#[tokio::test]
async fn links_and_permissions_are_reviewed() {
    let script = Script::new()
        .turn(Turn::calls(
            "terminal",
            json!({"command": "chmod 755 a.sh; ln -s a.sh pw; chmod 755 b.sh; echo two >> b.sh; rm old; mkdir empty"}),
        ))
        .turn(Turn::text("Done."));
    let files = [("a.sh", "one\n"), ("b.sh", "one\n")];
    let fixture = Fixture::new(&files, script).await;
    let place = |name: &str| fixture.project.path(name);
    for (name, _) in files {
        fs::set_permissions(place(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    std::os::unix::fs::symlink("a.sh", place("old")).unwrap();
    let run = fixture
        .hew
        .clone()
        .args(["run", "-m", MODEL, "go"])
        .run()
        .await
        .unwrap();
    assert!(run.stderr.contains("4 files changed · hew changes "), "{}", run.stderr);

    let shown = fixture.changes(&[]).await;
    assert!(shown.stderr.starts_with("5 changes in 4 files;"), "{}", shown.stderr);
    for part in [
        ": mode 644 -> mode 755\n",
        ": none -> link to a.sh\n",
        ": link to a.sh -> none\n",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let list = fixture.list().await;
    let seen: Vec<(&str, &str, &str)> = list["files"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|file| {
            let hunks = file["hunks"].as_array().unwrap().iter();
            hunks.map(move |hunk| {
                (
                    file["path"].as_str().unwrap(),
                    file["content"].as_str().unwrap(),
                    hunk["kind"].as_str().unwrap(),
                )
            })
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("a.sh", "same", "mode"),
            ("b.sh", "text", "lines"),
            ("b.sh", "text", "mode"),
            ("old", "link", "link"),
            ("pw", "link", "link"),
        ]
    );
    let id = |file: usize, hunk: usize| list["files"][file]["hunks"][hunk]["id"].as_str().unwrap().to_owned();
    let mode = |name: &str| fs::metadata(place(name)).unwrap().permissions().mode() & 0o777;

    // The lines of a file and its permissions are decided separately.
    let result = fixture.decide(&["--accept", &id(1, 0), "--reject", &id(0, 0)]).await;
    assert_eq!(result["files"].as_array().unwrap().len(), 3, "{result}");
    assert_eq!((mode("a.sh"), mode("b.sh")), (0o644, 0o755));
    let result = fixture.decide(&["--reject", &id(1, 1), &id(3, 0)]).await;
    assert_eq!(result["files"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(mode("b.sh"), 0o644);
    assert_eq!(fixture.project.read("b.sh").unwrap(), "one\ntwo\n");
    assert!(fs::symlink_metadata(place("pw")).is_err());
    let result = fixture.decide(&["--reject", &id(2, 0)]).await;
    assert_eq!(result["files"], json!([]));
    assert_eq!(fs::read_link(place("old")).unwrap(), Path::new("a.sh"));
}

#[tokio::test]
async fn a_session_is_selected_by_id_and_reviewed_by_one_process_at_a_time() {
    let script = Script::new()
        .turn(Turn::calls(
            "write_file",
            json!({"path": "src/a.txt", "content": "made\n"}),
        ))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[], script).await;
    let none = fixture.changes(&[]).await;
    assert_eq!(none.code(), Some(2), "there is no session yet");
    fixture.run(&["make a file"]).await;
    let listing = fixture.list().await;
    let id = listing["session"].as_str().unwrap().to_owned();
    // From another folder, by a prefix of its id.
    let elsewhere = fixture.hew.clone().current_dir(fixture.hew.home());
    let output = elsewhere
        .clone()
        .args(["changes", &id[..13], "--json"])
        .run()
        .await
        .unwrap();
    assert_eq!(serde_json::from_str::<Value>(&output.stdout).unwrap(), listing);
    let unknown = elsewhere.args(["changes", "ffffffff"]).run().await.unwrap();
    assert_eq!(unknown.code(), Some(2), "{}", unknown.stderr);

    let store = SqliteStore::open(&fixture.data()).unwrap();
    let opened = store.open(store.find(&id).await.unwrap()).await.unwrap();
    fixture
        .check_refused(&["--accept-all"], 1, "is open in another hew process")
        .await;
    drop(opened.lease);
    drop(store);
    // Paths are relative to the current folder.
    let below = fixture.hew.clone().current_dir(fixture.project.path("src"));
    let output = below
        .args(["changes", &id, "--file", "a.txt", "--reject-all"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("accepted 0, rejected 1; no changes left to review"),
        "{}",
        output.stderr
    );
    assert!(!Path::new(&fixture.project.path("src/a.txt")).exists());
}

#[tokio::test]
async fn the_listing_matches_its_schema() {
    let schema = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().args(["schema", "changes"]);
    let schema: Value = serde_json::from_str(&schema.run().await.unwrap().stdout).unwrap();
    let schema = JsonSchemaValidator::new(&schema).unwrap();
    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "a.txt", "content": "made\n"})))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[], script).await;
    fixture.run(&["make a file"]).await;
    fixture.with_changes(&[("b.txt", Some(b"\xff"), None)]).await;
    let listing = fixture.list().await;
    assert_eq!(listing["files"].as_array().unwrap().len(), 2);
    assert_eq!(schema.violations(&listing), None);
}

#[tokio::test]
async fn a_path_filter_limits_the_review_and_reports_other_changes() {
    let script = Script::new()
        .turn(
            Turn::calls("write_file", json!({"path": "new/deep/a.txt", "content": "a\n"}))
                .call("write_file", json!({"path": "old/b.txt", "content": "b\n"})),
        )
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[("old/keep.txt", "x\n")], script).await;
    fixture.run(&["--no-title", "go"]).await;
    fixture
        .check_refused(
            &["--file", "old/keep.txt", "--accept-all"],
            2,
            "the session changed nothing in old/keep.txt",
        )
        .await;
    let output = fixture.changes(&["--file", "typo"]).await;
    assert_eq!(output.code(), Some(2));
    assert!(
        output
            .stderr
            .contains("hint: pending changes are in new/deep/a.txt, old/b.txt"),
        "{}",
        output.stderr
    );
    let output = fixture.changes(&["--file", "new", "--reject-all"]).await;
    assert!(
        output
            .stderr
            .contains("rejected 1; no changes left to review in these paths; 1 change in 1 file elsewhere"),
        "{}",
        output.stderr
    );
    let records_creation_time = fs::metadata(fixture.project.root()).unwrap().created().is_ok();
    assert_eq!(
        fixture.project.path("new").exists(),
        !records_creation_time,
        "a folder created for it is removed too"
    );
    let output = fixture.changes(&["--reject-all"]).await;
    assert!(
        output.stderr.contains("no changes left to review\n"),
        "{}",
        output.stderr
    );
    assert!(fixture.project.path("old/keep.txt").exists());
}

#[tokio::test]
async fn the_model_is_informed_about_rejected_changes_and_can_edit_again() {
    let read = |path: &str| Turn::calls("read_file", json!({"path": path}));
    let edits = |path: &str, old: &str, new: &str| Turn::calls("edit_file", edit(path, old, new));
    let script = Script::new()
        .turn(read("a.txt"))
        .turn(edits("a.txt", "1\n", "one\n"))
        .turn(read("b.txt"))
        .turn(edits("b.txt", "1\n", "one\n"))
        .turn(Turn::text("Done."))
        .turn(edits("a.txt", "2\n", "two\n"))
        .turn(Turn::text("Done again."))
        .turn(edits("b.txt", "2\n", "two\n"))
        .turn(Turn::text("Finally done."));
    let fixture = Fixture::new(&[("a.txt", PLAIN), ("b.txt", PLAIN)], script).await;
    fixture.run(&["edit both"]).await;
    let ids = fixture.list().await;
    let id = |file: usize| ids["files"][file]["hunks"][0]["id"].as_str().unwrap().to_owned();
    fixture.decide(&["--reject", &id(0), "--accept", &id(1)]).await;
    assert_eq!(fixture.project.read("a.txt").unwrap(), PLAIN);
    fixture.run(&["--continue", "now the second line"]).await;
    assert_eq!(fixture.project.read("a.txt").unwrap(), PLAIN.replace("2\n", "two\n"));
    let seen = fixture.server.main_requests().last().unwrap().json().to_string();
    assert!(seen.contains("The user rejected all changes in a.txt."), "{seen}");
    assert!(
        !seen.contains("all changes in b.txt") && !seen.contains("not been read yet"),
        "{seen}"
    );

    // A file that someone else changed must be read again, and the message says so.
    fixture.project.write("b.txt", PLAIN.replace("1\n", "uno\n")).unwrap();
    fixture.run(&["--continue", "and in b"]).await;
    let seen = fixture.server.main_requests().last().unwrap().json().to_string();
    assert!(!seen.contains("not been read yet"), "{seen}");
    assert_eq!(fixture.project.read("b.txt").unwrap(), PLAIN.replace("1\n", "uno\n"));
}
