//! `reasoning_details`: the structured reasoning of OpenRouter and Vercel, assembled from deltas and sent back
//! unchanged.

use super::message_form::chat_replay;
use model::{Message, Part};
use serde_json::{Map, Value};

/// The details of one reply, as far as they have arrived.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails {
    list: Vec<Map<String, Value>>,
}

impl ReasoningDetails {
    /// Adds one delta and returns its readable text.
    pub(super) fn push(&mut self, delta: Map<String, Value>) -> Option<String> {
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default();
        let field = match kind {
            "reasoning.text" => "text",
            "reasoning.summary" => "summary",
            _ => "",
        };
        let text = delta.get(field).and_then(Value::as_str).map(str::to_string);
        match self
            .list
            .last_mut()
            .filter(|last| !field.is_empty() && continues(last, &delta))
        {
            Some(last) => extend(last, delta, field),
            None => self.list.push(delta),
        }
        text
    }

    /// All details, if any arrived.
    pub(super) fn take(&mut self) -> Option<Value> {
        let list: Vec<Value> = std::mem::take(&mut self.list).into_iter().map(Value::Object).collect();
        (!list.is_empty()).then_some(Value::Array(list))
    }
}

/// Whether a delta continues a detail: the same kind, index and id, and no signature yet.
fn continues(last: &Map<String, Value>, delta: &Map<String, Value>) -> bool {
    let same = |key: &str| match (present(last, key), present(delta, key)) {
        (Some(a), Some(b)) => a == b,
        (_, None) | (None, _) => true,
    };
    present(last, "signature").is_none() && ["type", "index", "id"].into_iter().all(same)
}

fn extend(last: &mut Map<String, Value>, delta: Map<String, Value>, field: &str) {
    for (key, value) in delta {
        match (last.get_mut(&key), value) {
            (Some(Value::String(old)), Value::String(more)) if key == field => old.push_str(&more),
            (_, Value::Null) => {}
            (_, value) => {
                last.insert(key, value);
            }
        }
    }
}

fn present<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

/// The details of a message that this model can read.
pub(super) fn of_message(message: &Message, model: &str) -> Vec<Value> {
    let mut details = Vec::new();
    for part in &message.parts {
        let Part::Thinking { replay, .. } = part else { continue };
        let kept = chat_replay(replay)
            .and_then(|data| data.get("reasoning_details"))
            .and_then(Value::as_array);
        details.extend(
            kept.into_iter()
                .flatten()
                .filter(|detail| is_readable_by(detail, model))
                .cloned(),
        );
    }
    details
}

/// Whether a model can read a detail: signatures and encrypted data are specific to a model family.
fn is_readable_by(detail: &Value, model: &str) -> bool {
    let family = match detail.get("format").and_then(Value::as_str) {
        Some(format) if format.starts_with("anthropic") => "claude",
        Some(format) if format.starts_with("google") => "gemini",
        Some(format) if format.starts_with("openai") => "gpt",
        Some(format) if format.starts_with("xai") => "grok",
        Some(_) | None => return true,
    };
    model.contains(family) || (family == "gpt" && model.starts_with("openai/"))
}
