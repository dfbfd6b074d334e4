//! Requests to the Anthropic API and its streams.

use super::*;
use crate::sse::SseEvent;
use crate::tests::info;
use model::{Block, Chunk, Effort, Error, Media, OutputSchema, ReplayData, Reply, Stop, ToolOutcome, Usage, Wire};
use std::sync::Arc;

fn settings() -> ProviderSettings {
    ProviderSettings::new("anthropic", Wire::AnthropicMessages, "https://api.anthropic.com")
}

fn rendered(request: &Request, id: &str) -> Value {
    let mut notices = Vec::new();
    let info = info(Wire::AnthropicMessages, id);
    let pieces = body(request, &info, &settings(), &mut WireCache::default(), &mut notices);
    serde_json::from_slice(&pieces.concat()).unwrap()
}

fn message(role: Role, parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message { role, parts })
}

fn call(id: &str) -> Part {
    Part::ToolCall {
        id: id.into(),
        name: "read".into(),
        input: json!({"path": "a"}),
        malformed: None,
        replay: None,
    }
}

fn result(id: &str, text: &str, outcome: ToolOutcome) -> Part {
    Part::ToolResult {
        id: id.into(),
        name: "read".into(),
        content: vec![Block::text(text)],
        outcome,
    }
}

fn thinking(text: &str, data: Value) -> Part {
    Part::Thinking {
        text: text.into(),
        replay: Some(ReplayData {
            wire: "anthropic-messages".into(),
            data,
        }),
    }
}

fn conversation() -> Request {
    Request {
        tools: Arc::from([ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            input_schema: json!({"properties": {"path": {"type": "string"}}}),
        }]),
        system: vec!["stable".into(), " ".into(), "volatile".into()],
        messages: vec![
            message(Role::User, vec![Part::text("look"), Part::text("  ")]),
            message(
                Role::Assistant,
                vec![thinking("hm", json!({"signature": "s"})), call("a")],
            ),
            message(Role::Assistant, vec![call("b")]),
            message(Role::User, vec![Part::text("by the way")]),
            message(
                Role::User,
                vec![
                    result("a", "text", ToolOutcome::Ok),
                    result("b", "", ToolOutcome::Error),
                ],
            ),
        ]
        .into(),
        breakpoints: vec![
            Breakpoint::Tools,
            Breakpoint::System(2),
            Breakpoint::Message(2),
            Breakpoint::Message(4),
        ],
        ..Request::default()
    }
}

#[test]
fn a_conversation_has_merged_turns_results_first_and_cache_breakpoints() {
    let mark = json!({"type": "ephemeral"});
    let tool_use = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}});
    let mut marked_use = tool_use("b");
    marked_use["cache_control"] = mark.clone();
    assert_eq!(
        rendered(&conversation(), "claude-sonnet-4-5"),
        json!({
            "model": "claude-sonnet-4-5",
            "stream": true,
            "max_tokens": 64000,
            "tools": [{
                "name": "read",
                "description": "Reads.",
                "input_schema": {"properties": {"path": {"type": "string"}}, "type": "object"},
                "cache_control": mark,
            }],
            "system": [
                {"type": "text", "text": "stable"},
                {"type": "text", "text": "volatile", "cache_control": mark},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "look"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"}, tool_use("a"), marked_use,
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "text"}]},
                    {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "(no output)"}],
                     "is_error": true, "cache_control": mark},
                    {"type": "text", "text": "by the way"},
                ]},
            ],
        })
    );
}

#[test]
fn at_most_four_breakpoints_are_set_and_none_if_the_model_has_no_cache() {
    let mut request = conversation();
    request.breakpoints = (0..5).map(Breakpoint::Message).chain([Breakpoint::Tools]).collect();
    let count = |request: &Request, info: &Info| {
        let pieces = body(request, info, &settings(), &mut WireCache::default(), &mut Vec::new());
        String::from_utf8(pieces.concat())
            .unwrap()
            .matches("cache_control")
            .count()
    };
    let mut model = info(Wire::AnthropicMessages, "claude-sonnet-4-5");
    assert_eq!(count(&request, &model), 4);
    model.features.caching = false;
    assert_eq!(count(&request, &model), 0);
}

