//! What one message looks like on this wire.

use super::{Media, data_url, details, judge};
use crate::length::{BLANK_LINE, Rendered, block, quoted, text_part};
use crate::presets::{CallIds, Quirks, ThinkingBack};
use crate::wire::{call_id, tool_name, write_json};
use bytes::Bytes;
use model::{Block, Info, Message, Part, Replay, Role, Wire};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// One message's wire form, as it is kept: whole wire messages first, then what the person says.
///
/// What a person says is kept without its frame, because neighbours share one frame: as the inside of a JSON string where
/// it is only text, else as content parts.
pub(super) struct Form {
    /// Whole messages, comma-separated: tool results, or what the model said.
    pub(super) whole: Bytes,
    /// What the person says.
    pub(super) said: Said,
}

/// What a person says, without its frame.
pub(super) enum Said {
    /// The inside of a JSON string.
    Text(Bytes),
    /// Content parts, comma-separated.
    Parts(Bytes),
}

impl Form {
    /// Packs the form into one piece of memory: one byte for the kind, four for the length of the first half. Nothing at all
    /// where there is nothing to say.
    fn pack(whole: &[u8], said: &[u8], kind: u8) -> Bytes {
        if whole.is_empty() && said.is_empty() {
            return Bytes::new();
        }
        let mut packed = Vec::with_capacity(5 + whole.len() + said.len());
        packed.push(kind);
        packed.extend_from_slice(&(whole.len() as u32).to_le_bytes());
        packed.extend_from_slice(whole);
        packed.extend_from_slice(said);
        Bytes::from(packed)
    }

    /// Takes apart what [`render`] packed, without copying.
    pub(super) fn unpack(packed: &Bytes) -> Form {
        let length = match packed.get(1..5) {
            Some([a, b, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]) as usize,
            Some(_) | None => 0,
        };
        let split = (5 + length).min(packed.len());
        let said = packed.slice(split..);
        Form {
            whole: packed.slice(5.min(split)..split),
            said: if packed.first() == Some(&PARTS) {
                Said::Parts(said)
            } else {
                Said::Text(said)
            },
        }
    }
}

const TEXT: u8 = 0;
const PARTS: u8 = 1;

/// Renders a message that follows one of the form `before`.
pub(super) fn render(
    before: Option<&Bytes>,
    message: &Message,
    info: &Info,
    quirks: &Quirks,
    notices: &mut Vec<String>,
) -> Rendered {
    match message.role {
        Role::Assistant => {
            let (whole, bytes) = assistant(message, info, quirks);
            Rendered {
                form: Form::pack(&whole, &[], TEXT),
                bytes,
            }
        }
        Role::User => user(before, message, info, quirks, notices),
    }
}

/// How long the blocks of a whole message of so many bytes are: what it says, and everything else of it.
fn blocks(role: &str, length: usize, content: &Value) -> u64 {
    let (said, inside) = match content {
        Value::String(text) => {
            let quoted = quoted(text);
            (block(role, text_part(quoted)), quoted)
        }
        Value::Array(parts) => {
            let parts: Vec<usize> = parts.iter().map(|part| part.to_string().len()).collect();
            let said = parts.iter().map(|part| block(role, *part)).sum();
            (
                said,
                "[]".len() + parts.iter().sum::<usize>() + parts.len().saturating_sub(1),
            )
        }
        other => (0, other.to_string().len()),
    };
    let known = r#"{"role":"","content":}"#.len() + role.len() + inside;
    match length.saturating_sub(known) {
        0 => said,
        // Its comma makes room for one of the braces.
        more => said + block(role, more + 1),
    }
}

