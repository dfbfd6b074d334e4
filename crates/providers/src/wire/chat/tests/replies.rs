//! Decoding of handwritten streams.

use crate::presets::{Quirks, preset};
use crate::sse::SseEvent;
use crate::wire::chat::ChatDecoder;
use model::{Chunk, Cost, Error, Part, Reply, Stop, Usage};
use serde_json::{Value, json};

fn read(provider: &str, events: &[Value]) -> Result<(Vec<Part>, Stop, Reply), Error> {
    let data: Vec<String> = events
        .iter()
        .map(Value::to_string)
        .chain(["[DONE]".to_string()])
        .collect();
    read_data(provider, &data)
}

fn read_data(provider: &str, data: &[String]) -> Result<(Vec<Part>, Stop, Reply), Error> {
    let mut decoder = ChatDecoder::new(provider);
    decoder.apply_quirks(&preset(provider).map_or(Quirks::COMPATIBLE, |preset| preset.quirks.clone()));
    let mut out = Vec::new();
    for data in data {
        let event = SseEvent {
            name: None,
            data: data.clone(),
        };
        decoder.event(&event, &mut out)?;
    }
    decoder.finish(&mut out)?;
    let stops = out.iter().filter(|chunk| matches!(chunk, Chunk::Stop(_))).count();
    assert!(
        stops == 1 && matches!(out.last(), Some(Chunk::Stop(_))),
        "the stop is last: {out:?}"
    );
    let mut reply = Reply::default();
    out.into_iter().for_each(|chunk| reply.push(chunk));
    let stop = reply.stop.clone().unwrap();
    Ok((reply.clone().into_message().parts, stop, reply))
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn call(index: Value, id: Value, name: Value, arguments: Value) -> Value {
    delta(json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}))
}

/// Names, inputs and whether the ids are the server's.
fn calls(parts: &[Part]) -> Vec<(String, Value, String)> {
    let ids: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "ids are unique: {ids:?}");
    assert!(ids.iter().all(|id| !id.is_empty()));
    parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, name, input, .. } => Some((name.clone(), input.clone(), id.to_string())),
            _ => None,
        })
        .collect()
}

