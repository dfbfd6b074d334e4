//! OpenAI Responses: items, each with its own events.

use serde_json::{Value, json};

use super::{Event, EventPart, ScriptedReply, TokenCounts, list, parsed, text_of};
use crate::pace::Pace;
use crate::parsed_request::{ParsedCall, ParsedRequest, ParsedResult, Role};
use crate::script::Stop;

const CREATED: u64 = 1_767_225_600;

/// Parses the body `seen.raw` into the other fields.
pub(super) fn read(seen: &mut ParsedRequest) {
    let body = std::mem::take(&mut seen.raw);
    for tool in list(&body["tools"]) {
        let name = tool["name"].as_str().or_else(|| tool["type"].as_str());
        seen.tools.extend(name.map(str::to_owned));
        seen.block(tool, false);
    }
    if let Some(text) = body["instructions"].as_str() {
        seen.add_system(text);
        seen.block(&body["instructions"], false);
    }
    if let Some(text) = body["input"].as_str() {
        seen.message(Role::User).add_text(text);
        seen.block(&body["input"], false);
    }
    for item in list(&body["input"]) {
        seen.block(item, false);
        read_item(seen, item);
    }
    seen.thinking = body["reasoning"]["summary"].is_string();
    seen.raw = body;
}

fn read_item(seen: &mut ParsedRequest, item: &Value) {
    let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
        ("message", Some("system" | "developer")) => seen.add_system(&text_of(&item["content"])),
        ("message", Some("assistant")) => seen.message(Role::Assistant).add_text(&text_of(&item["content"])),
        ("message", _) => seen.message(Role::User).add_text(&text_of(&item["content"])),
        ("reasoning", _) => seen
            .message(Role::Assistant)
            .thinking
            .push_str(&text_of(&item["summary"])),
        ("function_call", _) => {
            let call = ParsedCall {
                id: text("call_id"),
                name: text("name"),
                input: parsed(&item["arguments"]),
            };
            seen.message(Role::Assistant).calls.push(call);
        }
        ("function_call_output", _) => {
            let result = ParsedResult {
                id: text("call_id"),
                text: text_of(&item["output"]),
                error: false,
            };
            seen.message(Role::User).results.push(result);
        }
        _ => {}
    }
}

/// The stream of a reply.
pub(super) fn events(seen: &ParsedRequest, answer: &ScriptedReply) -> Vec<Event> {
    let mut stream = Stream {
        events: Vec::new(),
        pace: answer.pace,
    };
    let begun = envelope(seen, answer, "in_progress", json!([]));
    stream.add("response.created", json!({"response": begun}), EventPart::Frame);
    stream.add("response.in_progress", json!({"response": begun}), EventPart::Frame);
    let items = items(seen, answer);
    for (index, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            Some("reasoning") => stream.reasoning(index, item),
            Some("function_call") => stream.call(index, item),
            _ => stream.message(index, item),
        }
    }
    let (name, status) = ending(answer.stop);
    let whole = envelope(seen, answer, status, Value::Array(items));
    stream.add(name, json!({"response": whole}), EventPart::Done);
    stream.events
}

/// The complete reply.
pub(super) fn whole(seen: &ParsedRequest, answer: &ScriptedReply) -> Value {
    envelope(seen, answer, ending(answer.stop).1, Value::Array(items(seen, answer)))
}

fn ending(stop: Stop) -> (&'static str, &'static str) {
    match stop {
        Stop::End | Stop::ToolUse | Stop::Refusal => ("response.completed", "completed"),
        Stop::MaxTokens => ("response.incomplete", "incomplete"),
    }
}

struct Stream {
    events: Vec<Event>,
    pace: Pace,
}

