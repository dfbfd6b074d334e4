//! `hew changes` from end to end: what the agent changed is listed, accepted and rejected, and a person's edits stay.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use serde_json::{Value, json};
use session::{Body, Change, Item, ItemId, Store, Time};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Sqlite;
use testkit::{Hew, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const PLAIN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A file with its bytes before and after.
type Told<'a> = (&'a str, Option<&'a [u8]>, Option<&'a [u8]>);

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// A project, and a hew whose model says what the script says.
struct World {
    project: Project,
    hew: Hew,
    _server: Server,
}

impl World {
    async fn new(files: &[(&str, &str)], script: Script) -> Self {
        let server = Server::start(script).await.unwrap();
        let project = Project::new(files).unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
        World {
            hew: hew.talks_to(&server).folder(project.root()),
            project,
            _server: server,
        }
    }

    /// Lets the model work until it is done.
    async fn run(&self, arguments: &[&str]) {
        let output = self.hew.clone().args(["run", "-m", MODEL]).args(arguments).run().await;
        let output = output.unwrap();
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    }

    async fn changes(&self, arguments: &[&str]) -> Output {
        self.hew.clone().arg("changes").args(arguments).run().await.unwrap()
    }

    /// Decides about something, which must go well, and gives back what waits then.
    async fn decided(&self, arguments: &[&str]) -> Value {
        let output = self.changes(&[&["--json"], arguments].concat()).await;
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    }

    async fn listed(&self) -> Value {
        self.decided(&[]).await
    }

    /// Tries something that must be refused with this code and these words, and must leave every file and the list alone.
    async fn refused(&self, arguments: &[&str], code: i32, words: &str) {
        let before = (self.project.files().unwrap(), self.listed().await);
        let output = self.changes(arguments).await;
        assert_eq!(
            output.code(),
            Some(code),
            "{arguments:?}: {}{}",
            output.stdout,
            output.stderr
        );
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
        assert_eq!((self.project.files().unwrap(), self.listed().await), before);
    }

    /// A session that holds these changes, as if tools had made them.
    async fn with_changes(&self, changes: &[Told<'_>]) {
        let store = Sqlite::open(&self.data()).unwrap();
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
            let told = format!("{path}: {} -> {}", text("before"), text("after"));
            all.push((told, hunk["id"].as_str().unwrap().to_owned()));
        }
    }
    all
}

fn told(listing: &Value) -> Vec<String> {
    hunks(listing).into_iter().map(|(told, _)| told).collect()
}

fn id_of(listing: &Value, wanted: &str) -> String {
    let found = hunks(listing).into_iter().find(|(told, _)| told == wanted);
    found.unwrap_or_else(|| panic!("no {wanted} in {listing}")).1
}

#[tokio::test]
async fn changes_are_accepted_and_rejected_while_both_go_on_editing() {
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
    let world = World::new(&[("a.txt", PLAIN)], script).await;
    let person = |from: &str, to: &str| {
        let text = world.project.read("a.txt").unwrap();
        world.project.write("a.txt", text.replacen(from, to, 1)).unwrap();
    };
    world.run(&["first"]).await;
    person("9\n", "nine, says a person\n");
    world.run(&["--continue", "second"]).await;
    person("1\n", "a person's title\n1\n");

    let list = world.listed().await;
    assert_eq!(told(&list), ["a.txt: 2 -> two", "a.txt: 6 -> six|six and a half"]);
    let plain = world.changes(&[]).await;
    assert_eq!(plain.code(), Some(0));
    let two = id_of(&list, "a.txt: 2 -> two");
    let six = id_of(&list, "a.txt: 6 -> six|six and a half");
    let wanted = format!(
        "a.txt modified +3 -2\n--- a/a.txt\n+++ b/a.txt\n@@ -1,6 +1,6 @@ #1 {two}\n a person's title\n 1\n-2\n+two\n 3\n 4\n 5\n\
         @@ -7,4 +7,5 @@ #2 {six}\n-6\n+six\n+six and a half\n 7\n 8\n nine, says a person\n"
    );
    assert_eq!(plain.stdout, wanted);
    assert!(plain.stderr.starts_with("2 changes in 1 file;"), "{}", plain.stderr);

    let left = world.decided(&["--accept", &two]).await;
    assert_eq!(left["accepted"], json!([two]));
    assert_eq!(told(&left), ["a.txt: 6 -> six|six and a half"]);
    let left = world.decided(&["--reject", &six]).await;
    assert_eq!(left["rejected"], json!([six]));
    assert_eq!(left["files"], json!([]));
    let reviewed = "a person's title\n1\ntwo\n3\n4\n5\n6\n7\n8\nnine, says a person\n";
    assert_eq!(world.project.read("a.txt").unwrap(), reviewed);
    let nothing = world.changes(&[]).await;
    assert!(nothing.stdout.is_empty() && nothing.stderr.starts_with("nothing waits for review"));
    world
        .refused(
            &["--accept", &two],
            1,
            "has changed since it was listed, or it was decided already",
        )
        .await;

    world.run(&["--continue", "third"]).await;
    person("7\n", "seven, says a person\n");
    let list = world.listed().await;
    assert_eq!(told(&list), ["a.txt: 4 -> four"]);
    world.decided(&["--reject-all"]).await;
    assert_eq!(
        world.project.read("a.txt").unwrap(),
        reviewed.replace('7', "seven, says a person")
    );

    // What was reviewed is in the session for people, and the session is complete as before.
    let exported = world
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
    let shown = world.hew.clone().args(["sessions", "show"]).run().await.unwrap().stdout;
    assert!(shown.contains("*You reviewed the changes of:*\n- `a.txt`\n"), "{shown}");
    let resumed = world.hew.clone().arg("resume").run().await.unwrap();
    assert!(resumed.stderr.contains("nothing unfinished"), "{}", resumed.stderr);
}

