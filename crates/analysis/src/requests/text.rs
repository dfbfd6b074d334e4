//! Renders a request as readable text.

use crate::output::format::sanitise;
use model::{Block, Message, Part, Request, Role, ToolOutcome, ToolSpec};

/// The whole request, in the order in which the model sees it.
pub(super) fn request_text(request: &Request) -> String {
    let mut text = String::new();
    if !request.tools.is_empty() {
        text.push_str("# Tools\n");
        request.tools.iter().for_each(|tool| text.push_str(&described(tool)));
        text.push('\n');
    }
    for section in &request.system {
        text.push_str(&format!("# System\n{section}\n\n"));
    }
    for (place, message) in request.messages.iter().enumerate() {
        text.push_str(&message_text(place, message));
    }
    sanitise(&text)
}

/// One message.
pub(super) fn message_text(place: usize, message: &Message) -> String {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut text = format!("# Message {} ({who})\n", place + 1);
    message.parts.iter().for_each(|part| text.push_str(&part_text(part)));
    text.push('\n');
    text
}

fn part_text(part: &Part) -> String {
    match part {
        Part::Text { text, .. } => format!("{text}\n"),
        Part::Thinking { text, .. } if text.is_empty() => "(thinking that is not shown)\n".into(),
        Part::Thinking { text, .. } => format!("(thinking) {text}\n"),
        Part::ToolCall { id, name, input, .. } => format!("(call {id}) {name} {input}\n"),
        Part::ToolResult {
            id,
            name,
            content,
            outcome,
        } => {
            let how = match outcome {
                ToolOutcome::Ok => "",
                ToolOutcome::Error => ", an error",
            };
            let content: String = content.iter().map(block_text).collect();
            format!("(result of {name} {id}{how})\n{content}")
        }
        Part::Media(media) => format!("({}, {} bytes)\n", media.mime, media.data.len()),
    }
}

fn block_text(block: &Block) -> String {
    match block {
        Block::Text { text } => format!("{text}\n"),
        Block::Media(media) => format!("({}, {} bytes)\n", media.mime, media.data.len()),
    }
}

fn described(tool: &ToolSpec) -> String {
    format!("## {}\n{}\n{}\n", tool.name, tool.description, tool.input_schema)
}
