//! Replay, through the real binary: the requests of stored sessions are built again with the bytes that were sent.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use testkit::{Hew, Project, Script, Server, Turn, TurnOrder};

/// A task with reads, edits, a command and todos.
fn task(steps: usize) -> Script {
    let call = |step: usize| match step % 7 {
        2 => Turn::text("On.").call(
            "edit_file",
            json!({"path": "a.txt", "old_text": format!("line {step}\n"), "new_text": format!("changed {step}\n")}),
        ),
        4 => Turn::text("On.").call("terminal", json!({"command": format!("echo {step} >> log.txt")})),
        _ => Turn::text("On.")
            .thinking("Which file?")
            .call("read_file", json!({"path": "a.txt", "offset": step + 1})),
    };
    Script::new()
        .order(TurnOrder::Sequence)
        .turns((0..steps).map(call))
        .turn(Turn::text("All done."))
        .turn(Turn::text("Done again."))
}

fn project() -> Project {
    let text: String = (0..60).map(|line| format!("line {line}\n")).collect();
    Project::new(&[("a.txt", &text), ("AGENTS.md", "Always be brief.\n")]).unwrap()
}

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root())
}

async fn run(hew: &Hew, arguments: &[&str]) {
    let run = hew
        .clone()
        .args(arguments)
        .args(["--permission", "full"])
        .run()
        .await
        .unwrap();
    assert!(run.is_success(), "{}{}", run.stdout, run.stderr);
}

async fn replay(hew: &Hew, arguments: &[&str]) -> Value {
    let out = hew
        .clone()
        .args(["replay", "--json"])
        .args(arguments)
        .run()
        .await
        .unwrap();
    serde_json::from_str(&out.stdout).unwrap_or_else(|_| panic!("{}{}", out.stdout, out.stderr))
}

fn list<'a>(replayed: &'a Value, purpose: &str) -> Vec<&'a Value> {
    let all = replayed["requests"].as_array().unwrap().iter();
    all.filter(|request| request["purpose"] == purpose).collect()
}

#[tokio::test]
async fn every_request_is_rebuilt_with_the_bytes_that_were_sent_on_every_wire() {
    for model in [
        "anthropic/claude-sonnet-4-5",
        "openai/gpt-5.5",
        "gemini/gemini-2.5-flash",
        "openai/gpt-4o",
    ] {
        let (server, project) = (Server::start(task(15)).await.unwrap(), project());
        let hew = hew(&server, &project);
        run(&hew, &["run", "-m", model, "work on it"]).await;
        run(&hew, &["resume", "last", "and now again"]).await;
        let replayed = replay(&hew, &["last"]).await;
        let requests = replayed["requests"].as_array().unwrap();
        assert!(requests.len() >= 17, "{model}: {}", requests.len());
        for request in requests {
            assert_eq!(request["result"], "identical", "{model}: {request:#}");
        }
        assert_eq!(list(&replayed, "turn").len(), 17, "{model}");
        assert!(replayed["steps"].as_u64().unwrap() >= 4, "{replayed:#}");
        assert_eq!(replayed["conflicts"], json!([]), "{model}");
        let text = hew.clone().args(["replay", "last"]).run().await.unwrap();
        assert!(
            text.is_success() && text.stdout.contains("0 different"),
            "{}",
            text.stdout
        );
    }
}

#[tokio::test]
async fn a_change_is_located_and_has_the_tokens_of_a_live_run() {
    let (server, project) = (Server::start(task(9)).await.unwrap(), project());
    let hew = hew(&server, &project).env("HEW_TITLE", "false");
    let start = ["run", "-m", "anthropic/claude-sonnet-4-5", "work on it"];
    run(&hew, &start).await;
    let before = project.root().join("rules.hbs");
    std::fs::write(&before, "Work twice as carefully as usual, and {{> original}}\n").unwrap();
    let template = format!("rules={}", before.display());
    let changed = replay(&hew, &["last", "--template", &template]).await;
    for request in list(&changed, "turn") {
        assert_eq!(request["changed"]["section"], "system/rules", "{request:#}");
        assert!(
            request["changed"]["tokens"].as_u64() > request["tokens"].as_u64(),
            "{request:#}"
        );
        assert!(request["changed"]["byte"].as_u64().unwrap() > 0);
    }
    assert!(changed["total"]["changed_cost_usd"].as_f64() > changed["total"]["cost_usd"].as_f64());
    // The same change in a live run.
    let templates = hew.home().join(".config/hew/templates");
    std::fs::create_dir_all(&templates).unwrap();
    std::fs::copy(&before, templates.join("rules.hbs")).unwrap();
    let text: String = (0..60).map(|line| format!("line {line}\n")).collect();
    project.write("a.txt", &text).unwrap();
    std::fs::remove_file(project.root().join("log.txt")).unwrap();
    std::fs::remove_file(&before).unwrap();
    let server = Server::start(task(9)).await.unwrap();
    let live = hew.clone().with_server(&server);
    run(&live, &start).await;
    let live = replay(&live, &["last"]).await;
    let tokens = |replayed: &Value, field: fn(&Value) -> Value| -> Vec<Value> {
        list(replayed, "turn").into_iter().map(field).collect()
    };
    assert_eq!(
        tokens(&changed, |request| request["changed"]["tokens"].clone()),
        tokens(&live, |request| request["tokens"].clone())
    );
    for request in list(&live, "turn") {
        assert_eq!(request["result"], "identical", "{request:#}");
    }
}

