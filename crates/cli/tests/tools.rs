//! Tools from end to end: in the real loop with a scripted model on every wire, and directly with `hew tools`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use testkit::{Hew, Output, ParsedRequest, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root())
}

fn files() -> Project {
    let long: String = (1..=200).map(|number| format!("line {number} of a file\n")).collect();
    Project::new(&[
        ("a.txt", "hello\n"),
        ("long.txt", &long),
        ("src/main.rs", "fn main() {}\n"),
        ("src/lib.rs", "// lib\n"),
    ])
    .unwrap()
}

/// Runs calls in order and returns hew's output and the last request to the model.
async fn play(project: &Project, model: &str, calls: &[(&str, Value)]) -> (Output, ParsedRequest) {
    let turns = calls.iter().map(|(name, input)| Turn::calls(*name, input.clone()));
    let script = Script::new().turns(turns).turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let output = hew(&server, project)
        .args(["run", "--json", "-m", model, "go"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    let seen = server.main_requests().last().unwrap().parsed().unwrap().clone();
    (output, seen)
}

fn results(seen: &ParsedRequest) -> Vec<String> {
    seen.results().map(|result| result.text.clone()).collect()
}

#[tokio::test]
async fn paths_are_copied_moved_deleted_and_created_in_the_loop() {
    let project = files();
    symlink("src", project.root().join("link")).unwrap();
    let calls = [
        (
            "call_tool",
            json!({"name": "copy_path", "input": {"source_path": "src", "destination_path": "copy"}}),
        ),
        (
            "move_path",
            json!({"source_path": "a.txt", "destination_path": "b.txt"}),
        ),
        ("call_tool", json!({"name": "delete_path", "input": {"path": "link"}})),
        ("delete_path", json!({"path": "src/lib.rs"})),
        ("mkdir", json!({"path": "new/folder"})),
        ("copy_path", json!({"source_path": "missing", "destination_path": "x"})),
        ("call_tool", json!({"name": "nothing", "input": {}})),
        ("open", json!({"path": "b.txt"})),
        ("delete_path", json!({"path": "../outside"})),
    ];
    let (output, seen) = play(&project, MODEL, &calls).await;
    let results = results(&seen);
    assert_eq!(
        results[..6],
        [
            "copied src to copy (2 files)",
            "moved a.txt to b.txt (1 file)",
            "removed link (1 file)",
            "removed src/lib.rs (1 file)",
            "created new/folder",
            "missing does not exist",
        ]
    );
    assert!(
        results[6].contains("there is no tool named `nothing`"),
        "{}",
        results[6]
    );
    // Outside the sandbox, outside the project: both need approval, which cannot be requested.
    for refused in &results[7..] {
        assert!(
            refused.starts_with("Not allowed: ") && refused.contains("cannot be requested"),
            "{refused}"
        );
    }
    let names: Vec<String> = project.files().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["b.txt", "copy/lib.rs", "copy/main.rs", "long.txt", "src/main.rs"]
    );
    // The event names the tool that ran, not `call_tool`, and lists its changes.
    let copied = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let copied = copied
        .filter(|event| event["type"] == "item.finished")
        .find(|event| event["item"]["tool"] == "copy_path")
        .unwrap();
    assert_eq!(copied["item"]["title"], "src to copy");
    let changes = copied["item"]["changes"].as_array().unwrap();
    let is_copy = |change: &Value| change["path"] == "copy/main.rs" && change["change"] == "created";
    assert!(changes.iter().any(is_copy), "{changes:?}");
}

#[tokio::test]
async fn a_deferred_tool_is_found_and_called_on_every_wire() {
    for model in [MODEL, "openai/gpt-5.5", "gemini/gemini-2.5-pro"] {
        let project = files();
        let calls = [
            ("find_tools", json!({"query": "rename a file"})),
            (
                "call_tool",
                json!({"name": "move_path", "input": {"source_path": "a.txt", "destination_path": "b.txt"}}),
            ),
        ];
        let (_, seen) = play(&project, model, &calls).await;
        let results = results(&seen);
        assert!(
            results[0].starts_with("move_path: Moves or renames"),
            "{model}: {}",
            results[0]
        );
        assert_eq!(results[1], "moved a.txt to b.txt (1 file)", "{model}");
        assert!(seen.offers("find_tools") && seen.offers("call_tool") && !seen.offers("move_path"));
        assert_eq!(project.read("b.txt").unwrap(), "hello\n");
    }
}

#[tokio::test]
async fn several_files_are_read_in_one_call_and_unchanged_ones_are_not_resent() {
    let project = files();
    std::fs::write(
        project.root().join("n.ipynb"),
        r#"{"cells": [{"cell_type": "markdown", "source": "Hi"}]}"#,
    )
    .unwrap();
    std::fs::write(project.root().join("d.bin"), b"\0\x01").unwrap();
    symlink("/etc", project.root().join("etc")).unwrap();
    symlink("round", project.root().join("round")).unwrap();
    let calls = [
        (
            "read_file",
            json!({"path": "a.txt", "more": ["long.txt:2-3", "missing"]}),
        ),
        ("read_file", json!({"path": "long.txt"})),
        ("view", json!({"file_path": "long.txt"})),
        ("read_file", json!({"path": "n.ipynb"})),
        ("read_file", json!({"path": "d.bin"})),
        ("read_file", json!({"path": "etc/hostname"})),
        ("read_file", json!({"path": "round"})),
    ];
    let (_, seen) = play(&project, MODEL, &calls).await;
    let results = results(&seen);
    let several = "==> a.txt <==\n1\thello\n[1 line]\n\n==> long.txt:2-3 <==\n2\tline 2 of a file\n3\tline 3 of a file\n\
                   [lines 2-3 of 200]\n\n==> missing <==\n[missing does not exist]";
    assert_eq!(results[0], several);
    assert!(results[1].ends_with("[200 lines]"), "{}", results[1]);
    assert_eq!(results[2], "[unchanged since you last read it: long.txt]");
    assert_eq!(results[3], "[cell 1: markdown]\nHi\n\n[1 cell]");
    assert!(
        results[4].starts_with("d.bin is a binary file (2 bytes)"),
        "{}",
        results[4]
    );
    assert!(results[5].starts_with("Not allowed: "), "{}", results[5]);
    assert!(results[6].starts_with("Not allowed: "), "{}", results[6]);
}

#[tokio::test]
async fn images_and_documents_are_sent_to_models_that_support_them() {
    let project = files();
    std::fs::write(project.root().join("p.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    std::fs::write(project.root().join("d.pdf"), "%PDF-1.4\n").unwrap();
    let calls = [("read_file", json!({"path": "p.png", "more": ["d.pdf"]}))];
    let (_, seen) = play(&project, MODEL, &calls).await;
    let sent = seen.raw.to_string();
    assert!(
        sent.contains("\"image/png\"") && sent.contains("\"application/pdf\""),
        "{sent}"
    );
}

#[tokio::test]
async fn the_configuration_enables_and_disables_tools() {
    let project = files();
    let server = Server::start(Script::new().turn(Turn::text("Done."))).await.unwrap();
    let set = [
        "--set",
        "tools.disabled=['terminal']",
        "--set",
        "tools.enabled=['move_path']",
    ];
    let run = hew(&server, &project).args(["run", "-m", MODEL, "go"]).args(set);
    assert_eq!(run.run().await.unwrap().code(), Some(0));
    let seen = server.main_requests()[0].parsed().unwrap().clone();
    assert!(seen.offers("move_path") && !seen.offers("terminal"), "{:?}", seen.tools);
}

#[tokio::test]
async fn the_first_request_is_small() {
    let project = Project::new(&[]).unwrap();
    let server = Server::start(Script::new().turn(Turn::text("Hi."))).await.unwrap();
    let run = hew(&server, &project).args(["run", "-m", MODEL, "hello"]);
    assert_eq!(run.run().await.unwrap().code(), Some(0));
    let raw = server.main_requests()[0].parsed().unwrap().raw.clone();
    let size = |part: &str| raw[part].to_string().len();
    let (tools, system) = (size("tools"), size("system"));
    assert!(
        (tools + system) / 4 < 2_000,
        "tools {tools} bytes, system {system} bytes"
    );
}

#[tokio::test]
async fn tools_are_listed_shown_and_run_from_the_command_line() {
    let project = files();
    let hew = || {
        Hew::new(env!("CARGO_BIN_EXE_hew"))
            .unwrap()
            .current_dir(project.root())
            .arg("tools")
    };
    let list = hew().run().await.unwrap();
    let row = |name: &str| {
        list.stdout
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(
        row("read_file ").contains("always") && row("read_file ").contains("view"),
        "{}",
        list.stdout
    );
    assert!(row("move_path ").contains("when asked"), "{}", list.stdout);
    assert!(list.stderr.contains("tokens in every request"), "{}", list.stderr);
    let all: Vec<Value> = serde_json::from_str(&hew().arg("--json").run().await.unwrap().stdout).unwrap();
    let edit = all.iter().find(|tool| tool["name"] == "edit_file").unwrap();
    assert_eq!((&edit["listed"], &edit["read_only"]), (&json!(true), &json!(false)));
    assert!(edit["tokens"].as_u64().is_some_and(|tokens| tokens > 20) && edit["input_schema"].is_object());
    let patches = hew().args(["-m", "openai/gpt-5.5"]).run().await.unwrap();
    assert!(patches.stdout.contains("\napply_patch "), "{}", patches.stdout);
    let show = hew().args(["show", "view"]).run().await.unwrap();
    assert!(show.stdout.starts_with("read_file\n\nReads "), "{}", show.stdout);

    let read = hew()
        .args(["run", "read", "--input", r#"{"path": "a.txt"}"#])
        .run()
        .await
        .unwrap();
    assert_eq!((read.stdout.as_str(), read.code()), ("1\thello\n[1 line]\n", Some(0)));
    let made = hew()
        .args(["run", "write_file", "--json", "-i", "-"])
        .stdin(r#"{"path": "x", "content": "y"}"#)
        .run()
        .await
        .unwrap();
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(made["changes"], json!([{"path": "x", "change": "created"}]));
    assert_eq!(project.read("x").unwrap(), "y");
    // From the command line, a file can be edited without reading it first.
    for (tool, input, expected) in [
        ("edit_file", r#"{"path": "x", "old_text": "y", "new_text": "z"}"#, "z"),
        ("write_file", r#"{"path": "x", "content": "all new"}"#, "all new"),
    ] {
        let done = hew().args(["run", tool, "--input", input]).run().await.unwrap();
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        assert_eq!(project.read("x").unwrap(), expected);
    }
    for (args, code, message) in [
        (vec!["show", "nope"], 2, "there is no tool `nope`"),
        (vec!["show", "crush_logs"], 2, "use instead: the session's log"),
        (vec!["run", "read_file"], 2, "missing field `path`"),
        (vec!["run", "read_file", "--input", "{"], 2, "the input is not JSON"),
        (
            vec!["run", "read_file", "--input", "[]"],
            2,
            "the input must be a JSON object",
        ),
        (
            vec!["run", "read_file", "--input", r#"{"path": "missing"}"#],
            1,
            "missing does not exist",
        ),
        (
            vec!["run", "read_file", "--input", r#"{"path": "/etc/hostname"}"#],
            1,
            "--yes allows it",
        ),
        (
            vec![
                "run",
                "write_file",
                "--input",
                r#"{"path": "z", "content": ""}"#,
                "--set",
                "permission=read-only",
            ],
            1,
            "not allowed: ",
        ),
    ] {
        let output = hew().args(&args).run().await.unwrap();
        assert_eq!(
            output.code(),
            Some(code),
            "{args:?}: {}{}",
            output.stdout,
            output.stderr
        );
        assert!(output.stderr.contains(message), "{args:?}: {}", output.stderr);
    }
    let outside = project.root().parent().unwrap().join("hew-tools-outside.txt");
    let input = json!({"path": outside}).to_string();
    let asked = hew()
        .args(["run", "read_file", "--yes", "--input", &input])
        .run()
        .await
        .unwrap();
    assert!(asked.stderr.contains("does not exist"), "{}", asked.stderr);
}

#[tokio::test]
async fn a_tool_run_from_the_command_line_is_sandboxed_and_does_not_find_hidden_files() {
    let server = Server::start(Script::new()).await.unwrap();
    let project = Project::new(&[
        (".hewignore", "secret.txt\n"),
        ("secret.txt", "hush\n"),
        ("a.txt", "hush\n"),
    ])
    .unwrap();
    let run = async |name: &str, input: Value| {
        let input = input.to_string();
        let hew = hew(&server, &project).args(["tools", "run", name, "--input", &input]);
        hew.run().await.unwrap()
    };
    let touched = run("terminal", json!({"command": "printf /usr/hew-attempt | xargs touch"})).await;
    for part in ["not run outside the sandbox", "there is no terminal to ask on"] {
        assert!(touched.stderr.contains(part), "{}{}", touched.stdout, touched.stderr);
    }
    assert!(!std::path::Path::new("/usr/hew-attempt").exists());
    let found = run("grep", json!({"pattern": "hush"})).await;
    assert!(
        found.stdout.contains("a.txt") && !found.stdout.contains("secret"),
        "{}{}",
        found.stdout,
        found.stderr
    );
}

#[tokio::test]
async fn a_running_watch_does_not_prevent_the_session_from_ending() {
    let watch = json!({"name": "watch", "input": {"command": "true", "every_seconds": 86400}});
    let (_, seen) = play(&files(), MODEL, &[("call_tool", watch)]).await;
    assert!(
        results(&seen)[0].starts_with("Watch 1 is running"),
        "{:?}",
        results(&seen)
    );
}

#[tokio::test]
async fn a_profile_is_applied_before_tools_are_offered_for_search() {
    let project = files();
    let describe = async |args: &[&str], config: &str| {
        let server = Server::start(Script::new().turn(Turn::text("Done."))).await.unwrap();
        let hew = hew(&server, &project);
        let file = hew.home().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let run = hew
            .env("HEW_CONFIG", file)
            .args(["run", "--json", "-m", MODEL])
            .args(args);
        let output = run.arg("go").run().await.unwrap();
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
        let request = server.main_requests()[0].json();
        let tools = request["tools"].as_array().unwrap().clone();
        let finder = tools.iter().find(|tool| tool["name"] == "find_tools");
        finder.map(|tool| tool["description"].as_str().unwrap().to_owned())
    };
    let all = describe(&[], "").await.unwrap();
    assert!(all.contains("copy_path") && all.contains("move_path"), "{all}");
    let config = "[profiles.some]\nother_tools = true\ntools = { copy_path = false }\n";
    let some = describe(&["--profile", "some"], config).await.unwrap();
    assert!(!some.contains("copy_path") && some.contains("move_path"), "{some}");
    let without = describe(&[], "[tools]\ndisabled = ['copy_path']\n").await.unwrap();
    assert!(
        !without.contains("copy_path") && without.contains("move_path"),
        "{without}"
    );
    let ask = describe(&["--profile", "ask"], "").await.unwrap();
    for (name, is_offered) in [
        ("codebase_search", true),
        ("definition", true),
        ("fetch", true),
        ("copy_path", false),
        ("delete_path", false),
        ("new_task", false),
        ("job_kill", false),
        ("panel", false),
    ] {
        assert_eq!(ask.contains(name), is_offered, "{name}: {ask}");
    }
}

#[tokio::test]
async fn a_turn_ends_after_200_steps_unless_a_limit_is_set() {
    let project = files();
    // The request after the last step would be the answer.
    for (args, expected) in [(&[][..], 201), (&["--max-steps", "205"], 205)] {
        let script = Script::dynamic(|seen| {
            let pattern = format!("line {}", seen.results().count());
            Turn::calls("grep", json!({"pattern": pattern, "path": "a.txt"}))
        });
        let server = Server::start(script).await.unwrap();
        let run = hew(&server, &project)
            .args(["run", "--no-title", "-m", MODEL])
            .args(args);
        let output = run.arg("go").run().await.unwrap();
        assert_eq!(server.main_requests().len(), expected, "{}", output.stderr);
        assert_ne!(output.code(), Some(0));
        assert!(output.stderr.contains("hew resume"), "{}", output.stderr);
    }
}

#[tokio::test]
async fn a_run_without_a_terminal_works_until_its_todos_are_done() {
    let project = files();
    let todos = |first: &str, second: &str| {
        let list = json!([{"content": "Look", "status": first}, {"content": "Leap", "status": second}]);
        Turn::calls("todo", json!({"todos": list}))
    };
    for (args, expected) in [
        (&[][..], vec!["still open", "Leap"]),
        (&["--mode", "agent"], vec!["still open", "Leap"]),
        (&["--mode", "code"], vec![]),
    ] {
        let script = Script::new()
            .turn(todos("completed", "pending"))
            .turn(Turn::text("Half of it is done."))
            .turn(todos("completed", "completed"))
            .turn(Turn::text("All of it is done."));
        let server = Server::start(script).await.unwrap();
        let run = hew(&server, &project)
            .args(["run", "--no-title", "-m", MODEL])
            .args(args);
        let output = run.arg("go").run().await.unwrap();
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
        let last = server.main_requests().last().unwrap().json().to_string();
        for text in &expected {
            assert!(last.contains(text), "{args:?}: {last}");
        }
        let requests = if expected.is_empty() { 2 } else { 4 };
        assert_eq!(server.main_requests().len(), requests, "{args:?}");
    }
}
