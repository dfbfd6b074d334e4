//! Each wire's stream has the structure of the vendor's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{Script, Server, Stop, Thinking, Turn, Usage, Wire};

use crate::client::{HEADERS, Talk, ask, send};
use crate::reader::{StreamContent, events, kind, read_stream, shape};

#[tokio::test]
async fn recorded_requests_are_accepted_and_answered_in_the_recorded_format() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the recordings") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).expect("a recording");
            replay(&path.display().to_string(), &serde_json::from_str(&text).expect("JSON")).await;
            count += 1;
        }
    }
    assert_eq!(count, 11);
}

async fn replay(name: &str, recording: &Value) {
    let wire = match recording["api"].as_str().expect("an api") {
        "anthropic-messages" => Wire::Anthropic,
        "openai-chat" => Wire::Chat,
        "openai-responses" => Wire::Responses,
        "gemini" => Wire::Gemini,
        "bedrock-anthropic" => Wire::Bedrock,
        "vertex-anthropic" => Wire::Vertex,
        other => panic!("{name}: {other}?"),
    };
    let body = match recording["body"].as_str() {
        Some(body) => body.as_bytes().to_vec(),
        None => STANDARD
            .decode(recording["body_base64"].as_str().expect("a body"))
            .expect("base64"),
    };
    let recorded = read_stream(wire, &body);
    let has_thought =
        !recorded.signature.is_empty() || shape(wire, &body).iter().any(|kind| kind.ends_with("reasoning"));
    let mut turn = turn(&recording["expect"]);
    if has_thought {
        let signature = Some(recorded.signature.clone());
        turn.thinking = Some(Thinking {
            text: recorded.thinking.clone(),
            signature,
            redacted: false,
        });
    }
    let server = Server::start(Script::dynamic(move |_| turn.clone()).without_side_reply())
        .await
        .expect("starts");
    let query = if wire == Wire::Gemini { "?alt=sse" } else { "" };
    let path = format!("{}{query}", recording["path"].as_str().expect("a path"));
    let response = send(&server, "POST", &path, HEADERS, &recording["request"].to_string()).await;

    assert_eq!(response.status, 200, "{name}: {}", response.text());
    assert_eq!(
        response.header("content-type").map(ours),
        recording["content_type"].as_str().map(ours),
        "{name}"
    );
    assert_eq!(shape(wire, &response.body()), shape(wire, &body), "{name}");
    let mut answered = read_stream(wire, &response.body());
    for (ours, theirs) in answered.calls.iter_mut().zip(&recorded.calls) {
        ours.2 = serde_json::from_str::<Value>(&ours.2)
            .expect("JSON arguments")
            .to_string();
        assert_eq!(
            ours.2,
            serde_json::from_str::<Value>(&theirs.2)
                .expect("JSON arguments")
                .to_string(),
            "{name}"
        );
        ours.2.clone_from(&theirs.2);
    }
    let usage = (answered.usage.take(), recorded.usage.clone());
    assert!(missing(&usage.0, &usage.1).is_empty(), "{name}: {usage:?}");
    assert_eq!(
        StreamContent {
            usage: recorded.usage.clone(),
            ..answered
        },
        recorded,
        "{name}"
    );
    no_invented_fields(name, wire, &response.body(), &body);
}

fn ours(content_type: &str) -> String {
    content_type.to_ascii_lowercase().replace("; charset=utf-8", "")
}

fn turn(expect: &Value) -> Turn {
    let mut turn = Turn::text(expect["text"].as_str().unwrap_or_default());
    for call in expect["tool_calls"].as_array().expect("calls") {
        turn = match call["id"].as_str() {
            Some(id) => turn.call_with_id(id, call["name"].as_str().unwrap_or_default(), call["input"].clone()),
            None => turn.call(call["name"].as_str().unwrap_or_default(), call["input"].clone()),
        };
    }
    turn
}

/// The fields of `theirs` that `ours` lacks.
fn missing(ours: &Value, theirs: &Value) -> Vec<String> {
    // Omitted deliberately: it differs between models on Vertex and Bedrock, and the kit does not route by region.
    let optional = ["inference_geo", "thoughtsTokenCount"];
    let fields = theirs.as_object().into_iter().flatten().map(|(key, _)| key.clone());
    fields
        .filter(|key| ours.get(key).is_none() && !optional.contains(&key.as_str()))
        .collect()
}

