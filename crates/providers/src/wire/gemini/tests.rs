//! Tests of the Chat Completions wire.

use super::{GeminiDecoder, body, generation, path, thinking};
use crate::google::{GoogleAuth, GoogleSettings};
use crate::settings::{ProviderSettings, Secret};
use crate::sse::SseEvent;
use crate::tests::info;
use crate::wire_cache::WireCache;
use bytes::Bytes;
use model::{
    Block, Chunk, Effort, Error, Media, Message, OutputSchema, Part, Reply, Request, Role, Stop, ToolChoice,
    ToolOutcome, ToolSpec, Wire,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn read(events: &[Value]) -> Result<(Vec<Part>, Reply), Error> {
    let mut decoder = GeminiDecoder::new("gemini");
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

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason, "index": 0}]})
}

fn settings() -> ProviderSettings {
    ProviderSettings::new("gemini", Wire::Gemini, "https://generativelanguage.googleapis.com")
}

fn vertex() -> ProviderSettings {
    let mut settings = ProviderSettings::new("vertex", Wire::Gemini, "");
    settings.google = Some(GoogleSettings {
        project: "proj".into(),
        location: "us-east5".into(),
        auth: GoogleAuth::Token(Secret::new("t")),
    });
    settings
}

fn sent(request: &Request, id: &str, settings: &ProviderSettings) -> Value {
    let pieces = body(
        request,
        &info(Wire::Gemini, id),
        settings,
        &mut WireCache::default(),
        &mut Vec::new(),
    );
    serde_json::from_slice(&pieces.concat()).unwrap()
}

fn conversation(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect::<Vec<_>>().into(),
        ..Request::default()
    }
}

#[test]
fn every_signature_is_sent_back_on_its_own_part() {
    let events = [
        parts(json!([{"text": "hm", "thought": true}])),
        parts(json!([{"text": "I "}])),
        parts(json!([{"text": "look."}])),
        parts(
            json!([{"functionCall": {"name": "read", "args": {"p": "a"}, "id": "v1"}, "thoughtSignature": "s1"},
                     {"functionCall": {"name": "read", "args": {"p": "b"}}}]),
        ),
        parts(json!([{"text": "", "thoughtSignature": "s2"}])),
        finish("STOP"),
    ];
    let (parts, reply) = read(&events).unwrap();
    assert_eq!(reply.stop, Some(Stop::ToolUse));
    let ids: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, .. } => Some(id.to_string()),
            _ => None,
        })
        .collect();
    assert!(
        ids.len() == 2 && ids[0] == "v1" && ids[1].starts_with("call_"),
        "{ids:?}"
    );
    let results = ids.iter().enumerate().map(|(n, id)| Part::ToolResult {
        id: id.as_str().into(),
        name: "read".into(),
        content: vec![Block::text(format!("result {n}"))],
        outcome: if n == 0 { ToolOutcome::Ok } else { ToolOutcome::Error },
    });
    let request = conversation(vec![
        Message::user("hi"),
        Message {
            role: Role::Assistant,
            parts,
        },
        Message {
            role: Role::User,
            parts: results.collect(),
        },
        Message::user("continue"),
    ]);
    let value = sent(&request, "gemini-3-pro-preview", &settings());
    let expected = json!([
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [
            {"text": "I look."},
            {"functionCall": {"name": "read", "args": {"p": "a"}, "id": "v1"}, "thoughtSignature": "s1"},
            {"functionCall": {"name": "read", "args": {"p": "b"}, "id": ids[1]}},
            {"text": "", "thoughtSignature": "s2"},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "read", "response": {"output": "result 0"}, "id": "v1"}},
            {"functionResponse": {"name": "read", "response": {"error": "result 1"}, "id": ids[1]}},
            {"text": "continue"},
        ]},
    ]);
    assert_eq!(value["contents"], expected);
    let value = sent(&request, "gemini-2.5-flash", &vertex());
    assert_eq!(
        value["contents"][1]["parts"][1]["functionCall"],
        json!({"name": "read", "args": {"p": "a"}}),
        "Vertex does not accept ids"
    );
}

