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

/// Runs these calls in order and returns their results as sent to the model.
async fn run(home: &Path, project: &Project, calls: &[(&str, Value)], args: &[&str]) -> (Vec<String>, Output) {
    let turns = calls.iter().map(|(name, input)| Turn::calls(*name, input.clone()));
    let script = Script::new().turns(turns).turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let hew = at(home, project).with_server(&server).args(["run", "-m", MODEL]);
    let output = hew.args(args).arg("go").run().await.unwrap();
    let last = server.main_requests().last().unwrap().parsed().unwrap();
    let results = last.results().map(|result| result.text.clone()).collect();
    (results, output)
}

async fn all_output(hew: Hew) -> String {
    let output = hew.run().await.unwrap();
    format!("{}{}", output.stdout, output.stderr)
}

#[tokio::test]
async fn the_users_rules_apply_and_an_untrusted_project_can_only_restrict() {
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
    let (results, output) = run(home.path(), &project, &calls, &[]).await;
    assert!(results[0].contains("your rules deny `read(*.pem)`"), "{results:?}");
    assert!(
        results[1].contains("the project's rules deny `read(b.txt)`"),
        "{results:?}"
    );
    assert!(
        results[2].contains("outside the project, and approvals cannot be requested"),
        "{results:?}"
    );
    assert!(results[3].contains("your rules deny `run(git push)`"), "{results:?}");
    assert!(!project.path("hooked").exists());
    assert!(output.stderr.contains("`hooks` is ignored"), "{}", output.stderr);

    let output = all_output(at(home.path(), &project).args(["trust"])).await;
    assert!(output.contains("is trusted"), "{output}");
    let (results, output) = run(home.path(), &project, &calls, &[]).await;
    assert!(!results[2].contains("Not allowed"), "{results:?}");
    assert!(
        results[3].contains("your rules deny"),
        "the user's deny rule was overridden: {results:?}"
    );
    assert!(project.path("hooked").exists(), "{}", output.stderr);
    let list = all_output(at(home.path(), &project).args(["trust", "--list"])).await;
    assert!(list.starts_with("trusted "), "{list}");
    all_output(at(home.path(), &project).args(["trust", "--remove"])).await;
    let (results, _) = run(home.path(), &project, &calls, &[]).await;
    assert!(results[2].contains("outside the project"), "{results:?}");
}

#[tokio::test]
async fn hidden_files_are_not_listed_found_or_read() {
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
    let (results, _) = run(home.path(), &project, &calls, &[]).await;
    for text in &results[..3] {
        assert!(!text.contains("secret") && !text.contains("top.key"), "{text}");
    }
    assert!(results[1].contains("needle open"), "{}", results[1]);
    assert!(results[3].contains("is hidden by an ignore file"), "{}", results[3]);
    assert!(!results[4].contains("needle"), "{}", results[4]);
}

#[tokio::test]
async fn a_mode_is_stored_with_the_session_and_its_refusals_name_the_rule() {
    let home = home("");
    let project = Project::new(&[(".roomodes", "customModes:\n  - slug: docs\n    name: Docs\n    roleDefinition: You write docs.\n    groups: [read, [edit, {fileRegex: '\\.md$'}]]\n  - slug: 'bad one'\n")]).unwrap();
    let calls = [
        ("write_file", json!({"path": "a.rs", "content": "x"})),
        ("write_file", json!({"path": "a.md", "content": "x"})),
        ("switch_mode", json!({"mode": "code", "reason": "to write code"})),
    ];
    let (results, output) = run(home.path(), &project, &calls, &["--mode", "docs"]).await;
    assert!(
        results[0].contains("the mode `docs` may only change files that match `\\.md$`, and a.rs does not"),
        "{results:?}"
    );
    assert!(project.path("a.md").exists());
    assert!(results[2].contains("approvals cannot be requested"), "{results:?}");
    assert!(output.stderr.contains("bad one"), "{}", output.stderr);

    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "b.rs", "content": "x"})))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let output = at(home.path(), &project)
        .with_server(&server)
        .args(["run", "--continue", "continue"])
        .run()
        .await
        .unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    assert!(!project.path("b.rs").exists(), "the resumed session left its mode");
    let list = all_output(at(home.path(), &project).args(["modes"])).await;
    assert!(
        list.contains("docs") && list.contains("architect") && list.contains("from: built in"),
        "{list}"
    );
    let server = Server::start(Script::new()).await.unwrap();
    let wrong = at(home.path(), &project).with_server(&server);
    let wrong = all_output(wrong.args(["run", "-m", MODEL, "--mode", "cod", "go"])).await;
    assert!(wrong.contains("there is no mode `cod`"), "{wrong}");
}