#[test]
fn tool_calls_are_assembled_despite_wrong_indices_and_ids() {
    let null = Value::Null;
    let a = || ("read".to_string(), json!({"p": "a"}));
    let b = || ("list".to_string(), json!({"p": "b"}));
    let cases: Vec<(&str, Vec<Value>)> = vec![
        (
            "as documented",
            vec![
                call(json!(0), json!("c1"), json!("read"), json!("")),
                call(json!(0), null.clone(), null.clone(), json!("{\"p\":")),
                call(json!(0), null.clone(), null.clone(), json!("\"a\"}")),
                call(json!(1), json!("c2"), json!("list"), json!("")),
                call(json!(1), null.clone(), null.clone(), json!("{\"p\":\"b\"}")),
            ],
        ),
        (
            "interleaved",
            vec![
                call(json!(0), json!("c1"), json!("read"), json!("{\"p\":")),
                call(json!(1), json!("c2"), json!("list"), json!("{\"p\":")),
                call(json!(0), null.clone(), null.clone(), json!("\"a\"}")),
                call(json!(1), null.clone(), null.clone(), json!("\"b\"}")),
            ],
        ),
        (
            "no index, whole calls",
            vec![
                call(null.clone(), json!("c1"), json!("read"), json!("{\"p\":\"a\"}")),
                call(null.clone(), json!("c2"), json!("list"), json!("{\"p\":\"b\"}")),
            ],
        ),
        (
            "one index for all, whole calls",
            vec![
                call(json!(0), json!("c1"), json!("read"), json!("{\"p\":\"a\"}")),
                call(json!(0), json!("c2"), json!("list"), json!("{\"p\":\"b\"}")),
            ],
        ),
        (
            "one index for all, ids in every delta",
            vec![
                call(json!(0), json!("c1"), json!("read"), json!("{\"p\":")),
                call(json!(0), json!("c1"), null.clone(), json!("\"a\"}")),
                call(json!(0), json!("c2"), json!("list"), json!("{\"p\":")),
                call(json!(0), json!("c2"), null.clone(), json!("\"b\"}")),
            ],
        ),
        (
            "ids and names in every delta",
            vec![
                call(json!(0), json!("c1"), json!("read"), json!("{\"p\":")),
                call(json!(0), json!("c1"), json!("read"), json!("\"a\"}")),
                call(json!(1), json!("c2"), json!("list"), json!("{\"p\":")),
                call(json!(1), json!("c2"), json!("list"), json!("\"b\"}")),
            ],
        ),
        (
            "a new id in every delta",
            vec![
                call(json!(0), json!("c1"), json!("read"), json!("{\"p\":")),
                call(json!(0), json!("x1"), null.clone(), json!("\"a\"}")),
                call(json!(1), json!("c2"), json!("list"), json!("{\"p\":")),
                call(json!(1), json!("x2"), null.clone(), json!("\"b\"}")),
            ],
        ),
        (
            "empty ids",
            vec![
                call(json!(0), json!(""), json!("read"), json!("{\"p\":\"a\"}")),
                call(json!(1), json!(""), json!("list"), json!("{\"p\":\"b\"}")),
            ],
        ),
        (
            "the same id twice",
            vec![
                call(json!(0), json!("c"), json!("read"), json!("{\"p\":\"a\"}")),
                call(json!(1), json!("c"), json!("list"), json!("{\"p\":\"b\"}")),
            ],
        ),
        (
            "neither index nor id",
            vec![
                call(null.clone(), null.clone(), json!("read"), json!("{\"p\":")),
                call(null.clone(), null.clone(), null.clone(), json!("\"a\"}")),
                call(null.clone(), null.clone(), json!("list"), json!("{\"p\":\"b\"}")),
            ],
        ),
        (
            "the input as an object",
            vec![
                call(json!(0), json!("c1"), json!("read"), json!({"p": "a"})),
                call(json!(1), json!("c2"), json!("list"), json!({"p": "b"})),
            ],
        ),
        (
            "several calls in one delta",
            vec![delta(json!({"tool_calls": [
                {"id": "c1", "function": {"name": "read", "arguments": "{\"p\":\"a\"}"}},
                {"id": "c2", "function": {"name": "list", "arguments": "{\"p\":\"b\"}"}},
            ]}))],
        ),
        (
            "the name after the input began",
            vec![
                call(json!(0), json!("c1"), null.clone(), json!("{\"p\":")),
                call(json!(0), null.clone(), json!("read"), json!("\"a\"}")),
                call(json!(1), json!("c2"), json!("list"), json!("{\"p\":\"b\"}")),
            ],
        ),
    ];
    for (case, mut events) in cases {
        for reason in ["tool_calls", "stop"] {
            events.push(finish(reason));
            let (parts, stop, _) = read("openai", &events).unwrap();
            events.pop();
            let found: Vec<(String, Value)> = calls(&parts)
                .into_iter()
                .map(|(name, input, _)| (name, input))
                .collect();
            assert_eq!(found, vec![a(), b()], "{case}");
            assert_eq!(stop, Stop::ToolUse, "{case}");
        }
    }
}

#[test]
fn a_call_ends_as_soon_as_the_next_one_starts() {
    let mut decoder = ChatDecoder::new("openai");
    let mut out = Vec::new();
    let events = [
        call(json!(0), json!("c1"), json!("read"), json!("{\"p\": 1}")),
        call(json!(1), json!("c2"), json!("list"), json!("{")),
    ];
    for event in events {
        let event = SseEvent {
            name: None,
            data: event.to_string(),
        };
        decoder.event(&event, &mut out).unwrap();
    }
    let ended = out
        .iter()
        .position(|chunk| *chunk == Chunk::ToolEnd { id: "c1".into() });
    let begun = out
        .iter()
        .position(|chunk| matches!(chunk, Chunk::ToolStart { name, .. } if name == "list"));
    assert!(ended.is_some() && ended < begun, "{out:?}");
}

