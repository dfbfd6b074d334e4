//! How many bytes of each kind a request has.

use crate::protocol::result_of;
use model::{Block, Message, Part, Role, ToolSpec};
use serde_json::Value;
use session::Section;
use std::sync::Arc;

/// The section of images and documents, whose bytes say little about their tokens.
pub const MEDIA: &str = "media";

/// How many bytes of each kind the messages have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sizes {
    prompts: usize,
    replies: usize,
    results: usize,
    media: usize,
}

impl Sizes {
    /// Adds messages.
    pub(crate) fn add_all(&mut self, messages: &[Arc<Message>]) {
        for message in messages {
            message.parts.iter().for_each(|part| self.add(message.role, part));
        }
    }

    fn add(&mut self, role: Role, part: &Part) {
        match part {
            Part::Text { text, .. } | Part::Thinking { text, .. } => match role {
                Role::User if result_of(text).is_some() => self.results += text.len(),
                Role::User => self.prompts += text.len(),
                Role::Assistant => self.replies += text.len(),
            },
            Part::ToolCall { name, input, .. } => self.replies += name.len() + size(input),
            Part::ToolResult { content, .. } => content.iter().for_each(|block| match block {
                Block::Text { text } => self.results += text.len(),
                Block::Media(media) => self.media += media.data.len(),
            }),
            Part::Media(media) => self.media += media.data.len(),
        }
    }

    /// The sections of a request with these messages.
    pub(crate) fn sections(self, tools: usize, system: usize) -> Vec<Section> {
        [
            ("tools", tools),
            ("system", system),
            ("prompts", self.prompts),
            ("replies", self.replies),
            ("results", self.results),
            (MEDIA, self.media),
        ]
        .into_iter()
        .map(|(name, bytes)| Section {
            name: name.into(),
            bytes: bytes as u64,
            tokens: 0,
            cached: 0,
        })
        .collect()
    }
}

/// About how long the tools are as JSON.
pub(crate) fn of_tools(tools: &[ToolSpec]) -> usize {
    let one = |tool: &ToolSpec| tool.name.len() + tool.description.len() + size(&tool.input_schema);
    tools.iter().map(one).sum()
}

/// About how long a value is as JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 3,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 1,
        Value::Object(object) => {
            object
                .iter()
                .map(|(key, value)| key.len() + 4 + size(value))
                .sum::<usize>()
                + 1
        }
    }
}
