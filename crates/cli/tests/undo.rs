//! `hew undo`, `redo`, `diff` and `rewind` end to end: reverts a turn's file changes and preserves changes made by others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "undo/data_loss.rs"]
mod data_loss;
#[path = "undo/sequences.rs"]
mod sequences;

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use testkit::{Hew, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

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

    async fn run(&self, arguments: &[&str]) {
        let output = self.hew.clone().args(["run", "-m", MODEL]).args(arguments).run().await;
        let output = output.unwrap();
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    }

    async fn hew(&self, arguments: &[&str]) -> Output {
        self.hew.clone().args(arguments).run().await.unwrap()
    }

    async fn succeed(&self, arguments: &[&str]) -> Output {
        let output = self.hew(arguments).await;
        assert_eq!(
            output.code(),
            Some(0),
            "{arguments:?}: {}{}",
            output.stdout,
            output.stderr
        );
        output
    }

    fn read(&self, path: &str) -> String {
        self.project.read(path).unwrap()
    }

    fn exists(&self, path: &str) -> bool {
        self.project.path(path).symlink_metadata().is_ok()
    }
}

fn shell(command: &str) -> Turn {
    Turn::calls("terminal", json!({"command": command}))
}

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap()
}

#[tokio::test]
async fn the_changes_of_a_command_are_undone_and_redone_and_the_model_is_notified() {
    let script = Script::new()
        .turn(shell(
            "rm old.txt; mkdir -p new/deep; echo x > new/deep/x; chmod 755 run; ln -sfn run link; echo more >> keep.txt",
        ))
        .turn(Turn::calls("write_file", json!({"path": "made/by/tool.txt", "content": "t\n"})))
        .turn(Turn::text("Done."))
        .turn(Turn::text("I see."));
    let fixture = Fixture::new(
        &[("old.txt", "old\n"), ("run", "#!/bin/sh\n"), ("keep.txt", "keep\n")],
        script,
    )
    .await;
    let run = fixture.project.path("run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o644)).unwrap();
    symlink("old.txt", fixture.project.path("link")).unwrap();
    fixture.run(&["change everything"]).await;
    assert!(!fixture.exists("old.txt") && fixture.exists("new/deep/x"));

    let dry = fixture.succeed(&["undo", "--dry-run", "--json"]).await;
    assert_eq!(json_of(&dry)["done"], json!(false));
    assert!(!fixture.exists("old.txt"));

    let undone = fixture.succeed(&["undo"]).await;
    assert!(
        undone.stderr.contains("Undid \"change everything\": "),
        "{}",
        undone.stderr
    );
    assert_eq!(
        (fixture.read("old.txt").as_str(), fixture.read("keep.txt").as_str()),
        ("old\n", "keep\n")
    );
    assert!(!fixture.exists("new") && !fixture.exists("made"));
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(
        fs::read_link(fixture.project.path("link")).unwrap().to_str(),
        Some("old.txt")
    );
    assert!(fixture.hew(&["undo"]).await.stderr.contains("nothing to undo"));

    fixture.succeed(&["redo"]).await;
    assert!(!fixture.exists("old.txt") && fixture.exists("new/deep/x") && fixture.exists("made/by/tool.txt"));
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(fixture.hew(&["redo"]).await.stderr.contains("nothing to redo"));

    fixture.succeed(&["undo"]).await;
    fixture.run(&["--continue", "what now?"]).await;
    let seen = fixture.server.main_requests().last().unwrap().json().to_string();
    assert!(seen.contains("The user undid the changes of the last turn"), "{seen}");
    assert!(seen.contains("brought back old.txt"), "{seen}");
}

#[tokio::test]
async fn changes_made_outside_the_session_are_reported_and_not_overwritten() {
    let script = Script::new()
        .turn(shell("echo agent > a; echo agent > b; echo agent > c"))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[("a", "1\n"), ("b", "1\n")], script).await;
    fixture.run(&["go"]).await;
    fixture.project.write("a", "mine\n").unwrap();
    let refused = fixture.hew(&["undo"]).await;
    assert_eq!(refused.code(), Some(1));
    assert!(
        refused.stdout.contains("conflict     a (changed outside the session)"),
        "{}",
        refused.stdout
    );
    assert!(
        refused.stderr.contains("--keep skips these files"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        (fixture.read("a").as_str(), fixture.read("b").as_str()),
        ("mine\n", "agent\n")
    );

    fixture.succeed(&["undo", "--keep"]).await;
    assert_eq!(
        (fixture.read("a").as_str(), fixture.read("b").as_str()),
        ("mine\n", "1\n")
    );
    assert!(!fixture.exists("c"));
    fixture.succeed(&["redo"]).await;
    assert_eq!(
        (fixture.read("a").as_str(), fixture.read("b").as_str()),
        ("mine\n", "agent\n")
    );

    fixture.succeed(&["undo", "--force"]).await;
    assert_eq!(fixture.read("a"), "1\n");
    fixture.succeed(&["redo"]).await;
    assert_eq!(fixture.read("a"), "mine\n", "the overwritten version is not restored");
}

#[tokio::test]
async fn a_session_is_rewound_to_any_prompt_with_or_without_the_files() {
    let script = Script::new()
        .turn(shell("echo one > f"))
        .turn(Turn::text("One."))
        .turn(shell("echo two > f; echo x > g"))
        .turn(Turn::text("Two."))
        .turn(Turn::text("Again."));
    let fixture = Fixture::new(&[("f", "zero\n")], script).await;
    fixture.run(&["first"]).await;
    fixture.run(&["--continue", "second"]).await;
    let listed = json_of(&fixture.succeed(&["rewind", "last", "--json"]).await);
    let rows = listed.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[1]["text"], &rows[1]["changed"]), (&json!("second"), &json!(2)));

    let back = fixture.succeed(&["rewind", "last/2"]).await;
    assert_eq!((fixture.read("f").as_str(), fixture.exists("g")), ("one\n", false));
    let hint = back.stderr.lines().find(|line| line.contains("to return: ")).unwrap();
    let way = hint.split("to return: hew ").nth(1).unwrap();
    fixture.succeed(&way.split(' ').collect::<Vec<_>>()).await;
    assert_eq!((fixture.read("f").as_str(), fixture.exists("g")), ("two\n", true));

    fixture.succeed(&["rewind", "last/1", "--no-files"]).await;
    assert_eq!((fixture.read("f").as_str(), fixture.exists("g")), ("two\n", true));
    // Undoing the kept files restores the state that the conversation knows.
    fixture.succeed(&["undo"]).await;
    assert_eq!((fixture.read("f").as_str(), fixture.exists("g")), ("zero\n", false));
    for (to, why) in [
        ("last/9", "no prompt 9"),
        ("last/abcdef12", "no item `abcdef12`"),
        ("last/x", "no item `x`"),
    ] {
        let wrong = fixture.hew(&["rewind", to]).await;
        assert_eq!(wrong.code(), Some(2));
        assert!(wrong.stderr.contains(why), "{}", wrong.stderr);
    }
}