#[tokio::test]
async fn tools_rules_and_models_can_be_changed() {
    let (server, project) = (Server::start(task(3)).await.unwrap(), project());
    let hew = hew(&server, &project).env("HEW_TITLE", "false");
    run(&hew, &["run", "-m", "anthropic/claude-sonnet-4-5", "work on it"]).await;
    let without = replay(&hew, &["--without", "terminal"]).await;
    let rule = replay(&hew, &["--rule", "AGENTS.md"]).await;
    let model = replay(&hew, &["--with-model", "openai/gpt-5.5"]).await;
    let first = |replayed: &Value| list(replayed, "turn")[0].clone();
    let (without, rule, model) = (first(&without), first(&rule), first(&model));
    assert_eq!(without["changed"]["section"], "tools/todo", "{without:#}");
    assert!(without["changed"]["tokens"].as_u64() < without["tokens"].as_u64());
    assert_eq!(rule["changed"]["section"], "system/instructions", "{rule:#}");
    assert!(rule["changed"]["tokens"].as_u64() > rule["tokens"].as_u64());
    assert!(!model["changed"]["section"].is_null(), "{model:#}");
    assert_ne!(model["changed"]["cost_usd"], model["cost_usd"]);
}

#[tokio::test]
async fn recorded_streams_decode_to_the_stored_replies() {
    for model in [
        "anthropic/claude-sonnet-4-5",
        "openai/gpt-5.5",
        "gemini/gemini-2.5-flash",
    ] {
        let (server, project) = (Server::start(task(4)).await.unwrap(), project());
        let hew = hew(&server, &project)
            .env("HEW_TITLE", "false")
            .env("HEW_RECORD", "true");
        run(&hew, &["run", "-m", model, "work on it"]).await;
        let replayed = replay(&hew, &["last"]).await;
        for request in list(&replayed, "turn") {
            assert_eq!(request["stream_identical"], true, "{model}: {request:#}");
        }
        let played = hew.clone().args(["replay", "last:5", "--stream"]).run().await.unwrap();
        assert_eq!(played.stdout, "All done.\n", "{model}: {}", played.stderr);
    }
}

#[tokio::test]
async fn a_damaged_record_is_reported_with_its_section() {
    let (server, project) = (Server::start(task(3)).await.unwrap(), project());
    let hew = hew(&server, &project).env("HEW_TITLE", "false");
    run(&hew, &["run", "-m", "anthropic/claude-sonnet-4-5", "work on it"]).await;
    let database = rusqlite::Connection::open(hew.home().join(".local/share/hew/hew.db")).unwrap();
    let done = database
        .execute(
            "UPDATE items SET body = replace(body, 'line 2', 'line X') WHERE kind = 'result'",
            [],
        )
        .unwrap();
    assert!(done > 0);
    let out = hew.clone().args(["replay", "--json"]).run().await.unwrap();
    assert_eq!(out.code(), Some(1), "{}", out.stderr);
    let replayed: Value = serde_json::from_str(&out.stdout).unwrap();
    let results: Vec<&str> = list(&replayed, "turn")
        .iter()
        .map(|it| it["result"].as_str().unwrap())
        .collect();
    assert_eq!(results[0], "identical");
    assert!(results.contains(&"differs"), "{results:?}");
}

/// Replays the newest session and checks that every request is identical. Returns how many have each purpose.
async fn check_identical(hew: &Hew) -> std::collections::BTreeMap<String, usize> {
    let replayed = replay(hew, &["last"]).await;
    let mut purposes = std::collections::BTreeMap::new();
    for request in replayed["requests"].as_array().unwrap() {
        assert_eq!(request["result"], "identical", "{request:#}");
        *purposes
            .entry(request["purpose"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    purposes
}

#[tokio::test]
async fn subtasks_replay_too() {
    let script = Script::dynamic(
        |seen| match (seen.system.contains("# Subtask"), seen.results().count()) {
            (true, 0) => Turn::text("Looking.").call("read_file", json!({"path": "a.txt"})),
            (true, _) => Turn::text("It says hello."),
            (false, 0) => Turn::text("On.").call("new_task", json!({"title": "read it", "prompt": "read a.txt"})),
            (false, _) => Turn::text("The helper says: hello."),
        },
    );
    let (server, project) = (Server::start(script).await.unwrap(), project());
    let hew = hew(&server, &project).env("HEW_TITLE", "false");
    run(&hew, &["run", "-m", "anthropic/claude-sonnet-4-6", "go"]).await;
    assert_eq!(check_identical(&hew).await["turn"], 4);
}

#[tokio::test]
async fn a_summarised_conversation_replays_too() {
    let read = |number: usize| {
        Turn::text(format!("Step {number}.")).call("read_file", json!({"path": format!("{number}.txt")}))
    };
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turns((1..4).map(read))
        .turn(Turn::text("## Task\nRead all files. 1 and 2 are read."))
        .turn(Turn::text("All read."));
    let server = Server::start(script).await.unwrap();
    let text = "All work and no play makes a dull file.\n".repeat(500);
    let project = Project::new(&[("1.txt", &text), ("2.txt", &text), ("3.txt", &text)]).unwrap();
    let model = "anthropic/claude-sonnet-4-6";
    let window = format!("models.\"{model}\".window=20000");
    let hew = hew(&server, &project).env("HEW_TITLE", "false");
    run(
        &hew,
        &[
            "run",
            "-m",
            model,
            "--set",
            &window,
            "--small-model",
            model,
            "read all files",
        ],
    )
    .await;
    let purposes = check_identical(&hew).await;
    assert_eq!((purposes["turn"], purposes["summary"]), (4, 1));
}
