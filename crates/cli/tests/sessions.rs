//! Sessions, configuration, models, keys, doctor and the demo from end to end.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use testkit::{Hew, JsonSchemaValidator, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew() -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap()
}

async fn stdout(hew: Hew) -> String {
    let output = hew.run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout
}

#[tokio::test]
async fn a_session_is_listed_shown_exported_continued_and_deleted() {
    let script = Script::new()
        .turn(Turn::text("Looking.").call("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("It says hello."))
        .turn(Turn::text("You are welcome."))
        .side_reply("Reading a greeting");
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "hello\n")]).unwrap();
    let hew = hew().with_server(&server).current_dir(project.root());
    stdout(hew.clone().args(["run", "-m", MODEL, "what does a.txt say?"])).await;

    let list: Value = serde_json::from_str(&stdout(hew.clone().args(["sessions", "list", "--json"])).await).unwrap();
    let id = list[0]["id"].as_str().unwrap().to_string();
    assert_eq!(list[0]["model"], MODEL);
    assert_eq!(list[0]["title"], "Reading a greeting");
    for short in [
        &["sessions", "--json"][..],
        &["sessions", "-n", "32", "--all", "list", "--json"],
    ] {
        let same: Value = serde_json::from_str(&stdout(hew.clone().args(short)).await).unwrap();
        assert_eq!(same, list, "{short:?}");
    }
    assert_eq!(
        stdout(hew.clone().args(["sessions", "-n", "0", "--json"])).await.trim(),
        "[]"
    );
    let table = stdout(hew.clone().args(["sessions"])).await;
    assert!(
        table.contains("Reading a greeting") && table.contains(&id[..13]),
        "{table}"
    );

    let shown = stdout(hew.clone().args(["sessions", "show", &id[..20]])).await;
    for part in [
        "# Reading a greeting",
        "## You\n\nwhat does a.txt say?",
        "✓ **Read** a.txt",
        "It says hello.",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let exported = stdout(hew.clone().args(["sessions", "export", "-f", "json"])).await;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(exported["session"], id.as_str());
    // The prompt, the mode, two replies and a result.
    assert_eq!(exported["items"].as_array().unwrap().len(), 5);
    assert!(exported["requests"].as_array().unwrap().len() >= 2);

    let answer = stdout(hew.clone().args(["resume", &id[..13], "thank", "you"])).await;
    assert_eq!(answer, "You are welcome.\n");
    let nothing = hew.clone().arg("resume").run().await.unwrap();
    assert_eq!(nothing.code(), Some(2));
    assert!(nothing.stderr.contains("is finished"), "{}", nothing.stderr);

    let refused = hew.clone().args(["sessions", "delete", &id]).run().await.unwrap();
    assert_eq!(
        refused.code(),
        Some(2),
        "without a terminal the deletion cannot be confirmed"
    );
    stdout(hew.clone().args(["sessions", "rm", "--yes", &id])).await;
    assert_eq!(
        stdout(hew.args(["sessions", "list", "--all", "--json"])).await.trim(),
        "[]"
    );
}

#[tokio::test]
async fn an_export_contains_diffs_and_cuts_long_ones() {
    let long = "line\n".repeat(900);
    let script = Script::new()
        .turn(Turn::calls("terminal", json!({"command": "echo new > a.txt"})))
        .turn(Turn::calls("write_file", json!({"path": "long.txt", "content": long})))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "old\n")]).unwrap();
    let hew = hew()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root());
    stdout(hew.clone().args(["run", "-m", MODEL, "go"])).await;
    let exported = stdout(hew.args(["sessions", "export"])).await;
    let patch = "```diff\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n```\n";
    assert!(exported.contains(patch), "{exported}");
    assert!(exported.contains("+line\n(705 more lines)\n```\n"), "{exported}");
}

#[tokio::test]
async fn run_continues_the_newest_session_with_the_continue_flag() {
    let server = Server::start(Script::new().turn(Turn::text("one")).turn(Turn::text("two")))
        .await
        .unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = hew().with_server(&server).current_dir(project.root());
    assert_eq!(stdout(hew.clone().args(["run", "-m", MODEL, "first"])).await, "one\n");
    assert_eq!(stdout(hew.args(["run", "--continue", "second"])).await, "two\n");
    let seen = server.main_requests().last().unwrap().parsed().unwrap();
    assert!(seen.messages.len() >= 3, "{:?}", seen.messages);
}

