//! What a prompt mentions reaches the model behind the prompt: the real binary, a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use testkit::{Hew, Order, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

#[tokio::test]
async fn files_folders_lines_sessions_and_misses_are_looked_up_before_the_request() {
    let server = Server::start(
        Script::new()
            .order(Order::Sequence)
            .turn(Turn::text("First answer."))
            .turn(Turn::text("Seen.")),
    )
    .await
    .unwrap();
    let project = Project::new(&[
        ("a.txt", "alpha\nbeta\ngamma\n"),
        ("docs/guide.md", "# Guide\n"),
        ("secret.txt", "hidden words\n"),
    ])
    .unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .talks_to(&server)
        .env("HEW_TITLE", "false")
        .folder(project.root());
    let first = hew
        .clone()
        .args(["run", "-m", MODEL, "remember the word quokka"])
        .run()
        .await
        .unwrap();
    assert_eq!(first.code(), Some(0), "{}", first.stderr);
    let id = hew.clone().args(["sessions", "list", "--json"]).run().await.unwrap();
    let sessions: serde_json::Value = serde_json::from_str(&id.stdout).unwrap();
    let id = sessions[0]["id"].as_str().unwrap();

    let prompt =
        format!("compare @a.txt:2-3 with @docs/ and @docs/guide.md, @missing.txt and @thread:{id}; mail me@a.txt");
    let second = hew.clone().args(["run", "-m", MODEL, &prompt]).run().await.unwrap();
    assert_eq!(second.stdout, "Seen.\n", "{}", second.stderr);
    assert!(
        second.stderr.contains("not included: @missing.txt"),
        "{}",
        second.stderr
    );
    let body = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    for part in [
        "<context>",
        "a.txt#L2-3",
        "beta",
        "guide.md",
        "# Guide",
        "quokka",
        "</context>",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert!(!body.contains("hidden words"), "{body}");
    let order: Vec<usize> = ["<files>", "<directories>", "<selections>", "<threads>"]
        .iter()
        .map(|tag| body.find(tag).unwrap())
        .collect();
    assert!(order.is_sorted(), "{body}");
}
