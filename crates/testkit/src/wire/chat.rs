//! OpenAI Chat Completions, as served by OpenAI and compatible servers.

use serde_json::{Value, json};

use super::{Event, EventPart, ScriptedCall, ScriptedReply, TokenCounts, list, parsed, text_of};
use crate::parsed_request::{ParsedCall, ParsedRequest, ParsedResult, Role};
use crate::script::Stop;

/// A fixed creation time, so that replies are deterministic.
const CREATED: u64 = 1_767_225_600;

/// Parses the body `seen.raw` into the other fields.
pub(super) fn read(seen: &mut ParsedRequest) {
    let body = std::mem::take(&mut seen.raw);
    for tool in list(&body["tools"]) {
        seen.tools.extend(tool["function"]["name"].as_str().map(str::to_owned));
        seen.block(tool, false);
    }
    for message in list(&body["messages"]) {
        seen.block(message, false);
        read_message(seen, message);
    }
    // Models with reasoning always use it on this wire.
    seen.thinking = true;
    seen.raw = body;
}

fn read_message(seen: &mut ParsedRequest, message: &Value) {
    let text = text_of(&message["content"]);
    match message["role"].as_str() {
        Some("system" | "developer") => seen.add_system(&text),
        Some("assistant") => {
            let into = seen.message(Role::Assistant);
            into.add_text(&text);
            let thinking = message["reasoning_content"]
                .as_str()
                .or_else(|| message["reasoning"].as_str());
            into.thinking.push_str(thinking.unwrap_or_default());
            into.calls
                .extend(list(&message["tool_calls"]).iter().map(|call| ParsedCall {
                    id: call["id"].as_str().unwrap_or_default().to_owned(),
                    name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
                    input: parsed(&call["function"]["arguments"]),
                }));
        }
        Some("tool") => {
            let id = message["tool_call_id"].as_str().unwrap_or_default().to_owned();
            seen.message(Role::User)
                .results
                .push(ParsedResult { id, text, error: false });
        }
        _ => seen.message(Role::User).add_text(&text),
    }
}

/// The stream of a reply.
pub(super) fn events(seen: &ParsedRequest, answer: &ScriptedReply) -> Vec<Event> {
    let asked = seen.raw["stream_options"]["include_usage"] == true;
    let chunk = |delta: Value, finish: Option<&str>, part: EventPart| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        let mut data = head(seen, answer, "chat.completion.chunk");
        data["choices"] = json!([choice]);
        if asked {
            data["usage"] = Value::Null;
        }
        Event::bare(&data, part)
    };
    let mut out = Vec::new();
    // A single call comes with the opening event, which is otherwise separate.
    let lone = answer.text.is_empty() && answer.thought.is_none() && answer.calls.len() == 1;
    let content = if answer.text.is_empty() { Value::Null } else { json!("") };
    let mut opening = json!({"role": "assistant", "content": content, "refusal": null});
    if lone {
        opening["tool_calls"] = answer.calls.iter().map(|call| opened(0, call)).collect();
    }
    out.push(chunk(opening, None, EventPart::Frame));
    let pieces = |text| answer.pace.split(text).into_iter();
    if let Some(thought) = &answer.thought {
        out.extend(pieces(&thought.text).map(|p| chunk(json!({"reasoning_content": p}), None, EventPart::Thinking)));
    }
    out.extend(pieces(&answer.text).map(|piece| chunk(json!({"content": piece}), None, EventPart::Text)));
    for (index, call) in answer.calls.iter().enumerate() {
        if !lone {
            out.push(chunk(
                json!({"tool_calls": [opened(index, call)]}),
                None,
                EventPart::Frame,
            ));
        }
        out.extend(pieces(&call.arguments).map(|piece| {
            let delta = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            chunk(delta, None, EventPart::Tool)
        }));
    }
    out.push(chunk(json!({}), Some(finish_reason(answer.stop)), EventPart::Frame));
    if asked && answer.reports {
        let mut last = head(seen, answer, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = usage(&answer.figures);
        out.push(Event::bare(&last, EventPart::Frame));
    }
    out.push(Event {
        name: None,
        data: "[DONE]".to_owned(),
        part: EventPart::Done,
    });
    out
}

/// The complete reply.
pub(super) fn whole(seen: &ParsedRequest, answer: &ScriptedReply) -> Value {
    let content = if answer.text.is_empty() {
        Value::Null
    } else {
        json!(answer.text)
    };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if let Some(thought) = &answer.thought {
        message["reasoning_content"] = json!(thought.text);
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = answer
            .calls
            .iter()
            .map(|call| tool_call(call, &call.arguments))
            .collect();
    }
    let finish = finish_reason(answer.stop);
    let mut whole = head(seen, answer, "chat.completion");
    whole["choices"] = json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}]);
    if answer.reports {
        whole["usage"] = usage(&answer.figures);
    }
    whole
}

fn head(seen: &ParsedRequest, answer: &ScriptedReply, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{:04}", answer.serial),
        "object": object,
        "created": CREATED,
        "model": seen.model,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    })
}

fn opened(index: usize, call: &ScriptedCall) -> Value {
    let function = json!({"name": call.name, "arguments": ""});
    json!({"index": index, "id": call.id, "type": "function", "function": function})
}

fn tool_call(call: &ScriptedCall, arguments: &str) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Refusal => "content_filter",
    }
}

fn usage(figures: &TokenCounts) -> Value {
    json!({
        "prompt_tokens": figures.input,
        "completion_tokens": figures.output,
        "total_tokens": figures.input + figures.output,
        "prompt_tokens_details": {"cached_tokens": figures.read, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": figures.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
