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
    RAN,
];

/// What begins a part that says what a shell line of the person printed.
const RAN: &str = "<ran by=\"person\">\n$ ";

/// What a shell line of the person printed, as a part of a prompt.
pub fn ran(line: &str, printed: &str) -> String {
    format!("{RAN}{line}\n{printed}\n</ran>")
}

/// The shell line of the person whose words a part of a prompt repeats; `None` where it is something else.
pub fn ran_line(text: &str) -> Option<&str> {
    text.strip_prefix(RAN)?.lines().next()
}

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