/// Events of one kind have no fields that the vendor's lack.
fn no_invented_fields(name: &str, wire: Wire, ours: &[u8], theirs: &[u8]) {
    let fields = |body: &[u8]| {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (event, data) in events(wire, body) {
            paths(&data, "", found.entry(kind(wire, &event, &data)).or_default());
        }
        found
    };
    let theirs = fields(theirs);
    for (kind, ours) in fields(ours) {
        let invented: Vec<&String> = ours.difference(&theirs[&kind]).filter(|path| !is_fine(path)).collect();
        assert!(invented.is_empty(), "{name}: {kind}: {invented:?}");
    }
}

/// Fields that depend on the model or repeat the request.
fn is_fine(path: &str) -> bool {
    let suffixes = [
        ".cache_creation",
        ".ephemeral_5m_input_tokens",
        ".ephemeral_1h_input_tokens",
        "TokenCount",
    ];
    suffixes.iter().any(|suffix| path.ends_with(suffix)) || path.starts_with(".response.")
}

fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            let at = format!("{at}.{key}");
            paths(value, &at, into);
            into.insert(at);
        }),
        Value::Array(values) => values.iter().for_each(|value| paths(value, at, into)),
        _ => {}
    }
}

#[tokio::test]
async fn a_full_turn_has_the_same_content_on_every_wire() {
    for wire in Wire::ALL {
        let turn = Turn::text("Reading both, então ✓.")
            .thinking("Two files, two calls.")
            .call("read_file", json!({"path": "a.txt", "note": "naïve \"quotes\""}))
            .call("read_file", json!({}));
        let server = Server::start(Script::new().turn(turn)).await.expect("starts");
        let response = ask(&server, wire, &Talk::thinking()).await;
        let content = read_stream(wire, &response.body());
        assert_eq!(content.text, "Reading both, então ✓.", "{wire:?}");
        assert_eq!(content.thinking, "Two files, two calls.", "{wire:?}");
        let calls: Vec<(&str, &str)> = content
            .calls
            .iter()
            .map(|(id, name, _)| (id.as_str(), name.as_str()))
            .collect();
        assert_eq!(
            calls,
            [("call_step0_0", "read_file"), ("call_step0_1", "read_file")],
            "{wire:?}"
        );
        assert_eq!(
            content.calls[0].2, r#"{"path":"a.txt","note":"naïve \"quotes\""}"#,
            "{wire:?}"
        );
        assert!(matches!(content.calls[1].2.as_str(), "" | "{}"), "{wire:?}");
        assert_eq!(
            content.signature.is_empty(),
            wire == Wire::Chat,
            "{wire:?}: {}",
            content.signature
        );
        assert!(content.is_complete && content.error.is_none(), "{wire:?}");
        assert_eq!(content.stop, stop_word(wire, Stop::ToolUse), "{wire:?}");
    }
}

#[tokio::test]
async fn each_stop_reason_has_the_vendors_name() {
    for wire in Wire::ALL {
        for stop in [Stop::End, Stop::MaxTokens, Stop::Refusal] {
            let server = Server::start(Script::new().turn(Turn::text("So.").stop(stop)))
                .await
                .expect("starts");
            let response = ask(&server, wire, &Talk::default()).await;
            let content = read_stream(wire, &response.body());
            assert_eq!(
                (content.stop.as_str(), content.text.as_str()),
                (stop_word(wire, stop), "So."),
                "{wire:?}"
            );
        }
    }
}

fn stop_word(wire: Wire, stop: Stop) -> &'static str {
    match (wire, stop) {
        (Wire::Anthropic | Wire::Bedrock | Wire::Vertex, Stop::End) => "end_turn",
        (Wire::Anthropic | Wire::Bedrock | Wire::Vertex, Stop::ToolUse) => "tool_use",
        (Wire::Anthropic | Wire::Bedrock | Wire::Vertex, Stop::MaxTokens) => "max_tokens",
        (Wire::Anthropic | Wire::Bedrock | Wire::Vertex, Stop::Refusal) => "refusal",
        (Wire::Chat, Stop::End) => "stop",
        (Wire::Chat, Stop::ToolUse) => "tool_calls",
        (Wire::Chat, Stop::MaxTokens) => "length",
        (Wire::Chat, Stop::Refusal) => "content_filter",
        (Wire::Responses, Stop::MaxTokens) => "incomplete",
        (Wire::Responses, Stop::End | Stop::ToolUse | Stop::Refusal) => "completed",
        (Wire::Gemini, Stop::End | Stop::ToolUse) => "STOP",
        (Wire::Gemini, Stop::MaxTokens) => "MAX_TOKENS",
        (Wire::Gemini, Stop::Refusal) => "SAFETY",
    }
}

