//! Renders one message as comma-separated parts.

use super::generation;
use crate::prompt_size::{ObjectList, RenderedForm};
use crate::settings::ProviderSettings;
use crate::wire::chat::{MediaSupport, media_support};
use crate::wire::sanitize_tool_name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Info, Message, Part, ReplayData, Role, ToolOutcome, Wire};
use serde_json::{Value, json};

/// The documented placeholder for calls by other models, which have no signature.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Renders a message.
pub(super) fn render(
    message: &Message,
    info: &Info,
    settings: &ProviderSettings,
    notices: &mut Vec<String>,
) -> RenderedForm {
    let (role, parts) = match message.role {
        Role::User => ("user", user(message, info, settings, notices)),
        Role::Assistant => ("model", assistant(message, info, settings)),
    };
    let mut out = ObjectList::default();
    parts.iter().for_each(|part| out.push(role, part));
    out.finish()
}

/// Tool results first: Gemini requires them directly after the calls.
fn user(message: &Message, info: &Info, settings: &ProviderSettings, notices: &mut Vec<String>) -> Vec<Value> {
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
                    ToolOutcome::Ok => "output",
                    ToolOutcome::Error => "error",
                };
                let mut response = json!({"name": sanitize_tool_name(name), "response": {key: texts.join("\n")}});
                set_call_id(&mut response, id.as_str(), settings);
                results.push(json!({"functionResponse": response}));
            }
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => rest.push(json!({"text": text})),
            Part::Media(media) => rest.push(media_part(media, info, notices)),
            // Only models send reasoning and tool calls.
            Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    results.append(&mut rest);
    results
}

fn media_part(media: &model::Media, info: &Info, notices: &mut Vec<String>) -> Value {
    match media_support(media, info, true, notices) {
        MediaSupport::Image | MediaSupport::Pdf => {
            json!({"inlineData": {"mimeType": media.mime, "data": STANDARD.encode(&media.data)}})
        }
        MediaSupport::Unsupported(words) => json!({"text": words}),
    }
}

/// The model's message; each signature stays on the part that it came with.
fn assistant(message: &Message, info: &Info, settings: &ProviderSettings) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut called = false;
    for part in &message.parts {
        match part {
            Part::Text { text, replay, .. } => {
                let signature = signature(replay);
                if !text.is_empty() || signature.is_some() {
                    parts.push(with_signature(json!({"text": text}), signature));
                }
            }
            // Reasoning is sent back only with a signature: the model does not read its summaries.
            Part::Thinking { text, replay } => {
                let signature = signature(replay);
                if signature.is_some() {
                    parts.push(with_signature(json!({"text": text, "thought": true}), signature));
                }
            }
            Part::ToolCall {
                id,
                name,
                input,
                replay,
                ..
            } => {
                let mut call = json!({"name": sanitize_tool_name(name), "args": input});
                set_call_id(&mut call, id.as_str(), settings);
                let unsigned = || (!called && generation(&info.id) >= 3).then(|| json!(UNSIGNED));
                let signature = signature(replay).or_else(unsigned);
                called = true;
                parts.push(with_signature(json!({"functionCall": call}), signature));
            }
            // Only users send attachments and tool results.
            Part::ToolResult { .. } | Part::Media(_) => {}
        }
    }
    parts
}

/// Adds the call id. Vertex has no such field.
fn set_call_id(call: &mut Value, id: &str, settings: &ProviderSettings) {
    if settings.google.is_none() {
        call["id"] = json!(id);
    }
}

fn with_signature(mut part: Value, signature: Option<Value>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature;
    }
    part
}

fn signature(replay: &Option<ReplayData>) -> Option<Value> {
    let replay = replay.as_ref()?;
    let own = replay.wire == Wire::Gemini.name();
    replay.data.get("thoughtSignature").filter(|_| own).cloned()
}
