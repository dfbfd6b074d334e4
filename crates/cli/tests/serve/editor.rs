//! An editor that speaks ACP over the network: it shares sessions with the other clients, and can do no more than they can.

use super::client::Served;
use super::{ASK, edit, kinds};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use testkit::{Script, Turn, TurnOrder};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

/// An ACP client.
struct NetworkEditor {
    socket: WebSocketStream<TcpStream>,
    next: i64,
    updates: Vec<Value>,
    /// The requests of the agent that were not answered.
    requests: Vec<Value>,
}

impl NetworkEditor {
    async fn connect(served: &Served, token: &str) -> Self {
        let mut request = format!("ws://{}/acp", served.address).into_client_request().unwrap();
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("Authorization", bearer);
        let stream = TcpStream::connect(served.address).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
        let mut editor = NetworkEditor {
            socket,
            next: 0,
            updates: Vec::new(),
            requests: Vec::new(),
        };
        let initialized = json!({"protocolVersion": 1, "clientCapabilities": {}});
        editor.call("initialize", initialized).await;
        editor
    }

    async fn send(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    async fn start(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Reads messages until the response to a request; `None` if the server closes the connection.
    async fn response(&mut self, id: i64) -> Option<Value> {
        loop {
            let message = self.read().await?;
            if message["id"] == id && message.get("method").is_none() {
                return Some(message);
            }
        }
    }

    async fn read(&mut self) -> Option<Value> {
        loop {
            let Ok(Message::Text(text)) = self.socket.next().await? else {
                continue;
            };
            let message: Value = serde_json::from_str(&text).unwrap();
            match message["method"].as_str() {
                Some("session/update") => self.updates.push(message["params"]["update"].clone()),
                Some(_) => self.requests.push(message.clone()),
                None => {}
            }
            return Some(message);
        }
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.response(id).await.unwrap()
    }

    async fn session(&mut self, served: &Served, more: Value) -> String {
        let mut params = json!({"cwd": served.project.root(), "mcpServers": []});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let created = self.call("session/new", params).await;
        created["result"]["sessionId"].as_str().unwrap().to_owned()
    }

    fn prompt(session: &str, text: &str) -> Value {
        json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
    }

    /// The shown texts of a kind.
    fn texts(&self, kind: &str) -> String {
        let of_kind = self.updates.iter().filter(|update| update["sessionUpdate"] == kind);
        of_kind
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_and_a_browser_share_a_session() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("hello", "goodbye"))
        .turn(Turn::text("Changed for the editor."))
        .turn(Turn::text("Answered to the browser."))
        .turn(Turn::calls("terminal", json!({"command": "true"})))
        .turn(Turn::text("Finished alone."));
    let served = Served::start(script, &[("a.txt", "hello\n")], ASK).await;
    let mut editor = NetworkEditor::connect(&served, &served.token).await;
    let session = editor.session(&served, json!({})).await;

    // The browser answers the question of the editor's turn, which the editor withdraws.
    let mut events = served.events(&session, None).await;
    let turn = editor
        .start("session/prompt", NetworkEditor::prompt(&session, "change it"))
        .await;
    let question = events.until("question").await;
    while editor.requests.is_empty() {
        editor.read().await.unwrap();
    }
    assert_eq!(editor.requests[0]["method"], "session/request_permission");
    let answer = json!({"question": question["id"], "answer": {"type": "approve"}});
    served.post(&format!("/sessions/{session}/answers"), answer).await;
    let ended = editor.response(turn).await.unwrap();
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert_eq!(
        std::fs::read_to_string(served.project.path("a.txt")).unwrap(),
        "goodbye\n"
    );

    // The editor shows the browser's prompt and its reply.
    let prompt = json!({"text": "a prompt of the browser"});
    served.post(&format!("/sessions/{session}/prompts"), prompt).await;
    while !editor.texts("agent_message_chunk").contains("Answered to the browser.") {
        editor.read().await.unwrap();
    }
    assert_eq!(editor.texts("user_message_chunk"), "a prompt of the browser");
    events.until("turn.finished").await;
    events.until("turn.finished").await;

    // The turn continues after the editor has left; another editor loads the session.
    editor
        .start("session/prompt", NetworkEditor::prompt(&session, "continue alone"))
        .await;
    events.until("turn.started").await;
    drop(editor);
    let finished = events.until("turn.finished").await;
    assert_eq!(finished["ending"]["reason"], "completed", "{finished}");
    let detail = served.get(&format!("/sessions/{session}")).await;
    assert_eq!(detail["live"]["state"], "idle", "{detail}");
    assert_eq!(kinds(&detail["items"]).last(), Some(&"reply"));
    let mut editor = NetworkEditor::connect(&served, &served.token).await;
    let load = json!({"sessionId": session, "cwd": served.project.root(), "mcpServers": []});
    editor.call("session/load", load).await;
    assert!(
        editor.texts("agent_message_chunk").contains("Finished alone."),
        "{:?}",
        editor.updates
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_on_the_network_can_do_no_more_than_a_browser() {
    let served = Served::start(Script::new().turn(Turn::text("Done.")), &[("a.txt", "hello\n")], "").await;
    let mut editor = NetworkEditor::connect(&served, &served.token).await;
    // No other folder, no program, no higher level.
    let elsewhere = editor
        .call("session/new", json!({"cwd": "/etc", "mcpServers": []}))
        .await;
    let text = elsewhere["error"]["message"].as_str().unwrap();
    assert!(text.contains("/etc is not a project of this server"), "{text}");
    let started = served.project.path("started");
    let program = json!({"name": "tools", "command": "touch", "args": [started], "env": []});
    let more = json!({"mcpServers": [program], "additionalDirectories": ["/etc"]});
    let session = editor.session(&served, more).await;
    let level = json!({"sessionId": session, "configId": "permission", "value": "full"});
    let raised = editor.call("session/set_config_option", level).await;
    assert_eq!(raised["error"]["code"], -32602, "{raised}");
    editor
        .call("session/prompt", NetworkEditor::prompt(&session, "go"))
        .await;
    let notices = editor.texts("agent_thought_chunk");
    assert!(notices.contains("are not started (tools)"), "{notices}");
    assert!(notices.contains("additional directories"), "{notices}");
    assert!(!started.exists());
    let settings = served.get(&format!("/sessions/{session}/settings")).await;
    assert_eq!(settings["permission"], "workspace");

    // A revoked token ends an open connection.
    let created = served
        .base
        .clone()
        .args(["serve", "token", "second"])
        .run()
        .await
        .unwrap();
    let mut second = NetworkEditor::connect(&served, created.stdout.trim()).await;
    let devices = served.get("/devices").await;
    let device = devices
        .as_array()
        .unwrap()
        .iter()
        .find(|device| device["name"] == "second");
    let path = format!("/api/v1/devices/{}", device.unwrap()["id"].as_str().unwrap());
    assert_eq!(served.request("DELETE", &path, None).await.status, 200);
    assert_eq!(second.read().await, None);
}
