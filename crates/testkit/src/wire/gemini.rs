//! Gemini's generateContent, by key or on Vertex.

use serde_json::{Value, json};

use super::{Answer, Event, Part, field, list};
use crate::script::Stop;
use crate::seen::{CallSeen, ResultSeen, Role, Seen};

/// Reads the body of `seen.raw` into the rest of it.
pub(super) fn read(seen: &mut Seen) {
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

fn read_part(seen: &mut Seen, role: Role, part: &Value) {
    let message = seen.message(role);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(call) = field(part, "functionCall") {
        message.calls.push(CallSeen {
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
        let said = ["output", "result", "error"]
            .iter()
            .find_map(|key| response[*key].as_str());
        let said = said.map_or_else(|| response.to_string(), str::to_owned);
        message.results.push(ResultSeen {
            id: id.to_owned(),
            text: said,
            error: response.get("error").is_some(),
        });
    } else if part["thought"] == true {
        message.thinking.push_str(&text(&part["text"]));
    } else {
        message.add_text(&text(&part["text"]));
    }
}

/// The stream of an answer.
pub(super) fn events(seen: &Seen, answer: &Answer) -> Vec<Event> {
    let mut parts: Vec<(Value, Part)> = Vec::new();
    let pieces = |text| answer.pace.split(text).into_iter();
    if let Some(thought) = answer.thought.as_ref().filter(|_| seen.thinking) {
        parts.extend(pieces(&thought.text).map(|piece| (json!({"text": piece, "thought": true}), Part::Thinking)));
    }
    parts.extend(pieces(&answer.text).map(|piece| (json!({"text": piece}), Part::Text)));
    parts.extend(calls(answer).into_iter().map(|call| (call, Part::Tool)));
    let mut out: Vec<Event> = parts
        .into_iter()
        .map(|(part, kind)| Event::bare(&chunk(seen, answer, vec![part], None), kind))
        .collect();
    let mut last = json!({"text": ""});
    if let (Some(thought), true) = (&answer.thought, answer.calls.is_empty()) {
        last["thoughtSignature"] = json!(thought.signature);
    }
    out.push(Event::bare(&chunk(seen, answer, vec![last], Some(answer)), Part::Done));
    out
}

/// The answer in one piece.
pub(super) fn whole(seen: &Seen, answer: &Answer) -> Value {
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

/// The calls, the first of them with the signature of the thought. Calls that are no JSON never arrive on this wire.
fn calls(answer: &Answer) -> Vec<Value> {
    let call = |call: &super::Called| {
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

/// One response object; the last one carries the reason to stop.
fn chunk(seen: &Seen, answer: &Answer, parts: Vec<Value>, last: Option<&Answer>) -> Value {
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

fn usage(answer: &Answer) -> Value {
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