#[tokio::test]
async fn a_created_file_goes_and_a_deleted_one_comes_back() {
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
    let world = World::new(&[], script).await;
    world.run(&["make files"]).await;
    world
        .with_changes(&[("gone.txt", Some(b"it was\r\nthere"), None)])
        .await;
    let list = world.listed().await;
    let statuses: Vec<&Value> = list["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["status"])
        .collect();
    assert_eq!(statuses, ["deleted", "created", "created", "created"]);
    world.project.write("shared.txt", "made\nand mine\n").unwrap();
    let list = world.listed().await;
    let shared = id_of(&list, "shared.txt:  -> made|and mine");
    world
        .refused(
            &["--reject", &shared],
            1,
            "shared.txt is new, but you have worked on it",
        )
        .await;
    world
        .refused(&["--reject-all"], 1, "shared.txt is new, but you have worked on it")
        .await;
    let made = id_of(&list, "new/made.txt:  -> made");
    let gone = id_of(&list, "gone.txt: it was\r|there -> ");
    let kept = id_of(&list, "kept.txt:  -> made");
    let left = world
        .decided(&["--reject", &made, &gone, "--accept", &format!("{kept},{shared}")])
        .await;
    assert_eq!(left["files"], json!([]));
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        world.project.files().unwrap(),
        [
            file("gone.txt", "it was\r\nthere"),
            file("kept.txt", "made\n"),
            file("shared.txt", "made\nand mine\n")
        ]
    );
}

