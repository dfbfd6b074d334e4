//! Token overhead of messages and tools.

use super::{TokenizerFamily, media};
use model::{Block, Message, Part, ToolSpec};

/// Overhead of a message.
const MESSAGE: u64 = 3;
/// Overhead of a call or a result: its name and id.
const CALL: u64 = 12;
/// Overhead of all tools, and of each tool.
const TOOLS: u64 = 16;
const TOOL: u64 = 8;

/// Estimates the tokens of a message.
pub fn message_tokens(family: TokenizerFamily, message: &Message) -> u64 {
    let text_tokens: u64 = message.parts.iter().map(|part| part_tokens(family, part)).sum();
    MESSAGE + text_tokens
}

fn part_tokens(family: TokenizerFamily, part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => family.estimate(text),
        Part::ToolCall { name, input, .. } => CALL + family.estimate(name) + family.estimate(&input.to_string()),
        Part::ToolResult { content, .. } => {
            let text_tokens: u64 = content
                .iter()
                .map(|block| match block {
                    Block::Text { text } => family.estimate(text),
                    Block::Media(media) => media::tokens(family, media),
                })
                .sum();
            CALL + text_tokens
        }
        Part::Media(media) => media::tokens(family, media),
    }
}

/// Estimates the tokens of the tools.
pub fn tool_tokens(family: TokenizerFamily, tools: &[ToolSpec]) -> u64 {
    if tools.is_empty() {
        return 0;
    }
    let each = |tool: &ToolSpec| {
        TOOL + family.estimate(&tool.name)
            + family.estimate(&tool.description)
            + family.estimate(&tool.input_schema.to_string())
    };
    TOOLS + tools.iter().map(each).sum::<u64>()
}