#[test]
fn a_call_truncated_at_the_output_limit_is_malformed() {
    let events = [
        call(json!(0), json!("c1"), json!("read"), json!("{\"p\":\"a\"}")),
        call(
            json!(1),
            json!("c2"),
            json!("write"),
            json!("{\"p\":\"b\", \"text\": \"hal"),
        ),
        call(json!(2), json!("c3"), json!("now"), json!("")),
        finish("length"),
    ];
    let (parts, stop, _) = read("openai", &events).unwrap();
    let malformed = parts.iter().map(|part| match part {
        Part::ToolCall { malformed, .. } => malformed.is_some(),
        _ => panic!("{part:?}"),
    });
    assert_eq!(malformed.collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(stop, Stop::MaxTokens);
}

#[test]
fn the_legacy_function_call_is_a_tool_call() {
    let events = [
        delta(json!({"function_call": {"name": "read", "arguments": ""}})),
        delta(json!({"function_call": {"arguments": "{\"p\": \"a\"}"}})),
        finish("function_call"),
    ];
    let (parts, stop, _) = read("openai", &events).unwrap();
    assert_eq!((calls(&parts)[0].0.as_str(), stop), ("read", Stop::ToolUse));
}

#[test]
fn thinking_is_found_in_every_field() {
    let cases = [
        (
            "deepseek",
            vec![
                delta(json!({"reasoning_content": "hm", "content": null})),
                delta(json!({"content": "yes"})),
            ],
        ),
        (
            "groq",
            vec![delta(json!({"reasoning": "hm"})), delta(json!({"content": "yes"}))],
        ),
        (
            "openrouter",
            vec![
                delta(
                    json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]}),
                ),
                delta(json!({"content": "yes"})),
            ],
        ),
        (
            "openrouter",
            vec![
                delta(json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm", "index": 0}]})),
                delta(json!({"content": "yes"})),
            ],
        ),
        (
            "vllm",
            vec![
                delta(json!({"reasoning": "hm", "reasoning_content": "hm"})),
                delta(json!({"content": "yes"})),
            ],
        ),
        (
            "lmstudio",
            vec![
                delta(json!({"content": "<thi"})),
                delta(json!({"content": "nk>hm</think>\n\nyes"})),
            ],
        ),
        (
            "a server of one's own",
            vec![delta(json!({"content": "<think>\nhm</think>yes"}))],
        ),
        (
            "mistral",
            vec![
                delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]})),
                delta(json!({"content": [{"type": "text", "text": "yes"}]})),
            ],
        ),
    ];
    for (provider, mut events) in cases {
        events.push(finish("stop"));
        let (parts, stop, _) = read(provider, &events).unwrap();
        assert!(
            matches!(&parts[0], Part::Thinking { text, .. } if text == "hm"),
            "{provider}: {parts:?}"
        );
        assert!(
            matches!(&parts[1], Part::Text { text, .. } if text == "yes"),
            "{provider}: {parts:?}"
        );
        assert_eq!((parts.len(), stop), (2, Stop::End), "{provider}");
    }
    let (parts, ..) = read(
        "openai",
        &[delta(json!({"content": "<think> is a tag"})), finish("stop")],
    )
    .unwrap();
    assert_eq!(parts, vec![Part::text("<think> is a tag")]);
}

