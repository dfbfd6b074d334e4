//! Replay, through the real binary: the requests of stored sessions are built again with the bytes that were sent.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "replay/many_sessions.rs"]
mod many_sessions;

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
    let same_model = replay(&hew, &["-m", "openai/gpt-5.5"]).await;
    assert_eq!(list(&same_model, "turn"), list(&model, "turn"));
    // Nothing is sent.
    let keyless = hew.clone().env("OPENAI_API_KEY", "");
    let keyless = replay(&keyless, &["--with-model", "openai/gpt-5.5"]).await;
    assert_eq!(list(&keyless, "turn"), list(&model, "turn"));
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

fn seen(server: &Server) -> Vec<testkit::ParsedRequest> {
    let requests = server.main_requests();
    requests.iter().filter_map(|request| request.parsed()).collect()
}

/// A task that prints and repeats a secret.
fn leaking(secret: &str) -> Script {
    Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("On.").call("read_file", json!({"path": ".env.example"})))
        .turn(Turn::text("On.").call(
            "terminal",
            json!({"command": format!("echo \"{secret}\" > out.txt; cat out.txt")}),
        ))
        .turn(Turn::text(format!("The key is {secret}.")))
}

#[tokio::test]
async fn a_bundle_replays_elsewhere_without_secrets() {
    let (secret, quoted) = ("tok-31415926-535897", "pass\"27182818\\word");
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----";
    for model in [
        "anthropic/claude-sonnet-4-5",
        "openai/gpt-5.5",
        "gemini/gemini-2.5-flash",
        "openai/gpt-4o",
    ] {
        let server = Server::start(leaking(secret)).await.unwrap();
        let content = format!("SERVICE={secret}\nOTHER={quoted}\n{pem}\nother = sk-ant-1234567890abcdef\n");
        let project = Project::new(&[(".env.example", &content), ("a.txt", "hello\n")]).unwrap();
        let hew = hew(&server, &project)
            .env("MY_SERVICE_TOKEN", secret)
            .env("OTHER_PASSWORD", quoted)
            .env("HEW_RECORD", "true");
        run(&hew, &["run", "-m", model, "print the key"]).await;
        let file = project.root().join("report.hewbundle");
        let name = file.to_str().unwrap();
        let out = hew
            .clone()
            .args(["sessions", "export", "--bundle", "-o", name])
            .run()
            .await
            .unwrap();
        assert!(out.is_success(), "{model}: {}", out.stderr);
        let bytes = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        for part in [
            "31415926",
            "27182818",
            "MIIEpAIBAAKCAQEA7",
            "sk-ant-1234567890abcdef",
            "test-key",
        ] {
            assert!(!bytes.contains(part), "{model}: {part}");
        }
        // Another user, without the project.
        let other = Project::new(&[]).unwrap();
        let reader = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().current_dir(other.root());
        let copy = other.root().join("theirs.hewbundle");
        std::fs::copy(&file, &copy).unwrap();
        let replayed = replay(&reader, &[copy.to_str().unwrap()]).await;
        let requests = replayed["requests"].as_array().unwrap();
        assert!(requests.len() >= 3, "{model}: {replayed:#}");
        for request in requests {
            assert_eq!(request["result"], "identical", "{model}: {request:#}");
        }
        let change = replay(&reader, &[copy.to_str().unwrap(), "--without", "terminal"]).await;
        assert!(!list(&change, "turn")[0]["changed"]["section"].is_null(), "{change:#}");
    }
}

