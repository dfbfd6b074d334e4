//! Renders one message as comma-separated content blocks.

use crate::prompt_size::{ObjectList, RenderedForm};
use crate::wire::chat::{MediaSupport, media_support};
use crate::wire::sanitize_tool_name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Info, Media, Message, Part, ReplayData, Role, ToolOutcome, Wire};
use serde_json::{Value, json};

/// Renders a message.
pub(super) fn render(message: &Message, info: &Info, notices: &mut Vec<String>) -> RenderedForm {
    let (role, blocks) = match message.role {
        Role::User => ("user", user(message, info, notices)),
        Role::Assistant => ("assistant", assistant(message)),
    };
    let mut out = ObjectList::default();
    blocks.iter().for_each(|block| out.push(role, block));
    out.finish()
}

/// Tool results first: they must directly follow the calls. Blank text is rejected.
fn user(message: &Message, info: &Info, notices: &mut Vec<String>) -> Vec<Value> {
    let mut results = Vec::new();
    let mut rest = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult {
                id, content, outcome, ..
            } => {
                let mut blocks = Vec::new();
                for block in content {
                    match block {
                        Block::Text { text } if text.trim().is_empty() => {}
                        Block::Text { text } => blocks.push(json!({"text": text})),
                        Block::Media(media) => rest.push(media_block(media, info, notices)),
                    }
                }
                if blocks.is_empty() {
                    blocks.push(json!({"text": "(no output)"}));
                }
                let status = match outcome {
                    ToolOutcome::Ok => "success",
                    ToolOutcome::Error => "error",
                };
                results.push(
                    json!({"toolResult": {"toolUseId": call_id(id.as_str()), "content": blocks, "status": status}}),
                );
            }
            Part::Text { text, .. } if text.trim().is_empty() => {}
            Part::Text { text, .. } => rest.push(json!({"text": text})),
            Part::Media(media) => rest.push(media_block(media, info, notices)),
            // Only models send reasoning and tool calls.
            Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    results.append(&mut rest);
    results
}

fn media_block(media: &Media, info: &Info, notices: &mut Vec<String>) -> Value {
    let bytes = || STANDARD.encode(&media.data);
    match media_support(media, info, true, notices) {
        MediaSupport::Image => {
            let format = media.mime.strip_prefix("image/").unwrap_or("png");
            json!({"image": {"format": format, "source": {"bytes": bytes()}}})
        }
        MediaSupport::Pdf => json!({"document": {"format": "pdf", "name": "document", "source": {"bytes": bytes()}}}),
        MediaSupport::Unsupported(words) => json!({"text": words}),
    }
}

fn assistant(message: &Message) -> Vec<Value> {
    let mut blocks = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text { text, .. } if text.trim().is_empty() => {}
            Part::Text { text, .. } => blocks.push(json!({"text": text})),
            Part::Thinking { text, replay } => blocks.extend(reasoning(text, replay)),
            Part::ToolCall { id, name, input, .. } => {
                let input = if input.is_object() { input.clone() } else { json!({}) };
                let name = sanitize_tool_name(name);
                blocks.push(json!({"toolUse": {"toolUseId": call_id(id.as_str()), "name": name, "input": input}}));
            }
            // Only users send attachments and tool results.
            Part::ToolResult { .. } | Part::Media(_) => {}
        }
    }
    blocks
}

/// Reasoning is sent back only with the data that came with it.
fn reasoning(text: &str, replay: &Option<ReplayData>) -> Option<Value> {
    let replay = replay
        .as_ref()
        .filter(|replay| replay.wire == Wire::BedrockConverse.name())?;
    if let Some(redacted) = replay.data.get("redactedContent") {
        return Some(json!({"reasoningContent": {"redactedContent": redacted}}));
    }
    let signature = replay.data.get("signature")?;
    Some(json!({"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}))
}

/// An id with the allowed characters and length.
fn call_id(id: &str) -> String {
    const LONGEST: usize = 64;
    let allowed = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') => letter,
        _ => '_',
    };
    let id: String = id.chars().map(allowed).collect();
    match id.len() > LONGEST {
        // The end of an id is usually its distinctive part.
        true => id[id.len() - LONGEST..].to_owned(),
        false => id,
    }
}
