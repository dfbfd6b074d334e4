//! hew as an agent for editors, used by the official SDKs; every message is checked against the protocol's published schema.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "acp/wire.rs"]
mod wire;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Hew, Output, Pace, ParsedRequest, Project, Script, Server, Turn, TurnOrder};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
/// Other agents start slowly on a busy machine.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(300);
const HEW: &str = env!("CARGO_BIN_EXE_hew");

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root.join("../../.tools/python/bin/python"));
    let has_sdk = std::process::Command::new(&python).args(["-c", "import acp"]).output();
    let has_sdk = has_sdk.is_ok_and(|output| output.status.success());
    if !has_sdk {
        eprintln!("skipped: no Python with the ACP SDK (set HEW_PYTHON, or run `cargo xtask ci`)");
    }
    has_sdk.then_some(python)
}

fn node_modules() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_NODE_MODULES").map(PathBuf::from);
    let modules = named.unwrap_or_else(|| root.join("../../.tools/node/node_modules"));
    let has_sdk = modules.join("@agentclientprotocol/sdk").exists();
    if !has_sdk {
        eprintln!("skipped: no TypeScript SDK for ACP (set HEW_NODE_MODULES, or run `cargo xtask ci`)");
    }
    has_sdk.then_some(modules)
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

/// The model's replies in the whole task.
fn task() -> Script {
    let todo = json!({"todos": [{"content": "fix it", "status": "in_progress"}]});
    Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("I will fix it.").thinking("Let me see.").call("todo", todo))
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("hello", "goodbye"))
        .turn(Turn::calls(
            "terminal",
            json!({"command": "echo the answer is $((6*7))"}),
        ))
        .turn(Turn::text("It is fixed."))
        .turn(Turn::calls("terminal", json!({"command": "sleep 600"})))
        .turn(edit("goodbye", "farewell"))
        .turn(Turn::text("Then not."))
        .turn(edit("goodbye", "so long"))
        .turn(Turn::text("Again."))
        .turn(Turn::text("Yes."))
        .turn(Turn::text("Yes."))
}

/// The result of an official client's run against hew.
struct ClientRun {
    report: Value,
    project: Project,
    server: Server,
    hew: Hew,
}

async fn run_client(
    script: Script,
    files: &[(&str, &str)],
    client: impl FnOnce(Hew, &Path, &Path) -> Hew,
) -> ClientRun {
    let server = Server::start(script).await.unwrap();
    let project = Project::new(files).unwrap();
    // Clients and hew itself share one home.
    let base = Hew::new("env")
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    configure(
        base.home(),
        "title = false\neffort = 'high'\n[permissions]\nask = ['write(a.txt)']\n",
    );
    let log = base.home().join("wire.jsonl");
    let client = client(base.clone(), &log, project.root()).timeout(CLIENT_TIMEOUT);
    let output: Output = client.run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}\n{}", output.stdout, output.stderr);
    let report = serde_json::from_str(output.stdout.lines().last().unwrap_or_default()).expect(&output.stdout);
    wire::check(&log);
    ClientRun {
        report,
        project,
        server,
        hew: base.arg(HEW),
    }
}

/// The updates of one kind among those of a prompt.
fn updates_of<'a>(updates: &'a Value, kind: &str) -> Vec<&'a Value> {
    let updates = updates.as_array().unwrap().iter();
    updates.filter(|update| update["sessionUpdate"] == kind).collect()
}

fn texts(updates: &Value, kind: &str) -> String {
    let chunks = updates_of(updates, kind).into_iter();
    chunks.filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
}

