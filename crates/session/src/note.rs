//! What hew puts behind a prompt, told from what the person said themselves.

use model::{Message, Part};

/// What begins a part that hew wrote.
const OURS: &[&str] = &[
    "<rules path=\"",
    "<environment>\n",
    "<context>\n",
    "<command name=\"",
    "<hook>\n",
    "<reminder>\n",
];

/// What the person said themselves in a message, without what hew put behind it.
pub fn spoken(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } if !is_note(text) => Some(text.as_str()),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Whether hew put this text behind a prompt.
pub fn is_note(text: &str) -> bool {
    OURS.iter().any(|start| text.starts_with(start))
}
