//! hew as an agent for editors, driven by the official SDKs; every message is held against the protocol's published schema.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "acp/wire.rs"]
mod wire;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::{Hew, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const HEW: &str = env!("CARGO_BIN_EXE_hew");

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root.join("../../.tools/python/bin/python"));
    let able = std::process::Command::new(&python).args(["-c", "import acp"]).output();
    let able = able.is_ok_and(|output| output.status.success());
    if !able {
        eprintln!("skipped: no Python with the ACP SDK (set HEW_PYTHON, or run `cargo xtask ci`)");
    }
    able.then_some(python)
}

fn node_modules() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_NODE_MODULES").map(PathBuf::from);
    let modules = named.unwrap_or_else(|| root.join("../../.tools/node/node_modules"));
    let there = modules.join("@agentclientprotocol/sdk").exists();
    if !there {
        eprintln!("skipped: no TypeScript SDK for ACP (set HEW_NODE_MODULES, or run `cargo xtask ci`)");
    }
    there.then_some(modules)
}

fn peer(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp").join(name)
}

fn configure(home: &Path, text: &str) {
    let folder = home.join(".config/hew");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn edit(from: &str, to: &str) -> Turn {
    Turn::calls("edit_file", json!({"path": "a.txt", "old_text": from, "new_text": to}))
}

/// What the model says in the whole task.
fn task() -> Script {
    let todo = json!({"todos": [{"content": "mend it", "status": "in_progress"}]});
    Script::new()
        .turn(Turn::text("I will mend it.").thinking("Let me see.").call("todo", todo))
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("hello", "goodbye"))
        .turn(Turn::calls(
            "terminal",
            json!({"command": "echo the answer is $((6*7))"}),
        ))
        .turn(Turn::text("It is mended."))
        .turn(Turn::calls("terminal", json!({"command": "sleep 600"})))
        .turn(edit("goodbye", "farewell"))
        .turn(Turn::text("Then not."))
        .turn(edit("goodbye", "so long"))
        .turn(Turn::text("Again."))
        .turn(Turn::text("Yes."))
        .turn(Turn::text("Yes."))
}

/// What an official client did with hew, and what was said on the wire.
struct Driven {
    report: Value,
    project: Project,
    server: Server,
    hew: Hew,
}

async fn drive(script: Script, files: &[(&str, &str)], client: impl FnOnce(Hew, &Path, &Path) -> Hew) -> Driven {
    let server = Server::start(script).await.unwrap();
    let project = Project::new(files).unwrap();
    // Clients and hew itself share one home.
    let base = Hew::new("env").unwrap().talks_to(&server).folder(project.root());
    configure(
        base.home(),
        "title = false\neffort = 'high'\n[permissions]\nask = ['write(a.txt)']\n",
    );
    let log = base.home().join("wire.jsonl");
    let output: Output = client(base.clone(), &log, project.root()).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}\n{}", output.stdout, output.stderr);
    let report = serde_json::from_str(output.stdout.lines().last().unwrap_or_default()).expect(&output.stdout);
    wire::check(&log);
    Driven {
        report,
        project,
        server,
        hew: base.arg(HEW),
    }
}

/// Updates of a kind, of one prompt.
fn of<'a>(updates: &'a Value, kind: &str) -> Vec<&'a Value> {
    let updates = updates.as_array().unwrap().iter();
    updates.filter(|update| update["sessionUpdate"] == kind).collect()
}

fn texts(updates: &Value, kind: &str) -> String {
    let chunks = of(updates, kind).into_iter();
    chunks.filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
}

