//! Rules, trust, modes, hooks and hidden files from end to end: the real binary and a scripted model.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::path::Path;
use testkit::{Hew, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew() -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap()
}

fn at(home: &Path, project: &Project) -> Hew {
    hew()
        .env("HEW_CONFIG", home.join("config.toml"))
        .env("HEW_DATA_DIR", home.join("data"))
        .current_dir(project.root())
}

/// A home with this configuration.
fn home(config: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    home
}

/// Runs these calls one after the other and returns what the model saw of each.
async fn run(home: &Path, project: &Project, calls: &[(&str, Value)], args: &[&str]) -> (Vec<String>, Output) {
    let turns = calls.iter().map(|(name, input)| Turn::calls(*name, input.clone()));
    let script = Script::new().turns(turns).turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let hew = at(home, project).with_server(&server).args(["run", "-m", MODEL]);
    let output = hew.args(args).arg("go").run().await.unwrap();
    let last = server.main_requests().last().unwrap().parsed().unwrap();
    let seen = last.results().map(|result| result.text.clone()).collect();
    (seen, output)
}

async fn said(hew: Hew) -> String {
    let output = hew.run().await.unwrap();
    format!("{}{}", output.stdout, output.stderr)
}

#[tokio::test]
async fn rules_of_the_person_hold_and_an_untrusted_project_only_tightens() {
    let home = home("[permissions]\ndeny = ['run(git push)', 'read(*.pem)']\n");
    let project = Project::new(&[
        ("a.pem", "key\n"),
        ("b.txt", "text\n"),
        (
            ".hew/config.toml",
            "[permissions]\nallow = ['read(/etc/hostname)']\ndeny = ['read(b.txt)']\n[[hooks]]\nevent = 'PreToolUse'\ncommand = 'touch hooked'\n",
        ),
    ])
    .unwrap();
    let calls = [
        ("read_file", json!({"path": "a.pem"})),
        ("read_file", json!({"path": "b.txt"})),
        ("read_file", json!({"path": "/etc/hostname"})),
        ("terminal", json!({"command": "true && git push"})),
    ];
    let (seen, output) = run(home.path(), &project, &calls, &[]).await;
    assert!(seen[0].contains("your rules deny `read(*.pem)`"), "{seen:?}");
    assert!(seen[1].contains("the project's rules deny `read(b.txt)`"), "{seen:?}");
    assert!(
        seen[2].contains("outside the project, and approvals cannot be requested"),
        "{seen:?}"
    );
    assert!(seen[3].contains("your rules deny `run(git push)`"), "{seen:?}");
    assert!(!project.path("hooked").exists());
    assert!(output.stderr.contains("`hooks` is ignored"), "{}", output.stderr);

    let told = said(at(home.path(), &project).args(["trust"])).await;
    assert!(told.contains("is trusted"), "{told}");
    let (seen, output) = run(home.path(), &project, &calls, &[]).await;
    assert!(!seen[2].contains("Not allowed"), "{seen:?}");
    assert!(
        seen[3].contains("your rules deny"),
        "what the person denies stays denied: {seen:?}"
    );
    assert!(project.path("hooked").exists(), "{}", output.stderr);
    let list = said(at(home.path(), &project).args(["trust", "--list"])).await;
    assert!(list.starts_with("trusted "), "{list}");
    said(at(home.path(), &project).args(["trust", "--remove"])).await;
    let (seen, _) = run(home.path(), &project, &calls, &[]).await;
    assert!(seen[2].contains("outside the project"), "{seen:?}");
}

#[tokio::test]
async fn hidden_files_are_nowhere_to_be_seen() {
    let home = home("");
    let project = Project::new(&[
        (".aiignore", "secret/\n*.key\n"),
        ("secret/plan.txt", "needle here\n"),
        ("top.key", "needle key\n"),
        ("open.txt", "needle open\n"),
    ])
    .unwrap();
    let calls = [
        ("list_directory", json!({"path": "."})),
        ("grep", json!({"pattern": "needle"})),
        ("find_path", json!({"pattern": "*"})),
        ("read_file", json!({"path": "secret/plan.txt"})),
        (
            "terminal",
            json!({"command": "python3 -c 'print(open(\"top.key\").read())' || cat se*/plan.txt"}),
        ),
    ];
    let (seen, _) = run(home.path(), &project, &calls, &[]).await;
    for text in &seen[..3] {
        assert!(!text.contains("secret") && !text.contains("top.key"), "{text}");
    }
    assert!(seen[1].contains("needle open"), "{}", seen[1]);
    assert!(seen[3].contains("is hidden by an ignore file"), "{}", seen[3]);
    assert!(!seen[4].contains("needle"), "{}", seen[4]);
}

