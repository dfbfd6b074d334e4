//! Renders one message for the Chat Completions wire.

use super::{MediaSupport, data_url, media_support, reasoning_details};
use crate::presets::{CallIdFormat, Quirks, ThinkingReplay};
use crate::prompt_size::{BLANK_LINE, RenderedForm, block_size, quoted_len, text_part_len};
use crate::wire::{sanitize_call_id, sanitize_tool_name, write_json};
use bytes::Bytes;
use model::{Block, Info, Message, Part, ReplayData, Role, Wire};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// One message's cached wire form: complete wire messages first, then the user's content.
///
/// The user's content is stored without its message object, because adjacent messages share one: as the inside of a
/// JSON string if it is only text, otherwise as content parts.
pub(super) struct ChatMessageForm {
    /// Complete messages, comma-separated: tool results or the model's message.
    pub(super) messages: Bytes,
    /// The user's content.
    pub(super) user: UserContent,
}

/// A user's content without its message object.
pub(super) enum UserContent {
    /// The inside of a JSON string.
    Text(Bytes),
    /// Content parts, comma-separated.
    Parts(Bytes),
}

impl ChatMessageForm {
    /// Packs the form into one buffer: one byte for the kind and four for the length of the first half. Empty if there
    /// is no content.
    fn pack(messages: &[u8], user: &[u8], kind: u8) -> Bytes {
        if messages.is_empty() && user.is_empty() {
            return Bytes::new();
        }
        let mut packed = Vec::with_capacity(5 + messages.len() + user.len());
        packed.push(kind);
        packed.extend_from_slice(&(messages.len() as u32).to_le_bytes());
        packed.extend_from_slice(messages);
        packed.extend_from_slice(user);
        Bytes::from(packed)
    }

    /// Splits a form packed by [`render`] without copying.
    pub(super) fn unpack(packed: &Bytes) -> ChatMessageForm {
        let length = match packed.get(1..5) {
            Some([a, b, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]) as usize,
            Some(_) | None => 0,
        };
        let split = (5 + length).min(packed.len());
        let user = packed.slice(split..);
        ChatMessageForm {
            messages: packed.slice(5.min(split)..split),
            user: if packed.first() == Some(&PARTS) {
                UserContent::Parts(user)
            } else {
                UserContent::Text(user)
            },
        }
    }
}

const TEXT: u8 = 0;
const PARTS: u8 = 1;

/// Renders a message that follows one with the form `before`.
pub(super) fn render(
    before: Option<&Bytes>,
    message: &Message,
    info: &Info,
    quirks: &Quirks,
    notices: &mut Vec<String>,
) -> RenderedForm {
    match message.role {
        Role::Assistant => {
            let (messages, bytes) = assistant(message, info, quirks);
            RenderedForm {
                form: ChatMessageForm::pack(&messages, &[], TEXT),
                bytes,
            }
        }
        Role::User => user(before, message, info, quirks, notices),
    }
}

/// The size of the blocks of a complete message with this many bytes: its content and its other fields.
fn blocks(role: &str, length: usize, content: &Value) -> u64 {
    let (user, inside) = match content {
        Value::String(text) => {
            let quoted = quoted_len(text);
            (block_size(role, text_part_len(quoted)), quoted)
        }
        Value::Array(parts) => {
            let parts: Vec<usize> = parts.iter().map(|part| part.to_string().len()).collect();
            let user = parts.iter().map(|part| block_size(role, *part)).sum();
            (
                user,
                "[]".len() + parts.iter().sum::<usize>() + parts.len().saturating_sub(1),
            )
        }
        other => (0, other.to_string().len()),
    };
    let known = r#"{"role":"","content":}"#.len() + role.len() + inside;
    match length.saturating_sub(known) {
        0 => user,
        // The comma compensates for one of the braces.
        more => user + block_size(role, more + 1),
    }
}

