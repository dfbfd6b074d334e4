//! Connections: reuse, reconnection, batching and proxies.
#![allow(clippy::expect_used, reason = "a test may fail")]

use futures::StreamExt as _;
use model::{Chunk, Error, Features, Info, Message, Model, Request, TokenLimits, Wire};
use providers::{ProviderSettings, Secret};
use serde_json::Map;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

#[tokio::test]
async fn a_connection_closed_by_the_server_is_reopened() {
    let (listener, address) = listen().await;
    let (close, mut closed) = tokio::sync::mpsc::channel(1);
    let server = tokio::spawn(async move {
        for _ in 0..3 {
            let mut stream = accept(&listener).await;
            read_request(&mut stream).await;
            answer(&mut stream).await;
            // The server closes the connection without announcing it.
            drop(stream);
            close.send(()).await.expect("a receiver");
        }
    });
    let model = connect(&format!("http://{address}"), None);
    for _ in 0..3 {
        assert_eq!(ask(&model).await.expect("an answer"), "");
        closed.recv().await.expect("the server closes");
        // Waits for the close to arrive.
        tokio::task::yield_now().await;
    }
    server.await.expect("the server ends");
}

#[tokio::test]
async fn a_flood_of_small_chunks_arrives_completely_and_the_connection_is_reused() {
    const PIECES: usize = 3_000;
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        for _ in 0..2 {
            read_request(&mut stream).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.expect("writes");
            for n in 0..PIECES {
                let delta = format!("{{\"type\":\"text_delta\",\"text\":\"{n}\\n\"}}");
                let data = format!("{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{delta}}}");
                write_chunk(&mut stream, &format!("event: content_block_delta\ndata: {data}\n\n")).await;
            }
            write_chunk(&mut stream, STOP).await;
            stream.write_all(b"0\r\n\r\n").await.expect("writes");
        }
    });
    let model = connect(&format!("http://{address}"), None);
    let expected: String = (0..PIECES).map(|n| format!("{n}\n")).collect();
    for _ in 0..2 {
        assert_eq!(ask(&model).await.expect("an answer"), expected);
    }
    server.await.expect("the server ends");
}

#[tokio::test]
async fn an_interrupted_flood_is_reported_after_the_data_that_arrived() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        read_request(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("writes");
        for _ in 0..500 {
            let delta = "{\"type\":\"text_delta\",\"text\":\"a\"}";
            let data = format!("{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{delta}}}");
            write_chunk(&mut stream, &format!("event: content_block_delta\ndata: {data}\n\n")).await;
        }
    });
    let model = connect(&format!("http://{address}"), None);
    let mut stream = model.stream(request()).await.expect("an answer");
    let (mut text, mut failure) = (String::new(), None);
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(Chunk::Text(more)) => text += &more,
            Ok(_) => {}
            Err(error) => failure = Some(error),
        }
    }
    assert_eq!(text, "a".repeat(500));
    assert!(matches!(failure, Some(Error::StreamCut { .. })), "{failure:?}");
}

#[tokio::test]
async fn a_proxy_gets_plain_requests_with_the_full_url_and_its_own_password() {
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let head = read_request(&mut stream).await;
        answer(&mut stream).await;
        head
    });
    let model = connect(
        "http://api.example.invalid:8080",
        Some(&format!("http://me:p%40ss@{address}")),
    );
    assert_eq!(ask(&model).await.expect("an answer"), "");
    let head = server.await.expect("the server ends");
    assert_eq!(head[0], "POST http://api.example.invalid:8080/v1/messages HTTP/1.1");
    assert!(head.contains(&"host: api.example.invalid:8080".to_string()), "{head:?}");
    // me:p@ss
    assert!(
        head.contains(&"proxy-authorization: Basic bWU6cEBzcw==".to_string()),
        "{head:?}"
    );
}

#[tokio::test]
async fn a_tunnel_is_opened_before_secrets_are_sent() {
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let head = read_request(&mut stream).await;
        stream
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await
            .expect("writes");
        let mut first = [0; 3];
        stream.read_exact(&mut first).await.expect("a greeting");
        (head, first)
    });
    // Without a scheme, as users write it.
    let model = connect("https://api.example.invalid", Some(&format!("me:secret@{address}")));
    let error = ask(&model)
        .await
        .expect_err("the server closed the connection before the handshake");
    assert!(matches!(error, Error::Connection { .. }), "{error:?}");
    let (head, first) = server.await.expect("the server ends");
    assert_eq!(head[0], "CONNECT api.example.invalid:443 HTTP/1.1");
    assert!(!head.iter().any(|line| line.contains("sk-test")), "{head:?}");
    assert_eq!(first, [0x16, 3, 1], "TLS begins");
}

#[tokio::test]
async fn a_proxys_refusal_is_quoted() {
    for (status, expected) in [
        (
            "407 Proxy Authentication Required",
            "it requires a user name and password",
        ),
        ("403 Not here", "it refused the connection: HTTP/1.1 403 Not here"),
    ] {
        let (listener, address) = listen().await;
        tokio::spawn(async move {
            let mut stream = accept(&listener).await;
            read_request(&mut stream).await;
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.expect("writes");
        });
        let model = connect("https://api.example.invalid", Some(&format!("http://{address}")));
        let error = ask(&model).await.expect_err("no way through");
        let Error::Connection { detail, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(*detail, format!("https://api.example.invalid: the proxy: {expected}"));
    }
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

async fn accept(listener: &TcpListener) -> BufReader<TcpStream> {
    BufReader::new(listener.accept().await.expect("a client").0)
}

/// Reads a request and returns the lines of its head.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Vec<String> {
    let mut head: Vec<String> = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.expect("a line");
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_string()),
        }
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
    stream.read_exact(&mut body).await.expect("a body");
    head
}

async fn answer(stream: &mut BufReader<TcpStream>) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        STOP.len()
    );
    stream.write_all((head + STOP).as_bytes()).await.expect("writes");
}

async fn write_chunk(stream: &mut BufReader<TcpStream>, text: &str) {
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    stream.write_all(chunk.as_bytes()).await.expect("writes");
}

/// The text of a reply.
async fn ask(model: &Arc<dyn Model>) -> Result<String, Error> {
    let mut stream = model.stream(request()).await?;
    let mut text = String::new();
    while let Some(chunk) = stream.next().await {
        if let Chunk::Text(more) = chunk? {
            text += &more;
        }
    }
    Ok(text)
}

fn request() -> Request {
    Request {
        messages: vec![Arc::new(Message::user("Say something."))].into(),
        ..Request::default()
    }
}

fn connect(url: &str, proxy: Option<&str>) -> Arc<dyn Model> {
    let mut settings = ProviderSettings::new("p", Wire::AnthropicMessages, url);
    settings.key = Some(Secret::new("sk-test"));
    settings.proxy = proxy.map(str::to_string);
    let info = Info {
        provider: "p".into(),
        id: "m".into(),
        wire: Wire::AnthropicMessages,
        limits: TokenLimits {
            window: 200_000,
            output: 8_000,
        },
        parameters: 0,
        features: Features {
            tools: true,
            parallel_tools: true,
            images: false,
            pdf: false,
            reasoning: false,
            caching: false,
        },
        prices: None,
        deprecated_on: None,
        options: Map::new(),
    };
    providers::connect(info, settings).expect("good settings")
}
