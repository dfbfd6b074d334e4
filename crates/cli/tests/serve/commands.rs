//! Slash commands, the list of sessions and the search.

use super::client::Served;
use super::edit;
use serde_json::{Value, json};
use testkit::{ParsedRequest, Script, Turn, TurnOrder};

fn names(rows: &Value) -> Vec<&str> {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn slash_commands_can_be_sent_as_prompts() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("one", "two"))
        .turn(Turn::text("Done."));
    let own = (".hew/commands/redo.md", "Do it again.\n");
    let served = Served::start(script, &[("a.txt", "one\n"), own], "").await;
    let session = served.session().await;
    let path = |rest: &str| format!("/sessions/{session}{rest}");
    let mut events = served.events(&session, None).await;
    served.post(&path("/prompts"), json!({"text": "change it"})).await;
    events.until("turn.finished").await;
    assert_eq!(served.project.read("a.txt").unwrap(), "two\n");

    let listed = served.get(&path("/commands")).await;
    for name in ["undo", "compact", "model", "mode", "effort", "rename", "init", "doctor"] {
        assert!(names(&listed).contains(&name), "{name}: {listed}");
    }
    // A view of the terminal is not a prompt.
    assert!(!names(&listed).contains(&"jobs"), "{listed}");
    let run = async |text: &str| {
        let path = format!("/api/v1/sessions/{session}/prompts");
        let response = served.request("POST", &path, Some(&json!({"text": text}))).await;
        (response.status, response.json())
    };
    let (status, report) = run("/undo").await;
    assert_eq!(status, 200, "{report}");
    assert!(report["message"].as_str().unwrap().contains("change it"), "{report}");
    assert_eq!(served.project.read("a.txt").unwrap(), "one\n");
    assert_eq!(run("/title Another name").await.0, 200);
    assert_eq!(served.get(&path("")).await["session"]["title"], "Another name");
    assert_eq!(run("/effort low").await.0, 200);
    assert_eq!(served.get(&path("/settings")).await["effort"], "low");
    assert_eq!(served.get(&path("/settings")).await["edit_approval"], "allow");
    served
        .request(
            "PATCH",
            &format!("/api/v1{}", path("/settings")),
            Some(&json!({"edit_approval": "ask"})),
        )
        .await;
    assert_eq!(served.get(&path("/settings")).await["edit_approval"], "ask");
    for invalid in ["/jobs", "/model", "/model nothing/here", "/mode nothing", "/rename"] {
        let (status, report) = run(invalid).await;
        assert_eq!(status, 400, "{invalid}: {report}");
    }
    let (_, report) = run("/doctor").await;
    assert!(report["message"].as_str().unwrap().contains("anthropic"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_subtask_is_steered_and_stopped() {
    let script = Script::dynamic(|seen: &ParsedRequest| {
        let is_child = seen.system.contains("# Subtask");
        match (is_child, seen.results().count()) {
            (true, 0) => Turn::calls("terminal", json!({"command": "sleep 600"})),
            (true, _) => Turn::text("never"),
            (false, 0) => Turn::calls("new_task", json!({"title": "wait", "prompt": "wait"})),
            (false, _) => Turn::text("It was stopped."),
        }
    });
    let served = Served::start(script, &[], "").await;
    let session = served.session().await;
    let mut events = served.events(&session, None).await;
    let path = |rest: &str| format!("/sessions/{session}{rest}");
    served.post(&path("/prompts"), json!({"text": "go"})).await;
    let mut subtask = events.until("subtask").await;
    while subtask["event"]["type"] != "item.started" || subtask["event"]["kind"] != "result" {
        subtask = events.until("subtask").await;
    }
    let child = subtask["session"].as_str().unwrap();
    let steer = path(&format!("/subtasks/{child}/prompts"));
    served.post(&steer, json!({"text": "hurry"})).await;
    served
        .post(&path(&format!("/subtasks/{child}/interrupt")), json!({}))
        .await;
    assert_eq!(events.until("subtask.finished").await["session"], child);
    assert_eq!(events.until("turn.finished").await["answer"], "It was stopped.");
    // Its prompt contains the word too.
    let hits = served.get("/search?q=wait").await;
    let is_child = |hit: &Value| hit["session"] == child;
    assert!(!hits.as_array().unwrap().iter().any(is_child), "{hits}");
    let wrong = format!("/api/v1{}", path("/subtasks/x/interrupt"));
    assert_eq!(served.request("POST", &wrong, Some(&json!({}))).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewind_to_before_the_first_prompt_restores_the_files() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("one", "two"))
        .turn(Turn::text("Done."))
        .turn(Turn::text("Again."));
    let served = Served::start(script, &[("a.txt", "one\n")], "").await;
    let session = served.session().await;
    let path = |rest: &str| format!("/sessions/{session}{rest}");
    let mut events = served.events(&session, None).await;
    for text in ["change it", "and again"] {
        served.post(&path("/prompts"), json!({"text": text})).await;
        events.until("turn.finished").await;
    }
    let items = served.get(&path("")).await["items"].clone();
    let items = items.as_array().unwrap();
    let prompts: Vec<&Value> = items.iter().filter(|item| item["kind"] == "prompt").collect();
    let second = json!({"prompt": prompts[1]["id"], "parts": "conversation"});
    let report = served.post(&path("/rewind"), second).await;
    let before = items.iter().position(|item| item == prompts[1]).unwrap() - 1;
    assert_eq!(report["head"], items[before]["id"], "{report}");
    for parts in ["conversation", "both"] {
        let first = json!({"prompt": prompts[0]["id"], "parts": parts});
        let report = served.post(&path("/rewind"), first).await;
        assert_eq!(report.get("head"), None, "{report}");
    }
    assert_eq!(served.project.read("a.txt").unwrap(), "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_without_a_prompt_and_found_by_words_and_parts_of_words() {
    let script = Script::dynamic(|seen: &ParsedRequest| match seen.last_user_text().contains("lexer") {
        true => Turn::text("The tokenizer splits the source into words."),
        false => Turn::text("The greeting is polite now."),
    });
    let served = Served::start(script, &[], "").await;
    let mut sessions = Vec::new();
    for text in ["explain the lexer", "improve the greeting"] {
        let session = served.session().await;
        let mut events = served.events(&session, None).await;
        served
            .post(&format!("/sessions/{session}/prompts"), json!({"text": text}))
            .await;
        events.until("turn.finished").await;
        sessions.push(session);
    }
    let empty = served.session().await;
    let listed = served.get("/sessions").await;
    let listed: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert_eq!(listed, [&*empty, &*sessions[1], &*sessions[0]]);

    let search = async |words: &str| served.get(&format!("/search?q={words}")).await;
    for (words, found) in [("tokenizer", 0), ("kenize", 0), ("polite%20now", 1), ("greet", 1)] {
        let hits = search(words).await;
        assert_eq!(hits[0]["session"], sessions[found].as_str(), "{words}: {hits}");
    }
    let hit = search("tokenizer").await[0].clone();
    assert!(hit["excerpt"].as_str().unwrap().contains("tokenizer splits"), "{hit}");
    let items = served.get(&format!("/sessions/{}", sessions[0])).await["items"].clone();
    let reply = items.as_array().unwrap().iter().find(|item| item["kind"] == "reply");
    assert_eq!(hit["item"], reply.unwrap()["id"], "{hit}");
    assert_eq!(search("qqqxyz").await, json!([]));

    // A changed session is indexed again.
    let mut events = served.events(&sessions[1], None).await;
    events.until("live").await;
    served
        .post(
            &format!("/sessions/{}/prompts", sessions[1]),
            json!({"text": "what about umlauts?"}),
        )
        .await;
    events.until("turn.finished").await;
    assert_eq!(search("umlauts").await[0]["session"], sessions[1].as_str());

    // A deleted session is not found, and the others still are.
    let deleted = format!("/api/v1/sessions/{}", sessions[0]);
    assert_eq!(served.request("DELETE", &deleted, None).await.status, 200);
    assert_eq!(search("kenize").await, json!([]));
    assert_eq!(search("umlauts").await[0]["session"], sessions[1].as_str());
}
