//! The transport below the wires: lengths, headers, credentials, reuse and cancellation.
#![allow(clippy::expect_used, reason = "a test may fail")]

use futures::StreamExt as _;
use model::{Block, Effort, Features, Info, Message, Model, Part, Request, Role, TokenLimits, ToolOutcome, Wire};
use providers::{AwsAuth, AwsKeys, AwsSettings, GoogleAuth, GoogleSettings, ProviderSettings, Secret};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

const REPLY: &str = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n\
    data: {\"type\":\"message_stop\"}\n\n";

#[tokio::test]
async fn a_body_in_pieces_arrives_completely_with_its_length_and_the_connection_is_reused() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            seen.push(read(&mut stream).await);
            answer(&mut stream, "text/event-stream", REPLY).await;
        }
        seen
    });
    let mut settings = ProviderSettings::new("p", Wire::AnthropicMessages, url);
    settings.key = Some(Secret::new("sk-test"));
    settings.headers = vec![
        ("anthropic-beta".into(), "mine-1".into()),
        ("x-extra".into(), "1".into()),
    ];
    let model = connect(settings);
    let mut request = conversation();
    drain(&model, request.clone()).await;
    let messages = Arc::make_mut(&mut request.messages);
    messages.push(Arc::new(Message::assistant("done")));
    messages.push(Arc::new(Message::user("more")));
    drain(&model, request).await;

    let seen = server.await.expect("the server ends");
    for (head, body) in &seen {
        assert_eq!(head[0], "POST /v1/messages HTTP/1.1");
        assert_eq!(header(head, "content-length"), Some(body.len().to_string().as_str()));
        assert_eq!(header(head, "transfer-encoding"), None);
        assert_eq!(header(head, "x-api-key"), Some("sk-test"));
        assert_eq!(header(head, "anthropic-version"), Some("2023-06-01"));
        assert_eq!(
            header(head, "anthropic-beta"),
            Some("mine-1,interleaved-thinking-2025-05-14")
        );
        assert_eq!(header(head, "x-extra"), Some("1"));
    }
    let turns = |body: &[u8]| {
        let body: Value = serde_json::from_slice(body).expect("JSON");
        body["messages"].as_array().map(Vec::len)
    };
    assert_eq!((turns(&seen[0].1), turns(&seen[1].1)), (Some(3), Some(5)));
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        read(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let event = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
        let chunk = format!("{head}{:x}\r\n{event}\r\n", event.len());
        stream.write_all(chunk.as_bytes()).await.expect("writes");
        // Ends only when the client disconnects.
        stream.read_u8().await.is_err()
    });
    let mut settings = ProviderSettings::new("p", Wire::AnthropicMessages, url);
    settings.key = Some(Secret::new("k"));
    let mut stream = connect(settings).stream(conversation()).await.expect("an answer");
    assert!(matches!(stream.next().await, Some(Ok(model::Chunk::PromptSize(sent))) if sent.total() > 0));
    assert!(matches!(stream.next().await, Some(Ok(model::Chunk::Text(text))) if text == "a"));
    drop(stream);
    assert!(server.await.expect("the server ends"));
}

#[tokio::test]
async fn a_google_token_is_fetched_once_and_sent_with_every_request() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let (head, form) = read(&mut stream).await;
        assert_eq!(head[0], "POST /token HTTP/1.1");
        let form = String::from_utf8(form).expect("text");
        assert_eq!(
            form,
            "grant_type=refresh_token&client_id=c&client_secret=s%2F1&refresh_token=r"
        );
        answer(
            &mut stream,
            "application/json",
            r#"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#,
        )
        .await;
        let mut stream = accept(&listener).await;
        for _ in 0..2 {
            let (head, _) = read(&mut stream).await;
            let path =
                "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict";
            assert_eq!(head[0], format!("POST {path} HTTP/1.1"));
            assert_eq!(header(&head, "authorization"), Some("Bearer ya29.x"));
            answer(&mut stream, "text/event-stream", REPLY).await;
        }
    });
    let mut settings = ProviderSettings::new("vertex", Wire::VertexAnthropic, url.clone());
    settings.google = Some(GoogleSettings {
        project: "p".into(),
        location: "us-east5".into(),
        auth: GoogleAuth::User {
            client_id: "c".into(),
            client_secret: Secret::new("s/1"),
            refresh_token: Secret::new("r"),
            token_uri: format!("{url}/token"),
        },
    });
    let model = connect(settings);
    drain(&model, conversation()).await;
    drain(&model, conversation()).await;
    server.await.expect("the server received the expected requests");
}

