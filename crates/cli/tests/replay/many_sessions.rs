//! Many sessions of all kinds on all wires replay with identical requests.

use super::{hew, project, replay, task};
use serde_json::{Value, json};
use testkit::{Hew, ParsedRequest, Project, Script, Server, Turn, TurnOrder};

const MODELS: [&str; 4] = [
    "anthropic/claude-sonnet-4-6",
    "openai/gpt-5.5",
    "gemini/gemini-2.5-flash",
    "openai/gpt-4o",
];

/// The number of sessions. `HEW_REPLAY_SESSIONS=500` at run time makes more.
fn count() -> usize {
    let count = std::env::var("HEW_REPLAY_SESSIONS").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(20)
}

/// What happens in a session.
#[derive(Clone, Copy, Debug)]
enum SessionKind {
    Work,
    Compaction,
    Subtask,
    Kill,
    Panels,
}

const KINDS: [SessionKind; 5] = [
    SessionKind::Work,
    SessionKind::Compaction,
    SessionKind::Subtask,
    SessionKind::Kill,
    SessionKind::Panels,
];

fn script(kind: SessionKind, number: usize) -> Script {
    match kind {
        SessionKind::Work => task(3 + number % 9),
        SessionKind::Compaction => {
            let read =
                |n: usize| Turn::text(format!("Step {n}.")).call("read_file", json!({"path": format!("{n}.txt")}));
            Script::new()
                .order(TurnOrder::Sequence)
                .turns((1..4).map(read))
                .turn(Turn::text("## Task\nRead all files. 1 and 2 are read."))
                .turn(Turn::text("All read."))
        }
        SessionKind::Subtask => {
            Script::dynamic(
                |seen| match (seen.system.contains("# Subtask"), seen.results().count()) {
                    (true, 0) => Turn::text("Looking.").call("read_file", json!({"path": "a.txt"})),
                    (true, _) => Turn::text("It has lines."),
                    (false, 0) => Turn::text("On.").call("new_task", json!({"title": "read", "prompt": "read a.txt"})),
                    (false, _) => Turn::text("The helper has read it."),
                },
            )
        }
        SessionKind::Kill => Script::dynamic(|seen: &ParsedRequest| match seen.calls().count() {
            done @ 0..6 => Turn::text("On.").call(
                "terminal",
                json!({"command": format!("echo {done} >> log.txt; sleep 0.02")}),
            ),
            _ => Turn::text("Done."),
        }),
        SessionKind::Panels => Script::dynamic(|seen: &ParsedRequest| {
            let calls = [
                ("panel", json!({"open": ["tree", "file:a.txt"]})),
                (
                    "edit_file",
                    json!({"path": "a.txt", "old_text": "line 7\n", "new_text": "changed\n"}),
                ),
                ("write_file", json!({"path": "new.txt", "content": "new\n"})),
            ];
            // Panels are calls, too, on some wires.
            let next = calls
                .into_iter()
                .find(|(name, _)| seen.calls().all(|call| call.name != *name));
            next.map_or_else(
                || Turn::text("Done."),
                |(name, input)| Turn::text("On.").call(name, input),
            )
        }),
    }
}

async fn make(kind: SessionKind, hew: &Hew, server: &Server, model: &str) {
    let window = format!("models.\"{model}\".window=20000");
    let mut arguments = vec!["run", "-m", model, "--permission", "full", "work on it"];
    if let SessionKind::Compaction = kind {
        arguments.extend(["--set", window.as_str(), "--small-model", model]);
    }
    if let SessionKind::Kill = kind {
        let running = hew.clone().args(&arguments).spawn().unwrap();
        server.wait_until(|requests| requests.len() >= 3).await;
        running.kill().unwrap();
        drop(running.wait().await);
        arguments = vec!["resume", "last", "--permission", "full", "continue"];
    }
    let out = hew.clone().args(&arguments).run().await.unwrap();
    assert!(out.is_success(), "{kind:?} {model}: {}{}", out.stdout, out.stderr);
}

#[tokio::test]
async fn sessions_of_all_kinds_replay_on_all_wires() {
    let text = "All work and no play makes a dull file.\n".repeat(500);
    let mut requests = 0;
    for number in 0..count() {
        let (kind, model) = (KINDS[number % KINDS.len()], MODELS[number / KINDS.len() % MODELS.len()]);
        let server = Server::start(script(kind, number)).await.unwrap();
        let project: Project = project();
        for name in ["1.txt", "2.txt", "3.txt"] {
            project.write(name, &text).unwrap();
        }
        let hew = hew(&server, &project).env("HEW_TITLE", "false");
        make(kind, &hew, &server, model).await;
        let replayed = replay(&hew, &["last"]).await;
        let all = replayed["requests"].as_array().unwrap();
        requests += all.len();
        let is_killed = |request: &Value| matches!(kind, SessionKind::Kill) && request["result"] == "unverified";
        for request in all.iter().filter(|request| !is_killed(request)) {
            assert_eq!(request["result"], "identical", "{kind:?} {model}: {request:#}");
        }
        assert_eq!(replayed["conflicts"], json!([]), "{kind:?} {model}");
        let purposes: Vec<&Value> = all.iter().map(|request| &request["purpose"]).collect();
        if let SessionKind::Compaction = kind {
            assert!(
                purposes.iter().any(|purpose| **purpose == "summary"),
                "{model}: {purposes:?}"
            );
        }
        let identical = all.iter().filter(|request| request["result"] == "identical").count();
        assert!(identical >= 3, "{kind:?} {model}: {replayed:#}");
    }
    println!("{} sessions, {requests} requests", count());
}
