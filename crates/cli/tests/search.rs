//! Code search end to end: the commands, the tools and the mention.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use testkit::{Hew, Project, Script, Server, Turn, TurnOrder};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn project() -> Project {
    Project::new(&[
        (
            "src/cookies.rs",
            "/// Parses the cookie header of a request.\npub fn parse_cookie(header: &str) -> Vec<String> {\n    Vec::new()\n}\n",
        ),
        (
            "src/socket.rs",
            "/// Closes connections that were idle for too long.\npub fn close_idle(pool: &mut Pool) {\n    pool.retain(Connection::is_busy);\n}\n",
        ),
        ("tests/cookies.rs", "#[test]\nfn cookie_headers_are_parsed() {}\n"),
    ])
    .unwrap()
}

fn hew(project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().current_dir(project.root())
}

async fn found(hew: &Hew, args: &[&str]) -> Vec<Value> {
    let output = hew.clone().args(["search", "--json"]).args(args).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

#[tokio::test]
async fn search_finds_code_and_follows_changes() {
    let project = project();
    let hew = hew(&project);
    let results = found(&hew, &["where", "are idle connections closed"]).await;
    assert_eq!(results[0]["path"], "src/socket.rs");
    assert_eq!((&results[0]["start"], &results[0]["end"]), (&json!(1), &json!(4)));
    assert_eq!(results[0]["symbol"], "function close_idle");
    let results = found(&hew, &["--path", "tests", "cookie"]).await;
    assert!(
        results.iter().all(|result| result["path"] == "tests/cookies.rs"),
        "{results:?}"
    );
    std::fs::write(
        project.root().join("src/socket.rs"),
        "/// Draws a triangle.\nfn draw() {}\n",
    )
    .unwrap();
    let results = found(&hew, &["-n", "1", "draw a triangle"]).await;
    assert_eq!((results.len(), &results[0]["path"]), (1, &json!("src/socket.rs")));
    let text = hew.clone().args(["search", "parse_cookie"]).run().await.unwrap().stdout;
    assert!(
        text.starts_with("src/cookies.rs#L1-4 function parse_cookie ["),
        "{text}"
    );
    let missing = hew
        .clone()
        .args(["search", "--path", "nowhere", "x"])
        .run()
        .await
        .unwrap();
    assert_eq!(
        (missing.code(), missing.stderr.contains("there is no nowhere")),
        (Some(2), true),
        "{}",
        missing.stderr
    );
}

#[tokio::test]
async fn the_index_is_shown_built_and_deleted() {
    let project = project();
    let hew = hew(&project);
    let run = async |args: &[&str]| {
        let output = hew.clone().args(["index"]).args(args).run().await.unwrap();
        assert_eq!(output.code(), Some(0), "{}", output.stderr);
        output.stdout
    };
    assert!(run(&[]).await.starts_with("no index yet"));
    assert!(run(&["build"]).await.starts_with("3 files, 10 lines, 3 chunks\n"));
    let status: Value = serde_json::from_str(&run(&["status", "--json"]).await).unwrap();
    assert_eq!((&status["files"], &status["damaged"]), (&json!(3), &json!(false)));
    let doctor = hew.clone().args(["doctor", "--offline"]).run().await.unwrap();
    assert!(doctor.stdout.contains("3 files, 10 lines"), "{}", doctor.stdout);
    run(&["clear"]).await;
    assert!(run(&["status"]).await.starts_with("no index yet"));
}

#[tokio::test]
async fn the_tools_answer_and_are_listed_once_the_project_has_an_index() {
    let project = project();
    let hew = hew(&project);
    let listed = async || {
        let tools = hew.clone().args(["tools", "--json"]).run().await.unwrap();
        let tools: Vec<Value> = serde_json::from_str(&tools.stdout).unwrap();
        let tool = tools
            .into_iter()
            .find(|tool| tool["name"] == "codebase_search")
            .unwrap();
        tool["listed"] == true
    };
    assert!(!listed().await);
    let call = async |name: &str, input: Value| {
        let input = input.to_string();
        let output = hew
            .clone()
            .args(["tools", "run", name, "-y", "--input", &input])
            .run()
            .await
            .unwrap();
        assert_eq!(output.code(), Some(0), "{}", output.stderr);
        output.stdout
    };
    let text = call(
        "codebase_search",
        json!({"query": "parse the cookie header", "kind": "code"}),
    )
    .await;
    assert!(text.starts_with("src/cookies.rs#L1-4 function parse_cookie"), "{text}");
    assert!(!text.contains("tests/cookies.rs"), "{text}");
    let text = call("semantic_search", json!({"query": "idle connections", "path": "src"})).await;
    assert!(text.starts_with("src/socket.rs#L1-4"), "{text}");
    let map = call("repo_map", json!({"words": "cookies", "tokens": 500})).await;
    assert!(map.contains("src/cookies.rs\n  2-4 "), "{map}");
    assert!(listed().await);
}

#[tokio::test]
async fn a_mention_includes_what_is_found() {
    let server = Server::start(Script::new().order(TurnOrder::Sequence).turn(Turn::text("Seen.")))
        .await
        .unwrap();
    let project = project();
    let hew = hew(&project).with_server(&server).env("HEW_TITLE", "false");
    let run = hew
        .clone()
        .args(["run", "-m", MODEL, "explain this: @codebase closing idle connections"])
        .run()
        .await
        .unwrap();
    assert_eq!(run.code(), Some(0), "{}", run.stderr);
    let sent = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(sent.contains("src/socket.rs#L1-4"), "{sent}");
    let search = hew
        .clone()
        .args(["sessions", "search", "--json", "idle connections"])
        .run()
        .await
        .unwrap();
    let sessions: Vec<Value> = serde_json::from_str(&search.stdout).unwrap();
    assert_eq!(sessions.len(), 1, "{}", search.stderr);
}
