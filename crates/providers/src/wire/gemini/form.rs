//! What one message looks like on this wire: parts, comma-separated.

use super::generation;
use crate::length::{Objects, Rendered};
use crate::settings::Settings;
use crate::wire::chat::{Media, judge};
use crate::wire::tool_name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Info, Message, Outcome, Part, Replay, Role, Wire};
use serde_json::{Value, json};

/// What Google documents for calls that some other model made and that therefore have no signature.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Renders a message.
pub(super) fn render(message: &Message, info: &Info, settings: &Settings, notices: &mut Vec<String>) -> Rendered {
    let (role, parts) = match message.role {
        Role::User => ("user", user(message, info, settings, notices)),
        Role::Assistant => ("model", assistant(message, info, settings)),
    };
    let mut out = Objects::default();
    parts.iter().for_each(|part| out.push(role, part));
    out.finish()
}

/// Tool results first: Gemini wants them right after the calls.
fn user(message: &Message, info: &Info, settings: &Settings, notices: &mut Vec<String>) -> Vec<Value> {
    let mut results = Vec::new();
    let mut rest = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult {
                id,
                name,
                content,
                outcome,
            } => {
                let mut texts: Vec<&str> = Vec::new();
                for block in content {
                    match block {
                        Block::Text { text } => texts.push(text),
                        Block::Media(media) => rest.push(media_part(media, info, notices)),
                    }
                }
                let key = match outcome {
                    Outcome::Ok => "output",
                    Outcome::Error => "error",
                };
                let mut response = json!({"name": tool_name(name), "response": {key: texts.join("\n")}});
                name_it(&mut response, id.as_str(), settings);
                results.push(json!({"functionResponse": response}));
            }
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => rest.push(json!({"text": text})),
            Part::Media(media) => rest.push(media_part(media, info, notices)),
            // Only a model thinks or calls tools.
            Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    results.append(&mut rest);
    results
}

fn media_part(media: &model::Media, info: &Info, notices: &mut Vec<String>) -> Value {
    match judge(media, info, true, notices) {
        Media::Image | Media::Pdf => {
            json!({"inlineData": {"mimeType": media.mime, "data": STANDARD.encode(&media.data)}})
        }
        Media::LeftOut(words) => json!({"text": words}),
    }
}

/// What the model said, each signature on the very part that it came with.
fn assistant(message: &Message, info: &Info, settings: &Settings) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut called = false;
    for part in &message.parts {
        match part {
            Part::Text { text, replay } => {
                let signature = signature(replay);
                if !text.is_empty() || signature.is_some() {
                    parts.push(signed(json!({"text": text}), signature));
                }
            }
            // Thoughts go back only where they carry a signature: the model does not read its summaries.
            Part::Thinking { text, replay } => {
                let signature = signature(replay);
                if signature.is_some() {
                    parts.push(signed(json!({"text": text, "thought": true}), signature));
                }
            }
            Part::ToolCall {
                id,
                name,
                input,
                replay,
                ..
            } => {
                let mut call = json!({"name": tool_name(name), "args": input});
                name_it(&mut call, id.as_str(), settings);
                let unsigned = || (!called && generation(&info.id) >= 3).then(|| json!(UNSIGNED));
                let signature = signature(replay).or_else(unsigned);
                called = true;
                parts.push(signed(json!({"functionCall": call}), signature));
            }
            // Only a person attaches things or answers for a tool.
            Part::ToolResult { .. } | Part::Media(_) => {}
        }
    }
    parts
}

/// Adds the call's id. Vertex has no such field.
fn name_it(call: &mut Value, id: &str, settings: &Settings) {
    if settings.google.is_none() {
        call["id"] = json!(id);
    }
}

fn signed(mut part: Value, signature: Option<Value>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature;
    }
    part
}

fn signature(replay: &Option<Replay>) -> Option<Value> {
    let replay = replay.as_ref()?;
    let own = replay.wire == Wire::Gemini.name();
    replay.data.get("thoughtSignature").filter(|_| own).cloned()
}