impl Stream {
    fn add(&mut self, name: &'static str, fields: Value, part: EventPart) {
        let mut data = json!({"type": name});
        if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
            data.extend(fields);
        }
        data["sequence_number"] = json!(self.events.len());
        self.events.push(Event::named(name, &data, part));
    }

    fn opened(&mut self, index: usize, item: &Value, empty: Value) {
        let mut item = item.clone();
        if let (Some(item), Value::Object(empty)) = (item.as_object_mut(), empty) {
            item.extend(empty);
        }
        self.add(
            "response.output_item.added",
            json!({"item": item, "output_index": index}),
            EventPart::Frame,
        );
    }

    fn closed(&mut self, index: usize, item: &Value) {
        self.add(
            "response.output_item.done",
            json!({"item": item, "output_index": index}),
            EventPart::Frame,
        );
    }

    fn deltas(&mut self, name: &'static str, text: &Value, fields: &Value, part: EventPart) {
        for piece in self.pace.split(text.as_str().unwrap_or_default()) {
            let mut fields = fields.clone();
            fields["delta"] = json!(piece);
            self.add(name, fields, part);
        }
    }

    fn reasoning(&mut self, index: usize, item: &Value) {
        self.opened(index, item, json!({"summary": []}));
        for (n, part) in list(&item["summary"]).iter().enumerate() {
            let at = json!({"item_id": item["id"], "output_index": index, "summary_index": n});
            let with = |key: &str, value: Value| {
                let mut fields = at.clone();
                fields[key] = value;
                fields
            };
            let empty = json!({"type": "summary_text", "text": ""});
            self.add(
                "response.reasoning_summary_part.added",
                with("part", empty),
                EventPart::Frame,
            );
            self.deltas(
                "response.reasoning_summary_text.delta",
                &part["text"],
                &at,
                EventPart::Thinking,
            );
            self.add(
                "response.reasoning_summary_text.done",
                with("text", part["text"].clone()),
                EventPart::Frame,
            );
            self.add(
                "response.reasoning_summary_part.done",
                with("part", part.clone()),
                EventPart::Frame,
            );
        }
        self.closed(index, item);
    }

    fn call(&mut self, index: usize, item: &Value) {
        self.opened(index, item, json!({"arguments": "", "status": "in_progress"}));
        let mut at = json!({"item_id": item["id"], "output_index": index});
        self.deltas(
            "response.function_call_arguments.delta",
            &item["arguments"],
            &at,
            EventPart::Tool,
        );
        at["arguments"] = item["arguments"].clone();
        self.add("response.function_call_arguments.done", at, EventPart::Frame);
        self.closed(index, item);
    }

    fn message(&mut self, index: usize, item: &Value) {
        self.opened(index, item, json!({"content": [], "status": "in_progress"}));
        let part = &item["content"][0];
        let at = json!({"content_index": 0, "item_id": item["id"], "output_index": index});
        let with = |key: &str, value: Value| {
            let mut fields = at.clone();
            fields[key] = value;
            fields
        };
        let refuses = part["type"] == "refusal";
        let key = if refuses { "refusal" } else { "text" };
        let (delta, done) = if refuses {
            ("response.refusal.delta", "response.refusal.done")
        } else {
            ("response.output_text.delta", "response.output_text.done")
        };
        let mut empty = part.clone();
        empty[key] = json!("");
        self.add("response.content_part.added", with("part", empty), EventPart::Frame);
        self.deltas(delta, &part[key], &at, EventPart::Text);
        self.add(done, with(key, part[key].clone()), EventPart::Frame);
        self.add(
            "response.content_part.done",
            with("part", part.clone()),
            EventPart::Frame,
        );
        self.closed(index, item);
    }
}

fn items(seen: &ParsedRequest, answer: &ScriptedReply) -> Vec<Value> {
    let serial = answer.serial;
    let mut items = Vec::new();
    if let Some(thought) = &answer.thought {
        let summary = if seen.thinking {
            json!([{"type": "summary_text", "text": thought.text}])
        } else {
            json!([])
        };
        let mut item = json!({"id": format!("rs_{serial:04}"), "type": "reasoning", "summary": summary});
        if list(&seen.raw["include"])
            .iter()
            .any(|what| what == "reasoning.encrypted_content")
        {
            item["encrypted_content"] = json!(thought.signature);
        }
        items.push(item);
    }
    if !answer.text.is_empty() {
        let part = match answer.stop {
            Stop::Refusal => json!({"type": "refusal", "refusal": answer.text}),
            Stop::End | Stop::ToolUse | Stop::MaxTokens => {
                json!({"type": "output_text", "annotations": [], "logprobs": [], "text": answer.text})
            }
        };
        let status = if answer.stop == Stop::MaxTokens {
            "incomplete"
        } else {
            "completed"
        };
        items.push(json!({
            "id": format!("msg_{serial:04}"),
            "type": "message",
            "status": status,
            "content": [part],
            "role": "assistant",
        }));
    }
    items.extend(answer.calls.iter().enumerate().map(|(n, call)| {
        json!({
            "id": format!("fc_{serial:04}_{n}"),
            "type": "function_call",
            "status": "completed",
            "arguments": call.arguments,
            "call_id": call.id,
            "name": call.name,
        })
    }));
    items
}

/// The response object around the items, which repeats the request's fields.
fn envelope(seen: &ParsedRequest, answer: &ScriptedReply, status: &str, output: Value) -> Value {
    let asked = |key: &str, otherwise: Value| seen.raw.get(key).cloned().unwrap_or(otherwise);
    let done = status != "in_progress";
    json!({
        "id": format!("resp_{:04}", answer.serial),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": (status == "incomplete").then(|| json!({"reason": "max_output_tokens"})),
        "instructions": asked("instructions", Value::Null),
        "max_output_tokens": asked("max_output_tokens", Value::Null),
        "model": seen.model,
        "output": output,
        "parallel_tool_calls": asked("parallel_tool_calls", json!(true)),
        "previous_response_id": null,
        "prompt_cache_key": asked("prompt_cache_key", Value::Null),
        "reasoning": asked("reasoning", json!({"effort": null, "summary": null})),
        "service_tier": "default",
        "store": asked("store", json!(true)),
        "temperature": asked("temperature", json!(1.0)),
        "text": asked("text", json!({"format": {"type": "text"}, "verbosity": "medium"})),
        "tool_choice": asked("tool_choice", json!("auto")),
        "tools": asked("tools", json!([])),
        "top_p": asked("top_p", json!(1.0)),
        "truncation": "disabled",
        "usage": (done && answer.reports).then(|| usage(&answer.figures)),
        "user": null,
        "metadata": {},
    })
}

fn usage(figures: &TokenCounts) -> Value {
    json!({
        "input_tokens": figures.input,
        "input_tokens_details": {"cached_tokens": figures.read},
        "output_tokens": figures.output,
        "output_tokens_details": {"reasoning_tokens": figures.reasoning},
        "total_tokens": figures.input + figures.output,
    })
}