#[test]
fn a_longer_conversation_keeps_the_bytes_sent_before() {
    let info = info(Wire::AnthropicMessages, "claude-sonnet-4-5");
    let mut request = conversation();
    Arc::make_mut(&mut request.messages)[0] = message(Role::User, vec![Part::text("x".repeat(10_000))]);
    request.breakpoints = vec![Breakpoint::Message(4)];
    let mut cache = WireCache::default();
    let first = body(&request, &info, &settings(), &mut cache, &mut Vec::new());
    let messages = Arc::make_mut(&mut request.messages);
    messages.push(message(Role::Assistant, vec![Part::text("done")]));
    messages.push(message(Role::User, vec![Part::text("more")]));
    request.breakpoints = vec![Breakpoint::Message(6)];
    let second = body(&request, &info, &settings(), &mut cache, &mut Vec::new());
    let large = |pieces: &[Bytes]| {
        pieces
            .iter()
            .find(|piece| piece.len() > 9_000)
            .map(|piece| piece.as_ptr())
    };
    assert_eq!(large(&first), large(&second));
    let fresh = body(&request, &info, &settings(), &mut WireCache::default(), &mut Vec::new());
    assert_eq!(second.concat(), fresh.concat());
}

#[test]
fn thinking_is_sent_back_only_if_signed_by_this_vendor() {
    let foreign = Part::Thinking {
        text: "t".into(),
        replay: Some(ReplayData {
            wire: "openai-responses".into(),
            data: json!({"signature": "x"}),
        }),
    };
    let unsigned = Part::Thinking {
        text: "t".into(),
        replay: None,
    };
    let request = Request {
        messages: vec![
            message(Role::User, vec![Part::text("hi")]),
            message(Role::Assistant, vec![foreign, unsigned.clone()]),
            message(
                Role::Assistant,
                vec![thinking("", json!({"redacted": "blob"})), unsigned, Part::text("yes")],
            ),
        ]
        .into(),
        ..Request::default()
    };
    assert_eq!(
        rendered(&request, "claude-sonnet-4-5")["messages"][1]["content"],
        json!([{"type": "redacted_thinking", "data": "blob"}, {"type": "text", "text": "yes"}])
    );
}

#[test]
fn each_generation_gets_its_own_thinking_parameters() {
    let asked = |id: &str, effort: Effort, tool_choice: ToolChoice| {
        let request = Request {
            effort: Some(effort),
            temperature: Some(0.5),
            tool_choice,
            messages: vec![message(Role::User, vec![Part::text("hi")])].into(),
            tools: conversation().tools,
            ..Request::default()
        };
        let body = rendered(&request, id);
        [
            body["thinking"].clone(),
            body["output_config"].clone(),
            body["temperature"].clone(),
        ]
    };
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let budget = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let effort = |word: &str| json!({ "effort": word });
    let none = Value::Null;
    let auto = || ToolChoice::Auto;
    assert_eq!(
        asked("claude-opus-4-6", Effort::Max, auto()),
        [adaptive.clone(), effort("max"), none.clone()]
    );
    assert_eq!(
        asked("claude-sonnet-5", Effort::Low, auto()),
        [adaptive, effort("low"), none.clone()]
    );
    assert_eq!(
        asked("claude-opus-4-7", Effort::None, auto()),
        [none.clone(), effort("low"), none.clone()]
    );
    assert_eq!(
        asked("claude-sonnet-4-5", Effort::High, auto()),
        [budget(24_576), none.clone(), none.clone()]
    );
    assert_eq!(
        asked("claude-sonnet-4-5", Effort::None, auto()),
        [none.clone(), none.clone(), none.clone()]
    );
    assert_eq!(
        asked("claude-sonnet-4-5", Effort::High, ToolChoice::Required),
        [none.clone(), none.clone(), none.clone()]
    );
    assert_eq!(
        asked("claude-opus-4-6", Effort::High, ToolChoice::Required),
        [none.clone(), effort("high"), none.clone()]
    );

    assert_eq!(
        asked("imitation", Effort::None, auto()),
        [none.clone(), none, json!(0.5)]
    );

    let request = Request {
        effort: Some(Effort::High),
        ..Request::default()
    };
    let betas = |id: &str| super::betas(&request, &info(Wire::AnthropicMessages, id), &settings());
    assert_eq!(betas("claude-sonnet-4-5"), ["interleaved-thinking-2025-05-14"]);
    assert!(betas("claude-opus-4-6").is_empty() && betas("claude-3-7-sonnet").is_empty());
}

#[test]
fn a_turn_that_started_without_thinking_continues_without_it_on_models_with_budgets() {
    let mut request = conversation();
    request.effort = Some(Effort::Low);
    assert_eq!(rendered(&request, "claude-sonnet-4-5")["thinking"]["type"], "enabled");
    Arc::make_mut(&mut request.messages)[1] = message(Role::Assistant, vec![call("a")]);
    assert_eq!(rendered(&request, "claude-sonnet-4-5").get("thinking"), None);
    assert_eq!(rendered(&request, "claude-opus-4-6")["thinking"]["type"], "adaptive");
}

