//! Every tool answers a scripted model through the real loop, by its name and by each of its aliases.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use testkit::{Hew, Output, Project, Script, Server, SiteRequest, SiteResponse, StubSite, Turn, page};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A call of each tool with a part of its expected result. Calls depend on those before them.
fn calls(site: &StubSite) -> Vec<(&'static str, Value, &'static str)> {
    let mut calls = plain_calls(site);
    if testkit::chromium().is_some() {
        let refused = calls.iter().position(|(name, ..)| *name == "browser_action").unwrap();
        calls.splice(refused..refused, browsing(site));
    }
    calls
}

/// A visit to a page with a real browser.
fn browsing(site: &StubSite) -> [(&'static str, Value, &'static str); 4] {
    let act = |input: Value, expected| ("browser_action", input, expected);
    [
        act(json!({"action": "launch", "url": site.url("/form")}), "[log] ready 7"),
        act(
            json!({"action": "type", "selector": "#name", "text": "größe"}),
            "image/webp",
        ),
        act(json!({"action": "click", "selector": "#go"}), "hello größe"),
        act(json!({"action": "close"}), "closed"),
    ]
}

fn plain_calls(site: &StubSite) -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("read_file", json!({"path": "a.txt"}), "hello"),
        ("list_directory", json!({"path": "."}), "src/"),
        ("find_path", json!({"pattern": "**/*.rs"}), "src/main.rs"),
        ("grep", json!({"pattern": "fn main"}), "src/main.rs"),
        (
            "edit_file",
            json!({"path": "a.txt", "old_text": "hello", "new_text": "goodbye"}),
            "a.txt",
        ),
        (
            "write_file",
            json!({"path": "new.txt", "content": "fresh\n"}),
            "new.txt",
        ),
        ("terminal", json!({"command": "cat a.txt"}), "goodbye"),
        (
            "todo",
            json!({"todos": [{"content": "look", "status": "pending"}]}),
            "look",
        ),
        ("find_tools", json!({"query": "copy a file"}), "copy_path"),
        ("call_tool", json!({"name": "now", "input": {}}), "20"),
        ("ask_question", json!({"question": "Red or blue?"}), "cannot be asked"),
        ("code_definitions", json!({"path": "src/main.rs"}), "main"),
        ("definition", json!({"symbol": "helper"}), "fn helper"),
        ("references", json!({"symbol": "helper"}), "1:fn main"),
        ("diagnostics", json!({"path": "broken.sh"}), "broken.sh"),
        (
            "copy_path",
            json!({"source_path": "new.txt", "destination_path": "copy.txt"}),
            "copy.txt",
        ),
        (
            "move_path",
            json!({"source_path": "copy.txt", "destination_path": "moved.txt"}),
            "moved.txt",
        ),
        ("create_directory", json!({"path": "made/deep"}), "made/deep"),
        ("delete_path", json!({"path": "moved.txt"}), "moved.txt"),
        ("open", json!({"path_or_url": "a.txt"}), "a.txt"),
        ("fetch", json!({"url": site.url("/page")}), "**bold** words"),
        (
            "download",
            json!({"url": site.url("/blob.bin"), "path": "got/blob.bin"}),
            "got/blob.bin",
        ),
        ("web_search", json!({"query": "zebra fish"}), "1. All about zebrafish"),
        ("sourcegraph", json!({"query": "fn main"}), "host/repo src/a.rs"),
        // The rules allow another host only.
        (
            "browser_action",
            json!({"action": "launch", "url": "http://localhost:9/"}),
            "cannot be requested",
        ),
        (
            "generate_image",
            json!({"prompt": "a red cat", "path": "cat.png"}),
            "created cat.png (image/png, 70 bytes)",
        ),
        ("skill", json!({"name": "release"}), "Ring the bell before a release."),
        ("job_list", json!({}), "no jobs"),
        ("job_output", json!({"job_id": "7"}), "7"),
        ("job_kill", json!({"job_id": "7"}), "7"),
        (
            "memory",
            json!({"command": "create", "path": "project/n.md", "file_text": "note"}),
            "n.md",
        ),
        ("scratchpad", json!({"text": "a thought"}), "a thought"),
        ("panel", json!({"open": ["tree"]}), "tree"),
        ("thinking", json!({"thought": "hm"}), "hm"),
        ("now", json!({}), "20"),
        ("remind", json!({"text": "stretch", "in_seconds": 3600}), "stretch"),
        (
            "watch",
            json!({"command": "true", "seconds": 3600}),
            "Watch 1 is running",
        ),
        (
            "new_task",
            json!({"message": "child: say hi", "mode": "ask"}),
            "child answer",
        ),
        (
            "search_agent",
            json!({"query": "child: where is main?"}),
            "child answer",
        ),
        (
            "codebase_search",
            json!({"query": "where is the main function?"}),
            "src/main.rs",
        ),
        ("repo_map", json!({"tokens": 500}), "src/main.rs"),
        ("switch_mode", json!({"mode": "plan", "reason": "to plan"}), "plan"),
        ("attempt_completion", json!({"result": "All tried."}), "All tried."),
    ]
}