#[tokio::test]
async fn a_diff_shows_the_changes_of_the_session() {
    let script = Script::new()
        .turn(shell(
            "printf 'one\\n2\\n' > a; rm b; printf 'new\\n' > 'n w'; chmod 600 m; ln -s a l; printf '\\000' > z",
        ))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[("a", "1\n2\n"), ("b", "b\n"), ("m", "m\n")], script).await;
    fs::set_permissions(fixture.project.path("m"), fs::Permissions::from_mode(0o644)).unwrap();
    for path in ["a", "b"] {
        fs::set_permissions(fixture.project.path(path), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fixture.run(&["go"]).await;
    let all = fixture.succeed(&["diff"]).await.stdout;
    let expected = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\
                  diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n\
                  diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n\
                  diff --git a/n w b/n w\n";
    let note = "# mode of m: 644 -> 600 (not tracked by git)\n";
    assert!(all.starts_with(&format!("{note}{expected}")), "{all}");
    assert!(all.contains("GIT binary patch\nliteral 1\n"), "{all}");
    let stat = fixture.succeed(&["diff", "--stat", "a"]).await.stdout;
    assert_eq!(stat, "modified  +1 -1 a\n");
    let rows = json_of(&fixture.succeed(&["diff", "--json", "--since", "1"]).await);
    assert_eq!(rows.as_array().unwrap().len(), 6);
    assert_eq!(rows[0]["path"], json!("a"));
    let unknown = fixture.hew(&["diff", "nope"]).await;
    assert_eq!(unknown.code(), Some(2));
    assert!(
        unknown.stderr.contains("`nope` is neither a session nor a file"),
        "{}",
        unknown.stderr
    );
}

#[tokio::test]
async fn git_applies_and_reverts_a_diff() {
    let script = Script::new()
        .turn(shell(
            "mkdir empty new; printf 'x\\n' > new/x; printf '\\000\\001' > bin; head -c 5000 /dev/urandom > large; \
             printf 'caf\\351\\n' > latin; : > nothing; chmod 755 run; rm gone; ln -sfn old link; rm was; ln -s run was; \
             printf 'q\\n' > 'a \\\"b\\\\'; printf 'no end' > old; printf 'ä\\n' > 'ü ü'",
        ))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(
        &[
            ("run", "r\n"),
            ("gone", "g\n"),
            ("was", "w\n"),
            ("old", "o\n"),
            ("bin", "b\n"),
        ],
        script,
    )
    .await;
    for name in ["run", "gone", "was", "old", "bin"] {
        fs::set_permissions(fixture.project.path(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(fixture.project.path("large"), [7, 0, 255].repeat(900)).unwrap();
    symlink("run", fixture.project.path("link")).unwrap();
    fixture.run(&["go"]).await;
    let patch = fixture.succeed(&["diff"]).await.stdout;
    assert!(patch.starts_with("# new empty folder: empty/\n"), "{patch}");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, &patch).unwrap();
    let after = fixture.project.files().unwrap();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .arg("apply")
            .args(arguments)
            .arg(file.path())
            .current_dir(fixture.project.root())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}{patch}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    git(&["-R", "--check"]);
    git(&["-R"]);
    assert_eq!(fixture.read("was"), "w\n");
    assert_eq!(
        fs::read_link(fixture.project.path("link")).unwrap(),
        std::path::Path::new("run")
    );
    git(&["--check"]);
    git(&[]);
    assert_eq!(fixture.project.files().unwrap(), after);
}

#[tokio::test]
async fn an_undo_without_effect_is_not_recorded() {
    let script = Script::new()
        .turn(shell("echo agent > a; mkdir d"))
        .turn(Turn::text("Done."));
    let fixture = Fixture::new(&[("a", "1\n")], script).await;
    fixture.run(&["go"]).await;
    fs::remove_dir(fixture.project.path("d")).unwrap();
    fixture.project.write("a", "mine\n").unwrap();
    let idle = fixture.hew(&["undo", "--keep"]).await;
    assert_eq!(idle.code(), Some(1));
    assert!(
        idle.stderr
            .contains("nothing was restored: 1 file changed outside the session"),
        "{}",
        idle.stderr
    );
    let undone = fixture.succeed(&["undo", "--force"]).await;
    assert!(
        undone.stderr.ends_with("Undid \"go\": 1 file restored\n"),
        "{}",
        undone.stderr
    );
    assert_eq!(fixture.read("a"), "1\n");
    let redone = fixture.succeed(&["redo"]).await;
    assert!(
        redone.stderr.ends_with("Redid \"go\": 1 file restored\n"),
        "{}",
        redone.stderr
    );
}

#[tokio::test]
async fn the_changes_of_an_interrupted_command_can_be_undone() {
    let command = "echo changed > f; echo x > g; echo re''ady; sleep 60";
    let script = Script::new().turn(shell(command)).turn(Turn::text("Done."));
    let fixture = Fixture::new(&[("f", "1\n")], script).await;
    let mut running = fixture
        .hew
        .clone()
        .args(["run", "--json", "-m", MODEL, "go"])
        .spawn()
        .unwrap();
    running.wait_for_output("ready").await.unwrap();
    running.interrupt().unwrap();
    assert_eq!(running.wait().await.unwrap().code(), Some(130));
    fixture.succeed(&["undo"]).await;
    assert_eq!((fixture.read("f").as_str(), fixture.exists("g")), ("1\n", false));
}

#[tokio::test]
async fn no_changes_are_recorded_if_checkpoints_are_disabled() {
    let script = Script::new().turn(shell("echo changed > f")).turn(Turn::text("Done."));
    let fixture = Fixture::new(&[("f", "1\n")], script).await;
    fixture.run(&["--set", "checkpoints.commands=false", "go"]).await;
    assert!(fixture.hew(&["undo"]).await.stderr.contains("nothing to undo"));
}