#[tokio::test]
async fn a_complete_reply_has_the_content_of_the_stream() {
    for wire in Wire::ALL {
        let turn = Turn::text("Reading.")
            .thinking("Hm.")
            .call("read_file", json!({"path": "a.txt"}));
        let server = Server::start(Script::new().turn(turn)).await.expect("starts");
        let response = ask(
            &server,
            wire,
            &Talk {
                whole: true,
                ..Talk::thinking()
            },
        )
        .await;
        assert_eq!(response.header("content-type"), Some("application/json"));
        let body = response.json();
        let reported = match wire {
            Wire::Anthropic | Wire::Bedrock | Wire::Vertex => {
                let call = &body["content"][2];
                json!([
                    body["content"][0]["thinking"],
                    body["content"][1]["text"],
                    call["id"],
                    call["input"],
                    body["stop_reason"]
                ])
            }
            Wire::Chat => {
                let (choice, message) = (&body["choices"][0], &body["choices"][0]["message"]);
                let call = &message["tool_calls"][0];
                let input: Value =
                    serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or_default()).expect("JSON");
                json!([
                    message["reasoning_content"],
                    message["content"],
                    call["id"],
                    input,
                    choice["finish_reason"]
                ])
            }
            Wire::Responses => {
                let (thought, message, call) = (&body["output"][0], &body["output"][1], &body["output"][2]);
                let input: Value = serde_json::from_str(call["arguments"].as_str().unwrap_or_default()).expect("JSON");
                json!([
                    thought["summary"][0]["text"],
                    message["content"][0]["text"],
                    call["call_id"],
                    input,
                    body["status"]
                ])
            }
            Wire::Gemini => {
                let candidate = &body["candidates"][0];
                let parts = &candidate["content"]["parts"];
                let call = &parts[2]["functionCall"];
                json!([
                    parts[0]["text"],
                    parts[1]["text"],
                    call["id"],
                    call["args"],
                    candidate["finishReason"]
                ])
            }
        };
        let expected = json!(["Hm.", "Reading.", "call_step0_0", {"path": "a.txt"}, stop_word(wire, Stop::ToolUse)]);
        assert_eq!(reported, expected, "{wire:?}: {body}");
    }
}

#[tokio::test]
async fn usage_can_be_set_and_has_the_vendors_format() {
    let usage = Usage {
        input: Some(1000),
        output: Some(50),
        cache_read: Some(600),
        cache_write: Some(100),
        reasoning: Some(20),
    };
    for wire in Wire::ALL {
        let server = Server::start(Script::new().turn(Turn::text("So.").usage(usage)))
            .await
            .expect("starts");
        let content = read_stream(wire, &ask(&server, wire, &Talk::default()).await.body()).usage;
        let figures = match wire {
            Wire::Anthropic | Wire::Bedrock | Wire::Vertex => {
                json!([
                    content["input_tokens"],
                    content["output_tokens"],
                    content["cache_read_input_tokens"],
                    content["cache_creation_input_tokens"]
                ])
            }
            Wire::Chat => json!([
                content["prompt_tokens"],
                content["completion_tokens"],
                content["prompt_tokens_details"]["cached_tokens"],
                content["completion_tokens_details"]["reasoning_tokens"],
            ]),
            Wire::Responses => json!([
                content["input_tokens"],
                content["output_tokens"],
                content["input_tokens_details"]["cached_tokens"],
                content["output_tokens_details"]["reasoning_tokens"],
            ]),
            Wire::Gemini => json!([
                content["promptTokenCount"],
                content["candidatesTokenCount"],
                content["cachedContentTokenCount"],
                content["thoughtsTokenCount"],
            ]),
        };
        let expected = match wire {
            Wire::Anthropic | Wire::Bedrock | Wire::Vertex => json!([300, 50, 600, 100]),
            Wire::Chat | Wire::Responses => json!([1000, 50, 600, 20]),
            Wire::Gemini => json!([1000, 30, 600, 20]),
        };
        assert_eq!(figures, expected, "{wire:?}");
    }
}

#[tokio::test]
async fn usage_is_sent_on_chat_only_on_request() {
    let server = Server::start(Script::new().turn(Turn::text("So.")))
        .await
        .expect("starts");
    let mut body = Talk::default().body(Wire::Chat);
    body["stream_options"] = Value::Null;
    let response = crate::client::post(&server, Wire::Chat, false, &body).await;
    assert_eq!(read_stream(Wire::Chat, &response.body()).usage, Value::Null);
}

