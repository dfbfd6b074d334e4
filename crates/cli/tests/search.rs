//! Code search end to end: the commands, the tools and the mention.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{Hew, Project, Script, Server, SiteRequest, StubSite, Turn, TurnOrder, page};

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

async fn search(hew: &Hew, args: &[&str]) -> Vec<Value> {
    let output = hew.clone().args(["search", "--json"]).args(args).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

#[tokio::test]
async fn search_finds_code_and_follows_changes() {
    let project = project();
    let hew = hew(&project);
    let results = search(&hew, &["where", "are idle connections closed"]).await;
    assert_eq!(results[0]["path"], "src/socket.rs");
    assert_eq!((&results[0]["start"], &results[0]["end"]), (&json!(1), &json!(4)));
    assert_eq!(results[0]["symbol"], "function close_idle");
    let results = search(&hew, &["--path", "tests", "cookie"]).await;
    assert!(
        results.iter().all(|result| result["path"] == "tests/cookies.rs"),
        "{results:?}"
    );
    std::fs::write(
        project.root().join("src/socket.rs"),
        "/// Draws a triangle.\nfn draw() {}\n",
    )
    .unwrap();
    let results = search(&hew, &["-n", "1", "draw a triangle"]).await;
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
    let outside = hew.clone().args(["search", "--path", "/", "x"]).run().await.unwrap();
    assert_eq!(outside.code(), Some(2), "{}", outside.stderr);
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
    let both = json!({"query": "cookie headers", "target_directories": ["tests", "src/socket.rs"]});
    let text = call("codebase_search", both).await;
    assert!(text.starts_with("tests/cookies.rs#L1-2"), "{text}");
    assert!(!text.contains("src/cookies.rs"), "{text}");
    let text = call(
        "codebase_search",
        json!({"query": "cookies", "target_directories": "tests"}),
    )
    .await;
    assert!(text.contains("[1 file, best first]"), "{text}");
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

/// Vectors of some texts: close to the query if they contain `close_idle`.
fn vectors(texts: &[&str], dimensions: usize) -> Vec<Vec<f32>> {
    let vector = |text: &&str| {
        let is_close = text.contains("close_idle") || *text == QUESTION;
        let mut vector = vec![0.1; dimensions];
        vector[usize::from(!is_close)] = 1.0;
        vector
    };
    texts.iter().map(vector).collect()
}

const QUESTION: &str = "src";

/// A server with the three APIs for embeddings.
async fn embedding_site(dimensions: Arc<AtomicUsize>) -> StubSite {
    let answer = move |request: &SiteRequest| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let dimensions = dimensions.load(Ordering::Relaxed);
        let answer = match request.line.as_str() {
            "POST /v1/embeddings" => {
                let found = vectors(&texts(&body), dimensions).into_iter().enumerate();
                let entry = |(index, vector)| json!({"index": index, "embedding": vector});
                // The order of the entries is not that of the texts.
                json!({"data": found.map(entry).rev().collect::<Vec<Value>>()})
            }
            "POST /api/embed" => json!({"embeddings": vectors(&texts(&body), dimensions)}),
            "POST /v1beta/models/e:batchEmbedContents" => {
                let found = vectors(&texts(&body), dimensions).into_iter();
                json!({"embeddings": found.map(|vector| json!({"values": vector})).collect::<Vec<Value>>()})
            }
            other => return page("404 Not Found", "text/plain", other),
        };
        page("200 OK", "application/json", answer.to_string())
    };
    StubSite::start("127.0.0.1", answer).await.unwrap()
}

/// The texts of a request.
fn texts<'b>(body: &'b Value) -> Vec<&'b str> {
    let list = body["input"].as_array().or(body["requests"].as_array()).unwrap();
    let in_gemini = |entry: &'b Value| entry["content"]["parts"][0]["text"].as_str();
    list.iter()
        .map(|entry| entry.as_str().or_else(|| in_gemini(entry)).unwrap())
        .collect()
}

