//! Every tool that hew offers answers a scripted model through the real loop, by its own name and by each of its others.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use testkit::{Hew, Output, Project, Script, Server, SiteRequest, SiteResponse, StubSite, Turn, page};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A call of each tool, and something that its answer must say. One needs what those before it did.
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
        // The rules allow one host, and this is another.
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
            "child says hi",
        ),
        (
            "search_agent",
            json!({"query": "child: where is main?"}),
            "child says hi",
        ),
        ("switch_mode", json!({"mode": "plan", "reason": "to plan"}), "plan"),
        ("attempt_completion", json!({"result": "All tried."}), "All tried."),
    ]
}

/// One server in the places of the web, a search service, a host of code and a painter, each in its own words.
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

/// hew with everything configured that a tool may need, in a project with a skill.
fn equipped(site: &StubSite, project: &Project) -> Hew {
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let config = hew.home().join("config.toml");
    let (base, studio) = (site.url(""), site.url("/v1"));
    let text = format!(
        "image_model = 'studio/gpt-image-1'
         title = false
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
        // Without a browser nothing is started: the one call that is left is refused before.
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

async fn play(hew: Hew, calls: Vec<(String, Value)>) -> (Output, Vec<String>) {
    let script = Script::dynamic(move |seen| {
        let first = format!("{:?}", seen.messages.first());
        if first.contains("child: ") {
            return Turn::text("child says hi");
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
async fn every_tool_answers_in_the_loop() {
    let (site, project) = (site().await, project());
    let table = calls(&site);
    let plain = table
        .iter()
        .map(|(name, input, _)| (name.to_string(), input.clone()))
        .collect();
    let (output, results) = play(equipped(&site, &project), plain).await;
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
async fn every_other_name_is_known_in_the_loop() {
    let (site, project) = (site().await, project());
    let listed = equipped(&site, &project)
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
    let (output, results) = play(equipped(&site, &project), aliases).await;
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