#[test]
fn reasoning_details_are_assembled_and_stored_with_the_thinking() {
    let detail = |detail: Value| delta(json!({"reasoning_details": [detail]}));
    let events = [
        detail(json!({"type": "reasoning.text", "text": "a", "format": "anthropic-claude-v1", "index": 0})),
        detail(
            json!({"type": "reasoning.text", "text": "b", "signature": "sig", "format": "anthropic-claude-v1", "index": 0}),
        ),
        detail(json!({"type": "reasoning.text", "text": "c", "index": 0})),
        detail(json!({"type": "reasoning.encrypted", "data": "xyz", "id": "call-1", "index": 0})),
        delta(json!({"content": "yes"})),
        finish("stop"),
    ];
    let (parts, ..) = read("openrouter", &events).unwrap();
    let Part::Thinking {
        text,
        replay: Some(replay),
    } = &parts[0]
    else {
        panic!("{parts:?}")
    };
    assert_eq!(text, "abc");
    let expected = json!([
        {"type": "reasoning.text", "text": "ab", "format": "anthropic-claude-v1", "index": 0, "signature": "sig"},
        {"type": "reasoning.text", "text": "c", "index": 0},
        {"type": "reasoning.encrypted", "data": "xyz", "id": "call-1", "index": 0},
    ]);
    assert_eq!(replay.data["reasoning_details"], expected);
}

#[test]
fn usage_and_cost_are_found_in_every_field() {
    let plain = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    let usage = |input, cache_read, cache_write, output, thinking| Usage {
        input,
        cache_read,
        cache_write,
        output,
        thinking,
        ..Usage::default()
    };
    let cases: Vec<(Value, Usage, Option<f64>)> = vec![
        (json!({"choices": [], "usage": plain}), usage(100, 0, 0, 20, 0), None),
        (
            json!({"choices": [{"delta": {}, "usage": plain}]}),
            usage(100, 0, 0, 20, 0),
            None,
        ),
        (
            json!({"choices": [], "x_groq": {"usage": plain}}),
            usage(100, 0, 0, 20, 0),
            None,
        ),
        (
            json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}, "completion_tokens_details": null}}),
            usage(10, 60, 30, 20, 0),
            None,
        ),
        (
            json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 36, "completion_tokens_details": {"reasoning_tokens": 5}}}),
            usage(36, 64, 0, 20, 5),
            None,
        ),
        (
            json!({"choices": [], "usage": {"prompt_tokens": 100.0, "completion_tokens": null, "cached_tokens": 10}}),
            usage(90, 10, 0, 0, 0),
            None,
        ),
        (
            // Reasoning outside of the completion count: shown by the total, or by the numbers themselves.
            json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 130,
                "completion_tokens_details": {"reasoning_tokens": 10}, "cost_in_usd_ticks": 760_500}}),
            usage(100, 0, 0, 30, 10),
            Some(0.000_076_05),
        ),
        (
            json!({"choices": [], "usage": {"prompt_tokens": 28, "completion_tokens": 9, "total_tokens": 37,
                "completion_tokens_details": {"reasoning_tokens": 61}, "cost": "0.000896"}}),
            usage(28, 0, 0, 70, 61),
            Some(0.000_896),
        ),
        (
            json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.001, "is_byok": true,
                "cost_details": {"upstream_inference_cost": 0.02}}}),
            usage(1, 0, 0, 1, 0),
            Some(0.021),
        ),
    ];
    for (event, expected, cost) in cases {
        for late in [false, true] {
            let mut events = vec![delta(json!({"content": "x"})), finish("stop")];
            events.insert(if late { 2 } else { 1 }, event.clone());
            let (_, _, reply) = read("openrouter", &events).unwrap();
            assert_eq!(reply.usage, Some(expected), "{event}");
            assert_eq!(reply.cost, cost.map(Cost::from_usd), "{event}");
        }
    }
}

#[test]
fn every_stop_reason_is_decoded() {
    let refusal = |detail: Option<&str>| Stop::Refusal {
        detail: detail.map(str::to_string),
    };
    let cases = [
        ("stop", Stop::End),
        ("end_turn", Stop::End),
        ("tool_calls", Stop::End),
        ("length", Stop::MaxTokens),
        ("model_length", Stop::MaxTokens),
        ("content_filter", refusal(None)),
        ("sensitive", refusal(None)),
        ("eureka", Stop::Other { word: "eureka".into() }),
    ];
    for (reason, expected) in cases {
        let (_, stop, _) = read("openai", &[delta(json!({"content": "x"})), finish(reason)]).unwrap();
        assert_eq!(stop, expected, "{reason}");
    }
    let events = [
        delta(json!({"refusal": "I can"})),
        delta(json!({"refusal": "not."})),
        finish("stop"),
    ];
    let (parts, stop, _) = read("openai", &events).unwrap();
    assert_eq!((parts.len(), stop), (0, refusal(Some("I cannot."))));
    let (_, stop, _) = read("ollama", &[delta(json!({"content": "x"}))]).unwrap();
    assert_eq!(stop, Stop::End, "a missing reason");
    let (_, stop, _) = read("ollama", &[call(json!(0), json!("c"), json!("f"), json!("{}"))]).unwrap();
    assert_eq!(stop, Stop::ToolUse, "a missing reason after a call");
}