#[tokio::test]
async fn a_mode_is_kept_with_the_session_and_says_what_it_refuses() {
    let home = home("");
    let project = Project::new(&[(".roomodes", "customModes:\n  - slug: docs\n    name: Docs\n    roleDefinition: You write docs.\n    groups: [read, [edit, {fileRegex: '\\.md$'}]]\n  - slug: 'bad one'\n")]).unwrap();
    let calls = [
        ("write_file", json!({"path": "a.rs", "content": "x"})),
        ("write_file", json!({"path": "a.md", "content": "x"})),
        ("switch_mode", json!({"mode": "code", "reason": "to write code"})),
    ];
    let (seen, output) = run(home.path(), &project, &calls, &["--mode", "docs"]).await;
    assert!(
        seen[0].contains("the mode `docs` may only change files that match `\\.md$`, and a.rs does not"),
        "{seen:?}"
    );
    assert!(project.path("a.md").exists());
    assert!(seen[2].contains("approvals cannot be requested"), "{seen:?}");
    assert!(output.stderr.contains("bad one"), "{}", output.stderr);

    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "b.rs", "content": "x"})))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let output = at(home.path(), &project)
        .with_server(&server)
        .args(["run", "--continue", "go on"])
        .run()
        .await
        .unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    assert!(!project.path("b.rs").exists(), "the session goes on in its mode");
    let list = said(at(home.path(), &project).args(["modes"])).await;
    assert!(
        list.contains("docs") && list.contains("architect") && list.contains("from: built in"),
        "{list}"
    );
    let server = Server::start(Script::new()).await.unwrap();
    let wrong = at(home.path(), &project).with_server(&server);
    let wrong = said(wrong.args(["run", "-m", MODEL, "--mode", "cod", "go"])).await;
    assert!(wrong.contains("there is no mode `cod`"), "{wrong}");
}

#[tokio::test]
async fn only_the_files_that_were_chosen_are_changed() {
    let home = home("");
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]).unwrap();
    let calls = [
        ("read_file", json!({"path": "a.txt"})),
        ("write_file", json!({"path": "a.txt", "content": "new\n"})),
        ("write_file", json!({"path": "b.txt", "content": "new\n"})),
    ];
    let (seen, _) = run(home.path(), &project, &calls, &["--files", "a.txt"]).await;
    assert!(seen[2].contains("may only change the selected files"), "{seen:?}");
    assert_eq!(std::fs::read_to_string(project.path("a.txt")).unwrap(), "new\n");
    assert_eq!(std::fs::read_to_string(project.path("b.txt")).unwrap(), "b\n");
}

#[tokio::test]
async fn hooks_of_the_person_block_and_add() {
    let home = home(
        "[[hooks]]\nevent = 'PreToolUse'\nmatcher = 'terminal'\ncommand = 'grep -q deploy && { echo no deploys today >&2; exit 2; }; exit 0'\n\
         [[hooks]]\nevent = 'UserPromptSubmit'\ncommand = 'echo the moon is full'\n",
    );
    let project = Project::new(&[("a", "")]).unwrap();
    let calls = [
        ("terminal", json!({"command": "echo deploy"})),
        ("terminal", json!({"command": "echo fine"})),
    ];
    let (seen, _) = run(home.path(), &project, &calls, &[]).await;
    assert!(
        seen[0].contains("A hook blocked this call: no deploys today"),
        "{seen:?}"
    );
    assert!(seen[1].contains("fine"), "{seen:?}");
}

#[tokio::test]
async fn permissions_are_listed_added_tested_and_revoked() {
    let home = home("");
    let project = Project::new(&[("a", "")]).unwrap();
    let hew = |args: &[&str]| at(home.path(), &project).arg("permissions").args(args.iter().copied());
    assert!(said(hew(&["list"])).await.contains("no rules"));
    said(hew(&["add", "deny", "run(git push --force)"])).await;
    said(hew(&["add", "ask", "run(git push)"])).await;
    assert!(said(hew(&["list"])).await.contains("deny  run(git push --force)"));
    assert!(
        said(hew(&["test", "run", "git", "push", "--force", "origin"]))
            .await
            .starts_with("deny: your rules deny")
    );
    assert!(
        said(hew(&["explain", "run", "git", "push"]))
            .await
            .contains("your rules: ask run(git push)")
    );
    let wrong = hew(&["test", "--expect", "allow", "run git push"]).run().await.unwrap();
    assert_eq!(wrong.code(), Some(1));
    let json: Value =
        serde_json::from_str(&hew(&["test", "--json", "read /etc/passwd"]).run().await.unwrap().stdout).unwrap();
    assert_eq!(json["decision"], "ask");
    said(hew(&["revoke", "run(git push)"])).await;
    assert!(!said(hew(&["list"])).await.contains("ask "));
    let unknown = said(hew(&["revoke", "run(git push)"])).await;
    assert!(
        unknown.contains("neither a saved answer nor one of your rules"),
        "{unknown}"
    );
    assert!(
        said(hew(&["add", "allow", "frobnicate(x)"]))
            .await
            .contains("has no known subject")
    );
}
