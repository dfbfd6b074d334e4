//! Tests of the Chat Completions wire.

use super::{ResponsesDecoder, body, path};
use crate::presets::{self, Quirks};
use crate::settings::ProviderSettings;
use crate::sse::SseEvent;
use crate::tests::info;
use crate::wire_cache::WireCache;
use bytes::Bytes;
use model::{
    Block, Chunk, Effort, Error, Media, Message, OutputSchema, Part, ReplayData, Reply, Request, Role, Stop,
    ToolOutcome, ToolSpec, Wire,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn read(events: &[Value]) -> Result<(Vec<Part>, Reply), Error> {
    let mut decoder = ResponsesDecoder::new("openai");
    let mut out = Vec::new();
    for event in events {
        let event = SseEvent {
            name: None,
            data: event.to_string(),
        };
        decoder.event(&event, &mut out)?;
    }
    decoder.finish(&mut out)?;
    assert!(matches!(out.last(), Some(Chunk::Stop(_))), "the stop is last: {out:?}");
    let mut reply = Reply::default();
    out.into_iter().for_each(|chunk| reply.push(chunk));
    Ok((reply.clone().into_message().parts, reply))
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "usage": {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 5}}}})
}

fn sent(request: &Request, settings: &ProviderSettings) -> Value {
    let info = info(Wire::OpenaiResponses, "gpt-5.4");
    let pieces = body(request, &info, settings, &mut WireCache::default(), &mut Vec::new());
    serde_json::from_slice(&pieces.concat()).unwrap()
}

fn openai() -> ProviderSettings {
    ProviderSettings::new("openai", Wire::OpenaiResponses, "https://api.openai.com/v1")
}

#[test]
fn a_reply_with_thinking_text_and_calls_is_decoded_and_sent_back_in_the_apis_format() {
    let reasoning = |encrypted: &str| {
        json!({"type": "reasoning", "id": "rs_1", "encrypted_content": encrypted, "summary": [
            {"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]})
    };
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1", "usage": null}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        json!({"type": "response.reasoning_summary_part.added", "summary_index": 0, "output_index": 0}),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "One."}),
        json!({"type": "response.reasoning_summary_part.added", "summary_index": 1, "output_index": 0}),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "Two."}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning("xyz")}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "msg_1", "content": []}}),
        json!({"type": "response.output_text.delta", "delta": "I "}),
        json!({"type": "response.output_text.delta", "delta": "look."}),
        json!({"type": "response.output_text.done", "text": "I look."}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "message", "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look."}]}}),
        json!({"type": "response.output_item.added", "output_index": 2,
            "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 2, "delta": "{\"p\":"}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 2, "delta": "\"a\"}"}),
        json!({"type": "response.output_item.done", "output_index": 2,
            "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{\"p\":\"a\"}"}}),
        completed(),
    ];
    let (parts, reply) = read(&events).unwrap();
    assert_eq!(reply.stop, Some(Stop::ToolUse));
    let usage = reply.usage.unwrap();
    assert_eq!(
        (usage.input, usage.cache_read, usage.output, usage.thinking),
        (40, 60, 20, 5)
    );
    let thoughts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(thoughts, ["One.", "Two."]);

    let answer = Part::ToolResult {
        id: "call_1".into(),
        name: "read".into(),
        content: vec![Block::text("x")],
        outcome: ToolOutcome::Ok,
    };
    let request = Request {
        messages: vec![
            Arc::new(Message::user("hi")),
            Arc::new(Message {
                role: Role::Assistant,
                parts,
            }),
            Arc::new(Message {
                role: Role::User,
                parts: vec![answer],
            }),
        ]
        .into(),
        ..Request::default()
    };
    let expected = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        reasoning("xyz"),
        {"type": "message", "role": "assistant", "content": "I look.", "phase": "commentary"},
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{\"p\":\"a\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "x"},
    ]);
    assert_eq!(sent(&request, &openai())["input"], expected);
    let other = ProviderSettings::new("azure", Wire::OpenaiResponses, "https://host/v1");
    assert_eq!(
        sent(&request, &other)["input"].as_array().unwrap().len(),
        4,
        "only the provider can decrypt it"
    );
}

