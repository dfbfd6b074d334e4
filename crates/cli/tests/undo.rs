//! `hew undo`, `redo`, `diff` and `rewind` from end to end: what a turn did to files is taken back, and others' work stays.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use testkit::{Hew, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

/// A project, and a hew whose model says what the script says.
struct World {
    project: Project,
    hew: Hew,
    server: Server,
}

impl World {
    async fn new(files: &[(&str, &str)], script: Script) -> Self {
        let server = Server::start(script).await.unwrap();
        let project = Project::new(files).unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
        World {
            hew: hew.talks_to(&server).folder(project.root()),
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

    async fn fine(&self, arguments: &[&str]) -> Output {
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
async fn what_a_command_did_is_undone_and_redone_and_the_model_is_told() {
    let script = Script::new()
        .turn(shell(
            "rm old.txt; mkdir -p new/deep; echo x > new/deep/x; chmod 755 run; ln -sfn run link; echo more >> keep.txt",
        ))
        .turn(Turn::calls("write_file", json!({"path": "made/by/tool.txt", "content": "t\n"})))
        .turn(Turn::text("Done."))
        .turn(Turn::text("I see."));
    let world = World::new(
        &[("old.txt", "old\n"), ("run", "#!/bin/sh\n"), ("keep.txt", "keep\n")],
        script,
    )
    .await;
    let run = world.project.path("run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o644)).unwrap();
    symlink("old.txt", world.project.path("link")).unwrap();
    world.run(&["change everything"]).await;
    assert!(!world.exists("old.txt") && world.exists("new/deep/x"));

    let dry = world.fine(&["undo", "--dry-run", "--json"]).await;
    assert_eq!(json_of(&dry)["done"], json!(false));
    assert!(!world.exists("old.txt"));

    let told = world.fine(&["undo"]).await;
    assert!(told.stderr.contains("undone: “change everything”"), "{}", told.stderr);
    assert_eq!(
        (world.read("old.txt").as_str(), world.read("keep.txt").as_str()),
        ("old\n", "keep\n")
    );
    assert!(!world.exists("new") && !world.exists("made"));
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(
        fs::read_link(world.project.path("link")).unwrap().to_str(),
        Some("old.txt")
    );
    assert!(world.hew(&["undo"]).await.stderr.contains("there is nothing to undo"));

    world.fine(&["redo"]).await;
    assert!(!world.exists("old.txt") && world.exists("new/deep/x") && world.exists("made/by/tool.txt"));
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(world.hew(&["redo"]).await.stderr.contains("there is nothing to redo"));

    world.fine(&["undo"]).await;
    world.run(&["--continue", "what now?"]).await;
    let seen = world.server.main_requests().last().unwrap().json().to_string();
    assert!(
        seen.contains("The person took back what the last turn changed"),
        "{seen}"
    );
    assert!(seen.contains("brought back old.txt"), "{seen}");
}

#[tokio::test]
async fn what_others_did_since_is_shown_and_not_overwritten() {
    let script = Script::new()
        .turn(shell("echo agent > a; echo agent > b; echo agent > c"))
        .turn(Turn::text("Done."));
    let world = World::new(&[("a", "1\n"), ("b", "1\n")], script).await;
    world.run(&["go"]).await;
    world.project.write("a", "mine\n").unwrap();
    let refused = world.hew(&["undo"]).await;
    assert_eq!(refused.code(), Some(1));
    assert!(
        refused.stdout.contains("conflict     a (changed since by others)"),
        "{}",
        refused.stdout
    );
    assert!(
        refused.stderr.contains("--keep leaves those files alone"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("mine\n", "agent\n")
    );

    world.fine(&["undo", "--keep"]).await;
    assert_eq!((world.read("a").as_str(), world.read("b").as_str()), ("mine\n", "1\n"));
    assert!(!world.exists("c"));
    world.fine(&["redo"]).await;
    assert_eq!(
        (world.read("a").as_str(), world.read("b").as_str()),
        ("mine\n", "agent\n")
    );

    world.fine(&["undo", "--force"]).await;
    assert_eq!(world.read("a"), "1\n");
    world.fine(&["redo"]).await;
    assert_eq!(world.read("a"), "mine\n", "what was overwritten is not lost");
}

#[tokio::test]
async fn a_session_goes_back_to_any_prompt_with_or_without_the_files() {
    let script = Script::new()
        .turn(shell("echo one > f"))
        .turn(Turn::text("One."))
        .turn(shell("echo two > f; echo x > g"))
        .turn(Turn::text("Two."))
        .turn(Turn::text("Again."));
    let world = World::new(&[("f", "zero\n")], script).await;
    world.run(&["first"]).await;
    world.run(&["--continue", "second"]).await;
    let listed = json_of(&world.fine(&["rewind", "last", "--json"]).await);
    let rows = listed.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[1]["text"], &rows[1]["changed"]), (&json!("second"), &json!(2)));

    let back = world.fine(&["rewind", "last/2"]).await;
    assert_eq!((world.read("f").as_str(), world.exists("g")), ("one\n", false));
    let hint = back.stderr.lines().find(|line| line.contains("to return: ")).unwrap();
    let way = hint.split("to return: hew ").nth(1).unwrap();
    world.fine(&way.split(' ').collect::<Vec<_>>()).await;
    assert_eq!((world.read("f").as_str(), world.exists("g")), ("two\n", true));

    world.fine(&["rewind", "last/1", "--no-files"]).await;
    assert_eq!((world.read("f").as_str(), world.exists("g")), ("two\n", true));
    // What was left can be taken back too: it leads to what the conversation knows.
    world.fine(&["undo"]).await;
    assert_eq!((world.read("f").as_str(), world.exists("g")), ("zero\n", false));
    for (to, why) in [
        ("last/9", "no prompt 9"),
        ("last/abcdef12", "no item `abcdef12`"),
        ("last/x", "no item `x`"),
    ] {
        let wrong = world.hew(&["rewind", to]).await;
        assert_eq!(wrong.code(), Some(2));
        assert!(wrong.stderr.contains(why), "{}", wrong.stderr);
    }
}

#[tokio::test]
async fn a_diff_shows_what_the_session_changed() {
    let script = Script::new()
        .turn(shell(
            "printf 'one\\n2\\n' > a; rm b; printf 'new\\n' > 'n w'; chmod 600 m; ln -s a l; printf '\\000' > z",
        ))
        .turn(Turn::text("Done."));
    let world = World::new(&[("a", "1\n2\n"), ("b", "b\n"), ("m", "m\n")], script).await;
    fs::set_permissions(world.project.path("m"), fs::Permissions::from_mode(0o644)).unwrap();
    for path in ["a", "b"] {
        fs::set_permissions(world.project.path(path), fs::Permissions::from_mode(0o644)).unwrap();
    }
    world.run(&["go"]).await;
    let all = world.fine(&["diff"]).await.stdout;
    let wanted = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\
                  diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n\
                  diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n\
                  diff --git a/n w b/n w\n";
    let note = "# mode of m: 644 became 600, which git does not keep\n";
    assert!(all.starts_with(&format!("{note}{wanted}")), "{all}");
    assert!(all.contains("GIT binary patch\nliteral 1\n"), "{all}");
    let stat = world.fine(&["diff", "--stat", "a"]).await.stdout;
    assert_eq!(stat, "modified  +1 -1 a\n");
    let rows = json_of(&world.fine(&["diff", "--json", "--since", "1"]).await);
    assert_eq!(rows.as_array().unwrap().len(), 6);
    assert_eq!(rows[0]["path"], json!("a"));
}

#[tokio::test]
async fn git_applies_a_diff_to_what_was_before_and_takes_it_back() {
    let script = Script::new()
        .turn(shell(
            "mkdir empty new; printf 'x\\n' > new/x; printf '\\000\\001' > bin; head -c 5000 /dev/urandom > large; \
             printf 'caf\\351\\n' > latin; : > nothing; chmod 755 run; rm gone; ln -sfn old link; rm was; ln -s run was; \
             printf 'q\\n' > 'a \\\"b\\\\'; printf 'no end' > old; printf 'ä\\n' > 'ü ü'",
        ))
        .turn(Turn::text("Done."));
    let world = World::new(
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
        fs::set_permissions(world.project.path(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(world.project.path("large"), [7, 0, 255].repeat(900)).unwrap();
    symlink("run", world.project.path("link")).unwrap();
    world.run(&["go"]).await;
    let patch = world.fine(&["diff"]).await.stdout;
    assert!(patch.starts_with("# new empty folder: empty/\n"), "{patch}");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, &patch).unwrap();
    let after = world.project.files().unwrap();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .arg("apply")
            .args(arguments)
            .arg(file.path())
            .current_dir(world.project.root())
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
    assert_eq!(world.read("was"), "w\n");
    assert_eq!(
        fs::read_link(world.project.path("link")).unwrap(),
        std::path::Path::new("run")
    );
    git(&["--check"]);
    git(&[]);
    assert_eq!(world.project.files().unwrap(), after);
}

#[tokio::test]
async fn an_undo_that_can_do_nothing_is_not_used_up() {
    let script = Script::new()
        .turn(shell("echo agent > a; mkdir d"))
        .turn(Turn::text("Done."));
    let world = World::new(&[("a", "1\n")], script).await;
    world.run(&["go"]).await;
    fs::remove_dir(world.project.path("d")).unwrap();
    world.project.write("a", "mine\n").unwrap();
    let idle = world.hew(&["undo", "--keep"]).await;
    assert_eq!(idle.code(), Some(1));
    assert!(
        idle.stderr
            .contains("nothing was undone: 1 file cannot be taken back without losing what others did since"),
        "{}",
        idle.stderr
    );
    let undone = world.fine(&["undo", "--force"]).await;
    assert!(undone.stderr.ends_with("undone: “go”; 1 file\n"), "{}", undone.stderr);
    assert_eq!(world.read("a"), "1\n");
    let redone = world.fine(&["redo"]).await;
    assert!(redone.stderr.ends_with("redone: “go”; 1 file\n"), "{}", redone.stderr);
}

#[tokio::test]
async fn a_command_that_is_stopped_can_be_taken_back_as_well() {
    let command = "echo changed > f; echo x > g; echo re''ady; sleep 60";
    let script = Script::new().turn(shell(command)).turn(Turn::text("Done."));
    let world = World::new(&[("f", "1\n")], script).await;
    let mut running = world
        .hew
        .clone()
        .args(["run", "--json", "-m", MODEL, "go"])
        .spawn()
        .unwrap();
    running.until_printed("ready").await.unwrap();
    running.interrupt().unwrap();
    assert_eq!(running.wait().await.unwrap().code(), Some(130));
    world.fine(&["undo"]).await;
    assert_eq!((world.read("f").as_str(), world.exists("g")), ("1\n", false));
}

#[tokio::test]
async fn nothing_is_noted_where_the_person_does_not_want_it() {
    let script = Script::new().turn(shell("echo changed > f")).turn(Turn::text("Done."));
    let world = World::new(&[("f", "1\n")], script).await;
    world.run(&["--set", "checkpoints.commands=false", "go"]).await;
    assert!(world.hew(&["undo"]).await.stderr.contains("there is nothing to undo"));
}
