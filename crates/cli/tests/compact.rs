//! A conversation that grows too long is summarised and goes on: the real binary, a scripted model with a small window.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::json;
use testkit::{Hew, Project, Script, Server, Turn, TurnOrder};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const WINDOW: &str = "models.\"anthropic/claude-sonnet-4-6\".window=20000";

#[tokio::test]
async fn a_long_task_is_summarised_on_its_way_and_by_hand() {
    let read = |number: usize| {
        Turn::text(format!("Step {number}.")).call("read_file", json!({"path": format!("{number}.txt")}))
    };
    // The first notes are asked for by the conversation's own model once its window is nearly full.
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(read(1))
        .turn(read(2))
        .turn(read(3))
        .turn(Turn::text("## Task\nRead all files. 1 and 2 are read."))
        .turn(Turn::text("All read."))
        .turn(Turn::text("## Task\nNothing is left to do."));
    let server = Server::start(script).await.unwrap();
    let line = "All work and no play makes a dull file.\n";
    let text = line.repeat(20_000 / line.len());
    let project = Project::new(&[
        ("1.txt", text.as_str()),
        ("2.txt", text.as_str()),
        ("3.txt", text.as_str()),
    ])
    .unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root());
    let run = hew
        .clone()
        .args([
            "run",
            "-m",
            MODEL,
            "--set",
            WINDOW,
            "--small-model",
            MODEL,
            "read all files",
        ])
        .run()
        .await
        .unwrap();
    assert_eq!(run.stdout, "All read.\n", "{}", run.stderr);
    assert!(run.stderr.contains("summarised the conversation"), "{}", run.stderr);
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(
        last.contains("1 and 2 are read") && last.contains("read all files"),
        "{last}"
    );
    assert!(last.len() < 2 * text.len(), "{}", last.len());

    let shown = hew.clone().args(["sessions", "show", "--full"]).run().await.unwrap();
    assert!(
        shown.stdout.matches("Step 1.").count() == 1,
        "the log keeps everything: {}",
        shown.stdout
    );
    let compact = hew
        .clone()
        .args(["compact", "last", "be", "brief"])
        .run()
        .await
        .unwrap();
    assert_eq!(compact.code(), Some(0), "{}", compact.stderr);
    assert!(compact.stdout.contains("Nothing is left to do."), "{}", compact.stdout);
    let asked = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(asked.contains("be brief"), "{asked}");
}