#[test]
fn trailing_thinking_is_not_sent_back() {
    let thought = Part::Thinking {
        text: "hm".into(),
        replay: Some(ReplayData {
            wire: "openai-responses".into(),
            data: json!({"provider": "openai", "item": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}}),
        }),
    };
    let request = Request {
        messages: vec![
            Arc::new(Message {
                role: Role::Assistant,
                parts: vec![thought],
            }),
            Arc::new(Message::user("continue")),
        ]
        .into(),
        ..Request::default()
    };
    assert_eq!(sent(&request, &openai())["input"].as_array().unwrap().len(), 1);
}

#[test]
fn complete_items_without_deltas_are_decoded() {
    let events = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "id": "rs",
            "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "message",
            "content": [{"type": "output_text", "text": "yes"}]}}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": {"type": "function_call", "call_id": "c",
            "name": "read", "arguments": "{\"p\":1}"}}),
        json!({"type": "response.web_search_call.completed", "output_index": 3, "item_id": "ws"}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": {"type": "web_search_call", "action": {}}}),
        completed(),
    ];
    let (parts, reply) = read(&events).unwrap();
    assert!(
        matches!(&parts[0], Part::Thinking { text, .. } if text == "hm"),
        "{parts:?}"
    );
    assert!(
        matches!(&parts[1], Part::Text { text, .. } if text == "yes"),
        "{parts:?}"
    );
    assert!(
        matches!(&parts[2], Part::ToolCall { input, .. } if *input == json!({"p": 1})),
        "{parts:?}"
    );
    assert_eq!((parts.len(), reply.stop), (3, Some(Stop::ToolUse)));
}

#[test]
fn a_server_that_does_not_stream_is_supported() {
    let whole = json!({"type": "response.completed", "response": {"output": [
        {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "list", "arguments": "{}"},
    ]}});
    let (parts, reply) = read(&[whole]).unwrap();
    assert_eq!((parts.len(), reply.stop), (3, Some(Stop::ToolUse)));
}

#[test]
fn parallel_calls_stay_separate_and_two_messages_are_two_parts() {
    let added = |index: u64, item: &str| {
        json!({"type": "response.output_item.added", "output_index": index,
            "item": {"type": "function_call", "id": item, "call_id": format!("call_{item}"), "name": item}})
    };
    let input = |index: u64, delta: &str| json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": delta});
    let message =
        |index: u64| json!({"type": "response.output_item.added", "output_index": index, "item": {"type": "message"}});
    let text = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
    let events = [
        message(0),
        text("one"),
        message(1),
        text("two"),
        added(2, "a"),
        added(3, "b"),
        input(2, "{\"x\":1"),
        input(3, "{\"y\":2}"),
        input(2, "}"),
        completed(),
    ];
    let (parts, _) = read(&events).unwrap();
    let inputs: Vec<&Value> = parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { input, .. } => Some(input),
            _ => None,
        })
        .collect();
    assert_eq!(inputs, [&json!({"x": 1}), &json!({"y": 2})]);
    assert!(
        matches!(&parts[..2], [Part::Text { text: a, .. }, Part::Text { text: b, .. }] if a == "one" && b == "two"),
        "{parts:?}"
    );
}

