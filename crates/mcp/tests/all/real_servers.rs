//! Third-party servers, over every transport.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::{BoxFuture, FutureExt as _};
use mcp::{McpDefinition, McpTransport};
use model::{Chunk, Info, Model, Request, Stop};
use serde_json::json;
use tokio::process::Command;

use crate::support::{Fixture, listening, node_module, peer, python, stdio, text, within_timeout};

/// A model with a constant reply.
struct EchoModel(Info);

impl Model for EchoModel {
    fn info(&self) -> &Info {
        &self.0
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<model::Stream, model::Error>> {
        let last = request
            .messages
            .last()
            .map(|message| message.text())
            .unwrap_or_default();
        let chunks = vec![Ok(Chunk::Text(format!("received: {last}"))), Ok(Chunk::Stop(Stop::End))];
        async move { Ok(futures::stream::iter(chunks).boxed()) }.boxed()
    }
}

fn echo_model() -> Arc<dyn Model> {
    let catalogue = model::Catalogue::embedded();
    let model::ModelLookup::Found(info) = catalogue.find("anthropic/claude-sonnet-4-6") else {
        panic!("the model is not in the catalogue");
    };
    Arc::new(EchoModel(*info))
}

async fn fixture(definition: McpDefinition) -> Fixture {
    let name = definition.name.clone();
    let fixture = Fixture::with(vec![definition], Arc::default(), Some(echo_model()), 0);
    let offer = within_timeout(fixture.servers.check(&name)).await.unwrap();
    assert!(offer.tools.len() > 1, "{offer:?}");
    fixture
}

/// The features of `server-everything`, over any transport.
async fn check_everything_server(mut fixture: Fixture) {
    assert_eq!(
        fixture.call_text("echo", json!({"message": "hi"})).await.lines().next(),
        Some("Echo: hi")
    );
    let sum = fixture.call_text("get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.contains('5'), "{sum}");
    let image = fixture.call("get-tiny-image", json!({})).await.unwrap();
    assert!(text(&image).contains("<image/png "), "{}", text(&image));
    let structured = fixture
        .call_text("get-structured-content", json!({"location": "New York"}))
        .await;
    assert!(structured.contains("temperature"), "{structured}");
    assert_eq!(structured.matches("temperature").count(), 1, "repeated: {structured}");
    let wrong = fixture.call("get-sum", json!({"a": "x"})).await.unwrap_err();
    assert!(wrong.to_lowercase().contains("invalid"), "{wrong}");
    let roots = fixture.call_text("get-roots-list", json!({})).await;
    let folder = fixture
        .folder
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    assert!(roots.contains(&folder), "{roots}");
    let long = json!({"duration": 1, "steps": 4});
    let done = fixture.call_text("trigger-long-running-operation", long).await;
    assert!(done.contains("completed"), "{done}");
    let (_, shown) = within_timeout(fixture.progress.recv()).await.unwrap();
    assert!(shown.contains("/4"), "{shown}");
    check_questions(&fixture).await;
    // Its resources and prompts.
    let list = fixture
        .call_text("access_mcp_resource", json!({"server_name": "everything"}))
        .await;
    let uri = list
        .lines()
        .next()
        .unwrap()
        .split([' '])
        .next()
        .unwrap()
        .trim_end_matches(':')
        .to_owned();
    let read = fixture
        .call_text("access_mcp_resource", json!({"server_name": "everything", "uri": uri}))
        .await;
    assert!(!read.is_empty(), "{list}");
    let prompts = fixture.servers.prompts();
    let simple = prompts.iter().find(|prompt| prompt.arguments.is_empty()).unwrap();
    let words = fixture
        .servers
        .prompt("everything", &simple.name, Default::default())
        .await
        .unwrap();
    assert!(!words.is_empty());
    let taking = prompts
        .iter()
        .find(|prompt| prompt.arguments.iter().any(|own| own.required))
        .unwrap();
    assert!(taking.parse("").is_err());
    let given = taking.parse("Paris France").unwrap();
    let words = fixture.servers.prompt("everything", &taking.name, given).await.unwrap();
    assert!(words.contains("Paris"), "{words}");
}

/// It uses sampling and elicitation.
async fn check_questions(fixture: &Fixture) {
    let sample = json!({"prompt": "What is hew?", "maxTokens": 50});
    fixture.user.0.lock().unwrap().push("Allow");
    let sampled = fixture.call_text("trigger-sampling-request", sample.clone()).await;
    assert!(sampled.contains("received"), "{sampled}");
    let question = fixture.user.1.lock().unwrap().pop().unwrap();
    assert!(
        question.contains("What is hew?") && question.contains("at your cost"),
        "{question}"
    );
    fixture.user.0.lock().unwrap().push("Refuse");
    let refused = fixture.call("trigger-sampling-request", sample).await;
    let refused = refused.map_or_else(|error| error, |output| text(&output));
    assert!(refused.contains("rejected"), "{refused}");
    fixture.user.0.lock().unwrap().push("Decline");
    let declined = fixture.call_text("trigger-elicitation-request", json!({})).await;
    assert!(declined.to_lowercase().contains("declin"), "{declined}");
    let asked = fixture.user.1.lock().unwrap().pop().unwrap();
    assert!(asked.starts_with("The MCP server `everything` asks"), "{asked}");
}

#[tokio::test]
async fn everything_works_over_standard_input_and_output() {
    let Some(module) = node_module("@modelcontextprotocol/server-everything") else {
        return;
    };
    let script = module.join("dist/index.js");
    check_everything_server(fixture(stdio("everything", "node", &[script.to_str().unwrap()])).await).await;
}

#[tokio::test]
async fn everything_works_over_streamable_http() {
    let Some(module) = node_module("@modelcontextprotocol/server-everything") else {
        return;
    };
    let mut command = Command::new("node");
    let server = listening(
        command.arg(module.join("dist/index.js")).arg("streamableHttp"),
        "listening on port",
    )
    .await;
    let transport = McpTransport::Http {
        url: format!("http://127.0.0.1:{}/mcp", server.port),
        headers: [("X-Test".to_owned(), "1".to_owned())].into(),
    };
    check_everything_server(fixture(McpDefinition::new("everything", transport)).await).await;
}

#[tokio::test]
async fn everything_works_over_sse_also_if_the_transport_is_not_configured() {
    let Some(module) = node_module("@modelcontextprotocol/server-everything") else {
        return;
    };
    let mut command = Command::new("node");
    let server = listening(command.arg(module.join("dist/index.js")).arg("sse"), "running on port").await;
    let (url, headers) = (format!("http://127.0.0.1:{}/sse", server.port), Default::default());
    let old = McpTransport::Sse {
        url: url.clone(),
        headers,
    };
    check_everything_server(fixture(McpDefinition::new("everything", old)).await).await;
    let unspecified = McpTransport::Http {
        url,
        headers: Default::default(),
    };
    let fixture = fixture(McpDefinition::new("everything", unspecified)).await;
    assert_eq!(
        fixture.call_text("echo", json!({"message": "hi"})).await.lines().next(),
        Some("Echo: hi")
    );
}

#[tokio::test]
async fn the_file_server_reads_only_the_given_directory() {
    let Some(module) = node_module("@modelcontextprotocol/server-filesystem") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("a.txt"), "hello\n").unwrap();
    let script = module.join("dist/index.js");
    let definition = stdio("files", "node", &[script.to_str().unwrap(), root.to_str().unwrap()]);
    // If the client has roots, it uses them instead of its arguments.
    let fixture = fixture(definition).await;
    let name = fixture
        .folder
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    within_timeout(async {
        while !fixture
            .call_text("list_allowed_directories", json!({}))
            .await
            .contains(&name)
        {}
    })
    .await;
    std::fs::write(fixture.folder.path().join("b.txt"), "from the project\n").unwrap();
    let inside = fixture.folder.path().canonicalize().unwrap().join("b.txt");
    let path = json!({"path": inside.to_str().unwrap()});
    let read = fixture.call_text("read_text_file", path).await;
    assert!(read.contains("from the project"), "{read}");
    let outside = fixture
        .call("read_text_file", json!({"path": "/etc/passwd"}))
        .await
        .unwrap_err();
    assert!(outside.contains("denied"), "{outside}");
    let written = json!({"path": inside.to_str().unwrap(), "content": "changed"});
    fixture.call_text("write_file", written).await;
    assert_eq!(std::fs::read_to_string(inside).unwrap(), "changed");
}

#[tokio::test]
async fn a_server_made_with_the_official_python_sdk_works_over_every_transport() {
    let Some(python) = python() else { return };
    let script = peer("official.py");
    let here = stdio("official", python.to_str().unwrap(), &[script.to_str().unwrap()]);
    check_official_server(fixture(here).await).await;
    for (kind, path) in [("streamable-http", "mcp"), ("sse", "sse")] {
        let mut command = Command::new(&python);
        let server = listening(command.arg(&script).arg(kind), "Uvicorn running").await;
        let (url, headers) = (format!("http://127.0.0.1:{}/{path}", server.port), Default::default());
        let transport = match kind {
            "sse" => McpTransport::Sse { url, headers },
            _ => McpTransport::Http { url, headers },
        };
        check_official_server(fixture(McpDefinition::new("official", transport)).await).await;
    }
}

async fn check_official_server(mut fixture: Fixture) {
    let sum = fixture.call_text("add", json!({"a": 2, "b": 40})).await;
    assert!(
        sum.starts_with("42\n[Usage instructions of `official`: Be kind to it.]"),
        "{sum}"
    );
    assert!(fixture.call_text("picture", json!({})).await.contains("<image/png 12>"));
    assert_eq!(fixture.call_text("count", json!({"to": 3})).await, "counted to 3");
    assert!(within_timeout(fixture.progress.recv()).await.unwrap().1.contains("/3"));
    let note = json!({"server_name": "official", "uri": "note://today"});
    assert_eq!(
        fixture.call_text("access_mcp_resource", note).await,
        "This is the note today."
    );
    let [review] = &fixture.servers.prompts()[..] else {
        panic!("one prompt")
    };
    assert_eq!(review.command(), "official.review");
    let given = review.parse("fn main() {}").unwrap();
    let words = fixture.servers.prompt("official", "review", given).await.unwrap();
    assert_eq!(words, "Please review: fn main() {}");
    let wrong = fixture.call("add", json!({"a": "x"})).await.unwrap_err();
    assert!(wrong.contains("valid"), "{wrong}");
}
