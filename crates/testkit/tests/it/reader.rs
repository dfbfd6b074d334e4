//! An independent reader of streams: their content and their event structure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::Wire;

/// The content of a stream.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct StreamContent {
    pub(crate) text: String,
    pub(crate) thinking: String,
    /// Id, name and arguments.
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) stop: String,
    pub(crate) usage: Value,
    /// The signature or encrypted content of the thinking.
    pub(crate) signature: String,
    /// Whether the final event arrived.
    pub(crate) is_complete: bool,
    pub(crate) error: Option<Value>,
}

/// The events of a stream as (name, data), `[DONE]` as a string.
pub(crate) fn events(wire: Wire, body: &[u8]) -> Vec<(String, Value)> {
    if wire == Wire::Bedrock {
        return frames(body);
    }
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
    let mut found = Vec::new();
    for block in text.trim_start_matches('\u{feff}').split("\n\n") {
        let field = |name: &str| {
            let values = block
                .lines()
                .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            values.map(|value| value.strip_prefix(' ').unwrap_or(value)).next()
        };
        if let Some(data) = field("data") {
            let data = serde_json::from_str(data).unwrap_or_else(|_| json!(data));
            found.push((field("event").unwrap_or_default().to_owned(), data));
        }
    }
    found
}

/// The events in AWS frames, up to the first incomplete or invalid one.
fn frames(mut rest: &[u8]) -> Vec<(String, Value)> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| (sum << 8) | u32::from(*byte));
    let mut found = Vec::new();
    while rest.len() >= 16 {
        let (total, headers) = (number(&rest[..4]) as usize, number(&rest[4..8]) as usize);
        let sound = total <= rest.len()
            && total >= headers + 16
            && number(&rest[8..12]) == crc32(&rest[..8])
            && number(&rest[total - 4..total]) == crc32(&rest[..total - 4]);
        if !sound {
            break;
        }
        let names = String::from_utf8_lossy(&rest[12..12 + headers]).into_owned();
        let payload: Value = serde_json::from_slice(&rest[12 + headers..total - 4]).expect("a JSON payload");
        match payload["bytes"].as_str() {
            Some(bytes) => {
                let data = STANDARD.decode(bytes).expect("base64");
                found.push((String::new(), serde_json::from_slice(&data).expect("JSON in base64")));
            }
            None => found.push((names, payload)),
        }
        rest = &rest[total..];
    }
    found
}

fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc))
    })
}