fn user(
    before: Option<&Bytes>,
    message: &Message,
    info: &Info,
    quirks: &Quirks,
    notices: &mut Vec<String>,
) -> RenderedForm {
    let mut results = Vec::new();
    let mut bytes = 0;
    let mut parts: Vec<Value> = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult { id, name, content, .. } => {
                let text = result_text(name, content, info, quirks, &mut parts, notices);
                let id = wire_id(id.as_str(), info, quirks);
                if !results.is_empty() {
                    results.push(b',');
                }
                let from = results.len();
                let result = json!({"role": "tool", "tool_call_id": id, "content": text});
                write_json(&mut results, &result);
                bytes += blocks("tool", results.len() - from, &result["content"]);
            }
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => parts.push(json!({"type": "text", "text": text})),
            Part::Media(media) => parts.push(media_part(media, info, quirks, notices)),
            // Only models send reasoning and tool calls.
            Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    match texts {
        Some(texts) => {
            let mut quoted = Vec::new();
            write_json(&mut quoted, &texts.join("\n\n"));
            let inside = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
            let goes_on = results.is_empty() && before.is_some_and(is_text_only);
            bytes += match (inside.len(), goes_on) {
                (0, _) => 0,
                (more, true) => (BLANK_LINE + more) as u64,
                (_, false) => block_size("user", text_part_len(quoted.len())),
            };
            RenderedForm {
                form: ChatMessageForm::pack(&results, inside, TEXT),
                bytes,
            }
        }
        None => {
            let mut list = Vec::new();
            write_json(&mut list, &parts);
            let inside = list.get(1..list.len().saturating_sub(1)).unwrap_or_default();
            bytes += parts
                .iter()
                .map(|part| block_size("user", part.to_string().len()))
                .sum::<u64>();
            RenderedForm {
                form: ChatMessageForm::pack(&results, inside, PARTS),
                bytes,
            }
        }
    }
}

/// Whether a form ends with a user's plain text, which the next message continues.
fn is_text_only(form: &Bytes) -> bool {
    matches!(ChatMessageForm::unpack(form).user, UserContent::Text(user) if !user.is_empty())
}

/// The text of a tool result. This wire accepts only text from tools, so images move to the following user message.
fn result_text(
    name: &str,
    content: &[Block],
    info: &Info,
    quirks: &Quirks,
    moved: &mut Vec<Value>,
    notices: &mut Vec<String>,
) -> String {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    for block in content {
        match block {
            Block::Text { text } => lines.push(Cow::Borrowed(text)),
            Block::Media(media) => match media_support(media, info, quirks.pdf, notices) {
                MediaSupport::Unsupported(words) => lines.push(Cow::Owned(words)),
                MediaSupport::Image | MediaSupport::Pdf => {
                    lines.push(Cow::Borrowed("(attached below)"));
                    moved.push(json!({"type": "text", "text": format!("From the result of {name}:")}));
                    moved.push(media_part(media, info, quirks, notices));
                }
            },
        }
    }
    let text = lines.join("\n");
    if text.is_empty() {
        "(no output)".to_string()
    } else {
        text
    }
}

fn media_part(media: &model::Media, info: &Info, quirks: &Quirks, notices: &mut Vec<String>) -> Value {
    match media_support(media, info, quirks.pdf, notices) {
        MediaSupport::Image => json!({"type": "image_url", "image_url": {"url": data_url(media)}}),
        MediaSupport::Pdf => {
            let name = media.name.as_deref().unwrap_or("document.pdf");
            json!({"type": "file", "file": {"filename": name, "file_data": data_url(media)}})
        }
        MediaSupport::Unsupported(words) => json!({"type": "text", "text": words}),
    }
}

