//! Replies without an end are stopped, and a signal ends hew during them.

use std::sync::Arc;
use std::time::Duration;
use testkit::{Hew, Project};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// The start and the repeated part of a stream in the format of Anthropic Messages.
fn stream(kind: &str, delta: &str) -> (String, String) {
    let event = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n");
    let start = event(
        "message_start",
        r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}"#,
    );
    let block = match kind {
        "text" => r#"{"type":"text","text":""}"#,
        "thinking" | "signature" => r#"{"type":"thinking","thinking":"","signature":""}"#,
        _ => r#"{"type":"tool_use","id":"t","name":"write_file","input":{}}"#,
    };
    let open = event(
        "content_block_start",
        &format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#),
    );
    let body = match kind {
        "text" => format!(r#"{{"type":"text_delta","text":"{delta}"}}"#),
        "thinking" => format!(r#"{{"type":"thinking_delta","thinking":"{delta}"}}"#),
        "signature" => format!(r#"{{"type":"signature_delta","signature":"{delta}"}}"#),
        _ => format!(r#"{{"type":"input_json_delta","partial_json":"{delta}"}}"#),
    };
    let more = match kind {
        "ping" => event("ping", r#"{"type":"ping"}"#),
        "comments" => ": c\n\n".to_owned(),
        "calls" => open.clone() + &event("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
        _ => event(
            "content_block_delta",
            &format!(r#"{{"type":"content_block_delta","index":0,"delta":{body}}}"#),
        ),
    };
    (start + &open, more)
}

/// A server that sends the same text forever, after a start with or without the head. Notifies about the first request.
async fn endless(start: String, more: String) -> (String, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let begun = Arc::new(Notify::new());
    let notify = Arc::clone(&begun);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (start, more, notify) = (start.clone(), more.repeat(64), Arc::clone(&notify));
            tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 20];
                let read = socket.read(&mut buffer).await.unwrap_or(0);
                assert!(read > 0);
                let head = match start.starts_with("HTTP/") {
                    true => "",
                    false => "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
                };
                let mut sent = socket.write_all(format!("{head}{start}").as_bytes()).await;
                for count in 0_usize.. {
                    // By now hew reads continuously.
                    if count * more.len() > 1 << 20 {
                        notify.notify_one();
                    }
                    if sent.is_err() {
                        break;
                    }
                    sent = socket.write_all(more.as_bytes()).await;
                }
            });
        }
    });
    (url, begun)
}

fn hew(url: &str, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "sk")
        .current_dir(project.root())
        .args(["run", "--no-title", "-m", "anthropic/claude-sonnet-4-6", "go"])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_reply_is_stopped() {
    let project = Project::new(&[]).unwrap();
    for (kind, code, message) in [
        ("text", 1, "it is longer than"),
        ("thinking", 1, "it is longer than"),
        ("tool", 1, "it is longer than"),
        ("signature", 1, "it is longer than 32 MB"),
        ("calls", 3, "it contains more than 256 tool calls"),
    ] {
        let (start, more) = stream(kind, &"x".repeat(2_000));
        let (url, _) = endless(start, more).await;
        let output = hew(&url, &project).run().await.unwrap();
        assert_eq!(output.code(), Some(code), "{kind}: {}", output.stderr);
        let message = format!("was stopped: {message}");
        assert!(output.stderr.contains(&message), "{kind}: {}", output.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_hew_during_any_stream() {
    let project = Project::new(&[]).unwrap();
    let kinds = [
        "text",
        "thinking",
        "tool",
        "ping",
        "comments",
        "calls",
        "chunks",
        "responses",
    ];
    for kind in kinds {
        let (start, more) = match kind {
            "responses" => (
                "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
                "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
            ),
            "chunks" => (
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
                "1\r\n:\r\n".to_owned(),
            ),
            _ => stream(kind, "x"),
        };
        let (url, begun) = endless(start, more).await;
        let running = hew(&url, &project).timeout(Duration::from_secs(60)).spawn().unwrap();
        begun.notified().await;
        running.terminate().unwrap();
        let output = running.wait().await.unwrap();
        assert_eq!(output.code(), Some(143), "{kind}: {}", output.stderr);
    }
}
