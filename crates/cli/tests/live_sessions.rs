//! Several sessions in one window: a session continues while another one is shown.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::json;
use std::time::Duration;
use testkit::{Hew, Pace, ParsedRequest, Project, Script, Server, Tmux, Turn};

#[tokio::test]
async fn a_session_continues_while_another_one_is_shown_and_asks_for_attention() {
    if !Tmux::is_installed() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("other.txt");
    let target = path.display().to_string();
    let script = Script::dynamic(move |seen: &ParsedRequest| {
        let text = seen.last_user_text();
        match (text.contains("outside"), seen.calls().count()) {
            (true, 0) => {
                let words: String = (0..30).map(|number| format!("word{number} ")).collect();
                Turn::text(words)
                    .call("write_file", json!({"path": target, "content": "x\n"}))
                    .pace(Pace::with_delay(8, Duration::from_millis(40)))
            }
            (true, _) => Turn::text("The file is written."),
            (false, _) => Turn::text("A quick reply."),
        }
    });
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    let tmux = Tmux::start(&hew, 120, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("write outside the project").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word2").await.unwrap();

    // Another session is started while the first one works.
    tmux.write("/new").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("the other session continues in the background")
        .await
        .unwrap();
    tmux.write("something short").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("A quick reply.").await.unwrap();

    // The first one needs an answer: it is reported, listed, and can be answered after switching to it.
    tmux.wait_for_text("1 other session needs an answer · /sessions")
        .await
        .unwrap();
    assert!(!path.exists());
    tmux.press(&["C-d"]).unwrap();
    tmux.wait_for_text("press again to quit and interrupt the other sessions")
        .await
        .unwrap();
    tmux.write("/sessions").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("needs your answer").await.unwrap();
    tmux.write("outside").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Allow once").await.unwrap();
    tmux.write("/sessions").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("open · needs your answer").await.unwrap();
    tmux.press(&["Escape"]).unwrap();
    tmux.wait_for_text("Allow once").await.unwrap();
    tmux.write("y").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("The file is written.").await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "x\n");
    tmux.wait_until(|all| !all.contains("other session needs an answer"))
        .await
        .unwrap();

    // The second one was idle and was closed; it is opened again from the store.
    tmux.press(&["C-d"]).unwrap();
    tmux.wait_for_text("ended with 0").await.unwrap();
}