#[test]
fn calls_of_other_models_get_the_documented_placeholder_signature() {
    let call = |id: &str| Part::ToolCall {
        id: id.into(),
        name: "read".into(),
        input: json!({}),
        malformed: None,
        replay: None,
    };
    let request = conversation(vec![Message {
        role: Role::Assistant,
        parts: vec![call("a"), call("b")],
    }]);
    let signed = |id: &str| {
        let value = sent(&request, id, &settings());
        let parts = value["contents"][0]["parts"].as_array().cloned().unwrap();
        parts
            .iter()
            .filter(|part| part.get("thoughtSignature").is_some())
            .count()
    };
    assert_eq!((signed("gemini-3.8-flash"), signed("gemini-2.5-pro")), (1, 0));
}

#[test]
fn every_stop_reason_is_mapped() {
    let text = parts(json!([{"text": "x"}]));
    let stop = |reason: &str| read(&[text.clone(), finish(reason)]).unwrap().1.stop.unwrap();
    assert_eq!(stop("STOP"), Stop::End);
    assert_eq!(stop("MAX_TOKENS"), Stop::MaxTokens);
    assert_eq!(
        stop("SAFETY"),
        Stop::Refusal {
            detail: Some("SAFETY".into())
        }
    );
    assert_eq!(stop("OTHER"), Stop::Other { word: "OTHER".into() });
    let blocked =
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}});
    let (_, reply) = read(&[blocked]).unwrap();
    assert_eq!(
        reply.stop,
        Some(Stop::Refusal {
            detail: Some("PROHIBITED_CONTENT".into())
        })
    );
    assert!(matches!(
        read(&[finish("MALFORMED_FUNCTION_CALL")]),
        Err(Error::InvalidResponse { .. })
    ));
    assert!(matches!(
        read(std::slice::from_ref(&text)),
        Err(Error::StreamCut { .. })
    ));
    let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    assert!(matches!(read(&[text, error]), Err(Error::Overloaded { .. })));
}

#[test]
fn usage_counts_every_token_once() {
    let usage = json!({"usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "toolUsePromptTokenCount": 5,
        "candidatesTokenCount": 20, "thoughtsTokenCount": 30, "totalTokenCount": 155}});
    let (_, reply) = read(&[parts(json!([{"text": "x"}])), usage, finish("STOP")]).unwrap();
    let usage = reply.usage.unwrap();
    assert_eq!(
        (usage.input, usage.cache_read, usage.output, usage.thinking),
        (45, 60, 50, 30)
    );
}

#[test]
fn a_request_contains_all_fields_once() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let mut request = Request {
        tools: Arc::new([
            ToolSpec {
                name: "read".into(),
                description: "Reads a file.".into(),
                input_schema: json!({"$schema": "x", "type": "object", "properties": {"p": {"type": "string"}}}),
            },
            ToolSpec {
                name: "now".into(),
                description: "Returns the time.".into(),
                input_schema: json!({"type": "object", "properties": {}}),
            },
        ]),
        system: vec!["Be brief.".into()],
        tool_choice: ToolChoice::Named("read".into()),
        max_output: Some(100),
        effort: Some(Effort::Medium),
        temperature: Some(0.5),
        output_schema: Some(OutputSchema {
            name: "answer".into(),
            schema: schema.clone(),
        }),
        ..conversation(vec![Message::user("hi")])
    };
    request.options.insert("generationConfig".into(), json!({"topK": 4}));
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "maxOutputTokens": 100,
            "temperature": 0.5,
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "MEDIUM"},
            "responseMimeType": "application/json",
            "responseJsonSchema": schema,
            "topK": 4,
        },
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}},
        "tools": [{"functionDeclarations": [
            {"name": "read", "description": "Reads a file.",
                "parametersJsonSchema": {"type": "object", "properties": {"p": {"type": "string"}}}},
            {"name": "now", "description": "Returns the time."},
        ]}],
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    });
    assert_eq!(sent(&request, "gemini-3.8-flash", &settings()), expected);
    let older = sent(&request, "gemini-2.5-flash", &settings());
    assert_eq!(
        older["generationConfig"].get("responseMimeType"),
        None,
        "tools and a schema exclude each other there"
    );
    assert_eq!(older["systemInstruction"]["parts"].as_array().unwrap().len(), 2);
    assert_eq!(older["generationConfig"]["thinkingConfig"]["thinkingBudget"], 8_192);

    let mut plain = info(Wire::Gemini, "gemini-3.8-flash");
    plain.features.reasoning = false;
    let bare = body(
        &conversation(vec![]),
        &plain,
        &settings(),
        &mut WireCache::default(),
        &mut Vec::new(),
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&bare.concat()).unwrap()["contents"],
        json!([])
    );
}

