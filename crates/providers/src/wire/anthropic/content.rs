//! Renders a message as comma-separated content blocks.

use crate::prompt_size::{ObjectList, RenderedForm};
use crate::wire::{sanitize_call_id, sanitize_tool_name};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Info, Media, Message, Part, ReplayData, Role, ToolOutcome, Wire};
use serde_json::{Value, json};

/// The API rejects longer ids.
const MAX_ID: usize = 64;
const NO_OUTPUT: &str = "(no output)";

/// Renders the supported content of a message; empty if there is none.
pub(super) fn render(message: &Message, info: &Info, notices: &mut Vec<String>) -> RenderedForm {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut blocks = ContentBlocks {
        role,
        objects: ObjectList::default(),
    };
    // The API requires tool results first.
    let (results, others): (Vec<&Part>, Vec<&Part>) = message
        .parts
        .iter()
        .partition(|part| matches!(part, Part::ToolResult { .. }));
    for part in results.into_iter().chain(others) {
        match (message.role, part) {
            (_, Part::Text { text, .. }) => blocks.text(text),
            (Role::Assistant, Part::Thinking { text, replay }) => blocks.thinking(text, replay.as_ref()),
            (Role::Assistant, Part::ToolCall { id, name, input, .. }) => blocks.push(&json!({
                "type": "tool_use",
                "id": sanitize_call_id(id.as_str(), MAX_ID),
                "name": sanitize_tool_name(name),
                "input": if input.is_object() { input.clone() } else { json!({}) },
            })),
            (
                Role::User,
                Part::ToolResult {
                    id, content, outcome, ..
                },
            ) => blocks.result(id.as_str(), content, *outcome, info, notices),
            (Role::User, Part::Media(media)) => {
                let block = self::media(media, info, notices);
                blocks.push(&block);
            }
            // Models do not send media on this wire; users send neither reasoning nor calls.
            (Role::Assistant, Part::Media(_) | Part::ToolResult { .. })
            | (Role::User, Part::Thinking { .. } | Part::ToolCall { .. }) => {}
        }
    }
    blocks.objects.finish()
}

/// Whether the message's last block may have a cache breakpoint; reasoning may not.
pub(super) fn takes_mark(message: &Message) -> bool {
    let last = message.parts.iter().rev().find(|part| match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        Part::Thinking { replay, .. } => replay.as_ref().is_some_and(is_ours),
        Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Media(_) => true,
    });
    !matches!(last, Some(Part::Thinking { .. }) | None)
}

/// Whether the message starts with reasoning that the API accepts back.
pub(super) fn begins_with_thinking(message: &Message) -> bool {
    matches!(message.parts.first(), Some(Part::Thinking { replay: Some(replay), .. }) if is_ours(replay))
}

/// Signatures are valid on all services.
fn is_ours(replay: &ReplayData) -> bool {
    [Wire::AnthropicMessages, Wire::BedrockAnthropic, Wire::VertexAnthropic]
        .iter()
        .any(|wire| wire.name() == replay.wire)
}

struct ContentBlocks {
    role: &'static str,
    objects: ObjectList,
}

impl ContentBlocks {
    fn push(&mut self, block: &Value) {
        self.objects.push(self.role, block);
    }

    fn text(&mut self, text: &str) {
        // The API rejects blank text.
        if !text.trim().is_empty() {
            self.push(&json!({"type": "text", "text": text}));
        }
    }

    /// The API rejects reasoning without a signature, so it is omitted.
    fn thinking(&mut self, text: &str, replay: Option<&ReplayData>) {
        let Some(replay) = replay.filter(|replay| is_ours(replay)) else {
            return;
        };
        if let Some(data) = replay.data.get("redacted").and_then(Value::as_str) {
            self.push(&json!({"type": "redacted_thinking", "data": data}));
        } else if let Some(signature) = replay.data.get("signature").and_then(Value::as_str) {
            self.push(&json!({"type": "thinking", "thinking": text, "signature": signature}));
        }
    }

    fn result(&mut self, id: &str, content: &[Block], outcome: ToolOutcome, info: &Info, notices: &mut Vec<String>) {
        let mut blocks: Vec<Value> = Vec::new();
        for block in content {
            match block {
                Block::Text { text } if text.trim().is_empty() => {}
                Block::Text { text } => blocks.push(json!({"type": "text", "text": text})),
                Block::Media(media) => blocks.push(self::media(media, info, notices)),
            }
        }
        if blocks.is_empty() {
            blocks.push(json!({"type": "text", "text": NO_OUTPUT}));
        }
        let mut result = json!({"type": "tool_result", "tool_use_id": sanitize_call_id(id, MAX_ID), "content": blocks});
        if outcome == ToolOutcome::Error {
            result["is_error"] = json!(true);
        }
        self.push(&result);
    }
}

/// An attachment, or a text instead if the model does not support it.
fn media(media: &Media, info: &Info, notices: &mut Vec<String>) -> Value {
    let name = media.name.as_deref().unwrap_or("an attachment");
    match media.mime.as_str() {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" if info.features.images => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": media.mime, "data": STANDARD.encode(&media.data)},
        }),
        "application/pdf" if info.features.pdf => {
            let mut block = json!({
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": STANDARD.encode(&media.data)},
            });
            if let Some(name) = &media.name {
                block["title"] = json!(name);
            }
            block
        }
        mime => {
            if mime.starts_with("text/")
                && let Ok(text) = std::str::from_utf8(&media.data)
                && !text.trim().is_empty()
            {
                return json!({"type": "text", "text": format!("{name}:\n{text}")});
            }
            notices.push(format!("{} cannot take {mime}; {name} was left out", info.id));
            json!({"type": "text", "text": format!("[{name} ({mime}) was left out: this model cannot take it]")})
        }
    }
}