/// What must be true whichever client drove it.
async fn whole_task(driven: &Driven) {
    let Driven {
        report, project, hew, ..
    } = driven;
    assert_eq!(report["agent"], "hew");
    assert_eq!(report["version"], 1);
    assert!(
        report["modes"].as_array().unwrap().contains(&json!("architect")),
        "{report}"
    );
    assert_eq!(report["options"], json!(["mode", "model", "permission"]));
    assert_eq!(report["options_after"], report["options"]);
    let prompts = report["prompts"].as_array().unwrap();
    let stops: Vec<&str> = prompts.iter().map(|prompt| prompt["stop"].as_str().unwrap()).collect();
    assert_eq!(stops, ["end_turn", "cancelled", "end_turn", "cancelled", "end_turn"]);

    let first = &prompts[0]["updates"];
    assert_eq!(texts(first, "agent_message_chunk"), "I will mend it.It is mended.");
    assert!(texts(first, "agent_thought_chunk").contains("Let me see."));
    assert_eq!(of(first, "plan")[0]["entries"][0]["content"], "mend it");
    assert!(!of(first, "usage_update").is_empty());
    assert!(!of(first, "available_commands_update").is_empty());
    let kinds: Vec<&str> = of(first, "tool_call")
        .iter()
        .filter_map(|call| call["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["think", "read", "edit", "execute"]);
    let all = first.to_string();
    assert!(all.contains("the answer is 42"), "{all}");
    let done = of(first, "tool_call_update").into_iter();
    let done: Vec<&Value> = done.filter(|update| update["status"] == "completed").collect();
    assert_eq!(done.len(), 4, "{all}");
    let diff = &done[2]["content"][0];
    assert_eq!(diff["type"], "diff");
    assert_eq!(diff["path"], json!(project.root().join("a.txt")));
    assert!(diff["oldText"].as_str().unwrap().starts_with("hello"), "{diff}");
    assert!(diff["newText"].as_str().unwrap().starts_with("goodbye"), "{diff}");
    assert_eq!(done[2]["locations"][0]["path"], json!(project.root().join("a.txt")));

    let asked = report["asked"].as_array().unwrap();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(
        asked[0]["options"],
        json!([
            "allow_once",
            "allow_always",
            "allow_always",
            "reject_once",
            "reject_always"
        ])
    );
    assert_eq!(asked[0]["call"]["kind"], "edit");
    let shown = &asked[0]["call"]["content"][0];
    assert_eq!(
        (&shown["type"], &shown["newText"]),
        (&json!("diff"), &json!("goodbye\n")),
        "{shown}"
    );
    let refused = of(&prompts[2]["updates"], "tool_call_update").into_iter();
    assert_eq!(refused.filter(|update| update["status"] == "failed").count(), 1);
    assert!(project.read("a.txt").unwrap().starts_with("goodbye\n"));

    let replayed = &report["replayed"];
    assert!(texts(replayed, "user_message_chunk").starts_with("Mend it."));
    assert!(texts(replayed, "agent_message_chunk").starts_with("I will mend it.It is mended."));
    assert_eq!(of(replayed, "tool_call").len(), 7);
    assert!(replayed.to_string().contains("\"oldText\""));
    assert_eq!(report["listed"][0], report["session"]);
    assert_eq!(report["both"], json!(["end_turn", "end_turn"]));
    assert_eq!(report["wrong"], json!([-32002, -32602, -32602, -32602]));

    let listed = hew.clone().args(["sessions", "list", "--json"]).run().await.unwrap();
    assert!(
        listed.stdout.contains(report["session"].as_str().unwrap()),
        "{}",
        listed.stdout
    );
}

#[tokio::test]
async fn the_official_python_client_drives_a_whole_task() {
    let Some(python) = python() else { return };
    let files = [("a.txt", "hello\n"), ("b.txt", "see b\n")];
    let driven = drive(task(), &files, |base, log, root| {
        wired(base, log, root, &python).args(["-m", MODEL])
    })
    .await;
    whole_task(&driven).await;
    let report = &driven.report;
    // The editor's buffer was read, and what was written went through it.
    assert!(report["read"].as_array().unwrap().contains(&json!("a.txt")));
    assert_eq!(report["wrote"], json!(["a.txt"]));
    assert_eq!(driven.project.read("a.txt").unwrap(), "goodbye\nnot saved yet\n");
    let said = driven.server.main_requests()[2].json().to_string();
    assert!(said.contains("not saved yet"), "{said}");
    assert!(said.contains("see b"), "what a link names is laid out for the model");
    assert!(said.contains("image/png"));
}

#[tokio::test]
async fn the_official_typescript_client_drives_a_whole_task() {
    let (Some(modules), Some(python)) = (node_modules(), python()) else {
        return;
    };
    let files = [("a.txt", "hello\n"), ("b.txt", "see b\n")];
    let driven = drive(task(), &files, |base, log, root| {
        let client = base.arg("node").arg(peer("client.mjs")).arg(modules).arg(root);
        client
            .arg(&python)
            .arg(peer("tap.py"))
            .arg(log)
            .args([HEW, "acp", "-m", MODEL])
    })
    .await;
    whole_task(&driven).await;
    let said = driven.server.main_requests()[0].json().to_string();
    assert!(said.contains("embedded words") && !said.contains("see b"), "{said}");
}

/// The Python client, with a tap on the wire.
fn wired(client: Hew, log: &Path, root: &Path, python: &Path) -> Hew {
    let client = client.arg(python).arg(peer("client.py")).arg(root);
    client.arg(python).arg(peer("tap.py")).arg(log).args([HEW, "acp"])
}