#[tokio::test]
async fn calls_run_again_in_a_copy_of_the_project_as_it_was() {
    let (server, project) = (Server::start(task(6)).await.unwrap(), project());
    let hew = hew(&server, &project).env("HEW_TITLE", "false");
    run(&hew, &["run", "-m", "anthropic/claude-sonnet-4-5", "work on it"]).await;
    let after = project.read("a.txt").unwrap();
    let replayed = replay(&hew, &["--run-tools", "--permission", "full"]).await;
    let runs = replayed["tool_runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6, "{replayed:#}");
    for one in runs {
        assert_eq!(one["result"], "same", "{one:#}");
        assert!(one["files"].is_null(), "{one:#}");
    }
    assert_eq!(project.read("a.txt").unwrap(), after, "the project is untouched");
    // Another tool answers differently now: the file that a command reads is not part of the session.
    let server = Server::start(
        Script::new()
            .order(TurnOrder::Sequence)
            .turn(Turn::text("On.").call("terminal", json!({"command": "cat b.txt"})))
            .turn(Turn::text("Done.")),
    )
    .await
    .unwrap();
    project.write("b.txt", "one\n").unwrap();
    let hew = hew.with_server(&server);
    run(&hew, &["run", "-m", "anthropic/claude-sonnet-4-5", "read b"]).await;
    project.write("b.txt", "two\n").unwrap();
    let replayed = replay(&hew, &["--run-tools", "--permission", "full"]).await;
    assert_eq!(replayed["tool_runs"][0]["result"], "differs", "{replayed:#}");
    let asked = replay(&hew, &["--run-tools", "--permission", "read-only"]).await;
    assert_eq!(asked["tool_runs"][0]["result"], "not_run", "{asked:#}");
}

#[tokio::test]
async fn the_model_answers_again_from_an_item_on() {
    let (server, project) = (Server::start(task(5)).await.unwrap(), project());
    let hew = hew(&server, &project).env("HEW_TITLE", "false");
    run(&hew, &["run", "-m", "anthropic/claude-sonnet-4-5", "work on it"]).await;
    let exported = |hew: &Hew| hew.clone().args(["sessions", "export", "--format", "json"]).run();
    let first: Value = serde_json::from_str(&exported(&hew).await.unwrap().stdout).unwrap();
    let (before, log) = (project.read("a.txt").unwrap(), project.read("log.txt").unwrap());
    // From the start, with a rule and without a tool.
    let again = Script::dynamic(|seen| match seen.results().count() {
        0 => Turn::text("On.").call("read_file", json!({"path": "a.txt", "limit": 3})),
        _ => Turn::text(format!("rule {}", seen.system.contains("Answer in rhymes"))),
    });
    let server = Server::start(again).await.unwrap();
    let live = hew.clone().with_server(&server);
    project.write("rule.md", "Answer in rhymes.\n").unwrap();
    let out = live
        .clone()
        .args([
            "replay",
            "--live",
            "--rule",
            "rule.md",
            "--without",
            "terminal",
            "--permission",
            "full",
        ])
        .run()
        .await
        .unwrap();
    assert!(out.is_success(), "{}{}", out.stdout, out.stderr);
    assert!(out.stdout.contains("rule true"), "{}{}", out.stdout, out.stderr);
    assert!(out.stderr.contains("before: 6 requests"), "{}", out.stderr);
    let requests = seen(&server);
    assert!(requests[0].offers("read_file") && !requests[0].offers("terminal"));
    let result = requests[1].results().next().map(|result| result.text.clone()).unwrap();
    assert!(
        result.contains("line 2"),
        "the copy has the files from before the session: {result}"
    );
    assert_eq!(
        (project.read("a.txt").unwrap(), project.read("log.txt").unwrap()),
        (before, log)
    );
    // From the reply after the first edit: the copy has that edit and nothing later.
    let replies: Vec<&Value> = first["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["kind"] == "reply")
        .collect();
    let from = replies[3]["id"].as_str().unwrap();
    let script = Script::dynamic(|seen| match seen.results().count() {
        3 => Turn::text("On.").call("terminal", json!({"command": "cat a.txt; ls"})),
        _ => Turn::text("Done."),
    });
    let server = Server::start(script).await.unwrap();
    let session = first["session"].as_str().unwrap();
    let live = hew.with_server(&server);
    let out = live
        .args(["replay", session, "--live", "--from", from, "--permission", "full"])
        .run()
        .await
        .unwrap();
    assert!(out.is_success(), "{}{}", out.stdout, out.stderr);
    let requests = seen(&server);
    let last = requests.last().unwrap().results().last().unwrap().text.clone();
    assert!(last.contains("changed 2") && !last.contains("log.txt"), "{last}");
}