/// One server for web pages, a search service, a code host and an image model, each with its own format.
async fn site() -> StubSite {
    StubSite::start("127.0.0.1", answer).await.unwrap()
}

fn answer(visit: &SiteRequest) -> SiteResponse {
    let json = |value: Value| page("200 OK", "application/json", value.to_string());
    let has = |header: &str| visit.head.contains(header);
    match visit.line.split('?').next().unwrap() {
        "GET /page" => page("200 OK", "text/html", "<h1>Hi</h1><p>Some <b>bold</b> words.</p>"),
        "GET /form" => page(
            "200 OK",
            "text/html; charset=utf-8",
            "<title>A form</title><input id=name><button id=go onclick=\"document.title = 'hello ' + document.all.name.value\">
             Go</button><script>console.log('ready', 7)</script>",
        ),
        "GET /blob.bin" => page("200 OK", "application/octet-stream", [0, 159, 146, 150]),
        "GET /res/v1/web/search" if has("x-subscription-token: brave-key") => {
            let found = json!({"title": "All about <strong>zebrafish</strong>", "url": "https://fish.example/zebra", "description": "Stripes."});
            json(
                json!({"type": "search", "query": {"original": "zebra fish"}, "web": {"type": "search", "results": [found]}}),
            )
        }
        "GET /.api/search/stream" => {
            let chunk =
                json!({"content": "fn main() {", "contentStart": {"offset": 0, "line": 0, "column": 0}, "ranges": []});
            let found =
                json!([{"type": "content", "repository": "host/repo", "path": "src/a.rs", "chunkMatches": [chunk]}]);
            let events = format!(
                "event: matches\ndata: {found}\n\nevent: progress\ndata: {{\"done\":true,\"matchCount\":1}}\n\nevent: done\ndata: {{}}\n\n"
            );
            page("200 OK", "text/event-stream", events)
        }
        "POST /v1/images/generations"
            if has("authorization: bearer studio-key") && visit.body.contains("a red cat") =>
        {
            json(
                json!({"created": 1_800_000_000, "data": [{"b64_json": PNG}], "usage": {"input_tokens": 7, "output_tokens": 90, "total_tokens": 97}}),
            )
        }
        _ => page("404 Not Found", "text/plain", format!("{visit:?}")),
    }
}

/// hew with the configuration of every tool, in a project with a skill.
fn configured(site: &StubSite, project: &Project) -> Hew {
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let config = hew.home().join("config.toml");
    let (base, studio) = (site.url(""), site.url("/v1"));
    let text = format!(
        "image_model = 'studio/gpt-image-1'
         title = false
         [limits]
         steps = 1000
         [permissions]
         allow = ['fetch(127.0.0.1)']
         [tools]
         enabled = ['thinking'] # It is kept from models that think by themselves.
         [web]
         allow_private = ['127.0.0.1:{port}']
         search = 'brave'
         search_url = '{base}'
         sourcegraph_url = '{base}'
         browser = '{browser}'
         [providers.studio]
         wire = 'openai-chat'
         base_url = '{studio}'
         key_env = 'STUDIO_KEY'
        ",
        port = site.port,
        // Without a browser, the only call is refused before a browser is started.
        browser = testkit::chromium().unwrap_or("/bin/sh".into()).display(),
    );
    std::fs::write(&config, text).unwrap();
    hew.env("HEW_CONFIG", config)
        .env("BRAVE_API_KEY", "brave-key")
        .env("STUDIO_KEY", "studio-key")
        .current_dir(project.root())
}

fn project() -> Project {
    Project::new(&[
        ("a.txt", "hello\n"),
        ("src/main.rs", "fn main() { helper(); }\nfn helper() {}\n"),
        ("broken.sh", "if then\n"),
        (
            ".hew/skills/release/SKILL.md",
            "---\nname: release\ndescription: How to release\n---\nRing the bell before a release.\n",
        ),
    ])
    .unwrap()
}

