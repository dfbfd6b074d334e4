//! The conversation for a model that calls tools in its text: calls as it wrote them, results as user messages.

use super::grammar::ParameterKind;
use super::{RESULT, WIRE, is_direct_call};
use model::{Block, Message, Part, ReplayData, Role, ToolOutcome};
use serde_json::Value;
use std::sync::Arc;

/// Encodes calls and results as text. A message without any is returned as the same allocation.
pub(crate) fn with_text_calls(message: Arc<Message>) -> Arc<Message> {
    if !message.parts.iter().any(is_special) {
        return message;
    }
    let mut parts: Vec<Part> = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::Text { text, .. } => add(&mut parts, text),
            Part::Thinking { text, replay } => match replay.as_ref().and_then(thinking_tag) {
                Some((lead, tag)) => add(&mut parts, &format!("{lead}<{tag}>{text}</{tag}>")),
                None => parts.push(part.clone()),
            },
            Part::ToolCall {
                name, input, replay, ..
            } => match replay.as_ref().and_then(raw_call) {
                Some(raw) => add(&mut parts, raw),
                None => {
                    let lead = lead(&parts);
                    add(&mut parts, &format!("{lead}{}", call(name, input)));
                }
            },
            Part::ToolResult {
                name, content, outcome, ..
            } => result(&mut parts, name, content, *outcome),
            Part::Media(media) => parts.push(Part::Media(media.clone())),
        }
    }
    Arc::new(Message {
        role: message.role,
        parts,
    })
}

/// Encodes the changes and commands that a small model wrote directly in its reply as it wrote them, and their results as
/// text: the model knows no other form of them.
pub(crate) fn with_direct_calls(message: Arc<Message>) -> Arc<Message> {
    let is_direct = |part: &Part| match part {
        Part::ToolCall { id, .. } | Part::ToolResult { id, .. } => is_direct_call(id),
        Part::Text { .. } | Part::Thinking { .. } | Part::Media(_) => false,
    };
    if !message.parts.iter().any(is_direct) {
        return message;
    }
    let encoded = with_text_calls(message);
    if encoded.role == Role::Assistant {
        return encoded;
    }
    let mut message = Message::clone(&encoded);
    message.parts.push(Part::text(AFTER_RESULTS));
    Arc::new(message)
}

/// Follows the results of a small model, which otherwise repeats its instructions.
const AFTER_RESULTS: &str = "If the task is done, answer it in a few words. Otherwise continue.";

fn is_special(part: &Part) -> bool {
    match part {
        Part::ToolCall { .. } | Part::ToolResult { .. } => true,
        Part::Thinking { replay, .. } => replay.as_ref().and_then(thinking_tag).is_some(),
        Part::Text { .. } | Part::Media(_) => false,
    }
}

/// Appends to the preceding text, so that the model's original text is restored.
fn add(parts: &mut Vec<Part>, more: &str) {
    match parts.last_mut() {
        Some(Part::Text { text, replay: None, .. }) => text.push_str(more),
        Some(_) | None => parts.push(Part::text(more)),
    }
}

/// Separates text from a call without a known original form.
pub(super) const LEAD: &str = "\n\n";

fn lead(parts: &[Part]) -> &'static str {
    match parts.last() {
        Some(Part::Text { .. }) => LEAD,
        Some(_) | None => "",
    }
}

fn raw_call(replay: &ReplayData) -> Option<&str> {
    replay.data.as_str().filter(|_| replay.wire == WIRE)
}

fn thinking_tag(replay: &ReplayData) -> Option<(&str, &str)> {
    let data = replay.data.as_array().filter(|_| replay.wire == WIRE)?;
    Some((data.first()?.as_str()?, data.get(1)?.as_str()?))
}

/// Renders a call as text.
pub(super) fn call(name: &str, input: &Value) -> String {
    let mut text = format!("<{name}>\n");
    for (key, value) in input.as_object().into_iter().flatten() {
        let value = match value {
            Value::String(value) => match ParameterKind::of_text(key) {
                ParameterKind::File if value.contains('\n') => format!("\n{value}"),
                ParameterKind::File => value.clone(),
                _ if value.contains('\n') || value.trim() != value => format!("\n{value}\n"),
                _ => value.clone(),
            },
            value => value.to_string(),
        };
        text.push_str(&format!("<{key}>{value}</{key}>\n"));
    }
    text.push_str(&format!("</{name}>"));
    text
}

/// Renders a result as text, followed by its media.
fn result(parts: &mut Vec<Part>, name: &str, content: &[Block], outcome: ToolOutcome) {
    let mut text = String::new();
    let mut media = Vec::new();
    for block in content {
        match block {
            Block::Text { text: block } => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(block);
            }
            Block::Media(block) => media.push(Part::Media(block.clone())),
        }
    }
    let text = text.replace(&format!("</{RESULT}"), &format!("<\\/{RESULT}"));
    let outcome = match outcome {
        ToolOutcome::Ok => "",
        ToolOutcome::Error => " outcome=\"error\"",
    };
    let text = format!("<{RESULT} tool=\"{name}\"{outcome}>\n{}\n</{RESULT}>", text.trim_end());
    parts.push(Part::text(text));
    parts.append(&mut media);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call_part(input: Value, replay: Option<&str>) -> Part {
        Part::ToolCall {
            id: "1".into(),
            name: "edit_file".into(),
            input,
            malformed: None,
            replay: replay.map(|raw| ReplayData {
                wire: WIRE.into(),
                data: raw.into(),
            }),
        }
    }

    fn assistant(parts: Vec<Part>) -> Arc<Message> {
        let role = Role::Assistant;
        Arc::new(Message { role, parts })
    }

    #[test]
    fn plain_text_keeps_its_allocation() {
        let message = assistant(vec![Part::text("hello")]);
        assert!(Arc::ptr_eq(&message, &with_text_calls(Arc::clone(&message))));
    }

    #[test]
    fn a_call_is_rendered_as_the_model_wrote_it_or_in_canonical_form() {
        let raw = "\n<edit_file><path>a</path></edit_file>";
        let message = with_text_calls(assistant(vec![Part::text("So:"), call_part(json!({}), Some(raw))]));
        assert_eq!(message.parts, [Part::text(format!("So:{raw}"))]);
        let input = json!({"path": "a.rs", "old_text": "x\n  y", "new_text": " z", "line": 3, "edits": [{"a": 1}]});
        let message = with_text_calls(assistant(vec![Part::text("So:"), call_part(input, None)]));
        let expected = "So:\n\n<edit_file>\n<path>a.rs</path>\n<old_text>\nx\n  y\n</old_text>\n<new_text>\n z\n</new_text>\n<line>3</line>\n<edits>[{\"a\":1}]</edits>\n</edit_file>";
        assert_eq!(message.parts, [Part::text(expected)]);
    }

    #[test]
    fn a_result_is_user_text_that_cannot_contain_its_end_tag() {
        let message = Arc::new(Message {
            role: Role::User,
            parts: vec![Part::ToolResult {
                id: "1".into(),
                name: "grep".into(),
                content: vec![Block::text("a</tool_result>b"), Block::text("c\n")],
                outcome: ToolOutcome::Error,
            }],
        });
        let written = with_text_calls(message);
        assert_eq!(super::super::result_of(&written.text()), Some("grep"));
        assert_eq!(
            written.parts,
            [Part::text(
                "<tool_result tool=\"grep\" outcome=\"error\">\na<\\/tool_result>b\nc\n</tool_result>"
            )]
        );
    }
}
