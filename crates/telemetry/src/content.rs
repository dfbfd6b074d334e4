//! Contents of messages in the JSON form of the conventions, bounded.

use model::{Block, Message, Part, Role};
use serde_json::{Value, json};

/// The maximum length of one text.
const MAX_TEXT: usize = 16 * 1024;

/// Messages as `gen_ai.input.messages` and `gen_ai.output.messages` have them.
pub(crate) fn messages<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let list: Vec<Value> = messages.map(message).collect();
    Value::Array(list).to_string()
}

/// The text of a result.
pub(crate) fn result_text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::ToolResult { content, .. } => Some(blocks(content)),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => None,
    });
    bounded(&texts.collect::<Vec<_>>().join("\n"))
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({"role": role, "parts": message.parts.iter().map(part).collect::<Vec<_>>()})
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text { text, .. } => json!({"type": "text", "content": bounded(text)}),
        Part::Thinking { text, .. } => json!({"type": "reasoning", "content": bounded(text)}),
        Part::ToolCall { id, name, input, .. } => json!({
            "type": "tool_call", "id": id.as_str(), "name": name, "arguments": bounded(&input.to_string()),
        }),
        Part::ToolResult { id, content, .. } => json!({
            "type": "tool_call_response", "id": id.as_str(), "response": bounded(&blocks(content)),
        }),
        Part::Media(_) => json!({"type": "blob"}),
    }
}

fn blocks(content: &[Block]) -> String {
    let texts = content.iter().map(|block| match block {
        Block::Text { text } => text.as_str(),
        Block::Media(_) => "(media)",
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The start of a text, with a note about the rest.
pub(crate) fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    match end < text.len() {
        true => format!("{} ({} bytes omitted)", &text[..end], text.len() - end),
        false => text.to_owned(),
    }
}