fn user(
    before: Option<&Bytes>,
    message: &Message,
    info: &Info,
    quirks: &Quirks,
    notices: &mut Vec<String>,
) -> Rendered {
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
            // Only a model thinks or calls tools.
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
            let goes_on = results.is_empty() && before.is_some_and(says_text);
            bytes += match (inside.len(), goes_on) {
                (0, _) => 0,
                (more, true) => (BLANK_LINE + more) as u64,
                (_, false) => block("user", text_part(quoted.len())),
            };
            Rendered {
                form: Form::pack(&results, inside, TEXT),
                bytes,
            }
        }
        None => {
            let mut list = Vec::new();
            write_json(&mut list, &parts);
            let inside = list.get(1..list.len().saturating_sub(1)).unwrap_or_default();
            bytes += parts
                .iter()
                .map(|part| block("user", part.to_string().len()))
                .sum::<u64>();
            Rendered {
                form: Form::pack(&results, inside, PARTS),
                bytes,
            }
        }
    }
}

/// Whether a form ends with what a person says in plain text: what the next one says goes on with it.
fn says_text(form: &Bytes) -> bool {
    matches!(Form::unpack(form).said, Said::Text(said) if !said.is_empty())
}

/// The text of a tool's result. This wire takes only text from tools, so images move to the user message that follows.
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
            Block::Media(media) => match judge(media, info, quirks.pdf, notices) {
                Media::LeftOut(words) => lines.push(Cow::Owned(words)),
                Media::Image | Media::Pdf => {
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
    match judge(media, info, quirks.pdf, notices) {
        Media::Image => json!({"type": "image_url", "image_url": {"url": data_url(media)}}),
        Media::Pdf => {
            let name = media.name.as_deref().unwrap_or("document.pdf");
            json!({"type": "file", "file": {"filename": name, "file_data": data_url(media)}})
        }
        Media::LeftOut(words) => json!({"type": "text", "text": words}),
    }
}

/// What the model said, as one message, and how long its blocks are; empty where nothing of it can be sent.
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
                    "function": {"name": tool_name(name), "arguments": input.to_string()},
                });
                if let Some(extra) = own(replay).and_then(|data| data.get("extra_content")) {
                    call["extra_content"] = extra.clone();
                }
                calls.push(call);
            }
            // Only a person attaches things or answers for a tool.
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

/// Adds earlier thinking in the form that the server wants.
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
        ThinkingBack::ReasoningContent if !thought.is_empty() || (calls && info.features.reasoning) => {
            fields.insert("reasoning_content".into(), json!(thought));
        }
        ThinkingBack::Reasoning if !thought.is_empty() => {
            fields.insert("reasoning".into(), json!(thought));
        }
        ThinkingBack::ReasoningDetails => {
            let details = details::of_message(message, &info.id);
            if !details.is_empty() {
                fields.insert("reasoning_details".into(), Value::Array(details));
            }
        }
        ThinkingBack::ContentParts if !thought.is_empty() && info.features.reasoning => {
            let mut parts = vec![json!({"type": "thinking", "thinking": [{"type": "text", "text": thought}]})];
            if !text.is_empty() {
                parts.push(json!({"type": "text", "text": text}));
            }
            fields.insert("content".into(), Value::Array(parts));
        }
        ThinkingBack::ReasoningContent | ThinkingBack::Reasoning | ThinkingBack::ContentParts | ThinkingBack::Never => {
        }
    }
}

/// What this wire keeps with a part.
pub(super) fn own(replay: &Option<Replay>) -> Option<&Value> {
    let replay = replay.as_ref()?;
    (replay.wire == Wire::OpenaiChat.name()).then_some(&replay.data)
}

/// A call's id as the server takes it.
pub(super) fn wire_id<'a>(id: &'a str, info: &Info, quirks: &Quirks) -> Cow<'a, str> {
    match quirks.call_ids {
        CallIds::NineAlphanumeric => nine(id),
        CallIds::Short if id.len() > 40 => call_id(id, 40),
        // Behind a gateway, Anthropic still takes only its own kind of id. Others keep theirs: Kimi reads meaning in it.
        CallIds::Any if quirks.cache_marks.apply(&info.id) => call_id(id, 64),
        CallIds::Any | CallIds::Short => Cow::Borrowed(id),
    }
}

/// Nine letters or digits that stand for any id, always the same ones for the same id.
fn nine(id: &str) -> Cow<'_, str> {
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
