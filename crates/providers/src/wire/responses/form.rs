//! What one message looks like on this wire: items, comma-separated.

use crate::length::{Objects, Rendered};
use crate::settings::Settings;
use crate::wire::chat::{Media, data_url, judge};
use crate::wire::{call_id, tool_name};
use model::{Block, Info, Message, Part, Replay, Role, Wire};
use serde_json::{Value, json};

/// Renders a message.
pub(super) fn render(message: &Message, info: &Info, settings: &Settings, notices: &mut Vec<String>) -> Rendered {
    let items = match message.role {
        Role::User => user(message, info, settings, notices),
        Role::Assistant => assistant(message, settings),
    };
    let mut out = Objects::default();
    for item in items {
        // What has no role is named by its kind.
        let role = ["role", "type"].iter().find_map(|key| item.get(key)?.as_str());
        out.push(role.unwrap_or_default(), &item);
    }
    out.finish()
}

fn user(message: &Message, info: &Info, settings: &Settings, notices: &mut Vec<String>) -> Vec<Value> {
    let mut items = Vec::new();
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult { id, content, .. } => items.push(json!({
                "type": "function_call_output",
                "call_id": call_id(id.as_str(), 64),
                "output": output(content, info, settings, notices),
            })),
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => content.push(json!({"type": "input_text", "text": text})),
            Part::Media(media) => content.push(media_part(media, info, settings, notices)),
            // Only a model thinks or calls tools.
            Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    if !content.is_empty() {
        items.push(json!({"type": "message", "role": "user", "content": content}));
    }
    items
}

/// What a tool answered: plain text, or parts where there is more than text.
fn output(content: &[Block], info: &Info, settings: &Settings, notices: &mut Vec<String>) -> Value {
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

fn media_part(media: &model::Media, info: &Info, settings: &Settings, notices: &mut Vec<String>) -> Value {
    match judge(media, info, settings.quirks.pdf, notices) {
        Media::Image => json!({"type": "input_image", "detail": "auto", "image_url": data_url(media)}),
        Media::Pdf => {
            let name = media.name.as_deref().unwrap_or("document.pdf");
            json!({"type": "input_file", "filename": name, "file_data": data_url(media)})
        }
        Media::LeftOut(words) => json!({"type": "input_text", "text": words}),
    }
}

/// What the model said. Thinking goes back only where something follows it: on its own it is an error.
fn assistant(message: &Message, settings: &Settings) -> Vec<Value> {
    let mut items = Vec::new();
    let mut thoughts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Thinking { replay, .. } => thoughts.extend(reasoning(replay, settings)),
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, replay } => {
                items.append(&mut thoughts);
                let mut item = json!({"type": "message", "role": "assistant", "content": text});
                if let Some(phase) = own(replay).and_then(|data| data.get("phase")) {
                    item["phase"] = phase.clone();
                }
                items.push(item);
            }
            Part::ToolCall { id, name, input, .. } => {
                items.append(&mut thoughts);
                items.push(json!({
                    "type": "function_call",
                    "call_id": call_id(id.as_str(), 64),
                    "name": tool_name(name),
                    "arguments": input.to_string(),
                }));
            }
            // Only a person attaches things or answers for a tool.
            Part::ToolResult { .. } | Part::Media(_) => {}
        }
    }
    items
}

/// The reasoning item that a part carries, where this provider made it: nobody else can decrypt it.
fn reasoning(replay: &Option<Replay>, settings: &Settings) -> Option<Value> {
    let data = own(replay)?;
    let ours = data.get("provider").and_then(Value::as_str) == Some(settings.provider.as_str());
    data.get("item").filter(|_| ours).cloned()
}

/// What this wire keeps with a part.
fn own(replay: &Option<Replay>) -> Option<&Value> {
    let replay = replay.as_ref()?;
    (replay.wire == Wire::OpenaiResponses.name()).then_some(&replay.data)
}