#[tokio::test]
async fn a_token_that_google_refuses_is_a_credentials_error() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        read(&mut stream).await;
        let body = r#"{"error":"invalid_grant","error_description":"Token has been expired or revoked."}"#;
        answer_with(&mut stream, "400 Bad Request", "application/json", body).await;
    });
    let mut settings = ProviderSettings::new("vertex", Wire::VertexAnthropic, url.clone());
    settings.google = Some(GoogleSettings {
        project: "p".into(),
        location: "global".into(),
        auth: GoogleAuth::User {
            client_id: "c".into(),
            client_secret: Secret::new("s"),
            refresh_token: Secret::new("r"),
            token_uri: format!("{url}/token"),
        },
    });
    let error = connect(settings).stream(conversation()).await.err();
    assert!(
        matches!(&error, Some(model::Error::Credentials { detail, .. }) if detail.contains("revoked")),
        "{error:?}"
    );
    server.await.expect("the server ends");
}

#[tokio::test]
async fn a_request_to_bedrock_is_signed_and_a_bedrock_key_is_a_bearer_token() {
    let keys = AwsAuth::Keys(AwsKeys {
        id: "AKID".into(),
        secret: Secret::new("hidden"),
        session: Some(Secret::new("session")),
    });
    for (auth, proof) in [
        (keys, "AWS4-HMAC-SHA256 Credential=AKID/"),
        (AwsAuth::Bearer(Secret::new("b")), "Bearer b"),
    ] {
        let (listener, url) = listen().await;
        let server = tokio::spawn(async move {
            let mut stream = accept(&listener).await;
            let (head, _) = read(&mut stream).await;
            let body = r#"{"message":"You don't have access to the model with the specified model ID."}"#;
            answer_with(&mut stream, "403 Forbidden", "application/json", body).await;
            head
        });
        let mut settings = ProviderSettings::new("bedrock", Wire::BedrockAnthropic, url);
        settings.aws = Some(AwsSettings {
            region: "eu-west-1".into(),
            auth,
        });
        let error = connect(settings).stream(conversation()).await.err();
        assert!(
            matches!(error, Some(model::Error::Refused { status: 403, .. })),
            "{error:?}"
        );
        let head = server.await.expect("the server ends");
        assert_eq!(
            head[0],
            "POST /model/claude-sonnet-4-5/invoke-with-response-stream HTTP/1.1"
        );
        let authorization = header(&head, "authorization").expect("a proof");
        assert!(
            authorization.starts_with(proof) && !authorization.contains("hidden"),
            "{authorization}"
        );
    }
}

/// A frame of an AWS event stream.
fn frame(kind: &str, payload: &str) -> Vec<u8> {
    let crc32 = |bytes: &[u8]| {
        let step = |crc: u32, byte: &u8| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
            })
        };
        !bytes.iter().fold(!0, step)
    };
    let mut headers = Vec::new();
    for (name, value) in [(":message-type", "event"), (":event-type", kind)] {
        headers.push(name.len() as u8);
        headers.extend(name.bytes());
        headers.push(7);
        headers.extend((value.len() as u16).to_be_bytes());
        headers.extend(value.bytes());
    }
    let total = (12 + headers.len() + payload.len() + 4) as u32;
    let mut frame = [total.to_be_bytes(), (headers.len() as u32).to_be_bytes()].concat();
    frame.extend(crc32(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload.bytes());
    frame.extend(crc32(&frame).to_be_bytes());
    frame
}

#[tokio::test]
async fn a_model_of_another_vendor_on_bedrock_is_reached_through_converse() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let (head, body) = read(&mut stream).await;
        let reply = [
            frame("messageStart", r#"{"role":"assistant"}"#),
            frame(
                "contentBlockDelta",
                r#"{"contentBlockIndex":0,"delta":{"text":"Hello."}}"#,
            ),
            frame("messageStop", r#"{"stopReason":"end_turn"}"#),
            frame("metadata", r#"{"usage":{"inputTokens":3,"outputTokens":2}}"#),
        ]
        .concat();
        let head_out = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\ncontent-length: {}\r\n\r\n",
            reply.len()
        );
        stream.write_all(head_out.as_bytes()).await.expect("the head is sent");
        stream.write_all(&reply).await.expect("the reply is sent");
        (head, body)
    });
    let mut settings = ProviderSettings::new("bedrock", Wire::BedrockConverse, url);
    settings.aws = Some(AwsSettings {
        region: "eu-west-1".into(),
        auth: AwsAuth::Bearer(Secret::new("b")),
    });
    let mut chunks = connect(settings).stream(conversation()).await.expect("a stream");
    let mut reply = model::Reply::default();
    while let Some(chunk) = chunks.next().await {
        reply.push(chunk.expect("a chunk"));
    }
    assert_eq!(
        (reply.stop.clone(), reply.usage.map(|usage| usage.output)),
        (Some(model::Stop::End), Some(2))
    );
    assert_eq!(reply.into_message().text(), "Hello.");
    let (head, body) = server.await.expect("the server ends");
    assert_eq!(head[0], "POST /model/claude-sonnet-4-5/converse-stream HTTP/1.1");
    assert!(header(&head, "authorization").is_some_and(|value| value == "Bearer b"));
    let body: serde_json::Value = serde_json::from_slice(body.as_ref()).expect("JSON");
    assert_eq!(body["messages"][0]["role"], "user");
}