#[test]
fn unsupported_attachments_are_omitted_with_a_notice() {
    let media = |mime: &str, name: &str| {
        Part::Media(Media {
            mime: mime.into(),
            name: Some(name.into()),
            data: Bytes::from_static(b"data"),
        })
    };
    let request = Request {
        messages: vec![message(
            Role::User,
            vec![
                media("image/png", "a.png"),
                media("application/pdf", "b.pdf"),
                media("text/plain", "c.txt"),
                media("video/mp4", "d.mp4"),
            ],
        )]
        .into(),
        ..Request::default()
    };
    let mut model = info(Wire::AnthropicMessages, "m");
    let read = |model: &Info| {
        let mut notices = Vec::new();
        let pieces = body(&request, model, &settings(), &mut WireCache::default(), &mut notices);
        let body: Value = serde_json::from_slice(&pieces.concat()).unwrap();
        let blocks = body["messages"][0]["content"].as_array().unwrap().clone();
        let kinds: Vec<String> = blocks
            .iter()
            .map(|block| block["type"].as_str().unwrap().to_string())
            .collect();
        (kinds, notices)
    };
    let (kinds, notices) = read(&model);
    assert_eq!(kinds, ["image", "document", "text", "text"]);
    assert_eq!(notices, ["m cannot take video/mp4; d.mp4 was left out"]);
    model.features.images = false;
    model.features.pdf = false;
    let (kinds, notices) = read(&model);
    assert_eq!(kinds, ["text", "text", "text", "text"]);
    assert_eq!(notices.len(), 3);
}

#[test]
fn a_schema_is_native_since_4_5_and_an_instruction_before_that() {
    let request = Request {
        effort: Some(Effort::High),
        output_schema: Some(OutputSchema {
            name: "answer".into(),
            schema: json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        }),
        messages: vec![message(Role::User, vec![Part::text("hi")])].into(),
        ..Request::default()
    };
    let body = rendered(&request, "claude-opus-4-6");
    assert_eq!(body["output_config"]["effort"], "high");
    assert_eq!(body["output_config"]["format"]["schema"]["additionalProperties"], false);
    let body = rendered(&request, "claude-sonnet-4-20250514");
    assert_eq!(body.get("output_config"), None);
    assert!(body["system"][0]["text"].as_str().unwrap().contains("\"integer\""));
}

#[test]
fn options_reach_the_body_and_betas_the_header() {
    let mut settings = settings();
    settings.options = json!({"top_k": 5, "anthropic_beta": ["b-1"], "messages": [], "max_tokens": 9})
        .as_object()
        .unwrap()
        .clone();
    let request = conversation();
    let info = info(Wire::BedrockAnthropic, "anthropic.claude-sonnet-4-5-v1:0");
    let read = |envelope| -> Value {
        let pieces = render(
            &request,
            &info,
            &settings,
            &mut WireCache::default(),
            &mut Vec::new(),
            envelope,
        );
        serde_json::from_slice(&pieces.concat()).unwrap()
    };
    let direct = read(Envelope::Anthropic);
    assert_eq!((&direct["top_k"], &direct["max_tokens"]), (&json!(5), &json!(9)));
    assert_eq!(direct.get("anthropic_beta"), None);
    assert_eq!(direct["messages"].as_array().unwrap().len(), 3);
    assert_eq!(betas(&request, &info, &settings), ["b-1"]);
    let bedrock = read(Envelope::Bedrock);
    assert_eq!(bedrock["anthropic_beta"], json!(["b-1"]));
    assert_eq!(bedrock["anthropic_version"], "bedrock-2023-05-31");
    assert!(bedrock.get("model").is_none() && bedrock.get("stream").is_none());
    let vertex = read(Envelope::Vertex);
    assert_eq!(
        (&vertex["anthropic_version"], &vertex["stream"]),
        (&json!("vertex-2023-10-16"), &json!(true))
    );
    assert!(vertex.get("model").is_none());
}

fn decode(events: &[Value]) -> (Reply, Result<(), Error>) {
    let mut decoder = AnthropicDecoder::new("anthropic");
    let mut out = Vec::new();
    let mut outcome = Ok(());
    for event in events {
        let event = SseEvent {
            name: None,
            data: event.to_string(),
        };
        outcome = outcome.and_then(|()| decoder.event(&event, &mut out));
    }
    outcome = outcome.and_then(|()| decoder.finish(&mut out));
    let mut reply = Reply::default();
    let stops = out.iter().filter(|chunk| matches!(chunk, Chunk::Stop(_))).count();
    assert!(stops <= 1 && (stops == 0 || matches!(out.last(), Some(Chunk::Stop(_)))));
    out.into_iter().for_each(|chunk| reply.push(chunk));
    (reply, outcome)
}