#[tokio::test]
async fn each_layer_of_the_configuration_takes_precedence_over_the_one_below() {
    let project = Project::new(&[(
        ".hew/config.toml",
        "mode = 'ask'\npermission = 'full'\nmax_output = 50\n[providers.anthropic]\nbase_url = 'http://evil'\n",
    )])
    .unwrap();
    let hew = hew().current_dir(project.root());
    let file = hew.home().join("c.toml");
    let hew = hew.env("HEW_CONFIG", &file).env("HEW_EFFORT", "low");
    stdout(hew.clone().args(["config", "set", "model", "openai/gpt-5.5"])).await;
    stdout(hew.clone().args(["config", "set", "max_output", "100"])).await;
    stdout(hew.clone().args(["config", "set", "effort", "high"])).await;
    stdout(
        hew.clone()
            .args(["config", "set", "providers.openai.key", "sk-0123456789abcdef"]),
    )
    .await;
    let output = hew
        .clone()
        .args(["config", "show", "--origin", "--set", "limits.steps=3"])
        .run()
        .await
        .unwrap();
    let user_file = file.display();
    let project_file = project.root().canonicalize().unwrap().join(".hew/config.toml");
    let project_file = project_file.display();
    let expected = format!(
        "effort = \"low\"  # $HEW_EFFORT\n\
         limits.steps = 3  # --set\n\
         max_output = 50  # {project_file}\n\
         mode = \"ask\"  # {project_file}\n\
         model = \"openai/gpt-5.5\"  # {user_file}\n\
         permission = \"workspace\"  # built in\n\
         providers.openai.key = \"sk-0…cdef\"  # {user_file}\n\
         title = true  # built in\n"
    );
    // Defaults are shown too.
    let (defaults, configured): (Vec<&str>, Vec<&str>) = output.stdout.lines().partition(|line| {
        line.ends_with("  # built in") && !line.starts_with("permission") && !line.starts_with("title")
    });
    assert_eq!(format!("{}\n", configured.join("\n")), expected);
    assert!(defaults.contains(&"compact = true  # built in"), "{}", output.stdout);
    for ignored in ["`providers` is ignored", "`permission` is ignored"] {
        assert!(output.stderr.contains(ignored), "{}", output.stderr);
    }
    assert_eq!(
        stdout(hew.clone().args(["config", "get", "model"])).await,
        "openai/gpt-5.5\n"
    );
    assert_eq!(
        hew.clone()
            .args(["config", "get", "temperature"])
            .run()
            .await
            .unwrap()
            .code(),
        Some(1)
    );
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "a file with keys is for its owner only");
    assert!(stdout(hew.args(["config", "path"])).await.contains("c.toml"));
}

#[tokio::test]
async fn models_are_listed_with_their_availability() {
    let hew = hew().env("ANTHROPIC_API_KEY", "sk-x");
    let rows: Value = serde_json::from_str(&stdout(hew.clone().args(["models", "--json"])).await).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 300);
    let usable = |provider: &str| {
        let of = |row: &&Value| row["name"].as_str().unwrap().starts_with(provider);
        rows.iter().filter(of).all(|row| row["usable"] == true)
    };
    assert!(usable("anthropic/") && !usable("openai/"));
    let table = stdout(hew.clone().args(["models", "-p", "anthropic", "sonnet-4-6"])).await;
    assert!(
        table.contains("● anthropic/claude-sonnet-4-6") || table.contains("●  anthropic/claude-sonnet-4-6"),
        "{table}"
    );
    let unknown = hew.args(["models", "-p", "nothing"]).run().await.unwrap();
    assert_eq!(unknown.code(), Some(2));
}

#[tokio::test]
async fn a_local_server_is_discovered_on_request() {
    let server = Server::start(Script::new().models(["tiny-coder"])).await.unwrap();
    let hew = hew().env("OLLAMA_HOST", format!("127.0.0.1:{}", server.port()));
    let table = stdout(hew.args(["models", "--discover", "-p", "ollama"])).await;
    assert!(table.contains("ollama/tiny-coder"), "{table}");
}