#[test]
fn attachments_are_inline_and_those_of_tools_follow_their_results() {
    let media = |mime: &str| Media {
        mime: mime.into(),
        name: Some("a".into()),
        data: Bytes::from_static(b"png"),
    };
    let result = Part::ToolResult {
        id: "c".into(),
        name: "look".into(),
        content: vec![Block::Media(media("image/png"))],
        outcome: ToolOutcome::Ok,
    };
    let parts = vec![
        Part::Media(media("application/pdf")),
        Part::Media(media("image/tiff")),
        result,
    ];
    let value = sent(
        &conversation(vec![Message {
            role: Role::User,
            parts,
        }]),
        "gemini-2.5-pro",
        &settings(),
    );
    let expected = json!([
        {"functionResponse": {"name": "look", "response": {"output": ""}, "id": "c"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "cG5n"}},
        {"text": "[a was left out: this model cannot take image/tiff]"},
        {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
    ]);
    assert_eq!(value["contents"][0]["parts"], expected);
}

#[test]
fn each_generation_gets_its_own_effort_parameters() {
    let cases = [
        (
            "gemini-2.5-flash",
            Effort::None,
            json!({"includeThoughts": false, "thinkingBudget": 0}),
        ),
        (
            "gemini-2.5-pro",
            Effort::None,
            json!({"includeThoughts": true, "thinkingBudget": 128}),
        ),
        (
            "gemini-2.5-pro",
            Effort::Max,
            json!({"includeThoughts": true, "thinkingBudget": 32_768}),
        ),
        (
            "gemini-3-pro-preview",
            Effort::Medium,
            json!({"includeThoughts": true, "thinkingLevel": "HIGH"}),
        ),
        (
            "gemini-3.1-pro-preview",
            Effort::Minimal,
            json!({"includeThoughts": true, "thinkingLevel": "LOW"}),
        ),
        (
            "gemini-flash-latest",
            Effort::Minimal,
            json!({"includeThoughts": true, "thinkingLevel": "MINIMAL"}),
        ),
    ];
    for (id, effort, expected) in cases {
        assert_eq!(thinking(id, Some(effort)), expected, "{id}");
    }
    assert_eq!(thinking("gemini-4-argon", None), json!({"includeThoughts": true}));
    assert_eq!(
        [
            generation("gemini-2.5-pro"),
            generation("gemini-4-argon"),
            generation("gemini-pro-latest")
        ],
        [2, 4, 3]
    );
}

#[test]
fn paths_contain_the_model_and_on_vertex_the_project() {
    let info = info(Wire::Gemini, "gemini-2.5-pro");
    let cases = [
        (
            settings(),
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ),
        (
            ProviderSettings::new("g", Wire::Gemini, "https://proxy.example/v1beta/"),
            "/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ),
        (
            vertex(),
            "/v1/projects/proj/locations/us-east5/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ),
    ];
    for (settings, expected) in cases {
        assert_eq!(path(&info, &settings), expected);
    }
}