/// The project with files for the calls of other agents.
fn peer_project() -> Project {
    let project = project();
    let text = "one\ntwo\nthree\n";
    let notebook = r##"{"cells": [{"id": "c1", "cell_type": "markdown", "metadata": {}, "source": ["first cell"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"##;
    for (path, content) in [
        ("numbers.txt", text),
        ("e1.txt", text),
        ("e2.txt", text),
        ("e3.txt", text),
        ("e4.txt", text),
        ("e5.txt", text),
        ("same.txt", "same\nsame\n"),
        ("gone.txt", "gone\n"),
        ("fine.sh", "true\n"),
        (".gitignore", "ignored/\n"),
        ("ignored/secret.txt", "hidden gem\n"),
        ("nb.ipynb", notebook),
        ("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"),
    ] {
        let path = project.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    // The start of a PNG is enough to recognise it.
    std::fs::write(project.path("dot.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    project
}

/// A call of another agent's tool.
struct PeerCall {
    tool: String,
    input: Value,
    expected: String,
    /// Files after the call.
    files: BTreeMap<String, String>,
}

/// The calls of `data/peer_calls.jsonl`, by agent.
fn peer_calls(root: &str, site: &str) -> BTreeMap<String, Vec<PeerCall>> {
    let table = include_str!("data/peer_calls.jsonl");
    let name = root.rsplit('/').next().unwrap();
    let table = table
        .replace("{root}", root)
        .replace("{name}", name)
        .replace("{site}", site);
    let mut calls: BTreeMap<String, Vec<PeerCall>> = BTreeMap::new();
    for line in table.lines() {
        let row: Vec<Value> = serde_json::from_str(line).unwrap();
        let text = |at: usize| row[at].as_str().unwrap().to_owned();
        let files = row.get(4).cloned().unwrap_or(json!({}));
        calls.entry(text(0)).or_default().push(PeerCall {
            tool: text(1),
            input: row[2].clone(),
            expected: text(3),
            files: serde_json::from_value(files).unwrap(),
        });
    }
    calls
}

/// Runs the calls of one agent, in another form, and returns those that do not have their effect.
async fn wrong_peer_calls(site: &StubSite, agent: &str, form: fn(&Value) -> Value) -> Vec<String> {
    let project = peer_project();
    let root = project.root().canonicalize().unwrap();
    let calls = peer_calls(root.to_str().unwrap(), &site.url("")).remove(agent).unwrap();
    let named = calls
        .iter()
        .map(|call| (call.tool.clone(), form(&call.input)))
        .collect();
    let (output, results) = play(configured(site, &project), named).await;
    let mut wrong = Vec::new();
    for (nth, call) in calls.iter().enumerate() {
        let result: Value = results
            .get(nth)
            .map(|text| serde_json::from_str(text).unwrap())
            .unwrap_or_default();
        let parts = result["parts"].as_array().into_iter().flatten();
        let parts = parts.map(|part| part["text"].as_str().or(part["name"].as_str()).unwrap_or_default());
        let text = parts.collect::<Vec<_>>().join("\n");
        let (is_unknown, expected) = match call.expected.strip_prefix("no tool: ") {
            Some(expected) => (true, expected),
            None => (false, call.expected.as_str()),
        };
        let is_right = text.contains(expected)
            && text.contains("There is no tool") == is_unknown
            && text.contains("invalid input") == expected.contains("invalid input");
        let files = call.files.iter().filter(|(path, content)| {
            std::fs::read_to_string(project.path(path)).ok().as_ref() != Some(*content) && !path.starts_with("copy")
        });
        let files: Vec<&String> = files.map(|(path, _)| path).collect();
        if !is_right || !files.is_empty() {
            wrong.push(format!(
                "{agent}: {} {}\n  expected `{expected}` {files:?}\n  got {text}",
                call.tool, call.input
            ));
        }
    }
    if results.len() < calls.len() {
        wrong.push(format!(
            "{agent}: {} of {} calls ran: {}",
            results.len(),
            calls.len(),
            output.stderr
        ));
    }
    wrong
}

async fn play(hew: Hew, calls: Vec<(String, Value)>) -> (Output, Vec<String>) {
    let script = Script::dynamic(move |seen| {
        let first = format!("{:?}", seen.messages.first());
        if first.contains("child: ") {
            return Turn::text("child answer");
        }
        match calls.get(seen.results().count()) {
            Some((name, input)) => Turn::calls(name, input.clone()),
            None => Turn::text("Done."),
        }
    });
    let server = Server::start(script).await.unwrap();
    let output = hew
        .with_server(&server)
        .args(["run", "--json", "-m", MODEL, "go"])
        .run()
        .await
        .unwrap();
    let results = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["type"] == "item.finished" && event["item"]["call"].is_string())
        .map(|event| event["item"].to_string())
        .collect();
    (output, results)
}

#[tokio::test]
async fn every_tool_returns_its_result_in_the_loop() {
    let (site, project) = (site().await, project());
    let table = calls(&site);
    let plain = table
        .iter()
        .map(|(name, input, _)| (name.to_string(), input.clone()))
        .collect();
    let (output, results) = play(configured(&site, &project), plain).await;
    let wrong: Vec<String> = table
        .iter()
        .zip(&results)
        .filter(|((_, _, expected), result)| {
            !result.contains(expected) || result.contains("There is no tool") || result.contains("invalid input")
        })
        .map(|((name, input, expected), result)| format!("{name} {input}: not `{expected}`: {result}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(results.len(), table.len(), "{}", output.stderr);
    assert_eq!(std::fs::read(project.path("got/blob.bin")).unwrap(), [0, 159, 146, 150]);
    assert!(std::fs::read(project.path("cat.png")).unwrap().starts_with(b"\x89PNG"));
}

#[tokio::test]
async fn every_alias_resolves_in_the_loop() {
    let (site, project) = (site().await, project());
    let listed = configured(&site, &project)
        .args(["tools", "--json", "-m", MODEL])
        .run()
        .await
        .unwrap();
    let tools: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    let table = calls(&site);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(
            table.iter().any(|(tried, ..)| *tried == name),
            "{name} is not tried above"
        );
    }
    let aliases: Vec<(String, Value)> = tools
        .iter()
        .flat_map(|tool| tool["aliases"].as_array().unwrap())
        .map(|alias| (alias.as_str().unwrap().to_owned(), json!({})))
        .collect();
    assert!(aliases.len() > 100, "{}", aliases.len());
    let count = aliases.len();
    let (output, results) = play(configured(&site, &project), aliases).await;
    for result in &results {
        assert!(!result.contains("There is no tool"), "{result}");
    }
    assert_eq!(
        results.len(),
        count,
        "{}{}",
        output.stderr,
        output.stdout.lines().last().unwrap_or_default()
    );
}

async fn check_peer_calls(form: fn(&Value) -> Value) {
    let site = site().await;
    let agents: Vec<String> = peer_calls("", "").into_keys().collect();
    let runs = agents.iter().map(|agent| wrong_peer_calls(&site, agent, form));
    let wrong: Vec<String> = futures::future::join_all(runs).await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn calls_of_other_agents_have_their_effect_or_name_the_tool_to_use() {
    check_peer_calls(Value::clone).await;
}

/// Numbers and truth values as text, lists and objects as JSON text, and absent arguments as null.
fn as_text(input: &Value) -> Value {
    fn scalars(value: &Value) -> Value {
        match value {
            Value::Bool(_) | Value::Number(_) => value.to_string().into(),
            Value::Array(items) => items.iter().map(scalars).collect(),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), scalars(value)))
                    .collect(),
            ),
            Value::Null | Value::String(_) => value.clone(),
        }
    }
    let Value::Object(fields) = input else {
        return input.clone();
    };
    let fields = fields.iter().map(|(name, value)| {
        let value = match scalars(value) {
            list @ (Value::Array(_) | Value::Object(_)) => list.to_string().into(),
            value => value,
        };
        (name.clone(), value)
    });
    let mut fields: serde_json::Map<String, Value> = fields.collect();
    for absent in [
        "path",
        "cwd",
        "limit",
        "offset",
        "timeout",
        "include",
        "replace_all",
        "description",
    ] {
        fields.entry(absent).or_insert(Value::Null);
    }
    fields.into()
}

#[tokio::test]
async fn calls_of_other_agents_may_have_text_for_other_values() {
    check_peer_calls(as_text).await;
}

#[test]
fn every_tool_name_of_other_agents_is_called() {
    let calls = peer_calls("", "");
    for agent in tool::PeerAgent::ALL {
        let called: BTreeSet<&str> = calls[agent.name()].iter().map(|call| call.tool.as_str()).collect();
        let declared: BTreeSet<&str> = toolbox::peer_tools(agent).into_iter().map(|(name, _)| name).collect();
        let missing: Vec<&&str> = declared.difference(&called).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", agent.name());
    }
}
