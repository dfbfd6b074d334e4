//! Converse requests and replies.

use super::*;
use crate::sse::SseEvent;
use model::Role;
use model::{Chunk, Part, Reply, Stop, ToolOutcome, Wire};
use std::sync::Arc;

fn render(request: &Request) -> Value {
    let info = crate::tests::info(Wire::BedrockConverse, "us.amazon.nova-pro-v1:0");
    let settings = ProviderSettings::new("bedrock", Wire::BedrockConverse, "http://127.0.0.1");
    let pieces = body(request, &info, &settings, &mut WireCache::default(), &mut Vec::new());
    serde_json::from_slice(&pieces.concat()).unwrap()
}

fn call(id: &str) -> Part {
    Part::ToolCall {
        id: id.into(),
        name: "read_file".into(),
        input: json!({"path": "a"}),
        malformed: None,
        replay: None,
    }
}

fn result(id: &str) -> Part {
    Part::ToolResult {
        id: id.into(),
        name: "read_file".into(),
        content: Vec::new(),
        outcome: ToolOutcome::Error,
    }
}

#[test]
fn a_request_has_the_documented_fields() {
    let call = Message {
        role: Role::Assistant,
        parts: vec![Part::text("I look."), call("c:1")],
    };
    let result = Message {
        role: Role::User,
        parts: vec![result("c:1"), Part::text(" ")],
    };
    let request = Request {
        system: vec!["Be short.".into()],
        tools: [ToolSpec {
            name: "read_file".into(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
        }]
        .into(),
        messages: vec![
            Arc::new(Message::user("Hi")),
            Arc::new(call),
            Arc::new(result),
            Arc::new(Message::user("Continue")),
        ]
        .into(),
        max_output: Some(100),
        tool_choice: ToolChoice::Required,
        ..Request::default()
    };
    assert_eq!(
        render(&request),
        json!({
            "system": [{"text": "Be short."}],
            "inferenceConfig": {"maxTokens": 100},
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "read_file", "description": "read_file", "inputSchema": {"json": {"type": "object"}}}}],
                "toolChoice": {"any": {}},
            },
            "messages": [
                {"role": "user", "content": [{"text": "Hi"}]},
                {"role": "assistant", "content": [{"text": "I look."}, {"toolUse": {"toolUseId": "c_1", "name": "read_file", "input": {"path": "a"}}}]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": "c_1", "content": [{"text": "(no output)"}], "status": "error"}},
                    {"text": "Continue"},
                ]},
            ],
        })
    );
    let info = crate::tests::info(Wire::BedrockConverse, "us.amazon.nova-pro-v1:0");
    let settings = ProviderSettings::new("bedrock", Wire::BedrockConverse, "");
    assert_eq!(
        path(&info, &settings),
        "/model/us.amazon.nova-pro-v1%3A0/converse-stream"
    );
}

fn decode(events: &[(&str, Value)]) -> (Vec<Chunk>, Result<(), model::Error>) {
    let mut decoder = ConverseDecoder::new("bedrock");
    let mut out = Vec::new();
    for (name, data) in events {
        let event = SseEvent {
            name: Some((*name).into()),
            data: data.to_string(),
        };
        if let Err(error) = decoder.event(&event, &mut out) {
            return (out, Err(error));
        }
    }
    let end = decoder.finish(&mut out);
    (out, end)
}

#[test]
fn a_reply_with_reasoning_text_and_calls_is_decoded() {
    let delta = |index: u64, delta: Value| ("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}));
    let events = [
        ("messageStart", json!({"role": "assistant"})),
        delta(0, json!({"reasoningContent": {"text": "hm"}})),
        delta(0, json!({"reasoningContent": {"signature": "s"}})),
        ("contentBlockStop", json!({"contentBlockIndex": 0})),
        delta(1, json!({"text": "Now "})),
        delta(1, json!({"text": "this."})),
        ("contentBlockStop", json!({"contentBlockIndex": 1})),
        (
            "contentBlockStart",
            json!({"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "read_file"}}}),
        ),
        delta(2, json!({"toolUse": {"input": "{\"path\":"}})),
        delta(2, json!({"toolUse": {"input": "\"a\"}"}})),
        ("contentBlockStop", json!({"contentBlockIndex": 2})),
        (
            "contentBlockStart",
            json!({"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "t1", "name": "now"}}}),
        ),
        ("contentBlockStop", json!({"contentBlockIndex": 3})),
        ("messageStop", json!({"stopReason": "tool_use"})),
        (
            "metadata",
            json!({"usage": {"inputTokens": 5, "outputTokens": 7, "cacheReadInputTokens": 2}, "metrics": {"latencyMs": 1}}),
        ),
    ];
    let (chunks, end) = decode(&events);
    assert!(end.is_ok());
    let mut reply = Reply::default();
    chunks.into_iter().for_each(|chunk| reply.push(chunk));
    assert_eq!(reply.stop, Some(Stop::ToolUse));
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cache_read), (5, 7, 2));
    let message = reply.into_message();
    let calls: Vec<_> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, name, input, .. } => Some((id.clone(), name.as_str(), input.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        (calls[0].1, &calls[0].2, calls[1].1, &calls[1].2),
        ("read_file", &json!({"path": "a"}), "now", &json!({}))
    );
    assert_ne!(calls[0].0, calls[1].0);
    // The reasoning goes back with its signature.
    let request = Request {
        messages: vec![Arc::new(Message::user("x")), Arc::new(message)].into(),
        ..Request::default()
    };
    assert_eq!(
        render(&request)["messages"][1]["content"][0],
        json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}})
    );
}

#[test]
fn other_ends_are_classified() {
    let stop = |reason: &str| {
        let (chunks, end) = decode(&[("messageStop", json!({"stopReason": reason}))]);
        end.ok().and_then(|()| chunks.last().cloned())
    };
    assert_eq!(stop("end_turn"), Some(Chunk::Stop(Stop::End)));
    assert_eq!(stop("max_tokens"), Some(Chunk::Stop(Stop::MaxTokens)));
    assert!(matches!(
        stop("content_filtered"),
        Some(Chunk::Stop(Stop::Refusal { .. }))
    ));
    assert_eq!(stop("malformed_tool_use"), None);
    assert!(decode(&[]).1.is_err(), "cut");
    let twice = [("messageStart", json!({})), ("messageStart", json!({}))];
    assert!(decode(&twice).1.is_err());
}