#[tokio::test]
async fn keys_are_read_from_programs_and_the_keyring() {
    let server = Server::start(Script::new().turn(Turn::text("ok")).key("sk-from-the-program"))
        .await
        .unwrap();
    let project = Project::new(&[]).unwrap();
    // A keyring program that stores its secrets in files.
    let tool = "#!/bin/sh\nstore=$HOME/secrets\ncase $1 in\n  store) cat > \"$store.$6\" ;;\n  lookup) [ -f \"$store.$5\" ] || exit 1; cat \"$store.$5\" ;;\n  clear) rm -f \"$store.$5\" ;;\nesac\n";
    project.write("bin/secret-tool", tool).unwrap();
    fs::set_permissions(project.path("bin/secret-tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    let hew = hew()
        .current_dir(project.root())
        .env("PATH", path)
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none")
        .env("ANTHROPIC_BASE_URL", server.url());
    stdout(
        hew.clone()
            .args(["keys", "set", "anthropic"])
            .stdin("sk-from-the-program\n"),
    )
    .await;
    let listed: Value = serde_json::from_str(&stdout(hew.clone().args(["keys", "list", "--json"])).await).unwrap();
    assert_eq!(
        listed,
        json!([{"provider": "anthropic", "source": "keyring", "key": "sk-f…gram"}])
    );
    assert_eq!(stdout(hew.clone().args(["run", "-m", MODEL, "hi"])).await, "ok\n");
    stdout(hew.clone().args(["keys", "remove", "anthropic"])).await;
    assert_eq!(stdout(hew.clone().args(["keys", "list", "--json"])).await.trim(), "[]");

    let file = hew.home().join("c.toml");
    fs::write(
        &file,
        "[providers.anthropic]\nkey_command = ['echo', 'sk-from-the-program']\n",
    )
    .unwrap();
    let hew = hew.env("HEW_CONFIG", &file);
    assert_eq!(stdout(hew.clone().args(["run", "-m", MODEL, "hi"])).await, "ok\n");
    fs::write(&file, "[providers.anthropic]\nkey_command = ['false']\n").unwrap();
    let output = hew.args(["run", "-m", MODEL, "hi"]).run().await.unwrap();
    assert!(
        output
            .stderr
            .contains("the key_command of anthropic failed: exit code 1"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn an_unknown_session_id_is_not_sent_as_a_prompt() {
    let server = Server::start(Script::new().turn(Turn::text("Hello.")).side_reply("A greeting"))
        .await
        .unwrap();
    let hew = hew().with_server(&server);
    let failing = |hew: Hew| async {
        let output = hew.run().await.unwrap();
        assert_eq!(output.code(), Some(2), "{}", output.stdout);
        output.stderr
    };
    let none = failing(hew.clone().args(["resume", "zzz"])).await;
    assert!(none.contains("error: there is no session `zzz`"), "{none}");
    stdout(hew.clone().args(["run", "-m", MODEL, "hi"])).await;
    let report = stdout(hew.clone().args(["doctor", "--offline"])).await;
    assert!(report.contains("hew.db: no errors"), "{report}");
    let list: Value = serde_json::from_str(&stdout(hew.clone().args(["sessions", "--json"])).await).unwrap();
    let id = list[0]["id"].as_str().unwrap();
    let named = format!("perhaps {} (A greeting)", &id[..13]);
    let unknown = failing(hew.clone().args(["resume", "zzz"])).await;
    assert!(
        unknown.contains(&named) && unknown.contains("hew resume last zzz"),
        "{unknown}"
    );
    let wrong = format!("{}zz", &id[..11]);
    let mistyped = failing(hew.clone().args(["resume", &wrong, "continue"])).await;
    assert!(mistyped.contains(&named) && !mistyped.contains("last"), "{mistyped}");
    assert_eq!(server.main_requests().len(), 1, "nothing was sent to the model");
}

#[tokio::test]
async fn the_doctor_reports_which_providers_answer() {
    let server = Server::start(Script::new().key("sk-right-0123456789")).await.unwrap();
    let hew = hew()
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("OLLAMA_HOST", "127.0.0.1:1");
    let valid = hew
        .clone()
        .env("ANTHROPIC_API_KEY", "sk-right-0123456789")
        .args(["doctor", "--json"]);
    let report: Value = serde_json::from_str(&stdout(valid).await).unwrap();
    let check = |name: &str| {
        report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(check("sessions")["state"], "absent");
    let files = tree(hew.home());
    assert!(!files.iter().any(|path| path.ends_with("hew.db")), "{files:?}");
    assert_eq!(check("anthropic")["state"], "ok");
    let detail = check("anthropic")["detail"].to_string();
    assert!(
        detail.contains("sk-r…6789 from $ANTHROPIC_API_KEY") && detail.contains("answers"),
        "{detail}"
    );
    let invalid = hew
        .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
        .env("ANTHROPIC_API_KEY", "sk-wrong-0123456789")
        .arg("doctor");
    let invalid = invalid.run().await.unwrap();
    assert_eq!(invalid.code(), Some(1));
    assert!(invalid.stdout.contains("✗ anthropic"), "{}", invalid.stdout);
    assert!(!invalid.stdout.contains("sk-wrong-0123456789"));
}

#[tokio::test]
async fn the_demo_passes_its_tests_and_changes_nothing_in_the_home_folder() {
    let hew = hew();
    let at = hew.home().join("demo");
    let before = tree(hew.home());
    let output = hew
        .clone()
        .args(["demo", "--fast", "--at"])
        .arg(&at)
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert!(
        output.stderr.contains("The model in this demo is scripted"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("2 of 4 tests fail") && output.stderr.contains("all tests pass"));
    assert!(output.stdout.starts_with("All tests pass now."), "{}", output.stdout);
    let after: Vec<_> = tree(hew.home())
        .into_iter()
        .filter(|path| !path.starts_with(&at))
        // hew creates this empty folder, so that commands cannot create it in a home below the temporary folder.
        .filter(|path| !path.ends_with(".config/hew"))
        .collect();
    assert_eq!(after, before);
    let again = hew.args(["demo", "--fast", "--at"]).arg(&at).run().await.unwrap();
    assert_eq!(again.code(), Some(2), "an existing folder is not used");
}

fn tree(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(tree(&path));
        }
        all.push(path);
    }
    all.sort();
    all
}

#[tokio::test]
async fn completions_and_man_pages_are_generated_from_the_definition() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            stdout(hew().args(["completions", shell]))
                .await
                .contains("output-schema"),
            "{shell}"
        );
    }
    assert!(stdout(hew().arg("man")).await.contains(".TH"));
    let hew = hew();
    let folder = hew.home().join("man");
    stdout(hew.clone().args(["man", "--out"]).arg(&folder)).await;
    assert!(folder.join("hew-run.1").is_file() && folder.join("hew.1").is_file());
    for of in ["events", "config"] {
        let schema: Value =
            serde_json::from_str(&stdout(Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().args(["schema", of])).await)
                .unwrap();
        JsonSchemaValidator::new(&schema).unwrap();
    }
}

#[tokio::test]
async fn a_file_that_was_read_before_a_resume_can_be_edited_after_it_unless_it_has_changed() {
    for (changed, expected) in [(false, "one\nzwei\n"), (true, "other\ntwo\n")] {
        let edit = json!({"path": "a.txt", "old_text": "two", "new_text": "zwei"});
        let script = Script::new()
            .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
            .turn(Turn::calls("edit_file", edit))
            .turn(Turn::text("Done."));
        let server = Server::start(script).await.unwrap();
        let project = Project::new(&[("a.txt", "one\ntwo\n")]).unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
            .unwrap()
            .with_server(&server)
            .current_dir(project.root());
        let model = ["--model", "anthropic/claude-sonnet-4-6", "--no-title"];
        let first = hew
            .clone()
            .args(["run", "--max-steps", "1", "go"])
            .args(model)
            .run()
            .await
            .unwrap();
        assert_eq!(first.code(), Some(3), "{first:?}");
        if changed {
            project.write("a.txt", "other\ntwo\n").unwrap();
        }
        let second = hew.clone().arg("resume").args(model).run().await.unwrap();
        assert_eq!(second.code(), Some(0), "{second:?}");
        assert_eq!(project.read("a.txt").unwrap(), expected);
    }
}