#[tokio::test]
async fn gemini_without_sse_sends_an_array() {
    let server = Server::start(Script::new().turn(Turn::text("So.")))
        .await
        .expect("starts");
    let body = Talk::default().body(Wire::Gemini).to_string();
    let response = send(
        &server,
        "POST",
        "/v1beta/models/gemini-3-pro:streamGenerateContent",
        &[],
        &body,
    )
    .await;
    assert_eq!(
        response.json()[0]["candidates"][0]["content"]["parts"][0]["text"],
        "So."
    );
}

#[tokio::test]
async fn a_longer_prompt_reads_the_cached_prefix_of_a_shorter_one() {
    let script = Script::new()
        .turn(Turn::calls("read_file", json!({})))
        .turn(Turn::text("So."));
    for wire in Wire::ALL {
        let server = Server::start(script.clone()).await.expect("starts");
        let mut cached = Vec::new();
        for talk in [
            Talk::default(),
            Talk::default().step("call_step0_0", "read_file", json!({}), "hello"),
        ] {
            let mut body = talk.body(wire);
            let long = "Be thorough. ".repeat(500);
            match wire {
                Wire::Anthropic | Wire::Bedrock | Wire::Vertex => {
                    body["system"] = json!([{"type": "text", "text": long, "cache_control": {"type": "ephemeral"}}]);
                }
                Wire::Chat => body["messages"][0]["content"] = json!(long),
                Wire::Responses => body["instructions"] = json!(long),
                Wire::Gemini => body["systemInstruction"]["parts"][0]["text"] = json!(long),
            }
            let usage = read_stream(wire, &crate::client::post(&server, wire, false, &body).await.body()).usage;
            cached.push(match wire {
                Wire::Anthropic | Wire::Bedrock | Wire::Vertex => (
                    usage["cache_read_input_tokens"].as_u64(),
                    usage["cache_creation_input_tokens"].as_u64() > Some(0),
                ),
                Wire::Chat => (usage["prompt_tokens_details"]["cached_tokens"].as_u64(), false),
                Wire::Responses => (usage["input_tokens_details"]["cached_tokens"].as_u64(), false),
                Wire::Gemini => (usage["cachedContentTokenCount"].as_u64().or(Some(0)), false),
            });
        }
        let is_explicit = matches!(wire, Wire::Anthropic | Wire::Bedrock | Wire::Vertex);
        assert_eq!(cached[0], (Some(0), is_explicit), "{wire:?}");
        assert!(cached[1].0 > Some(1500) && !cached[1].1, "{wire:?}: {cached:?}");
    }
}

#[tokio::test]
async fn gemini_accepts_both_spellings_of_a_field() {
    let turn = Turn::text("So.").thinking("Hm.").call("read_file", json!({}));
    let server = Server::start(Script::new().turn(turn).turn(Turn::text("Done.")))
        .await
        .expect("starts");
    let mut body = json!({
        "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"function_declarations": [{"name": "read_file", "parameters_json_schema": {"type": "object"}}]}],
        "generation_config": {"thinking_config": {"include_thoughts": true}},
    });
    let first = read_stream(
        Wire::Gemini,
        &crate::client::post(&server, Wire::Gemini, false, &body).await.body(),
    );
    assert_eq!((first.thinking.as_str(), first.text.as_str()), ("Hm.", "So."));
    // Clients that store signatures as bytes encode them in the other alphabet.
    let signature = first.signature.replace('+', "-").replace('/', "_");
    let call = json!({"function_call": {"id": "call_step0_0", "name": "read_file"}, "thought_signature": signature});
    let response =
        json!({"function_response": {"id": "call_step0_0", "name": "read_file", "response": {"output": "x"}}});
    let more = [
        json!({"role": "model", "parts": [call]}),
        json!({"role": "user", "parts": [response]}),
    ];
    body["contents"].as_array_mut().expect("contents").extend(more);
    let second = crate::client::post(&server, Wire::Gemini, false, &body).await;
    assert_eq!(
        read_stream(Wire::Gemini, &second.body()).text,
        "Done.",
        "{}",
        second.text()
    );
    let seen = server.requests()[1].parsed().expect("for a model");
    assert_eq!(
        (seen.system.as_str(), seen.result("call_step0_0"), seen.turn),
        ("Be brief.", Some("x"), 1)
    );
}