#[test]
fn invalid_settings_are_rejected_with_a_hint() {
    let connect_error = |provider: &str, wire: Wire, url: &str| {
        providers::connect(info(wire), ProviderSettings::new(provider, wire, url))
            .err()
            .map(|error| error.to_string())
    };
    let cases = [
        (Wire::AnthropicMessages, "https://api.anthropic.com", "no key is set"),
        (Wire::AnthropicMessages, "api.anthropic.com", "not a valid address"),
        (Wire::AnthropicMessages, "ftp://host", "http:// or https://"),
        (Wire::AnthropicMessages, "", "no base URL"),
        (Wire::BedrockAnthropic, "", "AWS"),
        (Wire::VertexAnthropic, "", "Google"),
    ];
    for (wire, url, words) in cases {
        let message = connect_error("p", wire, url).unwrap_or_else(|| panic!("{url} was taken"));
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(
        connect_error("p", Wire::AnthropicMessages, "http://127.0.0.1:8080"),
        None
    );
    let mut settings = ProviderSettings::new("p", Wire::OpenaiChat, "http://127.0.0.1:1");
    settings.headers = vec![("bad header".into(), "secret\nvalue".into())];
    let message = providers::connect(info(Wire::OpenaiChat), settings)
        .err()
        .map(|error| error.to_string());
    assert!(message.is_some_and(|message| message.contains("bad header") && !message.contains("secret")));
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    (listener, url)
}

async fn accept(listener: &TcpListener) -> BufReader<TcpStream> {
    BufReader::new(listener.accept().await.expect("a client").0)
}

/// The lines of a request's head, and its body.
async fn read(stream: &mut BufReader<TcpStream>) -> (Vec<String>, Vec<u8>) {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.expect("a line");
        let line = line.trim_end().to_string();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let length = header(&head, "content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
    (head, body)
}

fn header<'a>(head: &'a [String], name: &str) -> Option<&'a str> {
    head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

async fn answer(stream: &mut BufReader<TcpStream>, kind: &str, body: &str) {
    answer_with(stream, "200 OK", kind, body).await;
}

async fn answer_with(stream: &mut BufReader<TcpStream>, status: &str, kind: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await.expect("writes");
}

async fn drain(model: &Arc<dyn Model>, request: Request) {
    let mut stream = model.stream(request).await.expect("an answer");
    while let Some(chunk) = stream.next().await {
        chunk.expect("a good stream");
    }
}

fn connect(settings: ProviderSettings) -> Arc<dyn Model> {
    providers::connect(info(settings.wire), settings).expect("good settings")
}

fn info(wire: Wire) -> Info {
    Info {
        provider: "p".into(),
        id: "claude-sonnet-4-5".into(),
        wire,
        limits: TokenLimits {
            window: 200_000,
            output: 32_000,
        },
        parameters: 0,
        features: Features {
            tools: true,
            parallel_tools: true,
            images: true,
            pdf: true,
            reasoning: true,
            caching: true,
        },
        prices: None,
        deprecated_on: None,
        options: Map::new(),
    }
}

/// A conversation with a part that is large enough to be shared instead of copied.
fn conversation() -> Request {
    let call = Part::ToolCall {
        id: "call_1".into(),
        name: "read_file".into(),
        input: json!({"path": "a"}),
        malformed: None,
        replay: None,
    };
    let result = Part::ToolResult {
        id: "call_1".into(),
        name: "read_file".into(),
        content: vec![Block::text("line\n".repeat(40_000))],
        outcome: ToolOutcome::Ok,
    };
    Request {
        effort: Some(Effort::Low),
        messages: vec![
            Arc::new(Message::user("read")),
            Arc::new(Message {
                role: Role::Assistant,
                parts: vec![call],
            }),
            Arc::new(Message {
                role: Role::User,
                parts: vec![result],
            }),
        ]
        .into(),
        ..Request::default()
    }
}