#[tokio::test]
async fn one_bad_name_spoils_the_whole_decision() {
    let script = Script::new()
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(
            Turn::calls("edit_file", edit("a.txt", "2\n", "two\n")).call("edit_file", edit("a.txt", "8\n", "eight\n")),
        )
        .turn(Turn::calls("write_file", json!({"path": "b.txt", "content": "b\n"})))
        .turn(Turn::text("Done."));
    let world = World::new(&[("a.txt", PLAIN)], script).await;
    world.run(&["change"]).await;
    let list = world.listed().await;
    let (two, eight) = (id_of(&list, "a.txt: 2 -> two"), id_of(&list, "a.txt: 8 -> eight"));
    world
        .refused(&["--accept", &two, "nonsense"], 2, "no change nonsense waits")
        .await;
    world
        .refused(
            &["--accept", &two, "--reject", &two],
            2,
            "accepted and rejected at once",
        )
        .await;
    world
        .refused(&["--reject", "2"], 2, &format!("use the id beside it: {eight}"))
        .await;
    world
        .refused(
            &["--file", "b.txt", "--reject", &two],
            2,
            &format!("no change {two} waits"),
        )
        .await;
    world
        .refused(&["--accept-all", "--reject", &two], 2, "cannot be used with")
        .await;

    // The person works on one of the changes: its name no longer fits. The other one's does.
    let text = world.project.read("a.txt").unwrap();
    world
        .project
        .write("a.txt", text.replace("two", "two, says a person"))
        .unwrap();
    let stale = "a.txt has changed since it was listed";
    world.refused(&["--reject", &eight, &two], 1, stale).await;
    let now = world.listed().await;
    let mixed = id_of(&now, "a.txt: 2 -> two, says a person");
    assert_eq!(id_of(&now, "a.txt: 8 -> eight"), eight);
    world
        .refused(&["--reject-all"], 1, &format!("your own edits are part of {mixed}"))
        .await;
    let failed = world.changes(&["--json", "--reject", &two]).await;
    let error: Value = serde_json::from_str(failed.stdout.trim()).unwrap();
    assert_eq!((&error["type"], &error["exit_code"]), (&json!("error"), &json!(1)));

    // What cannot be written leaves the other files alone too.
    let made = id_of(&now, "b.txt:  -> b");
    let path = world.project.path("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(&path).is_err() {
        world
            .refused(&["--reject", &made, &eight], 1, "permission denied: a.txt")
            .await;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    world.decided(&["--file", "a.txt", "--reject", &eight]).await;
    assert_eq!(
        world.project.read("a.txt").unwrap(),
        PLAIN.replace('2', "two, says a person")
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    let left = world.decided(&["--file", "b.txt", "--accept-all"]).await;
    assert_eq!(left["files"], json!([]));
    assert_eq!(told(&world.listed().await), ["a.txt: 2 -> two, says a person"]);
    world.decided(&["--reject", &mixed]).await;
    assert_eq!(world.project.read("a.txt").unwrap(), PLAIN);
}

#[tokio::test]
async fn a_file_that_is_not_text_is_kept_byte_for_byte() {
    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "a.txt", "content": "made\n"})))
        .turn(Turn::text("Done."));
    let world = World::new(&[], script).await;
    world.run(&["make a file"]).await;
    let bytes = |name: &str| fs::read(world.project.path(name)).unwrap();
    let (old, new): (&[u8], &[u8]) = (b"\xff\x00old\n", b"\xff\x00new\n");
    world.project.write("b.bin", new).unwrap();
    world.project.write("c.bin", new).unwrap();
    world
        .with_changes(&[("b.bin", Some(old), Some(new)), ("c.bin", Some(old), Some(new))])
        .await;
    // The person writes bytes that are not UTF-8 into a file that the agent made, and into one it changed.
    world.project.write("a.txt", b"made\ncaf\xe9\n").unwrap();
    world.project.write("c.bin", b"\xff\x00mine\n").unwrap();
    let list = world.listed().await;
    let files = list["files"].as_array().unwrap();
    assert!(files.iter().all(|file| file["content"] == "whole"), "{list}");
    let id = |at: usize| files[at]["hunks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(files[0]["hunks"][0]["rejectable"], false);
    let shown = world.changes(&["--file", "b.bin"]).await.stdout;
    assert_eq!(
        shown,
        format!("b.bin modified not text: 6 bytes became 6 bytes\n#2 {}\n", id(1))
    );
    for at in [0, 2] {
        world
            .refused(&["--reject", &id(at)], 1, "is not text and was changed by others too")
            .await;
    }
    world.decided(&["--reject", &id(1), "--accept", &id(0), &id(2)]).await;
    assert_eq!(
        (bytes("b.bin"), bytes("a.txt")),
        (old.to_vec(), b"made\ncaf\xe9\n".to_vec())
    );
    assert_eq!(bytes("c.bin"), b"\xff\x00mine\n");
    assert_eq!(world.listed().await["files"], json!([]));
}

