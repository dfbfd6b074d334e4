//! A session of a terminal that is continued over HTTP, without preparation.

use super::client::Served;
use super::{ASK, edit};
use serde_json::json;
use testkit::{Script, Tmux, Turn, TurnOrder};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_a_terminal_is_continued_over_http() {
    if !Tmux::is_installed() {
        return;
    }
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("Said in the terminal."))
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("hello", "goodbye"))
        .turn(Turn::text("Changed from elsewhere."))
        .turn(Turn::text("After the terminal."));
    let served = Served::start(script, &[("a.txt", "hello\n")], ASK).await;
    let tmux = Tmux::start(&served.base, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("first").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Said in the terminal.").await.unwrap();

    let sessions = served.get("/sessions").await;
    assert_eq!(sessions[0]["state"], "elsewhere", "{sessions}");
    let session = sessions[0]["id"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/sessions/{session}/{rest}");
    let mut events = served.events(&session, None).await;
    events.until("live").await;
    served.post(&path("prompts"), json!({"text": "second, by HTTP"})).await;
    let question = events.until("question").await;
    // Both front ends show it, and one answer is enough.
    tmux.wait_for_text("second, by HTTP").await.unwrap();
    let answer = json!({"question": question["id"], "answer": {"type": "approve"}});
    served.post(&path("answers"), answer).await;
    events.until("turn.finished").await;
    tmux.wait_for_text("Changed from elsewhere.").await.unwrap();
    assert_eq!(served.project.read("a.txt").unwrap(), "goodbye\n");

    // The terminal ends, and the server continues from the log.
    let cursor = served.get(&format!("/sessions/{session}")).await["cursor"].clone();
    let pid = std::fs::read_to_string(served.base.pid_file()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    while events.next().await.is_some() {}
    let mut events = served.events(&session, cursor.as_str()).await;
    assert_eq!(events.until("live").await["state"], "stored");
    served.post(&path("prompts"), json!({"text": "third"})).await;
    assert_eq!(events.until("turn.finished").await["answer"], "After the terminal.");
    let detail = served.get(&format!("/sessions/{session}")).await;
    let prompts = detail["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["kind"] == "prompt")
        .count();
    assert_eq!(prompts, 3, "{detail}");
}