/// Checks what is independent of the client.
async fn check_whole_task(run: &ClientRun) {
    let ClientRun {
        report, project, hew, ..
    } = run;
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
    assert_eq!(texts(first, "agent_message_chunk"), "I will fix it.It is fixed.");
    assert!(texts(first, "agent_thought_chunk").contains("Let me see."));
    assert_eq!(updates_of(first, "plan")[0]["entries"][0]["content"], "fix it");
    assert!(!updates_of(first, "usage_update").is_empty());
    assert!(!updates_of(first, "available_commands_update").is_empty());
    let kinds: Vec<&str> = updates_of(first, "tool_call")
        .iter()
        .filter_map(|call| call["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["think", "read", "edit", "execute"]);
    let all = first.to_string();
    assert!(all.contains("the answer is 42"), "{all}");
    let done = updates_of(first, "tool_call_update").into_iter();
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
    let refused = updates_of(&prompts[2]["updates"], "tool_call_update").into_iter();
    assert_eq!(refused.filter(|update| update["status"] == "failed").count(), 1);
    assert!(project.read("a.txt").unwrap().starts_with("goodbye\n"));

    let replayed = &report["replayed"];
    assert!(texts(replayed, "user_message_chunk").starts_with("Fix it."));
    assert!(texts(replayed, "agent_message_chunk").starts_with("I will fix it.It is fixed."));
    assert_eq!(updates_of(replayed, "tool_call").len(), 7);
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
    let run = run_client(task(), &files, |base, log, root| {
        recorded_client(base, log, root, &python).args(["-m", MODEL])
    })
    .await;
    check_whole_task(&run).await;
    let report = &run.report;
    // Files are read from and written through the editor's buffers.
    assert!(report["read"].as_array().unwrap().contains(&json!("a.txt")));
    assert_eq!(report["wrote"], json!(["a.txt"]));
    assert_eq!(run.project.read("a.txt").unwrap(), "goodbye\nnot saved yet\n");
    let body = run.server.main_requests()[2].json().to_string();
    assert!(body.contains("not saved yet"), "{body}");
    assert!(body.contains("see b"), "the content of a link is included");
    assert!(body.contains("image/png"));
}

#[tokio::test]
async fn the_official_typescript_client_drives_a_whole_task() {
    let (Some(modules), Some(python)) = (node_modules(), python()) else {
        return;
    };
    let files = [("a.txt", "hello\n"), ("b.txt", "see b\n")];
    let run = run_client(task(), &files, |base, log, root| {
        let client = base.arg("node").arg(peer("client.mjs")).arg(modules).arg(root);
        client
            .arg(&python)
            .arg(peer("tap.py"))
            .arg(log)
            .args([HEW, "acp", "-m", MODEL])
    })
    .await;
    check_whole_task(&run).await;
    let body = run.server.main_requests()[0].json().to_string();
    assert!(body.contains("embedded words") && !body.contains("see b"), "{body}");
}

/// The Python client, with a program that records the messages.
fn recorded_client(client: Hew, log: &Path, root: &Path, python: &Path) -> Hew {
    let client = client.arg(python).arg(peer("client.py")).arg(root);
    client.arg(python).arg(peer("tap.py")).arg(log).args([HEW, "acp"])
}

#[tokio::test]
async fn unconfined_commands_run_in_the_editors_terminal_and_its_mcp_servers_are_available() {
    let Some(python) = python() else { return };
    let odd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/all/peers/misbehaving.py");
    let script = Script::new()
        .turn(Turn::calls(
            "terminal",
            json!({"command": "echo visible to the user; exit 3"}),
        ))
        .turn(Turn::calls("find_tools", json!({"query": "plain first"})))
        .turn(Turn::calls("call_tool", json!({"name": "first", "input": {}})))
        .turn(Turn::text("Done."));
    let run = run_client(script, &[("a.txt", "")], |base, log, root| {
        let client = base.env("TERMINALS", "yes").env("MCP", odd.canonicalize().unwrap());
        recorded_client(client, log, root, &python).args(["-m", MODEL, "--permission", "full"])
    })
    .await;
    let report = &run.report;
    assert_eq!(report["ran"], json!([["sh", "-c", "echo visible to the user; exit 3"]]));
    let updates = &report["prompts"][0]["updates"];
    let shown = updates_of(updates, "tool_call_update").into_iter();
    assert!(
        shown
            .into_iter()
            .any(|update| update["content"][0]["type"] == "terminal"),
        "{updates}"
    );
    let seen = run.server.main_requests().last().unwrap().parsed().unwrap();
    let results: Vec<String> = seen.results().map(|result| result.text.clone()).collect();
    assert!(
        results[0].starts_with("visible to the user\n[exit code 3"),
        "{results:?}"
    );
    assert!(results[2].starts_with("plain did first"), "{results:?}");
}

#[tokio::test]
async fn a_prompt_during_a_turn_steers_it_and_streaming_edits_are_reported() {
    let Some(python) = python() else { return };
    let script = Script::dynamic(|seen| {
        let is_steered = seen
            .messages
            .iter()
            .any(|message| message.text.contains("and also this"));
        let is_edited = seen.calls().any(|call| call.name == "edit_file");
        match (seen.results().count(), is_steered, is_edited) {
            (0, _, _) => Turn::calls("read_file", json!({"path": "a.txt"})),
            (number, false, _) => Turn::calls("terminal", json!({"command": format!("echo {number}; sleep 0.2")})),
            (_, true, false) => Turn::calls(
                "edit_file",
                json!({"path": "a.txt", "old_text": "three\nfour\nfive", "new_text": "drei\nvier\nfuenf und mehr"}),
            )
            .pace(Pace::with_delta_bytes(4)),
            (_, true, true) => Turn::text("Done."),
        }
    });
    let files = [("a.txt", "one\ntwo\nthree\nfour\nfive\n"), ("b.txt", "see b\n")];
    let run = run_client(script, &files, |base, log, root| {
        configure(base.home(), "title = false\n");
        recorded_client(base.env("STEER", "yes"), log, root, &python).args(["-m", MODEL])
    })
    .await;
    let (report, root) = (&run.report, run.project.root());
    assert_eq!(report["stops"], json!(["end_turn", "end_turn"]));
    assert!(run.project.read("a.txt").unwrap().contains("fuenf und mehr"));

    let seen = run.server.main_requests().last().unwrap().parsed().unwrap();
    let prompt = &seen.messages[0].text;
    assert!(
        prompt.starts_with("@b.txt please\n") && prompt.contains("see b"),
        "{prompt}"
    );
    for fact in [
        "Open in the user's editor: a.txt, lines 1-2 selected",
        "Diagnostics in the user's editor: a.txt:2 error: wrong",
    ] {
        assert!(prompt.contains(fact), "{prompt}");
    }
    let steered = seen
        .messages
        .iter()
        .position(|message| message.text.contains("and also this"));
    assert!(
        steered.is_some_and(|at| at > 1 && at + 1 < seen.messages.len()),
        "{:#?}",
        seen.messages
    );

    let updates = &report["updates"];
    let edit = updates_of(updates, "tool_call")
        .into_iter()
        .find(|call| call["kind"] == "edit")
        .unwrap();
    let id = &edit["toolCallId"];
    let edit_updates: Vec<&Value> = updates_of(updates, "tool_call_update")
        .into_iter()
        .filter(|update| update["toolCallId"] == *id)
        .collect();
    let locations = json!([{"path": root.join("a.txt"), "line": 3}]);
    let lengths: Vec<usize> = edit_updates
        .iter()
        .take_while(|update| update["status"] != "completed")
        .filter(|update| update["content"][0]["type"] == "diff")
        .map(|update| {
            assert_eq!(update["locations"], locations, "{update}");
            update["content"][0]["newText"].as_str().unwrap().len()
        })
        .collect();
    assert!(
        lengths.len() > 1 && lengths.is_sorted() && lengths[0] < *lengths.last().unwrap(),
        "{lengths:?}"
    );
    let done = edit_updates
        .iter()
        .find(|update| update["status"] == "completed")
        .unwrap();
    assert_eq!(done["locations"], locations, "{done}");
}

#[tokio::test]
async fn a_session_can_be_resumed_after_its_agent_was_killed() {
    let Some(python) = python() else { return };
    let script = Script::new()
        .turn(Turn::calls("terminal", json!({"command": "sleep 600"})))
        .turn(Turn::text("Here I am again."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let base = Hew::new("env")
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    let client = base.clone().env("KILL", "yes").arg(python).arg(peer("client.py"));
    let client = client.arg(project.root()).args([HEW, "acp", "-m", MODEL]);
    let output = client.run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}\n{}", output.stdout, output.stderr);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let session = report["session"].as_str().unwrap();
    let resumed = base.arg(HEW).args(["resume", session]).run().await.unwrap();
    assert_eq!(resumed.code(), Some(0), "{}", resumed.stderr);
    assert!(resumed.stdout.contains("Here I am again."), "{}", resumed.stdout);
}

#[tokio::test]
async fn invalid_messages_get_errors_and_hew_exits_at_the_end_of_input() {
    let server = Server::start(Script::new().turn(Turn::text("Hi."))).await.unwrap();
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let root = project.root().display().to_string();
    let request = |id: u32, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let hello = json!({"protocolVersion": 7, "clientCapabilities": {}});
    let lines = [
        "this is not JSON".to_owned(),
        format!("\"{}\"", "x".repeat(33 * 1024 * 1024)),
        request(1, "initialize", hello),
        request(2, "no/such/method", json!({})),
        request(3, "session/new", json!({"cwd": 5})),
        request(
            4,
            "session/load",
            json!({"sessionId": "0192f0c0-0000-7000-8000-000000000000", "cwd": root, "mcpServers": []}),
        ),
        json!({"jsonrpc": "2.0", "method": "no/such/notification"}).to_string(),
        request(5, "session/new", json!({"cwd": root, "mcpServers": []})),
    ];
    let hew = Hew::new(HEW).unwrap().with_server(&server).current_dir(project.root());
    let output = hew
        .args(["acp", "-m", MODEL])
        .stdin(lines.join("\n") + "\n")
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    let answers: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let code = |id: Value| {
        let found = answers
            .iter()
            .find(|answer| answer.get("id") == Some(&id) && answer.get("method").is_none());
        found
            .map(|answer| answer["error"]["code"].clone())
            .expect(&output.stdout)
    };
    let without_id: Vec<&Value> = answers
        .iter()
        .filter(|answer| answer["id"].is_null())
        .map(|it| &it["error"]["code"])
        .collect();
    assert!(
        without_id.contains(&&json!(-32700)) && without_id.contains(&&json!(-32600)),
        "{without_id:?}"
    );
    let version = answers.iter().find(|answer| answer["id"] == 1).unwrap();
    assert_eq!(version["result"]["protocolVersion"], 1);
    let codes = [code(json!(2)), code(json!(3)), code(json!(4)), code(json!(5))];
    assert_eq!(codes, [json!(-32601), json!(-32602), json!(-32002), Value::Null]);
}

#[tokio::test]
async fn without_a_key_a_new_session_fails_with_authentication_required() {
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "session/new",
        "params": {"cwd": project.root(), "mcpServers": []}});
    let hew = Hew::new(HEW).unwrap().current_dir(project.root());
    let output = hew
        .args(["acp", "-m", MODEL])
        .stdin(format!("{line}\n"))
        .run()
        .await
        .unwrap();
    let answer: Value = serde_json::from_str(output.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
}

/// Runs hew with other agents configured; returns the project, the results of the main session's calls and hew.
async fn run_with_agents(
    script: Script,
    files: &[(&str, &str)],
    config: impl FnOnce(&Hew, &Path) -> String,
) -> (Project, Vec<String>, Hew) {
    let server = Server::start(script).await.unwrap();
    let project = Project::new(files).unwrap();
    let hew = Hew::new(HEW).unwrap().with_server(&server).current_dir(project.root());
    configure(hew.home(), &config(&hew, project.root()));
    let output = hew
        .clone()
        .args(["run", "--json", "-m", MODEL, "go"])
        .timeout(CLIENT_TIMEOUT)
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}\n{}", output.stdout, output.stderr);
    let requests = server.main_requests();
    let last = requests
        .iter()
        .filter_map(|request| request.parsed())
        .filter(is_main)
        .last()
        .unwrap();
    assert!(last.offers("new_task"), "`new_task` is listed if agents are configured");
    let results = last.results().map(|result| result.text.clone()).collect();
    (project, results, hew)
}

/// Whether this is a request of the session that delegates.
fn is_main(seen: &ParsedRequest) -> bool {
    seen.messages
        .first()
        .is_some_and(|message| message.text.starts_with("go"))
}

#[tokio::test]
async fn hew_delegates_to_another_hew() {
    let Some(python) = python() else { return };
    let script = Script::dynamic(|seen| match (is_main(seen), seen.results().count()) {
        (true, 0) => Turn::calls(
            "new_task",
            json!({"prompt": "Write b.txt.", "mode": "other", "title": "write"}),
        ),
        (true, _) => Turn::text("Done."),
        (false, 0) => Turn::calls("write_file", json!({"path": "b.txt", "content": "by the other\n"})),
        (false, 1) => Turn::calls("terminal", json!({"command": "echo it runs"})),
        (false, _) => Turn::text("I wrote b.txt."),
    });
    let (project, results, hew) = run_with_agents(script, &[("a.txt", "")], |hew, _| {
        let log = hew.home().join("wire.jsonl");
        // The other process needs no approval and gets its keys from this one.
        let arguments = [peer("tap.py").display().to_string(), log.display().to_string(), HEW.into(), "acp".into(), "-m".into(), MODEL.into()];
        let arguments: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        format!(
            "title = false\n[approval]\nsubtasks = 'allow'\n[agents.other]\ncommand = '{}'\nargs = [{}]\nenv = {{ {KEYS} }}\n",
            python.display(),
            arguments.join(", "),
        )
    })
    .await;
    assert!(
        results[0].starts_with("I wrote b.txt.\n[subtask session "),
        "{results:?}"
    );
    assert_eq!(project.read("b.txt").unwrap(), "by the other\n");
    wire::check(&hew.home().join("wire.jsonl"));
}

const KEYS: &str = "ANTHROPIC_API_KEY = '${env:ANTHROPIC_API_KEY}', ANTHROPIC_BASE_URL = '${env:ANTHROPIC_BASE_URL}', \
    GEMINI_API_KEY = '${env:GEMINI_API_KEY}', GOOGLE_GEMINI_BASE_URL = '${env:GOOGLE_GEMINI_BASE_URL}'";

#[tokio::test]
async fn hew_delegates_to_gemini_cli() {
    let Some(modules) = node_modules() else { return };
    let gemini = modules.join("@google/gemini-cli/bundle/gemini.js");
    if !gemini.exists() {
        eprintln!("skipped: no Gemini CLI (set HEW_NODE_MODULES, or run `cargo xtask ci`)");
        return;
    }
    let script = Script::dynamic(|seen| {
        let calls = seen.calls().count();
        match (is_main(seen), calls) {
            (true, 0) => Turn::calls(
                "new_task",
                json!({"prompt": "Write a.txt.", "mode": "gemini", "title": "write"}),
            ),
            (true, _) => Turn::text("Done."),
            (false, 0) if seen.offers("write_file") => Turn::calls(
                "write_file",
                json!({"file_path": "a.txt", "content": "by Gemini CLI\n"}),
            ),
            (false, _) => Turn::text("I wrote a.txt."),
        }
    });
    let (project, results, _) = run_with_agents(script.lenient(), &[("a.txt", "nothing yet\n")], |hew, _| {
        let settings = json!({"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
            "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}});
        std::fs::create_dir_all(hew.home().join(".gemini")).unwrap();
        std::fs::write(hew.home().join(".gemini/settings.json"), settings.to_string()).unwrap();
        format!(
            "title = false\n[approval]\nsubtasks = 'allow'\n[agents.gemini]\ncommand = 'node'\n\
             args = ['{}', '--acp', '-m', 'gemini-2.5-flash']\nenv = {{ {KEYS}, GEMINI_CLI_TRUST_WORKSPACE = 'true' }}\n",
            gemini.display(),
        )
    })
    .await;
    assert!(results[0].contains("I wrote a.txt."), "{results:?}");
    assert_eq!(project.read("a.txt").unwrap(), "by Gemini CLI\n");
}

#[tokio::test]
async fn an_agent_that_cannot_start_fails_the_call_and_not_the_turn() {
    let script = Script::new()
        .turn(Turn::calls("new_task", json!({"prompt": "Do it.", "mode": "broken"})))
        .turn(Turn::text("Then I do it myself."));
    let (_, results, _) = run_with_agents(script, &[("a.txt", "")], |_, _| {
        "title = false\n[approval]\nsubtasks = 'allow'\n[agents.broken]\ncommand = 'false'\n".into()
    })
    .await;
    assert!(
        results[0].contains("the agent broken: it exited unexpectedly"),
        "{results:?}"
    );
    let hew = Hew::new(HEW).unwrap();
    configure(hew.home(), "[agents.broken]\ncommand = 'false'\n");
    let tested = hew.clone().args(["agents", "test", "--json"]).run().await.unwrap();
    assert_eq!(tested.code(), Some(1));
    let report: Value = serde_json::from_str(&tested.stdout).unwrap();
    assert!(
        report[0]["error"]
            .as_str()
            .unwrap()
            .starts_with("it exited unexpectedly"),
        "{report}"
    );
    let listed = hew.args(["agents", "list"]).run().await.unwrap();
    assert_eq!(listed.stdout, "broken  false\n");
}
