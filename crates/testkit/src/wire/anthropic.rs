//! Anthropic Messages, including Bedrock and Vertex.

use serde_json::{Value, json};

use super::{Event, EventPart, ScriptedCall, ScriptedReply, ScriptedThinking, TokenCounts, Wire, list, text_of};
use crate::pace::Pace;
use crate::parsed_request::{ParsedCall, ParsedRequest, ParsedResult, Role};
use crate::script::Stop;

/// Parses the body `seen.raw` into the other fields.
pub(super) fn read(seen: &mut ParsedRequest) {
    let body = std::mem::take(&mut seen.raw);
    for tool in list(&body["tools"]) {
        seen.tools.extend(tool["name"].as_str().map(str::to_owned));
        count(seen, tool);
    }
    for part in parts(&body["system"]).iter() {
        seen.add_system(part["text"].as_str().unwrap_or_default());
        count(seen, part);
    }
    for message in list(&body["messages"]) {
        let role = if message["role"] == "assistant" {
            Role::Assistant
        } else {
            Role::User
        };
        for part in parts(&message["content"]).iter() {
            read_part(seen, role, part);
            count(seen, part);
        }
    }
    if let (Some(_), Some(last)) = (body.get("cache_control"), seen.blocks.last_mut()) {
        last.marked = true;
    }
    seen.thinking = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    seen.raw = body;
}

/// A string and a list of one text part are the same prompt.
fn parts(content: &Value) -> Vec<Value> {
    match content.as_str() {
        Some(text) => vec![json!({"type": "text", "text": text})],
        None => list(content).to_vec(),
    }
}

fn read_part(seen: &mut ParsedRequest, role: Role, part: &Value) {
    let message = seen.message(role);
    let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
    match part["type"].as_str() {
        Some("text") => message.add_text(&text("text")),
        Some("thinking") => message.thinking.push_str(&text("thinking")),
        Some("tool_use") => {
            message.calls.push(ParsedCall {
                id: text("id"),
                name: text("name"),
                input: part["input"].clone(),
            });
        }
        Some("tool_result") => {
            let error = part["is_error"] == true;
            message.results.push(ParsedResult {
                id: text("tool_use_id"),
                text: text_of(&part["content"]),
                error,
            });
        }
        _ => {}
    }
}

fn count(seen: &mut ParsedRequest, part: &Value) {
    let (plain, marked) = unmarked(part);
    seen.block(&plain, marked);
}

/// A part without its cache breakpoint (or that of its content), and whether it had one.
pub(crate) fn unmarked(part: &Value) -> (Value, bool) {
    let Some(fields) = part.as_object() else {
        return (part.clone(), false);
    };
    let mut marked = fields.get("cache_control").is_some_and(|mark| !mark.is_null());
    let plain = fields
        .iter()
        .filter(|(key, _)| *key != "cache_control")
        .map(|(key, value)| {
            if key != "content" || !value.is_array() {
                return (key.clone(), value.clone());
            }
            let inner = list(value).iter().map(unmarked).map(|(part, mark)| {
                marked |= mark;
                part
            });
            (key.clone(), Value::Array(inner.collect()))
        });
    let plain = Value::Object(plain.collect());
    (plain, marked)
}

/// The stream of a reply.
pub(super) fn events(seen: &ParsedRequest, answer: &ScriptedReply) -> Vec<Event> {
    let mut out = Vec::new();
    let mut message = message(seen, answer, &[], Value::Null);
    message["usage"] = usage(
        seen.wire,
        &TokenCounts {
            output: 1,
            ..answer.figures
        },
    );
    frame(
        &mut out,
        "message_start",
        json!({"type": "message_start", "message": message}),
    );
    if seen.wire == Wire::Vertex {
        ping(&mut out);
    }
    for (index, block) in blocks(answer).iter().enumerate() {
        let start = json!({"type": "content_block_start", "index": index, "content_block": block.opening(seen.wire)});
        frame(&mut out, "content_block_start", start);
        if index == 0 && seen.wire == Wire::Anthropic {
            ping(&mut out);
        }
        for (delta, part) in block.deltas(&answer.pace) {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            out.push(Event::named("content_block_delta", &data, part));
        }
        frame(
            &mut out,
            "content_block_stop",
            json!({"type": "content_block_stop", "index": index}),
        );
    }
    let stop = json!({"stop_reason": stop_reason(answer.stop), "stop_sequence": null});
    let mut last = json!({"type": "message_delta", "delta": stop});
    if answer.reports {
        last["usage"] = final_usage(seen.wire, &answer.figures);
    }
    frame(&mut out, "message_delta", last);
    let mut end = json!({"type": "message_stop"});
    if seen.wire == Wire::Bedrock && answer.reports {
        end["amazon-bedrock-invocationMetrics"] = json!({
            "inputTokenCount": uncached(&answer.figures),
            "outputTokenCount": answer.figures.output,
            "invocationLatency": 900,
            "firstByteLatency": 300,
            "cacheReadInputTokenCount": answer.figures.read,
            "cacheWriteInputTokenCount": answer.figures.write,
        });
    }
    out.push(Event::named("message_stop", &end, EventPart::Done));
    out
}