/// The model's message and the size of its blocks; empty if none of it can be sent.
fn assistant(message: &Message, info: &Info, quirks: &Quirks) -> (Vec<u8>, u64) {
    let mut texts: Vec<&str> = Vec::new();
    let mut thoughts: Vec<&str> = Vec::new();
    let mut calls: Vec<Value> = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => texts.push(text),
            Part::Thinking { text, .. } => thoughts.push(text),
            Part::ToolCall {
                id,
                name,
                input,
                replay,
                ..
            } => {
                let mut call = json!({
                    "id": wire_id(id.as_str(), info, quirks),
                    "type": "function",
                    "function": {"name": sanitize_tool_name(name), "arguments": input.to_string()},
                });
                if let Some(extra) = chat_replay(replay).and_then(|data| data.get("extra_content")) {
                    call["extra_content"] = extra.clone();
                }
                calls.push(call);
            }
            // Only users send attachments and tool results.
            Part::ToolResult { .. } | Part::Media(_) => {}
        }
    }
    let text = texts.join("\n\n");
    let mut fields = Map::new();
    fields.insert("role".into(), json!("assistant"));
    if text.is_empty() && calls.is_empty() {
        return (Vec::new(), 0);
    }
    fields.insert(
        "content".into(),
        if text.is_empty() { Value::Null } else { json!(text) },
    );
    thinking(
        &mut fields,
        message,
        &thoughts.concat(),
        &text,
        !calls.is_empty(),
        info,
        quirks,
    );
    if !calls.is_empty() {
        fields.insert("tool_calls".into(), Value::Array(calls));
    }
    let mut out = Vec::new();
    write_json(&mut out, &fields);
    let bytes = blocks("assistant", out.len(), &fields["content"]);
    (out, bytes)
}

/// Adds earlier reasoning in the server's format.
fn thinking(
    fields: &mut Map<String, Value>,
    message: &Message,
    thought: &str,
    text: &str,
    calls: bool,
    info: &Info,
    quirks: &Quirks,
) {
    match quirks.thinking {
        ThinkingReplay::ReasoningContent if !thought.is_empty() || (calls && info.features.reasoning) => {
            fields.insert("reasoning_content".into(), json!(thought));
        }
        ThinkingReplay::Reasoning if !thought.is_empty() => {
            fields.insert("reasoning".into(), json!(thought));
        }
        ThinkingReplay::ReasoningDetails => {
            let details = reasoning_details::of_message(message, &info.id);
            if !details.is_empty() {
                fields.insert("reasoning_details".into(), Value::Array(details));
            }
        }
        ThinkingReplay::ContentParts if !thought.is_empty() && info.features.reasoning => {
            let mut parts = vec![json!({"type": "thinking", "thinking": [{"type": "text", "text": thought}]})];
            if !text.is_empty() {
                parts.push(json!({"type": "text", "text": text}));
            }
            fields.insert("content".into(), Value::Array(parts));
        }
        ThinkingReplay::ReasoningContent
        | ThinkingReplay::Reasoning
        | ThinkingReplay::ContentParts
        | ThinkingReplay::Never => {}
    }
}

/// This wire's replay data of a part.
pub(super) fn chat_replay(replay: &Option<ReplayData>) -> Option<&Value> {
    let replay = replay.as_ref()?;
    (replay.wire == Wire::OpenaiChat.name()).then_some(&replay.data)
}

/// A call id that the server accepts.
pub(super) fn wire_id<'a>(id: &'a str, info: &Info, quirks: &Quirks) -> Cow<'a, str> {
    match quirks.call_ids {
        CallIdFormat::NineAlphanumeric => nine_alphanumeric(id),
        CallIdFormat::Short if id.len() > 40 => sanitize_call_id(id, 40),
        // Behind a gateway, Anthropic accepts only its own format of ids. Other ids stay unchanged: Kimi interprets
        // them.
        CallIdFormat::Any if quirks.cache_marks.applies_to(&info.id) => sanitize_call_id(id, 64),
        CallIdFormat::Any | CallIdFormat::Short => Cow::Borrowed(id),
    }
}

/// Nine letters or digits derived from an id, always the same for the same id.
fn nine_alphanumeric(id: &str) -> Cow<'_, str> {
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let digest = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
    let letters = digest.as_ref().iter().take(9);
    Cow::Owned(
        letters
            .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]))
            .collect(),
    )
}
