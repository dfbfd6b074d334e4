//! Renders one message as comma-separated items.

use crate::prompt_size::{ObjectList, RenderedForm};
use crate::settings::ProviderSettings;
use crate::wire::chat::{MediaSupport, data_url, media_support};
use crate::wire::{sanitize_call_id, sanitize_tool_name};
use model::{Block, Info, Message, Part, ReplayData, Role, Wire};
use serde_json::{Value, json};

/// Renders a message.
pub(super) fn render(
    message: &Message,
    info: &Info,
    settings: &ProviderSettings,
    notices: &mut Vec<String>,
) -> RenderedForm {
    let items = match message.role {
        Role::User => user(message, info, settings, notices),
        Role::Assistant => assistant(message, settings),
    };
    let mut out = ObjectList::default();
    for item in items {
        // Items without a role are identified by type.
        let role = ["role", "type"].iter().find_map(|key| item.get(key)?.as_str());
        out.push(role.unwrap_or_default(), &item);
    }
    out.finish()
}

fn user(message: &Message, info: &Info, settings: &ProviderSettings, notices: &mut Vec<String>) -> Vec<Value> {
    let mut items = Vec::new();
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult { id, content, .. } => items.push(json!({
                "type": "function_call_output",
                "call_id": sanitize_call_id(id.as_str(), 64),
                "output": output(content, info, settings, notices),
            })),
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => content.push(json!({"type": "input_text", "text": text})),
            Part::Media(media) => content.push(media_part(media, info, settings, notices)),
            // Only models send reasoning and tool calls.
            Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    if !content.is_empty() {
        items.push(json!({"type": "message", "role": "user", "content": content}));
    }
    items
}

/// A tool's output: plain text, or parts if there is other content.
fn output(content: &[Block], info: &Info, settings: &ProviderSettings, notices: &mut Vec<String>) -> Value {
    let parts: Vec<Value> = content
        .iter()
        .map(|block| match block {
            Block::Text { text } => json!({"type": "input_text", "text": text}),
            Block::Media(media) => media_part(media, info, settings, notices),
        })
        .collect();
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    match texts {
        Some(texts) => json!(texts.join("\n")),
        None => Value::Array(parts),
    }
}

fn media_part(media: &model::Media, info: &Info, settings: &ProviderSettings, notices: &mut Vec<String>) -> Value {
    match media_support(media, info, settings.quirks.pdf, notices) {
        MediaSupport::Image => json!({"type": "input_image", "detail": "auto", "image_url": data_url(media)}),
        MediaSupport::Pdf => {
            let name = media.name.as_deref().unwrap_or("document.pdf");
            json!({"type": "input_file", "filename": name, "file_data": data_url(media)})
        }
        MediaSupport::Unsupported(words) => json!({"type": "input_text", "text": words}),
    }
}

/// The model's message. Reasoning is sent back only if other items follow it; alone it is an error.
fn assistant(message: &Message, settings: &ProviderSettings) -> Vec<Value> {
    let mut items = Vec::new();
    let mut thoughts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Thinking { replay, .. } => thoughts.extend(reasoning(replay, settings)),
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, replay, .. } => {
                items.append(&mut thoughts);
                let mut item = json!({"type": "message", "role": "assistant", "content": text});
                if let Some(phase) = responses_replay(replay).and_then(|data| data.get("phase")) {
                    item["phase"] = phase.clone();
                }
                items.push(item);
            }
            Part::ToolCall { id, name, input, .. } => {
                items.append(&mut thoughts);
                items.push(json!({
                    "type": "function_call",
                    "call_id": sanitize_call_id(id.as_str(), 64),
                    "name": sanitize_tool_name(name),
                    "arguments": input.to_string(),
                }));
            }
            // Only users send attachments and tool results.
            Part::ToolResult { .. } | Part::Media(_) => {}
        }
    }
    items
}

/// The reasoning item of a part, if this provider created it: only the provider can decrypt it.
fn reasoning(replay: &Option<ReplayData>, settings: &ProviderSettings) -> Option<Value> {
    let data = responses_replay(replay)?;
    let ours = data.get("provider").and_then(Value::as_str) == Some(settings.provider.as_str());
    data.get("item").filter(|_| ours).cloned()
}

/// This wire's replay data of a part.
fn responses_replay(replay: &Option<ReplayData>) -> Option<&Value> {
    let replay = replay.as_ref()?;
    (replay.wire == Wire::OpenaiResponses.name()).then_some(&replay.data)
}