/// The complete reply.
pub(super) fn whole(seen: &ParsedRequest, answer: &ScriptedReply) -> Value {
    let content: Vec<Value> = blocks(answer).iter().map(|block| block.whole(seen.wire)).collect();
    let mut whole = message(seen, answer, &content, json!(stop_reason(answer.stop)));
    if answer.reports {
        whole["usage"] = usage(seen.wire, &answer.figures);
    }
    whole
}

fn frame(out: &mut Vec<Event>, name: &'static str, data: Value) {
    out.push(Event::named(name, &data, EventPart::Frame));
}

fn ping(out: &mut Vec<Event>) {
    frame(out, "ping", json!({"type": "ping"}));
}

fn message(seen: &ParsedRequest, answer: &ScriptedReply, content: &[Value], stop: Value) -> Value {
    let id_prefix = match seen.wire {
        Wire::Bedrock => "bdrk_",
        Wire::Vertex => "vrtx_",
        _ => "",
    };
    json!({
        "model": seen.model,
        "id": format!("msg_{id_prefix}{:04}", answer.serial),
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
    })
}

/// A content block of a reply.
enum Block<'a> {
    Thought(&'a ScriptedThinking),
    Text(&'a str),
    Call(&'a ScriptedCall),
}

fn blocks(answer: &ScriptedReply) -> Vec<Block<'_>> {
    let thought = answer.thought.iter().map(Block::Thought);
    let text = (!answer.text.is_empty()).then_some(Block::Text(&answer.text));
    thought
        .chain(text)
        .chain(answer.calls.iter().map(Block::Call))
        .collect()
}

impl Block<'_> {
    /// The complete block.
    fn whole(&self, wire: Wire) -> Value {
        match self {
            Self::Thought(thought) if thought.redacted => {
                json!({"type": "redacted_thinking", "data": thought.signature})
            }
            Self::Thought(thought) => {
                json!({"type": "thinking", "thinking": thought.text, "signature": thought.signature})
            }
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Call(call) => tool_use(wire, call, call.input().unwrap_or_else(|| json!({}))),
        }
    }

    /// The block before its deltas.
    fn opening(&self, wire: Wire) -> Value {
        match self {
            Self::Thought(thought) if thought.redacted => self.whole(wire),
            Self::Thought(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Self::Text(_) => json!({"type": "text", "text": ""}),
            Self::Call(call) => tool_use(wire, call, json!({})),
        }
    }

    fn deltas(&self, pace: &Pace) -> Vec<(Value, EventPart)> {
        match self {
            Self::Thought(thought) if thought.redacted => Vec::new(),
            Self::Thought(thought) => {
                let delta = |piece| {
                    (
                        json!({"type": "thinking_delta", "thinking": piece}),
                        EventPart::Thinking,
                    )
                };
                let signature = (
                    json!({"type": "signature_delta", "signature": thought.signature}),
                    EventPart::Frame,
                );
                pace.split(&thought.text)
                    .into_iter()
                    .map(delta)
                    .chain([signature])
                    .collect()
            }
            Self::Text(text) => {
                let delta = |piece| (json!({"type": "text_delta", "text": piece}), EventPart::Text);
                pace.split(text).into_iter().map(delta).collect()
            }
            Self::Call(call) => {
                // The API starts with an empty piece, and sends nothing else for an empty input.
                let arguments = if call.arguments == "{}" {
                    ""
                } else {
                    call.arguments.as_str()
                };
                let delta = |piece, part| (json!({"type": "input_json_delta", "partial_json": piece}), part);
                let pieces = pace
                    .split(arguments)
                    .into_iter()
                    .map(|piece| delta(piece, EventPart::Tool));
                std::iter::once(delta("", EventPart::Frame)).chain(pieces).collect()
            }
        }
    }
}

fn tool_use(wire: Wire, call: &ScriptedCall, input: Value) -> Value {
    let mut block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input});
    if wire == Wire::Anthropic {
        block["caller"] = json!({"type": "direct"});
    }
    block
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal => "refusal",
    }
}

fn usage(wire: Wire, figures: &TokenCounts) -> Value {
    let mut usage = json!({
        "input_tokens": uncached(figures),
        "cache_creation_input_tokens": figures.write,
        "cache_read_input_tokens": figures.read,
        "cache_creation": {"ephemeral_5m_input_tokens": figures.write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": figures.output,
    });
    if wire == Wire::Anthropic {
        usage["service_tier"] = json!("standard");
    }
    usage
}

fn final_usage(wire: Wire, figures: &TokenCounts) -> Value {
    if wire != Wire::Anthropic {
        return json!({"output_tokens": figures.output});
    }
    json!({
        "input_tokens": uncached(figures),
        "cache_creation_input_tokens": figures.write,
        "cache_read_input_tokens": figures.read,
        "output_tokens": figures.output,
    })
}

fn uncached(figures: &TokenCounts) -> u64 {
    figures.input.saturating_sub(figures.read + figures.write)
}