#[test]
fn a_stream_that_ends_early_is_incomplete() {
    let text = delta(json!({"content": "x"})).to_string();
    let half = call(json!(0), json!("c"), json!("f"), json!("{\"p\":")).to_string();
    let done = "[DONE]".to_string();
    for data in [vec![], vec![text.clone()], vec![done.clone()], vec![half, done]] {
        assert!(
            matches!(read_data("openai", &data), Err(Error::StreamCut { .. })),
            "{data:?}"
        );
    }
    // A stop reason suffices; not every server sends [DONE].
    assert!(read_data("openai", &[text, finish("stop").to_string()]).is_ok());
}

#[test]
fn errors_within_the_stream_are_classified() {
    let first = delta(json!({"content": "x"}));
    let read = |event: Value| read("openrouter", &[first.clone(), event]).unwrap_err();
    let overloaded = read(json!({"error": {"code": 503, "message": "no capacity"}, "choices": [
        {"delta": {"content": ""}, "finish_reason": "error"}]}));
    assert!(matches!(overloaded, Error::Overloaded { .. }), "{overloaded:?}");
    let limited = read(json!({"error": {"type": "rate_limit_exceeded", "message": "slow down"}}));
    assert!(matches!(limited, Error::RateLimited { .. }), "{limited:?}");
    let overflow = read(json!({"error": {"code": "context_length_exceeded", "message": "too long"}}));
    assert!(matches!(overflow, Error::ContextOverflow { .. }), "{overflow:?}");
    let server = read(json!({"object": "error", "message": "CUDA error", "code": 500}));
    assert!(matches!(server, Error::Server { .. }), "{server:?}");
    let bare = read(json!({"detail": "the worker died"}));
    assert!(bare.to_string().contains("the worker died"), "{bare:?}");
    for reason in ["error", "network_error"] {
        assert!(matches!(read(finish(reason)), Error::Server { .. }), "{reason}");
    }
    assert!(matches!(
        read(finish("insufficient_system_resource")),
        Error::Overloaded { .. }
    ));
    let garbled = read_data("openai", &["<html>".to_string()]).unwrap_err();
    assert!(matches!(garbled, Error::InvalidResponse { .. }), "{garbled:?}");
}

#[test]
fn a_server_that_does_not_stream_is_supported() {
    let whole = json!({"object": "chat.completion", "choices": [{"finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "Let me look.",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "read", "arguments": "{\"p\":\"a\"}"}}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    let (parts, stop, reply) = read("openai", &[whole]).unwrap();
    assert_eq!((parts.len(), stop), (2, Stop::ToolUse));
    assert_eq!(reply.usage.map(|usage| (usage.input, usage.output)), Some((3, 4)));
}

#[test]
fn extra_content_stays_with_its_call() {
    let extra = json!({"google": {"thought_signature": "sig"}});
    let event = delta(json!({"tool_calls": [{"index": 0, "id": "c", "extra_content": extra,
        "function": {"name": "read", "arguments": "{}"}}]}));
    let (parts, ..) = read("a gateway", &[event, finish("tool_calls")]).unwrap();
    let Part::ToolCall {
        replay: Some(replay), ..
    } = &parts[0]
    else {
        panic!("{parts:?}")
    };
    assert_eq!(
        replay.data,
        json!({"extra_content": {"google": {"thought_signature": "sig"}}})
    );
}