#[tokio::test]
async fn only_the_selected_files_are_changed() {
    let home = home("");
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]).unwrap();
    let calls = [
        ("read_file", json!({"path": "a.txt"})),
        ("write_file", json!({"path": "a.txt", "content": "new\n"})),
        ("write_file", json!({"path": "b.txt", "content": "new\n"})),
    ];
    let (results, _) = run(home.path(), &project, &calls, &["--files", "a.txt"]).await;
    assert!(results[2].contains("may only change the selected files"), "{results:?}");
    assert_eq!(std::fs::read_to_string(project.path("a.txt")).unwrap(), "new\n");
    assert_eq!(std::fs::read_to_string(project.path("b.txt")).unwrap(), "b\n");
}

#[tokio::test]
async fn the_users_hooks_block_calls_and_add_context() {
    let home = home(
        "[[hooks]]\nevent = 'PreToolUse'\nmatcher = 'terminal'\ncommand = 'grep -q deploy && { echo no deploys today >&2; exit 2; }; exit 0'\n\
         [[hooks]]\nevent = 'UserPromptSubmit'\ncommand = 'echo the moon is full'\n",
    );
    let project = Project::new(&[("a", "")]).unwrap();
    let calls = [
        ("terminal", json!({"command": "echo deploy"})),
        ("terminal", json!({"command": "echo fine"})),
    ];
    let (results, _) = run(home.path(), &project, &calls, &[]).await;
    assert!(
        results[0].contains("A hook blocked this call: no deploys today"),
        "{results:?}"
    );
    assert!(results[1].contains("fine"), "{results:?}");
}

#[tokio::test]
async fn permissions_are_listed_added_tested_and_revoked() {
    let home = home("");
    let project = Project::new(&[("a", "")]).unwrap();
    let hew = |args: &[&str]| at(home.path(), &project).arg("permissions").args(args.iter().copied());
    assert!(all_output(hew(&["list"])).await.contains("no rules"));
    all_output(hew(&["add", "deny", "run(git push --force)"])).await;
    all_output(hew(&["add", "ask", "run(git push)"])).await;
    assert!(all_output(hew(&["list"])).await.contains("deny  run(git push --force)"));
    assert!(
        all_output(hew(&["test", "run", "git", "push", "--force", "origin"]))
            .await
            .starts_with("deny: your rules deny")
    );
    assert!(
        all_output(hew(&["explain", "run", "git", "push"]))
            .await
            .contains("your rules: ask run(git push)")
    );
    let wrong = hew(&["test", "--expect", "allow", "run git push"]).run().await.unwrap();
    assert_eq!(wrong.code(), Some(1));
    let json: Value =
        serde_json::from_str(&hew(&["test", "--json", "read /etc/passwd"]).run().await.unwrap().stdout).unwrap();
    assert_eq!(json["decision"], "ask");
    all_output(hew(&["revoke", "run(git push)"])).await;
    assert!(!all_output(hew(&["list"])).await.contains("ask "));
    let unknown = all_output(hew(&["revoke", "run(git push)"])).await;
    assert!(
        unknown.contains("neither a saved answer nor one of your rules"),
        "{unknown}"
    );
    assert!(
        all_output(hew(&["add", "allow", "frobnicate(x)"]))
            .await
            .contains("has no known subject")
    );
}
