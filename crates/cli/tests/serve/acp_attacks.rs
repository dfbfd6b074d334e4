//! What a client of ACP over the network must not be able to do.

use super::client::Served;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Script, Turn};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

/// A client of ACP over WebSocket.
struct AcpClient(WebSocketStream<TcpStream>);

impl AcpClient {
    /// Connects; `None` if the server refuses.
    async fn try_connect(served: &Served) -> Option<AcpClient> {
        let mut request = format!("ws://{}/acp", served.address).into_client_request().unwrap();
        let token = format!("Bearer {}", served.token).parse().unwrap();
        request.headers_mut().insert("authorization", token);
        let stream = TcpStream::connect(served.address).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await.ok()?;
        Some(AcpClient(socket))
    }

    async fn connect(served: &Served) -> AcpClient {
        let mut client = AcpClient::try_connect(served).await.unwrap();
        client.call("initialize", json!({"protocolVersion": 1})).await.unwrap();
        client
    }

    /// Sends a request; returns the response, or `None` if the connection ended.
    async fn call(&mut self, method: &str, params: Value) -> Option<Value> {
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        self.0.send(Message::text(request.to_string())).await.ok()?;
        while let Some(Ok(message)) = self.0.next().await {
            let Message::Text(text) = message else { continue };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == method && answer.get("method").is_none() {
                return Some(answer);
            }
        }
        None
    }

    async fn new_session(&mut self, params: Value) -> Value {
        self.call("session/new", params).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acp_client_chooses_neither_folders_nor_programs_nor_a_higher_level() {
    let script = Script::new().turn(Turn::text("hello"));
    let served = Served::start(script, &[("sub/a.txt", "x")], "").await;
    let mut client = AcpClient::connect(&served).await;
    let project = served.project.root();
    std::os::unix::fs::symlink("/etc", project.join("link")).unwrap();
    for folder in ["/", "/etc", project.join("link").to_str().unwrap()] {
        let answer = client.new_session(json!({"cwd": folder, "mcpServers": []})).await;
        assert!(answer["error"].is_object(), "{answer}");
    }
    let ran = project.join("ran");
    let server = json!({"name": "evil", "command": "/usr/bin/touch", "args": [ran], "env": []});
    let opened = client
        .new_session(json!({"cwd": project.join("sub"), "mcpServers": [server]}))
        .await;
    let session = opened["result"]["sessionId"].as_str().unwrap();
    let levels = opened["result"]["configOptions"].to_string();
    assert!(
        levels.contains("\"workspace\"") && !levels.contains("\"full\""),
        "{levels}"
    );
    let change = json!({"sessionId": session, "configId": "permission", "value": "full"});
    let answer = client.call("session/set_config_option", change).await.unwrap();
    assert!(answer["error"].is_object(), "{answer}");
    // A server would have been started before the first answer.
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]});
    client.call("session/prompt", prompt).await.unwrap();
    assert!(!ran.exists());
    println!("attack: tried 5");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_ends_open_connections_and_their_number_is_limited() {
    let served = Served::start(Script::new(), &[], "").await;
    let session = served.session().await;
    let mut client = AcpClient::connect(&served).await;
    let mut events = TcpStream::connect(served.address).await.unwrap();
    let request = format!(
        "GET /api/v1/sessions/{session}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        served.address, served.token
    );
    events.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 15];
    events.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let mut more = Vec::new();
    while let Some(client) = AcpClient::try_connect(&served).await {
        more.push(client);
        assert!(more.len() < 300, "no limit");
    }
    drop(more);
    let id = served.token.split('_').nth(1).unwrap();
    let revoked = served.base.clone().args(["serve", "revoke", id]).run().await.unwrap();
    assert_eq!(revoked.code(), Some(0), "{}", revoked.stderr);
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        while client.0.next().await.is_some_and(|message| message.is_ok()) {}
        events.read_to_end(&mut Vec::new()).await.ok();
    });
    assert!(ended.await.is_ok(), "the connections of a revoked device stay open");
}