#[test]
fn every_stop_reason_is_mapped() {
    let text = json!({"type": "response.output_text.delta", "delta": "x"});
    let incomplete =
        |reason: &str| json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}});
    let stop = |events: &[Value]| read(events).unwrap().1.stop.unwrap();
    assert_eq!(stop(&[text.clone(), completed()]), Stop::End);
    assert_eq!(stop(&[text.clone(), incomplete("max_output_tokens")]), Stop::MaxTokens);
    assert_eq!(
        stop(&[text.clone(), incomplete("content_filter")]),
        Stop::Refusal { detail: None }
    );
    let refusal = json!({"type": "response.refusal.delta", "delta": "No."});
    assert_eq!(
        stop(&[refusal, completed()]),
        Stop::Refusal {
            detail: Some("No.".into())
        }
    );
    let half = json!({"type": "response.output_item.done", "output_index": 0,
        "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\":", "status": "incomplete"}});
    let (parts, reply) = read(&[half, incomplete("max_output_tokens")]).unwrap();
    assert!(
        matches!(parts.as_slice(), [Part::ToolCall { malformed: Some(_), .. }]) && reply.stop == Some(Stop::MaxTokens),
        "{parts:?}"
    );
    let begun = json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}});
    let (parts, _) = read(&[begun.clone(), incomplete("max_output_tokens")]).unwrap();
    assert!(
        matches!(parts.as_slice(), [Part::ToolCall { malformed: Some(_), .. }]),
        "{parts:?}"
    );
    let second = json!({"type": "response.created", "response": {"id": "r2"}});
    assert!(matches!(read(&[begun, second]), Err(Error::InvalidResponse { .. })));

    assert!(matches!(
        read(std::slice::from_ref(&text)),
        Err(Error::StreamCut { .. })
    ));
    let failed = |code: &str, message: &str| {
        read(&[
            text.clone(),
            json!({"type": "response.failed", "response": {"error": {"code": code, "message": message}}}),
        ])
        .unwrap_err()
    };
    assert!(matches!(
        failed("context_length_exceeded", "too long"),
        Error::ContextOverflow { .. }
    ));
    assert!(matches!(failed("insufficient_quota", "pay"), Error::Refused { .. }));
    assert!(matches!(failed("server_error", "oops"), Error::Server { .. }));
    let limited = failed("rate_limit_exceeded", "Please try again in 11.054s.");
    assert!(
        matches!(
            limited,
            Error::RateLimited {
                retry_after: Some(_),
                ..
            }
        ),
        "{limited:?}"
    );
    for event in [
        json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": null}),
        json!({"type": "error", "error": {"type": "tokens", "code": "rate_limit_exceeded", "message": "slow"}}),
        json!({"error": {"type": "rate_limit_exceeded", "message": "slow"}}),
    ] {
        let error = read(&[event]).unwrap_err();
        assert!(matches!(error, Error::RateLimited { .. }), "{error:?}");
    }
}

#[test]
fn a_request_contains_all_fields_once() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let image = Media {
        mime: "image/png".into(),
        name: None,
        data: Bytes::from_static(b"png"),
    };
    let answer = Part::ToolResult {
        id: "c".into(),
        name: "read".into(),
        content: vec![Block::text("a picture"), Block::Media(image)],
        outcome: ToolOutcome::Ok,
    };
    let request = Request {
        tools: Arc::new([ToolSpec {
            name: "read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object"}),
        }]),
        system: vec!["Be brief.".into(), "Today is Monday.".into()],
        messages: vec![Arc::new(Message {
            role: Role::User,
            parts: vec![answer],
        })]
        .into(),
        max_output: Some(100),
        effort: Some(Effort::Max),
        temperature: Some(0.5),
        output_schema: Some(OutputSchema {
            name: "answer".into(),
            schema: schema.clone(),
        }),
        affinity: Some("session-1".into()),
        ..Request::default()
    };
    let expected = json!({
        "model": "gpt-5.4",
        "stream": true,
        "store": false,
        "instructions": "Be brief.\n\nToday is Monday.",
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto", "effort": "xhigh"},
        "max_output_tokens": 100,
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": true}},
        "prompt_cache_key": "session-1",
        "tools": [{"type": "function", "name": "read", "description": "Reads a file.", "parameters": {"type": "object"}, "strict": false}],
        "input": [{"type": "function_call_output", "call_id": "c", "output": [
            {"type": "input_text", "text": "a picture"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,cG5n"},
        ]}],
    });
    assert_eq!(sent(&request, &openai()), expected);
}

#[test]
fn azure_has_its_own_paths() {
    let mut settings = ProviderSettings::new("azure", Wire::OpenaiResponses, "https://r.openai.azure.com");
    settings.quirks = presets::preset("azure").map_or(Quirks::OPENAI, |preset| preset.quirks.clone());
    let info = info(Wire::OpenaiResponses, "dep");
    assert_eq!(path(&info, &settings), "/openai/v1/responses");
    settings.quirks.api_version = Some("2025-04-01-preview".into());
    assert_eq!(
        path(&info, &settings),
        "/openai/responses?api-version=2025-04-01-preview"
    );
    assert_eq!(path(&info, &openai()), "/responses");
}