#[tokio::test]
async fn a_configured_embedding_model_orders_results_and_new_text_is_sent_once() {
    for (name, provider) in [
        (
            "own/e",
            "[providers.own]\nwire = 'openai-chat'\nbase_url = 'SITE/v1'\nkey_env = 'OWN_KEY'",
        ),
        ("ollama/e", ""),
        ("gemini/e", "[providers.gemini]\nbase_url = 'SITE'\nkey_env = 'OWN_KEY'"),
    ] {
        let dimensions = Arc::new(AtomicUsize::new(4));
        let site = embedding_site(Arc::clone(&dimensions)).await;
        let project = project();
        let hew = hew(&project);
        let plain = search(&hew, &[QUESTION]).await;
        assert_eq!(plain[0]["path"], "src/cookies.rs", "{name}");
        let config = hew.home().join("embedding.toml");
        let text = format!("embedding_model = '{name}'\n{provider}").replace("SITE", &site.url(""));
        std::fs::write(&config, text).unwrap();
        let hew = hew.env("HEW_CONFIG", config).env("OWN_KEY", "own-secret");
        let hew = hew.env("OLLAMA_HOST", site.url(""));
        let first_result = async || {
            let before = site.requests().len();
            let first = search(&hew, &[QUESTION]).await[0]["path"].clone();
            let sent = site.requests().split_off(before);
            let sent: Vec<usize> = sent
                .iter()
                .map(|request| texts(&serde_json::from_str(&request.body).unwrap()).len())
                .collect();
            (first, sent)
        };
        // The query, then the text of all candidates; later only what is new.
        let socket = json!("src/socket.rs");
        assert_eq!(first_result().await, (socket.clone(), vec![1, 3]), "{name}");
        assert_eq!(first_result().await, (socket.clone(), vec![1]), "{name}");
        std::fs::write(
            project.root().join("tests/cookies.rs"),
            "/// Fills the jar.\nfn fill() {}\n",
        )
        .unwrap();
        assert_eq!(first_result().await, (socket.clone(), vec![1, 1]), "{name}");
        dimensions.store(6, Ordering::Relaxed);
        assert_eq!(first_result().await, (socket.clone(), vec![1, 3]), "{name}");
        let head = &site.requests()[0].head;
        assert_eq!(head.contains("own-secret"), name != "ollama/e", "{head}");
        // Words are compared without the service.
        let before = site.requests().len();
        search(&hew, &["--words-only", QUESTION]).await;
        assert_eq!(site.requests().len(), before, "{name}");
        drop(site);
        let output = hew.clone().args(["search", "--json", QUESTION]).run().await.unwrap();
        assert_eq!(output.code(), Some(0), "{}", output.stderr);
        assert!(
            output.stderr.contains("not ordered by the embedding model"),
            "{}",
            output.stderr
        );
        assert!(!output.stderr.contains("own-secret"), "{}", output.stderr);
        assert!(output.stdout.contains("src/cookies.rs"), "{}", output.stdout);
    }
}

#[tokio::test]
async fn only_the_user_configures_an_embedding_model() {
    let site = embedding_site(Arc::new(AtomicUsize::new(4))).await;
    let project = project();
    let hew = hew(&project);
    let config = "embedding_model = 'own/e'\n[providers.own]\nwire = 'openai-chat'\nbase_url = 'SITE/v1'";
    let config = config.replace("SITE", &site.url(""));
    std::fs::create_dir_all(project.root().join(".hew")).unwrap();
    std::fs::write(project.root().join(".hew/config.toml"), config).unwrap();
    hew.clone().args(["trust"]).run().await.unwrap();
    search(&hew, &[QUESTION]).await;
    assert_eq!(site.requests().len(), 0);
    for (name, reason) in [
        ("e", "has no provider"),
        ("nowhere/e", "there is no provider `nowhere`"),
        ("anthropic/e", "no supported API for embeddings"),
    ] {
        let output = hew
            .clone()
            .env("HEW_EMBEDDING_MODEL", name)
            .env("ANTHROPIC_API_KEY", "k");
        let output = output.args(["search", "cookies"]).run().await.unwrap();
        assert_eq!(output.code(), Some(2), "{name}: {}", output.stderr);
        assert!(output.stderr.contains(reason), "{name}: {}", output.stderr);
    }
}