#[tokio::test]
async fn links_and_permissions_are_reviewed_and_everything_counts_the_same() {
    let script = Script::new()
        .turn(Turn::calls(
            "terminal",
            json!({"command": "chmod 755 a.sh; ln -s a.sh pw; chmod 755 b.sh; echo two >> b.sh; rm old; mkdir empty"}),
        ))
        .turn(Turn::text("Done."));
    let files = [("a.sh", "one\n"), ("b.sh", "one\n")];
    let world = World::new(&files, script).await;
    let place = |name: &str| world.project.path(name);
    for (name, _) in files {
        fs::set_permissions(place(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    std::os::unix::fs::symlink("a.sh", place("old")).unwrap();
    let run = world.hew.clone().args(["run", "-m", MODEL, "go"]).run().await.unwrap();
    assert!(run.stderr.contains("4 files changed · hew changes "), "{}", run.stderr);

    let shown = world.changes(&[]).await;
    assert!(shown.stderr.starts_with("5 changes in 4 files;"), "{}", shown.stderr);
    for part in [
        ": mode 644 became mode 755\n",
        ": nothing became link to a.sh\n",
        ": link to a.sh became nothing\n",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let list = world.listed().await;
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

    // The lines of a file and its permissions are decided apart.
    let left = world.decided(&["--accept", &id(1, 0), "--reject", &id(0, 0)]).await;
    assert_eq!(left["files"].as_array().unwrap().len(), 3, "{left}");
    assert_eq!((mode("a.sh"), mode("b.sh")), (0o644, 0o755));
    let left = world.decided(&["--reject", &id(1, 1), &id(3, 0)]).await;
    assert_eq!(left["files"].as_array().unwrap().len(), 1, "{left}");
    assert_eq!(mode("b.sh"), 0o644);
    assert_eq!(world.project.read("b.sh").unwrap(), "one\ntwo\n");
    assert!(fs::symlink_metadata(place("pw")).is_err());
    let left = world.decided(&["--reject", &id(2, 0)]).await;
    assert_eq!(left["files"], json!([]));
    assert_eq!(fs::read_link(place("old")).unwrap(), Path::new("a.sh"));
}

#[tokio::test]
async fn a_session_is_named_and_only_one_hew_decides_at_a_time() {
    let script = Script::new()
        .turn(Turn::calls(
            "write_file",
            json!({"path": "src/a.txt", "content": "made\n"}),
        ))
        .turn(Turn::text("Done."));
    let world = World::new(&[], script).await;
    let none = world.changes(&[]).await;
    assert_eq!(none.code(), Some(2), "there is no session yet");
    world.run(&["make a file"]).await;
    let listing = world.listed().await;
    let id = listing["session"].as_str().unwrap().to_owned();
    // From elsewhere, by the beginning of its id.
    let elsewhere = world.hew.clone().folder(world.hew.home());
    let output = elsewhere
        .clone()
        .args(["changes", &id[..13], "--json"])
        .run()
        .await
        .unwrap();
    assert_eq!(serde_json::from_str::<Value>(&output.stdout).unwrap(), listing);
    let unknown = elsewhere.args(["changes", "ffffffff"]).run().await.unwrap();
    assert_eq!(unknown.code(), Some(2), "{}", unknown.stderr);

    let store = Sqlite::open(&world.data()).unwrap();
    let opened = store.open(store.find(&id).await.unwrap()).await.unwrap();
    world.refused(&["--accept-all"], 1, "is open in another hew").await;
    drop(opened.lease);
    drop(store);
    // A file can be named as one types it in a folder of the project.
    let below = world.hew.clone().folder(world.project.path("src"));
    let output = below
        .args(["changes", &id, "--file", "a.txt", "--reject-all"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("accepted 0, rejected 1; nothing is left to review"),
        "{}",
        output.stderr
    );
    assert!(!Path::new(&world.project.path("src/a.txt")).exists());
}

#[tokio::test]
async fn what_is_listed_matches_its_schema() {
    let schema = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().args(["schema", "changes"]);
    let schema: Value = serde_json::from_str(&schema.run().await.unwrap().stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "a.txt", "content": "made\n"})))
        .turn(Turn::text("Done."));
    let world = World::new(&[], script).await;
    world.run(&["make a file"]).await;
    world.with_changes(&[("b.txt", Some(b"\xff"), None)]).await;
    let listing = world.listed().await;
    assert_eq!(listing["files"].as_array().unwrap().len(), 2);
    let errors: Vec<String> = validator.iter_errors(&listing).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[tokio::test]
async fn a_filter_names_files_that_were_changed_and_the_rest_is_not_forgotten() {
    let script = Script::new()
        .turn(
            Turn::calls("write_file", json!({"path": "new/deep/a.txt", "content": "a\n"}))
                .call("write_file", json!({"path": "old/b.txt", "content": "b\n"})),
        )
        .turn(Turn::text("Done."));
    let world = World::new(&[("old/keep.txt", "x\n")], script).await;
    world.run(&["--no-title", "go"]).await;
    world
        .refused(
            &["--file", "old/keep.txt", "--accept-all"],
            2,
            "nothing was changed in old/keep.txt",
        )
        .await;
    let output = world.changes(&["--file", "typo"]).await;
    assert_eq!(output.code(), Some(2));
    assert!(
        output
            .stderr
            .contains("hint: changes wait in new/deep/a.txt, old/b.txt"),
        "{}",
        output.stderr
    );
    let output = world.changes(&["--file", "new", "--reject-all"]).await;
    assert!(
        output
            .stderr
            .contains("rejected 1; nothing is left to review there; 1 change in 1 file elsewhere"),
        "{}",
        output.stderr
    );
    let tells_age = fs::metadata(world.project.root()).unwrap().created().is_ok();
    assert_eq!(
        world.project.path("new").exists(),
        !tells_age,
        "a folder made for it goes with it"
    );
    let output = world.changes(&["--reject-all"]).await;
    assert!(
        output.stderr.contains("nothing is left to review\n"),
        "{}",
        output.stderr
    );
    assert!(world.project.path("old/keep.txt").exists());
}