/// The content of a stream.
pub(crate) fn read_stream(wire: Wire, body: &[u8]) -> StreamContent {
    let mut content = StreamContent::default();
    for (name, data) in events(wire, body) {
        match wire {
            Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic(&mut content, &name, &data),
            Wire::Chat => chat(&mut content, &data),
            Wire::Responses => responses(&mut content, &data),
            Wire::Gemini => gemini(&mut content, &data),
        }
    }
    content
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn anthropic(content: &mut StreamContent, name: &str, data: &Value) {
    if name.contains("exception") {
        content.error = Some(data.clone());
        return;
    }
    match text(&data["type"]) {
        "message_start" => content.usage = data["message"]["usage"].clone(),
        "content_block_start" if data["content_block"]["type"] == "tool_use" => {
            let block = &data["content_block"];
            content.calls.push((
                text(&block["id"]).to_owned(),
                text(&block["name"]).to_owned(),
                String::new(),
            ));
        }
        "content_block_start" => content.signature.push_str(text(&data["content_block"]["data"])),
        "content_block_delta" => {
            let delta = &data["delta"];
            content.text.push_str(text(&delta["text"]));
            content.thinking.push_str(text(&delta["thinking"]));
            content.signature.push_str(text(&delta["signature"]));
            if let Some((_, _, arguments)) = content.calls.last_mut() {
                arguments.push_str(text(&delta["partial_json"]));
            }
        }
        "message_delta" => {
            content.stop = text(&data["delta"]["stop_reason"]).to_owned();
            if let (Some(all), Some(last)) = (content.usage.as_object_mut(), data["usage"].as_object()) {
                all.extend(last.clone());
            } else {
                content.usage = Value::Null;
            }
        }
        "message_stop" => content.is_complete = true,
        "error" => content.error = Some(data["error"].clone()),
        _ => {}
    }
}

fn chat(content: &mut StreamContent, data: &Value) {
    if data == "[DONE]" {
        content.is_complete = true;
        return;
    }
    if let Some(error) = data.get("error") {
        content.error = Some(error.clone());
    }
    if data["usage"].is_object() {
        content.usage = data["usage"].clone();
    }
    let choice = &data["choices"][0];
    content.stop.push_str(text(&choice["finish_reason"]));
    let delta = &choice["delta"];
    content.text.push_str(text(&delta["content"]));
    content.thinking.push_str(text(&delta["reasoning_content"]));
    for call in list(&delta["tool_calls"]) {
        if call["function"]["name"].is_string() {
            content.calls.push((
                text(&call["id"]).to_owned(),
                text(&call["function"]["name"]).to_owned(),
                String::new(),
            ));
        }
        if let Some((_, _, arguments)) = content.calls.last_mut() {
            arguments.push_str(text(&call["function"]["arguments"]));
        }
    }
}

fn responses(content: &mut StreamContent, data: &Value) {
    match text(&data["type"]) {
        "response.output_text.delta" | "response.refusal.delta" => content.text.push_str(text(&data["delta"])),
        "response.reasoning_summary_text.delta" => content.thinking.push_str(text(&data["delta"])),
        "response.output_item.added" if data["item"]["type"] == "function_call" => {
            let item = &data["item"];
            content.calls.push((
                text(&item["call_id"]).to_owned(),
                text(&item["name"]).to_owned(),
                String::new(),
            ));
        }
        "response.function_call_arguments.delta" => {
            if let Some((_, _, arguments)) = content.calls.last_mut() {
                arguments.push_str(text(&data["delta"]));
            }
        }
        "response.output_item.done" => content.signature.push_str(text(&data["item"]["encrypted_content"])),
        "response.completed" | "response.incomplete" => {
            content.stop = text(&data["response"]["status"]).to_owned();
            content.usage = data["response"]["usage"].clone();
            content.is_complete = true;
        }
        "response.failed" => content.error = Some(data["response"]["error"].clone()),
        "error" => content.error = Some(data.clone()),
        _ => {}
    }
}

fn gemini(content: &mut StreamContent, data: &Value) {
    if let Some(error) = data.get("error") {
        content.error = Some(error.clone());
    }
    let candidate = &data["candidates"][0];
    for part in list(&candidate["content"]["parts"]) {
        let into = if part["thought"] == true {
            &mut content.thinking
        } else {
            &mut content.text
        };
        into.push_str(text(&part["text"]));
        content.signature.push_str(text(&part["thoughtSignature"]));
        if let Some(call) = part.get("functionCall") {
            content.calls.push((
                text(&call["id"]).to_owned(),
                text(&call["name"]).to_owned(),
                call["args"].to_string(),
            ));
        }
    }
    content.usage = data["usageMetadata"].clone();
    if let Some(reason) = candidate["finishReason"].as_str() {
        content.stop = reason.to_owned();
        content.is_complete = true;
    }
}

/// The structure of a stream: the kinds of its events, with consecutive duplicates removed.
pub(crate) fn shape(wire: Wire, body: &[u8]) -> Vec<String> {
    let mut shape: Vec<String> = events(wire, body)
        .iter()
        .map(|(name, data)| kind(wire, name, data))
        .collect();
    shape.dedup();
    shape
}

/// The kind of an event.
pub(crate) fn kind(wire: Wire, name: &str, data: &Value) -> String {
    let inner = |value: &Value| text(&value["type"]).to_owned();
    match wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex | Wire::Responses => {
            let what = [
                inner(data),
                inner(&data["content_block"]),
                inner(&data["delta"]),
                inner(&data["item"]),
            ];
            assert!(name.is_empty() || name == what[0], "{name} is not {}", what[0]);
            what.join(" ").trim().to_owned()
        }
        Wire::Chat if data == "[DONE]" => "[DONE]".to_owned(),
        Wire::Chat => {
            let choice = &data["choices"][0];
            let delta = choice["delta"].as_object().into_iter().flatten();
            let mut keys: Vec<&str> = delta
                .filter(|(_, value)| !value.is_null())
                .map(|(key, _)| key.as_str())
                .collect();
            keys.extend(choice["finish_reason"].as_str());
            keys.extend(data["usage"].is_object().then_some("usage"));
            if choice["delta"]["tool_calls"][0]["id"].is_string() {
                keys.push("opened");
            }
            keys.join(" ")
        }
        Wire::Gemini => {
            let candidate = &data["candidates"][0];
            let parts = list(&candidate["content"]["parts"]).iter();
            let mut keys: Vec<String> = parts
                .flat_map(|part| part.as_object().into_iter().flatten().map(|(key, _)| key.clone()))
                .collect();
            keys.extend(candidate["finishReason"].as_str().map(str::to_owned));
            keys.join(" ")
        }
    }
}