fn end(reason: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn redacted_and_empty_thinking_and_interleaved_blocks_stay_separate() {
    let start =
        |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1,
            "cache_read_input_tokens": 10, "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}}}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "signature_delta", "signature": "si"})),
        delta(0, json!({"type": "signature_delta", "signature": "g"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "blob"})),
        stop(1),
        json!({"type": "ping"}),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "a"})),
        // Interleaved blocks, as some gateways send them.
        start(3, json!({"type": "tool_use", "id": "t", "name": "f", "input": {}})),
        delta(2, json!({"type": "citations_delta", "citation": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"x\":"})),
        start(
            4,
            json!({"type": "tool_use", "id": "t", "name": "g", "input": {"whole": 1}}),
        ),
        delta(3, json!({"type": "input_json_delta", "partial_json": "1}"})),
        stop(2),
        stop(3),
        start(
            5,
            json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        ),
        delta(5, json!({"type": "input_json_delta", "partial_json": "{}"})),
        stop(5),
        json!({"type": "invented_later"}),
    ];
    events.extend(end("tool_use"));
    let (reply, outcome) = decode(&events);
    outcome.unwrap();
    assert_eq!(reply.stop, Some(Stop::ToolUse));
    assert_eq!(
        reply.usage,
        Some(Usage {
            input: 3,
            cache_read: 10,
            cache_write: 10,
            cache_write_1h: 20,
            output: 7,
            ..Usage::default()
        })
    );
    let parts = reply.into_message().parts;
    assert_eq!(parts[0], thinking("", json!({"signature": "sig"})));
    assert_eq!(parts[1], thinking("", json!({"redacted": "blob"})));
    assert_eq!(parts[2], Part::text("a"));
    let calls: Vec<(&str, &Value)> = parts[3..]
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, input, .. } => Some((id.as_str(), input)),
            _ => None,
        })
        .collect();
    assert_eq!(calls[0], ("t", &json!({"x": 1})));
    assert_eq!(calls[1].1, &json!({"whole": 1}));
    assert!(calls.len() == 2 && calls[1].0 != "t");
}

#[test]
fn two_messages_in_one_stream_are_never_merged() {
    let start =
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}});
    let text = |text: &str| {
        vec![
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
        ]
    };
    let one = || [vec![start.clone()], text("one")].concat();
    let two = || [vec![start.clone()], text("two"), end("end_turn")].concat();
    // Within the first message.
    let (_, outcome) = decode(&[one(), two()].concat());
    assert!(matches!(outcome, Err(Error::InvalidResponse { .. })), "{outcome:?}");
    // After it.
    let (reply, outcome) = decode(&[one(), end("end_turn"), two()].concat());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(reply.into_message().text(), "one");
    // A repeated start is harmless.
    let (reply, outcome) = decode(&[vec![start.clone()], two()].concat());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(reply.into_message().text(), "two");
}

#[test]
fn every_stop_reason_is_decoded() {
    let cases = [
        ("end_turn", Stop::End),
        ("stop_sequence", Stop::End),
        ("tool_use", Stop::ToolUse),
        ("max_tokens", Stop::MaxTokens),
        ("model_context_window_exceeded", Stop::MaxTokens),
        ("refusal", Stop::Refusal { detail: None }),
        (
            "pause_turn",
            Stop::Other {
                word: "pause_turn".into(),
            },
        ),
    ];
    for (word, stop) in cases {
        assert_eq!(decode(&end(word)).0.stop, Some(stop), "{word}");
    }
    let refusal = json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": null}}, "usage": {"output_tokens": 1}});
    let detail = Some("cyber".to_string());
    assert_eq!(decode(&[refusal]).0.stop, Some(Stop::Refusal { detail }));
}

#[test]
fn a_stream_without_an_end_is_incomplete_and_an_error_event_is_an_error() {
    let text = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}});
    assert!(matches!(
        decode(std::slice::from_ref(&text)).1,
        Err(Error::StreamCut { .. })
    ));
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let (reply, outcome) = decode(&[text, error]);
    assert!(matches!(outcome, Err(Error::Overloaded { .. })));
    assert_eq!(reply.into_message().parts, vec![Part::text("a")]);
    assert!(matches!(decode(&[json!("text")]).1, Err(Error::InvalidResponse { .. })));
}
