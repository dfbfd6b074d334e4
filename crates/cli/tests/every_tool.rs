//! Every tool that hew offers answers a scripted model through the real loop, by its own name and by each of its others.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use testkit::{Hew, Output, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

/// A call of each tool, and something that its answer must say. One needs what those before it did.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
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
        ("ask_question", json!({"question": "Red or blue?"}), "nobody is there"),
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
        (
            "download",
            json!({"url": "http://127.0.0.1:9/x", "path": "x"}),
            "nobody is there",
        ),
        ("fetch", json!({"url": "http://127.0.0.1:9/"}), "nobody is there"),
        ("sourcegraph", json!({"query": "fn main"}), "nobody is there"),
        (
            "browser_action",
            json!({"action": "launch", "url": "http://127.0.0.1:9/"}),
            "nobody is there",
        ),
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
        ("watch", json!({"command": "true", "seconds": 3600}), "Watch 1 runs"),
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

async fn play(calls: Vec<(String, Value)>) -> (Output, Vec<String>) {
    let project = Project::new(&[
        ("a.txt", "hello\n"),
        ("src/main.rs", "fn main() { helper(); }\nfn helper() {}\n"),
        ("broken.sh", "if then\n"),
    ])
    .unwrap();
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
    let output = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .talks_to(&server)
        .env("HEW_TITLE", "false")
        .folder(project.root())
        // This one is kept from models that think by themselves.
        .args(["--set", "tools.enabled=[\"thinking\"]"])
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
    let table = calls();
    let plain = table
        .iter()
        .map(|(name, input, _)| (name.to_string(), input.clone()))
        .collect();
    let (output, results) = play(plain).await;
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
}

#[tokio::test]
async fn every_other_name_is_known_in_the_loop() {
    let listed = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .args(["tools", "--json"])
        .run()
        .await
        .unwrap();
    let tools: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    let table = calls();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let tried = table.iter().any(|(tried, ..)| *tried == name) || name == "skill";
        assert!(tried, "{name} is not tried above");
    }
    let aliases: Vec<(String, Value)> = tools
        .iter()
        .flat_map(|tool| tool["aliases"].as_array().unwrap())
        .map(|alias| (alias.as_str().unwrap().to_owned(), json!({})))
        .collect();
    assert!(aliases.len() > 100, "{}", aliases.len());
    let count = aliases.len();
    let (output, results) = play(aliases).await;
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
