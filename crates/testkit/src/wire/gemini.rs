//! Gemini's generateContent, with a key or on Vertex.

use serde_json::{Value, json};

use super::{Event, EventPart, ScriptedReply, field, list};
use crate::parsed_request::{ParsedCall, ParsedRequest, ParsedResult, Role};
use crate::script::Stop;

/// Parses the body `seen.raw` into the other fields.
pub(super) fn read(seen: &mut ParsedRequest) {
    let body = std::mem::take(&mut seen.raw);
    for tool in list(&body["tools"]) {
        for function in field(tool, "functionDeclarations").map_or(&[][..], list) {
            seen.tools.extend(function["name"].as_str().map(str::to_owned));
        }
        seen.block(tool, false);
    }
    let system = field(&body, "systemInstruction").unwrap_or(&Value::Null);
    for part in list(&system["parts"]) {
        seen.add_system(part["text"].as_str().unwrap_or_default());
        seen.block(part, false);
    }
    for content in list(&body["contents"]) {
        let role = if content["role"] == "model" {
            Role::Assistant
        } else {
            Role::User
        };
        for part in list(&content["parts"]) {
            read_part(seen, role, part);
            seen.block(part, false);
        }
    }
    let config = field(&body, "generationConfig").and_then(|config| field(config, "thinkingConfig"));
    seen.thinking = config.and_then(|config| field(config, "includeThoughts")) == Some(&Value::Bool(true));
    seen.raw = body;
}

fn read_part(seen: &mut ParsedRequest, role: Role, part: &Value) {
    let message = seen.message(role);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(call) = field(part, "functionCall") {
        message.calls.push(ParsedCall {
            id: text(&call["id"]),
            name: text(&call["name"]),
            input: call["args"].clone(),
        });
    } else if let Some(result) = field(part, "functionResponse") {
        let id = result["id"]
            .as_str()
            .filter(|id| !id.is_empty())
            .unwrap_or(result["name"].as_str().unwrap_or_default());
        let response = &result["response"];
        let result_text = ["output", "result", "error"]
            .iter()
            .find_map(|key| response[*key].as_str());
        let result_text = result_text.map_or_else(|| response.to_string(), str::to_owned);
        message.results.push(ParsedResult {
            id: id.to_owned(),
            text: result_text,
            error: response.get("error").is_some(),
        });
    } else if part["thought"] == true {
        message.thinking.push_str(&text(&part["text"]));
    } else {
        message.add_text(&text(&part["text"]));
    }
}

/// The stream of a reply.
pub(super) fn events(seen: &ParsedRequest, answer: &ScriptedReply) -> Vec<Event> {
    let mut parts: Vec<(Value, EventPart)> = Vec::new();
    let pieces = |text| answer.pace.split(text).into_iter();
    if let Some(thought) = answer.thought.as_ref().filter(|_| seen.thinking) {
        parts.extend(pieces(&thought.text).map(|piece| (json!({"text": piece, "thought": true}), EventPart::Thinking)));
    }
    parts.extend(pieces(&answer.text).map(|piece| (json!({"text": piece}), EventPart::Text)));
    parts.extend(calls(answer).into_iter().map(|call| (call, EventPart::Tool)));
    let mut out: Vec<Event> = parts
        .into_iter()
        .map(|(part, kind)| Event::bare(&chunk(seen, answer, vec![part], None), kind))
        .collect();
    let mut last = json!({"text": ""});
    if let (Some(thought), true) = (&answer.thought, answer.calls.is_empty()) {
        last["thoughtSignature"] = json!(thought.signature);
    }
    out.push(Event::bare(
        &chunk(seen, answer, vec![last], Some(answer)),
        EventPart::Done,
    ));
    out
}

/// The complete reply.
pub(super) fn whole(seen: &ParsedRequest, answer: &ScriptedReply) -> Value {
    let mut parts = Vec::new();
    if let Some(thought) = answer.thought.as_ref().filter(|_| seen.thinking) {
        parts.push(json!({"text": thought.text, "thought": true}));
    }
    if !answer.text.is_empty() {
        parts.push(json!({"text": answer.text}));
    }
    parts.extend(calls(answer));
    chunk(seen, answer, parts, Some(answer))
}

/// The calls; the first one has the signature of the thinking. Calls with invalid JSON never arrive on this wire.
fn calls(answer: &ScriptedReply) -> Vec<Value> {
    let call = |call: &super::ScriptedCall| {
        let mut function = json!({"name": call.name, "args": call.input()?});
        if !call.id.is_empty() {
            function["id"] = json!(call.id);
        }
        Some(json!({"functionCall": function}))
    };
    let mut parts: Vec<Value> = answer.calls.iter().filter_map(call).collect();
    if let (Some(thought), Some(first)) = (&answer.thought, parts.first_mut()) {
        first["thoughtSignature"] = json!(thought.signature);
    }
    parts
}

/// One response object; the last one has the stop reason.
fn chunk(seen: &ParsedRequest, answer: &ScriptedReply, parts: Vec<Value>, last: Option<&ScriptedReply>) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}});
    if let Some(answer) = last {
        let malformed = answer.calls.iter().any(|call| call.input().is_none());
        let reason = if malformed {
            "MALFORMED_FUNCTION_CALL"
        } else {
            finish_reason(answer.stop)
        };
        candidate["finishReason"] = json!(reason);
    }
    candidate["index"] = json!(0);
    let mut chunk = json!({"candidates": [candidate]});
    if answer.reports {
        chunk["usageMetadata"] = usage(answer);
    }
    chunk["modelVersion"] = json!(seen.model);
    chunk["responseId"] = json!(format!("resp{:04}", answer.serial));
    chunk
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::ToolUse => "STOP",
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    }
}

fn usage(answer: &ScriptedReply) -> Value {
    let figures = &answer.figures;
    let mut usage = json!({
        "promptTokenCount": figures.input,
        "candidatesTokenCount": figures.output.saturating_sub(figures.reasoning),
        "totalTokenCount": figures.input + figures.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": figures.input}],
    });
    if figures.read > 0 {
        usage["cachedContentTokenCount"] = json!(figures.read);
    }
    if figures.reasoning > 0 {
        usage["thoughtsTokenCount"] = json!(figures.reasoning);
    }
    usage
}
